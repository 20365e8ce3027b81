// Matrices, parts of arrays, arrays of indices, reductions.
#include "tests/support/language_writer.h"

namespace pullback::testing {

void LanguageWriter::NewVector(const std::string& value, bool variable) {
  const std::string name = Fresh("w");
  Line((variable ? "var " : "let ") + name + " = " + value);
  scope_.vectors.push_back(name);
  if (variable) scope_.vector_vars.push_back(name);
}

// [n, n]f64
std::string LanguageWriter::Matrix() {
  const std::string &v = One(scope_.vectors), &w = One(scope_.vectors);
  if (!scope_.matrices.empty() && Chance(60)) {
    const std::string& m = One(scope_.matrices);
    switch (Pick(3)) {
      case 0: Count("matrix product"); return "tanh.(" + m + " @ " + One(scope_.matrices) + ")";
      case 1: Count("transpose"); return m + ".T - " + Literal() + " * " + m;
      default: Count("broadcast"); return m + " * " + v + " + column(" + w + ")";
    }
  }
  if (Chance(30)) {
    Count("reshape");
    return "reshape(flatten(outer(" + v + ", " + w + ")), n, n)";
  }
  Count("gen of two axes");
  const std::string i = Fresh("i"), j = Fresh("i");
  index_ = i;
  const std::string element =
      Chance(50) ? "(" + One(scope_.scalars) + " + " + Literal() + ")" : Scalar(1);
  index_.clear();
  return "gen " + i + " < n, " + j + " < n { sin(" + v + "[" + i + "] * " + w + "[" + j + "]) + [" +
         i + " <= " + j + "] * " + element + " }";
}

void LanguageWriter::MatrixStatement() {
  for (int more = scope_.matrices.empty() ? 1 + Pick(2) : Pick(2); more > 0; --more) {
    const std::string name = Fresh("m");
    Line("var " + name + " = " + Matrix());
    scope_.matrices.push_back(name);
    scope_.matrix_vars.push_back(name);
  }
  const std::string m = One(scope_.matrices);
  const std::string k = std::to_string(Pick(2));
  switch (Pick(7)) {
    case 0: Count("matrix times vector"); return NewVector(m + " @ " + One(scope_.vectors));
    case 1:
      Count("row and column");
      return NewVector("sin.(" + m + "[" + k + "]) * " + m + "[:, 1]");
    case 2: {
      if (scope_.matrix_vars.empty()) break;
      Count("row assigned");
      const std::string& name = One(scope_.matrix_vars);
      return Line(name + "[" + k + "] = " + Vector(1));
    }
    case 3: {
      if (scope_.matrix_vars.empty()) break;
      Count("element of a matrix updated");
      const std::string& name = One(scope_.matrix_vars);
      const std::string i = Fresh("i"), j = Fresh("i");
      return Line("for " + i + " < n { for " + j + " in 0.." + i + " + 1 { " + name + "[" + i +
                  ", " + j + "] += sin(" + name + "[" + j + ", " + i + "] * " + Scalar(0) +
                  ") } }");
    }
    case 4: {
      Count("sum over a triangle");
      const std::string i = Fresh("i"), j = Fresh("i");
      return Let("tanh(sum " + i + " < n, " + j + " < " + i + " + 1 { " + m + "[" + i + ", " + j +
                 "] * " + One(scope_.vectors) + "[" + j + "] })");
    }
    case 5: {
      Count("sum of arrays");
      const std::string i = Fresh("i");
      return NewVector("sum " + i + " < n { " + m + "[" + i + "] * " + One(scope_.vectors) + "[" +
                       i + "] }");
    }
    default: break;
  }
  Count("gen of arrays");
  const std::string i = Fresh("i"), name = Fresh("m");
  Line("let " + name + " = gen " + i + " < n { " + One(scope_.vectors) + "[" + i + "] * " +
       One(scope_.vectors) + " }");
  scope_.matrices.push_back(name);
}

void LanguageWriter::SliceStatement() {
  const std::string v = One(scope_.vectors), w = One(scope_.vectors);
  if (Chance(40)) {
    switch (Pick(4)) {
      case 0:
        Count("slice");
        Count("concat");
        return NewVector("concat(" + v + "[1:], " + w + "[:1])");
      case 1: Count("stride"); return Let("tanh(sum(" + v + "[::2]))");
      case 2: Count("slice"); return Let("dot(" + v + "[1:], " + w + "[:n - 1])");
      default:
        Count("concat");
        return NewVector("concat(" + v + ", [" + Scalar(1) + ", " + Scalar(0) + "])[1:n + 1]");
    }
  }
  if (scope_.vector_vars.empty()) NewVector(v, true);
  const std::string name = One(scope_.vector_vars);
  switch (Pick(5)) {
    case 0: Count("slice assigned"); return Line(name + "[1:] = sin.(" + v + "[:n - 1])");
    case 1: Count("slice assigned"); return Line(name + "[0:2] = " + Scalar(1));
    case 2: Count("slice updated"); return Line(name + "[1:] += " + v + "[1:] * " + Scalar(0));
    case 3:
      Count("slice of itself assigned");
      return Line(name + "[1:] = cos.(" + name + "[:n - 1])");
    default: Count("stride assigned"); return Line(name + "[::2] = 0.5 * " + v + "[::2]");
  }
}

// Arrays of indices, some with equal ones.
void LanguageWriter::GatherStatement() {
  if (scope_.indices.empty() || Chance(30)) {
    const std::string name = Fresh("k"), i = Fresh("i");
    static const std::vector<std::string> maps = {"(@ * 2 + 1) % n", "n - 1 - @", "(@ + k) % n",
                                                  "@ / 2", "min(@, k)"};
    std::string map = One(maps);
    map.replace(map.find('@'), 1, i);
    Line("let " + name + " = gen " + i + " < n { " + map + " }");
    scope_.indices.push_back(name);
  }
  const std::string ks = One(scope_.indices), v = One(scope_.vectors);
  if (Chance(40)) {
    Count("gather");
    return NewVector("sin.(" + v + "[" + ks + "])");
  }
  if (scope_.vector_vars.empty()) NewVector(v, true);
  const std::string name = One(scope_.vector_vars);
  switch (Pick(3)) {
    case 0: Count("scatter"); return Line(name + "[" + ks + "] = cos.(" + v + ")");
    case 1: Count("scatter of a number"); return Line(name + "[" + ks + "] = " + Scalar(1));
    default:
      Count("scatter that adds");
      return Line(name + "[" + ks + "]" + (Chance(50) ? " += " : " -= ") + v + " * " + Scalar(0));
  }
}

// prod, max and min over an index or of an array.
void LanguageWriter::ReductionStatement() {
  const std::string &v = One(scope_.vectors), i = Fresh("i");
  const std::string element =
      "sin(" + v + "[" + i + "] * " + Literal() + " + 0.3 * f64(" + i + "))";
  switch (Pick(8)) {
    case 6: {
      Count("if over an index");
      const std::string &w = One(scope_.vectors), &x = One(scope_.scalars);
      return Let("tanh(sum " + i + " < n { (if (" + i + " + k) % 2 == 0 { " + x + " * " + v + "[" +
                 i + "] } else { sin(" + w + "[" + i + "] + " + x + ") }) + " + x + " * " + w +
                 "[" + i + "] })");
    }
    case 7: {  // t is an operand where one holds, where the other does, and where both do
      Count("brackets that guard reads");
      const std::string &w = One(scope_.vectors), &x = One(scope_.scalars), t = Fresh("t");
      return NewVector("gen " + i + " < n { let " + t + " = sin(" + v + "[" + i + "] * " + x +
                       "); [" + i + " > 0] * (" + t + " + " + v + "[" + i + " - 1]) + [" + i +
                       " + k < n] * (" + t + " - " + w + "[" + i + " + k]) }");
    }
    case 0: Count("prod"); return Let("prod " + i + " < n { 1.2 + " + element + " }");
    case 1: Count("prod of an array"); return Let("tanh(prod(" + v + "))");
    case 2: Count("max"); return Let("max " + i + " < n { " + element + " }");
    case 3: Count("min"); return Let("min " + i + " in 1..n { " + element + " }");
    case 4: Count("max of an array"); return Let("max(" + v + ") - 0.5 * min(" + v + ")");
    default:
      Count("vector functions");
      return NewVector("cumsum(softmax(" + v + ")) - " + Scalar(0));
  }
}

// Running sums and their like, places of extrema, conditions over an index.
void LanguageWriter::ScanStatement() {
  const std::string &v = One(scope_.vectors), &w = One(scope_.vectors);
  const std::string i = Fresh("i"), j = Fresh("i"), name = Fresh("k");
  const std::string element =
      "sin(" + v + "[" + i + "] * " + Literal() + " + 0.3 * f64(" + i + "))";
  const auto scan = [&](const std::string& op) {
    Count(op);
    NewVector(op + " " + i + " < n { " + element + " }");
  };
  switch (Pick(10)) {
    case 9: {
      Count("scan of each row");
      static const std::vector<std::string> some = {"scan sum", "scan prod", "scan max", "scan min",
                                                    "exscan sum"};
      const std::string m = Fresh("m");
      Line("let " + m + " = gen " + j + " < n { " + One(some) + " " + i + " < n { " + w + "[" + j +
           "] * 0.3 + " + element + " } }");
      scope_.matrices.push_back(m);
      return;
    }
    case 0: return scan("scan sum");
    case 1: return scan("scan prod");
    case 2: return scan("scan max");
    case 3: return scan("scan min");
    case 4: return scan(Chance(50) ? "exscan sum" : "exscan prod");
    case 5: Count("scan_linear"); return NewVector("scan_linear(tanh.(" + v + "), " + w + ")");
    case 6:
      Count("argmax and argmin");
      Line("let " + name + " = arg" + (Chance(50) ? "max " : "min ") + i + " < n { " + element +
           " }");
      return Let(w + "[" + name + "] * " + Scalar(0));
    case 7:
      Count("exists");
      return NewVector("gen " + i + " < n { [exists " + j + " < n: " + j + " + k == " + i + "] * " +
                       v + "[" + i + "] + " + w + "[" + i + "] }");
    default:
      Count("and, or over an index");
      Line("let " + name + " = " + (Chance(50) ? "and " : "or ") + i + " < n { " + i + " < k }");
      scope_.flags.push_back(name);
      return Let("select(" + name + ", " + Scalar(0) + ", " + Scalar(1) + ")");
  }
}

}  // namespace pullback::testing
