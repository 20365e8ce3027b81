#include "tests/support/mixed_programs.h"

#include <random>

#include "tests/support/derivatives.h"

namespace pullback::testing {
namespace {

const char* const kCell =
    "fn squash(x: f64) -> f64 { return 1.0 / (1.0 + exp(-x)) }\n"
    "fn cell(c: f64, f: f64, i: f64, g: f64, z: f64, zb: f64) -> f64 {\n"
    "  if z == 1.0 { return squash(i) * tanh(g) }\n"
    "  if zb == 1.0 { return squash(f) * c + squash(i) * tanh(g) }\n"
    "  return c\n}\n";

const char* const kBranchy =
    "fn b(x: f64, y: f64) -> f64 {\n  if x > 0.5 { return sin(x) * y }\n"
    "  if x > -0.5 { return x * x + exp(y) }\n  return y * y * x\n}\n";

Tensor Numbers(std::mt19937& rng, int64_t rows, int64_t columns) {
  std::uniform_real_distribution<double> value(-1, 1);
  std::vector<double> v;
  for (int64_t k = 0; k < rows * columns; ++k) v.push_back(value(rng));
  return columns == 1 ? Vec(v) : Mat(rows, columns, v);
}

// One scalar expression of a random function.
class Writer {
 public:
  Writer(std::mt19937& rng, int arity) : rng_(rng), arity_(arity) {}

  std::string Function() {
    std::string text = "fn b(";
    for (int k = 0; k < arity_; ++k) text += (k ? ", p" : "p") + std::to_string(k) + ": f64";
    text += ") -> f64 {\n";
    const int arms = Below(4);
    for (int k = 0; k < arms; ++k) {
      text += "  if " + Condition() + " {\n";
      if (Below(3) == 0) text += "    if " + Condition() + " { return " + Expression(2) + " }\n";
      text += "    return " + Expression(3) + "\n  }\n";
    }
    if (Below(4) == 0) {  // not text in a body
      text += "  var r = " + Parameter() + "\n  for k < " + std::to_string(1 + Below(3)) +
              " { r = sin(r) + " + Parameter() + " }\n  return r\n}\n";
      return text;
    }
    return text + "  return " + Expression(3) + "\n}\n";
  }

 private:
  int Below(int n) { return std::uniform_int_distribution<int>(0, n - 1)(rng_); }
  std::string Parameter() { return "p" + std::to_string(Below(arity_)); }
  std::string Constant() { return std::to_string(1 + Below(9)) + ".0 / 8.0"; }
  // Far from what the arguments are, which are no multiples of 1/1024.
  std::string Condition() {
    return Parameter() + " > " + std::to_string(Below(1024) - 512) + ".0 / 1024.0";
  }
  std::string Expression(int depth) {
    if (depth == 0) return Below(4) == 0 ? Constant() : Parameter();
    const std::string a = Expression(depth - 1);
    switch (Below(6)) {
      case 0: return "(" + a + " + " + Expression(depth - 1) + ")";
      case 1: return "(" + a + " - " + Expression(depth - 1) + ")";
      case 2: return "sin(" + a + ")";
      case 3: return "tanh(" + a + ")";
      case 4: return "exp(sin(" + a + "))";
      default: return "(" + a + " * " + Expression(depth - 1) + ")";
    }
  }

  std::mt19937& rng_;
  int arity_;
};

}  // namespace

std::vector<MixedProgram> MixedPrograms() {
  std::mt19937 rng(7);
  const auto m = [&](int64_t rows, int64_t columns = 1) { return Numbers(rng, rows, columns); };
  const Tensor z = Vec({0, 1, 0, 1, 0}), zb = Vec({1, 1, 0, 0, 1});
  const std::string b = kBranchy;
  return {
      {"HM-LSTM, z on the last axis",
       std::string(kCell) + "fn f(c: [m, n]f64, f: [m, n]f64, i: [m, n]f64, g: [m, n]f64, z: "
                            "[n]f64, zb: [n]f64) -> [m, n]f64 {\n"
                            "  return cell.(c, f, i, g, z, zb)\n}\n",
       {m(3, 5), m(3, 5), m(3, 5), m(3, 5), z, zb},
       {true, true, true, true, false, false}},
      {"HM-LSTM, z as a column",
       std::string(kCell) + "fn f(c: [m, n]f64, f: [m, n]f64, i: [m, n]f64, g: [m, n]f64, z: "
                            "[m]f64, zb: [m]f64) -> [m, n]f64 {\n"
                            "  return cell.(c, f, i, g, column(z), column(zb))\n}\n",
       {m(5, 3), m(5, 3), m(5, 3), m(5, 3), z, zb},
       {true, true, true, true, false, false}},
      {"an expanded scalar and column are summed",
       b + "fn f(x: [m, n]f64, y: [m]f64, s: f64) -> [m, n]f64 {\n"
           "  return b.(x, column(y)) + b.(x, s)\n}\n",
       {m(4, 3), m(4), Tensor::F64(0.3)}},
      {"two outputs",
       "fn b(x: f64, y: f64) -> (f64, f64) {\n  if x > 0.1 { return (x * y, sin(y)) }\n"
       "  return (exp(x), y)\n}\n"
       "fn f(x: [m, n]f64, y: [n]f64) -> [m, n]f64 {\n  let (u, v) = b.(x, y)\n  return u * v\n}\n",
       {m(3, 4), m(4)}},
      {"a loss: the value is needed as well",
       b + "fn f(x: [m, n]f64, y: [n]f64) -> f64 {\n  let u = b.(x, y)\n"
           "  return sum i < m, j < n { u[i, j] * u[i, j] }\n}\n",
       {m(3, 9), m(9)}},
      {"a loss whose cotangents need all of it",
       b + "fn f(x: [m, n]f64, y: [n]f64) -> f64 {\n  let u = b.(x, y)\n"
           "  return log(1.0 + sum i < m, j < n { u[i, j] * u[i, j] })\n}\n",
       {m(3, 9), m(9)}},
      {"the value times something else",
       b + "fn f(x: [n]f64, w: [n]f64) -> f64 { return sum i < n { w[i] * b(x[i], w[i]) } }\n",
       {m(11), m(11)}},
      {"a captured scalar and array in a comprehension",
       "fn f(x: [n]f64, s: f64, v: [n]f64) -> [n]f64 {\n  return gen i < n {\n"
       "    if x[i] > 0.2 { s * sin(x[i]) } else { v[i] * v[n - 1 - i] + s * s }\n  }\n}\n",
       {m(9), Tensor::F64(0.7), m(9)}},
      {"a lambda that captures a scalar and an array's element, broadcast",
       "fn f(x: [m, n]f64, s: f64, v: [n]f64) -> [m, n]f64 {\n"
       "  let t = v[0] * s\n"
       "  let g = |a: f64, c: f64| if a > 0.0 { exp(a) * s + t } else { c * t * a }\n"
       "  return g.(x, v)\n}\n",
       {m(3, 4), Tensor::F64(-0.6), m(4)}},
      {"a lambda that captures an array and is given an index",
       "fn f(x: [n]f64, v: [n]f64, s: f64) -> f64 {\n"
       "  let g = |a: f64, i: i64| if a > 0.0 { v[i] * a * s } else { v[0] * sin(a) }\n"
       "  return sum i < n { g(x[i], i) * x[i] }\n}\n",
       {m(9), m(9), Tensor::F64(0.4)}},
      {"a captured scalar alone is active",
       b + "fn f(x: [n]f64, s: f64) -> f64 {\n  let g = |a: f64| b(a, s)\n"
           "  return sum i < n { g(x[i]) }\n}\n",
       {m(12), Tensor::F64(0.25)}},
      {"under a bracket",
       b + "fn f(x: [n, n]f64, y: [n]f64) -> [n]f64 {\n"
           "  return gen i < n { sum j < n { [j <= i] * b(x[i, j], y[j]) } }\n}\n",
       {m(5, 5), m(5)}},
      {"under a condition on data",
       b + "fn f(x: [n]f64, y: [n]f64) -> [n]f64 {\n"
           "  return gen i < n { if y[i] > 0.0 { b(x[i], y[i]) * x[i] } else { 3.0 * x[i] } }\n}\n",
       {m(10), m(10)}},
      {"a loop in the function",
       "fn b(x: f64, y: f64) -> f64 {\n  var r = x\n  for k < 3 { r = sin(r) * y + x }\n  return "
       "r\n}\n"
       "fn f(x: [m, n]f64, y: [n]f64) -> [m, n]f64 { return b.(x, y) }\n",
       {m(2, 7), m(7)}},
      {"in a loop",
       b + "fn f(x: [n]f64, y: [n]f64) -> [n]f64 {\n  var r = x\n"
           "  for k < 3 { r = b.(r, y) * 0.5 }\n  return r\n}\n",
       {m(6), m(6)}},
      {"in a function that is called twice",
       b + "fn g(x: [n]f64, y: [n]f64) -> [n]f64 { return b.(x, y) }\n"
           "fn f(x: [n]f64, y: [n]f64, k: i64) -> [n]f64 {\n  if k <= 0 { return g(y, x) }\n"
           "  return g(f(x, y, k - 1), y)\n}\n",
       {m(6), m(6), Tensor::I64(3)}},
      {"two broadcasts in a row",
       b + "fn g(x: f64) -> f64 {\n  if x > 0.3 { return x * x }\n  return sin(x)\n}\n"
           "fn f(x: [m, n]f64, y: [n]f64) -> [m, n]f64 { return g.(b.(x, y)) }\n",
       {m(3, 6), m(6)}},
      {"a gradient in the function's place",
       b + "fn f(x: [n]f64, y: [n]f64) -> [n]f64 {\n"
           "  return gen i < n { grad(|t: f64| b(t, y[i]) * t)(x[i]) }\n}\n",
       {m(5), m(5)}},
  };
}

MixedProgram RandomMixedProgram(uint32_t seed, int most) {
  std::mt19937 rng(seed);
  const auto below = [&](int n) { return std::uniform_int_distribution<int>(0, n - 1)(rng); };
  const int arity = 1 + below(most);
  const int64_t rows = 1 + below(4), columns = 2 + below(10);
  MixedProgram p;
  p.name = "seed " + std::to_string(seed);
  p.text = Writer(rng, arity).Function();
  std::string params, args, first;
  bool full = false;
  for (int k = 0; k < arity; ++k) {
    const std::string name = "a" + std::to_string(k);
    const int shape = k + 1 == arity && !full ? 0 : below(5);
    full |= shape == 0;
    params += (k ? ", " : "") + name;
    args += k ? ", " : "";
    if (shape == 0) {
      params += ": [m, n]f64", args += name + "[i, j]";
      p.args.push_back(Numbers(rng, rows, columns));
    } else if (shape == 1) {
      params += ": [n]f64", args += name + "[j]";
      p.args.push_back(Numbers(rng, columns, 1));
    } else if (shape == 2) {
      params += ": [m]f64", args += name + "[i]";
      p.args.push_back(Numbers(rng, rows, 1));
    } else {  // captured: as it is, or what was made of it
      params += ": f64", args += shape == 3 ? name : "(" + name + " * " + name + ")";
      p.args.push_back(Tensor::F64(std::uniform_real_distribution<double>(-1, 1)(rng)));
    }
    if (k == 0) first = args;
  }
  const std::string call = "b(" + args + ")";
  const std::string body = below(2) == 0 ? call : "(" + call + " * " + first + ")";
  p.text += "fn f(" + params + ") -> ";
  switch (below(4)) {
    case 0: p.text += "[m, n]f64 { return gen i < m, j < n { " + body + " } }\n"; break;
    case 1: p.text += "f64 { return sum i < m, j < n { " + body + " } }\n"; break;
    case 2: p.text += "[n]f64 { return gen j < n { sum i < m { " + body + " } } }\n"; break;
    default:
      p.text += "f64 {\n  let g = |i: i64, j: i64| " + body +
                "\n  let u = gen i < m, j < n { g(i, j) }\n"
                "  return log(2.0 + sum i < m, j < n { u[i, j] * u[i, j] })\n}\n";
  }
  return p;
}

}  // namespace pullback::testing
