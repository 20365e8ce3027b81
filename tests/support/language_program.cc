#include "tests/support/language_program.h"

#include "tests/support/language_writer.h"

namespace pullback::testing {
LanguageWriter::LanguageWriter(uint32_t seed) : rng_(seed * 2654435761u + 29) {}

Tensor LanguageWriter::Array(int64_t count) {
  std::vector<double> v;
  for (int64_t i = 0; i < count; ++i) v.push_back(Number() - 0.6);
  return Tensor::Of<double>(DType::kF64, {count}, v);
}

std::string LanguageWriter::Literal() {
  std::ostringstream s;
  s.precision(3);
  s << std::fixed << Number();
  return s.str();
}

std::string LanguageWriter::Everything() {
  std::string text = Scalar(0);
  const auto add = [&](const std::string& term) { text += " +\n    " + Literal() + " * " + term; };
  for (const std::string& s : scope_.scalars) {
    if (Chance(60)) add(s);
  }
  for (const std::string& w : scope_.vectors) {
    if (Chance(60)) add("sum(" + w + ")");
  }
  for (const std::string& l : scope_.lists) add("total_list(" + l + ")");
  for (const std::string& p : scope_.points) {
    if (Chance(60)) add("energy(" + p + ")");
  }
  for (const std::string& r : scope_.trees) add("total(" + r + ")");
  for (const std::string& b : scope_.boxes) add("get(" + b + ")");
  return text;
}

// fn h(x, y, k): what the entry may call, and differentiate by x and y.
void LanguageWriter::Helper() {
  const std::string name = Fresh("h");
  scope_ = {};
  scope_.scalars = {"x", "y"};
  Line("fn " + name + "(x: f64, y: f64, k: i64) -> f64 {");
  Inside([&] {
    Line("let n = 3");
    Line("let a = [x, 0.4, y * 0.5]");
    Line("let p = Point(a: y, v: [0.3, x, 0.7], part: Part(x, (0.2, k)))");
    scope_.vectors = {"a"};
    scope_.points = {"p"};
    for (int i = 1 + Pick(2); i > 0; --i) Statement(2);
    Line("return tanh(" + Everything() + ")");
  });
  Line("}");
  helpers_.push_back(name);
}

// fn r(x, a, i): calls itself once or twice with i - 1.
void LanguageWriter::Recursion() {
  const std::string name = Fresh("r");
  scope_ = {};
  scope_.scalars = {"x"};
  scope_.vectors = {"a"};
  Line("fn " + name + "(x: f64, a: [n]f64, i: i64) -> f64 {");
  Inside([&] {
    Line("let k = i % 3");
    Line("let p = Point(a: 0.4, v: [0.3, x, 0.7], part: Part(x, (0.2, k)))");
    scope_.points = {"p"};
    Line("if i <= 0 { return sin(x) }");
    const std::string again = name + "(0.7 * " + Scalar(1) + ", a, i - 1)";
    if (Chance(30)) {
      Count("recursion twice");
      Line("return tanh(" + again + " * " + name + "(0.5 * x, a, i - 2) + " + Scalar(1) + ")");
    } else if (Chance(50)) {
      Line("return tanh(a[i % n] * " + again + " + " + Scalar(1) + ")");
    } else {
      Count("recursion with updated array");
      Line("var b = a");
      Line("b[i % n] *= sin(x)");
      Line("return tanh(" + name + "(x * 0.9, b, i - 1) + b[0] * " + Scalar(1) + ")");
    }
  });
  Line("}");
  recursions_.push_back(name);
}

void LanguageWriter::Entry() {
  scope_ = {};
  entry_ = true;
  scope_.scalars = {"x", "y"};
  scope_.vectors = {"a"};
  scope_.points = {"p"};
  Line("fn f(x: f64, y: f64, k: i64, a: [n]f64, p: Point) -> RESULT {");
  Inside([&] {
    for (int i = 2 + Pick(4); i > 0; --i) Statement(1);
    std::string residual;
    for (const std::string& r : residuals_) residual += (residual.empty() ? "" : " + ") + r;
    const std::string value = Everything();
    const int form = residual.empty() ? Pick(6) : 9;
    program_.scalar = form < 3;
    switch (form) {
      case 3:
        Count("result: tuple with an array");
        Line("return (" + value + ", " + Vector(1) + ")");
        program_.entry = "(f64, [n]f64)";
        break;
      case 4:
        Count("result: struct");
        Line("return (" + Point(1) + " with a = " + value + ")");
        program_.entry = "Point";
        break;
      case 9:
        Line("return (" + value + ", " + residual + ")");
        program_.residual = true;
        program_.entry = "(f64, f64)";
        break;
      default: Line("return " + value); program_.entry = "f64";
    }
  });
  Line("}");
}

LanguageProgram LanguageWriter::Write() {
  n_ = 2 + Pick(3);
  kinks_ = Chance(20);
  program_.stops = Chance(10);
  indent_ = 0;
  if (Chance(50)) Helper();
  if (Chance(30)) Recursion();
  Entry();
  std::string text = out_.str();
  text.replace(text.find("RESULT"), 6, program_.entry);
  program_.entry = "f";
  program_.text = WithDeclarations(text);
  program_.args = {Tensor::F64(Number()), Tensor::F64(Number()),
                   Tensor::I64(Pick(4)),  Array(n_),
                   Tensor::F64(Number()), Array(3),
                   Tensor::F64(Number()), Tensor::F64(Number()),
                   Tensor::I64(2)};
  return std::move(program_);
}

LanguageProgram GenerateLanguageProgram(uint32_t seed) { return LanguageWriter(seed).Write(); }

}  // namespace pullback::testing
