#include "tests/support/random_streams.h"

#include "tests/support/random_lines.h"

namespace pullback::testing {
namespace {

class StreamsWriter : private RandomLines {
 public:
  explicit StreamsWriter(uint32_t seed) : RandomLines(seed) {}

  std::string Program() {
    ahead_ = Number(0, 1);
    down_ = Chance(4);
    has_second_ = Chance(3);
    rows_ = ahead_ == 1 || down_ ? "n + 1" : "n";
    Line("var z = " + Start());
    if (has_second_) Line("var q = zeros(n, h)");
    Line("var s = " + Pick({"v", "zeros(h)"}));
    Line("var a = 0.0");
    first_ = down_ ? 0 : Number(0, 2);
    Open("for k in " + std::to_string(first_) + ".." + Pick({"n", "n", "n", "n - 1", "t[0]"}));
    Line("let i = " + std::string(down_ ? "n - 1 - k" : "k"));
    for (int stores = Number(1, 2); stores > 0; --stores) Store();
    if (has_second_) Line("q[i] = " + Pick({"z[" + Row() + "] * v", "0.5 * s", "x[i] @ w"}));
    Close();
    if (Chance(4)) SecondLoop();
    std::string result = "a";
    for (int readers = Number(1, 3); readers > 0; --readers) result += " + " + Reader();
    return "fn f(x: [n, d]f64, w: [d, h]f64, v: [h]f64, t: [n]i64) -> f64 {\n" + lines_ +
           "  return " + result + "\n}\n";
  }

 private:
  std::string Start() {
    const std::string zeros = "zeros(" + rows_ + ", h)";
    return Pick({zeros, zeros, "gen i < " + rows_ + ", j < h { 0.1 * f64(i - j) }",
                 "gen i < " + rows_ + " { v }"});
  }
  // That the turn makes, and those of turns before.
  std::string Row() const { return ahead_ == 1 && !down_ ? "i + 1" : "i"; }
  std::string Before() {
    if (down_) return "i + 1";
    return ahead_ == 1 ? Pick({"i", "i"}) : first_ == 2 ? Pick({"i - 1", "i - 2"}) : "i - 1";
  }
  // Whether all turns have one before.
  bool HasBefore() const { return down_ || ahead_ == 1 || first_ > 0; }
  std::string Old(const std::string& column) {
    if (!HasBefore()) return "s[" + column + "]";
    return Chance(4) ? "s[" + column + "]" : "z[" + Before() + ", " + column + "]";
  }
  std::string OldRow() {
    if (!HasBefore()) return "s";
    return Chance(4) ? "s" : "z[" + Before() + "]";
  }
  void Store() {
    const std::string row = Row();
    switch (Number(0, 6)) {
      case 0: return Line("z[" + row + "] = tanh.(x[i] @ w + 0.5 * " + OldRow() + ")");
      case 1: Line("s = 0.5 * s + x[i, 0] * v"); return Line("z[" + row + "] = s");
      case 2:
        Open("for j < h");
        Line("z[" + row + ", j] = sin(x[i, 1] * v[j]) + 0.5 * " + Old("j"));
        return Close();
      case 3:
        Open("for j in 1..h");
        Line("z[" + row + ", j] = 0.5 * z[" + row + ", j - 1] + " + Old("j - 1") + " * x[i, 0]");
        return Close();
      case 4:
        Open("if x[i, 0] > 0.0");
        Line("z[" + row + "] = " + OldRow() + " - 0.3 * v");
        return Close();
      case 5:
        Open("for j < h");
        Line("var c = 0.0");
        Open("for e < d");
        if (Chance(3)) Line("if c > 0.2 { break }");
        Line("c += sin(x[i, e] * w[e, j])");
        Close();
        Line("z[" + row + ", j] = c + 0.3 * " + Old("j"));
        return Close();
      default: return Line("z[" + row + "] = z[" + row + "] + 0.2 * " + OldRow());
    }
  }
  void SecondLoop() {
    Line("var b = zeros(h)");
    Open("for i in 1.." + Pick({"n", "n", "n - 1"}));
    Line("b = 0.5 * b + " + Pick({"z[i]", "z[i]", "z[i - 1]", "z[n - 1 - i]"}) + " * x[i, 0]");
    Line("a += " + Pick({"norm2(b)", "sin(b[0])"}));
    Close();
  }
  std::string Reader() {
    switch (Number(0, 11)) {
      case 0: return "sum i < n { norm(z[i] + 0.1) }";
      case 1: return "sum i < " + rows_ + ", j < h { z[i, j] * z[i, j] * v[j] }";
      case 2: return "norm2(z[n - 1])";
      case 3: return "sum i in 1..n { norm2(z[i] - z[i - 1]) }";
      case 4: return "sum i < n { exp(0.1 * dot(z[i], v)) * x[i, 0] }";
      case 5: return "max i < n { dot(z[i], v) }";
      case 6: return "sum i < n { dot(softmax(z[i]), v) }";
      case 7: return "sum i < n { norm2(cumsum(z[i])) }";
      case 8: return "sum j < h { tanh(sum i < n { z[i, j] }) }";
      case 9: return "norm(gen i < n { dot(z[i], v) + 0.1 })";
      case 10: return has_second_ ? "sum i < n { dot(q[i], z[i]) }" : "sum i < n { z[i, 0] }";
      default:
        return Pick({"dot(z[t[0]], v)", "sum j < h { norm2(gen i < n { z[i, j] }) }",
                     "sum i < n { max(z[i]) }", "sum i < n { prod(z[i]) }",
                     "norm2(z[" + rows_ + " - 1])", "dot(z[0], v)"});
    }
  }

  int ahead_ = 0, first_ = 0;
  bool down_ = false, has_second_ = false;
  std::string rows_;
};

}  // namespace

std::string RandomStreamsProgram(uint32_t seed) { return StreamsWriter(seed).Program(); }

}  // namespace pullback::testing
