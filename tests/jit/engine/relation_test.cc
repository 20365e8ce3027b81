// Relations go into native code.
#include <catch2/catch.hpp>

#include "core/base/relation.h"
#include "jit/llvm/llvm_backend.h"
#include "tests/jit/engine/fake_backend.h"

namespace pullback::jit {
namespace {

constexpr char kEnergy[] = R"(fn f(r: rel[n, n], x: [n]f64) -> f64 {
  return sum i < n, j < n { [r(i, j)] * (x[i] - x[j]) ** 2 }
})";

Engine& TheEngine() {
  static Engine engine(EngineOptions(), Ok(MakeLlvmBackend()));
  return engine;
}

StatusOr<Outputs> Evaluate(const KernelRequest& request, const Inputs& inputs,
                           const RunLimits& limits = {}) {
  PB_ASSIGN_OR_RETURN(const Handle handle, TheEngine().Compile(request));
  return TheEngine().Run(handle, inputs, limits);
}

ApiValue Vector(const std::vector<double>& values) {
  ApiValue v;
  v.tensor = Tensor::Of(DType::kF64, {static_cast<int64_t>(values.size())}, values);
  return v;
}

std::vector<double> Doubles(const ApiValue& v) {
  std::vector<double> out;
  for (int64_t i = 0; i < v.tensor.ElementCount(); ++i) out.push_back(v.tensor.At<double>(i));
  return out;
}

// A path of three, its second pair twice.
ApiValue Path() { return RelationFromCoo({3, 3}, {{1, 0, 1}, {2, 1, 2}}); }

TEST_CASE("relations: value and gradient") {
  const Outputs out = Ok(Evaluate({kEnergy, "f", Transform::kValueAndGrad, {}, {}},
                                  {{Path(), Vector({1, 3, 6})}, {}}));
  CHECK(out.value.tensor.At<double>(0) == 13);
  REQUIRE(out.derivatives.size() == 1);
  CHECK(Doubles(out.derivatives[0]) == std::vector<double>{-4, -2, 6});
}

TEST_CASE("relations: Hessian") {
  const Outputs out =
      Ok(Evaluate({kEnergy, "f", Transform::kHessian, {}, {}}, {{Path(), Vector({1, 3, 6})}, {}}));
  REQUIRE(out.derivatives.size() == 1);
  CHECK(Doubles(out.derivatives[0].elements.at(0)) ==
        std::vector<double>{2, -2, 0, -2, 4, -2, 0, -2, 2});
}

TEST_CASE("relations: an empty one, and one of a size that is not there") {
  const Outputs out = Ok(Evaluate({kEnergy, "f", Transform::kValueAndGrad, {}, {}},
                                  {{RelationFromCoo({2, 2}, {{}, {}}), Vector({1, 3})}, {}}));
  CHECK(out.value.tensor.At<double>(0) == 0);
  CHECK(Doubles(out.derivatives[0]) == std::vector<double>{0, 0});
  const Status status =
      Evaluate({kEnergy, "f", Transform::kValue, {}, {}}, {{Path(), Vector({1, 3})}, {}}).status();
  CHECK(status.reason() == "SIZE_MISMATCH");
  CHECK(status.message() ==
        "argument 'x' axis 0: expected n = 3 (from argument 'r' axis 0), got 2");
}

TEST_CASE("relations: faults of the argument") {
  const auto fault = [](ApiValue relation) {
    return Evaluate({kEnergy, "f", Transform::kValue, {}, {}},
                    {{std::move(relation), Vector({1, 3})}, {}})
        .status();
  };
  CHECK(fault(RelationFromCoo({2, 2}, {{0, 1}, {1, 2}})).message() ==
        "argument 'r': tuple 1, (1, 2), is outside of rel[2, 2]");
  CHECK(fault(RelationFromCoo({2, 2}, {{0, 1}, {1, 2}})).reason() == "INVALID_VALUE");
  CHECK(fault(RelationFromCoo({2}, {{0}})).reason() == "INVALID_VALUE");
  CHECK(fault(Vector({1})).message() == "argument 'r': expected rel[n, n], got [1]f64");
  const Status unknown = Evaluate({kEnergy, "f", Transform::kValueAndGrad, {"r"}, {}},
                                  {{Path(), Vector({1, 3, 6})}, {}})
                             .status();
  CHECK(unknown.reason() == "NOT_DIFFERENTIABLE");
}

TEST_CASE("relations: memory is charged before it is taken") {
  RunLimits limits;
  limits.memory_bytes = 1 << 20;
  const int64_t huge = int64_t{1} << 47;
  ApiValue i;
  i.tensor = Tensor::I64(999);
  const KernelRequest member{
      "fn f(r: rel[n], i: i64) -> bool { return r(i) }", "f", Transform::kValue, {}, {}};
  const Status status =
      Evaluate(member, {{RelationFromCoo({huge}, {{huge - 1}}), i}, {}}, limits).status();
  CHECK(status.code() == Code::kResourceExhausted);
  CHECK(status.reason() == "MEMORY_BUDGET");
  const Outputs out = Ok(Evaluate(member, {{RelationFromCoo({1000}, {{999}}), i}, {}}, limits));
  CHECK(out.value.tensor.At<uint8_t>(0) == 1);
  CHECK(out.peak_bytes >= 8008);
  // What the code does not read is not made, so that the sizes cost nothing here.
  const KernelRequest size{
      "fn f(r: rel[n], i: i64) -> i64 { return n + i }", "f", Transform::kValue, {}, {}};
  const Outputs large =
      Ok(Evaluate(size, {{RelationFromCoo({huge}, {{huge - 1}}), i}, {}}, limits));
  CHECK(large.value.tensor.At<int64_t>(0) == huge + 999);
}

TEST_CASE("relations: in a tuple, and in seeds") {
  const KernelRequest request{
      "fn f(p: (rel[n], [n]f64)) -> [n]f64 { let (r, x) = p\n"
      "  return gen i < n { [r(i)] * x[i] * x[i] } }",
      "f",
      Transform::kVjp,
      {},
      {}};
  ApiValue pair;
  pair.is_tuple = true;
  pair.elements = {RelationFromCoo({3}, {{2, 0}}), Vector({1, 2, 3})};
  const Outputs out = Ok(Evaluate(request, {{pair}, {Vector({1, 1, 10})}}));
  CHECK(Doubles(out.value) == std::vector<double>{1, 0, 9});
  REQUIRE(out.derivatives[0].elements.size() == 2);
  CHECK(out.derivatives[0].elements[0].is_tuple);
  CHECK(out.derivatives[0].elements[0].elements.empty());
  CHECK(Doubles(out.derivatives[0].elements[1]) == std::vector<double>{2, 0, 60});

  KernelRequest forward = request;
  forward.transform = Transform::kJvp;
  ApiValue tangent = pair;
  tangent.elements[0] = ApiValue{};
  tangent.elements[0].is_tuple = true;
  tangent.elements[1] = Vector({1, 1, 1});
  CHECK(Doubles(Ok(Evaluate(forward, {{pair}, {tangent}})).derivatives[0]) ==
        std::vector<double>{2, 0, 6});
  tangent.elements[0] = pair.elements[0];
  CHECK(Evaluate(forward, {{pair}, {tangent}}).status().reason() == "TYPE_MISMATCH");
}

}  // namespace
}  // namespace pullback::jit
