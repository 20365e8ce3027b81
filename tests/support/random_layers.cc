#include "tests/support/random_layers.h"

#include <initializer_list>
#include <random>
#include <string>
#include <vector>

namespace pullback::testing {
namespace {

class LayersWriter {
 public:
  explicit LayersWriter(uint32_t seed) : rng_(seed) {}

  std::string Program() {
    Make(First());
    for (int left = Pick({0, 1, 1, 2, 2, 3}); left > 0; --left) Make(Layer());
    const std::string loss = Fill(Loss());
    return "fn f(x: [n, d]f64, w: [d, h]f64, a: [h, k]f64, b: [k, h]f64, v: [h]f64, u: [3]f64, "
           "y: [n]f64) -> f64 {\n" +
           lines_ + loss + "}\n";
  }

 private:
  template <typename T>
  T Pick(std::initializer_list<T> of) {
    const auto last = static_cast<int>(of.size()) - 1;
    return *(of.begin() + std::uniform_int_distribution<int>(0, last)(rng_));
  }
  // `$` is the last array, `~` that or an earlier one of as many rows, `#` how many these are, `?` a function of an element, `^` how many
  // rows away.
  std::string Fill(const std::string& text) {
    std::string filled;
    for (const char c : text) {
      if (c == '$')
        filled += last_;
      else if (c == '#')
        filled += rows_;
      else if (c == '~')
        filled += Earlier();
      else if (c == '^')
        filled += Pick({"1", "1", "2"});
      else if (c == '?')
        filled += Pick({"tanh", "sigmoid", "sin", "relu"});
      else
        filled += c;
    }
    return filled;
  }
  std::string Earlier() {
    const auto last = static_cast<int>(earlier_.size()) - 1;
    return earlier_[static_cast<size_t>(std::uniform_int_distribution<int>(0, last)(rng_))];
  }
  void Line(const std::string& text) { lines_ += "  " + Fill(text) + "\n"; }
  void Make(const std::string& array) {
    const std::string name = "z" + std::to_string(made_++);
    Line("let " + name + " = " + array);
    last_ = name;
    if (halves_) {
      rows_ += " / 2";
      earlier_.clear();
    }
    halves_ = false;
    earlier_.push_back(name);
  }

  std::string First() {
    return Pick({"?.(x @ w)", "x @ w", "gen i < n { ?.(x[i] @ w + 0.5 * x[max(0, i - 1)] @ w) }",
                 "gen i < n { ?.((x[i] - x[min(n - 1, i + 1)]) @ w) }"});
  }

  std::string Layer() {
    switch (Pick({0, 0, 1, 1, 1, 2})) {
      case 0: return OfOneRow();
      case 1: return OfRowsNextToIt();
      default: return rows_ != "n / 2 / 2" ? OfTwoRows() : OfOneRow();
    }
  }
  std::string OfOneRow() {
    switch (Pick({0, 0, 0, 0, 0, 0, 0, 0, 1, 2})) {
      case 1: return ByNorms();
      case 2: return FromEnd();
      default: break;
    }
    return Pick({
        "gen i < # { ?.($[i] * 1.5) }",
        "gen i < # { ?.($[i] @ a @ b) }",
        "gen i < # { ?.($[i] @ a @ b + v) }",
        "gen i < # { $[i] + ?.($[i] @ a @ b) }",
        "?.($ @ a @ b) + $",
        "gen i < # { $[i] + 0.5 * ~[i] }",
        "gen i < # { $[i] * ?.(~[i] @ a @ b) }",
        "gen i < # { softmax($[i]) }",
        "gen i < #, l < h { $[i, l] * v[l] }",
        "gen i < # { cumsum($[i]) }",
        "gen i < # { let m = mean($[i]); $[i] - m }",
        "gen i < # { let m = mean($[i]); let q = norm2($[i] - m); ($[i] - m) / sqrt(1.0 + q) }",
        "gen i < # { $[i] / sqrt(1.0 + norm2($[i])) }",
    });
  }
  std::string ByNorms() {
    const std::string norms = "s" + std::to_string(made_);
    Line("let " + norms + " = gen i < # { sqrt(1.0 + norm2($[i])) }");
    return "gen i < # { $[i] / " + norms + "[i] }";
  }
  // Rows both ways are all rows; reflected ends and halves are not turned.
  std::string FromEnd() {
    if (reflects_ || rows_ != "n") return "gen i < # { ?.($[i] @ a @ b) }";
    earlier_.clear();
    return "gen i < # { ?.($[# - 1 - i] @ a @ b) }";
  }
  std::string OfRowsNextToIt() {
    if (Pick({0, 0, 0, 0, 0, 0, 0, 1}) == 1) {
      reflects_ = Pick({0, 0, 1}) == 1;
      if (reflects_) return "gen i < # { $[i] + 0.5 * $[abs(i - 1)] }";
      return Pick({"gen i < # { $[i] - $[(i + 1) % (#)] }",
                   "gen i < # { $[i] - $[(i + # - 1) % (#)] }",
                   "gen i < # { $[i] - 0.3 * $[(i + 2) % (#)] }",
                   "gen i < #, l < h { sum q < 3 { $[(i + q + # - 1) % (#), l] * f64(q + 1) } }"});
    }
    return Pick({
        "gen i < #, l < h { sum q < 3 { [i + q >= 1 and i + q - 1 < #] * $[i + q - 1, l] * "
        "f64(q + 1) } }",
        "gen i < #, l < h { sum q < 3 { [i + q >= 1 and i + q - 1 < #] * $[i + q - 1, l] * "
        "v[q % h] } }",
        "gen i < #, l < h { sum q < 3 { $[max(0, min(# - 1, i + 2 * q - 2)), l] * f64(q + 1) } }",
        "gen i < # { let p = softmax(gen q < 3 { dot($[i], $[max(0, i - q)]) }); "
        "gen l < h { sum q < 3 { p[q] * $[max(0, i - q), l] } } }",
        "gen i < #, l < h { sum q < 3 { [i + q >= 1 and i + q - 1 < #] * $[i + q - 1, l] * u[q] } "
        "}",
        "gen i < #, l < h { sum q < 3 { $[max(0, min(# - 1, i + 2 * q - 2)), l] * u[q] } }",
        "gen i < #, l < h { sum j < # { [abs(i - j) <= ^] * $[j, l] } }",
        "gen i < #, l < h { sum j < # { [abs(i - j) <= 1] * $[j, l] * u[j - i + 1] } }",
        "gen i < # { $[i] + 0.5 * $[max(0, i - ^)] }",
        "gen i < # { $[i] - ~[max(0, i - ^)] }",
        "gen i < # { 0.5 * $[i] - $[min(# - 1, i + ^)] }",
        "gen i < # { ?.(~[i] @ a @ b) - $[min(# - 1, i + ^)] }",
        "gen i < # { if i > 0 { $[i] - $[i - 1] } else { $[i] } }",
        "gen i < # { $[i] + ?.($[max(0, i - 1)] @ a @ b) }",
        "gen i < # { $[i] - 0.5 * $[0] }",
        "gen i < # { $[i] - 0.5 * $[# - 1] }",
        "gen i < #, l < h { max($[i, l], $[min(# - 1, i + ^), l]) }",
    });
  }
  std::string OfTwoRows() {
    halves_ = true;
    return Pick({"gen i < # / 2, l < h { max($[2 * i, l], $[2 * i + 1, l]) }",
                 "gen i < # / 2 { 0.5 * ($[2 * i] + $[2 * i + 1]) }",
                 "gen i < # / 2 { $[2 * i] - $[2 * i + 1] @ a @ b }"});
  }

  std::string Loss() {
    switch (Pick({0, 0, 0, 1, 1, 1, 1, 1, 2})) {
      case 0: return ByLoop();
      case 1: return "  return sum i < #" + OfRows() + "\n";
      default: break;
    }
    return "  return sum " + (rows_ == "n / 2 / 2" ? "i < #" + OfRows() : "b < # / " + OfSets()) +
           "\n";
  }
  std::string OfRows() {
    return Pick({" { dot($[i], v) ** 2 }", " { log(1.0 + norm2($[i])) }",
                 " { logsumexp($[i]) - $[i, 0] }", " - 1 { dot($[i], $[i + 1]) ** 2 }",
                 ", j < # { [abs(i - j) <= 2] * dot($[i], $[j]) ** 2 }",
                 " { norm2($[i] - $[max(0, i - 1)]) }", " { norm2($[i] - $[0]) }",
                 " { max l < h { $[i, l] } }", " { let m = max l < h { $[i, l] }; m * m }",
                 " { (dot($[i], v) - y[i]) ** 2 }", " { dot($[i], ~[i]) }",
                 " { norm2($[i] - ~[max(0, i - 1)]) }"});
  }
  // So many rows that a quarter of as many next to these may be made twice.
  std::string OfSets() {
    const std::string many = rows_ == "n" ? "40" : "32", at = "$[" + many + " * b + j";
    return many + Pick({" { (sum j < " + many + " { dot(" + at + "], v) }) ** 2 }",
                        " { norm2(sum j < " + many + " { f64(j) * " + at + "] }) ** 2 }",
                        ", l < h { (max j < " + many + " { " + at + ", l] }) ** 2 }",
                        " { let m = (sum j < " + many + " { " + at + "] }) / 9.0; sum j < " + many +
                            " { norm2(" + at + "] - m) } }"});
  }
  std::string ByLoop() {
    if (Pick({0, 1, 2, 3}) == 0)
      return "  var c = v\n  for i < # { c = tanh.(0.5 * c + $[i]) }\n  return sum(c)" +
             BehindLoop() + "\n";
    switch (Pick({0, 0, 0, 0, 0, 0, 1, 1, 2})) {
      case 1: return Part();
      case 2: return Parts();
      default: break;
    }
    const std::string first = Loop("s");
    if (Pick({0, 0, 0, 1}) == 0) return first + "  return s" + BehindLoop() + "\n";
    return first + Loop("t") + "  return s + t" + BehindLoop() + "\n";
  }
  std::string Loop(const std::string& sum) {
    const std::string from = Pick({"1", "1", "2"});
    return "  var " + sum + " = 0.0\n  for i " +
           Pick({"< # { " + sum + " += dot($[i], v) ** 2 }",
                 "< # { " + sum + " += dot($[i], $[max(0, i - 1)]) ** 2 }",
                 "< # - 1 { " + sum + " = sin(" + sum + " + dot($[i], $[i + 1])) }",
                 "in " + from + "..# { " + sum + " = sin(" + sum + " + dot($[i], $[i - " + from +
                     "])) }"}) +
           "\n";
  }
  // A loop that starts or ends at other rows than the first and the last.
  std::string Part() {
    return std::string("  var s = 0.0\n  for i ") +
           Pick(
               {"in # / 2..# { s = sin(s + dot($[i], v)) }",
                "< # / 2 { s = sin(s + dot($[i], v)) }",
                "in max(0, i64(5.0 * u[0]))..# { s = sin(s + dot($[i], v)) }",
                "in 3..min(#, i64(9.0 * u[1])) { s = sin(s + dot($[i], $[i - 1])) }",
                "in i64(5.0 * u[0])..i64(9.0 * u[1]) { if i >= 1 and i < # { s = sin(s + dot($[i], "
                "$[i - 1])) } }"}) +
           "\n  return s\n";
  }
  // The first rows by one loop, the others by another.
  std::string Parts() {
    const std::string to = Pick({"# / 2", "i64(5.0 * u[1])", "# - 2"});
    return "  var s = 0.0\n  for i < " + to + " { s = sin(s + dot($[i], v)) }\n  for i in " + to +
           "..# { s = sin(0.5 * s + dot($[i], ~[i])) }\n  return s\n";
  }
  std::string BehindLoop() {
    return Pick({"", "", "", " + sum i < # { ?($[i, 0]) }", " + sum i < # { $[i, i % h] ** 2 }",
                 " + sum i < # { norm2($[i] - $[max(0, i - 1)]) }", " + $[0, 0] * $[# - 1, 0]",
                 " + sum l < h { (sum i < # { $[i, l] }) ** 2 }",
                 " + sum i < # / 2 { dot($[2 * i], $[2 * i + 1]) ** 2 }",
                 " + sum l < h { (sum i < # / 2 { $[2 * i, l] - $[2 * i + 1, l] }) ** 2 }",
                 " + sum l < h { (max i < # { $[i, l] }) ** 2 }",
                 " + sum l < h { (sum i in 1..# { $[i, l] * $[i - 1, l] }) ** 2 }",
                 " + sum i < #, j < # { [i == j + 1] * dot($[i], $[j]) ** 2 }",
                 " + sum l < h, p < d { (sum i < # { $[i, l] * x[i, p] }) ** 2 }"});
  }

  std::mt19937 rng_;
  std::string lines_, last_, rows_ = "n";
  std::vector<std::string> earlier_;  // those of as many rows, the last one too
  bool reflects_ = false;             // reflected ends are there
  bool halves_ = false;               // the next array has half as many rows
  int made_ = 0;
};

}  // namespace

std::string RandomLayersProgram(uint32_t seed) { return LayersWriter(seed).Program(); }

}  // namespace pullback::testing
