// Which sums go by strips, and that their bits are those of sums element by element.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "tests/core/loops/testing.h"

namespace pullback::loops {
namespace {

constexpr LowerOptions kColumns{false, true};

// The operands' extents are those of the box, so that no subscript is checked inside.
std::string ColumnsProduct(const std::string& a, const std::string& b,
                           const std::string& rest = "sum [%i, %j] of (%n, %m): %w",
                           const std::string& type = "f64", const std::string& more = "") {
  return "fn @f(%a: [*,*]" + type + ", %b: [*,*]" + type + more + ") -> [*,*]" + type +
         " {\nb0:\n  %n = dim %a, 0\n  %p = dim %a, 1\n  %m = dim %b, 1\n"
         "  %y = each(i < %n, j < %m, k < %p) {\n    %u = index %a[" +
         a + "]\n    %v = index %b[" + b + "]\n    %w = mul %u, %v\n  } " + rest +
         "\n  ret %y\n}\n";
}

bool GoesByStrips(const std::string& text) {
  return PrintLoops(text, kColumns).find("strip") != std::string::npos;
}

Tensor Narrow(const Tensor& t) {
  std::vector<float> values;
  for (int64_t k = 0; k < t.ElementCount(); ++k) {
    values.push_back(static_cast<float>(t.At<double>(k)));
  }
  return Tensor::Of(DType::kF32, t.shape, values);
}

TEST_CASE("columns: sums that read down columns go by strips") {
  const std::string product = ColumnsProduct("%i, %k", "%k, %j");
  CHECK(GoesByStrips(product));
  CHECK(PrintLoops(product).find("strip") == std::string::npos);
  // The loop over the columns is the innermost, and what does not depend on it is read around it.
  const std::string loops = PrintLoops(product, kColumns);
  const size_t k = loops.find("for %k"), j = loops.find("for %j");
  REQUIRE(k != std::string::npos);
  REQUIRE(j != std::string::npos);
  CHECK(k < j);
  const size_t read = loops.find("= %a[");
  CHECK(k < read);
  CHECK(read < j);
}

TEST_CASE("columns: other sums stay as they are") {
  CHECK_FALSE(GoesByStrips(ColumnsProduct("%i, %k", "%j, %k")));  // along rows
  CHECK_FALSE(GoesByStrips(ColumnsProduct("%j, %k", "%k, %j")));  // both ways
  CHECK_FALSE(GoesByStrips(ColumnsProduct("%i, %k", "%k, %j", "max [%i, %j] of (%n, %m): %w")));
  CHECK_FALSE(GoesByStrips(ColumnsProduct("%i, %k", "%k, %j", "sum [%k, %j] of (%p, %m): %w")));
  CHECK_FALSE(GoesByStrips(ColumnsProduct("%i, %k", "%k, 2*%j")));
  const auto with = [](const std::string& from, const std::string& to) {
    std::string text = ColumnsProduct("%i, %k", "%k, %j");
    return text.replace(text.find(from), from.size(), to);
  };
  CHECK_FALSE(GoesByStrips(with(") {", ") where (%k <= %i) {")));
  CHECK_FALSE(GoesByStrips(with("%m = dim %b, 1", "%m = const 3")));  // rows of three
  CHECK_FALSE(GoesByStrips(with("mul %u, %v\n  } sum [%i, %j] of (%n, %m): %w",
                                "mul %u, %v\n    %g = lt %u, 0.0\n"
                                "  } sum [%i, %j] of (%n, %m): %w if %g")));
}

// Rows of `a` that data say, or of `b`.
std::string Gathered(const std::string& a, const std::string& b) {
  return "fn @f(%a: [*,*]f64, %b: [*,*]f64, %s: [*]i64) -> [*,*]f64 {\nb0:\n  %n = dim %s, 0\n"
         "  %p = dim %a, 1\n  %m = dim %b, 1\n  %y = each(i < %n, j < %m, k < %p) {\n    %r = "
         "index %s[%i]\n    %u = index %a[" +
         a + "]\n    %v = index %b[" + b +
         "]\n    %w = mul %u, %v\n  } sum [%i, %j] of (%n, %m): %w\n  ret %y\n}\n";
}

TEST_CASE("columns: rows that data say go by strips, too") {
  CHECK(GoesByStrips(Gathered("%r, %k", "%k, %j")));
  CHECK_FALSE(GoesByStrips(Gathered("%r, %k", "%r, %j")));
  CHECK_FALSE(GoesByStrips(Gathered("%i, %k", "%k, %r")));
  const ir::Module product = ParseIr(Gathered("%r, %k", "%k, %j"));
  for (const std::vector<int64_t>& k : {std::vector<int64_t>{2, 0, 2}, {0, 3}, {-1, 0}, {}}) {
    for (int64_t p : {0, 1, 9}) {
      for (int64_t m : {0, 2, 129})
        RunBoth(product, {Ramp({3, p}), Ramp({p, m}), Ints(k)}, Traps::kSame, kColumns);
    }
  }
}

// Terms of rows of which a condition on the row's own index, or on what is read by it, chooses some.
std::string OfSomeRows(const std::string& space, const std::string& condition) {
  const std::string guard = condition.empty() ? "" : " if %g";
  return "fn @f(%a: [*,*]f64, %b: [*,*]f64, %s: [*]f64) -> [*,*]f64 {\nb0:\n  %n = dim %a, 0\n"
         "  %p = dim %a, 1\n  %q = dim %b, 0\n  %m = dim %b, 1\n  %r = dim %s, 0\n"
         "  check eq(%p, %q), size_mismatch, %p, %q\n  check eq(%n, %r), size_mismatch, %n, %r\n"
         "  %y = each(i < %n, j < %m, k < %p)" +
         space + " {\n    %t = index %s[%i]\n" + condition + "    %u = index %a[%i, %k]" + guard +
         "\n    %v = index %b[%k, %j]" + guard + "\n    %w = mul %u, %v" + guard +
         "\n  } sum [%i, %j] of (%n, %m): %w" + guard + "\n  ret %y\n}\n";
}

TEST_CASE("columns: rows that a condition chooses go by strips, too") {
  const auto check = [](const std::string& text, const std::string& tested) {
    CAPTURE(text);
    CHECK(GoesByStrips(text));
    const std::string loops = PrintLoops(text, kColumns);
    // Around the loops over what is summed.
    const size_t test = loops.find(tested), term = loops.find("for %k");
    REQUIRE(test != std::string::npos);
    CHECK(test < term);
    CHECK(loops.find("if", term) == std::string::npos);
    for (const int64_t n : {0, 1, 4, 9}) {
      for (const int64_t p : {0, 1, 9}) {
        for (const int64_t m : {0, 4, 129})
          RunBoth(ParseIr(text), {Ramp({n, p}), Ramp({p, m}), Ramp({n})}, Traps::kSame, kColumns);
      }
    }
  };
  check(OfSomeRows("", "    %g = lt %t, 0.5\n"), "if ");
  check(OfSomeRows("", "    %h = lt %t, 0.5\n    %g = not %h\n"), "if ");
  check(OfSomeRows("", "    %e = rem %i, 3\n    %g = eq %e, 1\n"), "if ");
  check(OfSomeRows("", "    %g = holds (%i >= 2)\n"), "if ");
  check(OfSomeRows(" where (%i >= 2)", ""), "for %i in ");
  // What differs from term to term, or from column to column.
  CHECK_FALSE(GoesByStrips(OfSomeRows("", "    %g = holds (%k >= %i)\n")));
  CHECK_FALSE(GoesByStrips(OfSomeRows("", "    %g = holds (%j >= %i)\n")));
  CHECK_FALSE(GoesByStrips(OfSomeRows(" where (%k >= %i)", "")));
  CHECK_FALSE(GoesByStrips(OfSomeRows(" where (%j >= %i)", "")));
  CHECK_FALSE(GoesByStrips(OfSomeRows("", "    %e = index %b[%k, 0]\n    %g = lt %e, 0.5\n")));
  CHECK_FALSE(GoesByStrips(OfSomeRows("", "    %e = rem %i, %n\n    %g = eq %e, 1\n")));
}

TEST_CASE("columns: the bits are those of sums element by element") {
  const ir::Module product = ParseIr(ColumnsProduct("%i, %k", "%k, %j"));
  for (int64_t n : {0, 1, 3}) {
    for (int64_t p : {0, 1, 7, 8, 9, 21}) {
      for (int64_t m : {0, 1, 2, 127, 128, 129, 300}) {
        CAPTURE(n, p, m);
        RunBoth(product, {Ramp({n, p}), Ramp({p, m})}, Traps::kSame, kColumns);
      }
    }
  }
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  RunBoth(product,
          {Matrix(2, 3, {-0.0, inf, nan, -0.0, -0.0, -0.0}),
           Matrix(3, 2, {0.0, -1.0, 1.0, 0.0, 2.0, -0.0})},
          Traps::kSame, kColumns);
  const ir::Module narrow =
      ParseIr(ColumnsProduct("%i, %k", "%k, %j", "sum [%i, %j] of (%n, %m): %w", "f32"));
  RunBoth(narrow, {Narrow(Ramp({3, 19})), Narrow(Ramp({19, 140}))}, Traps::kSame, kColumns);
}

TEST_CASE("columns: sums of vectors, over several indices, of more than products, into arrays") {
  const auto check = [](const std::string& text, const std::vector<Tensor>& args) {
    CAPTURE(text);
    CHECK(GoesByStrips(text));
    RunBoth(ParseIr(text), args, Traps::kSame, kColumns);
  };
  check(
      "fn @f(%a: [*,*]f64, %x: [*]f64) -> [*]f64 {\nb0:\n  %n = dim %a, 0\n  %m = dim %a, 1\n"
      "  %y = each(j < %m, k < %n) {\n    %u = index %a[%k, %j]\n    %v = index %x[%k]\n"
      "    %w = mul %u, %v\n  } sum [%j] of (%m): %w\n  ret %y\n}\n",
      {Ramp({11, 131}), Ramp({11})});
  check(
      "fn @f(%a: [*,*,*]f64) -> [*]f64 {\nb0:\n  %n = dim %a, 0\n  %q = dim %a, 1\n"
      "  %m = dim %a, 2\n  %y = each(j < %m, k < %n, l < %q) {\n"
      "    %u = index %a[%k, %l, %j]\n    %v = mul %u, %u\n    %w = sub %v, %u\n"
      "  } sum [%j] of (%m): %w\n  ret %y\n}\n",
      {Ramp({5, 7, 130})});
  check(ColumnsProduct("%i, %k", "%k, %j", "sum [%i, %j] of (%n, %m) into %c: %w", "f64",
                       ", %c: [*,*]f64"),
        {Ramp({2, 9}), Ramp({9, 130}), Ramp({2, 130})});
}

}  // namespace
}  // namespace pullback::loops
