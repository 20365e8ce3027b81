// Relations: text, types, canonical form, and what they lower to.
#include <catch2/catch.hpp>

#include <limits>

#include "core/base/relation.h"
#include "tests/core/lang/check_support.h"
#include "tests/core/lang/lower_support.h"

namespace pullback::lang {
namespace {

constexpr char kEnergy[] = R"(fn f(r: rel[n, n], x: [n]f64) -> f64 {
  return sum i < n, j < n { [r(i, j)] * (x[i] - x[j]) ** 2 }
}
)";

std::string CanonicalOf(const std::string& text) {
  const Program p = Checked(text);
  StatusOr<Canonical> c = Canonicalise(p, "f");
  REQUIRE(c.ok());
  return c->text;
}

std::string MessagesIn(const std::string& header, const std::string& body) {
  return Messages("fn f(" + header + ") -> f64 { return " + body + " }");
}

}  // namespace

TEST_CASE("relations: laid out, and one canonical form under other names") {
  StatusOr<Program> p = Parse("fn f(r: rel[n,2*n ,],x:[n]f64)->f64{return sum(x)}");
  REQUIRE(p.ok());
  CHECK(Format(*p) == "fn f(r: rel[n, 2 * n], x: [n]f64) -> f64 { return sum(x) }\n");
  CHECK(CanonicalOf("fn f(r: rel[n], x: [n]f64) -> f64 { return sum i < n { [r(i)] * x[i] } }") ==
        CanonicalOf("fn f(s: rel[k], y: [k]f64) -> f64 { return sum j < k { [s(j)] * y[j] } }"));
  CHECK(
      CanonicalOf("fn f(r: rel[n], x: [n]f64) -> f64 { return sum i < n { [r(i)] * x[i] } }") !=
      CanonicalOf("fn f(r: [n]i64, x: [n]f64) -> f64 { return sum i < n { [r[i] != 0] * x[i] } }"));
  // `rel` is an ordinary name elsewhere.
  CHECK(Messages("struct rel { x: f64 }\nfn f(rel: f64, s: rel) -> f64 { return rel + s.x }")
            .empty());
}

TEST_CASE("relations: types") {
  const std::string header = "r: rel[n, m], x: [n]f64";
  CHECK(MessagesIn(header, "sum i < n { [r(i)] * x[i] }") ==
        "1:60 'r' is a relation rel[n, m]: it takes 2 indices, got 1\n");
  CHECK(MessagesIn(header, "sum i < n, j < m { [r(i, x[j])] * x[i] }")
            .find("an index of a relation must be an i64, got f64") != std::string::npos);
  CHECK(MessagesIn(header, "x[r]").find("rel[*, *]") != std::string::npos);
  CHECK(MessagesIn(header, "x(0)").find("not a function") != std::string::npos);
  CHECK(MessagesIn("r: rel[]", "1.0").find("a relation names its sizes") != std::string::npos);
  CHECK(MessagesIn("r: rel[a, b, c, d, e]", "1.0").find("at most 4 indices") != std::string::npos);
  CHECK(Messages("fn g(r: rel[n, n]) -> f64 { return 1.0 }\n"
                 "fn f(r: rel[n], x: [n]f64) -> f64 { return g(r) }") ==
        "2:46 argument 'r' of 'g' must be rel[n, n], got rel[n]\n");
  CHECK(Messages("fn g(r: rel[n, n]) -> f64 { return 1.0 }\n"
                 "fn f(r: rel[n, n + 1]) -> f64 { return g(r) }")
            .find("expected n") != std::string::npos);
}

TEST_CASE("relations: where they cannot stand yet") {
  for (const char* text : {"struct S { r: rel[n, n] }\nfn f(s: S) -> f64 { return 1.0 }",
                           "fn f(r: list rel[_, _]) -> f64 { return 1.0 }",
                           "fn f(r: rel[n, n]) -> rel[n, n] { return r }",
                           "fn f(r: rel[n, n]) -> f64 { let s: rel[n, n] = r\n return 1.0 }"}) {
    INFO(text);
    CHECK(Messages(text).substr(0, 13) == "UNIMPLEMENTED");
  }
}

TEST_CASE("relations: a signature has their sizes, which arguments must have") {
  const Program p = Checked(kEnergy);
  StatusOr<Signature> signature = GetSignature(p, "f");
  REQUIRE(signature.ok());
  CHECK(signature->params[0].type.ToString() == "rel[n, n]");
  CHECK(IsRelation(signature->params[0].type));
  const Tensor x = Vec({1, 2, 3});
  for (int64_t columns : {3, 4}) {
    const std::vector<Tensor> arrays = RelationArrays(RelationFromCoo({3, columns}, {{0}, {2}}));
    std::vector<const Tensor*> leaves;
    for (const Tensor& t : arrays) leaves.push_back(&t);
    leaves.push_back(&x);
    const Status status = CheckArguments(p, "f", leaves);
    CHECK(status.ok() == (columns == 3));
    if (columns == 4) {
      CHECK(status.message() ==
            "argument 'r' axis 1: expected n = 3 (from argument 'r' axis 0), got 4");
    }
  }
}

TEST_CASE("relations: a statement runs over the tuples") {
  const std::string ir = Ir(kEnergy);
  CHECK(Count(ir, "each(") == 1);
  CHECK(Has(ir, "each(p < %"));
  CHECK(Has(ir, "%i = index %r.1[%p]"));
  CHECK(Has(ir, "%j = index %r.2[%p]"));
  CHECK_FALSE(Has(ir, " if "));
  // An index beyond the relation's sizes is in no tuple.
  const std::string shifted =
      "fn f(r: rel[n], x: [m]f64) -> f64 { return sum i < m { [r(i + 1)] * x[i] } }";
  std::vector<Tensor> args = RelationArrays(RelationFromCoo({4}, {{0, 1, 3}}));
  args.push_back(Vec({1, 10, 100, 1000, 10000}));
  CHECK(Doubles(Values(shifted, args)[0])[0] == 101);
  args.back() = Vec({1, 10});
  CHECK(Doubles(Values(shifted, args)[0])[0] == 1);
}

TEST_CASE("relations: a quotient of what a relation brackets runs over the tuples") {
  const auto of = [](const std::string& value) {
    return "fn f(r: rel[n, n], s: rel[n, n], x: [n]f64) -> f64 { return " + value + " }";
  };
  const auto run = [&](const std::string& value) {
    std::vector<Tensor> args = RelationArrays(RelationFromCoo({3, 3}, {{0, 0, 2}, {1, 2, 0}}));
    for (Tensor& t : RelationArrays(RelationFromCoo({3, 3}, {{1, 2}, {1, 0}}))) {
      args.push_back(std::move(t));
    }
    args.push_back(Vec({1, 2, 4}));
    return NumberOf(of(value), args);
  };
  const std::pair<const char*, double> programs[] = {
      {"sum i < n, j < n { [r(i, j)] * x[j] / x[i] }", 6.25},
      {"sum i < n, j < n { [r(j, i)] * x[i] / x[j] }", 6.25},
      {"sum i < n, j < n { -(x[j] * [r(i, j)] / x[i]) / 2.0 }", -3.125},
      {"sum i < n, j < n { [r(i, j)] / x[j] }", 1.75},
      {"sum i < n, j < n { [s(j, j)] * [r(i, j)] * x[j] / x[i] }", 2},
      {"sum(gen i < n { sum j < n { [r(i, j)] * x[j] / x[i] } })", 6.25},
      {"sum i < n, j < n { [r(i, j) or s(i, j)] * x[j] / x[i] }", 7.25}};
  for (const auto& [value, sum] : programs) {
    INFO(value);
    CHECK(run(value) == sum);
    CHECK(Has(Ir(of(value)), "each(p < %"));
    CHECK_FALSE(Has(Ir(of(value)), "j < %n"));
  }
  // One in the divisor keeps no pair away.
  const char* const divisor = "sum i < n, j < n { x[j] / (1.0 + [r(i, j)] * x[i]) }";
  CHECK(Has(Ir(of(divisor)), "j < %n"));
  CHECK(run(divisor) == Approx(21 - 1 - 2 - 0.8));
}

TEST_CASE("relations: membership at and beyond every end") {
  const std::string text =
      "fn f(r: rel[n, m], i: i64, j: i64) -> i64 { return if r(i, j) { 1 } else { 0 } }";
  std::vector<Tensor> args =
      RelationArrays(RelationFromCoo({3, 4}, {{0, 0, 2, 2, 0}, {3, 0, 0, 3, 3}}));
  args.push_back(I64(0));
  args.push_back(I64(0));
  const auto related = [&](int64_t i, int64_t j) {
    args[args.size() - 2] = I64(i);
    args.back() = I64(j);
    return Doubles(Values(text, args)[0])[0] == 1;
  };
  for (int64_t i = -1; i <= 3; ++i) {
    for (int64_t j = -1; j <= 4; ++j) {
      INFO(i << ", " << j);
      CHECK(related(i, j) == ((i == 0 || i == 2) && (j == 0 || j == 3)));
    }
  }
  CHECK_FALSE(related(INT64_MAX, 0));
  CHECK_FALSE(related(INT64_MIN, 0));
  CHECK_FALSE(related(0, INT64_MAX));
}

TEST_CASE("relations: reductions other than sums run over neighbours") {
  const auto over_neighbours = [](const std::string& body) {
    return Has(Ir("fn f(r: rel[n, m], x: [n]f64, y: [m]f64) -> [n]f64 { return gen i < n { " +
                  body + " } }"),
               "call @neighbours(");
  };
  CHECK(over_neighbours("max j < m { [r(i, j)] * y[j] }"));
  CHECK(over_neighbours("x[i] + exp(min j in 1..m { [r(i, j) and y[j] > x[i]] * y[j] + x[i] })"));
  CHECK(over_neighbours("max j < m { let d = x[i] - y[j]; if r(i, j) { d } else { x[i] } }"));
  CHECK(over_neighbours("prod j < m { if r(i, j) { y[j] } else { 1.0 } }"));
  CHECK(over_neighbours("prod j < m { -([r(i, j)] * y[j]) }"));
  CHECK(over_neighbours("f64(argmax j < m { [r(i, j)] * y[j] })"));
  CHECK(over_neighbours("[and j < m { y[j] > x[i] or not r(i, j) }] * x[i]"));
  // What is not related varies.
  CHECK_FALSE(over_neighbours("max j < m { [r(i, j)] * y[j] + y[j] }"));
  CHECK_FALSE(over_neighbours("max j < m { [not r(i, j)] * y[j] }"));
  CHECK_FALSE(over_neighbours("max j < m { if r(i, j) { x[i] } else { y[j] } }"));
  CHECK_FALSE(over_neighbours("prod j < m { if r(i, j) { y[j] } else { 2.0 } }"));
  CHECK_FALSE(over_neighbours("prod j < m { [r(i, j)] * y[j] + 0.5 }"));
  CHECK_FALSE(over_neighbours("[and j < m { r(i, j) or y[j] > x[i] }] * x[i]"));
  CHECK_FALSE(over_neighbours("max j < m { [r(2 * j, j)] * y[j] }"));
  // Nothing depends on the point.
  CHECK(Has(Ir("fn f(r: rel[n], x: [n]f64) -> f64 { return max i < n { [r(i)] * x[i] } }"),
            "} max []: "));
}

TEST_CASE("relations: reductions of no point and of no neighbour") {
  const std::string text =
      "fn f(r: rel[n, m], y: [m]f64) -> ([n]f64, [n]f64, [n]i64, [n]i64) { return ("
      "gen i < n { max j < m { [r(i, j)] * y[j] } }, gen i < n { prod j < m { [r(i, j)] * y[j] } "
      "}, "
      "gen i < n { argmin j < m { [r(i, j)] * y[j] } }, "
      "gen i < n { if and j < m { not r(i, j) or y[j] > 0.0 } { 1 } else { 0 } }) }";
  const auto values = [&](ApiValue r, Tensor y) {
    std::vector<Tensor> args = RelationArrays(std::move(r));
    args.push_back(std::move(y));
    std::vector<std::vector<double>> all;
    for (const Tensor& t : Values(text, args)) all.push_back(Doubles(t));
    return all;
  };
  constexpr double kInf = std::numeric_limits<double>::infinity();
  // Ranges that depend on the row: no point for the first rows.
  {
    std::vector<Tensor> args = RelationArrays(RelationFromCoo({4, 4}, {{0, 1, 3}, {1, 2, 0}}));
    args.push_back(Vec({5, 2, 3, 4}));
    const auto rows = Values(
        "fn f(r: rel[n, m], y: [m]f64) -> ([n]f64, [n]f64) { return ("
        "gen i < n { max j < i - 2 { [r(i, j)] * y[j] } }, "
        "gen i < n { prod j in 3..i + 1 { if r(i, j - 3) { y[j] } else { 1.0 } } }) }",
        args);
    CHECK(Doubles(rows[0]) == std::vector<double>{-kInf, -kInf, -kInf, 5});
    CHECK(Doubles(rows[1]) == std::vector<double>{1, 1, 1, 4});
  }
  using All = std::vector<std::vector<double>>;
  const Tensor none = Tensor::Of(DType::kF64, {0}, std::vector<double>{});
  CHECK(values(RelationFromCoo({2, 0}, {{}, {}}), none) ==
        All{{-kInf, -kInf}, {1, 1}, {-1, -1}, {1, 1}});
  CHECK(values(RelationFromCoo({2, 2}, {{0, 0}, {0, 1}}), Vec({-1, -2})) ==
        All{{-1, 0}, {2, 0}, {1, 0}, {0, 1}});
  CHECK(values(RelationFromCoo({2, 2}, {{0, 1}, {1, 0}}), Vec({3, 2})) ==
        All{{2, 3}, {0, 0}, {0, 1}, {1, 1}});
}

// Also where the statement runs over the tuples instead.
TEST_CASE("relations: ranges that end before they begin trap") {
  const auto text = [](const std::string& value) {
    return "fn f(r: rel[n, n], k: [l]i64, x: [n]f64, c: i64) -> f64 { return " + value + " }";
  };
  std::vector<Tensor> args = RelationArrays(RelationFromCoo({3, 3}, {{0, 1, 2}, {1, 2, 0}}));
  args.push_back(Tensor::Of<int64_t>(DType::kI64, {2}, {2, 1}));
  args.push_back(Vec({1, 2, 3}));
  for (const std::string sum :
       {"sum j < c { [r(j, 1)] * x[0] }", "sum j < c, i < n { [r(j, i)] * x[i] }",
        "sum j in 0..c { [r(1, j)] * x[0] }", "sum j < c { [r(j + 1, 1)] * x[0] }",
        "sum j < c { [j == k[0]] * x[0] }", "sum j < c, i < n { [r(2 * j, i)] * x[i] }",
        "sum i < n, j < c { [r(i, j)] * x[i] }", "sum i < c, j < c { [r(i, j)] * x[0] }"}) {
    INFO(sum);
    args.push_back(I64(-4));
    const TrapPlace trap = TrapOf(text(sum), args);
    CHECK(trap.kind == ir::TrapKind::kNegativeSize);
    CHECK(trap.source == sum);
    args.back() = I64(0);
    CHECK(Doubles(Values(text(sum), args)[0])[0] == 0);
    args.pop_back();
  }
  // Within another statement the place is that of the sum; under a bracket there is nothing.
  args.push_back(I64(-4));
  const std::string inner = "sum j < c { [r(i, j)] * x[0] }";
  const TrapPlace trap = TrapOf(text("sum i < n { x[i] * " + inner + " }"), args);
  CHECK(trap.kind == ir::TrapKind::kNegativeSize);
  CHECK(trap.source == inner);
  CHECK(Doubles(Values(text("sum i < n { [i > 7] * x[i] * " + inner + " }"), args)[0])[0] == 0);
}

// Sums in sums, each over an or of four cases: the outermost is four sums, the others are not.
TEST_CASE("relations: ors in ors are not multiplied") {
  const auto size = [](int depth) {
    std::string sum = "1.0";
    for (int k = depth; k-- > 0;) {
      const std::string j = "j" + std::to_string(k),
                        last = k == 0 ? "i" : "j" + std::to_string(k - 1);
      const std::string there = "(" + last + ", " + j + ")", back = "(" + j + ", " + last + ")";
      sum = "(sum " + j + " < n { [r" + there + " or r" + back + " or s" + there + " or s" + back +
            "] * x[" + j + "] * " + sum + " })";
    }
    const std::string text =
        "fn f(r: rel[n, n], s: rel[n, n], x: [n]f64) -> [n]f64 { return gen i < n { " + sum +
        " } }";
    INFO(text);
    return Ir(text).size();
  };
  CHECK(size(3) < 15 * size(1));  // 26 times, where each or is in cases of its own
}

}  // namespace pullback::lang
