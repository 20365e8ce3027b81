// Programs of few statements without control flow: matrices of derivatives come out of all seeds at once.
#include "tests/support/language_writer.h"

namespace pullback::testing {

std::string LanguageWriter::StraightVector(const std::string& i) {
  static const std::vector<std::string> elements = {"sin(a[@] * x) + b[@] * y",
                                                    "a[@] * a[@] * b[n - 1 - @]",
                                                    "tanh(a[@] - b[@]) * s",
                                                    "exp(0.3 * a[@]) / (2.0 + sin(s * b[@]))",
                                                    "(sum j < n { a[j] * b[j] * a[@] })",
                                                    "(sum j < n { sin(a[j] * b[@]) })",
                                                    "select(@ > 0, a[@] * y, b[@])"};
  std::string text;
  for (char c : One(elements)) text += c == '@' ? i : std::string(1, c);
  return text;
}

// Each block of its matrix of derivatives is one statement, whatever the partials are.
void LanguageWriter::Polynomial(const std::string& i) {
  static const std::vector<std::string> sums = {"sum(a) * sum(b)",
                                                "x * sum(a)",
                                                "(sum j < n { a[j] * b[j] })",
                                                "(sum j < n { a[n - 1 - j] * b[j] })",
                                                "y * (sum j < n { a[j] * a[j] })",
                                                "(sum j < n, l < n { a[j] * b[l] })"};
  program_.scalar = seed_ % 4 == 1;
  program_.entry = program_.scalar ? "f64" : "[n]f64";
  if (program_.scalar) return Line("return " + One(sums) + " + " + One(sums));
  static const std::vector<std::string> elements = {"a[@] * s", "b[@] + s", "a[@] * b[@] - s"};
  std::string element;
  for (char c : One(elements)) element += c == '@' ? i : std::string(1, c);
  Line("let s = " + One(sums));
  Line("return gen " + i + " < n { " + element + " }");
}

void LanguageWriter::StraightEntry() {
  Count("straight program");
  program_.narrow = false;
  program_.args = {Tensor::F64(Number()), Tensor::F64(Number()), Array(n_), Array(n_)};
  static const std::vector<std::string> sums = {"sin(x * y) + x",
                                                "sum j < n { a[j] * b[j] }",
                                                "tanh(sum j < n { a[j] * a[j] * y })",
                                                "sum j < n, l < n { sin(a[l] * b[j]) }",
                                                "sin(sum(a)) * x",
                                                "prod j < n { 1.3 + a[j] }"};
  const std::string i = Fresh("i");
  Line("fn f(x: f64, y: f64, a: [n]f64, b: [n]f64) -> RESULT {");
  Inside([&] {
    if (Chance(50)) return Polynomial(i);
    Line("let s = " + One(sums));
    Line("let u = " + std::string(Chance(25) ? "scan sum " : "gen ") + i + " < n { " +
         StraightVector(i) + " }");
    program_.scalar = seed_ % 4 == 1 || Chance(20);
    program_.entry = program_.scalar ? "f64" : "[n]f64";
    if (program_.scalar) {
      return Line("return " + std::string(Chance(50) ? "s * " : "") + "sum " + i + " < n { u[" + i +
                  "] * " + StraightVector(i) + " }");
    }
    Line("return " + std::string(Chance(50) ? "u"
                                            : "gen " + i + " < n { u[" + i + "] * u[n - 1 - " + i +
                                                  "] + " + StraightVector(i) + " }"));
  });
  Line("}");
}

}  // namespace pullback::testing
