// Random predicates in `where` and in guards: the normal form gives what the statement gave, and its loops
// give the same bits as the reference.
#include <catch2/catch.hpp>
#include <cmath>
#include <iostream>
#include <random>

#include "core/eval/interpreter.h"
#include "core/ir/printer.h"
#include "core/ir/verifier.h"
#include "core/tensor/normalise.h"
#include "tests/core/loops/testing.h"
#include "tests/support/settings.h"

namespace pullback::loops {
namespace {

class PredicateGenerator {
 public:
  explicit PredicateGenerator(uint32_t seed) : random_(seed) {}

  // x has the extent n, z the extent m, p is any small integer.
  std::string Program() {
    std::string where = Conjunction(3);
    if (!where.empty()) where = " where (" + where + ")";
    return R"(
entry @f
fn @f(%x: [*]f64, %z: [*]f64, %p: i64) -> (f64, [*]f64, [*]f64, [*]f64, f64, [*]i64) {
b0:
  %n = dim %x, 0
  %m = dim %z, 0
  %nm = affine %n + %m
  %three = const 3
  %s, %t, %u, %d = each(i < %n, j < %m, k < %three))" +
           where + R"( {
)" + Guard() +
           R"(    %h = holds (0 <= )" + Form(2) + R"()
    %q = and %g, %h
    %c = affine 3*%i + 5*%j - 7*%k + 1
    %v = cast %c : f64
    %r = holds (2*%i + 1 < %n)
    %w = index %x[2*%i + 1] if %r !1
    %y = mul %v, %w if %r
  } sum []: %v if %g, sum [%i] of (%n): %y if %q, sum [%i + %j] of (%nm): %v if %q, gen [%k, %j, %i] of (%three, %m, %n): %v if %g
  %a, %b = each(i < %n, j < %m, k < %three))" +
           where + R"( {
)" + Guard() +
           R"(    %c = affine %i + 2*%j - %k
    %v = cast %c : f64
  } max [%i] of (%n): %v if %g, min []: %v if %g
  %e = each(i < %n, j < %m, k < %three) {
    %o = holds ()" +
           Atom() + R"()
    %l = cast %o : i64
  } max [%i] of (%n): %l
  %dd = each(i < %n, j < %m, k < %three) {
    %v = index %d[%k, %j, %i] !2
  } sum [%i] of (%n): %v
  %tu = each(i < %n) {
    %v = index %t[%i] !3
    %w = index %dd[%i] !4
    %y = add %v, %w
  } gen [%i] of (%n): %y
  ret %s, %tu, %u, %a, %b, %e
}
)";
  }

 private:
  int Draw(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }

  // 3*%i - 2*%j + 1 of so many values.
  std::string Form(int values) {
    std::string text = std::to_string(Draw(9) - 4);
    for (int k = 0; k < values; ++k) {
      static const char* const kValues[] = {"%i", "%j", "%k", "%i", "%j", "%n", "%m", "%p"};
      const int coeff = Draw(7) - 3;
      if (coeff != 0)
        text += std::string(coeff > 0 ? " + " : " - ") + std::to_string(std::abs(coeff)) + "*" +
                kValues[Draw(8)];
    }
    return text;
  }
  std::string Atom() { return (Draw(5) < 2 ? "0 == " : "0 <= ") + Form(1 + Draw(3)); }
  std::string Conjunction(int most) {
    std::string text;
    for (int count = Draw(most + 1); count > 0; --count)
      text += (text.empty() ? "" : " and ") + Atom();
    return text;
  }
  // Defines %g.
  std::string Guard() {
    switch (Draw(5)) {
      case 0: return "    %g = holds (" + Atom() + ")\n";
      case 1: return "    %g0 = holds (" + Atom() + ")\n    %g = not %g0\n";
      case 2:
        return "    %g0 = holds (" + Atom() + ")\n    %g1 = holds (" + Atom() +
               ")\n    %g = or %g0, %g1\n";
      case 3: return "    %g0 = eq %i, %j\n    %g = not %g0\n";
      default: return "    %g0 = lt %i, %j\n    %g1 = ge %k, 1\n    %g = and %g0, %g1\n";
    }
  }

  std::mt19937 random_;
};

Tensor Filled(int64_t n, double scale) {
  std::vector<double> values;
  for (int64_t k = 0; k < n; ++k) values.push_back(scale * static_cast<double>(k + 1));
  return Vector(values);
}

bool Close(double a, double b) {
  return a == b || std::abs(a - b) <= 1e-9 * std::max({1.0, std::abs(a), std::abs(b)});
}

bool Close(const Tensor& a, const Tensor& b) {
  if (a.shape != b.shape || a.dtype != b.dtype) return false;
  if (a.dtype != DType::kF64) return a.data == b.data;
  for (int64_t k = 0; k < a.ElementCount(); ++k) {
    if (!Close(a.At<double>(k), b.At<double>(k))) return false;
  }
  return true;
}

void CheckSame(const ir::Module& before, const ir::Module& after, const std::vector<Tensor>& args) {
  const auto a = eval::Run(before, args), b = eval::Run(after, args);
  REQUIRE(a.ok());
  REQUIRE(b.ok());
  REQUIRE(a->trap.has_value() == b->trap.has_value());
  for (size_t k = 0; k < a->values.size(); ++k) {
    INFO("result " << k);
    CHECK(Close(a->values[k], b->values[k]));
  }
  RunBoth(after, args);
}

size_t Statements(const ir::Module& m) {
  size_t count = 0;
  for (const ir::Inst& inst : m.functions[0]->blocks[0].insts) count += inst.each != nullptr;
  return count;
}

// PULLBACK_FUZZ_PROGRAMS: how many.
TEST_CASE("random predicates: the normal form gives the same") {
  const uint32_t count = testing::Setting("PULLBACK_FUZZ_PROGRAMS", testing::RandomCount(200));
  int fewer = 0, changed = 0;
  for (uint32_t seed = 1; seed <= count; ++seed) {
    const std::string program = PredicateGenerator(seed).Program();
    INFO("seed " << seed << program);
    const ir::Module before = ParseIr(program);
    ir::Module after = before.Clone();
    REQUIRE(tensor::NormaliseTensors(after).ok());
    INFO(ir::Print(after));
    REQUIRE(ir::Verify(after).ok());
    changed += ir::Print(before) != ir::Print(after);
    fewer += Statements(after) != Statements(before);
    for (const int64_t n : {0, 1, 4}) {
      for (const int64_t m : {0, 3}) {
        for (const int64_t p : {-1, 2})
          CheckSame(before, after, {Filled(n, 1), Filled(m, -0.5), Tensor::I64(p)});
      }
    }
  }
  std::cout << "random predicates: " << changed << " of " << count << " changed, " << fewer
            << " with other statements\n";
  CHECK(changed * 10 > static_cast<int>(count) * 9);
}

}  // namespace
}  // namespace pullback::loops
