// Elements of arrays that a body computes where they are read.
#include "tests/core/lang/lower_support.h"

namespace pullback::lang {
namespace {

using ir::TrapKind;

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
    CHECK(Number(text, {kRowsOfO, IntVec({2, 1})}) == 2 * (3 + 6));
    CHECK(Number(text, {Mat(0, 3, {}), IntVec({})}) == 0);
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
  CHECK(Number(SumOver("[y[i] >= 0] * (o[i] * 2.0)[y[i]]"), {kRowsOfO, IntVec({-1, 1})}) == 12);
  CHECK(Number(SumOver("if y[i] < 0 { 1.0 } else { log_softmax(o[i])[y[i]] * 0.0 }"),
               {kRowsOfO, IntVec({-7, 1})}) == 1);
}

// There its elements would be computed at every turn.
TEST_CASE("elements: an array that is made outside of the loop that reads it is stored",
          "[lower]") {
  const std::string ir = Ir(SumOver("let p = softmax(o[i])\n sum l < n { p[y[l]] }"));
  CHECK(Has(ir, "gen ["));
}

}  // namespace
}  // namespace pullback::lang
