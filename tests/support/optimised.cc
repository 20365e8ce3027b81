#include "tests/support/optimised.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <string>

#include "core/eval/interpreter.h"
#include "core/ir/printer.h"
#include "tests/support/derivatives.h"

namespace pullback::testing {
namespace {

struct Pair {
  ir::Module optimised, plain;
};

// Those of the last program are kept: tests run one with many arguments, and passes take longer than runs.
const Pair& DerivedBoth(const ir::Module& ssa, pipeline::Transform transform) {
  static std::string program;
  static std::map<pipeline::Transform, Pair> derived;
  if (std::string text = ir::Print(ssa); text != program) {
    derived.clear();
    program = std::move(text);
  }
  const auto found = derived.find(transform);
  if (found != derived.end()) return found->second;
  Pair both{Derived(ssa, transform, {}, true), Derived(ssa, transform, {}, false)};
  return derived.emplace(transform, std::move(both)).first->second;
}

}  // namespace

void CheckSameOptimised(const ir::Module& ssa, pipeline::Transform transform,
                        const std::vector<Tensor>& args) {
  const Pair& both = DerivedBoth(ssa, transform);
  const std::vector<Tensor> got = RunOk(both.optimised, args), want = RunOk(both.plain, args);
  REQUIRE(got.size() == want.size());
  for (size_t k = 0; k < got.size(); ++k) {
    const std::vector<double> a = Doubles(got[k]), b = Doubles(want[k]);
    REQUIRE(a.size() == b.size());
    for (size_t i = 0; i < a.size(); ++i) {
      CHECK(std::isnan(a[i]) == std::isnan(b[i]));
      if (!std::isnan(b[i])) CHECK(a[i] == Approx(b[i]).epsilon(1e-10).margin(1e-12));
    }
  }
}

bool CheckSameTrap(const ir::Module& module, const ir::Module& plain,
                   const std::vector<Tensor>& args) {
  const auto got = eval::Run(module, args), want = eval::Run(plain, args);
  REQUIRE(got.ok());
  REQUIRE(want.ok());
  REQUIRE(got->trap.has_value() == want->trap.has_value());
  if (!want->trap) return false;
  CHECK(got->trap->kind == want->trap->kind);
  CHECK(got->trap->loc == want->trap->loc);
  CHECK(got->trap->a == want->trap->a);
  CHECK(got->trap->b == want->trap->b);
  return true;
}

Tensor Waves(int64_t rows, int64_t columns, double start) {
  std::vector<double> v;
  for (int64_t k = 0; k < rows * columns; ++k)
    v.push_back(0.4 * std::sin(start + 3.0 * static_cast<double>(k)));
  return Tensor::Of(DType::kF64, {rows, columns}, v);
}

}  // namespace pullback::testing
