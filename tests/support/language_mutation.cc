// Arrays that loops update and read as wholes, counters that loops change, lists and arrays that go into
// functions twice or come out of rules.
#include "tests/support/language_writer.h"

namespace pullback::testing {

// Reverse mode undoes these updates where the sums read what they overwrite.
void LanguageWriter::UpdatedAndRead() {
  Count("array updated and read as a whole");
  const std::string w = Fresh("w"), u = Fresh("w"), t = Fresh("i"), i = Fresh("i"), j = Fresh("i");
  const std::string v = One(scope_.vectors);
  Line("var " + w + " = " + v);
  switch (Pick(4)) {
    case 0:
      Line("for " + i + " < n { " + w + "[" + i + "] = sin(sum " + j + " < n { " + w + "[" + j +
           "] * " + w + "[" + j + "] } + " + Scalar(0) + ") }");
      break;
    case 1:
      Line("for " + i + " in 1..n { " + w + "[" + i + "] -= sum " + j + " < " + i + " { cos(" + w +
           "[" + j + "]) * " + v + "[" + j + "] } * " + Scalar(0) + " }");
      break;
    case 2:  // an array of its own in every turn
      Line("for " + t + " < k + 1 {");
      Line("  var " + u + " = sin.(" + w + ")");
      Line("  for " + i + " < n { " + u + "[" + i + "] = tanh(" + u + "[" + i + "] * sum(" + u +
           " * " + u + ")) }");
      Line("  " + w + "[" + t + " % n] += dot(" + u + ", " + w + ") * " + Scalar(0));
      Line("}");
      break;
    default:  // what the array becomes is another one in some turns
      Line("for " + t + " < k + 2 {");
      Line("  if " + t + " % 2 == 1 { " + w + " = cos.(" + w + ") * " + v + " }");
      Line("  " + w + "[" + t + " % n] = sin(dot(" + w + ", " + w + ") + " + Scalar(0) + ")");
      Line("}");
  }
  scope_.vectors.push_back(w);
  scope_.vector_vars.push_back(w);
}

// An integer that every turn changes is a factor.
void LanguageWriter::CounterStatement() {
  Count("counter that is a factor");
  const std::string v = Fresh("v"), c = Fresh("c"), d = Fresh("c"), i = Fresh("i");
  Line("var " + v + " = " + Scalar(1));
  Line("var " + c + " = k + " + std::to_string(Pick(3)));
  static const std::vector<std::string> steps = {"# + 3", "# - 2",     "5 - #", "# + k",    "-#",
                                                 "# * 3", "# - k - 1", "# + @", "1 - 2 * #"};
  std::string step;
  for (char x : One(steps)) step += x == '#' ? c : x == '@' ? d : std::string(1, x);
  const bool pair = step.find(d) != std::string::npos || Chance(30);
  if (pair) Line("var " + d + " = k + 1");
  const std::string up = Fresh("c");
  Line("var " + up + " = k > 1");
  Line(Chance(50) ? "for " + i + " < n + k {"
                  : "var " + i + " = n + 1\n" + std::string(2 * indent_, ' ') + "while " + i +
                        " > 0 { " + i + " = " + i + " - 1");
  Inside([&] {
    if (Chance(50)) Line(c + " = " + step);
    // A remainder is computed again from the counter, a sine is kept.
    const std::string factor =
        Chance(50) ? "f64(" + c + " % 4)" : "(0.2 + 0.1 * sin(f64(" + c + ")))";
    Line(v + " = sin(" + v + " * " + factor + " + 0.3 * f64(" + i + "))");
    if (Chance(40)) Line("if " + i + " % 2 == 1 { " + c + " = " + step + " }");
    Line(c + " = " + step);
    Line(v + " = " + v + " * select(" + up + ", 0.9, 1.2)");
    Line(up + " = not " + up);
    if (pair) Line(d + " = " + d + " - " + std::to_string(1 + Pick(2)));
    Line(v + " = " + v + " * (1.1 + 0.2 * sin(f64(" + (pair ? d : c) + "))) + " + Scalar(0));
  });
  Line("}");
  scope_.scalars.push_back(v);
  scope_.scalar_vars.push_back(v);
}

// Reductions over several indices, or over one of several.
void LanguageWriter::RowReduction() {
  const std::string &v = One(scope_.vectors), &w = One(scope_.vectors);
  const std::string i = Fresh("i"), j = Fresh("i");
  const std::string element = "sin(" + v + "[" + i + "] * " + w + "[" + j + "] + 0.4 * f64(" + i +
                              ") - 0.7 * f64(" + j + ") + " + Scalar(0) + ")";
  static const std::vector<std::string> some = {"max", "min", "prod"};
  const std::string& op = One(some);
  const std::string term = op == "prod" ? "1.2 + 0.5 * " + element : element;
  if (Chance(50)) {
    Count("prod, max, min over two indices");
    return Let(op + " " + i + " < n, " + j + " < n { " + term + " }");
  }
  Count("prod, max, min of each row");
  NewVector("gen " + i + " < n { " + op + " " + j + " < n { " + term + " } }");
}

// Functions with rules over lists, and one that is given an array twice.
void LanguageWriter::WholesInCalls() {
  switch (Pick(4)) {
    case 0:
      Count("an array that a call is given twice");
      return Let("interleaved(" + One(scope_.vectors) + ", " + One(scope_.vectors) + ", k + 1)");
    case 1: {
      const std::string v = One(scope_.vectors);
      Count("an array that a call is given twice");
      return Let("interleaved(" + v + ", " + v + ", k + 1) * " + v + "[0]");
    }
    default: break;
  }
  if (scope_.lists.empty()) ListStatement();
  const std::string& from = One(scope_.lists);
  const std::string l = Fresh("l");
  const std::string ruled = Chance(50) ? "ruled_back(" : "ruled_forth(";
  switch (Pick(5)) {
    case 0:
      Count("rule of lists");
      Line("let " + l + " = " + ruled + from + ", " + Scalar(1) + ")");
      scope_.lists.push_back(l);
      return;
    case 1:  // no tangent comes in with the list
      Count("rule of lists, a constant list");
      Line("let " + l + " = " + ruled + "list(" + Literal() + ", 0.4), " + Scalar(1) + ")");
      scope_.lists.push_back(l);
      return;
    case 2:
    case 3:  // no cotangent comes back on one way
      Count("rule of lists, not always read");
      Line("let " + l + " = " + ruled + from + ", " + Scalar(1) + ")");
      return Let("if " + Condition() + " { total_list(" + l + ") } else { " + Scalar(0) + " }");
    default: break;
  }
  Count("rule of a list");
  Let("tanh(ruled_length(" + from + ", " + Scalar(1) + "))");
}

}  // namespace pullback::testing
