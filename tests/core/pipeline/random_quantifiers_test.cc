// Random conditions inside quantifiers: solved, they say what the loop over every index says, and trap only where it does.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <iostream>
#include <random>

#include "core/ir/printer.h"
#include "tests/support/derivatives.h"

namespace pullback::testing {
namespace {

using pipeline::Transform;

class Generator {
 public:
  explicit Generator(uint32_t seed) : random_(seed) {}

  // y may be shorter than x, and k is any integer.
  std::string Program() {
    return "fn f(x: [n]f64, y: [m]f64, k: i64) -> ([n]f64, f64) {\n"
           "  return (gen i < n { if " +
           Quantifier() + " { x[i]**2 } else { 1.0 } },\n    if or i < 2 { " + Quantifier() +
           " } { 1.0 } else { 2.0 }) }";
  }

 private:
  int Draw(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  template <size_t kCount>
  const char* OneOf(const char* const (&texts)[kCount]) {
    return texts[Draw(kCount)];
  }

  std::string Quantifier() {
    static const char* const kBinders[] = {"j < n", "j < n",     "j < n",
                                           "j < m", "j < n - 1", "j < n, l < m"};
    const std::string binders = OneOf(kBinders);
    two_ = binders.find('l') != std::string::npos;
    const std::string body = Condition(1 + Draw(3));
    switch (Draw(3)) {
      case 0: return "(or " + binders + " { " + body + " })";
      case 1: return "(and " + binders + " { " + body + " })";
      default: return "(exists " + binders + ": " + body + ")";
    }
  }

  std::string Condition(int depth) {
    if (depth == 0) return Draw(3) == 0 ? OfData() : OfIndices();
    switch (Draw(5)) {
      case 0:
      case 1: return "(" + Condition(depth - 1) + " and " + Condition(depth - 1) + ")";
      case 2:
      case 3: return "(" + Condition(depth - 1) + " or " + Condition(depth - 1) + ")";
      default: return "not (" + Condition(depth - 1) + ")";
    }
  }

  std::string OfIndices() {
    static const char* const kOfAnyNumber[] = {"j == k",      "2*j != k", "j + i == k", "3*j == k",
                                               "2*j < k + 1", "k <= j",   "j + i > k"};
    if (Draw(7) == 0) return OneOf(kOfAnyNumber);
    static const char* const kOfQuotients[] = {
        "j % 3 == 1",         "j / 2 == i",
        "(j + i) % 2 != 0",   "i / 3 < j",
        "(2*j - i) % 3 == 0", "(exists r < n: 3*r == j + i)",
        "j % 4 > i",          "(exists r < n: 2*r <= j and j + i <= 3*r + 1)"};
    if (Draw(7) == 0) return OneOf(kOfQuotients);
    static const char* const kSides[] = {"j", "2*j", "3*j", "j + i", "2*j - i"};
    static const char* const kRelations[] = {" == ", " == ", " == ", " != ", " <= ", " > "};
    static const char* const kOthers[] = {"i", "i", "i + 1", "i - 2", "3"};
    const std::string other = two_ && Draw(2) == 0 ? "i - l" : OneOf(kOthers);
    return OneOf(kSides) + std::string(OneOf(kRelations)) + other;
  }

  std::string OfData() {
    static const char* const kConditions[] = {
        "y[i] > 0.0",
        "x[i] < 0.3",
        "y[k] > -0.5",
        "(i > 1 and y[i - 2] > 0.0)",
        "(i + 1 < n and x[i + 1] > 0.0)",
        "(if x[i] > 0.0 { y[i] } else { 0.1 }) > 0.2",
        "x[i] != x[0]",
    };
    return OneOf(kConditions);
  }

  std::mt19937 random_;
  bool two_ = false;
};

std::vector<double> Numbers(int64_t n, int64_t period) {
  std::vector<double> v;
  for (int64_t i = 0; i < n; ++i) v.push_back(0.4 * static_cast<double>(i * 5 % period) - 0.7);
  return v;
}

// A trap may go with what nobody needs. True: it trapped.
bool CheckSame(const ir::Module& plain, const ir::Module& fast, const std::vector<Tensor>& args) {
  const auto a = eval::Run(plain, args), b = eval::Run(fast, args);
  REQUIRE(a.ok());
  REQUIRE(b.ok());
  if (a->trap) return true;
  REQUIRE_FALSE(b->trap);
  for (size_t k = 0; k < a->values.size(); ++k) CHECK(a->values[k].data == b->values[k].data);
  return false;
}

// PULLBACK_FUZZ_PROGRAMS: how many.
TEST_CASE("random quantifiers: solved they are what the loops are") {
  const char* text = std::getenv("PULLBACK_FUZZ_PROGRAMS");
  const uint32_t count = text ? static_cast<uint32_t>(std::strtoul(text, nullptr, 10)) : 150;
  int solved = 0, traps = 0, runs = 0;
  for (uint32_t seed = 1; seed <= count; ++seed) {
    const std::string program = Generator(seed).Program();
    INFO("seed " << seed << "\n" << program);
    const ir::Module ssa = LowerText(program, "f");
    const ir::Module plain = Derived(ssa, Transform::kValue, {}, false),
                     fast = Derived(ssa, Transform::kValue);
    const std::string normal = ir::Print(fast);
    INFO(normal);
    solved += CountText(normal, "j <") == 0;
    for (const int64_t n : {0, 1, 5}) {
      for (const int64_t m : {0, 3, 6}) {
        for (const int64_t k : {INT64_MIN, int64_t{-1}, int64_t{0}, int64_t{2}, INT64_MAX}) {
          traps += CheckSame(plain, fast, {Vec(Numbers(n, 4)), Vec(Numbers(m, 3)), Tensor::I64(k)});
          ++runs;
        }
      }
    }
  }
  std::cout << "random quantifiers: " << solved << " of " << count << " solved, " << traps << " of "
            << runs << " runs trap\n";
  CHECK(solved * 3 > static_cast<int>(count));
  CHECK(traps < runs / 2);
}

}  // namespace
}  // namespace pullback::testing
