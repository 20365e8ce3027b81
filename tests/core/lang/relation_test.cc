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

TEST_CASE("relations: keys beyond every end are in no tuple") {
  const std::string text =
      "fn f(r: rel[n, m], k: [l]i64, y: [m]f64) -> ([l]f64, [l]f64, f64) { return ("
      "gen i < l { sum j < m { [r(k[i], j)] * y[j] } }, "
      "gen i < l { max j < m { [r(k[i], j)] * y[j] } }, "
      "sum i < l, j < m { [r(k[i] + 1, j)] * y[j] }) }";
  std::vector<Tensor> args = RelationArrays(RelationFromCoo({3, 4}, {{0, 0, 2, 2}, {3, 0, 1, 3}}));
  args.push_back(Tensor::Of<int64_t>(DType::kI64, {8}, {INT64_MIN, -2, -1, 0, 2, 3, 4, INT64_MAX}));
  args.push_back(Vec({1, 2, 4, 8}));
  const std::vector<Tensor> values = Values(text, args);
  CHECK(Doubles(values[0]) == std::vector<double>{0, 0, 0, 9, 10, 0, 0, 0});
  CHECK(Doubles(values[1]) == std::vector<double>{0, 0, 0, 8, 8, 0, 0, 0});
  CHECK(Doubles(values[2])[0] == 9);  // -1 + 1
  // One that no index tells.
  for (const int64_t key : {INT64_MIN, int64_t{-1}, int64_t{2}, int64_t{3}, INT64_MAX}) {
    std::vector<Tensor> one(args.begin(), args.end() - 2);
    one.push_back(I64(key));
    one.push_back(args.back());
    const std::string row =
        "fn f(r: rel[n, m], k: i64, y: [m]f64) -> f64 { return sum j < m { [r(k, j)] * y[j] } }";
    CHECK(Doubles(Values(row, one)[0])[0] == (key == 2 ? 10 : 0));
  }
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

// What may be out of range is read where it is said, and traps there.
TEST_CASE("relations: keys that may trap") {
  const auto text = [](const std::string& row) {
    return "fn f(r: rel[n, m], k: [l]i64, y: [m]f64, c: i64) -> [c]f64 { return gen i < c { " +
           row + " } }";
  };
  std::vector<Tensor> args = RelationArrays(RelationFromCoo({3, 2}, {{0, 1, 2}, {1, 0, 1}}));
  args.push_back(Tensor::Of<int64_t>(DType::kI64, {2}, {2, 1}));
  args.push_back(Vec({5, 7}));
  args.push_back(I64(3));
  for (const std::string reduce : {"sum", "max"}) {
    const std::string body = reduce + " j < m { [r(k[i], j)] * y[j] }";
    CHECK(TrapOf(text(body), args).kind == ir::TrapKind::kIndex);
    // No j, so nothing is read.
    std::vector<Tensor> none = RelationArrays(RelationFromCoo({3, 0}, {{}, {}}));
    none.push_back(args[args.size() - 3]);
    none.push_back(Tensor::Of(DType::kF64, {0}, std::vector<double>{}));
    none.push_back(args.back());
    CHECK(Values(text(body), none)[0].ElementCount() == 3);
    const std::string guarded = reduce + " j < m { [i < l] * [r(k[i], j)] * y[j] }";
    CHECK(Doubles(Values(text(guarded), args)[0]) == std::vector<double>{7, 5, 0});
    const std::string chained = reduce + " j < m { [i < l and k[i] < 2 and r(k[k[i]], j)] * y[j] }";
    CHECK(Doubles(Values(text(chained), args)[0]) == std::vector<double>{0, 5, 0});
  }
}

// A key traps where the program evaluates it, and nowhere else: as in loops over all pairs.
TEST_CASE("relations: keys trap as in loops") {
  const std::string header = "fn f(r: rel[n, m], k: [l]i64, y: [m]f64, c: i64) -> f64 {\n";
  struct Form {
    std::string reduction, start, step;
  };
  const auto outcome = [](const std::string& text, const std::vector<Tensor>& args) {
    const eval::Result r = RunText(text, args, "f");
    return r.trap ? std::string("trap ") + std::to_string(static_cast<int>(r.trap->kind))
                  : std::to_string(Doubles(r.values[0])[0]);
  };
  const auto arguments = [](int64_t columns, int64_t c) {
    std::vector<Tensor> args =
        RelationArrays(columns == 0 ? RelationFromCoo({3, 0}, {{}, {}})
                                    : RelationFromCoo({3, 2}, {{0, 1, 2, 1, 0}, {1, 0, 1, 0, 1}}));
    args.push_back(Tensor::Of<int64_t>(DType::kI64, {4}, {2, 9, 1, 0}));
    args.push_back(columns == 0 ? Tensor::Of(DType::kF64, {0}, std::vector<double>{})
                                : Vec({5, 7}));
    args.push_back(I64(c));
    return args;
  };
  for (const std::string condition : {"r(k[k[i]], j)",
                                      "i != 1 and r(k[k[i]], j)",
                                      "i < c and r(k[k[i]], j)",
                                      "r(k[k[i]], j) and i < c",
                                      "j < c and r(k[k[i]], j)",
                                      "k[i] < l and r(k[k[i]], j)",
                                      "r(k[i], j) and r(k[k[i]], j)",
                                      "r(i / c, j)",
                                      "c > 0 and r(i % c, j)",
                                      "r(k[i + c], j)",
                                      "r(k[c], j)",
                                      "i < 2 and r(k[c], j)",
                                      "r(k[k[c]], j) and j < 1",
                                      "r(c / c, j)",
                                      "r(i, j) or r(k[k[i]], j)",
                                      "r(k[k[i]], j) or i == j",
                                      "i == 0 and r(k[k[i]], j) or r(k[i], j)",
                                      "r(i, k[j])",
                                      "r(i, k[j + c])",
                                      "r(k[k[j]], i)",
                                      "j < 1 and r(i, k[k[j]])"}) {
    const std::string sum = "  return sum i < l, j < m { [" + condition + "] * y[j] }\n}";
    const std::string rows =
        "  return sum i < l { 2.0 * sum j < m { [" + condition + "] * y[j] } }\n}";
    const std::string most = "  return sum i < l { max j < m { [" + condition + "] * y[j] } }\n}";
    const std::string loops = "  var s = 0.0\n  for i < l {\n    for j < m { if " + condition +
                              " { s += y[j] } }\n  }\n  return s\n}";
    const std::string extrema =
        "  var s = 0.0\n  for i < l {\n    var t = 0.0\n    for j < m { if " + condition +
        " { t = max(t, y[j]) } }\n    s += t\n  }\n  return s\n}";
    for (int64_t columns : {2, 0}) {
      for (int64_t c : {0, 1, 2, 4, -1}) {
        INFO(condition << ", c = " << c << ", columns " << columns);
        const std::vector<Tensor> args = arguments(columns, c);
        const std::string want = outcome(header + loops, args);
        CHECK(outcome(header + sum, args) == want);
        std::string twice = want;
        if (want[0] != 't') twice = std::to_string(2 * std::stod(want));
        CHECK(outcome(header + rows, args) == twice);
        if (columns != 0) CHECK(outcome(header + most, args) == outcome(header + extrema, args));
      }
    }
  }
}

// What these lower to tests no pair.
TEST_CASE("relations: keys, gathered binders and several conditions run over tuples") {
  const auto ir = [](const std::string& body) {
    return Ir(
        "fn f(r: rel[n, n], s: rel[n, n], k: [n]i64, x: [n]f64) -> [n]f64 { return gen i < n { " +
        body + " } }");
  };
  const auto joins = [&](const std::string& body) { return Has(ir(body), "call @join("); };
  CHECK(joins("sum j < n { [r(k[k[i]], j)] * x[j] }"));
  CHECK(joins("sum l < 3, j < n { [r(i + l, j)] * x[j] }"));
  CHECK(joins("sum j < n { [r(max(i - 1, 0), j)] * x[j] }"));
  // What tells the key speaks of j.
  CHECK_FALSE(joins("sum j < n { [x[j] > 0.5 and r(k[k[i]], j)] * x[j] }"));
  CHECK_FALSE(joins("sum j < n { [r(i64(x[i]), j)] * x[j] }"));
  const auto gathers = [&](const std::string& body) { return Has(ir(body), "call @gather("); };
  CHECK(gathers("max j < n { [r(i, k[j])] * x[j] }"));
  CHECK(gathers("x[i] + (prod j < n { if s(k[j], i) { x[j] } else { 1.0 } })"));
  // It may trap; it is not made from the binder alone.
  CHECK_FALSE(gathers("max j < n { [r(i, k[k[j]])] * x[j] }"));
  CHECK_FALSE(gathers("max j < n { [r(i, k[min(i, j)])] * x[j] }"));
  CHECK_FALSE(gathers("max j < i { [r(i, k[j])] * x[j] }"));
  const auto merges = [&](const std::string& body) { return Has(ir(body), "call @merge("); };
  CHECK(merges("max j < n { [r(i, j) or s(j, i)] * x[j] }"));
  CHECK(merges("prod j < n { if r(i, j) or i == j { x[j] } else { 1.0 } }"));
  CHECK_FALSE(merges("max j < n { [r(i, j) or x[j] > 0.5] * x[j] }"));
  const auto statements = [&](const std::string& body) { return Count(ir(body), "each("); };
  CHECK(statements("sum j < n { [r(i, j) or s(i, j)] * x[j] }") == 2);
  CHECK(statements("sum j < n { [r(i, j) or s(i, j) or x[j] > 0.5] * x[j] }") == 1);
  CHECK(statements("sum j < n { [r(i, j) or i == j] * x[j] }") == 2);
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
