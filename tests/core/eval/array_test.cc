// Arrays: value semantics, in place where unique, traps, memory.
#include "tests/core/eval/eval_support.h"

namespace pullback::eval {
namespace {

TEST_CASE("update yields a new value; the old one stays") {
  const std::vector<Tensor> args = {Vec({1, 2, 3})};
  const Result r = RunText(R"(
fn @f(%a: [*]f64) -> ([*]f64, [*]f64, [*]f64) {
b0: %b = update %a[1], 7.0
    %c = add_at %b[1], 0.5
    ret %a, %b, %c
})",
                           args);
  CHECK(Doubles(r.values[0]) == std::vector<double>{1, 2, 3});
  CHECK(Doubles(r.values[1]) == std::vector<double>{1, 7, 3});
  CHECK(Doubles(r.values[2]) == std::vector<double>{1, 7.5, 3});
  CHECK(r.cost.ops == 1);
  CHECK(Doubles(args[0]) == std::vector<double>{1, 2, 3});
}

// Writes every element of %a once, in a loop.
const char* const kFill = R"(
fn @fill(%a: [*]f64, %n: i64) -> ([*]f64) {
b0: jump b1(%a, 0)
b1(%x: [*]f64, %i: i64): br lt(%i, %n), b2, b3
b2: %y = update %x[%i], 2.0
    %z = add_at %y[%i], 1.0
    jump b1(%z, add(%i, 1))
b3: ret %x
})";

TEST_CASE("a loop of updates of an array that nobody else reads makes no copies") {
  const int64_t n = 100000;
  const Tensor zeros = Tensor::Of(DType::kF64, {n}, std::vector<double>(n));
  const Result r = RunText(kFill, {zeros, Tensor::I64(n)});
  CHECK(r.cost.array_bytes == 0);
  CHECK(Doubles(r.values[0]) == std::vector<double>(n, 3.0));
}

TEST_CASE("updates are in place through calls, tapes and loop arguments") {
  const Result r = RunText(R"(
entry @f
fn @f(%n: i64) -> ([*]f64) {
b0: %z = zeros %n : f64
    jump b1(%z, %z, 0)
b1(%a: [*]f64, %unused: [*]f64, %i: i64): br lt(%i, %n), b2, b3
b2: %b = call @set(%a, %i)
    %t = tape_new
    %t1 = push %t, %b
    %t2, %c = pop %t1 : [*]f64
    %d = add_at %c[%i], 1.0
    jump b1(%d, %d, add(%i, 1))
b3: ret %a
}
fn @set(%a: [*]f64, %i: i64) -> ([*]f64) {
b0: %b = update %a[%i], 4.0
    ret %b
})",
                           {Tensor::I64(1000)});
  CHECK(r.cost.array_bytes == 8000);
  CHECK(Doubles(r.values[0]) == std::vector<double>(1000, 5.0));
}

TEST_CASE("an array that is read later is copied") {
  const Result r = RunText(R"(
fn @f(%a: [*]f64) -> ([*]f64, f64) {
b0: %b = update %a[0], 5.0
    %v = index %a[0]
    ret %b, %v
})",
                           {Vec({1, 2})});
  CHECK(r.values[1].At<double>(0) == 1.0);
  CHECK(r.cost.array_bytes == 16);
}

TEST_CASE("one array passed twice is two values") {
  const Result r = RunText(R"(
entry @f
fn @f(%a: [*]f64) -> ([*]f64, [*]f64) {
b0: %x, %y = call @g(%a, %a)
    ret %x, %y
}
fn @g(%x: [*]f64, %y: [*]f64) -> ([*]f64, [*]f64) {
b0: %u = update %x[0], 9.0
    %s = add_arrays %u, %y
    ret %s, %y
})",
                           {Vec({1, 2})});
  CHECK(Doubles(r.values[0]) == std::vector<double>{10, 4});
  CHECK(Doubles(r.values[1]) == std::vector<double>{1, 2});
}

TEST_CASE("add_arrays adds elements, also to itself, and needs equal shapes") {
  const char* doubled = "fn @f(%a: [*]f64) -> ([*]f64) { b0: %b = add_arrays %a, %a ret %b }";
  const Result r = RunText(doubled, {Vec({1, 2, 3})});
  CHECK(Doubles(r.values[0]) == std::vector<double>{2, 4, 6});
  CHECK(r.cost.ops == 3);
  const Trap t =
      TrapOf("fn @f(%a: [*]f64, %b: [*]f64) -> ([*]f64) { b0: %c = add_arrays %a, %b !4 ret %c }",
             {Vec({1, 2}), Vec({1})});
  CHECK(t.kind == ir::TrapKind::kSizeMismatch);
  CHECK(t.loc == 4);
  CHECK(t.a == 2);
  CHECK(t.b == 1);
}

TEST_CASE("every element type is stored as it is") {
  const Result r = RunText(R"(
fn @f(%n: i64) -> ([*,*]f32, [*]i64, [*]bool, i64) {
b0: %a = zeros %n, 2 : f32
    %a1 = update %a[1, 1], 0.1f
    %b = zeros %n : i64
    %b1 = add_at %b[0], -5
    %c = zeros %n : bool
    %c1 = update %c[2], true
    %d = dim %a1, 1
    ret %a1, %b1, %c1, %d
})",
                           {Tensor::I64(3)});
  CHECK(r.values[0].shape == std::vector<int64_t>{3, 2});
  CHECK(r.values[0].At<float>(3) == 0.1f);
  CHECK(r.values[0].At<float>(2) == 0.0f);
  CHECK(r.values[1].At<int64_t>(0) == -5);
  CHECK(r.values[2].At<uint8_t>(2) == 1);
  CHECK(r.values[2].data.size() == 3);
  CHECK(r.values[3].At<int64_t>(0) == 2);
  CHECK(r.cost.ops == 0);
}

TEST_CASE("an index out of range traps with itself and the extent") {
  const char* const kTexts[] = {
      "fn @f(%a: [*]f64, %i: i64) -> (f64) { b0: %v = index %a[%i] !3 ret %v }",
      "fn @f(%a: [*]f64, %i: i64) -> ([*]f64) { b0: %v = update %a[%i], 1.0 !3 ret %v }",
      "fn @f(%a: [*]f64, %i: i64) -> ([*]f64) { b0: %v = add_at %a[%i], 1.0 !3 ret %v }",
  };
  for (const char* text : kTexts) {
    for (int64_t i : {int64_t{-1}, int64_t{2}, INT64_MIN}) {
      const Trap t = TrapOf(text, {Vec({1, 2}), Tensor::I64(i)});
      CHECK(t.kind == ir::TrapKind::kIndex);
      CHECK(t.loc == 3);
      CHECK(t.a == i);
      CHECK(t.b == 2);
    }
  }
}

TEST_CASE("a negative extent traps") {
  const char* text = "fn @f(%n: i64) -> ([*,*]f64) { b0: %z = zeros 0, %n : f64 !2 ret %z }";
  const Trap t = TrapOf(text, {Tensor::I64(-3)});
  CHECK(t.kind == ir::TrapKind::kNegativeSize);
  CHECK(t.loc == 2);
  CHECK(t.a == -3);
  CHECK(RunText(text, {Tensor::I64(1)}).values[0].ElementCount() == 0);
}

TEST_CASE("memory over the budget traps before it is taken") {
  const char* text = "fn @f(%n: i64) -> (i64) { b0: %z = zeros %n, %n : f64 !6 ret %n }";
  const Trap t = TrapOf(text, {Tensor::I64(1000000)});
  CHECK(t.kind == ir::TrapKind::kMemory);
  CHECK(t.loc == 6);
  CHECK(t.a == 8000000000000);
  CHECK(t.b == int64_t{1} << 32);
  CHECK(TrapOf(text, {Tensor::I64(int64_t{1} << 62)}).a == INT64_MAX);
}

TEST_CASE("memory is given back when the last owner is gone") {
  const char* text = R"(
fn @f(%n: i64) -> (i64) {
b0: jump b1(%n)
b1(%k: i64): br gt(%k, 0), b2, b3
b2: %z = zeros 1000 : f64
    jump b1(sub(%k, 1))
b3: ret %n
})";
  Limits limits;
  limits.max_bytes = 20000;
  const Result r = RunText(text, {Tensor::I64(100)}, limits);
  CHECK_FALSE(r.trap);
  CHECK(r.cost.array_bytes == 800000);
}

TEST_CASE("tapes and frames are charged too") {
  Limits limits;
  limits.max_bytes = 100000;
  CHECK(TrapOf(R"(
fn @f() -> () {
b0: %t = tape_new
    jump b1(%t)
b1(%s: tape): %u = push %s, 1.0
    jump b1(%u)
})",
               {}, limits)
            .kind == ir::TrapKind::kMemory);
  CHECK(TrapOf("entry @f\nfn @f() -> () { b0: call @f() ret }", {}, limits).kind ==
        ir::TrapKind::kMemory);
}

}  // namespace
}  // namespace pullback::eval
