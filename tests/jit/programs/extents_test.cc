// An axis longer than kMaxExtent does not exist, not even in an array without elements.
#include <catch2/catch.hpp>

#include "jit/engine.h"
#include "jit/llvm/llvm_backend.h"
#include "tests/support/derivatives.h"

namespace pullback::testing {
namespace {

constexpr char kText[] = "fn f(n: i64) -> i64 { let a = zeros(0, n)\n return dim(a, 1) }";

TEST_CASE("extents are bounded by the interpreter and by compiled code") {
  const ir::Module m = LowerText(kText, "f");
  CHECK(RunOk(m, {Tensor::I64(kMaxExtent)})[0].At<int64_t>(0) == kMaxExtent);
  const auto result = eval::Run(m, {Tensor::I64(kMaxExtent + 1)});
  REQUIRE(result.ok());
  REQUIRE(result->trap);
  CHECK(result->trap->kind == ir::TrapKind::kMemory);
}

TEST_CASE("extents are bounded at the call") {
  jit::Engine engine(jit::EngineOptions(), jit::MakeLlvmBackend().value());
  const auto handle = engine.Compile({"fn f(a: [n, m]f64) -> i64 { return m }", "f", {}, {}, {}});
  REQUIRE(handle.ok());
  ApiValue value;
  value.tensor = Tensor::Of<double>(DType::kF64, {0, kMaxExtent + 1}, {});
  const auto out = engine.Run(*handle, {{value}, {}});
  CHECK(out.status().reason() == "INVALID_VALUE");
}

}  // namespace
}  // namespace pullback::testing
