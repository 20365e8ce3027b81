#include "tests/support/language_program.h"

#include <utility>

#include "tests/support/language_writer.h"

namespace pullback::testing {
namespace {

// What programs may name. One that is not named is left out.
const std::vector<std::pair<std::string, std::string>>& Declarations() {
  static const std::vector<std::pair<std::string, std::string>> all = {
      {"Part", "struct Part { c: f64, q: (f64, i64) }\n"},
      {"Point", "struct Point { a: f64, v: [3]f64, part: Part }\n"},
      {"Tree", "struct Tree { value: f64, kids: list Tree }\n"},
      {"Layer", "struct Layer { scale: f64, act: fn(f64) -> f64 }\n"},
      {"smooth", "fn smooth(x: f64) -> f64 { return sin(x) * x }\n"},
      {"two", "fn two(x: f64, y: f64) -> (f64, f64) { return (x * y, sin(x) - y) }\n"},
      {"energy",
       "fn energy(p: Point) -> f64 {\n"
       "  return p.a * sin(p.v[0] + p.part.c) + tanh(p.v[1] * p.v[2]) * p.part.q.0\n}\n"},
      {"grown",
       "fn grown(x: f64, k: i64) -> Tree {\n  var t = Tree(x, list())\n"
       "  for i < k { t.kids = push(t.kids, grown(sin(x + f64(i)), k - 1)) }\n  return t\n}\n"},
      {"total(",
       "fn total(t: Tree) -> f64 {\n  var s = sin(t.value)\n"
       "  for i < len(t.kids) { s += 0.3 * total(t.kids[i]) * t.value }\n  return s\n}\n"},
      {"total_list",
       "fn total_list(l: list f64) -> f64 {\n  var s = 0.0\n"
       "  for i < len(l) { s = sin(s + l[i] * 0.7) * 1.5 }\n  return s\n}\n"},
      {"apply_twice", "fn apply_twice(f: fn(f64) -> f64, x: f64) -> f64 { return f(f(x)) }\n"},
      {"composed",
       "fn composed(f: fn(f64) -> f64, g: fn(f64) -> f64) -> fn(f64) -> f64 "
       "{ return |x| f(g(x)) }\n"},
      {"each", "fn each<T, U>(f: fn(T) -> U, x: [n]T) -> [n]U { return gen i < n { f(x[i]) } }\n"},
      {"folded",
       "fn folded<T>(f: fn(T, i64) -> T, init: T, n: i64) -> T {\n  var s = init\n"
       "  for i < n { s = f(s, i) }\n  return s\n}\n"},
      {"pick",
       "fn pick(k: i64, a: f64) -> fn(f64) -> f64 {\n  if k == 0 { return sin }\n"
       "  if k == 1 { return |x| tanh(a * x) }\n  let g = pick(k - 1, a * 0.5)\n"
       "  return |x| g(x) + cos(a)\n}\n"},
      {"run",
       "fn run(net: list Layer, x: f64) -> f64 {\n  var y = x\n"
       "  for i < len(net) {\n    let act = net[i].act\n    y = act(net[i].scale * y)\n  }\n"
       "  return y\n}\n"},
      {"cell_add", "fn cell_add(b: box f64, x: f64) { set(b, tanh(get(b) * 0.5 + x)) }\n"},
      {"potential",
       "fn potential(v: [n]f64) -> f64 {\n  var s = 0.0\n"
       "  for i < n { s = sin(s + v[i] * v[n - 1 - i]) }\n  return s\n}\n"},
      {"field",
       "fn field(v: [n]f64) -> [n]f64 { return gen i < n { sin(v[i]) * v[n - 1 - i] } }\n"},
      {"ruled_vjp", "fn ruled_vjp(x: f64) -> f64 with vjp back_rule { return sin(x) * x }\n"},
      {"ruled_jvp", "fn ruled_jvp(x: f64) -> f64 with jvp forth_rule { return sin(x) * x }\n"},
      {"ruled_both",
       "fn ruled_both(x: f64) -> f64 with vjp back_rule, jvp forth_rule { return sin(x) * x }\n"},
      {"back_rule", "fn back_rule(x: f64, y: f64) -> f64 { return (cos(x) * x + sin(x)) * y }\n"},
      {"forth_rule",
       "fn forth_rule(x: f64, v: f64) -> (f64, f64) "
       "{ return (sin(x) * x, (cos(x) * x + sin(x)) * v) }\n"},
  };
  return all;
}

}  // namespace

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

std::string LanguageWriter::WithDeclarations(const std::string& body) const {
  std::vector<bool> wanted(Declarations().size());
  std::string all = body;
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i < wanted.size(); ++i) {
      const auto& [name, text] = Declarations()[i];
      if (wanted[i] || all.find(name) == std::string::npos) continue;
      all += text;
      wanted[i] = changed = true;
    }
  }
  std::string out;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i]) out += Declarations()[i].second;
  }
  return out + body;
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

const std::vector<std::string>& LanguageConstructs() {
  static const std::vector<std::string> all = {"assignment",
                                               "box",
                                               "box read",
                                               "box set",
                                               "bracket",
                                               "branch on floats",
                                               "break",
                                               "call",
                                               "call for every element",
                                               "call of a function value",
                                               "call of a lambda that assigns",
                                               "checkpoint",
                                               "closure that grows in a loop",
                                               "continue",
                                               "element update",
                                               "elementwise",
                                               "else",
                                               "fold",
                                               "for",
                                               "forward = reverse",
                                               "forward over forward = reverse over reverse",
                                               "forward over reverse = reverse over forward",
                                               "function chosen by a branch",
                                               "function chosen by recursion",
                                               "function in a variable",
                                               "function over an array",
                                               "function that gives a function",
                                               "functions in structs",
                                               "gen",
                                               "grad",
                                               "grad by a list",
                                               "grad by a struct",
                                               "grad by a tree",
                                               "grad by an array",
                                               "grad by an array, captures",
                                               "grad by two arguments",
                                               "hessian",
                                               "hessian of an array",
                                               "if",
                                               "if expression",
                                               "jacobian",
                                               "jvp",
                                               "jvp of an array",
                                               "kink",
                                               "lambda",
                                               "lambda with a block",
                                               "list",
                                               "list of arrays",
                                               "list of functions",
                                               "list of structs",
                                               "list read",
                                               "list update",
                                               "named function as a value",
                                               "nested derivative",
                                               "nested update",
                                               "no perturbation confusion",
                                               "parallel assignment",
                                               "part of a tuple assigned",
                                               "pop",
                                               "pullback as a value",
                                               "pullback called twice",
                                               "push",
                                               "recursion",
                                               "recursion twice",
                                               "recursion with updated array",
                                               "result: struct",
                                               "result: tuple with an array",
                                               "ruled_both",
                                               "ruled_jvp",
                                               "ruled_vjp",
                                               "shared array",
                                               "shared variable",
                                               "struct",
                                               "struct read",
                                               "sum",
                                               "template",
                                               "tree",
                                               "tree recursion",
                                               "tree update",
                                               "tuple",
                                               "value_and_grad",
                                               "vjp",
                                               "vjp in a lambda",
                                               "vjp of an array",
                                               "while",
                                               "with"};
  return all;
}

}  // namespace pullback::testing
