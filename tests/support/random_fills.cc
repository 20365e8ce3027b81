#include "tests/support/random_fills.h"

#include <vector>

#include "tests/support/random_lines.h"

namespace pullback::testing {
namespace {

class FillsWriter : private RandomLines {
 public:
  explicit FillsWriter(uint32_t seed) : RandomLines(seed) {}

  std::string Program() {
    Line("var z = " + Pick({"zeros(n, h)", "zeros(n, h)", "zeros(n, h)", "x @ w"}));
    Line("var g = " + Pick({"zeros(n, d)", "zeros(n, d)", "x"}));
    Line("var y = " + Pick({"zeros(n)", "zeros(n)", "gen i < n { x[i, 0] }"}));
    Line("var c = zeros(d, h)");
    Line("var s = 0.5");
    const bool steps = Chance(8);
    if (steps) Open("for e < 2");
    for (int loops = Number(1, 2); loops > 0; --loops) Loop();
    if (steps) Close();
    if (Chance(3)) Pass();
    return "fn f(x: [n, d]f64, w: [d, h]f64, v: [h]f64, t: [n]i64) -> f64 {\n" + lines_ +
           "  return s + sum i < n { y[i] * norm(z[i] + 0.1) + sum j < d { sin(g[i, j]) * "
           "f64(i + j) } } + sum a < d { dot(c[a], v) }\n}\n";
  }

 private:
  using RandomLines::Pick;
  // Over what was filled.
  void Pass() {
    const bool by_rows = Chance(2);
    Open(by_rows ? "for i < n" : "for j < h");
    Open(by_rows ? "for j < h" : "for i < n");
    Line(Pick({"s += z[i, j]", "s += sin(z[i, j]) * v[j]", "z[i, j] = tanh(z[i, j])",
               "if z[i, j] > 0.0 { s -= z[i, j] }", "z[i, j] = max(z[i, j], 0.0); s += z[i, j]"}));
    Close();
    Close();
  }
  void Loop() {
    from_one_ = Chance(3);
    scalars_ = {"x[i, 0]", "x[t[i], 1]", "0.5", "f64(i)", "x[i, 1]"};
    if (Chance(4)) scalars_.push_back("y[i]");
    if (Chance(5)) scalars_.push_back("z[i, 1]");
    if (Chance(12)) scalars_.push_back("s");
    if (from_one_ && Chance(4)) scalars_.push_back("y[i - 1]");
    if (from_one_ && Chance(6)) scalars_.push_back("z[i - 1, 0]");
    rows_ = {"x[i] @ w", "v"};
    Open(from_one_ ? "for i in 1..n" : "for i < n");
    if (Chance(10)) {
      Line("let old = z");
      scalars_.push_back("old[i, 0]");
    }
    for (int left = Number(1, 4); left > 0; --left) Statement();
    if (Chance(4)) Line("s += 0.1 * " + Scalar());
    Close();
  }

  std::string Scalar() {
    const auto last = static_cast<int>(scalars_.size()) - 1;
    return scalars_[static_cast<size_t>(Number(0, last))];
  }
  std::string Expression() {
    const std::string a = Scalar(), b = Scalar();
    return Pick({"$ + #", "$ * #", "tanh($)", "0.3 * $ - #", "$", "sin($ * #)"}, a, b);
  }
  std::string Pick(std::initializer_list<std::string> of, const std::string& a,
                   const std::string& b) {
    std::string filled;
    for (const char c : Pick(of)) {
      if (c == '$')
        filled += a;
      else if (c == '#')
        filled += b;
      else
        filled += c;
    }
    return filled;
  }
  std::string Condition() {
    return Pick({"$ > 0.0", "$ < #", "$ > 0.1 and # < 0.3", "$ > 0.2 or # > 0.0"}, Scalar(),
                Scalar());
  }
  std::string Row() {
    const auto last = static_cast<int>(rows_.size()) - 1;
    const std::string row = rows_[static_cast<size_t>(Number(0, last))];
    return Pick({"$", "$ * #", "tanh.($)", "$ + #"}, "(" + row + ")", Scalar());
  }
  std::string Store() { return Pick({" = ", " = ", " += ", " -= ", " *= "}); }

  // Statements of a turn of i.
  void Statement() {
    switch (Number(0, 11)) {
      case 0: return Line("z[i] = " + Row());
      case 1:
        return Line(Pick({"y[i]", "y[i]", "y[n - 1 - i]", "y[t[i]]"}) + Store() + Expression());
      case 2: return Elements();
      case 3: return Sum();
      case 4: return Branch();
      case 5: return LocalRow();
      case 6: return Line("z[i] += " + Row());
      case 7: return Sums();
      case 8: return Line("z[i, " + Pick({"0", "1", "2"}) + "]" + Store() + Expression());
      case 9: return Extremum();
      case 10: return Running();
      default: return Elements();
    }
  }
  // Inside a loop over the elements of a row.
  void Elements() {
    const size_t scalars = scalars_.size();
    const bool of_g = Chance(3);
    Open(of_g ? Pick({"for j < d", "for j < d", "for j in 1..d"})
              : Pick({"for j < h", "for j < h", "for j in 1..h"}));
    scalars_.push_back(of_g ? "x[i, j]" : "v[j]");
    scalars_.push_back(of_g ? "g[i, j]" : "z[i, j]");
    if (Chance(6)) scalars_.push_back(of_g ? "g[i, max(j - 1, 0)]" : "z[i, max(j - 1, 0)]");
    if (Chance(3)) Sum();
    const std::string place = of_g ? "g[i, j]" : Chance(8) ? "z[n - 1 - i, j]" : "z[i, j]";
    if (Chance(3)) {
      Open("if " + Condition());
      Line(place + Store() + Expression());
      if (Chance(2)) {
        --depth_;
        Line(Chance(2) ? "} else {" : "} else if " + Condition() + " {");
        ++depth_;
        Line(place + Store() + Expression());
      }
      Close();
    } else {
      Line(place + Store() + Expression());
    }
    Close();
    scalars_.resize(scalars);
  }
  // A number that a loop adds up.
  void Sum() {
    const std::string name = "a" + std::to_string(names_++);
    const size_t scalars = scalars_.size();
    Line("var " + name + " = " + (Chance(2) ? "0.0" : Scalar()));
    Open(Pick({"for q < d", "for q < d", "for q < i", "for q in i..n"}));
    scalars_.push_back("x[q % n, q % d]");
    scalars_.push_back("x[i, q % d]");
    if (Chance(8)) scalars_.push_back(name);
    const bool conditional = Chance(4);
    if (conditional) Open("if " + Condition());
    Line(name + (Chance(4) ? " -= " : " += ") + Expression());
    if (conditional) Close();
    Close();
    scalars_.resize(scalars);
    scalars_.push_back(name);
  }
  // The greatest or least number of a range.
  void Extremum() {
    const std::string name = "a" + std::to_string(names_++);
    const size_t scalars = scalars_.size();
    const bool max = Chance(2);
    Line("var " + name + " = " + (Chance(2) ? Scalar() : max ? "-1.0e300" : "0.25"));
    Open(Pick({"for q < d", "for q < i", "for q in max(0, i - 1)..min(n, i + 2)"}));
    scalars_.push_back("x[q % n, 0]");
    scalars_.push_back("x[q % n, 1]");
    const std::string e = Chance(2) ? "max(" + Scalar() + ", 0.0)" : Scalar();
    if (Chance(2)) {
      Line(name + (max ? " = max(" : " = min(") + name + ", " + e + ")");
    } else {
      Line("if " + e + (max ? " > " : " < ") + name + " { " + name + " = " + e + " }");
    }
    Close();
    scalars_.resize(scalars);
    scalars_.push_back(name);
  }
  // Needed on the way.
  void Running() {
    const std::string name = "a" + std::to_string(names_++);
    Line("var " + name + " = " + (Chance(2) ? "0.0" : Scalar()));
    Open("for j < h");
    if (Chance(4)) Line("z[i, j] += " + name);
    const bool conditional = Chance(5);
    if (conditional) Open("if " + Condition());
    Line(name + (Chance(4) ? " -= " : " += ") + Pick({"v[j]", "v[j] * $", "$"}, Scalar(), ""));
    if (conditional) Close();
    if (Chance(2)) Line("z[i, j]" + Store() + name);
    if (Chance(6)) Line(name + " += 0.5");
    Close();
    scalars_.push_back(name);
  }
  void Sums() {
    Open("for q < d");
    const size_t scalars = scalars_.size();
    scalars_.push_back("x[i, q]");
    if (Chance(2)) {
      Line(Pick({"y[i]", "z[i, 1]", "c[q, 0]"}) + " += " + Expression());
    } else {
      Open("for j < h");
      scalars_.push_back("w[q, j]");
      Line(Pick({"z[i, j] += ", "c[q, j] += ", "z[i, j] = z[i, j] + "}) + Expression());
      Close();
    }
    Close();
    scalars_.resize(scalars);
  }
  void Branch() {
    Open("if " + Condition());
    const size_t scalars = scalars_.size(), rows = rows_.size();
    Statement();
    scalars_.resize(scalars);
    rows_.resize(rows);
    if (Chance(2)) {
      --depth_;
      Line("} else {");
      ++depth_;
      Statement();
      scalars_.resize(scalars);
      rows_.resize(rows);
    }
    Close();
  }
  void LocalRow() {
    const std::string name = "r" + std::to_string(names_++);
    Line("var " + name + " = " + (Chance(3) ? "zeros(h)" : Row()));
    Open("for j < h");
    const bool conditional = Chance(3);
    if (conditional) Open("if " + name + "[j] < " + Scalar());
    Line(name + "[j]" + Store() + Pick({"$ + #", "$ * #"}, "v[j]", Scalar()));
    if (conditional) Close();
    Close();
    rows_.push_back(name);
  }

  int names_ = 0;
  bool from_one_ = false;
  std::vector<std::string> scalars_, rows_;
};

}  // namespace

std::string RandomFillsProgram(uint32_t seed) { return FillsWriter(seed).Program(); }

}  // namespace pullback::testing
