#include "tests/support/language_program.h"

#include "tests/support/language_writer.h"

namespace pullback::testing {
namespace {

Tensor ListOf(std::vector<std::vector<Tensor>> records) {
  Tensor t;
  t.list = std::make_shared<ListValue>(ListValue{std::move(records)});
  return t;
}

}  // namespace

LanguageWriter::LanguageWriter(uint32_t seed) : seed_(seed), rng_(seed * 2654435761u + 29) {}

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
  for (const std::string& m : scope_.matrices) {
    if (Chance(60)) add("tanh(sum(" + m + "))");
  }
  for (const std::string& q : scope_.narrows) {
    if (Chance(60)) add("f64(" + q + ")");
  }
  for (const std::string& u : scope_.narrow_vectors) {
    if (Chance(60)) add("f64(sum(" + u + "))");
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

std::string LanguageWriter::Parameters() {
  const auto point = [&] {
    return std::vector<Tensor>{Tensor::F64(Number()), Array(3), Tensor::F64(Number()),
                               Tensor::F64(Number()), Tensor::I64(2)};
  };
  std::string text = "x: f64, y: f64, k: i64, a: [n]f64, p: Point";
  std::vector<Tensor>& args = program_.args;
  args = {Tensor::F64(Number()), Tensor::F64(Number()), Tensor::I64(Pick(4)), Array(n_)};
  const auto add = [&](const std::vector<Tensor>& more) {
    args.insert(args.end(), more.begin(), more.end());
  };
  add(point());
  scope_.scalars = {"x", "y"};
  scope_.vectors = {"a"};
  scope_.points = {"p"};
  if (program_.narrow) {
    Count("f32");
    text += ", q: f32, u: [m]f32";
    std::vector<float> u;
    for (int i = 0; i < n_; ++i) u.push_back(static_cast<float>(Number() - 0.5));
    add({Tensor::F32(static_cast<float>(Number())), Tensor::Of<float>(DType::kF32, {n_}, u)});
    scope_.narrows = {"q"};
    scope_.narrow_vectors = {"u"};
  }
  if (Chance(20)) {
    Count("argument: list");
    text += ", l: list f64";
    std::vector<std::vector<Tensor>> records;
    for (int i = 1 + Pick(4); i > 0; --i) records.push_back({Tensor::F64(Number() - 0.5)});
    add({ListOf(std::move(records))});
    scope_.lists = {"l"};
  }
  if (Chance(15)) {
    Count("argument: tree");
    text += ", r: Tree";
    const Tensor none = ListOf({});
    add({Tensor::F64(Number()),
         ListOf({{Tensor::F64(Number()), none},
                 {Tensor::F64(Number()), ListOf({{Tensor::F64(Number()), none}})}})});
    scope_.trees = {"r"};
  }
  if (Chance(8)) {  // one of the inner lists is not looked at
    Count("argument: list of lists");
    text += ", ls: list list f64";
    const auto inner = [&] { return ListOf({{Tensor::F64(Number())}, {Tensor::F64(Number())}}); };
    add({ListOf({{inner()}, {inner()}})});
    scope_.scalars.push_back("ls[0][k % 2]");
  }
  if (Chance(8)) {
    Count("argument: matrix");
    text += ", z: [n, n]f64";
    Tensor z = Array(n_ * n_);
    z.shape = {n_, n_};
    add({std::move(z)});
    scope_.matrices = {"z"};
  }
  if (Chance(15)) {
    Count("argument: list of structs");
    text += ", ps: list Point";
    add({ListOf({point(), point(), point()})});
    scope_.points.push_back("ps[k % len(ps)]");
  }
  return text;
}

std::string LanguageWriter::Result() {
  std::string residual;
  for (const std::string& r : residuals_) residual += (residual.empty() ? "" : " + ") + r;
  const std::string value = Everything();
  const auto both = [&](const std::string& more, const std::string& type) {
    Line("return (" + value + ", " + more + ")");
    return "(f64, " + type + ")";
  };
  if (!residual.empty()) {
    program_.residual = true;
    return both(residual, "f64");
  }
  if (!scope_.narrows.empty() && Chance(40)) {
    Count("result: f32");
    return both(One(scope_.narrow_vectors) + ", " + Narrow(1), "[m]f32, f32");
  }
  switch (Pick(10)) {
    case 0: Count("result: tuple with an array"); return both(Vector(1), "[n]f64");
    case 1:
      Count("result: struct");
      Line("return (" + Point(1) + " with a = " + value + ")");
      return "Point";
    case 2:
      if (scope_.lists.empty()) break;
      Count("result: list");
      return both(One(scope_.lists), "list f64");
    case 3:
      if (scope_.trees.empty()) break;
      Count("result: tree");
      return both(One(scope_.trees), "Tree");
    case 4:
      Count("result: list of structs");
      return both("list(" + One(scope_.points) + ", " + Point(0) + ")", "list Point");
    case 5:
      if (scope_.matrices.empty()) break;
      Count("result: matrix");
      return both(One(scope_.matrices), "[n, n]f64");
    default: break;
  }
  program_.scalar = true;
  Line("return " + value);
  return "f64";
}

void LanguageWriter::Entry() {
  scope_ = {};
  entry_ = true;
  Line("fn f(" + Parameters() + ") -> RESULT {");
  Inside([&] {
    // So that few programs have all of them.
    if (seed_ % 4 == 0) OperatorPair(seed_ / 4 % kPairs);
    if (seed_ % 16 == 2) Stopped();
    if (seed_ % 16 == 7) RulesAgree();
    if (seed_ % 16 == 13) CornerStatement();
    for (int i = 2 + Pick(4); i > 0; --i) Statement(1);
    if (program_.narrow) NarrowStatement();
    program_.entry = Result();
  });
  Line("}");
}

LanguageProgram LanguageWriter::Write() {
  n_ = 2 + Pick(3);
  kinks_ = Chance(40);
  program_.stops = Chance(10);
  indent_ = 0;
  program_.narrow = Chance(12);
  if (seed_ % 32 == 6 || seed_ % 32 == 9) {
    StraightEntry();
    return Finished();
  }
  if (seed_ % 32 == 22 || seed_ % 32 == 25) {
    SmallEntry();
    return Finished();
  }
  if (Chance(50)) Helper();
  if (Chance(30)) Recursion();
  if (Chance(20)) MutualRecursion();
  if (Chance(20)) EarlyReturn();
  Entry();
  return Finished();
}

LanguageProgram LanguageWriter::Finished() {
  std::string text = out_.str();
  text.replace(text.find("RESULT"), 6, program_.entry);
  program_.entry = "f";
  program_.text = WithDeclarations(text);
  return std::move(program_);
}

LanguageProgram GenerateLanguageProgram(uint32_t seed) { return LanguageWriter(seed).Write(); }

}  // namespace pullback::testing
