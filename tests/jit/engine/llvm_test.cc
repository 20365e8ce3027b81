// From text to answers with the LLVM back end.
#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>
#include <thread>

#include "jit/llvm/llvm_backend.h"
#include "tests/jit/engine/fake_backend.h"

namespace pullback::jit {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using Catch::Matchers::Contains;

Engine& TheEngine() {
  static Engine engine(EngineOptions(), Ok(MakeLlvmBackend()));
  return engine;
}

StatusOr<Outputs> Evaluate(const KernelRequest& request, const Inputs& inputs,
                           const RunLimits& limits = {}) {
  PB_ASSIGN_OR_RETURN(const Handle handle, TheEngine().Compile(request));
  return TheEngine().Run(handle, inputs, limits);
}

double ScalarOf(const ApiValue& v) { return v.tensor.At<double>(0); }

const char* const kPow =
    "fn f(x: f64, n: i64) -> f64 {\n"
    "  var r = 1.0\n  var k = n\n"
    "  while k > 0 { k = k - 1\n r = r * x }\n"
    "  return r\n}\n";

TEST_CASE("A loop's value and gradient") {
  const Outputs out =
      Ok(Evaluate(Ask(kPow, "f", Transform::kValueAndGrad), {{Scalar(2), Integer(10)}, {}}));
  CHECK(ScalarOf(out.value) == 1024);
  REQUIRE(out.derivatives.size() == 1);
  CHECK(ScalarOf(out.derivatives[0]) == 5120);
  CHECK(out.execute_seconds > 0);
}

const char* const kConv =
    "fn f(x: [n]f64, c: [m]f64) -> [n - m + 1]f64 {\n"
    "  return gen i < n - m + 1 { sum j < m { x[i + j] * c[j] } }\n}\n";

TEST_CASE("vjp and jvp of arrays, in the order of wrt") {
  const std::vector<ApiValue> args = {Vector({1, 2, 3, 4}), Vector({10, 1})};
  const Outputs vjp =
      Ok(Evaluate(Ask(kConv, "f", Transform::kVjp, {"c", "x"}), {args, {Vector({1, 0, 2})}}));
  CHECK(Doubles(vjp.value) == std::vector<double>{12, 23, 34});
  REQUIRE(vjp.derivatives.size() == 2);
  CHECK(Doubles(vjp.derivatives[0]) == std::vector<double>{7, 10});
  CHECK(Doubles(vjp.derivatives[1]) == std::vector<double>{10, 1, 20, 2});
  const Outputs jvp =
      Ok(Evaluate(Ask(kConv, "f", Transform::kJvp, {"c"}), {args, {Vector({0, 1})}}));
  REQUIRE(jvp.derivatives.size() == 1);
  CHECK(Doubles(jvp.derivatives[0]) == std::vector<double>{2, 3, 4});
}

TEST_CASE("A seed has the sizes of a struct that came out") {
  const char* const program =
      "struct S { v: [n]f64, k: f64 }\n"
      "fn f(x: [n]f64) -> S { return S(gen i < n { x[i] * x[i] }, x[0]) }\n";
  const auto call = [&](std::vector<double> seed) {
    return Evaluate(Ask(program, "f", Transform::kVjp),
                    {{Vector({1, 2, 3})}, {Tuple({Vector(std::move(seed)), Scalar(1)})}});
  };
  CHECK(Doubles(Ok(call({1, 1, 1})).derivatives[0]) == std::vector<double>{3, 4, 6});
  const Status longer = call({1, 1, 1, 1}).status();
  CHECK(longer.reason() == "SIZE_MISMATCH");
  CHECK(longer.message() == "seed element v axis 0: expected 3, got 4");
  CHECK_FALSE(call({1}).ok());
}

TEST_CASE("An input that is the result is copied, and the input stays") {
  const Inputs inputs{{Vector({1, 2, 3})}, {}};
  const Outputs out =
      Ok(Evaluate(Ask("fn f(x: [n]f64) -> ([n]f64, [n]f64) { return (x, x) }"), inputs));
  CHECK(Doubles(out.value.elements[1]) == std::vector<double>{1, 2, 3});
  const Outputs changed =
      Ok(Evaluate(Ask("fn f(x: [n]f64) -> [n]f64 { var y = x\n y[0] = 9.0\n return y }"), inputs));
  CHECK(Doubles(changed.value) == std::vector<double>{9, 2, 3});
  CHECK(Doubles(inputs.args[0]) == std::vector<double>{1, 2, 3});
}

TEST_CASE("NaNs that come out are the canonical one") {
  const uint64_t odd = 0xfff8dead00000001;
  Tensor scalar = Tensor::Of<uint64_t>(DType::kF64, {}, {odd});
  Tensor vector = Tensor::Of<uint64_t>(DType::kF64, {2}, {odd, 0});
  const Outputs out = Ok(Evaluate(Ask("fn f(x: f64, y: [n]f64) -> (f64, [n]f64) { return (x, y) }"),
                                  {{Leaf(scalar), Leaf(vector)}, {}}));
  CHECK(out.value.elements[0].tensor.At<uint64_t>(0) == 0x7ff8000000000000);
  CHECK(out.value.elements[1].tensor.At<uint64_t>(0) == 0x7ff8000000000000);
}

TEST_CASE("Entries without results, floats or elements") {
  const Outputs none = Ok(Evaluate(Ask("fn f(x: f64) { let y = x }"), {{Scalar(1)}, {}}));
  CHECK((none.value.is_tuple && none.value.elements.empty()));
  const char* const integer = "fn f(x: f64) -> i64 { return i64(x) }";
  const Outputs vjp = Ok(Evaluate(Ask(integer, "f", Transform::kVjp), {{Scalar(2)}, {Tuple({})}}));
  CHECK(vjp.value.tensor.At<int64_t>(0) == 2);
  CHECK(ScalarOf(vjp.derivatives[0]) == 0);
  const Outputs jvp = Ok(Evaluate(Ask(integer, "f", Transform::kJvp), {{Scalar(2)}, {Scalar(1)}}));
  CHECK((jvp.derivatives[0].is_tuple && jvp.derivatives[0].elements.empty()));
  const Outputs empty =
      Ok(Evaluate(Ask("fn f(x: [n]f64, unused: [m]f64) -> f64 { return sum(x * x) }", "f",
                      Transform::kValueAndGrad),
                  {{Vector({}), Vector({3, 4})}, {}}));
  CHECK(ScalarOf(empty.value) == 0);
  CHECK(empty.derivatives[0].tensor.shape == std::vector<int64_t>{0});
  CHECK(Doubles(empty.derivatives[1]) == std::vector<double>{0, 0});
}

TEST_CASE("Tuples go in and derivatives of their shape come out") {
  const Outputs out = Ok(
      Evaluate(Ask("fn f(p: (f64, ([n]f64, i64))) -> f64 { return p.0 * sum(p.1.0) * f64(p.1.1) }",
                   "f", Transform::kValueAndGrad),
               {{Tuple({Scalar(2), Tuple({Vector({1, 2}), Integer(3)})})}, {}}));
  CHECK(ScalarOf(out.value) == 18);
  const std::vector<ApiValue>& p = out.derivatives[0].elements;
  CHECK(ScalarOf(p[0]) == 9);
  CHECK(Doubles(p[1].elements[0]) == std::vector<double>{6, 6});
  CHECK((p[1].elements[1].is_tuple && p[1].elements[1].elements.empty()));
}

TEST_CASE("A Jacobian has the axes of the result, then those of the parameter") {
  const std::vector<ApiValue> args = {Vector({1, 2, 3, 4}), Vector({10, 1})};
  for (const std::vector<std::string>& wrt :
       {std::vector<std::string>{"x", "c"}, std::vector<std::string>{"c", "x"}}) {
    const Outputs out = Ok(Evaluate(Ask(kConv, "f", Transform::kJacobian, wrt), {args, {}}));
    CHECK(Doubles(out.value) == std::vector<double>{12, 23, 34});
    REQUIRE(out.derivatives.size() == 2);
    const ApiValue& by_x = out.derivatives[wrt[0] == "x" ? 0 : 1];
    const ApiValue& by_c = out.derivatives[wrt[0] == "x" ? 1 : 0];
    CHECK(by_x.tensor.shape == std::vector<int64_t>{3, 4});
    CHECK(Doubles(by_x) == std::vector<double>{10, 1, 0, 0, 0, 10, 1, 0, 0, 0, 10, 1});
    CHECK(by_c.tensor.shape == std::vector<int64_t>{3, 2});
    CHECK(Doubles(by_c) == std::vector<double>{1, 2, 2, 3, 3, 4});
  }
}

TEST_CASE("A Jacobian of tuples has the structure of both") {
  const char* const text =
      "fn f(p: (f64, i64, [n]f64), k: i64) -> (i64, (f64, [n]f64)) {\n"
      "  return (k, (p.0 * p.0, gen i < n { p.0 * p.2[i] }))\n}";
  const Outputs out =
      Ok(Evaluate(Ask(text, "f", Transform::kJacobian),
                  {{Tuple({Scalar(3), Integer(1), Vector({5, 7})}), Integer(2)}, {}}));
  REQUIRE(out.derivatives.size() == 1);
  const ApiValue& d = out.derivatives[0];
  REQUIRE(d.elements.size() == 2);
  CHECK((d.elements[0].is_tuple && d.elements[0].elements.empty()));
  const ApiValue& scalar = d.elements[1].elements[0];
  const ApiValue& vector = d.elements[1].elements[1];
  REQUIRE((scalar.elements.size() == 3 && vector.elements.size() == 3));
  CHECK(ScalarOf(scalar.elements[0]) == 6);
  CHECK((scalar.elements[1].is_tuple && scalar.elements[1].elements.empty()));
  CHECK(Doubles(scalar.elements[2]) == std::vector<double>{0, 0});
  CHECK(Doubles(vector.elements[0]) == std::vector<double>{5, 7});
  CHECK(vector.elements[2].tensor.shape == std::vector<int64_t>{2, 2});
  CHECK(Doubles(vector.elements[2]) == std::vector<double>{3, 0, 0, 3});
}

const char* const kQuadratic =
    "fn f(x: [n]f64, k: i64, s: f64) -> f64 { return s * s * s * x[0] * x[1] + x[1] * x[1] }";

TEST_CASE("A Hessian has a block for every pair of parameters, and hvp is its product") {
  const std::vector<ApiValue> args = {Vector({5, 7}), Integer(1), Scalar(2)};
  const Outputs out =
      Ok(Evaluate(Ask(kQuadratic, "f", Transform::kHessian, {"s", "x"}), {args, {}}));
  CHECK(ScalarOf(out.value) == 329);
  REQUIRE(out.derivatives.size() == 2);
  const std::vector<ApiValue>& s = out.derivatives[0].elements;
  const std::vector<ApiValue>& x = out.derivatives[1].elements;
  REQUIRE((s.size() == 2 && x.size() == 2));
  CHECK(ScalarOf(s[0]) == 6 * 2 * 35);
  CHECK(Doubles(s[1]) == std::vector<double>{12 * 7, 12 * 5});
  CHECK(Doubles(x[0]) == std::vector<double>{12 * 7, 12 * 5});
  CHECK(x[1].tensor.shape == std::vector<int64_t>{2, 2});
  CHECK(Doubles(x[1]) == std::vector<double>{0, 8, 8, 2});
  const Outputs product = Ok(Evaluate(Ask(kQuadratic, "f", Transform::kHvp, {"s", "x"}),
                                      {args, {Scalar(1), Vector({0, 10})}}));
  CHECK(ScalarOf(product.value) == 329);
  REQUIRE(product.derivatives.size() == 2);
  CHECK(ScalarOf(product.derivatives[0]) == 420 + 600);
  CHECK(Doubles(product.derivatives[1]) == std::vector<double>{84 + 80, 60 + 20});
  const auto by_x = Ok(Evaluate(Ask(kQuadratic, "f", Transform::kHessian, {"x"}), {args, {}}));
  REQUIRE(by_x.derivatives.size() == 1);
  CHECK(Doubles(by_x.derivatives[0].elements[0]) == std::vector<double>{0, 8, 8, 2});
}

TEST_CASE("Matrices of derivatives: what is refused") {
  const auto status = [](const std::string& text, Transform transform,
                         const std::vector<std::string>& wrt = {}) {
    return TheEngine().Compile(Ask(text, "f", transform, wrt)).status();
  };
  for (Transform t : {Transform::kHessian, Transform::kHvp}) {
    const Status s = status("fn f(x: f64) -> (f64, f64) { return (x, x) }", t);
    CHECK(s.code() == Code::kInvalidArgument);
    CHECK(s.reason() == "NOT_SCALAR");
    CHECK(status("fn f(x: f64, k: i64) -> f64 { return x }", t, {"k"}).reason() ==
          "NOT_DIFFERENTIABLE");
  }
  CHECK(status("fn f(x: f64, k: i64) -> f64 { return x }", Transform::kJacobian, {"k"}).reason() ==
        "NOT_DIFFERENTIABLE");
  const Status many = status("fn f(x: [a, b, c, d, e]f64) -> [a, b, c, d, e]f64 { return x }",
                             Transform::kJacobian);
  CHECK(many.code() == Code::kUnimplemented);
  REQUIRE(many.diagnostics().size() == 1);
  CHECK(many.diagnostics()[0].span.line == 1);
  CHECK(many.diagnostics()[0].span.column == 4);  // the entry's name
  const Handle hvp = Ok(TheEngine().Compile(Ask(kQuadratic, "f", Transform::kHvp)));
  const std::vector<ApiValue> args = {Vector({5, 7}), Integer(1), Scalar(2)};
  CHECK(TheEngine().Run(hvp, {args, {Vector({1, 2})}}).status().reason() == "MISSING_ARGUMENT");
  CHECK(TheEngine().Run(hvp, {args, {Vector({1, 2, 3}), Scalar(1)}}).status().reason() ==
        "SIZE_MISMATCH");
  const Handle hessian = Ok(TheEngine().Compile(Ask(kQuadratic, "f", Transform::kHessian)));
  CHECK(TheEngine().Run(hessian, {args, {Scalar(1)}}).status().reason() == "UNKNOWN_ARGUMENT");
  const Status trap = TheEngine().Run(hessian, {{Vector({5}), Integer(1), Scalar(2)}, {}}).status();
  CHECK(trap.reason() == "INDEX_OUT_OF_RANGE");
}

struct TrapCase {
  std::string program;
  std::vector<ApiValue> args;
  Code code;
  std::string reason;
  uint32_t line, column;
};

TEST_CASE("Traps name the place in the source, in every transform") {
  const TrapCase cases[] = {
      {"fn f(x: [n]f64, i: i64) -> f64 {\n  let y = 2.0\n  return y * x[i]\n}",
       {Vector({1, 2, 3}), Integer(5)},
       Code::kOutOfRange,
       "INDEX_OUT_OF_RANGE",
       3,
       14},
      {"fn f(x: f64, i: i64) -> f64 {\n  return x * f64(7 / i)\n}",
       {Scalar(1), Integer(0)},
       Code::kFailedPrecondition,
       "DIVISION_BY_ZERO",
       2,
       18},
      {"fn f(x: f64, k: i64) -> f64 {\n  let z = zeros(k)\n  return x + sum(z)\n}",
       {Scalar(1), Integer(-4)},
       Code::kFailedPrecondition,
       "NEGATIVE_SIZE",
       2,
       11},
      {"fn f(x: [n]f64, k: i64) -> f64 {\n  let y: [k]f64 = x\n  return sum(y)\n}",
       {Vector({1, 2}), Integer(3)},
       Code::kFailedPrecondition,
       "SIZE_MISMATCH",
       2,
       0},
  };
  for (const TrapCase& c : cases) {
    for (Transform transform : {Transform::kValue, Transform::kValueAndGrad}) {
      const Status s = Evaluate(Ask(c.program, "f", transform), {c.args, {}}).status();
      INFO(s.ToString());
      CHECK(s.code() == c.code);
      CHECK(s.reason() == c.reason);
      REQUIRE(s.diagnostics().size() == 1);
      CHECK(s.diagnostics()[0].span.line == c.line);
      if (c.column != 0) CHECK(s.diagnostics()[0].span.column == c.column);
    }
  }
}

TEST_CASE("Index traps carry the index and the size") {
  const Status s = Evaluate(Ask("fn f(x: [n]f64, i: i64) -> f64 { return x[i] }"),
                            {{Vector({1, 2, 3}), Integer(5)}, {}})
                       .status();
  CHECK(s.message() == "index 5 is out of range for an axis of size 3");
}

double Milliseconds(Clock::duration d) {
  return std::chrono::duration<double, std::milli>(d).count();
}

const char* const kEndless[] = {
    R"(fn f(x: f64) -> f64 {
  var y = x
  while y == y { y = y * 0.5 + 1.0 }
  return y
})",
    R"(fn f(x: f64) -> f64 {
  var y = x
  while true { y = y + sum i < 1000000 { y * f64(i) } }
  return y
})",
    R"(fn f(x: f64) -> f64 {
  var y = x
  for i < 1000000000000 { y = y + x }
  return y
})",
    R"(fn f(x: f64) -> f64 { return sum i < 1000000, j < 1000000 { sin(x + f64(i * j)) } })",
};

TEST_CASE("Endless loops end with the deadline or the cancellation") {
  for (const char* program : kEndless) {
    const Handle handle = Ok(TheEngine().Compile(Ask(program)));
    RunLimits limits;
    limits.deadline = Clock::now() + 20ms;
    CHECK(TheEngine().Run(handle, {{Scalar(1)}, {}}, limits).status().code() ==
          Code::kDeadlineExceeded);
    CHECK(Milliseconds(Clock::now() - *limits.deadline) < 100);
    limits = {};
    limits.cancelled = std::make_shared<std::atomic<bool>>(false);
    std::thread canceller([&] {
      std::this_thread::sleep_for(20ms);
      *limits.cancelled = true;
    });
    CHECK(TheEngine().Run(handle, {{Scalar(1)}, {}}, limits).status().code() == Code::kCancelled);
    canceller.join();
  }
}

TEST_CASE("Recursion ends at the limit") {
  const char* const program =
      "fn g(x: f64, n: i64) -> f64 { if n == 0 { return x }\n return g(x * 0.5, n - 1) + 1.0 }\n"
      "fn f(x: f64, n: i64) -> f64 { return g(x, n) }\n";
  const Handle handle = Ok(TheEngine().Compile(Ask(program)));
  RunLimits limits;
  limits.max_depth = 100;
  CHECK(TheEngine().Run(handle, {{Scalar(1), Integer(50)}, {}}, limits).ok());
  const Status s = TheEngine().Run(handle, {{Scalar(1), Integer(-1)}, {}}, limits).status();
  CHECK(s.code() == Code::kResourceExhausted);
  CHECK(s.reason() == "RECURSION_LIMIT");
  // The stack is the kernel's own, as deep on a small thread, and charged.
  limits.max_depth = INT32_MAX;
  limits.memory_bytes = int64_t{100} << 20;
  std::string reason;
  std::thread thread([&] {
    reason = TheEngine().Run(handle, {{Scalar(1), Integer(-1)}, {}}, limits).status().reason();
  });
  thread.join();
  CHECK(reason == "MEMORY_BUDGET");
}

TEST_CASE("Memory is charged before it is taken") {
  const Handle handle = Ok(TheEngine().Compile(
      Ask("fn f(n: i64) -> f64 {\n  let a = gen i < n { f64(i) }\n  return a[0] + a[n - 1]\n}")));
  RunLimits limits;
  limits.memory_bytes = 1 << 20;
  limits.deadline = Clock::now() + 60s;
  CHECK(TheEngine().Run(handle, {{Integer(1000)}, {}}, limits).ok());
  for (const int64_t n : {int64_t{1} << 18, int64_t{1} << 40, INT64_MAX}) {
    const Status s = TheEngine().Run(handle, {{Integer(n)}, {}}, limits).status();
    CHECK(s.code() == Code::kResourceExhausted);
    CHECK(s.reason() == "MEMORY_BUDGET");
  }
  // A tape that grows without end.
  const Status s =
      Evaluate(Ask("fn f(x: f64) -> f64 {\n  var y = x\n  while y == y { y = sin(y) }\n"
                   "  return y\n}",
                   "f", Transform::kVjp),
               {{Scalar(1)}, {Scalar(1)}}, limits)
          .status();
  CHECK(s.reason() == "MEMORY_BUDGET");
}

TEST_CASE("Explain shows every stage") {
  const KernelRequest request = Ask(kConv, "f", Transform::kVjp);
  const std::pair<const char*, const char*> stages[] = {
      {"ast", ""},        {"ssa", "each"},        {"adjoint", "each"},
      {"normal", "each"}, {"loops", "for"},       {"llvm", "define"},
      {"asm", "ret"},     {"cost", "\"primal\""}, {"tensor-ssa", "# Its adjoint"},
  };
  for (const auto& [stage, expected] : stages) {
    const std::string text = Ok(TheEngine().Explain(request, stage));
    INFO(stage << ":\n" << text);
    CHECK_THAT(text, Contains(expected));
    CHECK(!text.empty());
  }
  const Status s = TheEngine().Explain(request, "wasm").status();
  CHECK(s.code() == Code::kNotFound);
  CHECK(s.reason() == "UNKNOWN_STAGE");
}

TEST_CASE("Sparsity of a Jacobian and a Hessian") {
  const std::string conv =
      Ok(TheEngine().Explain(Ask(kConv, "f", Transform::kJacobian), "sparsity"));
  INFO(conv);
  // A band by the signal; every element by the kernel.
  CHECK_THAT(conv, Contains("\"parameter\": \"x\", \"dense\": false"));
  CHECK_THAT(conv, Contains("%i <= %i.1 and %i.1 < %m + %i"));
  CHECK_THAT(conv, Contains("\"parameter\": \"c\", \"dense\": true"));

  const std::string map = Ok(TheEngine().Explain(
      Ask("fn f(x: [n]f64, y: [n]f64) -> [n]f64 { return x * x }", "f", Transform::kJacobian),
      "sparsity"));
  INFO(map);
  CHECK_THAT(map, Contains("\"elements\": \"[%i, %i]\""));
  CHECK_THAT(map, Contains("\"parameter\": \"y\", \"dense\": false"));
  CHECK_THAT(map, Contains("\"where\": []"));

  // Neighbours: the diagonal and the two beside it.
  const std::string chain = Ok(TheEngine().Explain(
      Ask("fn f(x: [n]f64) -> f64 { return sum i < n - 1 { (x[i + 1] - x[i] * x[i]) ** 2.0 } }",
          "f", Transform::kHessian),
      "sparsity"));
  INFO(chain);
  CHECK_THAT(chain, Contains("%i == %i.1 + 1 and 1 <= %i"));
  CHECK_THAT(chain, Contains("%i + 1 == %i.1 and %i + 2 <= "));

  const std::string dense = Ok(TheEngine().Explain(
      Ask("fn f(x: [n]f64, a: [m, n]f64, b: [m, m]f64) -> [m]f64 { return b @ tanh.(a @ x) }", "f",
          Transform::kJacobian),
      "sparsity"));
  CHECK_THAT(dense, Contains("\"parameter\": \"x\", \"dense\": true"));
  CHECK_THAT(dense, Contains("\"parameter\": \"a\", \"dense\": true"));
  CHECK_THAT(dense,
             Contains("\"parameter\": \"b\", \"dense\": false, \"elements\": \"[%i, %i, %i.1]\""));
  const std::string loop = Ok(TheEngine().Explain(
      Ask("fn f(x: [n]f64) -> [n]f64 { var y = x\n for i in 1..n { y[i] = y[i - 1] * x[i] }\n"
          "return y }",
          "f", Transform::kJacobian),
      "sparsity"));
  CHECK_THAT(loop, Contains("\"dense\": null, \"pattern\": \"found when it runs\""));
  const std::string scan =
      Ok(TheEngine().Explain(Ask("fn f(x: [n]f64, m: i64) -> [n]f64 { var y = x\n"
                                 "for t in 0..m { y = scan sum i < n { y[i] * y[i] } }\nreturn y }",
                                 "f", Transform::kJacobian, {"x"}),
                             "sparsity"));
  CHECK_THAT(scan, Contains("\"dense\": null, \"pattern\": \"found when it runs\""));

  const Status s = TheEngine().Explain(Ask(kConv, "f", Transform::kVjp), "sparsity").status();
  CHECK(s.code() == Code::kInvalidArgument);
  CHECK(s.reason() == "NO_SPARSITY");
}

TEST_CASE("Cost counts by running where inputs are given") {
  const Inputs inputs{{Vector({1, 2, 3, 4}), Vector({10, 1})}, {Vector({1, 0, 2})}};
  const std::string text =
      Ok(TheEngine().Explain(Ask(kConv, "f", Transform::kVjp), "cost", &inputs));
  INFO(text);
  // Three outputs of two products and one sum each.
  CHECK_THAT(text, Contains("\"primal\": {\"ops\": 9,"));
  CHECK_THAT(text, Contains("\"inputs\": 6"));
  CHECK_THAT(text, Contains("\"outputs\": 3"));
  CHECK_THAT(text, Contains("\"bound\": 72"));
  const Inputs wrong{{Vector({1}), Vector({1, 2, 3, 4})}, {Vector({1})}};
  CHECK(!TheEngine().Explain(Ask(kConv, "f", Transform::kVjp), "cost", &wrong).ok());
}

}  // namespace
}  // namespace pullback::jit
