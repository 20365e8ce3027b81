// Elements of arrays that a body computes where they are read.
#include <cmath>

#include "tests/core/lang/lower_support.h"

namespace pullback::lang {
namespace {

using ir::TrapKind;

const Tensor kSix = Mat(2, 3, {1, 2, 3, 4, 5, 6});
const Tensor kRowsOfO = Mat(2, 3, {1, 2, 3, 4, 6, 5});

std::string SumOver(const std::string& body) {
  return "fn f(o: [n, k]f64, y: [n]i64) -> f64 { return sum i < n { " + body + " } }";
}

TEST_CASE("elements: at a subscript that data give, of what a body computes", "[lower]") {
  const std::string reads[] = {
      "(gen j < k { o[i, j] * 2.0 })[y[i]]",
      "(o[i] * 2.0)[y[i]]",
      "{ let p = gen j < k { o[i, j] + o[i, j] }\n p[y[i]] }",
      "(gen j < k { o[i, j] * 2.0 })[y[i] * 1]",
      "(gen j < k, l < n { o[l, j] * 2.0 })[y[i], i]",
  };
  for (const std::string& read : reads) {
    const std::string body = read[0] == '{' ? read.substr(2, read.size() - 4) : read;
    const std::string text = SumOver(body);
    INFO(text);
    const std::string ir = Ir(text);
    CHECK(Count(ir, "jump") == 0);  // one statement
    CHECK_FALSE(Has(ir, "gen ["));
    CHECK(NumberOf(text, {kRowsOfO, IntVec({2, 1})}) == 2 * (3 + 6));
    CHECK(NumberOf(text, {Mat(0, 3, {}), IntVec({})}) == 0);
  }
}

TEST_CASE("elements: they trap where they are read", "[lower]") {
  const std::pair<std::string, std::string> reads[] = {
      {"log_softmax(o[i])[y[i]]", "log_softmax(o[i])[y[i]]"},
      {"let p = softmax(o[i])\n p[y[i]]", "p[y[i]]"},
      {"(o[i] * 2.0)[y[i]]", "(o[i] * 2.0)[y[i]]"},
      // Which a read inside does not tell, or not first, or not everywhere.
      {"(gen j < k { o[i, k - 1 - j] })[y[i]]", "(gen j < k { o[i, k - 1 - j] })[y[i]]"},
      {"(gen j < k { o[i, 0] })[y[i]]", "(gen j < k { o[i, 0] })[y[i]]"},
      {"(gen j < k - 1 { o[i, j] })[y[i]]", "(gen j < k - 1 { o[i, j] })[y[i]]"},
      {"(gen j < k { [o[i, 0] > 5.0] * o[i, j] })[y[i]]",
       "(gen j < k { [o[i, 0] > 5.0] * o[i, j] })[y[i]]"},
      {"let p = softmax(o[i])\n sum l < n { p[y[l]] }", "p[y[l]]"},
      {"let z = o[i] @ o.T @ o\n z[y[i]] - logsumexp(z)", "z[y[i]]"},
      {"log_softmax(o[i] @ o.T @ o)[y[i]]", "log_softmax(o[i] @ o.T @ o)[y[i]]"},
      {"let r = o[i, 0:k]\n r[y[i]]", "r[y[i]]"},
      // What nobody reads tells nothing.
      {"(gen j < k { let t = o[i, j]\n f64(j) })[y[i]]",
       "(gen j < k { let t = o[i, j]\n f64(j) })[y[i]]"},
  };
  for (const auto& [body, place] : reads) {
    const std::string text = SumOver(body);
    INFO(text);
    for (const int64_t outside : {int64_t{-1}, int64_t{3}, INT64_MAX, INT64_MIN}) {
      const TrapPlace trap = TrapOf(text, {kRowsOfO, IntVec({outside, 0})});
      CHECK(trap.kind == TrapKind::kIndex);
      CHECK(trap.a == outside);
      CHECK(trap.source == place);
    }
  }
  // Where a bracket says that nobody reads it, nothing traps.
  CHECK(NumberOf(SumOver("[y[i] >= 0] * (o[i] * 2.0)[y[i]]"), {kRowsOfO, IntVec({-1, 1})}) == 12);
  CHECK(NumberOf(SumOver("if y[i] < 0 { 1.0 } else { log_softmax(o[i])[y[i]] * 0.0 }"),
                 {kRowsOfO, IntVec({-7, 1})}) == 1);
}

// There its elements would be computed at every turn.
TEST_CASE("elements: an array that is made outside of the loop that reads it is stored",
          "[lower]") {
  const std::string ir = Ir(SumOver("let p = softmax(o[i])\n sum l < n { p[y[l]] }"));
  CHECK(Has(ir, "gen ["));
}

// Of an array that the body computes: what a condition around the read says of its index is known there, and what has a name
// is stored where nothing is, once for all points of the condition.
TEST_CASE("elements: under conditions of indices", "[lower]") {
  const std::pair<std::string, double> bodies[] = {
      {"let p = o[i] * 2.0\n sum j < 9 { if j < 3 { p[j] } else { 1.0 } }", 2 * 21 + 12},
      {"let p = o[i] * 2.0\n sum j < 9 { if j >= 3 { 1.0 } else { p[j] } }", 2 * 21 + 12},
      {"let p = o[i] * 2.0\n sum j < 9 { if 2 < j < 6 { p[j - 3] } else { 0.0 } }", 2 * 21},
      {"let p = o[i] * 2.0\n sum j < 9 { if j < 3 { p[j] } else { if j < 6 { p[j - 3] } else { 0.0 "
       "} } }",
       4 * 21},
      {"let p = o[i] * 2.0\n sum j < 9 { if j < 3 { p[j] } else { p[y[i]] } }",
       2 * 21 + 6 * 2 * (3 + 6)},
      {"let p = o[i] * 2.0\n sum j < 9 { if j < y[i] { p[j] } else { 0.0 } }", 2 * (1 + 2 + 4)},
  };
  for (const auto& [body, value] : bodies) {
    const std::string text =
        "fn f(o: [n, 3]f64, y: [n]i64) -> f64 { return sum i < n { " + body + " } }";
    INFO(text);
    const std::string ir = Ir(text);
    CHECK(Count(ir, "jump") == 0);
    CHECK_FALSE(Has(ir, "gen [%i, %j"));
    CHECK(NumberOf(text, {kRowsOfO, IntVec({2, 1})}) == value);
    CHECK(NumberOf(text, {Mat(0, 3, {}), IntVec({})}) == 0);
  }
  const std::string out =
      "fn f(o: [n, 3]f64, y: [n]i64) -> f64 { return sum i < n { let p = o[i] * 2.0\n"
      "sum j < 9 { if j < 4 { p[j] } else { 0.0 } } } }";
  CHECK(TrapOf(out, {kRowsOfO, IntVec({2, 1})}) == TrapPlace{TrapKind::kIndex, 3, 3, "p[j]"});
  CHECK(NumberOf(out, {Mat(0, 3, {}), IntVec({})}) == 0);
  // What may trap is stored where the condition holds.
  const std::string guarded =
      "fn f(o: [n, 3]f64, y: [n]i64) -> f64 { return sum i < n { let p = gen k < 3 { o[y[i], k] }\n"
      "if y[i] < 2 { p[i * y[i]] } else { 1.0 } } }";
  CHECK(NumberOf(guarded, {kRowsOfO, IntVec({7, 1})}) == 1 + 6);
}

// Where its elements take sums or calls: for whoever reads it, once.
TEST_CASE("elements: a body stores what has a name, is an argument or a factor", "[lower]") {
  const std::pair<std::string, double> bodies[] = {
      {"let z = o[i] @ o.T\n sum(z) + z[y[i]]", 14 + 31 + 31 + 31 + 77 + 77},
      {"sum(o @ o[i]) + prod(exp.(o[i] * 0.0))", 14 + 31 + 1 + 31 + 77 + 1},
      {"sum((2.0 * exp.(o[i] * 0.0)) @ o.T)", 2 * (6 + 15) * 2},
  };
  for (const auto& [body, value] : bodies) {
    const std::string text = SumOver(body);
    INFO(text);
    const std::string ir = Ir(text);
    CHECK(Count(ir, "jump") == 0);
    CHECK(Count(ir, "exp ") <= 1);
    CHECK(NumberOf(text, {kRowsOfO, IntVec({1, 1})}) == Approx(value));
    CHECK(NumberOf(text, {Mat(0, 3, {}), IntVec({})}) == 0);
  }
  // Of which only single elements are read: they alone are made.
  for (const std::string body : {"let z = o[i] @ o.T\n z[0] * z[1]", "let z = o[i] @ o.T\n z[i]"})
    CHECK_FALSE(Has(Ir(SumOver(body)), "of (%n, %n)"));
  CHECK(Has(Ir(SumOver("let z = o[i] @ o.T\n sum l < n { z[l] ** 2 }")), "of (%n, %n)"));
  // Once for each element of a row of factors, not for each of the product.
  const std::string ir = Ir(SumOver("sum(softmax(o[i]) @ o.T)"));
  CHECK(Has(ir, "gen [%i, "));
}

TEST_CASE("elements: a sum of arrays in a body is one statement", "[lower]") {
  const std::pair<std::string, double> bodies[] = {
      {"norm2((sum j < n { o[j] }) / f64(n))", 2 * (6.25 + 16 + 16)},
      {"let a = sum j < n { o[j] * f64(i) }\n dot(a, o[i])", 5 * 4 + 8 * 6 + 8 * 5},
      {"sum(2.0 * o[i] + max j < n { -o[j] })", 2 * (6 + 15) - 2 * (1 + 2 + 3)},
      {"sum((sum j < n { o[y[j]] }) * 2.0)", 2 * 2.0 * (6 + 15)},
  };
  for (const auto& [body, value] : bodies) {
    const std::string text = SumOver(body);
    INFO(text);
    CHECK(Count(Ir(text), "jump") == 0);
    CHECK(NumberOf(text, {kRowsOfO, IntVec({0, 1})}) == Approx(value));
    CHECK(NumberOf(text, {Mat(0, 3, {}), IntVec({})}) == 0);
  }
}

// The index of a row that has no elements is not looked at, as that of a gather is not.
TEST_CASE("elements: rows at places that data say", "[lower]") {
  const std::string text =
      "fn f(e: [v, d]f64, w: [n]i64) -> f64 { return sum i < n { dot(e[w[i]], e[w[i]]) } }";
  CHECK(Count(Ir(text), "jump") == 0);
  CHECK(NumberOf(text, {kRowsOfO, IntVec({1, 0, 1})}) == 77 + 14 + 77);
  for (const int64_t outside : {int64_t{-1}, int64_t{2}, INT64_MIN, INT64_MAX})
    CHECK(TrapOf(text, {kRowsOfO, IntVec({1, outside})}) ==
          TrapPlace{TrapKind::kIndex, outside, 2, "e[w[i]]"});
  CHECK(NumberOf(text, {Mat(2, 0, {}), IntVec({7})}) == 0);
}

TEST_CASE("elements: parts of rows at places that data say, where a condition holds", "[lower]") {
  const auto text = [](const std::string& row) {
    return "fn f(e: [v, d]f64, w: [n]i64) -> f64 { return sum i < n { [w[i] >= 0] * sum(" + row +
           ") } }";
  };
  const std::pair<std::string, double> rows[] = {
      {"e[w[i]][0:2]", 10 + 3},
      {"e[w[i]][:3:2]", 9 + 4},
      {"e[w[i]][1:2][0:1]", 6 + 2},
      {"cross(e[w[i]][0:3], e[0][0:3])", 3},
      {"if w[i] == 1 { e[w[i]] } else { e[0] * 2.0 }", 15 + 12}};
  for (const auto& [row, value] : rows) {
    INFO(row);
    CHECK(Count(Ir(text(row)), "jump") == 0);
    CHECK(NumberOf(text(row), {kRowsOfO, IntVec({1, -1, 0})}) == value);
    CHECK(NumberOf(text(row), {Mat(0, 3, {}), IntVec({})}) == 0);
  }
  const std::string part = text("e[w[i]][0:4]");
  CHECK(NumberOf(part, {kRowsOfO, IntVec({-1, -7})}) == 0);
  CHECK(TrapOf(part, {kRowsOfO, IntVec({1})}) == TrapPlace{TrapKind::kIndex, 3, 3, "e[w[i]][0:4]"});
  CHECK(TrapOf(part, {kRowsOfO, IntVec({5})}) == TrapPlace{TrapKind::kIndex, 5, 2, "e[w[i]][0:4]"});
  // Whichever element is read, and whatever is made of the part first.
  for (const std::string read :
       {"e[w[i]][0:4][0:2]", "e[w[i], 0:4:2]", "e.T[:, w[i]][0:4:2]",
        "concat(e[w[i]][0:4], e[0])[1:2]", "column(e[w[i]])[0, 0:3]", "column(e[w[i]])[:, 1]",
        "column(e[i])[0, w]", "column(e[w[i]]).T[0:2]", "e[w[i]][w[0:4]]",
        "(if w[i] > 0 { e[w[i]][0:4] } else { e[0][0:4] })[1:2]"}) {
    INFO(read);
    const bool matrix = read == "column(e[w[i]]).T[0:2]";
    const std::string sum = matrix ? "flatten(" + read + ")" : read;
    CHECK(TrapOf(text(sum), {kRowsOfO, IntVec({1, 1})}).kind == TrapKind::kIndex);
  }
  const std::string chosen = text("if i > 0 { e[w[i] + 1] } else { e[w[i]] }");
  CHECK(NumberOf(chosen, {kRowsOfO, IntVec({1, 0})}) == 15 + 15);
  CHECK(TrapOf(chosen, {kRowsOfO, IntVec({1, 1})}).kind == TrapKind::kIndex);
}

// Of rows, also inside a body.
TEST_CASE("elements: sums of rows that several conditions tell", "[lower]") {
  const std::pair<std::string, double> bodies[] = {
      {"[k[i] == h] * x[h] + [q[i] == h] * x[i]", 42},
      {"[k[i] == h or q[i] == h] * x[h]", 42},
      {"[k[h] == i] * x[h] - [h == i] * x[h]", 0},
  };
  for (const auto& [body, value] : bodies) {
    const std::string text =
        "fn f(x: [n, m]f64, k: [l]i64, q: [l]i64) -> f64 { return sum i < l { sum(sum h < l { " +
        body + " }) } }";
    INFO(text);
    CHECK(NumberOf(text, {kSix, IntVec({1, 0}), IntVec({0, 1})}) == value);
  }
}

TEST_CASE("elements: flattened rows and what has no gradient are lazy in bodies", "[lower]") {
  const std::pair<std::string, double> bodies[] = {
      {"mean(flatten(x[k]))", 2.5 + 6.5},
      {"let y = flatten(x[k])\n sum(y) * y[3]", 10 * 4 + 26 * 8},
      {"sum(stop_gradient(x[k, 0]) * x[k, 1])", 1 * 3 + 2 * 4 + 5 * 7 + 6 * 8},
      {"mat_sum(stop_gradient(x[k]) - 1.0)", 6 + 22},
  };
  for (const auto& [body, value] : bodies) {
    const std::string text = "fn f(x: [c, h, v]f64) -> f64 { return sum k < c { " + body + " } }";
    INFO(text);
    const std::string ir = Ir(text);
    CHECK(Count(ir, "jump") == 0);
    CHECK(NumberOf(text, {Tensor::Of<double>(DType::kF64, {2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8})}) ==
          value);
  }
}

}  // namespace
}  // namespace pullback::lang
