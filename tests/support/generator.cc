#include "tests/support/generator.h"

#include <sstream>

namespace pullback::testing {
namespace {

// Functions of one operand that are smooth everywhere on [-1.5, 1.5], as text with @ for it.
const std::vector<std::pair<std::string, std::string>>& Smooth() {
  static const std::vector<std::pair<std::string, std::string>> all = {
      {"sin", "sin(@)"},
      {"cos", "cos(@)"},
      {"tanh", "tanh(@)"},
      {"atan", "atan(@)"},
      {"exp", "exp(sin(@))"},
      {"exp2", "exp2(sin(@))"},
      {"expm1", "expm1(sin(@))"},
      {"log", "log(2.0 + sin(@))"},
      {"log2", "log2(2.0 + sin(@))"},
      {"log10", "log10(2.0 + sin(@))"},
      {"log1p", "log1p(0.5 * sin(@))"},
      {"sqrt", "sqrt(1.0 + sin(@) ** 2.0)"},
      {"cbrt", "cbrt(2.0 + sin(@))"},
      {"tan", "tan(0.5 * sin(@))"},
      {"asin", "asin(0.5 * sin(@))"},
      {"acos", "acos(0.5 * sin(@))"},
      {"sinh", "sinh(sin(@))"},
      {"cosh", "cosh(sin(@))"},
      {"asinh", "asinh(sin(@))"},
      {"acosh", "acosh(2.5 + sin(@))"},
      {"atanh", "atanh(0.5 * sin(@))"},
      {"erf", "erf(sin(@))"},
      {"neg", "-(@)"},
      {"pow", "(1.5 + sin(@)) ** 1.7"},
      {"div", "1.0 / (2.0 + sin(@))"},
      {"sigmoid", "sigmoid(sin(@))"},
  };
  return all;
}

const std::vector<std::pair<std::string, std::string>>& Kinked() {
  static const std::vector<std::pair<std::string, std::string>> all = {
      {"abs", "abs(@)"},
      {"sign", "sign(@)"},
      {"floor", "floor(3.0 * sin(@))"},
      {"ceil", "ceil(3.0 * sin(@))"},
      {"round", "round(3.0 * sin(@))"},
      {"trunc", "trunc(3.0 * sin(@))"},
      {"relu", "relu(@)"},
      {"cast", "f64(f32(@))"},
      {"to int", "f64(i64(4.0 * sin(@)))"},
  };
  return all;
}

class Writer {
 public:
  Writer(Kind kind, uint32_t seed, Coverage* coverage)
      : kind_(kind), rng_(seed * 2654435761u + 17), coverage_(*coverage) {}

  GeneratedProgram Write() {
    n_ = 2 + Pick(4);
    out_ << "fn smooth(x: f64) -> f64 { return sin(x) * x }\n"
         << "fn pair(x: f64, y: f64) -> f64 { return x * cos(y) + 0.5 * y }\n";
    if (kind_ != Kind::kTensor) {
      out_ << "fn arms(x: f64, k: i64) -> f64 {\n  if k % 3 == 0 { return sin(x) }\n"
           << "  if k % 3 == 1 { return 0.5 * x }\n  return x * x * 0.25\n}\n"
           << "fn down(x: f64, a: [n]f64, i: i64) -> f64 {\n  if i >= n { return 0.5 * x }\n"
           << "  return tanh(a[i] * down(x, a, i + 1) + 0.3 * x)\n}\n"
           << "fn two(x: f64, y: f64) -> (f64, f64) { return (x * y, sin(x) - y) }\n";
    }
    out_ << "fn f(x: f64, y: f64, k: i64, a: [n]f64, b: [n]f64, m: [n, n]f64) -> f64 {\n";
    scalars_ = {"x", "y"};
    vectors_ = {"a", "b"};
    matrices_ = {"m"};
    const int statements = 3 + Pick(5);
    for (int i = 0; i < statements; ++i) {
      if (kind_ == Kind::kTensor) {
        TensorStatement();
      } else {
        Statement(1);
      }
    }
    out_ << "  return " << Result() << "\n}\n";
    GeneratedProgram p;
    p.text = out_.str();
    p.args = {Tensor::F64(Number()), Tensor::F64(Number()), Tensor::I64(Pick(5)),
              Array({n_}),           Array({n_}),           Array({n_, n_})};
    return p;
  }

 private:
  int Pick(int n) { return static_cast<int>(rng_() % static_cast<uint32_t>(n)); }
  bool Chance(int percent) { return Pick(100) < percent; }
  const std::string& One(const std::vector<std::string>& list) {
    return list[static_cast<size_t>(Pick(static_cast<int>(list.size())))];
  }
  void Count(const std::string& what) { ++coverage_[what]; }
  double Number() { return 0.05 + 0.013 * Pick(100); }
  Tensor Array(std::vector<int64_t> shape) {
    int64_t count = 1;
    for (int64_t d : shape) count *= d;
    std::vector<double> v;
    for (int64_t i = 0; i < count; ++i) v.push_back(Number() - 0.6);
    return Tensor::Of<double>(DType::kF64, std::move(shape), v);
  }
  std::string Literal() {
    std::ostringstream s;
    s.precision(3);
    s << std::fixed << Number();
    return s.str();
  }
  std::string Fresh(const char* prefix) { return prefix + std::to_string(next_++); }
  void Line(const std::string& text) { out_ << std::string(2 * indent_, ' ') << text << "\n"; }

  std::string Function(const std::string& operand) {
    const bool kinked = kind_ == Kind::kCorners && Chance(30);
    const auto& list = kinked ? Kinked() : Smooth();
    const auto& [name, form] = list[static_cast<size_t>(Pick(static_cast<int>(list.size())))];
    Count(name);
    std::string text = form;
    for (size_t at = text.find('@'); at != std::string::npos;
         at = text.find('@', at + operand.size()))
      text.replace(at, 1, operand);
    return text;
  }

  std::string Binary(const std::string& x, const std::string& y) {
    switch (Pick(kind_ == Kind::kCorners ? 9 : 6)) {
      case 0: Count("add"); return "(" + x + " + " + y + ")";
      case 1: Count("sub"); return "(" + x + " - " + y + ")";
      case 2: Count("atan2"); return "atan2(" + x + ", 3.0 + sin(" + y + "))";
      case 3: Count("hypot"); return "hypot(" + x + ", 1.0 + sin(" + y + ") ** 2.0)";
      case 6: Count("max"); return "max(" + x + ", " + y + ")";
      case 7: Count("min"); return "min(" + x + ", " + y + ")";
      case 8: Count("fmod"); return "fmod(" + x + ", 2.0 + sin(" + y + "))";
      default: Count("mul"); return "(" + x + " * " + y + ")";
    }
  }

  // A scalar expression; inside comprehensions `index_` names an index below n.
  std::string Scalar(int depth) {
    if (depth == 0) return Leaf();
    switch (Pick(8)) {
      case 0:
      case 1: return Function(Scalar(depth - 1));
      case 2: Count("call"); return "smooth(" + Scalar(depth - 1) + ")";
      case 3: Count("call"); return "pair(" + Scalar(depth - 1) + ", " + Scalar(depth - 1) + ")";
      case 4: return Choice(depth);
      default: return Binary(Scalar(depth - 1), Scalar(depth - 1));
    }
  }

  std::string Choice(int depth) {
    if (kind_ == Kind::kCorners && Chance(40)) {
      Count("if on floats");
      return "(if " + Scalar(0) + " > " + Literal() + " { " + Scalar(depth - 1) + " } else { " +
             Scalar(depth - 1) + " })";
    }
    if (Chance(50)) {
      Count("select");
      return "select(k > " + std::to_string(Pick(4)) + ", " + Scalar(depth - 1) + ", " +
             Scalar(depth - 1) + ")";
    }
    Count("if expression");
    return "(if k % 2 == " + std::to_string(Pick(2)) + " { " + Scalar(depth - 1) + " } else { " +
           Scalar(depth - 1) + " })";
  }

  std::string Leaf() {
    if (!index_.empty() && Chance(60)) return Element();
    if (Chance(20)) return Literal();
    if (index_.empty() && Chance(25)) {
      Count("element");
      return One(vectors_) + "[" + std::to_string(Pick(2)) + "]";
    }
    return One(scalars_);
  }

  std::string Element() {
    Count("element");
    const std::string& i = One(index_);
    switch (Pick(4)) {
      case 0: return One(matrices_) + "[" + i + ", " + One(index_) + "]";
      case 1: Count("reversed"); return One(vectors_) + "[n - 1 - " + i + "]";
      default: return One(vectors_) + "[" + i + "]";
    }
  }

  void Let(const std::string& value) {
    const std::string name = Fresh("s");
    Line("let " + name + " = " + value);
    scalars_.push_back(name);
  }

  void Statement(int depth) {
    switch (Pick(depth > 2 ? 4 : 12)) {
      case 0: Count("let"); return Let("tanh(" + Scalar(2) + ")");
      case 1: return Accumulate();
      case 2: return Vector();
      case 3: Count("sum"); return Let("tanh(" + Sum(2) + ")");
      case 4: return If(depth);
      case 5: return For(depth);
      case 6: return While();
      case 7: return Tuple();
      case 8: return Updates();
      case 9: Count("recursion"); return Let("down(" + Scalar(1) + ", " + One(vectors_) + ", 0)");
      case 10:
        Count("function with returns");
        return Let("arms(" + Scalar(1) + ", k + " + std::to_string(Pick(3)) + ")");
      default: return Matrix();
    }
  }

  void Accumulate() {
    Count("var");
    const std::string name = Fresh("v");
    Line("var " + name + " = " + Scalar(1));
    Line(name + " = sin(" + name + " + " + Scalar(1) + ")");
    if (Chance(30)) {
      Count("parallel assignment");
      const std::string other = Fresh("v");
      Line("var " + other + " = " + Scalar(1));
      Line(name + ", " + other + " = " + other + " * 0.5, " + name);
      scalars_.push_back(other);
    }
    scalars_.push_back(name);
  }

  // Runs `body` one level in; names made inside are gone afterwards.
  template <typename Fn>
  void Inside(Fn&& body) {
    const auto scalars = scalars_;
    const auto vectors = vectors_;
    const auto matrices = matrices_;
    ++indent_;
    body();
    --indent_;
    scalars_ = scalars;
    vectors_ = vectors;
    matrices_ = matrices;
  }

  void If(int depth) {
    Count("if");
    const std::string name = Fresh("v");
    Line("var " + name + " = " + Scalar(1));
    Line("if k > " + std::to_string(Pick(4)) + " {");
    Inside([&] {
      Statement(depth + 1);
      Line(name + " = " + name + " * " + Scalar(1));
    });
    if (Chance(50)) {
      Count("else");
      Line("} else {");
      Inside([&] { Line(name + " = sin(" + Scalar(2) + ")"); });
    }
    Line("}");
    scalars_.push_back(name);
  }

  void For(int depth) {
    Count("for");
    const std::string name = Fresh("v"), i = Fresh("i");
    Line("var " + name + " = " + Scalar(1));
    Line("for " + i + " < n {");
    Inside([&] {
      if (Chance(30)) {
        Count("continue");
        Line("if " + i + " % 2 == 1 { continue }");
      }
      if (Chance(30)) {
        Count("break");
        Line("if " + i + " > k { break }");
      }
      if (Chance(50)) Statement(depth + 1);
      Line(name + " = tanh(" + name + " * " + One(vectors_) + "[" + i + "] + " + Scalar(1) + ")");
    });
    Line("}");
    scalars_.push_back(name);
  }

  void While() {
    Count("while");
    const std::string name = Fresh("v"), i = Fresh("i");
    Line("var " + name + " = " + Scalar(1));
    Line("var " + i + " = k");
    Line("while " + i + " > 0 {");
    Inside([&] {
      Line(i + " = " + i + " - 1");
      Line(name + " = cos(" + name + ") * " + Scalar(1));
    });
    Line("}");
    scalars_.push_back(name);
  }

  void Tuple() {
    Count("tuple");
    const std::string x = Fresh("s"), y = Fresh("s");
    Line("let (" + x + ", " + y + ") = two(" + Scalar(1) + ", " + Scalar(1) + ")");
    scalars_.push_back(x);
    scalars_.push_back(y);
  }

  void Updates() {
    Count("element update");
    const std::string name = Fresh("w"), i = Fresh("i");
    Line("var " + name + " = " + One(vectors_));
    Line("for " + i + " in 1..n { " + name + "[" + i + "] = sin(" + name + "[" + i + " - 1]) * " +
         One(vectors_) + "[" + i + "] + " + Scalar(1) + " }");
    vectors_.push_back(name);
  }

  void Vector() {
    const std::string name = Fresh("w");
    switch (Pick(5)) {
      case 0:
        Count("broadcast");
        Line("let " + name + " = pair.(" + One(vectors_) + ", " + One(vectors_) + ")");
        break;
      case 1:
        Count("elementwise");
        Line("let " + name + " = " + One(vectors_) + " * " + One(scalars_) + " - " + One(vectors_));
        break;
      case 2:
        Count("matrix times vector");
        Line("let " + name + " = tanh.(" + One(matrices_) + " @ " + One(vectors_) + ")");
        break;
      case 3:
        Count("slice");
        Line("let " + name + " = " + One(matrices_) + (Chance(50) ? "[:, 0]" : "[1, :]"));
        break;
      default: Count("gen"); Line("let " + name + " = gen i < n { " + Body({"i"}, 2) + " }");
    }
    vectors_.push_back(name);
  }

  void Matrix() {
    const std::string name = Fresh("q");
    switch (Pick(3)) {
      case 0:
        Count("matrix product");
        Line("let " + name + " = sin.(" + One(matrices_) + " @ " + One(matrices_) + ")");
        break;
      case 1:
        Count("transpose");
        Line("let " + name + " = " + One(matrices_) + ".T");
        break;
      default:
        Count("gen");
        Line("let " + name + " = gen i < n, j < n { " + Body({"i", "j"}, 2) + " }");
    }
    matrices_.push_back(name);
  }

  std::string Body(std::vector<std::string> indices, int depth) {
    index_ = std::move(indices);
    std::string text = "tanh(" + Scalar(depth) + ")";
    if (Chance(30)) {
      Count("bracket");
      text = "[" + Predicate() + "] * " + text;
    }
    index_.clear();
    return text;
  }

  std::string Predicate() {
    const std::string& i = One(index_);
    switch (Pick(4)) {
      case 0: return i + " > 0";
      case 1: return i + " != 1";
      case 2: return i + " == " + One(index_);
      default: return i + " <= n - 2 and " + One(index_) + " >= 1";
    }
  }

  std::string Sum(int depth) {
    if (Chance(40)) {
      Count("sum of two indices");
      return "(sum i < n, j < n { " + Body({"i", "j"}, depth) + " })";
    }
    return "(sum i < n { " + Body({"i"}, depth) + " })";
  }

  // --- tensor programs: multilinear bodies and called functions, as the theorem speaks of them

  std::string Factor() {
    const std::string& i = One(index_);
    switch (Pick(6)) {
      case 0: return One(matrices_) + "[" + i + ", " + One(index_) + "]";
      case 1: Count("called function"); return "smooth(" + One(vectors_) + "[" + i + "])";
      case 2:
        Count("called function");
        return "pair(" + One(vectors_) + "[" + i + "], " + One(vectors_) + "[" + One(index_) + "])";
      case 3: Count("reversed"); return One(vectors_) + "[n - 1 - " + i + "]";
      default: return One(vectors_) + "[" + i + "]";
    }
  }

  std::string Product() {
    std::string text = Factor();
    for (int k = Pick(2); k > 0; --k) {
      Count("mul");
      text += " * " + Factor();
    }
    if (Chance(35)) {
      Count("bracket");
      text = "[" + Predicate() + "] * " + text;
    }
    if (Chance(30)) {
      Count("add");
      text += " + " + Factor();
    }
    return text;
  }

  void TensorStatement() {
    const int indices = 1 + Pick(3);
    const int outer = Pick(std::min(indices, 2) + 1);
    std::vector<std::string> names = {"i", "j", "l"};
    names.resize(static_cast<size_t>(indices));
    index_ = names;
    const std::string body = Product();
    index_.clear();
    const std::string name = Fresh("t");
    std::string text = "let " + name + " = ";
    const auto binders = [&](int from, int to) {
      std::string list;
      for (int k = from; k < to; ++k)
        list += (list.empty() ? "" : ", ") + names[static_cast<size_t>(k)] + " < n";
      return list;
    };
    if (outer > 0) text += "gen " + binders(0, outer) + " { ";
    if (outer < indices) text += "sum " + binders(outer, indices) + " { ";
    text += body;
    if (outer < indices) text += " }";
    if (outer > 0) text += " }";
    Count(outer == 0 ? "sum" : outer < indices ? "gen of sum" : "gen");
    Line(text);
    (outer == 0 ? scalars_ : outer == 1 ? vectors_ : matrices_).push_back(name);
  }

  std::string Result() {
    std::string text = scalars_.back();
    text += " + (sum i < n { " + vectors_.back() + "[i] })";
    text += " + (sum i < n, j < n { " + matrices_.back() + "[i, j] })";
    return text;
  }

  Kind kind_;
  std::mt19937 rng_;
  Coverage& coverage_;
  std::ostringstream out_;
  int n_ = 0;
  int next_ = 0;
  size_t indent_ = 1;
  std::vector<std::string> scalars_, vectors_, matrices_, index_;
};

}  // namespace

std::string ToString(const Coverage& coverage) {
  std::ostringstream s;
  for (const auto& [what, count] : coverage) s << "  " << what << ": " << count << "\n";
  return s.str();
}

GeneratedProgram GenerateProgram(Kind kind, uint32_t seed, Coverage* coverage) {
  return Writer(kind, seed, coverage).Write();
}

}  // namespace pullback::testing
