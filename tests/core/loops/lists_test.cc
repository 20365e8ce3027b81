// Lists through lowering, reference counts and the loop interpreter, against the reference.
#include <catch2/catch.hpp>

#include "tests/core/loops/testing.h"

namespace pullback::loops {
namespace {

// Builds n arrays in a list, changes one of each in place, sums what is popped.
constexpr char kArrays[] = R"(
record R { a: [*]f64, k: i64, l: list<R> }
fn @f(%x: [*]f64, %n: i64) -> (f64, i64) {
b0:
  %none = list_new : list<R>
  jump b1(%none, 0)
b1(%l: list<R>, %i: i64):
  br lt(%i, %n), b2, b3
b2:
  %p = list_push %l, %x, %i, %none
  %t, %a, %k, %in = list_take %p, %i
  %b = update %a[0], 2.5
  %in1 = list_push %in, %b, %k, %l
  %s = list_set %t, %i, %b, %k, %in1
  jump b1(%s, add(%i, 1))
b3:
  jump b4(%l, 0.0, 0)
b4(%r: list<R>, %sum: f64, %m: i64):
  %left = list_len %r
  br gt(%left, 0), b5, b6
b5:
  %q, %c, %ck, %cl = list_pop %r
  %v = index %c[0]
  %w = index %c[1]
  %sum1 = add %sum, add(%v, %w)
  %len = list_len %cl
  %g, %gk, %gl = list_get %cl, 0
  %depth = list_len %gl
  jump b4(%q, %sum1, add(%m, add(%gk, add(%len, %depth))))
b6:
  ret %sum, %m
}
)";

TEST_CASE("lists of arrays and lists") {
  const Outcome out = RunBoth(kArrays, {Vector({1, 3}), Tensor::I64(5)});
  CHECK(out.values[0].At<double>(0) == 5 * 5.5);
  CHECK(out.values[1].At<int64_t>(0) == 25);
  RunBoth(kArrays, {Vector({1, 3}), Tensor::I64(0)});
}

constexpr char kOps[] = R"(
record R { a: [*]f64, x: f32, p: bool }
fn @f(%a: [*]f64, %n: i64, %i: i64) -> ([*]f64, f64, i64) {
b0:
  %l = list_of %n, %a, 1.5f, true : list<R> !1
  %s = list_set %l, %i, %a, 2.5f, false !2
  %t, %b, %x, %p = list_take %s, 1 !3
  %m = list_push %t, %b, %x, %p !4
  %k, %c, %y, %q = list_pop %m !5
  %d, %z, %r = list_get %k, 1 !6
  %fit = fit %d, 2 !7
  %len = list_len %l
  %u = cast %y : f64
  %v = cast %z : f64
  %w = select %q, %u, %v
  ret %fit, add(%u, %w), %len
}
)";

TEST_CASE("every op of lists") {
  const Outcome out = RunBoth(kOps, {Vector({1, 3, 4}), Tensor::I64(3), Tensor::I64(1)});
  CHECK(out.values[0].shape == std::vector<int64_t>{2});
  CHECK(out.values[1].At<double>(0) == 2.5);
  CHECK(out.values[2].At<int64_t>(0) == 3);
  for (const int64_t n : {-1, 0, 1, 2}) {
    for (const int64_t i : {-1, 0, 5}) {
      RunBoth(kOps, {Vector({1, 3, 4}), Tensor::I64(n), Tensor::I64(i)});
    }
  }
}

// Changes through one name are not seen through another: each of these makes one copy.
TEST_CASE("a shared list is copied") {
  const Outcome out = RunBoth(R"(
record R { x: f64 }
entry @f
fn @g(%l: list<R>) -> (list<R>) {
b0:
  %m = list_set %l, 0, 7.0
  ret %m
}
fn @f() -> (f64, f64, i64) {
b0:
  %l = list_of 3, 1.0 : list<R>
  %m = call @g(%l)
  %x = list_get %l, 0
  %y = list_get %m, 0
  %p = list_push %l, 2.0
  %q = list_len %l
  %r = list_len %p
  ret %x, %y, sub(%r, %q)
}
)",
                              {});
  CHECK(out.values[0].At<double>(0) == 1);
  CHECK(out.values[1].At<double>(0) == 7);
}

constexpr char kUnique[] = R"(
record R { x: f64 }
fn @f(%n: i64) -> (f64) {
b0:
  %l0 = list_of %n, 1.0 : list<R>
  jump b1(%l0, 0)
b1(%l: list<R>, %i: i64):
  br lt(%i, %n), b2, b3
b2:
  %s = list_set %l, %i, 2.0
  %p = list_push %s, 3.0
  jump b1(%p, add(%i, 1))
b3:
  %x = list_get %l, 0
  ret %x
}
)";

TEST_CASE("a list of one owner is changed in place") {
  CHECK(RunBoth(kUnique, {Tensor::I64(100)}).copies == 0);
}

}  // namespace
}  // namespace pullback::loops
