// Which statements become contractions that a library may take.
#include <catch2/catch.hpp>

#include "tests/core/loops/testing.h"

namespace pullback::loops {
namespace {

constexpr LowerOptions kContractions{true};

// The first line of a contraction; empty: there is none.
std::string ContractionOf(const std::string& text) {
  const std::string loops = PrintLoops(text, kContractions);
  const size_t at = loops.find("contract ");
  if (at == std::string::npos) return {};
  return loops.substr(at, loops.find(" {\n", at) - at);
}

std::string Product(const std::string& a, const std::string& b, const std::string& rest) {
  return "fn @f(%a: [*,*]f64, %b: [*,*]f64, %n: i64, %m: i64, %p: i64) -> [*,*]f64 {\nb0:\n"
         "  %r = dim %a, 1\n  %s = dim %b, 1\n  %y = each(i < %n, j < %m, k < %p) {\n    %u = "
         "index %a[" +
         a + "]\n    %v = index %b[" + b + "]\n    %w = mul %u, %v\n  } " + rest +
         "\n  ret %y\n}\n";
}

TEST_CASE("Contractions: matrix products, transposed or not, with their loops behind them") {
  const std::string plain = Product("%i, %k", "%k, %j", "sum [%i, %j] of (%n, %m): %w");
  CHECK(ContractionOf(plain) ==
        "contract %y[%m*i0 + i1] = %a[%r*i0 + i2] * %b[i1 + %s*i2], i0 < %n, i1 < %m, i2 < %p");
  CHECK(PrintLoops(plain).find("contract") == std::string::npos);
  const std::string loops = PrintLoops(plain, kContractions);
  CHECK(loops.find("sum %lanes[%k]") > loops.find("contract"));
  // Subscripts are checked before the library may see them.
  CHECK(loops.find("check") < loops.find("contract"));
  CHECK(ContractionOf(Product("%k, %i", "%j, %k", "sum [%i, %j] of (%n, %m): %w")) ==
        "contract %y[%m*i0 + i1] = %a[i0 + %r*i2] * %b[%s*i1 + i2], i0 < %n, i1 < %m, i2 < %p");
  CHECK(ContractionOf(Product("%i + 1, %k", "%k + 2, %j", "sum [%i, %j] of (%n, %m): %w")) ==
        "contract %y[%m*i0 + i1] = %a[%r + %r*i0 + i2] * %b[2 * %s + i1 + %s*i2], i0 < %n, "
        "i1 < %m, i2 < %p");
}

TEST_CASE("Contractions: what is scattered, or added to an array, adds") {
  CHECK(ContractionOf(Product("%i, %k", "%i, %j", "sum [%k, %j] of (%p, %m): %w")) ==
        "contract %y[i1 + %m*i2] += %a[%r*i0 + i2] * %b[%s*i0 + i1], i0 < %n, i1 < %m, i2 < %p");
  CHECK(ContractionOf("fn @f(%a: [*,*]f64, %x: [*]f64, %c: [*]f64) -> [*]f64 {\nb0:\n"
                      "  %n = dim %a, 0\n  %k = dim %a, 1\n"
                      "  %y = each(i < %n, j < %k) {\n    %u = index %a[%i, %j]\n"
                      "    %v = index %x[%j]\n    %w = mul %u, %v\n"
                      "  } sum [%i] of (%n) into %c: %w\n  ret %y\n}\n") ==
        "contract %y[i0] += %a[%k*i0 + i1] * %x[i1], i0 < %n, i1 < %k");
}

TEST_CASE("Contractions: several products in a statement are a contraction each") {
  const std::string text =
      "fn @f(%a: [*,*]f64, %b: [*,*]f64, %da: [*,*]f64, %db: [*,*]f64) -> ([*,*]f64, [*,*]f64) {\n"
      "b0:\n  %n = dim %a, 0\n  %p = dim %a, 1\n  %m = dim %b, 1\n"
      "  %y, %dy = each(i < %n, j < %m, k < %p) {\n    %u = index %a[%i, %k]\n"
      "    %v = index %b[%k, %j]\n    %du = index %da[%i, %k]\n    %dv = index %db[%k, %j]\n"
      "    %w = mul %u, %v\n    %z = eq %du, 0.0\n    %q = mul %du, %v\n"
      "    %s = select %z, 0.0, %q\n    %t = mul %u, %dv\n    %dw = add %s, %t\n"
      "  } sum [%i, %j] of (%n, %m): %w, sum [%i, %j] of (%n, %m): %dw\n  ret %y, %dy\n}\n";
  const std::string loops = PrintLoops(text, kContractions);
  const auto count = [&](const std::string& what) {
    int n = 0;
    for (size_t at = loops.find(what); at != std::string::npos; at = loops.find(what, at + 1)) ++n;
    return n;
  };
  CHECK(count("contract ") == 3);
  CHECK(count(" += ") == 1);
  CHECK(count("== 0.0") == 1);  // of what is added to: totals of no term (ir.h); no strong product
  const Tensor a = Ramp({3, 4}), b = Ramp({4, 5});
  const StatusOr<Module> exact = LowerToLoops(ParseIr(text)),
                         split = LowerToLoops(ParseIr(text), kContractions);
  const auto run = [&](const Module& m) {
    return Interpret(m, {a, b, a, b}, OpsForTests())->values;
  };
  const std::vector<Tensor> want = run(*exact), got = run(*split);
  REQUIRE(got.size() == 2);
  CHECK(got[0].data == want[0].data);
  const auto at = [](const Tensor& t, size_t i) {
    return reinterpret_cast<const double*>(t.data.data())[i];
  };
  for (size_t i = 0; i < 15; ++i) CHECK(at(got[1], i) == Approx(at(want[1], i)).margin(1e-12));
}

TEST_CASE("Contractions: other statements stay loops") {
  const std::string sum = "sum [%i, %j] of (%n, %m): %w";
  // A predicate, a maximum, an index of one array alone, subscripts that are checked at each point.
  CHECK(ContractionOf("fn @f(%a: [*,*]f64, %b: [*,*]f64, %n: i64) -> [*,*]f64 {\nb0:\n"
                      "  %y = each(i < %n, j < %n, k < %n) where (%k <= %i) {\n"
                      "    %u = index %a[%i, %k]\n    %v = index %b[%k, %j]\n    %w = mul %u, %v\n"
                      "  } sum [%i, %j] of (%n, %n): %w\n  ret %y\n}\n")
            .empty());
  CHECK(ContractionOf(Product("%i, %k", "%k, %j", "max [%i, %j] of (%n, %m): %w")).empty());
  CHECK(ContractionOf(Product("%i, %i", "%k, %j", sum)).empty());
  CHECK(ContractionOf(Product("%i, %k", "%i, %i", sum)).empty());
  CHECK(ContractionOf(Product("%i, %k", "%k, %j", "sum [%i, %j] of (%n, %m): %u")).empty());
  CHECK(ContractionOf("fn @f(%a: [*,*]f64, %b: [*,*]f64, %s: [*]i64) -> [*,*]f64 {\nb0:\n"
                      "  %n = dim %a, 0\n  %p = dim %a, 1\n  %m = dim %b, 1\n"
                      "  %y = each(i < %n, j < %m, k < %p) {\n    %u = index %a[%i, %k]\n"
                      "    %r = index %s[%k]\n    %v = index %b[%r, %j]\n    %w = mul %u, %v\n"
                      "  } sum [%i, %j] of (%n, %m): %w\n  ret %y\n}\n")
            .empty());
  CHECK(ContractionOf("fn @f(%a: [*]f64) -> f64 {\nb0:\n  %n = dim %a, 0\n"
                      "  %y = each(i < %n) {\n    %u = index %a[%i]\n    %v = index %a[%i]\n"
                      "    %w = mul %u, %v\n  } sum []: %w\n  ret %y\n}\n")
            .empty());
  CHECK(ContractionOf("fn @f(%a: [*,*]i64, %n: i64) -> [*,*]i64 {\nb0:\n"
                      "  %y = each(i < %n, j < %n, k < %n) {\n"
                      "    %u = index %a[%i, %k]\n    %v = index %a[%k, %j]\n    %w = mul %u, %v\n"
                      "  } sum [%i, %j] of (%n, %n): %w\n  ret %y\n}\n")
            .empty());
}

TEST_CASE("Contractions: the loops behind them are those of exact sums, traps included") {
  for (const char* out : {"sum [%i, %j] of (%n, %m): %w", "sum [%j, %i] of (%m, %n): %w",
                          "sum [%i, %j + 1] of (%n, %q): %w"}) {
    const std::string text =
        "fn @f(%a: [*,*]f64, %b: [*,*]f64, %n: i64, %m: i64, %p: i64) -> [*,*]f64 {\nb0:\n"
        "  %q = add %m, 1\n  %y = each(i < %n, j < %m, k < %p) {\n    %u = index %a[%i, %k]\n"
        "    %v = index %b[%k, %j]\n    %w = mul %u, %v\n  } " +
        std::string(out) + "\n  ret %y\n}\n";
    const ir::Module m = ParseIr(text);
    const auto run = [&](int64_t n, int64_t columns, int64_t k) {
      RunBoth(m, {Ramp({3, 4}), Ramp({4, 5}), Tensor::I64(n), Tensor::I64(columns), Tensor::I64(k)},
              Traps::kSame, kContractions);
    };
    run(3, 5, 4);
    run(3, 5, 0);
    run(0, 5, 4);
    run(3, 1, 1);
    run(4, 5, 4);   // an index out of range
    run(3, 5, -1);  // a negative size
  }
}

}  // namespace
}  // namespace pullback::loops
