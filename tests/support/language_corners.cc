// Derivatives where they are a matter of convention: the table of docs/language.md, row by row.
#include "tests/support/language_writer.h"

namespace pullback::testing {
namespace {

struct Corner {
  const char* function;  // of @
  const char* at;        // $: 0, which no pass can know
  double derivative;
};

const std::vector<Corner>& Corners() {
  static const std::vector<Corner> all = {
      {"abs(@)", "$", 0},
      {"max(@, $)", "$", 1},
      {"max($, @)", "$", 0},
      {"min(@, $)", "$", 1},
      {"min($, @)", "$", 0},
      {"sqrt(@)", "$", 0},
      {"sqrt(@ * @ + $)", "$", 0},
      {"cbrt(@)", "$", 0},
      {"hypot(@, $)", "$", 0},
      {"hypot($, @)", "$", 0},
      {"atan2(@, $)", "$", 0},
      {"atan2($, @)", "$", 0},
      {"@ ** $", "$", 0},
      {"@ ** (1.0 + $)", "$", 1},
      {"$ ** @", "$ + 2.0", 0},
      {"fmod(@, 2.0)", "$ + 7.0", 1},
      {"fmod($ + 7.0, @)", "$ + 2.0", -3},
      {"sign(@) + floor(@) + ceil(@) + round(@) + trunc(@)", "$ + 1.5", 0},
      {"f64(i64(@ * 3.0))", "$ + 1.5", 0},
      // 0 times an infinite partial
      {"select(@ > -1.0, @, log(@))", "$", 1},
      {"(if @ > -1.0 { 2.0 * @ } else { 1.0 / @ })", "$", 2},
      {"(sum i < 3 { select(i >= 0, @ * f64(i), log(@)) })", "$", 3},
      // ties and zeros among the terms
      {"(max i < 3 { [@, $, $][i] })", "$", 1},
      {"(max i < 3 { [$, @, $][i] })", "$", 0},
      {"(min i < 3 { [@, $, $][i] })", "$", 1},
      {"(min i < 3 { [$, $, @][i] })", "$", 0},
      {"(max i < 2, j < 2 { @ * [1.0, 2.0][i] + [3.0, 5.0][j] })", "$ + 1.0", 2},
      {"(prod i < 3 { [@, 3.0, 2.0][i] })", "$", 6},
      {"(prod i < 3 { [@, $, 2.0][i] })", "$", 0},
      {"sum(scan max i < 3 { [@, $, $ - 1.0][i] })", "$", 3},
      {"sum(scan max i < 3 { [$, @, $ - 1.0][i] })", "$", 0},
      {"sum(scan min i < 3 { [@, $, $ - 1.0][i] })", "$", 2},
      {"sum(scan prod i < 3 { [2.0, @, 3.0][i] })", "$", 8},
  };
  return all;
}

std::string Filled(const std::string& text, const std::string& name, const std::string& zero) {
  std::string out;
  for (char c : text) out += c == '@' ? name : c == '$' ? zero : std::string(1, c);
  return out;
}

}  // namespace

void LanguageWriter::CornerStatement() {
  Count("convention at a corner");
  ++program_.levels;
  const std::string zero = Fresh("s"), t = Fresh("t"), r = Fresh("e");
  Line("let " + zero + " = f64(k / 9)");
  std::string sum;
  for (int more = 4; more > 0; --more) {
    const Corner& c = Corners()[static_cast<size_t>(Pick(static_cast<int>(Corners().size())))];
    const std::string f = "|" + t + ": f64| " + Filled(c.function, t, zero);
    const std::string at = Filled(c.at, t, zero);
    const std::string y =
        Chance(50) ? "grad(" + f + ")(" + at + ")" : "jvp(" + f + ", " + at + ", 1.0)";
    sum += (sum.empty() ? "" : " +\n    ") + Literal() + " * (" + y + " - " +
           (c.derivative < 0 ? "(0.0 - " + std::to_string(-c.derivative) + ")"
                             : std::to_string(c.derivative)) +
           ")";
  }
  Line("let " + r + " = " + sum);
  residuals_.push_back(r);
}

}  // namespace pullback::testing
