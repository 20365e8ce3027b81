// f32: numbers and arrays of their own, casts to and fro.
#include "tests/support/language_writer.h"

namespace pullback::testing {

std::string LanguageWriter::Narrow(int depth) {
  if (depth <= 0) {
    if (!index_.empty() && Chance(50)) return One(scope_.narrow_vectors) + "[" + index_ + "]";
    switch (Pick(4)) {
      case 0: return Literal() + "f32";
      case 1: return "f32(" + One(scope_.scalars) + ")";
      case 2: return One(scope_.narrow_vectors) + "[" + std::to_string(Pick(2)) + "]";
      default: return One(scope_.narrows);
    }
  }
  static const std::vector<std::string> functions = {"sin(@)",
                                                     "tanh(@)",
                                                     "exp(sin(@))",
                                                     "sqrt(1.5f32 + sin(@))",
                                                     "-(@)",
                                                     "twice(sin(@))",
                                                     "atan2(@, 3f32)",
                                                     "log(2.0f32 + cos(@))",
                                                     "cos(@)",
                                                     "f32(sin(f64(@)))",
                                                     "(1.5f32 + sin(@)) ** 1.3f32"};
  switch (Pick(4)) {
    case 0: return "(" + Narrow(depth - 1) + " * " + Narrow(depth - 1) + ")";
    case 1: return "(" + Narrow(depth - 1) + " - " + Narrow(depth - 1) + ")";
    default: {
      std::string text = One(functions);
      text.replace(text.find('@'), 1, Narrow(depth - 1));
      return text;
    }
  }
}

void LanguageWriter::NarrowStatement() {
  const std::string q = Fresh("q"), i = Fresh("i"), t = Fresh("q");
  switch (Pick(7)) {
    case 0: {
      Count("f32 in a loop");
      Line("var " + q + " = " + Narrow(1));
      Line("for " + i + " < n { " + q + " = tanh(" + q + " * " + One(scope_.narrow_vectors) + "[" +
           i + "] + " + Narrow(1) + ") }");
      scope_.narrows.push_back(q);
      return;
    }
    case 1: {
      Count("f32 array");
      index_ = i;
      Line("let " + q + " = gen " + i + " < n { " + Narrow(2) + " }");
      index_.clear();
      scope_.narrow_vectors.push_back(q);
      return;
    }
    case 2: {
      Count("f32 sum");
      index_ = i;
      Line("let " + q + " = sum " + i + " < n { tanh(" + Narrow(1) + ") }");
      index_.clear();
      scope_.narrows.push_back(q);
      return;
    }
    case 3:
      if (!MayDerive()) break;
      Count("f32 derivative");
      ++program_.levels;
      Line("let " + q + " = grad(|" + t + ": f32| sin(" + t + " * " + t + ") * " + Narrow(0) +
           ")(" + Narrow(1) + ")");
      scope_.narrows.push_back(q);
      return;
    case 4: {
      Count("f32 element update");
      Line("var " + q + " = " + One(scope_.narrow_vectors));
      Line("for " + i + " in 1..n { " + q + "[" + i + "] = sin(" + q + "[" + i + " - 1]) * " +
           Narrow(1) + " }");
      scope_.narrow_vectors.push_back(q);
      return;
    }
    case 5: {
      Count("f32 list");
      Line("var " + q + " = list(" + Narrow(1) + ", " + Narrow(0) + ")");
      Line(q + "[k % 2] *= " + Narrow(1));
      Line("let " + t + " = last(push(" + q + ", " + q + "[0] * " + q + "[1]))");
      scope_.narrows.push_back(t);
      return;
    }
    default: break;
  }
  Count("f32 function value");
  Line("let " + q + " = applied(|" + t + ": f32| " + t + " * " + Narrow(1) + ", " + Narrow(1) +
       ")");
  scope_.narrows.push_back(q);
  Let("f64(" + q + ")");
}

}  // namespace pullback::testing
