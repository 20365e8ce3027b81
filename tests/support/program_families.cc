#include "tests/support/program_families.h"

#include <algorithm>

namespace pullback::testing {
namespace {

std::string A(int k) { return "a" + std::to_string(std::max(0, k)); }
std::string Let(int k, const std::string& value) { return "  let " + A(k) + " = " + value + "\n"; }
std::string Gen(int k, const std::string& element) {
  return Let(k, "gen i < n { " + element + " }");
}

template <typename Fn>
std::string Statements(int n, Fn&& statement) {
  std::string text;
  for (int k = 1; k <= n; ++k) text += statement(k);
  return text;
}

// A chain of scalars from x, with y beside them.
std::string OfScalars(int n, std::string (*value)(int)) {
  return "fn f(x: f64, y: f64) -> f64 {\n  let a0 = x\n" +
         Statements(n, [&](int k) { return Let(k, value(k)); }) + "  return " + A(n) + "\n}\n";
}

// A chain of vectors from x; `more` are parameters.
std::string OfVectors(int n, const std::string& more, std::string (*element)(int)) {
  return "fn f(x: [n]f64, " + more + ") -> f64 {\n  let a0 = x\n" +
         Statements(n, [&](int k) { return Gen(k, element(k)); }) + "  return sum i < n { " + A(n) +
         "[i] }\n}\n";
}

// Statements that change a variable, which starts as x.
std::string OfUpdates(int n, std::string (*statement)(int)) {
  return "fn f(x: f64, y: f64) -> f64 {\n  var a = x\n" + Statements(n, statement) +
         "  return a\n}\n";
}

std::string Contractions(int n) {
  return OfVectors(n, "w: [n, n]f64", [](int k) -> std::string {
    if (k % 2 == 0) return "sum j < n { w[i, j] * " + A(k - 1) + "[j] } + " + A(k - 3) + "[i]";
    return "sin(" + A(k - 1) + "[i]) * " + A(k - 3) + "[i]";
  });
}

std::string Elementwise(int n) {
  return OfVectors(n, "y: f64", [](int k) { return "sin(" + A(k - 1) + "[i]) * y"; });
}

std::string Gathers(int n) {
  return OfVectors(n, "q: [n]i64", [](int k) { return A(k - 1) + "[q[i]] * " + A(k - 2) + "[i]"; });
}

std::string Brackets(int n) {
  return OfVectors(n, "y: f64", [](int k) {
    return "[i < n - " + std::to_string(k % 5) + "] * " + A(k - 1) +
           "[i] + sum j < n { [j <= i] * " + A(k - 1) + "[j] * y }";
  });
}

std::string Scalars(int n) {
  return OfScalars(n, [](int k) -> std::string {
    switch (k % 4) {
      case 0: return "sin(" + A(k - 1) + ") * y";
      case 1: return A(k - 1) + " / (1.0 + " + A(k - 3) + " * " + A(k - 1) + ")";
      case 2: return "if " + A(k - 1) + " < y { " + A(k - 1) + " } else { y * " + A(k - 2) + " }";
      default: return A(k - 1) + " + 2.0 * y - (-" + A(k - 2) + ")";
    }
  });
}

std::string Calls(int n) {
  return "fn g(x: f64, y: f64) -> f64 { return x * sin(y) + x }\n" +
         OfScalars(n, [](int k) { return "g(" + A(k - 1) + ", y)"; });
}

std::string Functions(int n) {
  std::string text = "fn g0(x: f64) -> f64 { return sin(x) }\n";
  text += Statements(n, [](int k) {
    return "fn g" + std::to_string(k) + "(x: f64) -> f64 { return g" + std::to_string(k - 1) +
           "(x) * x }\n";
  });
  return text + "fn f(x: f64) -> f64 { return g" + std::to_string(n) + "(x) }\n";
}

std::string Branches(int n) {
  return OfUpdates(
      n, [](int k) { return "  if a < " + std::to_string(k) + ".0 { a = sin(a) * y }\n"; });
}

std::string Ladders(int n) {
  std::string text = "fn f(x: f64, y: f64) -> f64 {\n  var a = x\n ";
  text += Statements(n, [](int k) {
    const std::string bound = std::to_string(k) + ".0";
    return (k == 1 ? " if x < " : " else if x < ") + bound + " { a = sin(x) * y * " + bound + " }";
  });
  return text + "\n  return a\n}\n";
}

std::string Loops(int n) {
  return OfUpdates(n, [](int k) {
    return "  for i in 0..3 { a = sin(a) * y + " + std::to_string(k) + ".0 }\n";
  });
}

// By turns one that adds to what loops before made, and one that carries it.
std::string Rows(int n) {
  return "fn f(x: [n, d]f64, y: f64) -> f64 {\n  let z = gen i < n, k < d { sin(x[i, k] * y) }\n"
         "  var s = 0.0\n" +
         Statements(n,
                    [](int k) -> std::string {
                      const std::string number = std::to_string(k);
                      if (k % 2 == 0)
                        return "  for i in 1..n { s += dot(z[i], z[i - 1]) * " + number + ".0 }\n";
                      return "  for i in 0..n { s = s * y + sin(z[i, " + std::to_string(k % 7) +
                             "] + " + number + ".0) }\n";
                    }) +
         "  return s\n}\n";
}

std::string Elements(int n) {
  return "fn f(x: [n]f64, y: f64) -> f64 {\n  var a = x\n" +
         Statements(n,
                    [](int k) {
                      return "  a[" + std::to_string(k % 7) + "] = a[" +
                             std::to_string((k + 3) % 7) + "] * y\n";
                    }) +
         "  return sum i < n { a[i] }\n}\n";
}

// All arrays are made first, then read in another order.
std::string Fans(int n) {
  const int half = std::max(1, n / 2);
  std::string text = "fn f(x: [n]f64) -> f64 {\n";
  for (int k = 0; k < half; ++k) text += Gen(k, "sin(x[i] * " + std::to_string(k) + ".0)");
  text += "  var s = 0.0\n";
  for (int k = 0; k < half; ++k) {
    text +=
        "  s = s + sum i < n { " + A(k) + "[i] * " + A(static_cast<int>(k * 7L % half)) + "[i] }\n";
  }
  return text + "  return s\n}\n";
}

// Each adds to one sum, the gradient of each to one array.
std::string Strides(int n) {
  return "fn f(x: [n]f64) -> f64 {\n  var s = 0.0\n" +
         Statements(n,
                    [](int k) {
                      return "  s += sum i < n, j < n { [2 * i == 3 * j + " + std::to_string(k) +
                             "] * x[i] * x[j] }\n";
                    }) +
         "  return s\n}\n";
}

}  // namespace

const std::vector<ProgramFamily>& ProgramFamilies() {
  static const std::vector<ProgramFamily> families = {
      {"contractions", "contractions and elementwise statements by turns", Contractions},
      {"elementwise", "elementwise statements, each of the one before", Elementwise},
      {"gathers", "gathers of the array before", Gathers},
      {"brackets", "brackets and sums of prefixes", Brackets},
      {"strides", "sums over pairs that an equality with strides tells", Strides},
      {"fans", "arrays, then sums of two of them each", Fans},
      {"elements", "updates of elements", Elements},
      {"scalars", "scalar expressions", Scalars},
      {"calls", "calls of one function", Calls},
      {"functions", "functions, each calling the one before", Functions},
      {"branches", "ifs that change a variable", Branches},
      {"ladders", "one if with an else if for each statement", Ladders},
      {"loops", "loops that change a variable", Loops},
      {"rows", "loops over the rows of one array", Rows},
  };
  return families;
}

}  // namespace pullback::testing
