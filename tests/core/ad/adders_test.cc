// Loops that only add to numbers: each turn is reversed behind itself, and nothing is kept.
#include "core/ad/adders.h"

#include <catch2/catch.hpp>
#include <random>
#include <sstream>

#include "core/ir/printer.h"
#include "tests/support/derivatives.h"
#include "tests/support/settings.h"
#include "tests/support/values.h"

namespace pullback::testing {
namespace {

using ad::Mixed;
using pipeline::Transform;

std::vector<Tensor> MixedGradients(const ir::Module& ssa, Mixed mixed,
                                   const std::vector<Tensor>& args, bool optimise = true) {
  pipeline::Options options;
  options.mixed = mixed;
  options.optimise = optimise;
  std::vector<bool> wrt;
  for (ir::Value v : ssa.Get(ssa.entry).params())
    wrt.push_back(ssa.Get(ssa.entry).TypeOf(v).IsFloat());
  auto staged = pipeline::Derive(ssa, Transform::kValueAndGrad, wrt, options);
  INFO(staged.status().message());
  REQUIRE(staged.ok());
  return RunOk(staged->final, args);
}

void CheckNear(const std::vector<Tensor>& some, const std::vector<Tensor>& others) {
  REQUIRE(some.size() == others.size());
  for (size_t k = 0; k < some.size(); ++k) {
    const std::vector<double> x = Doubles(some[k]), y = Doubles(others[k]);
    REQUIRE(x.size() == y.size());
    for (size_t e = 0; e < x.size(); ++e) {
      INFO("result " << k << ", element " << e);
      CHECK(x[e] == Approx(y[e]).epsilon(1e-10).margin(1e-12));
    }
  }
}

const char* const kHead = "fn f(x: [n, m]f64, y: [n]f64, p: f64, k: [n]i64) -> f64 {\n";

std::vector<Tensor> Args() {
  return {Mat(4, 3, {0.3, -0.4, 1.7, 0.2, 0.9, -1.1, 0.5, 0.4, 0.8, -0.7, 1.3, 0.6}),
          Vec({0.5, -1.2, 0.8, 0.1}), Tensor::F64(0.7),
          Tensor::Of(DType::kI64, {4}, std::vector<int64_t>{2, 0, 3, 1})};
}

// Of functions of [n]f64 and a number.
std::vector<Tensor> Waves(int n) {
  std::vector<double> y;
  for (int k = 0; k < n; ++k) y.push_back(std::sin(7.0 * k));
  return {Vec(y), Tensor::F64(0.3)};
}
int64_t TapeOf(const ir::Module& ssa, int n) {
  const auto run = eval::Run(Derived(ssa, Transform::kValueAndGrad), Waves(n));
  REQUIRE(run.ok());
  return run->cost.peak_tape;
}

struct Program {
  const char* name;
  const char* body;
};

// A gradient of these has no tape.
const Program kAdders[] = {
    {"a number of each turn",
     "var s = 0.0\n for i < n { let z = tanh.(x[i] * p)\n s += dot(z, z) * y[i] }\n return s"},
    {"pairs, and a branch",
     "var s = 0.0\n for i < n { for j < n { if j > i { s += 1.0 / sqrt(norm2(x[i] - x[j]) + p) } } "
     "}\n return s"},
    {"three arms, one of them empty, and what is in front of them",
     "var s = 0.0\n for i < n { let z = exp(y[i] * p)\n if k[i] > 2 { s += z } else if k[i] < 1 { "
     "s "
     "-= z * sin(z) } }\n return s"},
    {"continue",
     "var s = 1.0\n for i < n { if y[i] < 0.0 { continue }\n s += log(y[i] + p) }\n "
     "return s / f64(n)"},
    {"two sums of one loop, and factors behind it",
     "var s = 0.0\n var t = p\n for i < n { s += sin(y[i])\n t -= y[i] * y[i] * p }\n return (s - "
     "t "
     "* 0.5) / f64(n) - s * 3.0"},
    {"one loop behind another, with a sum that goes on",
     "var s = p\n for i < n { s += exp(y[i]) }\n for i < n { for j < m { s += sin(x[i, j]) * y[i] "
     "} "
     "}\n return s"},
    {"rows at places that data say, read in two loops",
     "var s = 0.0\n for i < n { s += norm2(x[k[i]] - x[i]) }\n for i < n { s += y[k[i]] * y[i] }\n "
     "return s * 0.25"},
    {"integers beside the sum, which its terms need",
     "var s = 0.0\n var c = 17\n var odd = 0\n for i < n { c = (c * 25173 + 13849) % 65536\n if c "
     "% "
     "2 == 1 { odd += 1\n s += y[i] * f64(c) / 65536.0 } }\n return s + p * f64(odd)"},
    {"a sum of what loops of a turn give",
     "var s = 0.0\n for i < n { var z = y[i]\n for j < m { z += x[i, j] * y[k[i]] }\n s += z * z "
     "}\n return s"},
    {"an expression whose turns have loops",
     "return sum i < n { y[i] * (prod j < k[i] { x[j, 0] + "
     "p }) }"},
    {"none at all", "var s = p\n for i < n - 4 { s += y[i] * y[i] }\n return s"},
    {"the root of a sum, of which there is one",
     "var s = p\n for i < n { let z = tanh.(x[i] * "
     "p)\n s += dot(z, z) }\n return sqrt(s / f64(n))"},
    {"a sum that another loop needs",
     "var s = 0.0\n for i < n { s += exp(y[i]) }\n var t = 0.0\n for i < n { if y[i] > 0.0 { t += "
     "sin(s * y[i]) } }\n return log(t + 2.0)"},
    {"a loop inside whose cotangent is no seed",
     "var s = 0.0\n for i < n { for j < n { s += sin(y[i] * y[j]) * p } }\n return s * s"},
    {"elements and a number",
     "var o = ones(m)\n var s = 0.0\n for i < n { for j < m { let e = x[i, j] * p\n o[j] += e * "
     "e\n s "
     "+= e * y[i] } }\n return s * sum(o)"},
    {"loops inside, and two sums whose cotangents are none",
     "var s, t = 0.0, p\n for i < n { for j < n { s += y[i] / (y[j] + p) * p\n t += sqrt(y[i] * "
     "y[i] + p) } "
     "}\n return s * t"},
};

// These are as they were, and right.
const Program kOthers[] = {
    {"each turn scales the sum", "var s = p\n for i < n { s = s * 0.5 + sin(y[i]) }\n return s"},
    {"turns read the sum", "var s = p\n for i < n { s += sin(y[i]) * s }\n return s"},
    {"a branch on the sum",
     "var s = p\n for i < n { if s < 1.0 { s += exp(y[i]) } else { s -= y[i] * y[i] } }\n return "
     "s"},
    {"started anew",
     "var s = p\n for i < n { if y[i] < 0.0 { s = 0.0 } else { s += exp(y[i]) } }\n return s"},
    {"two sums that change places",
     "var s = p\n var t = 1.0\n for i < n { s, t = t + sin(y[i]), s + exp(y[i]) }\n return s - t"},
    {"taken from something", "var s = p\n for i < n { s = exp(y[i]) - s }\n return s"},
    {"twice in one turn", "var s = p\n for i < n { s = s + s * y[i] }\n return s"},
    {"left early", "var s = p\n for i < n { if k[i] == 3 { break }\n s += exp(y[i]) }\n return s"},
    {"a number that turns hand on",
     "var s = 0.0\n var z = p\n for i < n { z = sin(z + y[i])\n s += z }\n return s"},
    {"a loop until something holds",
     "var s = p\n var i = 0\n while i < n and y[i] < 1.9 { s += exp(y[i])\n i += 1 }\n return s"},
};

TEST_CASE("adders: nothing is kept") {
  for (const Program& p : kAdders) {
    const std::string text = kHead + std::string(p.body) + "\n}";
    INFO(p.name << "\n" << text);
    const std::string adjoint = AdjointText(text, {true, true, true, false});
    INFO(adjoint);
    CHECK(CountText(adjoint, "push ") == 0);
    const ir::Module ssa = LowerText(text, "f");
    CheckNear(MixedGradients(ssa, Mixed::kAuto, Args()),
              MixedGradients(ssa, Mixed::kCached, Args()));
    CheckNear(MixedGradients(ssa, Mixed::kAuto, Args(), false),
              MixedGradients(ssa, Mixed::kCached, Args()));
    CheckDerivatives(ssa, Args(), 1e-4, {true, true, true, false});
  }
}

TEST_CASE("adders: the gradient of a gradient") {
  for (const Program& p : kAdders) {
    const std::string text =
        kHead + std::string(p.body) +
        "\n}\nfn g(x: [n, m]f64, y: [n]f64, p: f64, k: [n]i64) -> f64 {\n"
        "let d = grad(|v| f(x, v, p, k))(y)\n return norm2(d) + 0.1 * sum(d) }";
    INFO(p.name << "\n" << text);
    CheckDerivatives(LowerText(text, "g"), Args(), 1e-4, {true, true, true, false});
  }
}

TEST_CASE("adders: sums that are more than that") {
  for (const Program& p : kOthers) {
    const std::string text = kHead + std::string(p.body) + "\n}";
    INFO(p.name << "\n" << text);
    const ir::Module ssa = LowerText(text, "f");
    const auto derived = MixedGradients(ssa, Mixed::kAuto, Args());
    const auto kept = MixedGradients(ssa, Mixed::kCached, Args());
    REQUIRE(derived.size() == kept.size());
    for (size_t r = 0; r < kept.size(); ++r) CHECK(SameBits(derived[r], kept[r]));
    CheckDerivatives(ssa, Args(), 1e-4, {true, true, true, false});
  }
}

// What such a loop gives is kept once, where control may not come by.
TEST_CASE("adders: behind a guard, inside a branch") {
  for (const char* body :
       {"if n == 0 { return p }\n var s = 0.0\n for i < n { for j < n { s += tanh(y[j] * "
        "y[i]) } }\n return s * p }",
        "var s = p\n if p > 0.0 { for i < n { for j < n { s += exp(y[i] * y[j]) } } }\n "
        "return s / f64(n) }"}) {
    const std::string text = "fn f(y: [n]f64, p: f64) -> f64 {\n" + std::string(body);
    INFO(text);
    const ir::Module ssa = LowerText(text, "f");
    CheckNear(MixedGradients(ssa, Mixed::kAuto, Waves(5)),
              MixedGradients(ssa, Mixed::kCached, Waves(5)));
    CheckDerivatives(ssa, Waves(4), 1e-4);
    CHECK(TapeOf(ssa, 16) <= TapeOf(ssa, 8) + 8 * 8);  // the array of cotangents
  }
}

// For a cotangent of 1 a loop takes what its arrays take: not where turns read less.
TEST_CASE("adders: few turns over large arrays") {
  for (const char* body :
       {"var s = 0.0\n for i in 0..3 { s += sin(x[i, 0]) * x[i, 0] }\n return sqrt(s + 9.0)",
        "var s = 0.0\n for i < m { s += sin(x[i, i]) }\n return sqrt(s + 9.0)",
        "var s = 0.0\n for i < n { s += sin(y[k[i]]) }\n return sqrt(s + 9.0)"}) {
    const std::string text = kHead + std::string(body) + "\n}";
    INFO(text);
    const std::string adjoint = AdjointText(text, {true, true, true, false});
    INFO(adjoint);
    CHECK(CountText(adjoint, "each(") == 0);  // no array is multiplied
    CheckDerivatives(LowerText(text, "f"), Args(), 1e-4, {true, true, true, false});
  }
}

// Ways of a sum into the results are many, and are not all walked.
TEST_CASE("adders: a sum that is doubled often") {
  std::string text =
      kHead + std::string("var s = 0.0\n for i < n { s += sin(y[i]) }\n var v = s\n");
  for (int k = 0; k < 60; ++k) text += "v = v + v\n";
  text += "return s + floor(v) + v * 1e-18\n}";
  CheckNear(MixedGradients(LowerText(text, "f"), Mixed::kAuto, Args()),
            MixedGradients(LowerText(text, "f"), Mixed::kCached, Args()));
}

TEST_CASE("adders: traps of what nobody needs") {
  const std::string text =
      kHead +
      std::string("var s = 0.0\n for i < n { s += sin(y[i])\n let e = y[i + 5] }\n return s\n}");
  const ir::Module derived =
      Derived(LowerText(text, "f"), Transform::kValueAndGrad, {true, true, true, false}, false);
  const auto run = eval::Run(derived, Args());
  REQUIRE(run.ok());
  CHECK(run->trap);
}

// A trap is the primal's, wherever it is.
// Forces of pairs, in every step: the steps are kept, and not the pairs, whose loops are run again.
TEST_CASE("adders: loops over pairs in every step of something else") {
  const std::string text =
      "fn f(y: [n]f64, p: f64) -> f64 {\n"
      "var z = y\n for t < 3 { var o = zeros(n)\n for i < n { for j < n { if i != j { let d = z[i] "
      "- "
      "z[j]\n o[i] += d / (1.0 + d * d) } } }\n for i < n { z[i] += p * o[i] } }\n return sum(z * "
      "z) "
      "}";
  const ir::Module ssa = LowerText(text, "f");
  CheckNear(MixedGradients(ssa, Mixed::kAuto, Waves(5)),
            MixedGradients(ssa, Mixed::kCached, Waves(5)));
  CheckDerivatives(ssa, Waves(4), 1e-4);
  CHECK(TapeOf(ssa, 8) > 0);
  CHECK(TapeOf(ssa, 16) < 3 * TapeOf(ssa, 8));
}

// A factor of a matrix: to run the sum inside again each turn would keep the matrix as it is, and update a copy.
TEST_CASE("adders: sums over what each turn updates are not run again") {
  const std::string text =
      "fn f(y: [n]f64, p: f64) -> f64 {\n"
      "var l = zeros(n, n)\n for i < n { for j < i + 1 { var s = exp(-(y[i] - y[j]) ** 2) + [i == "
      "j] * 2.0\n for k < j { s -= l[i, k] * l[j, k] }\n if i == j { l[i, j] = sqrt(s) } else { "
      "l[i, j] = s / l[j, j] } } }\n return p * sum i < n { log(l[i, i]) }\n}";
  const ir::Module ssa = LowerText(text, "f");
  CheckDerivatives(ssa, Waves(4));
  const ir::Module gradient = Derived(ssa, Transform::kValueAndGrad);
  const auto bytes = [&](int n) {
    const auto run = eval::Run(gradient, Waves(n));
    REQUIRE(run.ok());
    return run->cost.array_bytes;
  };
  CHECK(bytes(24) < 5 * bytes(12));
}

// To keep an array of few elements for each step is less than what its turns would.
TEST_CASE("adders: sums over pairs of points that steps move are run again") {
  const std::string text =
      "fn f(y: [n]f64, p: f64) -> f64 {\n"
      "var z = gen i < n, k < 2 { y[i] * f64(k + 1) }\n for t < 3 { var e = 0.0\n for i < n { for "
      "j "
      "< n { let a = z[i, 0] - z[j, 0]\n let b = z[i, 1] - z[j, 1]\n e += 1.0 / (1.0 + a * a + b * "
      "b) } }\n z[t, 0] += p * e * z[t, 1] }\n return sum(z * z)\n}";
  const ir::Module ssa = LowerText(text, "f");
  CheckDerivatives(ssa, Waves(4));
  CHECK(TapeOf(ssa, 16) == TapeOf(ssa, 8));
}

// The cotangent of an array that is the result is known before the loop.
TEST_CASE("adders: arrays that are results") {
  const std::string text = std::string(
      "fn f(x: [n, m]f64, y: [n]f64, p: f64, k: [n]i64) -> ([n]f64, f64) {\n"
      "var o = y\n var s = 0.0\n for i < n { let z = tanh.(x[i] * p)\n"
      "o[k[i]] += dot(z, z)\n s += exp(y[i]) }\n return (o, s * 0.5) }");
  const ir::Module ssa = LowerText(text, "f");
  CheckDerivatives(ssa, Args(), 1e-4, {true, true, true, false});
  const std::string adjoint = AdjointText(text, {true, true, true, false}, Transform::kVjp);
  INFO(adjoint);
  CHECK(CountText(adjoint, "push ") == 0);
}

TEST_CASE("adders: traps") {
  const std::string text =
      kHead +
      std::string(
          "var s = 0.0\n for i < n { if y[i] > 0.0 { s += x[k[i], 0] * y[i] } }\n return s\n}");
  const ir::Module ssa = LowerText(text, "f");
  const ir::Module derived = Derived(ssa, Transform::kValueAndGrad, {true, true, true, false});
  std::vector<Tensor> args = Args();
  args[3] = Tensor::Of(DType::kI64, {4}, std::vector<int64_t>{2, 9, 3, 1});
  CHECK(RunOk(derived, args).size() == 4);  // y[1] < 0: nothing is read
  args[3] = Tensor::Of(DType::kI64, {4}, std::vector<int64_t>{2, 0, 4, 1});
  for (const ir::Module* m : {&ssa, &derived}) {
    const auto run = eval::Run(*m, args);
    REQUIRE(run.ok());
    REQUIRE(run->trap);
    CHECK(run->trap->kind == ir::TrapKind::kIndex);
  }
}

// Loops and branches that add to two sums and an array, some of which do more.
class RandomAdder {
 public:
  explicit RandomAdder(uint32_t seed) : random_(seed) {}

  std::string Text() {
    out_ << kHead << "var s = " << Pick({"0.0", "p", "1.5"})
         << "\nvar t = 0.0\nvar c = 3\nvar o = " << Pick({"zeros(n)", "y", "sin.(y * p)"}) << "\n";
    const int loops = Roll(2) + 1;
    for (int l = 0; l < loops; ++l) Loop(0);
    out_ << "return "
         << Pick({"s", "s / f64(n)", "s - 2.0 * t", "s * s + t", "s * p", "(s + t * f64(c)) / 3.0",
                  "sin(s) + t"})
         << Pick({"", " + o[1] * 0.5", " + norm2(o)", " + sum(o * y)"}) << "\n}";
    return out_.str();
  }

 private:
  int Roll(int n) { return std::uniform_int_distribution<int>(0, n - 1)(random_); }
  std::string Pick(const std::vector<std::string>& some) {
    return some[static_cast<size_t>(Roll(static_cast<int>(some.size())))];
  }
  std::string Integer() { return rows_.empty() ? "0" : Pick(rows_); }
  std::string Term(int depth = 0) {
    std::vector<std::string> leaves = {"p",
                                       "0.7",
                                       "f64(c % 3)",
                                       "y[" + Integer() + "]",
                                       "y[k[" + Integer() + "]]",
                                       "x[" + Integer() + ", 1]"};
    if (!columns_.empty()) leaves.push_back("x[" + Integer() + ", " + Pick(columns_) + "]");
    leaves.insert(leaves.end(), names_.begin(), names_.end());
    leaves.insert(leaves.end(), names_.begin(), names_.end());
    if (depth == 2 || Roll(3) == 0) return Pick(leaves);
    switch (Roll(5)) {
      case 0: return "sin(" + Term(depth + 1) + ")";
      case 1: return "exp(-" + Term(depth + 1) + " * 0.3)";
      case 2: return "norm2(x[" + Integer() + "] * " + Term(depth + 1) + ")";
      default: return "(" + Term(depth + 1) + Pick({" * ", " + ", " - "}) + Term(depth + 1) + ")";
    }
  }
  void Statement(int depth) {
    const int roll = Roll(depth > 3 ? 6 : 12);
    if (roll < 3) {
      out_ << Pick({"s += ", "s -= ", "t += "}) << Term() << "\n";
    } else if (roll == 3 && Roll(2) == 0) {
      out_ << "o[" << Integer() << "] " << Pick({"+= ", "-= "}) << Term() << "\n";
    } else if (roll == 3) {
      const std::string name = "z" + std::to_string(next_++);
      out_ << "let " << name << " = " << Term() << "\n";
      names_.push_back(name);
    } else if (roll == 4) {
      out_ << Pick({"c += 1", "c = (c * 5 + 1) % 11", "s += sum(x[0] * p)"}) << "\n";
    } else if (roll == 5) {
      if (Roll(6) == 0) out_ << Pick({"s = s * 0.9", "t = sin(t)", "s = t + s", "t = 0.0"}) << "\n";
    } else if (roll < 9) {
      out_ << "if " << Pick({Term() + " > 0.3", "c % 2 == 0", "k[" + Integer() + "] < 2"})
           << " {\n";
      Block(depth + 1);
      if (Roll(4) == 0) out_ << "continue\n";
      if (Roll(2) == 0) {
        out_ << "} else {\n";
        Block(depth + 1);
      }
      out_ << "}\n";
    } else if (roll == 9) {
      const std::string name = "w" + std::to_string(next_++);
      out_ << "var " << name << " = " << Term() << "\nfor j" << next_ << " < m { " << name
           << Pick({" += ", " = sin(" + name + ") + "}) << "x[" << Integer() << ", j" << next_
           << "] * p }\n";
      ++next_;
      names_.push_back(name);
    } else {
      Loop(depth);
    }
  }
  void Block(int depth) {
    const size_t names = names_.size();
    const int statements = Roll(3) + 1;
    for (int k = 0; k < statements; ++k) Statement(depth);
    names_.resize(names);
  }
  void Loop(int depth) {
    const bool row = rows_.empty() || Roll(2) == 0;
    std::vector<std::string>& indices = row ? rows_ : columns_;
    const std::string i = (row ? "i" : "j") + std::to_string(next_++);
    out_ << "for " << i << (row ? " < n" : " < m") << " {\n";
    indices.push_back(i);
    Block(depth + 1);
    indices.pop_back();
    out_ << "}\n";
  }

  std::mt19937 random_;
  std::ostringstream out_;
  std::vector<std::string> rows_, columns_, names_;
  int next_ = 0;
};

TEST_CASE("adders: random loops") {
  int without_tape = 0;
  constexpr int kPrograms = RandomCount(250);
  for (int seed = 0; seed < kPrograms; ++seed) {
    const std::string text = RandomAdder(seed).Text();
    INFO("seed " << seed << "\n" << text);
    const ir::Module ssa = LowerText(text, "f");
    const auto kept = MixedGradients(ssa, Mixed::kCached, Args());
    CheckNear(MixedGradients(ssa, Mixed::kAuto, Args()), kept);
    if (seed % 5 == 0) CheckNear(MixedGradients(ssa, Mixed::kAuto, Args(), false), kept);
    without_tape += CountText(AdjointText(text, {true, true, true, false}), "push ") == 0 ? 1 : 0;
  }
  INFO(without_tape << " of " << kPrograms << " without a tape");
  CHECK(without_tape > kPrograms * 2 / 5);
}

}  // namespace
}  // namespace pullback::testing
