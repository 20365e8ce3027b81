// Entries of few numbers, whose gradient forward mode gives, or a rule; rules and loops under derivative
// operators.
#include "tests/support/language_writer.h"

namespace pullback::testing {

void LanguageWriter::SmallEntry() {
  program_.narrow = false;
  program_.scalar = true;
  program_.entry = "f64";
  const Tensor x = Tensor::F64(Number()), y = Tensor::F64(Number());
  if (seed_ / 32 % 3 == 0) return RuledEntry(x, y);
  if (seed_ / 32 % 3 == 1 && seed_ % 4 == 2) return MatrixEntry(x);
  program_.narrow = Chance(30);
  Count(program_.narrow ? "entry of few numbers, f32" : "entry of few numbers");
  program_.args = {x, y, Tensor::I64(Pick(4))};
  if (program_.narrow) program_.args[1] = Tensor::F32(static_cast<float>(Number()));
  static const std::vector<std::string> steps = {"sin(s * t + 0.3)", "tanh(s * 1.2 - t)",
                                                 "s * cos(t) + 0.1 * x", "s / (1.5 + t * t)"};
  Line("fn f(x: f64, y: " + std::string(program_.narrow ? "f32" : "f64") + ", k: i64) -> RESULT {");
  Inside([&] {
    Line("var s = x");
    Line("var t = 0.5 * f64(y)");
    Line("for i < k + 2 {");
    Line("  s = " + One(steps));
    if (Chance(50)) Line("  if i % 2 == 1 { t = sin(t + s) }");
    Line("  s = s * sin(x + f64(i))");
    Line("}");
    Line("return s * t + sin(x)");
  });
  Line("}");
}

void LanguageWriter::RuledEntry(const Tensor& x, const Tensor& y) {
  Count("entry with a rule");
  program_.args = {x, y};
  const int which = Pick(3);
  static const std::vector<std::string> rules = {"vjp back_entry", "jvp forth_entry",
                                                 "vjp back_entry, jvp forth_entry"};
  Line("fn f(x: f64, y: f64) -> RESULT with " + rules[static_cast<size_t>(which)] +
       " { return x * sin(x * y) }");
}

// Its Jacobian is a loop over the elements of one of the matrices.
void LanguageWriter::MatrixEntry(const Tensor& x) {
  Count("entry of a matrix");
  const bool more = Chance(50);  // parameters than results: rows are seeded
  program_.scalar = false;
  program_.entry = "[n, n]f64";
  program_.args = {Array(n_ * n_), Tensor::I64(Pick(3))};
  program_.args[0].shape = {n_, n_};
  if (more) program_.args.push_back(x);
  Line("fn f(z: [n, n]f64, k: i64" + std::string(more ? ", x: f64" : "") + ") -> RESULT {");
  Inside([&] {
    Line("var w = z");
    Line("for i < k + 1 { w = tanh.(w @ z" + std::string(Chance(50) ? ".T" : "") +
         (more ? " * x" : "") + ") + 0.3 * w }");
    Line("return w");
  });
  Line("}");
}

// What a rule gives, and forward mode's gradient of a loop, against jvp of the same.
void LanguageWriter::RulesAgree() {
  ++program_.levels;
  ++derivatives_;
  const std::string x = Fresh("s"), y = Fresh("s"), g = Fresh("g"), t = Fresh("t"), r = Fresh("e");
  Line("let " + x + " = sin(" + Scalar(1) + ")");
  Line("let " + y + " = sin(" + Scalar(1) + ")");
  switch (Pick(3)) {
    case 0: {
      Count("gradient of a rule");
      static const std::vector<std::string> ruled = {"ruled_vjp", "ruled_jvp", "ruled_both"};
      const std::string& f = One(ruled);
      Line("let " + r + " = grad(" + f + ")(" + x + ") - jvp(" + f + ", " + x + ", 1.0)");
      break;
    }
    case 1: {
      Count("gradient of a rule by two arguments");
      const std::string at = "grad(ruled_two)(" + x + ", " + y + ")";
      Line("let " + r + " = " + at + ".0 - jvp(|" + t + ": f64| ruled_two(" + t + ", " + y + "), " +
           x + ", 1.0) + 0.7 * (" + at + ".1 - jvp(|" + t + ": f64| ruled_two(" + x + ", " + t +
           "), " + y + ", 1.0))");
      break;
    }
    default: {
      Count("pullback of a loop");
      const std::string back = Fresh("back"), s = Fresh("s"), i = Fresh("i"), z = Fresh("s");
      Line("let " + g + " = |" + t + ": f64| folded(|" + s + ": f64, " + i + ": i64| sin(" + s +
           " * " + Literal() + " + " + t + " * " + y + "), " + t + ", k + 2)");
      Line("let (" + z + ", " + back + ") = vjp(" + g + ", " + x + ")");
      Line("let " + r + " = " + back + "(" + y + ") - " + y + " * jvp(" + g + ", " + x +
           ", 1.0) + " + back + "(" + z + ") - " + z + " * grad(" + g + ")(" + x + ")");
    }
  }
  residuals_.push_back(r);
}

}  // namespace pullback::testing
