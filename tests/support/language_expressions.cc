#include "tests/support/language_writer.h"

namespace pullback::testing {
namespace {

// Functions that are smooth everywhere, with @ for the operand.
const std::vector<std::string>& Smooth() {
  static const std::vector<std::string> all = {
      "sin(@)",
      "cos(@)",
      "tanh(@)",
      "atan(@)",
      "exp(sin(@))",
      "log(2.0 + sin(@))",
      "sqrt(1.5 + sin(@))",
      "log1p(0.5 * sin(@))",
      "-(@)",
      "(1.5 + sin(@)) ** 1.7",
      "1.0 / (2.0 + sin(@))",
      "sigmoid(@)",
      "erf(sin(@))",
      "0.5 * (@)",
      "square(tanh(@))",
      "cbrt(1.5 + sin(@))",
      "exp2(sin(@))",
      "expm1(0.5 * sin(@))",
      "log2(2.0 + cos(@))",
      "log10(2.0 + sin(@))",
      "tan(0.8 * sin(@))",
      "asin(0.7 * sin(@))",
      "acos(0.7 * cos(@))",
      "sinh(sin(@))",
      "cosh(sin(@))",
      "asinh(@)",
      "acosh(2.5 + sin(@))",
      "atanh(0.7 * sin(@))",
  };
  return all;
}

const std::vector<std::string>& Kinked() {
  static const std::vector<std::string> all = {"abs(@)", "relu(@)", "floor(3.0 * sin(@))",
                                               "max(@, 0.3)", "min(@, 0.6)"};
  return all;
}

}  // namespace

std::string LanguageWriter::ScalarFunction(const std::string& operand) {
  const bool kinked = kinks_ && Chance(40);
  if (kinked) Count("kink");
  std::string text = One(kinked ? Kinked() : Smooth());
  text.replace(text.find('@'), 1, operand);
  return text;
}

std::string LanguageWriter::Binary(int depth) {
  const std::string x = Scalar(depth - 1), y = Scalar(depth - 1);
  if (kinks_ && Chance(15)) {
    Count("kink");
    return (Chance(50) ? "max(" : "min(") + x + ", abs(" + y + "))";
  }
  switch (Pick(10)) {
    case 8: return "hypot(" + x + ", 1.0 + cos(" + y + "))";
    case 9:
      return "fmod(sin(" + x + ") + 2.5 + " + std::to_string(Pick(3)) + ".0, 1.6 + 0.2 * sin(" + y +
             "))";
    case 0: return "(" + x + " + " + y + ")";
    case 1: return "(" + x + " - " + y + ")";
    case 2: return "atan2(" + x + ", 3.0 + sin(" + y + "))";
    case 3: return "(1.5 + sin(" + x + ")) ** tanh(" + y + ")";
    case 4: return "(" + x + " / (2.0 + cos(" + y + ")))";
    default: return "(" + x + " * " + y + ")";
  }
}

std::string LanguageWriter::Choice(int depth) {
  Count("if expression");
  std::string condition = Condition();
  if (kinks_ && Chance(50)) {
    Count("branch on floats");
    condition = Leaf() + " > " + Literal();
  }
  if (Chance(30)) {
    return "select(" + condition + ", " + Scalar(depth - 1) + ", " + Scalar(depth - 1) + ")";
  }
  return "(if " + condition + " { " + Scalar(depth - 1) + " } else { " + Scalar(depth - 1) + " })";
}

std::string LanguageWriter::Index(const std::string& list) {
  const std::string at = index_.empty() ? std::to_string(Pick(4)) : index_;
  return list + "[" + at + " % len(" + list + ")]";
}

// A number out of a list, struct, tree or box.
std::string LanguageWriter::Data() {
  switch (Pick(4)) {
    case 0:
      if (scope_.lists.empty()) break;
      Count("list read");
      return Index(One(scope_.lists));
    case 1:
      if (scope_.trees.empty() || !index_.empty()) break;
      Count("tree recursion");
      return "total(" + One(scope_.trees) + ")";
    case 2:
      if (scope_.boxes.empty() || !index_.empty()) break;
      Count("box read");
      return "get(" + One(scope_.boxes) + ")";
    default: {
      Count("struct read");
      static const std::vector<std::string> fields = {".a", ".v[0]", ".v[2]", ".part.c",
                                                      ".part.q.0"};
      return One(scope_.points) + One(fields);
    }
  }
  return One(scope_.scalars);
}

std::string LanguageWriter::Leaf() {
  if (!index_.empty() && Chance(50)) return One(scope_.vectors) + "[" + index_ + "]";
  if (!scope_.narrows.empty() && Chance(20)) return "f64(" + One(scope_.narrows) + ")";
  switch (Pick(8)) {
    case 0: return Literal();
    case 1: return One(scope_.vectors) + "[" + std::to_string(Pick(2)) + "]";
    case 2:
    case 3: return Data();
    default: return One(scope_.scalars);
  }
}

std::string LanguageWriter::Scalar(int depth) {
  if (depth <= 0) return Leaf();
  switch (Pick(16)) {
    case 0:
    case 1:
    case 2: return ScalarFunction(Scalar(depth - 1));
    case 3: return Choice(depth);
    case 4:
      if (helpers_.empty()) break;
      Count("call");
      return One(helpers_) + "(" + Scalar(depth - 1) + ", " + Scalar(depth - 1) + ", k)";
    case 5:
      if (!index_.empty()) break;
      if (!early_.empty() && Chance(40)) {
        Count("return from a loop");
        const std::string callee = One(early_);
        if (early_kept_.contains(callee)) {
          Count("loop with snapshots");
          Count("loop with snapshots, return");
        }
        return callee + "(" + Scalar(depth - 1) + ", a, k)";
      }
      if (!mutual_.empty() && Chance(60)) {
        Count("mutual recursion");
        return One(mutual_) + "(" + Scalar(depth - 1) + ", a, " + std::to_string(Pick(4)) + ")";
      }
      if (recursions_.empty()) break;
      Count("recursion");
      return One(recursions_) + "(" + Scalar(depth - 1) + ", a, " + std::to_string(Pick(4)) + ")";
    case 6:
    case 7: return HigherOrder(depth);
    case 8:
      if (index_.empty()) return Reduction(depth);
      break;
    case 9:
      if (MayDerive() && index_.empty()) return Derivative(depth);
      break;
    case 10:
      if (!scope_.sharing.empty() && index_.empty() && !pure_) {
        Count("call of a lambda that assigns");
        return One(scope_.sharing) + "(" + Scalar(depth - 1) + ")";
      }
      break;
    case 11:
      if (program_.stops && Chance(40)) {
        Count("stop_gradient");
        return "stop_gradient(" + Scalar(depth - 1) + ")";
      }
      break;
    case 12: {
      static const std::vector<std::string> ruled = {"ruled_vjp", "ruled_jvp", "ruled_both"};
      const std::string& rule = One(ruled);
      if (!Chance(50)) break;
      if (Chance(30)) {
        Count("rule of two arguments");
        return (Chance(50) ? "ruled_two(" : "ruled_duo(") + Scalar(depth - 1) + ", " +
               Scalar(depth - 1) + ")";
      }
      Count(rule);
      return rule + "(" + Scalar(depth - 1) + ")";
    }
    default: break;
  }
  return Binary(depth);
}

std::string LanguageWriter::HigherOrder(int depth) {
  const std::string x = Scalar(depth - 1);
  switch (Pick(7)) {
    case 0: Count("template"); return "apply_twice(" + FunctionValue(depth - 1) + ", " + x + ")";
    case 1:
      Count("function that gives a function");
      return "composed(" + FunctionValue(depth - 1) + ", " + FunctionValue(depth - 1) + ")(" + x +
             ")";
    case 2:
      if (!index_.empty()) break;
      Count("function chosen by recursion");
      return "pick(" + std::to_string(Pick(4)) + ", " + Scalar(depth - 1) + ")(" + x + ")";
    case 3: {
      if (!index_.empty()) break;
      Count("fold");
      const std::string s = Fresh("s"), i = Fresh("i");
      const LanguageScope scope = scope_;
      scope_.scalars.push_back(s);
      const std::string body = Scalar(depth - 1);
      scope_ = scope;
      return "folded(|" + s + ": f64, " + i + ": i64| sin(" + s + " + a[" + i + "] * " + body +
             "), " + x + ", n)";
    }
    case 4: Count("checkpoint"); return "checkpoint(" + FunctionValue(depth - 1) + ")(" + x + ")";
    default: break;
  }
  Count("call of a function value");
  const std::string f = FunctionValue(depth - 1);
  return (f.front() == '|' ? "(" + f + ")" : f) + "(" + x + ")";
}

std::string LanguageWriter::Reduction(int depth) {
  index_ = Fresh("i");
  Count("sum");
  std::string text = "(sum " + index_ + " < n { ";
  const bool bracketed = Chance(30);
  if (bracketed) {
    Count("bracket");
    text += "[" + index_ + " > 0] * ";
  }
  text += "tanh(" + Scalar(depth - 1) + ")";
  if (bracketed && Chance(50)) {
    Count("quotient of a bracket");
    text += " / (1.5 + cos(" + One(scope_.vectors) + "[" + index_ + " - 1]))";
  }
  text += " })";
  index_.clear();
  return text;
}

std::string LanguageWriter::Lambda(int depth) {
  Count("lambda");
  const LanguageScope scope = scope_;
  const std::string t = Fresh("t");
  scope_.scalars.push_back(t);
  std::string text = "|" + t + ": f64| ";
  if (Chance(30)) {
    Count("lambda with a block");
    const std::string s = Fresh("s");
    const std::string first = Scalar(depth);
    scope_.scalars.push_back(s);
    text +=
        "{ let " + s + " = " + first + "; sin(" + t + ") * " + s + " + " + Scalar(depth - 1) + " }";
  } else {
    text += "tanh(" + t + " * " + Scalar(depth) + " + " + Scalar(0) + ")";
  }
  scope_ = scope;
  return text;
}

std::string LanguageWriter::FunctionValue(int depth) {
  static const std::vector<std::string> named = {"sin",     "cos",    "tanh",
                                                 "sigmoid", "smooth", "ruled_both"};
  switch (Pick(6)) {
    case 0: Count("named function as a value"); return One(named);
    case 1:
      if (scope_.functions.empty()) break;
      Count("function in a variable");
      return One(scope_.functions);
    case 2:
      if (!MayDerive() || !index_.empty()) break;
      Count("grad");
      ++program_.levels;
      return "grad(" + PureFunction(depth) + ")";
    case 3:
      if (scope_.pullbacks.empty() || !index_.empty()) break;
      Count("pullback as a value");
      return One(scope_.pullbacks);
    default: break;
  }
  return Lambda(depth);
}

std::string LanguageWriter::Vector(int depth) {
  if (!index_.empty()) return One(scope_.vectors);
  switch (Pick(5)) {
    case 0:
      Count("elementwise");
      return One(scope_.vectors) + " * " + One(scope_.scalars) + " - " + One(scope_.vectors);
    case 1:
      if (Chance(40)) {
        Count("rule of an array");
        return "ruled_array(" + One(scope_.vectors) + ", " + One(scope_.scalars) + ")";
      }
      Count("call for every element");
      switch (Pick(3)) {
        case 0: Count("rule for every element"); return "ruled_jvp.(" + One(scope_.vectors) + ")";
        case 1:
          Count("rule for every element");
          return (Chance(50) ? "ruled_two.(" : "ruled_duo.(") + One(scope_.vectors) + ", " +
                 One(scope_.vectors) + ")";
        default: return "smooth.(" + One(scope_.vectors) + ")";
      }
    case 2:
      Count("function over an array");
      return "each(" + FunctionValue(depth - 1) + ", " + One(scope_.vectors) + ")";
    default: {
      Count("gen");
      index_ = Fresh("i");
      std::string text = "gen " + index_ + " < n { sin(" + Scalar(depth) + ") }";
      index_.clear();
      return text;
    }
  }
}

std::string LanguageWriter::Point(int depth) {
  Count("struct");
  if (Chance(30)) {
    Count("with");
    static const std::vector<std::string> fields = {"a", "v[1]", "part.c", "part.q.0"};
    return "(" + One(scope_.points) + " with " + One(fields) + " = " + Scalar(depth) + ")";
  }
  return "Point(a: " + Scalar(depth) + ", v: [" + Scalar(0) + ", " + Scalar(0) + ", " + Literal() +
         "], part: Part(" + Scalar(0) + ", (" + Literal() + ", k)))";
}

}  // namespace pullback::testing
