#include "tests/support/list_programs.h"

#include "tests/support/derivatives.h"

namespace pullback::testing {

const std::vector<ListProgram>& ListPrograms() {
  static const std::vector<ListProgram> programs = {
      {"push to an empty list, then get",
       R"(
record R { x: f64 }
fn @f(%x: f64) -> f64 {
b0: %e = list_new : list<R>
    %l = list_push %e, mul(3.0, %x)
    %y = list_get %l, 0
    ret %y
})",
       {Tensor::F64(2)}},
      {"built in a loop, summed in a loop",
       R"(
record R { x: f64, k: i64 }
fn @f(%x: f64, %n: i64) -> f64 {
b0: %e = list_new : list<R>
    jump b1(%e, 0, %x)
b1(%l: list<R>, %i: i64, %v: f64): br lt(%i, %n), b2, b3
b2: %m = list_push %l, mul(%v, %v), %i
    jump b1(%m, add(%i, 1), mul(sin(%v), 1.5))
b3: jump b4(0, 0.0)
b4(%j: i64, %s: f64): br lt(%j, %n), b5, b6
b5: %y, %k = list_get %l, %j
    %w = cast %k : f64
    jump b4(add(%j, 1), add(%s, mul(mul(%y, %w), %y)))
b6: ret %s
})",
       {Tensor::F64(0.7), Tensor::I64(5)}},
      {"elements updated in a loop",
       R"(
record R { x: f64, a: [*]f64 }
fn @f(%x: f64, %a: [*]f64) -> (f64, [*]f64) {
b0: %n = dim %a, 0
    %l0 = list_of %n, %x, %a : list<R>
    jump b1(%l0, 1)
b1(%l: list<R>, %i: i64): br lt(%i, %n), b2, b3
b2: %u, %b = list_get %l, sub(%i, 1)
    %t, %v, %c = list_take %l, %i
    %e = index %b[%i - 1]
    %d = update %c[%i], mul(sin(%u), %e)
    %m = list_set %t, %i, mul(add(%v, %e), %u), %d
    jump b1(%m, add(%i, 1))
b3: %y, %z = list_get %l, sub(%n, 1)
    ret %y, %z
})",
       {Tensor::F64(1.4), Vec({0.3, 1.2, -0.7, 2.0})}},
      {"taken, popped and copied",
       R"(
record R { x: f64, a: [*]f64, l: list<R> }
fn @f(%x: f64, %a: [*]f64) -> (f64, [*]f64) {
b0: %none = list_new : list<R>
    %i = list_of 2, %x, %a, %none : list<R>
    %l = list_of 3, mul(%x, %x), %a, %i : list<R>
    %t, %y, %b, %k = list_take %l, 1
    %q, %z, %c, %m = list_pop %t
    %p, %u, %d, %o = list_pop %k
    %n, %v, %g, %h = list_take %q, 1
    %w, %r, %s = list_get %p, 0
    %e = add_arrays %b, %r
    %f0 = index %d[0]
    ret mul(add(%y, %z), mul(%u, add(%w, add(%v, %f0)))), %e
})",
       {Tensor::F64(1.3), Vec({0.5, -2})}},
      {"a stack, popped in a loop",
       R"(
record R { x: f64 }
fn @f(%x: f64, %n: i64) -> f64 {
b0: %l0 = list_of %n, %x : list<R>
    jump b1(%l0, 1.0)
b1(%l: list<R>, %s: f64): %k = list_len %l
    br gt(%k, 1), b2, b3
b2: %m, %y = list_pop %l
    br gt(%s, 1.5), b4, b5
b4: %p, %z = list_pop %m
    jump b1(%p, mul(%z, sin(%y)))
b5: jump b1(%m, mul(%s, add(%y, 1.0)))
b3: ret %s
})",
       {Tensor::F64(0.8), Tensor::I64(7)}},
      {"through calls, branches and joins",
       R"(
record R { x: f64 }
fn @f(%x: f64, %n: i64) -> f64 {
b0: %e = list_new : list<R>
    %l = call @build(%e, %x, %n)
    %k = list_len %l
    br gt(%k, 3), b1, b2
b1: %p, %y = list_pop %l
    %a = call @total(%p, 0)
    %b = call @total(%l, 1)
    jump b3(%p, mul(%a, add(%b, %y)))
b2: %q = list_of 3, 1.0 : list<R>
    jump b3(%q, %x)
b3(%r: list<R>, %s: f64): %t = call @total(%r, 0)
    ret mul(%s, %t)
}
fn @build(%l: list<R>, %x: f64, %n: i64) -> (list<R>) {
b0: br gt(%n, 0), b1, b2
b1: %m = list_push %l, %x
    %r = call @build(%m, sin(mul(%x, 1.3)), sub(%n, 1))
    ret %r
b2: ret %l
}
fn @total(%l: list<R>, %i: i64) -> f64 {
b0: %n = list_len %l
    br lt(%i, %n), b1, b2
b1: %x = list_get %l, %i
    %t = call @total(%l, add(%i, 1))
    ret add(mul(%x, %x), %t)
b2: ret 0.0
})",
       {Tensor::F64(0.7), Tensor::I64(6)}},
      {"a tree",
       R"(
record Node { v: f64, a: [*]f64, children: list<Node> }
fn @f(%x: f64, %a: [*]f64) -> f64 {
b0: %e = list_new : list<Node>
    %leaf = list_of 2, mul(%x, %x), %a, %e : list<Node>
    %inner = list_push %leaf, sin(%x), %a, %leaf
    %top = list_of 1, %x, %a, %inner : list<Node>
    %s = call @sum(%top, %x)
    ret %s
}
fn @sum(%l: list<Node>, %x: f64) -> f64 {
b0: %n = list_len %l
    jump b1(0, 0.0)
b1(%i: i64, %s: f64): br lt(%i, %n), b2, b3
b2: %v, %a, %c = list_get %l, %i
    %d = dim %a, 0
    %t = each(k < %d) { %u = index %a[%k]
      %w = mul %u, %u
    } sum []: %w
    %b = call @sum(%c, mul(%x, 1.1))
    jump b1(add(%i, 1), add(%s, add(mul(%v, %t), mul(%b, sin(%v)))))
b3: ret %s
})",
       {Tensor::F64(0.6), Vec({1, -0.5})}},
      {"a list that is not active becomes active",
       R"(
record R { x: f64, a: [*]f64 }
fn @f(%x: f64, %n: i64) -> f64 {
b0: %z = zeros 2 : f64
    %l0 = list_of %n, 1.0, %z : list<R>
    jump b1(%l0, 0, 0.0)
b1(%l: list<R>, %i: i64, %s: f64): br lt(%i, 3), b2, b3
b2: %y, %a = list_get %l, 2
    %b = update %a[0], mul(%y, %x)
    %b0 = index %b[0]
    %m = list_set %l, sub(%n, 1), add(%y, mul(%x, %x)), %b
    jump b1(%m, add(%i, 1), add(%s, mul(%y, %b0)))
b3: ret %s
})",
       {Tensor::F64(0.7), Tensor::I64(4)}},
  };
  return programs;
}

const std::vector<ListProgram>& BoxPrograms() {
  static const std::vector<ListProgram> programs = {
      // first-tests 26: x y y.
      {"a captured variable, multiplied twice",
       R"(
record Cell { x: f64 }
fn @f(%x: f64, %y: f64) -> f64 {
b0: %b = box_new %x : box<Cell>
    call @times(%b, %y)
    call @times(%b, %y)
    %r = box_get %b
    ret %r
}
fn @times(%b: box<Cell>, %z: f64) -> () {
b0: %v = box_get %b
    box_set %b, mul(%v, %z)
    ret
})",
       {Tensor::F64(2), Tensor::F64(3)}},
      {"an array in a box, changed in a loop",
       R"(
record Cell { a: [*]f64, n: i64 }
fn @f(%x: f64, %a: [*]f64) -> (f64, [*]f64) {
b0: %b = box_new %a, 0 : box<Cell>
    %d = dim %a, 0
    jump b1(1)
b1(%i: i64): br lt(%i, %d), b2, b3
b2: %v, %n = box_get %b
    %u = index %v[%i - 1]
    %w = index %v[%i]
    %c = update %v[%i], mul(sin(%u), mul(%w, %x))
    box_set %b, %c, add(%n, %i)
    jump b1(add(%i, 1))
b3: %r, %k = box_get %b
    %y = index %r[%d - 1]
    %z = cast %k : f64
    ret mul(%y, %z), %r
})",
       {Tensor::F64(1.4), Vec({0.3, 1.2, -0.7, 2.0})}},
      {"boxes made in a loop, kept in a list, two names for one",
       R"(
record Cell { x: f64 }
record Link { to: box<Cell>, k: f64 }
fn @f(%x: f64, %n: i64) -> f64 {
b0: %shared = box_new %x : box<Cell>
    %e = list_new : list<Link>
    jump b1(%e, 0)
b1(%l: list<Link>, %i: i64): br lt(%i, %n), b2, b3
b2: %h = rem %i, 2
    br eq(%h, 0), b4, b5
b4: %own = box_new mul(%x, %x) : box<Cell>
    %m = list_push %l, %own, sin(%x)
    jump b1(%m, add(%i, 1))
b5: %p = list_push %l, %shared, %x
    jump b1(%p, add(%i, 1))
b3: %s = call @visit(%l, 0)
    %y = box_get %shared
    ret mul(%s, %y)
}
fn @visit(%l: list<Link>, %i: i64) -> f64 {
b0: %n = list_len %l
    br lt(%i, %n), b1, b2
b1: %b, %k = list_get %l, %i
    %v = box_get %b
    box_set %b, add(%v, mul(%v, %k))
    %r = call @visit(%l, add(%i, 1))
    %w = box_get %b
    ret add(%r, mul(%w, %v))
b2: ret 1.0
})",
       {Tensor::F64(0.7), Tensor::I64(5)}},
      {"a box that is returned, a box that stays inside",
       R"(
record Cell { x: f64 }
record Outer { inner: box<Cell>, y: f64 }
fn @f(%x: f64, %n: i64) -> f64 {
b0: %o = call @make(%x)
    jump b1(0, 0.0)
b1(%i: i64, %s: f64): br lt(%i, %n), b2, b3
b2: %t = call @private(%x)
    %c, %y = box_get %o
    %v = box_get %c
    box_set %c, mul(%v, %y)
    %other = box_new mul(%v, %t) : box<Cell>
    box_set %o, %other, add(%y, %t)
    jump b1(add(%i, 1), add(%s, %v))
b3: %d, %z = box_get %o
    %w = box_get %d
    ret add(%s, mul(%w, %z))
}
fn @make(%x: f64) -> (box<Outer>) {
b0: %c = box_new sin(%x) : box<Cell>
    %o = box_new %c, %x : box<Outer>
    ret %o
}
fn @private(%x: f64) -> f64 {
b0: %c = box_new %x : box<Cell>
    %v = box_get %c
    box_set %c, mul(%v, %v)
    %w = box_get %c
    ret %w
})",
       {Tensor::F64(0.7), Tensor::I64(3)}},
  };
  return programs;
}

}  // namespace pullback::testing
