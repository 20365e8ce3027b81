// Arrays of structs and tuples.
#include "tests/support/language_writer.h"

namespace pullback::testing {

// A struct array with vectors, integers and a nested struct in it; made by a body that may have control
// flow, changed, and read back by column, element, part and sum.
void LanguageWriter::StructArrayStatement() {
  const std::string name = Fresh("q"), i = Fresh("i");
  const std::string &v = One(scope_.vectors), &w = One(scope_.vectors);
  const std::string element = "Point(a: sin(" + v + "[" + i + "] * " + Literal() + "), v: [" + w +
                              "[" + i + "], " + One(scope_.scalars) + ", 0.5], part: Part(" + v +
                              "[" + i + "] + " + Literal() + ", (" + w + "[" + i + "], " + i +
                              ")))";
  if (Chance(25)) {
    Count("array of structs by loops");
    const std::string s = Fresh("v");
    Line("var " + name + " = gen " + i + " < n { var " + s + " = " + element + "; for " +
         Fresh("i") + " < " + i + " { " + s + ".a = sin(" + s + ".a + " + s + ".v[1]) }; " + s +
         " }");
  } else {
    Count("array of structs");
    Line("var " + name + " = gen " + i + " < n { " + element + " }");
  }
  for (int steps = 1 + Pick(3); steps > 0; --steps) StructArrayUpdate(name);
  switch (Pick(4)) {
    case 0: {
      Count("sum of tuples");
      const std::string a = Fresh("s"), b = Fresh("s");
      Line("let (" + a + ", " + b + ") = sum " + i + " < n { (" + name + "[" + i + "].a * " + v +
           "[" + i + "], sin(" + name + "[" + i + "].part.q.0) * f64(" + name + "[" + i +
           "].part.q.1)) }");
      scope_.scalars.push_back(a);
      scope_.scalars.push_back(b);
      return;
    }
    case 1:
      Count("column of structs");
      return NewVector("tanh.(" + name + ".a + " + name + ".v[:, 1] * " + name + ".part.c)");
    case 2:
      Count("element of structs");
      return Let("tanh(energy(" + name + "[n - 1]) + energy(" + name + "[0]))");
    default:
      Count("array of structs mapped");
      return NewVector("gen " + i + " < n { energy(" + name + "[n - 1 - " + i + "]) }");
  }
}

void LanguageWriter::StructArrayUpdate(const std::string& name) {
  const std::string i = Fresh("i");
  switch (Pick(6)) {
    case 0:
      Count("field of an element updated");
      return Line("for " + i + " < n { " + name + "[" + i + "].a " + (Chance(50) ? "+=" : "-=") +
                  " 0.3 * sin(" + name + "[n - 1 - " + i + "].part.c) }");
    case 1:
      Count("vector in an element updated");
      return Line("for " + i + " < n { " + name + "[" + i + "].v[1] = cos(" + name + "[" + i +
                  "].v[0]); " + name + "[" + i + "].v[0:2] = 0.4 * " + name + "[0].v[1:] }");
    case 2: Count("element assigned"); return Line(name + "[0] = " + name + "[n - 1]");
    case 3:
      Count("element assigned");
      return Line(name + "[1] = " + name + "[0] with part.c = sin(" + Scalar(1) + ")");
    case 4: Count("part of structs assigned"); return Line(name + "[1:] = " + name + "[:n - 1]");
    default:
      Count("column of structs assigned");
      return Line(name + ".part.q.0 = sin.(" + One(scope_.vectors) + " * " + Literal() + ")");
  }
}

}  // namespace pullback::testing
