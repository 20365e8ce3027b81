// Random programs of loops that the rules of Figure 8e and motion apply to: the same values with and without,
// and derivatives that differences agree with.
#include <catch2/catch.hpp>
#include <random>

#include "core/ir/printer.h"
#include "tests/support/derivatives.h"
#include "tests/support/optimised.h"
#include "tests/support/values.h"

namespace pullback::testing {
namespace {

using pipeline::Transform;

class LoopWriter {
 public:
  explicit LoopWriter(uint32_t seed) : rng_(seed) {}

  std::string Program() {
    text_ = "fn f(x: [n]f64, a: [n, n]f64, e: i64, k: i64) -> f64 {\n";
    text_ += "  var s = 0.5\n  var t = 1.0\n  var y = x\n";
    const int loops = 1 + Pick(3);
    for (int i = 0; i < loops; ++i) Loop(1);
    return text_ + "  return s + sum(y)\n}\n";
  }

 private:
  int Pick(int n) { return static_cast<int>(rng_() % static_cast<uint32_t>(n)); }
  void Line(int depth, const std::string& line) {
    text_ += std::string(static_cast<size_t>(2 * depth), ' ') + line + "\n";
  }

  void Loop(int depth) {
    static const char* const kRanges[] = {"0..n", "0..k", "2..2", "3..1", "0..1",
                                          "1..3", "0..4", "0..0", "1..n", "k..3"};
    const std::string i = "i" + std::to_string(next_++);
    Line(depth, "for " + i + " in " + kRanges[Pick(10)] + " {");
    const int lines = 1 + Pick(3);
    for (int line = 0; line < lines; ++line) Statement(depth + 1, i);
    if (depth < 3 && Pick(3) == 0) Loop(depth + 1);
    Line(depth, "}");
  }

  void Statement(int depth, const std::string& i) {
    static const char* const kPlaces[] = {"e", "0", "2", "k", "n - 1", "7"};
    switch (Pick(7)) {
      case 0:
        return Line(depth,
                    "if " + i + " == " + kPlaces[Pick(6)] + " { s = s * 1.25 + y[" + i + " % n] }");
      case 1:
        return Line(depth, "if " + i + " != " + kPlaces[Pick(6)] + " { } else { s = sin(s) }");
      case 2: return Line(depth, "s = s * 0.5 + x @ (a @ x) * 0.01");
      case 3: return Line(depth, "y = 0.125 * (a @ a) @ y");
      case 4: return Line(depth, "t = t * s");
      case 5: return Line(depth, "let d" + std::to_string(next_++) + " = x[" + i + " % n] * s");
      default: return Line(depth, "y[" + i + " % n] = y[" + i + " % n] * 0.5 + s * 0.1");
    }
  }

  std::mt19937 rng_;
  std::string text_;
  int next_ = 0;
};

TEST_CASE("loops: a few turns that carry a matrix leave no tape") {
  const auto program = [](const std::string& type, const std::string& turns) {
    const bool rows = type == "[n, h]f64";
    return "fn f(x: " + type + ", u: [h, h]f64) -> f64 {\n  var z = x\n  for s < " + turns +
           " { z = tanh.(z @ u) }\n  return " + (rows ? "sum(z * z)" : "dot(z, z)") + "\n}\n";
  };
  const auto has_tape = [](const std::string& text) {
    const ir::Module gradient = Derived(LowerText(text, "f"), Transform::kValueAndGrad);
    return ir::Print(gradient).find("push") != std::string::npos;
  };
  CHECK_FALSE(has_tape(program("[n, h]f64", "3")));
  CHECK(has_tape(program("[n, h]f64", "9")));
  CHECK(has_tape(program("[n, h]f64", "len(u)")));
  for (const char* turns : {"0", "1", "3", "4", "5"}) {
    for (const int64_t n : {0, 1, 5, 33}) {
      const ir::Module ssa = LowerText(program("[n, h]f64", turns), "f");
      const std::vector<Tensor> args = {Waves(n, 3, 0.5), Waves(3, 3, 1.5)};
      CheckSameOptimised(ssa, Transform::kValueAndGrad, args);
      if (n == 5) CheckDerivatives(ssa, args);
    }
  }
}

TEST_CASE("loops: rules and motion keep the values of random programs") {
  opt::RuleCounts rules;
  for (uint32_t seed = 0; seed < 150; ++seed) {
    const std::string program = LoopWriter(seed).Program();
    INFO(program);
    const ir::Module ssa = LowerText(program, "f");
    std::mt19937 rng(seed);
    const auto at = [&](int64_t n, int64_t e, int64_t k) {
      const auto noise = [&](std::vector<int64_t> shape) {
        int64_t size = 1;
        for (int64_t d : shape) size *= d;
        return RandomLike(
            Tensor::Of<double>(DType::kF64, shape, std::vector<double>(static_cast<size_t>(size))),
            rng);
      };
      return std::vector<Tensor>{noise({n}), noise({n, n}), Tensor::I64(e), Tensor::I64(k)};
    };
    const auto staged = pipeline::Derive(ssa, Transform::kValue, {true, true, false, false}, {});
    REQUIRE(staged.ok());
    for (size_t k = 0; k < rules.fired.size(); ++k) rules.fired[k] += staged->rules.fired[k];
    const ir::Module plain = Derived(ssa, Transform::kValue, {}, false);
    for (const auto& args : {at(3, 1, 2), at(4, -1, 0), at(1, 0, 5), at(3, 5, 1)}) {
      const double was = Scalar(RunOk(plain, args)[0]), is = Scalar(RunOk(staged->final, args)[0]);
      CHECK(std::abs(was - is) <= 1e-12 * std::max(1.0, std::abs(was)));
    }
    if (seed % 3 == 0) CheckDerivatives(ssa, at(3, 1, 2));
  }
  for (const char* rule : {"loop_never_entered", "loop_peeled", "loop_without_result",
                           "loop_single_hit", "float_invariant_statement"}) {
    INFO(rule);
    CHECK(rules.Of(opt::FindRule(rule)) > 0);
  }
}

}  // namespace
}  // namespace pullback::testing
