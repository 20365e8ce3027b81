// Loops with snapshots, loops left by return, functions that call each other, folds, functions of lists.
#include "tests/support/language_writer.h"

namespace pullback::testing {

namespace {

const std::vector<std::string>& Kept() {
  static const std::vector<std::string> kept = {"1", "2", "3", "k", "0"};
  return kept;
}

}  // namespace

// Reverse mode keeps few states and runs steps again.
void LanguageWriter::SnapshotLoop(int depth) {
  Count("loop with snapshots");
  const std::string name = Fresh("v"), w = Fresh("w"), i = Fresh("i");
  Line("var " + name + " = " + Scalar(1));
  const bool array = Chance(50);
  if (array) {
    Count("loop with snapshots, arrays");
    Line("var " + w + " = " + One(scope_.vectors));
  }
  const std::string count = SnapshotHead(name, i);
  Inside([&] {
    scope_.scalars.push_back(name);
    if (!count.empty()) {
      Line("let " + i + " = " + count);
      Line(count + (Chance(30) ? " += 2" : " += 1"));
    }
    if (Chance(30)) SnapshotExit(name, i);
    if (Chance(40)) Statement(depth + 1);
    if (array) {
      Line(w + "[" + i + " % n] = sin(" + name + " + " + w + "[" + i + " % 2]) * " + Scalar(1));
      Line(name + " = tanh(" + name + " * " + w + "[" + i + " % n] + " + Scalar(1) + ")");
    } else {
      Line(name + " = tanh(" + name + " * " + One(scope_.vectors) + "[" + i + " % n] + " +
           Scalar(1) + ")");
    }
    if (Chance(20)) SnapshotExit(name, i);
  });
  Line("}");
  scope_.scalars.push_back(name);
  scope_.scalar_vars.push_back(name);
  if (array) scope_.vectors.push_back(w);
}

// The head of a loop of at most n + k turns over i. Gives the variable that counts them where the head does not.
std::string LanguageWriter::SnapshotHead(const std::string& state, const std::string& i) {
  const std::string mark = " checkpoint(" + One(Kept()) + ") {";
  if (Chance(40)) {
    Line("for " + i + " < n + k" + mark);
    return "";
  }
  Count("loop with snapshots, while");
  const std::string count = Fresh("t");
  Line("var " + count + " = 0");
  switch (Pick(3)) {
    case 0: Line("while " + count + " < n + k" + mark); break;
    case 1: Line("while " + count + " < n + k and " + state + " > -0.7" + mark); break;
    default: Line("while true" + mark); Line("  if " + count + " >= n + k { break }");
  }
  return count;
}

void LanguageWriter::SnapshotExit(const std::string& state, const std::string& i) {
  Count("loop with snapshots, left early");
  const std::string condition =
      Chance(50) ? i + " % 4 == " + std::to_string(Pick(4)) : state + " > 0.6";
  Line("if " + condition + (Chance(60) ? " { break }" : " { continue }"));
}

// fn e(x, a, k): gives back from within its loop, or behind it.
void LanguageWriter::EarlyReturn() {
  const std::string name = Fresh("e"), i = Fresh("i"), j = Fresh("i");
  scope_ = {};
  scope_.scalars = {"x", "s"};
  scope_.vectors = {"a"};
  const bool loop = Chance(50), kept = Chance(40);
  const auto mark = [&] { return kept ? " checkpoint(" + One(Kept()) + ") {" : " {"; };
  Line("fn " + name + "(x: f64, a: [n]f64, k: i64) -> f64 {");
  Inside([&] {
    Line("let p = Point(a: 0.4, v: [0.3, x, 0.7], part: Part(x, (0.2, k)))");
    scope_.points = {"p"};
    Line("var s = sin(x)");
    if (Chance(30)) Line("if k == 0 { return s * a[0] }");
    Line((loop ? "while true" : "for " + i + " < n") + mark());
    if (loop) {
      Line("  s = tanh(s * a[0] + " + Scalar(1) + ")");
      Line("  for " + j + " < n" + mark() + " if " + j + " == k { return s * " + Scalar(1) + " }");
      Line("    s += a[" + j + "] * 0.3 }");
      Line("  if s > -2.0 { break }");
    } else {
      Line("  s = tanh(s * a[" + i + "] + " + Scalar(1) + ")");
      Line("  if " + i + " == k { return s * " + Scalar(1) + " }");
    }
    Line("}");
    Line("return s + " + Scalar(1));
  });
  Line("}");
  early_.push_back(name);
  if (kept) early_kept_.insert(name);
}

// Two functions that call each other.
void LanguageWriter::MutualRecursion() {
  const std::string first = Fresh("r"), second = Fresh("r");
  for (const auto& [name, other] : {std::pair(first, second), std::pair(second, first)}) {
    scope_ = {};
    scope_.scalars = {"x"};
    scope_.vectors = {"a"};
    Line("fn " + name + "(x: f64, a: [n]f64, i: i64) -> f64 {");
    Inside([&, other = other] {
      Line("let k = i % 3");
      Line("let p = Point(a: 0.4, v: [0.3, x, 0.7], part: Part(x, (0.2, k)))");
      scope_.points = {"p"};
      Line("if i <= 0 { return " + std::string(Chance(50) ? "sin" : "cos") + "(x) }");
      Line("return tanh(" + other + "(x * " + Scalar(0) + ", a, i - 1) + a[i % n] * " + Scalar(1) +
           ")");
    });
    Line("}");
  }
  mutual_.push_back(first);
}

void LanguageWriter::FoldStatement() {
  const std::string s = Fresh("s"), i = Fresh("i"), t = Fresh("t");
  const auto with = [&](const std::string& name, int depth) {
    const LanguageScope scope = scope_;
    scope_.scalars.push_back(name);
    std::string text = Scalar(depth);
    scope_ = scope;
    return text;
  };
  const std::string lambda = "|" + s + ": f64, " + i + ": i64| sin(" + s + " * a[" + i +
                             " % len(a)] + " + with(s, 1) + ")";
  const std::string of_one = "|" + t + ": f64| cos(" + t + " * " + with(t, 1) + ")";
  switch (Pick(6)) {
    case 0: Count("prelude: fold"); return Let("fold(" + lambda + ", " + Scalar(1) + ", n)");
    case 1:
      Count("prelude: fold of a tuple");
      return Let("fold(|" + s + ": (f64, f64), " + i + ": i64| (sin(" + s + ".1), " + s + ".0 * " +
                 Scalar(0) + "), (" + Scalar(0) + ", " + Scalar(0) + "), n).0");
    case 2: {
      Count("prelude: scan");
      const std::string l = Fresh("l");
      Line("let " + l + " = scan(" + lambda + ", " + Scalar(1) + ", n)");
      scope_.lists.push_back(l);
      return;
    }
    default: break;
  }
  if (scope_.lists.empty()) ListStatement();
  const std::string from = One(scope_.lists), l = Fresh("l");
  switch (Pick(3)) {
    case 0:
      Count("prelude: map");
      Line("let " + l + " = map(" + of_one + ", " + from + ")");
      break;
    case 1:
      Count("prelude: filter");
      Line("let " + l + " = push(filter(|" + t + ": f64| " + t + " > " + Literal() + ", " + from +
           "), " + Scalar(1) + ")");
      break;
    default:
      Count("prelude: reduce");
      return Let("reduce(|" + s + ": f64, " + t + ": f64| sin(" + s + " + " + t + ") * " +
                 with(t, 0) + ", " + Scalar(0) + ", " + from + ")");
  }
  scope_.lists.push_back(l);
}

// Two lambdas that share a variable, and a box that lambdas and a list hold.
void LanguageWriter::SharedByMany() {
  const std::string v = Fresh("v"), g = Fresh("g"), h = Fresh("g"), t = Fresh("t");
  if (Chance(50)) {
    Count("variable shared by two lambdas");
    Line("var " + v + " = " + Scalar(1));
    Line("let " + g + " = |" + t + ": f64| { " + v + " = sin(" + v + " + " + t + "); " + v + " }");
    Line("let " + h + " = |" + t + ": f64| { " + v + " *= 0.7; " + v + " * " + t + " }");
    Let(g + "(" + Scalar(1) + ") + " + h + "(" + Scalar(0) + ") * " + g + "(" + v + ")");
    scope_.scalars.push_back(v);
    return;
  }
  Count("box in a list");
  const std::string b = Fresh("b"), l = Fresh("l"), i = Fresh("i");
  Line("let " + b + " = box(" + Scalar(1) + ")");
  Line("let " + l + " = list(" + b + ", box(" + Scalar(0) + "), " + b + ")");
  Line("for " + i + " < 3 { set(" + l + "[" + i + "], sin(get(" + l + "[" + i + "]) + " +
       Scalar(0) + ")) }");
  Line("let " + g + " = |" + t + ": f64| get(" + b + ") * " + t);
  Let(g + "(get(" + l + "[1])) + get(" + l + "[2])");
  scope_.boxes.push_back(b);
}

// Conditions of integers and bools.
std::string LanguageWriter::Condition() {
  switch (Pick(6)) {
    case 0: Count("and, or, not"); return "not (k == 1 and n > 2) or k > 2";
    case 1: Count("chain of comparisons"); return "0 <= k < " + std::to_string(1 + Pick(3));
    case 2:
      if (scope_.flags.empty()) break;
      Count("bool variable");
      return One(scope_.flags);
    default: break;
  }
  return "k % 2 == " + std::to_string(Pick(2));
}

}  // namespace pullback::testing
