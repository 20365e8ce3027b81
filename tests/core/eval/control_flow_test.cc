// Blocks, calls, tapes and limits.
#include "tests/core/eval/eval_support.h"

namespace pullback::eval {
namespace {

// pow and its adjoint, with the strong multiply of the cotangent.
const char* const kPowGrad = R"(
fn @pow.grad(%x: f64, %n: i64, %ybar: f64) -> (f64, f64) {
b0: %T0 = tape_new
    jump b1(1.0, %n, 0, %T0)
b1(%r: f64, %k: i64, %t: i64, %T: tape):
    br gt(%k, 0), b2, b3
b2: %T1 = push %T, %r;  %k1 = sub %k, 1;  %r1 = mul %r, %x;  %t1 = add %t, 1
    jump b1(%r1, %k1, %t1, %T1)
b3: jump a1(%ybar, 0.0, %t, %T)
a1(%rbar: f64, %xbar: f64, %u: i64, %S: tape):
    br gt(%u, 0), a2, a3
a2: %S1, %rv = pop %S : f64
    %xbar1 = add %xbar, smul(%rbar, %rv);  %rbar1 = smul %rbar, %x;  %u1 = sub %u, 1
    jump a1(%rbar1, %xbar1, %u1, %S1)
a3: ret %r, %xbar
})";

TEST_CASE("the adjoint of pow, worked by hand") {
  const Result r = RunText(kPowGrad, {Tensor::F64(2), Tensor::I64(3), Tensor::F64(1)});
  CHECK(r.values[0].At<double>(0) == 8.0);
  CHECK(r.values[1].At<double>(0) == 12.0);
  CHECK(r.cost.peak_tape == 3);
  CHECK(r.cost.ops == 3 + 3 * 3);
  const Result zero = RunText(kPowGrad, {Tensor::F64(2), Tensor::I64(0), Tensor::F64(1)});
  CHECK(zero.values[0].At<double>(0) == 1.0);
  CHECK(zero.values[1].At<double>(0) == 0.0);
}

TEST_CASE("block arguments are parallel copies") {
  const Result r = RunText(R"(
fn @f(%x: f64) -> (f64, f64) {
b0: jump b1(%x, mul(%x, 2.0), 3)
b1(%a: f64, %b: f64, %k: i64): br gt(%k, 0), b2, b3
b2: jump b1(%b, %a, sub(%k, 1))
b3: ret %a, %b
})",
                           {Tensor::F64(5)});
  CHECK(r.values[0].At<double>(0) == 10.0);
  CHECK(r.values[1].At<double>(0) == 5.0);
}

TEST_CASE("a branch may pass different arguments to one block") {
  const char* text = "fn @f(%p: bool) -> (i64) { b0: br %p, b1(1), b1(2)  b1(%r: i64): ret %r }";
  CHECK(RunText(text, {Tensor::Bool(true)}).values[0].At<int64_t>(0) == 1);
  CHECK(RunText(text, {Tensor::Bool(false)}).values[0].At<int64_t>(0) == 2);
}

const char* const kFib = R"(
entry @fib
fn @fib(%n: i64) -> (i64) {
b0: br lt(%n, 2), b1, b2
b1: ret %n
b2: %a = call @fib(sub(%n, 1)) !1
    %b = call @fib(sub(%n, 2)) !2
    ret add(%a, %b)
})";

TEST_CASE("recursion") { CHECK(RunText(kFib, {Tensor::I64(15)}).values[0].At<int64_t>(0) == 610); }

TEST_CASE("mutual recursion with several results") {
  const Result r = RunText(R"(
entry @even
fn @even(%n: i64) -> (bool, i64) {
b0: br eq(%n, 0), b1, b2
b1: ret true, 0
b2: %r, %d = call @odd(sub(%n, 1))
    ret %r, add(%d, 1)
}
fn @odd(%n: i64) -> (bool, i64) {
b0: br eq(%n, 0), b1, b2
b1: ret false, 0
b2: %r, %d = call @even(sub(%n, 1))
    ret %r, add(%d, 1)
})",
                           {Tensor::I64(9001)});
  CHECK(r.values[0].At<uint8_t>(0) == 0);
  CHECK(r.values[1].At<int64_t>(0) == 9001);
}

const char* const kForever = "entry @f\nfn @f(%n: i64) -> (i64) { b0: %r = call @f(%n) !9 ret %r }";

TEST_CASE("recursion ends at the depth limit, without the native stack") {
  const Trap t = TrapOf(kForever, {Tensor::I64(1)});
  CHECK(t.kind == ir::TrapKind::kDepth);
  CHECK(t.loc == 9);
  Limits deep;
  deep.max_depth = 1000000;
  CHECK(TrapOf(kForever, {Tensor::I64(1)}, deep).kind == ir::TrapKind::kDepth);
}

TEST_CASE("max_depth calls are allowed, one more is not") {
  const char* count = R"(
entry @f
fn @f(%n: i64) -> (i64) {
b0: br gt(%n, 0), b1, b2
b1: %r = call @f(sub(%n, 1)) ret %r
b2: ret 7
})";
  Limits limits;
  limits.max_depth = 3;
  CHECK_FALSE(RunText(count, {Tensor::I64(3)}, limits).trap);
  CHECK(TrapOf(count, {Tensor::I64(4)}, limits).kind == ir::TrapKind::kDepth);
}

TEST_CASE("recursion through the bodies of statements does not use the native stack either") {
  const char* text = R"(
entry @f
fn @f(%n: i64) -> (i64) {
b0: br gt(%n, 0), b1, b2
b1: %m = affine %n - 1
    %r = each(i < 1) { %v = call @f(%m) } sum []: %v
    ret add(%r, 1)
b2: ret 0
})";
  Limits limits;
  limits.max_depth = 100000;
  CHECK(RunText(text, {Tensor::I64(100000)}, limits).values[0].At<int64_t>(0) == 100000);
  CHECK(TrapOf(text, {Tensor::I64(100002)}).kind == ir::TrapKind::kDepth);
}

TEST_CASE("a loop that never ends meets the step limit") {
  Limits limits;
  limits.max_steps = 1000;
  const char* const kLoops[] = {
      "fn @f() -> () { b0: jump b1 b1: jump b1 }",
      "fn @f() -> () { b0: %s = each(i < 4611686018427387904) where (%i < 0) { } sum []: 1 ret }",
      "fn @f() -> () { b0: %s = each(i < 4611686018427387904) { } sum []: 1 ret }",
  };
  for (const char* loop : kLoops) {
    const auto r = Run(Parse(loop), {}, limits);
    REQUIRE_FALSE(r.ok());
    CHECK(r.status().code() == Code::kDeadlineExceeded);
    CHECK(r.status().reason() == "STEP_LIMIT");
  }
}

TEST_CASE("checks trap with their kind, place and details") {
  const char* text = R"(
fn @f(%n: i64) -> (i64) {
b0: %ok = ge %n, 2
    check %ok, size_mismatch, %n, 2 !5
    check %ok, negative_size
    ret %n
})";
  const Trap t = TrapOf(text, {Tensor::I64(1)});
  CHECK(t.kind == ir::TrapKind::kSizeMismatch);
  CHECK(t.loc == 5);
  CHECK(t.a == 1);
  CHECK(t.b == 2);
  CHECK_FALSE(RunText(text, {Tensor::I64(2)}).trap);
}

TEST_CASE("a tape is last in, first out, and holds arrays as they were") {
  const Result r = RunText(R"(
fn @f(%a: [*]f64) -> ([*]f64, [*]f64, i64) {
b0: %t0 = tape_new
    %t1 = push %t0, %a
    %b = update %a[0], 9.0
    %t2 = push %t1, 4
    %t3, %k = pop %t2 : i64
    %t4, %old = pop %t3 : [*]f64
    ret %old, %b, %k
})",
                           {Vec({1, 2})});
  CHECK(Doubles(r.values[0]) == std::vector<double>{1, 2});
  CHECK(Doubles(r.values[1]) == std::vector<double>{9, 2});
  CHECK(r.values[2].At<int64_t>(0) == 4);
  CHECK(r.cost.peak_tape == 2);
}

TEST_CASE("misuse of a tape is an error of ours, not a crash") {
  const auto reason = [](const char* text) { return Run(Parse(text), {}).status().reason(); };
  CHECK(reason("fn @f() -> () { b0: %t = tape_new %u, %v = pop %t : f64 ret }") == "TAPE_EMPTY");
  CHECK(reason("fn @f() -> () { b0: %t = tape_new %u = push %t, 1 %w, %v = pop %u : f64 ret }") ==
        "TAPE_TYPE");
}

TEST_CASE("tapes pass through calls") {
  const Result r = RunText(R"(
entry @f
fn @f(%x: f64) -> (f64) {
b0: %t = tape_new
    %t1 = call @fill(%t, %x, 3)
    %t2, %a = pop %t1 : f64
    %t3, %b = pop %t2 : f64
    ret sub(%a, %b)
}
fn @fill(%t: tape, %x: f64, %k: i64) -> (tape) {
b0: br gt(%k, 0), b1, b2
b1: %t1 = push %t, %x
    %t2 = call @fill(%t1, mul(%x, %x), sub(%k, 1))
    ret %t2
b2: ret %t
})",
                           {Tensor::F64(2)});
  CHECK(r.values[0].At<double>(0) == 16.0 - 4.0);
}

TEST_CASE("arguments must have the parameters' types") {
  const ir::Module m = Parse("fn @f(%a: [*]f64, %n: i64) -> (i64) { b0: ret %n }");
  const auto reason = [&](const std::vector<Tensor>& args) {
    return Run(m, args).status().reason();
  };
  CHECK(reason({Vec({1}), Tensor::I64(1)}).empty());
  CHECK(reason({Vec({1})}) == "BAD_ARGUMENTS");
  CHECK(reason({Tensor::F64(1), Tensor::I64(1)}) == "BAD_ARGUMENTS");
  CHECK(reason({Vec({1}), Tensor::F64(1)}) == "BAD_ARGUMENTS");
  CHECK(reason({Tensor{DType::kF64, {2}, {}}, Tensor::I64(1)}) == "BAD_ARGUMENTS");
  CHECK(reason({Tensor{DType::kF64, {-1}, {}}, Tensor::I64(1)}) == "BAD_ARGUMENTS");
  CHECK(RunFunction(m, 3, {}).status().reason() == "BAD_ARGUMENTS");
}

}  // namespace
}  // namespace pullback::eval
