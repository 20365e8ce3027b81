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
    return "fn f(x: [n, d]f64, w: [d, h]f64, a: [h, k]f64, b: [k, h]f64, v: [h]f64, y: [n]f64) -> "
           "f64 {\n" +
           lines_ + loss + "}\n";
  }

 private:
  template <typename T>
  T Pick(std::initializer_list<T> of) {
    const auto last = static_cast<int>(of.size()) - 1;
    return *(of.begin() + std::uniform_int_distribution<int>(0, last)(rng_));
  }
  // `$` is the last array, `#` how many rows it has, `?` a function of an element.
  std::string Fill(const std::string& text) {
    std::string filled;
    for (const char c : text) {
      if (c == '$')
        filled += last_;
      else if (c == '#')
        filled += rows_;
      else if (c == '~')
        filled += Earlier();
      else if (c == '?')
        filled += Pick({"tanh", "sigmoid", "sin", "relu"});
      else
        filled += c;
    }
    return filled;
  }
  void Line(const std::string& text) { lines_ += "  " + Fill(text) + "\n"; }
  void Make(const std::string& array) {
    const std::string name = "z" + std::to_string(made_++);
    Line("let " + name + " = " + array);
    last_ = name;
    if (halves_) {
      rows_ = "n / 2";
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
      default: return rows_ == "n" ? OfTwoRows() : OfOneRow();
    }
  }
  std::string OfOneRow() {
    const std::string rows = "gen i < # ";
    switch (Pick({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 10, 14})) {
      case 10: return rows + "{ $[i] + 0.5 * ~[i] }";
      case 11: return rows + "{ ?.($[i] @ a @ b + v) }";
      case 12: return rows + "{ let m = mean($[i]); let q = norm2($[i] - m); ($[i] - m) / sqrt(1.0 + q) }";
      case 13: return rows + "{ cumsum($[i]) }";
      case 14: return rows + "{ $[i] * ?.(~[i] @ a @ b) }";
      case 0: return rows + "{ ?.($[i] * 1.5) }";
      case 9: {
        earlier_.clear();  // rows both ways are all rows
        return rows + "{ ?.($[# - 1 - i] @ a @ b) }";
      }
      case 1: return rows + "{ ?.($[i] @ a @ b) }";
      case 2: return rows + "{ $[i] + ?.($[i] @ a @ b) }";
      case 3: return "?.($ @ a @ b) + $";
      case 4: return rows + "{ softmax($[i]) }";
      case 5: return "gen i < #, l < h { $[i, l] * v[l] }";
      case 6: return rows + "{ let m = mean($[i]); $[i] - m }";
      case 7: return rows + "{ $[i] / sqrt(1.0 + norm2($[i])) }";
      default: break;
    }
    const std::string norms = "s" + std::to_string(made_);
    Line("let " + norms + " = " + rows + "{ sqrt(1.0 + norm2($[i])) }");
    return rows + "{ $[i] / " + norms + "[i] }";
  }
  std::string OfRowsNextToIt() {
    const std::string rows = "gen i < # ", away = Pick({"1", "1", "2"});
    switch (Pick({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 13, 14})) {
      case 13: return rows + "{ $[i] - ~[max(0, i - " + away + ")] }";
      case 14: return rows + "{ ?.(~[i] @ a @ b) - $[min(# - 1, i + " + away + ")] }";
      case 15: return rows + "{ let p = softmax(gen q < 3 { dot($[i], $[max(0, i - q)]) }); gen l < h { sum q < 3 { p[q] * $[max(0, i - q), l] } } }";
      case 11:
        return "gen i < #, l < h { sum q < 3 { [i + q >= 1 and i + q - 1 < #] * $[i + q - 1, l] * "
               "v[q % h] } }";
      case 12:
        return "gen i < #, l < h { sum q < 3 { $[max(0, min(# - 1, i + 2 * q - 2)), l] * f64(q + "
               "1) } }";
      case 0:
        return "gen i < #, l < h { sum q < 3 { [i + q >= 1 and i + q - 1 < #] * $[i + q - 1, l] * "
               "f64(q + 1) } }";
      case 1: return "gen i < #, l < h { sum j < # { [abs(i - j) <= " + away + "] * $[j, l] } }";
      case 2: return rows + "{ $[i] + 0.5 * $[max(0, i - " + away + ")] }";
      case 3: return rows + "{ 0.5 * $[i] - $[min(# - 1, i + " + away + ")] }";
      case 4: return rows + "{ if i > 0 { $[i] - $[i - 1] } else { $[i] } }";
      case 5: return rows + "{ $[i] + ?.($[max(0, i - 1)] @ a @ b) }";
      case 6: return rows + "{ $[i] - $[(i + 1) % (#)] }";
      case 7: return rows + "{ $[i] + 0.5 * $[abs(i - 1)] }";
      case 8: return rows + "{ $[i] - 0.5 * $[0] }";
      case 9: return rows + "{ $[i] - 0.5 * $[# - 1] }";
      default: return "gen i < #, l < h { max($[i, l], $[min(# - 1, i + " + away + "), l]) }";
    }
  }
  std::string OfTwoRows() {
    halves_ = true;
    return Pick({"gen i < n / 2, l < h { max($[2 * i, l], $[2 * i + 1, l]) }",
                 "gen i < n / 2 { 0.5 * ($[2 * i] + $[2 * i + 1]) }",
                 "gen i < n / 2 { $[2 * i] - $[2 * i + 1] @ a @ b }"});
  }

  std::string Loss() {
    if (Pick({0, 1, 2}) == 0) return ByLoop();
    return "  return sum i < #" + OfRows() + "\n";
  }
  std::string OfRows() {
    return Pick({" { dot($[i], v) ** 2 }", " { log(1.0 + norm2($[i])) }",
                 " { logsumexp($[i]) - $[i, 0] }", " - 1 { dot($[i], $[i + 1]) ** 2 }",
                 ", j < # { [abs(i - j) <= 2] * dot($[i], $[j]) ** 2 }",
                 " { norm2($[i] - $[max(0, i - 1)]) }", " { norm2($[i] - $[0]) }",
                 " { max l < h { $[i, l] } }", " { let m = max l < h { $[i, l] }; m * m }",
                 " { (dot($[i], v) - y[i]) ** 2 }", " { dot($[i], ~[i]) }", " { norm2($[i] - ~[max(0, i - 1)]) }"});
  }
  std::string ByLoop() {
    if (Pick({0, 1, 2, 3}) == 0)
      return "  var c = v\n  for i < # { c = tanh.(0.5 * c + $[i]) }\n  return sum(c)\n";
    return "  var s = 0.0\n  for i " +
           Pick({std::string("< # { s += dot($[i], v) ** 2 }"),
                 std::string("< # { s += dot($[i], $[max(0, i - 1)]) ** 2 }"),
                 std::string("in 1..# { s = sin(s + dot($[i], $[i - 1])) }")}) +
           "\n  return s\n";
  }

  std::mt19937 rng_;
  std::string Earlier() {
    return earlier_[static_cast<size_t>(
        std::uniform_int_distribution<int>(0, static_cast<int>(earlier_.size()) - 1)(rng_))];
  }
  std::vector<std::string> earlier_;
  std::string lines_, last_, rows_ = "n";
  bool halves_ = false;  // the next array has half as many rows
  int made_ = 0;
};

}  // namespace

std::string RandomLayersProgram(uint32_t seed) { return LayersWriter(seed).Program(); }

}  // namespace pullback::testing
