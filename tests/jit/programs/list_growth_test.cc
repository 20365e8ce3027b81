// Derivatives of loops over lists cost so much a step, however long the list: no whole list or array is
// copied on the way. The hidden case prints times: bin/test_jit_programs "[growth]".
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdio>

#include "core/eval/interpreter.h"
#include "core/eval/scalar_ops.h"
#include "core/loops/interpret.h"
#include "core/loops/lower.h"
#include "tests/jit/llvm_support.h"
#include "tests/support/derivatives.h"

namespace pullback::testing {
namespace {

using pipeline::Transform;

struct Program {
  const char* name;
  const char* text;  // @f of x and a number of steps
};

constexpr Program kPrograms[] = {
    {"build, then sum", R"(
record R { x: f64, k: i64 }
fn @f(%x: f64, %n: i64) -> f64 {
b0: %e = list_new : list<R>
    jump b1(%e, 0, %x)
b1(%l: list<R>, %i: i64, %v: f64): br lt(%i, %n), b2, b3
b2: %m = list_push %l, mul(%v, %v), %i
    jump b1(%m, add(%i, 1), sin(add(%v, 1.0)))
b3: jump b4(0, 0.0)
b4(%j: i64, %s: f64): br lt(%j, %n), b5, b6
b5: %y, %k = list_get %l, %j
    jump b4(add(%j, 1), add(%s, mul(%y, %y)))
b6: ret %s
})"},
    {"change elements in place", R"(
record R { x: f64 }
fn @f(%x: f64, %n: i64) -> f64 {
b0: %l0 = list_of %n, %x : list<R>
    jump b1(%l0, 1)
b1(%l: list<R>, %i: i64): br lt(%i, %n), b2, b3
b2: %u = list_get %l, sub(%i, 1)
    %v = list_get %l, %i
    %m = list_set %l, %i, sin(add(%u, %v))
    jump b1(%m, add(%i, 1))
b3: %y = list_get %l, sub(%n, 1)
    ret %y
})"},
    {"a stack", R"(
record R { x: f64 }
fn @f(%x: f64, %n: i64) -> f64 {
b0: %l0 = list_of %n, %x : list<R>
    jump b1(%l0, 1.0, 0)
b1(%l: list<R>, %s: f64, %i: i64): br lt(%i, %n), b2, b3
b2: %m, %y = list_pop %l
    %p = list_push %m, sin(mul(%s, %y))
    %q, %z = list_pop %p
    jump b1(%q, add(%z, %y), add(%i, 1))
b3: ret %s
})"},
    {"arrays inside, changed in place", R"(
record R { a: [*]f64 }
fn @f(%x: f64, %n: i64) -> f64 {
b0: %z = zeros %n : f64
    %l0 = list_of 2, %z : list<R>
    jump b1(%l0, 1)
b1(%l: list<R>, %i: i64): br lt(%i, %n), b2, b3
b2: %t, %a = list_take %l, 1
    %u = index %a[%i - 1]
    %b = update %a[%i], sin(add(%u, %x))
    %m = list_set %t, 1, %b
    jump b1(%m, add(%i, 1))
b3: %c = list_get %l, 1
    %y = index %c[%n - 1]
    ret %y
})"},
    {"arrays inside, read", R"(
record R { a: [*]f64 }
fn @f(%x: f64, %n: i64) -> f64 {
b0: %z = each(k < %n) { %c = add %x, 1.0 } gen [%k] of (%n): %c
    %l = list_of 2, %z : list<R>
    jump b1(0, 0.0)
b1(%i: i64, %s: f64): br lt(%i, %n), b2, b3
b2: %a = list_get %l, 1
    %u = index %a[%i]
    jump b1(add(%i, 1), sin(add(%s, %u)))
b3: ret %s
})"},
    {"lists inside, pushed to", R"(
record In { x: f64 }
record R { l: list<In>, x: f64 }
fn @f(%x: f64, %n: i64) -> f64 {
b0: %e = list_new : list<In>
    %l0 = list_of 3, %e, %x : list<R>
    jump b1(%l0, 0)
b1(%l: list<R>, %i: i64): br lt(%i, %n), b2, b3
b2: %k = rem %i, 3
    %t, %in, %v = list_take %l, %k
    %p = list_push %in, mul(%v, %x)
    %m = list_set %t, %k, %p, sin(%v)
    jump b1(%m, add(%i, 1))
b3: jump b4(0, 0.0)
b4(%j: i64, %s: f64): br lt(%j, div(%n, 3)), b5, b6
b5: %q, %w = list_get %l, 0
    %y = list_get %q, %j
    jump b4(add(%j, 1), add(%s, mul(%y, %w)))
b6: ret %s
})"},
    {"a cell that is shared", R"(
record Cell { x: f64 }
fn @f(%x: f64, %n: i64) -> f64 {
b0: %b = box_new %x : box<Cell>
    jump b1(0)
b1(%i: i64): br lt(%i, %n), b2, b3
b2: %v = box_get %b
    box_set %b, sin(add(%v, %x))
    %w = box_get %b
    br gt(%w, 0.5), b4, b5
b4: box_set %b, mul(%w, 0.5)
    jump b5
b5: jump b1(add(%i, 1))
b3: %y = box_get %b
    ret %y
})"},
    {"cells made on the way", R"(
record Cell { x: f64 }
record Link { to: box<Cell> }
fn @f(%x: f64, %n: i64) -> f64 {
b0: %e = list_new : list<Link>
    jump b1(%e, 0)
b1(%l: list<Link>, %i: i64): br lt(%i, %n), b2, b3
b2: %b = box_new %x : box<Cell>
    %m = list_push %l, %b
    jump b1(%m, add(%i, 1))
b3: jump b4(0, 0.0)
b4(%j: i64, %s: f64): br lt(%j, %n), b5, b6
b5: %c = list_get %l, %j
    %v = box_get %c
    box_set %c, mul(%v, %s)
    jump b4(add(%j, 1), sin(add(%s, %v)))
b6: ret %s
})"},
    {"recursion along a list", R"(
record R { x: f64 }
fn @f(%x: f64, %n: i64) -> f64 {
b0: %l = list_of %n, %x : list<R>
    %s = call @total(%l, 0)
    ret %s
}
fn @total(%l: list<R>, %i: i64) -> f64 {
b0: %n = list_len %l
    br lt(%i, %n), b1, b2
b1: %x = list_get %l, %i
    %t = call @total(%l, add(%i, 1))
    ret sin(add(%x, %t))
b2: ret 0.0
})"},
    {"recursion that changes a list", R"(
record R { x: f64 }
fn @f(%x: f64, %n: i64) -> f64 {
b0: %l = list_of %n, %x : list<R>
    %m = call @change(%l, 1)
    %y = list_get %m, sub(%n, 1)
    ret %y
}
fn @change(%l: list<R>, %i: i64) -> (list<R>) {
b0: %n = list_len %l
    br lt(%i, %n), b1, b2
b1: %u = list_get %l, sub(%i, 1)
    %v = list_get %l, %i
    %m = list_set %l, %i, sin(add(%u, %v))
    %r = call @change(%m, add(%i, 1))
    ret %r
b2: ret %l
})"},
};

// As the language writes them.
constexpr Program kSources[] = {
    {"structs in a list", R"(
struct Row { a: [3]f64, w: f64 }
fn f(x: f64, n: i64) -> f64 {
  var xs: list Row = list()
  for i < n { xs = push(xs, Row([x, sin(x), 0.5], x)) }
  for i in 1..n {
    xs[i].a[0] = sin(xs[i - 1].a[0] + xs[i].a[1])
    xs[i].w = xs[i].w * xs[i].a[2] + xs[i - 1].w * 0.5
  }
  return xs[n - 1].a[0] + xs[n - 1].w
})"},
    {"lists in a list", R"(
fn f(x: f64, n: i64) -> f64 {
  var a: list f64 = list()
  for i < n { a = push(a, x * x) }
  var xs: list (list f64) = list(a, repeat(x, n))
  for i in 1..n { xs[i % 2][i] = sin(xs[0][i - 1] + xs[1][i]) }
  var s = 0.0
  for i < 2 { for j < len(xs[i]) { s = s + xs[i][j] * xs[i][j] } }
  return s
})"},
    {"pushed to a list in a list", R"(
fn f(x: f64, n: i64) -> f64 {
  var xs: list (list f64) = list(list(x), list(x * x))
  for i in 1..n {
    xs[i % 2] = push(xs[i % 2], sin(last(xs[0]) + last(xs[1])))
  }
  return last(xs[0]) + last(xs[1])
})"},
    {"a list in a struct in a loop", R"(
struct State { kids: list f64, best: f64 }
fn f(x: f64, n: i64) -> f64 {
  var t = State(list(), x)
  for i < n {
    t.kids = push(t.kids, sin(t.best))
    t.best = t.best + t.kids[i] * x
  }
  for i < n { t.kids[i] = t.kids[i] * t.best }
  return last(t.kids) + t.best
})"},
    {"a helper reads an element of the list", R"(
fn choose(xs: list f64, i: i64) -> f64 {
  if i < 0 { return choose(xs, i + len(xs)) }
  return sin(xs[i])
}
fn f(x: f64, n: i64) -> f64 {
  var xs = repeat(x, n)
  for i in 1..n { xs[i] = choose(xs, i) * xs[i - 1] + x }
  return xs[n - 1]
})"},
    {"a helper reads an element of an array", R"(
fn choose(a: [n]f64, i: i64) -> f64 {
  if i < 0 { return choose(a, i + n) }
  return sin(a[i])
}
fn f(x: f64, n: i64) -> f64 {
  var a = gen i < n { x }
  for i in 1..n { a[i] = choose(a, i) * a[i - 1] + x }
  return a[n - 1]
})"},
    {"recursion that changes an array", R"(
fn change(a: [n]f64, i: i64) -> [n]f64 {
  if i >= n { return a }
  var b = a
  b[i] = sin(b[i] + b[i - 1])
  return change(b, i + 1)
}
fn f(x: f64, n: i64) -> f64 { return change(gen i < n { x }, 1)[n - 1] })"},
    {"a user's monoid: fold, scan, reduce", R"(
fn then(f: (f64, f64), g: (f64, f64)) -> (f64, f64) { return (g.0 * f.0, g.0 * f.1 + g.1) }
fn f(x: f64, n: i64) -> f64 {
  let states = scan(|s: (f64, f64), i| then(s, (sin(x), x)), (1.0, 0.0), n)
  let all = reduce(then, (1.0, 0.0), states)
  return all.1 * fold(|s: f64, i| s * 0.5 + x, x, n)
})"},
    {"scans, a product, extrema", R"(
fn f(x: f64, n: i64) -> f64 {
  let a = gen i < n { sin(x * f64(i)) }
  let b = scan max i < n { a[i] }
  let c = exscan prod i < n { 1.0 + a[i] * 0.01 }
  let d = scan_linear(a, c)
  return sum(b * d) + (prod i < n { 1.0 + 0.01 * a[i] }) * max(a)
})"},
    {"a loop over a slice of a list", R"(
fn f(x: f64, n: i64) -> f64 {
  var xs: list f64 = list(x)
  for i in 1..n { xs = push(xs, sin(xs[i - 1] + x)) }
  var s = x
  for y in xs[1:] { s = s * 0.5 + y }
  return s
})"},
    {"recursion by halves", R"(
fn total(xs: list f64, a: [n]f64, lo: i64, hi: i64) -> f64 {
  if hi - lo == 1 { return sin(xs[lo]) * a[lo] }
  let mid = (lo + hi) / 2
  return total(xs, a, lo, mid) + total(xs, a, mid, hi)
}
fn f(x: f64, n: i64) -> f64 { return total(repeat(x, n), gen i < n { x * x }, 0, n) })"},
};

ir::Module ModuleOf(const Program& p) {
  const std::string text = p.text;
  return text.find("fn @") == std::string::npos ? LowerText(text, "f") : ParseIr(text);
}

std::vector<Program> AllPrograms() {
  std::vector<Program> all(std::begin(kPrograms), std::end(kPrograms));
  all.insert(all.end(), std::begin(kSources), std::end(kSources));
  return all;
}

std::vector<Tensor> Arguments(Transform t, int64_t n) {
  std::vector<Tensor> args = {Tensor::F64(0.3), Tensor::I64(n)};
  if (t == Transform::kJvp) args.push_back(Tensor::F64(1));
  return args;
}

loops::Module Loops(const Program& p, Transform t) {
  auto loops = loops::LowerToLoops(Derived(ModuleOf(p), t));
  REQUIRE(loops.ok());
  return std::move(loops).value();
}

TEST_CASE("lists: no derivative copies more for a longer list") {
  for (const Program& p : AllPrograms()) {
    for (Transform t : {Transform::kValue, Transform::kJvp, Transform::kValueAndGrad}) {
      INFO(p.name << ", " << TransformName(t));
      const loops::Module loops = Loops(p, t);
      const ir::Module final = Derived(ModuleOf(p), t);
      int64_t copies[3], turns[3], bytes[3];
      for (int k = 0; k < 3; ++k) {
        const std::vector<Tensor> args = Arguments(t, 24 * (k + 1));
        const auto run = loops::Interpret(loops, args, {eval::EvalScalar, eval::EvalCast});
        REQUIRE(run.ok());
        REQUIRE(!run->trap);
        copies[k] = run->copies;
        turns[k] = run->iterations;
        const auto reference = eval::Run(final, args);
        REQUIRE(reference.ok());
        bytes[k] = reference->cost.array_bytes;
      }
      CHECK(copies[2] == copies[0]);
      CHECK(turns[2] - turns[1] == turns[1] - turns[0]);
      CHECK(bytes[2] - bytes[1] == bytes[1] - bytes[0]);
    }
  }
}

TEST_CASE("lists: time a step of derivatives", "[.][growth]") {
  std::printf("%-36s %9s %11s %11s %11s %9s\n", "", "n", "value/ns", "jvp/ns", "grad/ns", "B/step");
  for (const Program& p : AllPrograms()) {
    for (int64_t n = 1000; n <= 1000000; n *= 10) {
      std::printf("%-36s %9ld", p.name, static_cast<long>(n));
      int64_t bytes = 0;
      for (Transform t : {Transform::kValue, Transform::kJvp, Transform::kValueAndGrad}) {
        jit::TestKernel kernel(Loops(p, t));
        kernel.context.max_depth = 1 << 30;
        kernel.context.bytes_budget = int64_t{1} << 34;
        double best = 1e9;
        for (int round = 0; round < 5; ++round) {
          kernel.context.peak_bytes = 0;
          const auto start = std::chrono::steady_clock::now();
          REQUIRE(!kernel.Run(Arguments(t, n)).empty());
          const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
          best = std::min(best, took.count());
        }
        bytes = kernel.context.peak_bytes;
        std::printf(" %11.1f", best * 1e9 / static_cast<double>(n));
      }
      std::printf(" %9.1f\n", static_cast<double>(bytes) / static_cast<double>(n));
      std::fflush(stdout);
    }
  }
}

}  // namespace
}  // namespace pullback::testing
