// Boxes against variables: the same steps on both give the same numbers, and the same derivatives.
#include "tests/support/language_writer.h"

namespace pullback::testing {
namespace {

// With # for the box, or the variable, that is set, and % for the other one.
std::string WithBoxes(const std::string& text, const std::string& set, const std::string& other) {
  std::string out;
  for (char c : text) out += c == '#' ? set : c == '%' ? other : std::string(1, c);
  return out;
}

}  // namespace

// Steps on two boxes of numbers, one of an array and a list that holds the first two, as lines of text: those
// on boxes, then the same on variables. Both end in an expression of what is there.
std::pair<std::string, std::string> LanguageWriter::BoxSteps(const std::string& start) {
  const std::string b = Fresh("b"), c = Fresh("b"), d = Fresh("b"), l = Fresh("l"), i = Fresh("i");
  const std::string v = Fresh("v"), w = Fresh("v"), u = Fresh("u");
  const std::string other = One(scope_.scalars), array = One(scope_.vectors);
  std::string boxes = "let " + b + " = box(" + start + "); let " + c + " = box(" + other +
                      "); let " + d + " = box(" + array + "); let " + l + " = list(" + c + ", " +
                      b + ", " + c + "); ";
  std::string variables = "var " + v + " = " + start + "; var " + w + " = " + other + "; var " + u +
                          " = " + array + "; ";
  static const std::vector<std::string> steps = {"sin(# * 0.9 + %)", "# * cos(%)", "# - 0.3 * %",
                                                 "% * # + 0.2", "tanh(#) + % * %"};
  for (int more = 2 + Pick(3); more > 0; --more) {
    const bool first = Chance(50);
    const std::string set = first ? b : c, from = first ? c : b;
    const std::string &x = first ? v : w, &y = first ? w : v;
    switch (Pick(5)) {
      case 0: {  // by the list, in a loop
        const std::string& step = One(steps);
        boxes += "for " + i + " < 3 { set(" + l + "[" + i + "], " +
                 WithBoxes(step, "get(" + l + "[" + i + "])", "get(" + b + ")") + ") }; ";
        for (const std::string* each : {&w, &v, &w})
          variables += *each + " = " + WithBoxes(step, *each, v) + "; ";
        break;
      }
      case 1:
        if (Chance(50)) {  // a function that only hands the box on
          boxes += "cell_twice(" + set + ", get(" + from + ")); ";
          for (const char* scale : {"", "0.5 * "})
            variables += x + " = tanh(" + x + " * 0.5 + " + scale + y + "); ";
          break;
        }
        boxes += "cell_add(" + set + ", get(" + from + ")); ";
        variables += x + " = tanh(" + x + " * 0.5 + " + y + "); ";
        break;
      case 2:
        boxes += "set(" + d + ", get(" + d + ") * get(" + set + ") - " + array + "); ";
        variables += u + " = " + u + " * " + x + " - " + array + "; ";
        break;
      case 3: {
        const std::string& step = One(steps);
        boxes += "set(" + set + ", if k > 1 { " +
                 WithBoxes(step, "get(" + set + ")", "get(" + d + ")[1]") + " } else { get(" + set +
                 ") }); ";
        variables +=
            x + " = if k > 1 { " + WithBoxes(step, x, u + "[1]") + " } else { " + x + " }; ";
        break;
      }
      default: {
        const std::string& step = One(steps);
        boxes +=
            "set(" + set + ", " + WithBoxes(step, "get(" + set + ")", "get(" + from + ")") + "); ";
        variables += x + " = " + WithBoxes(step, x, y) + "; ";
      }
    }
  }
  return {boxes + "get(" + b + ") * 0.7 + get(" + c + ") + sum(get(" + d + "))",
          variables + v + " * 0.7 + " + w + " + sum(" + u + ")"};
}

void LanguageWriter::BoxesAreVariables() {
  Count("boxes are variables");
  ++program_.levels;
  ++derivatives_;
  const std::string t = Fresh("t"), g = Fresh("g"), h = Fresh("g"), x = Fresh("s"), r = Fresh("e");
  const auto [boxes, variables] = BoxSteps(t);
  Line("let " + g + " = |" + t + ": f64| { " + boxes + " }");
  Line("let " + h + " = |" + t + ": f64| { " + variables + " }");
  Line("let " + x + " = sin(" + Scalar(1) + ")");
  Line("let " + r + " = " + g + "(" + x + ") - " + h + "(" + x + ") + grad(" + g + ")(" + x +
       ") - jvp(" + h + ", " + x + ", 1.0)");
  residuals_.push_back(r);
}

}  // namespace pullback::testing
