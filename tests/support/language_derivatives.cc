#include "tests/support/language_writer.h"

namespace pullback::testing {

// Without effects: a derivative operator runs it as often as it likes.
std::string LanguageWriter::PureFunction(int depth) {
  const bool pure = pure_;
  pure_ = true;
  ++level_;
  ++derivatives_;
  if (level_ > 1) Count("nested derivative");
  const std::string f = FunctionValue(depth);
  --level_;
  pure_ = pure;
  return f;
}

std::string LanguageWriter::Derivative(int depth) {
  ++program_.levels;
  const std::string x = Scalar(depth - 1);
  switch (Pick(6)) {
    case 0: Count("jvp"); return "jvp(" + PureFunction(depth - 1) + ", " + x + ", " + Leaf() + ")";
    case 1:
      Count("value_and_grad");
      return "value_and_grad(" + PureFunction(depth - 1) + ")(" + x + ")." +
             std::to_string(Pick(2));
    case 2:
      if (helpers_.empty()) break;
      Count("grad by two arguments");
      ++derivatives_;
      return "grad(" + One(helpers_) + ")(" + x + ", " + Leaf() + ", k)." + std::to_string(Pick(2));
    case 3: Count("hessian"); return "hessian(" + PureFunction(depth - 1) + ")(" + x + ")";
    case 4: {
      Count("vjp in a lambda");
      const std::string t = Fresh("t"), y = Fresh("y"), back = Fresh("back");
      return "apply_twice(|" + t + ": f64| { let (" + y + ", " + back + ") = vjp(" +
             PureFunction(depth - 1) + ", " + t + "); sin(" + back + "(" + y + ")) + " + back +
             "(0.5) }, " + x + ")";
    }
    default: break;
  }
  Count("grad");
  return "grad(" + PureFunction(depth - 1) + ")(" + x + ")";
}

void LanguageWriter::PullbackStatement() {
  Count("vjp");
  ++program_.levels;
  const std::string y = Fresh("s"), back = Fresh("back");
  Line("let (" + y + ", " + back + ") = vjp(" + PureFunction(2) + ", " + Scalar(1) + ")");
  scope_.scalars.push_back(y);
  Count("pullback called twice");
  Let(back + "(" + Scalar(1) + ") * sin(" + back + "(" + Literal() + "))");
  scope_.pullbacks.push_back(back);
}

void LanguageWriter::ArrayDerivatives() {
  ++program_.levels;
  ++derivatives_;
  const std::string w = Fresh("w"), y = Fresh("w"), back = Fresh("back"), t = Fresh("t");
  const std::string& x = One(scope_.vectors);
  switch (Pick(6)) {
    case 0:
      Count("grad by an array");
      Line("let " + w + " = grad(potential)(" + x + ")");
      break;
    case 1:
      Count("jvp of an array");
      Line("let " + w + " = jvp(field, " + x + ", " + One(scope_.vectors) + ")");
      break;
    case 2:
      Count("vjp of an array");
      Line("let (" + y + ", " + back + ") = vjp(field, " + x + ")");
      Line("let " + w + " = " + back + "(" + y + ") - 0.5 * " + back + "(" + One(scope_.vectors) +
           ")");
      break;
    case 3:
      Count("jacobian");
      Line("let " + w + " = tanh.(jacobian(field)(" + x + ") @ " + One(scope_.vectors) + ")");
      break;
    case 4:
      Count("hessian of an array");
      Line("let " + w + " = tanh.(hessian(potential)(" + x + ") @ " + One(scope_.vectors) + ")");
      break;
    default:
      Count("grad by an array, captures");
      Line("let " + w + " = grad(|" + t + "| " + Scalar(0) + " * potential(" + t + ") + sin(" + t +
           "[0] * " + Scalar(0) + "))(" + x + ")");
  }
  scope_.vectors.push_back(w);
}

void LanguageWriter::DataDerivatives() {
  ++program_.levels;
  ++derivatives_;
  switch (Pick(4)) {
    case 0: {
      Count("grad by a struct");
      const std::string name = Fresh("p");
      Line("let " + name + " = grad(energy)(" + One(scope_.points) + ")");
      scope_.points.push_back(name);
      return;
    }
    case 1: {
      if (scope_.lists.empty()) break;
      Count("grad by a list");
      const std::string name = Fresh("l");
      Line("let " + name + " = grad(total_list)(" + One(scope_.lists) + ")");
      scope_.lists.push_back(name);
      return;
    }
    case 2: {
      if (scope_.trees.empty()) break;
      Count("grad by a tree");
      const std::string name = Fresh("r");
      Line("let " + name + " = grad(total)(" + One(scope_.trees) + ")");
      scope_.trees.push_back(name);
      return;
    }
    default: break;
  }
  if (entry_ && indent_ == 1) return ModesAgree();
  StructStatement();
}

void LanguageWriter::ModesAgree() {
  const std::string g = Fresh("g"), x = Fresh("s"), s = Fresh("t"), t = Fresh("t"), r = Fresh("e");
  Line("let " + g + " = " + PureFunction(2));
  Line("let " + x + " = sin(" + Scalar(1) + ")");
  const std::string over_forward =
      "grad(|" + s + ": f64| jvp(" + g + ", " + s + ", 1.0))(" + x + ")";
  const std::string over_reverse = "jvp(grad(" + g + "), " + x + ", 1.0)";
  switch (Pick(4)) {
    case 0:
      Count("forward = reverse");
      Line("let " + r + " = grad(" + g + ")(" + x + ") - jvp(" + g + ", " + x + ", 1.0)");
      break;
    case 1:
      Count("forward over reverse = reverse over forward");
      Line("let " + r + " = " + over_forward + " - " + over_reverse);
      break;
    case 2:
      Count("forward over forward = reverse over reverse");
      Line("let " + r + " = jvp(|" + s + ": f64| jvp(" + g + ", " + s + ", 1.0), " + x +
           ", 1.0) - grad(grad(" + g + "))(" + x + ")");
      break;
    default:
      Count("no perturbation confusion");
      // d/ds of s d/dt (s g(t)) at t = s is 2 s g' + s^2 g''.
      Line("let " + r + " = grad(|" + s + ": f64| " + s + " * jvp(|" + t + ": f64| " + s + " * " +
           g + "(" + t + "), " + s + ", 1.0))(" + x + ") - 2.0 * " + x + " * grad(" + g + ")(" + x +
           ") - " + x + " * " + x + " * hessian(" + g + ")(" + x + ")");
  }
  residuals_.push_back(r);
}

}  // namespace pullback::testing
