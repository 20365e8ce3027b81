// Relations: arguments that are data or computed.
#include <catch2/catch.hpp>

#include "core/base/relation.h"
#include "tests/core/lang/lower_support.h"

namespace pullback::lang {

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
  const std::string header =
      "fn half(i: i64) -> i64 { return i / 2 }\n"
      "fn over(i: i64, c: i64) -> i64 { if i == 3 { return 1 } return i / c }\n"
      "fn root(i: i64) -> i64 { var s = 0; while s * s < i { s += 1 } return s }\n"
      "fn down(i: i64) -> i64 { if i < 2 { return i } return down(i - 2) }\n"
      "fn f(r: rel[n, m], k: [l]i64, y: [m]f64, c: i64) -> f64 {\n";
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
                                      "y[j] > 6.0 and r(k[k[i]], j)",
                                      "y[j] > 9.0 and r(k[k[i]], j)",
                                      "y[j] > 6.0 and r(i / c, j)",
                                      "j < c and i != 1 and r(k[k[i]], j)",
                                      "j < c and k[i] < l and r(k[k[i]], j)",
                                      "y[j] > 6.0 and r(k[k[c]], j)",
                                      "j < c and r(if i > 0 { k[k[i - 1]] } else { 0 }, j)",
                                      "y[j] > 6.0 and r(k[k[i]], j) and r(i / c, j)",
                                      "r(i, j) and r(k[k[j + c]], j)",
                                      "y[j] > 6.0 and over(i, c) > 0 and r(over(k[i], c), j)",
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
                                      "j < 1 and r(i, k[k[j]])",
                                      "i != 1 and (i == 0 or k[k[i]] > 0) and r(k[k[i]], j)",
                                      "(i != 1 and k[k[i]] < 2 or i == 3) and r(k[i], j)",
                                      "r(i64(f64(k[i]) / 4.0), j)",
                                      "y[j] > 6.0 and r(i, k[j + c])",
                                      "r(if i > 0 { let b = k[i - 1]; k[b] } else { 0 }, j)",
                                      "r(k[i], j) or y[j] > 6.0",
                                      "r(i, j) or k[j + c] > 1",
                                      "r(i, j) or i < 3 and k[k[i]] > 0",
                                      "r(i, j) or k[c] > 1",
                                      "r(i64(exp2(f64(i - c))), j)",
                                      "r(i, i64(y[j] / 4.0))",
                                      "r(if i > 0 { k[i - 1] } else { 0 }, j)",
                                      "r(if i < c { k[i] } else { i % c }, j)",
                                      "i != 1 and r(if k[i] > 1 { i } else { k[k[i + c]] }, j)",
                                      "r(if c > 0 and k[c] > 1 { i } else { 2 }, j)",
                                      "r(i, if j > 0 { k[j - 1] } else { 1 })",
                                      "r(if c > 1 { abs(c) } else { 2 }, j)",
                                      "r(half(c), j)",
                                      "r(half(i), j)",
                                      "r(half(k[i + c]), j)",
                                      "r(i, half(2 * j))",
                                      "r(over(i, c), j)",
                                      "i < 2 and r(over(i, c), j)",
                                      "j < c and r(over(i, c), j)",
                                      "over(i, c) > 0 and r(k[i], j)",
                                      "over(i, c) > 0 and r(over(k[i], c), j)",
                                      "r(over(2, c), j)",
                                      "r(i, over(j, c))",
                                      "r(root(i), j)",
                                      "r(i, root(j))",
                                      "r(down(k[i]), j) and r(half(i), j)"}) {
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

// Of what a relation tells, keys behind it: each where the program evaluates it.
TEST_CASE("relations: keys of what is told trap as in loops") {
  const auto outcome = [](const std::string& body, const std::vector<Tensor>& args) {
    const eval::Result r = RunText(
        "fn f(r: rel[n, m], k: [l]i64, y: [m]f64, c: i64, e: i64) -> f64 {\n" + body + "\n}", args,
        "f");
    return r.trap ? std::string("trap ") + std::to_string(static_cast<int>(r.trap->kind))
                  : std::to_string(Doubles(r.values[0])[0]);
  };
  for (const std::string condition :
       {"r(i, a) and r(k[k[a]], j)", "r(i, a) and i < c and r(k[k[a]], j)",
        "r(i, a) and j < c and r(k[k[a]], j)", "r(i, a) and r(k[a + c], j)",
        "r(a, i) and y[j] > 6.0 and r(a / c, j)", "y[j] > 6.0 and r(k[k[i]], j) and r(a, j)",
        "y[j] > 6.0 and r(k[k[i]], j) and a == k[j]", "k[j + 3] > 1 and a == k[j]",
        "y[a] > 6.0 and r(k[i + a], j)", "y[j] > 6.0 and r(k[i + a], j)"}) {
    for (int64_t c : {0, 1, 2, 5}) {
      for (int64_t e : {2, 0}) {
        INFO(condition << ", c = " << c << ", e = " << e);
        std::vector<Tensor> args =
            RelationArrays(RelationFromCoo({3, 2}, {{0, 1, 2, 1, 0}, {1, 0, 1, 0, 1}}));
        args.push_back(Tensor::Of<int64_t>(DType::kI64, {4}, {2, 9, 1, 0}));
        args.push_back(Vec({5, 7}));
        args.push_back(I64(c));
        args.push_back(I64(e));
        const std::string sum =
            "return sum i < l, j < m, a < e { [" + condition + "] * y[j] * y[a] }";
        const std::string rows =
            "return sum(gen i < l, a < e { sum j < m { [" + condition + "] * y[j] * y[a] } })";
        const std::string loops = "var s = 0.0\nfor i < l { for j < m { for a < e { if " +
                                  condition + " { s += y[j] * y[a] } } } }\nreturn s";
        const std::string want = outcome(loops, args);
        CHECK(outcome(sum, args) == want);
        CHECK(outcome(rows, args) == want);
      }
    }
  }
}

// The place is the one in the key.
TEST_CASE("relations: where keys trap") {
  const auto place = [](const std::string& key) {
    const std::string text =
        "fn over(i: i64, c: i64) -> i64 { return i / c }\n"
        "fn f(r: rel[n, n], k: [n]i64, x: [n]f64, c: i64) -> f64 { return sum i < n, j < n { [r(" +
        key + ", j)] * x[j] } }";
    std::vector<Tensor> args = RelationArrays(RelationFromCoo({3, 3}, {{0, 1, 2}, {1, 2, 0}}));
    args.push_back(Tensor::Of<int64_t>(DType::kI64, {3}, {2, 1, 9}));
    args.push_back(Vec({1, 2, 3}));
    args.push_back(I64(0));
    return TrapOf(text, args).source;
  };
  CHECK(place("over(i, c)") == "i / c");
  CHECK(place("if i < 2 { i } else { k[i + 1] }") == "k[i + 1]");
  CHECK(place("i64(x[k[i]])") == "x[k[i]]");
  // Behind what decides whether it is evaluated, and in other reductions.
  const auto behind = [](const std::string& body) {
    std::vector<Tensor> args = RelationArrays(RelationFromCoo({3, 3}, {{0, 1}, {1, 2}}));
    args.push_back(Tensor::Of<int64_t>(DType::kI64, {3}, {0, 1, 2}));
    args.push_back(Vec({1, 2, 3}));
    return TrapOf("fn f(r: rel[n, n], k: [n]i64, x: [n]f64) -> f64 { return " + body + " }", args)
        .source;
  };
  CHECK(behind("sum i < n, j < n { [x[j] > 0.5 and r(k[i + 1], j)] * x[j] }") == "k[i + 1]");
  CHECK(behind("sum i < n { max j < n { [x[j] > 0.5 and r(i, k[j + 1])] * x[j] } }") == "k[j + 1]");
  CHECK(behind("sum i < n, j < n { [r(i, j) or x[k[j + 1]] > 0.5] * x[j] }") == "k[j + 1]");
}

// What these lower to tests no pair.
TEST_CASE("relations: keys, gathered binders and several conditions run over tuples") {
  const auto ir = [](const std::string& body) {
    return Ir(
        "fn half(i: i64) -> i64 { return i / 2 }\n"
        "fn root(i: i64) -> i64 { var s = 0; while s * s < i { s += 1 } return s }\n"
        "fn f(r: rel[n, n], s: rel[n, n], k: [n]i64, x: [n]f64) -> [n]f64 { return gen i < n { " +
        body + " } }");
  };
  const auto joins = [&](const std::string& body) { return Has(ir(body), "call @join("); };
  CHECK(joins("sum j < n { [r(k[k[i]], j)] * x[j] }"));
  CHECK(joins("sum l < 3, j < n { [r(i + l, j)] * x[j] }"));
  CHECK(joins("sum j < n { [r(max(i - 1, 0), j)] * x[j] }"));
  // What stands in front of the key speaks of j; or the statement runs over tuples.
  const auto opens = [&](const std::string& body) { return Has(ir(body), "call @join_open("); };
  CHECK(opens("sum j < n { [x[j] > 0.5 and r(k[k[i]], j)] * x[j] }"));
  CHECK(opens("sum l < n, j < n { [s(i, l) and r(k[k[l]], j)] * x[j] }"));
  CHECK_FALSE(opens("sum j < n { [x[i] > 0.5 and r(k[k[i]], j)] * x[j] }"));
  CHECK_FALSE(opens("sum j < n { [x[j] > 0.5 and r(root(i), j)] * x[j] }"));
  CHECK(joins("sum j < n { [r(i64(x[i]), j)] * x[j] }"));
  CHECK(joins("sum j < n { [r(if i > 0 { k[i - 1] } else { 0 }, j)] * x[j] }"));
  CHECK(joins("sum j < n { [r(half(i), j)] * x[j] }"));
  CHECK(joins("sum j < n { [r(root(i), j)] * x[j] }"));
  const auto gathers = [&](const std::string& body) { return Has(ir(body), "call @gather("); };
  CHECK(gathers("max j < n { [r(i, k[j])] * x[j] }"));
  CHECK(gathers("x[i] + (prod j < n { if s(k[j], i) { x[j] } else { 1.0 } })"));
  CHECK(gathers("max j < n { [r(i, half(j))] * x[j] }"));
  CHECK(gathers("max j < n { [r(i, if x[j] > 0.5 { k[j] } else { j })] * x[j] }"));
  // It may not return; it is not made from the binder alone.
  CHECK_FALSE(gathers("max j < n { [r(i, root(j))] * x[j] }"));
  CHECK(Has(ir("max j < n { [r(i, k[k[j]])] * x[j] }"), "call @open_points("));
  CHECK_FALSE(gathers("max j < n { [r(i, k[min(i, j)])] * x[j] }"));
  CHECK_FALSE(gathers("max j < i { [r(i, k[j])] * x[j] }"));
  const auto merges = [&](const std::string& body) { return Has(ir(body), "call @merge("); };
  CHECK(merges("max j < n { [r(i, j) or s(j, i)] * x[j] }"));
  CHECK(merges("prod j < n { if r(i, j) or i == j { x[j] } else { 1.0 } }"));
  CHECK(merges("max j < n { [r(i, j) or x[j] > 0.5] * x[j] }"));
  CHECK_FALSE(merges("max j < n { [r(i, j) or x[j] > x[i]] * x[j] }"));
  const auto statements = [&](const std::string& body) { return Count(ir(body), "each("); };
  CHECK(statements("sum j < n { [r(i, j) or s(i, j)] * x[j] }") == 2);
  CHECK(statements("sum j < n { [r(i, j) or s(i, j) or x[j] > x[i]] * x[j] }") == 1);
  // The list of j, and three cases.
  CHECK(statements("sum j < n { [r(i, j) or s(i, j) or x[j] > 0.5] * x[j] }") == 4);
  CHECK(statements("sum j < n { [r(i, j) or s(i, j) or r(j, i) or s(j, i) or i == j] * x[j] }") ==
        5);
  CHECK(statements("sum j < n { [r(i, j) or i == j] * x[j] }") == 2);
}

TEST_CASE("relations: terms under conditions of their own are sums of their own") {
  const auto ir = [](const std::string& body) {
    return Ir("fn f(r: rel[n, n], s: rel[n, n], x: [n]f64) -> [n]f64 { return gen i < n { " + body +
              " } }");
  };
  const auto statements = [&](const std::string& body) { return Count(ir(body), "each("); };
  CHECK(statements("sum j < n { [r(i, j)] * x[j] + [s(j, i)] * x[i] }") == 2);
  CHECK(statements("sum j < n { x[i] * ([i == j] - [r(i, j)]) * x[j] }") == 2);
  CHECK(statements("sum j < n { -([r(i, j)] - [i == j] * x[j] - [s(i, j)] / x[i]) / 2.0 }") == 3);
  CHECK(statements("sum j < n { [r(i, j) or s(i, j)] * x[j] + [i == j] }") == 3);
  CHECK(statements("sum j < n { [r(i, j)] * x[j] + x[j] * x[i] }") == 2);
  // Of equations alone, where they do all of them.
  CHECK(statements("sum j < n { [i == j] * x[j] + [i == j + 1] * x[i] }") == 2);
  CHECK(statements("sum j < n { [i == j] * x[j] + x[i] }") == 1);
  CHECK(statements("sum j < n { [i < j] * x[j] + [i > j] * x[i] }") == 1);
  // Too many; a factor that is no sum of brackets.
  CHECK(statements("sum j < n { [r(i, j)] + [r(j, i)] + [s(i, j)] + [s(j, i)] + [i == j] }") == 1);
  CHECK(statements("sum j < n { [r(i, j)] * (x[j] + x[i]) }") == 1);
  const std::string matrix =
      "fn f(r: rel[n, n], x: [n]f64) -> f64 {\n  let a = gen i < n, j < n { ";
  CHECK(Has(Ir(matrix + "[i == j] * x[i] - [r(i, j)] }\n  return a[0, 0] }"), "each(p < %"));
  CHECK(Count(Ir(matrix + "[i == j] * x[i] + [i == j + 1] }\n  return a[0, 0] }"), "each(") == 1);
}

// A review's: of integers a sum of quotients is another number; a sum of more than a few terms under a minus; sums in sums.
TEST_CASE("relations: terms that stay together") {
  std::vector<Tensor> args = RelationArrays(RelationFromCoo({3, 3}, {{0, 1, 1}, {0, 1, 2}}));
  const std::string head = "fn f(r: rel[n, n], k: [n]i64, x: [n]f64) -> ";
  args.push_back(Tensor::Of<int64_t>(DType::kI64, {3}, {1, 2, 4}));
  args.push_back(Vec({1, 2, 4}));
  const auto integer = [&](const std::string& body) {
    return Values(head + "i64 { return sum i < n, j < n { " + body + " } }", args)[0].At<int64_t>(
        0);
  };
  const auto number = [&](const std::string& body) {
    return NumberOf(head + "f64 { return sum i < n, j < n { " + body + " } }", args);
  };
  // (3 + 1) / 2, (3 + 2) / 2, 4 / 2 and 3 / 2; apart, it would be 6.
  CHECK(integer("([i == j] * 3 + [r(i, j)] * k[j]) / 2") == 2 + 2 + 2 + 1);
  CHECK(number("([i == j] * 3.0 + [r(i, j)] * x[j]) / 2.0") == 8);
  CHECK(number("[r(i, j)] * x[j] - ([i == j] + x[i] + x[j] + 2.0 * x[i] + 3.0)") ==
        7 - (3 + 3 * 28 + 27));
  CHECK(number("[r(i, j)] * x[j] + (-([i == j] + x[i] + x[j] + 2.0 * x[i] + 3.0))") ==
        7 - (3 + 3 * 28 + 27));
  std::string deep = "x[j]";
  for (int level = 0; level < 20; ++level) deep = "([r(i, j)] + [i == j]) * (" + deep + ")";
  // Twice each on the diagonal, where r holds of the first two.
  CHECK(number(deep) == (1 + 2) * double{1 << 20} + 4 + 4);
}

// What stands in front of a sum over tuples, in the body around it, holds in that body's ranges and where its conditions do;
// the tuples may have other indices.
TEST_CASE("relations: what is read in front of a sum over tuples is read where it was") {
  const auto run = [](const std::string& value, std::vector<double> x, int64_t n) {
    std::vector<Tensor> args =
        RelationArrays(RelationFromCoo({n, n}, {{0, 1, 2, 2}, {2, 2, 0, 1}}));
    args.push_back(Vec(std::move(x)));
    const std::string text = "fn f(r: rel[k, k], x: [n]f64) -> f64 { return " + value + " }";
    return NumberOf(text, args);
  };
  const char* const programs[] = {
      "sum i < n { [i > 0 and x[i - 1] > 1.0 and (exists l < n: r(i, l))] * x[i] }",
      "sum i < n { [i > 0 and x[i - 1] > 1.0 and (or l < n { r(i, l) })] * x[i] }",
      "sum i < n { [i > 0 and x[i - 1] > 1.0 and (sum l < n { [r(i, l)] }) > 0] * x[i] }",
      "sum i in 1..n { [x[i - 1] > 1.0 and (exists l < n: r(i, l))] * 2.0 }",
      "sum i < n - 1 { [x[i + 1] > 1.0 and (exists l < n: r(i, l))] * 2.0 }",
      "sum i in 1..n { if x[i - 1] > 1.0 { if exists l < n: r(i, l) { 2.0 } else { 1.0 } } else { "
      "0.0 } }",
      "sum i < n { [i > 0] * x[i] * [x[i - 1] > -9.0 and (exists l < n: r(i, l))] }",
      "max j < 2 { sum i < n { [i > 0 and x[i - 1] > 1.0 and (exists l < n: r(i, l))] * x[i] * "
      "f64(j) } }",
      "sum i < n { [i != 0 and 8 / i > 2 and (exists l < n: r(i, l))] * 2.0 }",
  };
  for (const char* value : programs) {
    INFO(value);
    CHECK(run(value, {2, 2, 2}, 3) == 4);
  }
  // A relation with more indices than the array has.
  CHECK(run("sum i < n { [x[i] > 1.0 and (exists l < 3: r(i, l))] * x[i] }", {2, 0.5}, 5) == 2);
  CHECK(run("min i < n, j < i { if (n + 2) % 3 != j { [exists l < 3: r(i, l)] * 2.0 } else { -5.0 "
            "} }",
            {2, 0.5}, 5) == 2);
}

}  // namespace pullback::lang
