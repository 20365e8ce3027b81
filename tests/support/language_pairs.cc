// Every derivative operator of every other: the same derivative by two ways.
#include "tests/support/language_writer.h"

namespace pullback::testing {
namespace {

struct Operator {
  const char* name;
  const char* text;  // of @, which is fn(f64) -> f64; $: a fresh name
  int order;
};

const std::vector<Operator>& Operators() {
  static const std::vector<Operator> all = {
      {"grad", "grad(@)", 1},
      {"value_and_grad", "|$: f64| value_and_grad(@)($).1", 1},
      {"jvp", "|$: f64| jvp(@, $, 1.0)", 1},
      {"vjp", "|$: f64| { let (y$, back$) = vjp(@, $); back$(1.0) }", 1},
      {"jacobian", "jacobian(@)", 1},
      {"hessian", "hessian(@)", 2},
  };
  return all;
}

}  // namespace

std::string LanguageWriter::Applied(const std::string& op, const std::string& f) {
  const std::string name = Fresh("t");
  std::string text;
  for (char c : op) text += c == '@' ? f : c == '$' ? name : std::string(1, c);
  return text;
}

// grad(grad(… f))
std::string LanguageWriter::Repeated(const std::string& f, int order, bool forward) {
  std::string text = f;
  for (int i = 0; i < order; ++i) text = Applied(Operators()[forward ? 2 : 0].text, text);
  return text;
}

void LanguageWriter::OperatorPair(size_t which) {
  const Operator& outer = Operators()[which / 6 % 6];
  const Operator& inner = Operators()[which % 6];
  Count("pair: " + std::string(outer.name) + " of " + inner.name);
  ++program_.levels;
  ++derivatives_;
  const std::string g = Fresh("g"), x = Fresh("s"), r = Fresh("e"), l = Fresh("g"), m = Fresh("g");
  const int nested = level_;
  level_ = 2;  // nothing is derived inside: code grows with every level
  Line("let " + g + " = " + Lambda(outer.order + inner.order > 2 ? 0 : 1));
  level_ = nested;
  Line("let " + x + " = sin(" + Scalar(1) + ")");
  Line("let " + l + " = " + Applied(outer.text, Applied(inner.text, g)));
  Line("let " + m + " = " + Repeated(g, outer.order + inner.order, which % 2 == 0));
  Line("let " + r + " = " + l + "(" + x + ") - " + m + "(" + x + ")");
  residuals_.push_back(r);
}

// A stopped value is a constant: d/dx (stop(g(x)) x) = g(x), in every mode.
void LanguageWriter::Stopped() {
  Count("stop_gradient is a constant");
  Count("stop_gradient");  // differences do not know of it
  ++program_.levels;
  ++derivatives_;
  const std::string g = Fresh("g"), t = Fresh("t"), x = Fresh("s"), r = Fresh("e");
  Line("let " + g + " = " + PureFunction(2));
  Line("let " + x + " = sin(" + Scalar(1) + ")");
  const std::string f = "|" + t + ": f64| stop_gradient(" + g + "(" + t + ")) * " + t;
  const char* const op = Operators()[static_cast<size_t>(Pick(5))].text;
  Line("let " + r + " = (" + Applied(op, f) + ")(" + x + ") - " + g + "(" + x + ")");
  residuals_.push_back(r);
}

}  // namespace pullback::testing
