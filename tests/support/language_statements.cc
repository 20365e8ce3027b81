#include "tests/support/language_writer.h"

namespace pullback::testing {

void LanguageWriter::Statement(int depth) {
  switch (Pick(depth > 2 ? 5 : 44)) {
    case 0: return Let("sin(" + Scalar(2) + ")");
    case 1:
    case 2: return Assign();
    case 3: return VectorStatement();
    case 4: return Tuple();
    case 5: return If(depth);
    case 6:
    case 7: return For(depth);
    case 8: return While(depth);
    case 9:
    case 10: return ListStatement();
    case 11: return ListOfRecords();
    case 12: return StructStatement();
    case 13: return TreeStatement();
    case 14: return LambdaStatement();
    case 15: return SharedStatement();
    case 16: return BoxStatement();
    case 17: return DynamicStatement();
    case 18: return FunctionsAsData();
    case 19: return MayDerive() ? PullbackStatement() : Assign();
    case 20: return MayDerive() ? ArrayDerivatives() : StructStatement();
    case 21:
    case 22: return MatrixStatement();
    case 23:
    case 24: return SliceStatement();
    case 25:
    case 26: return GatherStatement();
    case 27: return ReductionStatement();
    case 28:
    case 29: return SnapshotLoop(depth);
    case 30: return FoldStatement();
    case 31: return SharedByMany();
    case 32: return ScanStatement();
    case 33: return scope_.narrows.empty() ? FlagStatement() : NarrowStatement();
    case 34: return UpdatedAndRead();
    case 35: return CounterStatement();
    case 36: return RowReduction();
    case 37:
    case 42: return WholesInCalls();
    case 38: return entry_ && indent_ == 1 ? CornerStatement() : CounterStatement();
    case 39: return entry_ && indent_ == 1 ? BoxesAreVariables() : BoxStatement();
    case 40:
    case 41: return StructArrayStatement();
    default: return MayDerive() ? DataDerivatives() : ListStatement();
  }
}

void LanguageWriter::Let(const std::string& value) {
  const std::string name = Fresh("s");
  Line("let " + name + " = " + value);
  scope_.scalars.push_back(name);
}

void LanguageWriter::Assign() {
  if (scope_.scalar_vars.size() > 1 && Chance(20)) {
    Count("parallel assignment");
    const std::string &x = One(scope_.scalar_vars), &y = One(scope_.scalar_vars);
    if (x != y) return Line(x + ", " + y + " = " + y + " * 0.7, sin(" + x + ")");
  }
  if (!scope_.scalar_vars.empty() && Chance(70)) {
    Count("assignment");
    const std::string& name = One(scope_.scalar_vars);
    static const std::vector<std::string> ops = {" += ", " -= ", " *= ", " = "};
    return Line(name + One(ops) + "cos(" + Scalar(2) + ")");
  }
  const std::string name = Fresh("v");
  Line("var " + name + " = " + Scalar(1));
  scope_.scalars.push_back(name);
  scope_.scalar_vars.push_back(name);
}

void LanguageWriter::If(int depth) {
  Count("if");
  const std::string name = Fresh("v");
  Line("var " + name + " = " + Scalar(1));
  Line("if " + (Chance(50) ? "k > " + std::to_string(Pick(3)) : Condition()) + " {");
  Inside([&] {
    Statement(depth + 1);
    Line(name + " = " + name + " * " + Scalar(1));
  });
  if (Chance(50)) {
    Count("else");
    Line("} else {");
    Inside([&] { Line(name + " = sin(" + Scalar(2) + ")"); });
  }
  Line("}");
  scope_.scalars.push_back(name);
}

void LanguageWriter::For(int depth) {
  Count("for");
  const std::string name = Fresh("v"), i = Fresh("i");
  Line("var " + name + " = " + Scalar(1));
  Line("for " + i + (Chance(30) ? " in 1..n {" : " < n {"));
  Inside([&] {
    if (Chance(30)) {
      Count("continue");
      Line("if " + i + " % 2 == 1 { continue }");
    }
    if (Chance(30)) {
      Count("break");
      Line("if " + i + " > k { break }");
    }
    if (Chance(60)) Statement(depth + 1);
    Line(name + " = tanh(" + name + " * " + One(scope_.vectors) + "[" + i + "] + " + Scalar(1) +
         ")");
  });
  Line("}");
  scope_.scalars.push_back(name);
  scope_.scalar_vars.push_back(name);
}

void LanguageWriter::While(int depth) {
  Count("while");
  const std::string name = Fresh("v"), i = Fresh("i");
  Line("var " + name + " = " + Scalar(1));
  Line("var " + i + " = k");
  Line(Chance(30) ? "while true {" : "while " + i + " > 0 {");
  Inside([&] {
    Line(i + " -= 1");
    if (Chance(40)) Statement(depth + 1);
    Line(name + " = cos(" + name + ") * " + Scalar(1));
    Line("if " + i + " <= 0 { break }");
  });
  Line("}");
  scope_.scalars.push_back(name);
}

void LanguageWriter::FlagStatement() {
  const std::string name = Fresh("c");
  Line("let " + name + " = " + Condition());
  scope_.flags.push_back(name);
  Let("if " + name + " { " + Scalar(1) + " } else { " + Scalar(0) + " }");
}

void LanguageWriter::Tuple() {
  Count("tuple");
  const std::string x = Fresh("s"), y = Fresh("s");
  if (Chance(50)) {
    Line("let (" + x + ", " + y + ") = two(" + Scalar(1) + ", " + Scalar(1) + ")");
    scope_.scalars.push_back(x);
    scope_.scalars.push_back(y);
    return;
  }
  Count("part of a tuple assigned");
  Line("var " + x + " = (" + Scalar(1) + ", (" + Scalar(1) + ", k))");
  Line(x + ".1.0 = " + x + ".0 * sin(" + Scalar(1) + ")");
  scope_.scalars.push_back(x + ".1.0");
}

void LanguageWriter::VectorStatement() {
  const std::string name = Fresh("w");
  if (Chance(40)) {
    Line("let " + name + " = " + Vector(2));
    scope_.vectors.push_back(name);
    return;
  }
  Count("element update");
  const std::string i = Fresh("i");
  Line("var " + name + " = " + One(scope_.vectors));
  Line("for " + i + " in 1..n {");
  Inside([&] {
    Line(name + "[" + i + "] " + (Chance(50) ? "+= " : "= ") + "sin(" + name + "[" + i +
         " - 1]) * " + One(scope_.vectors) + "[" + i + "] + " + Scalar(1));
  });
  Line("}");
  scope_.vectors.push_back(name);
  scope_.vector_vars.push_back(name);
}

void LanguageWriter::ListStatement() {
  if (scope_.list_vars.empty() || Chance(30)) {
    const std::string name = Fresh("l"), i = Fresh("i");
    Count("list");
    if (Chance(40)) {
      Line("var " + name + " = list(" + Scalar(1) + ", " + Scalar(1) + ")");
    } else if (Chance(40)) {
      Count("repeat");
      Line("var " + name + " = repeat(" + Scalar(1) + ", n + k)");
    } else {
      Count("push");
      Line("var " + name + ": list f64 = list()");
      Line("for " + i + " < n {");
      Inside([&] {
        Line(name + " = push(" + name + ", " + One(scope_.vectors) + "[" + i + "] * " + Scalar(1) +
             ")");
      });
      Line("}");
    }
    scope_.lists.push_back(name);
    scope_.list_vars.push_back(name);
  }
  const std::string& name = One(scope_.list_vars);
  if (Chance(50)) {
    Count("list update");
    return Line(Index(name) + (Chance(50) ? " = " : " += ") + "sin(" + Scalar(1) + ")");
  }
  const std::string s = Fresh("v");
  Count("pop");
  Line("var " + s + " = 0.0");
  Line(name + ", " + s + " = pop(" + name + ")");
  Line(name + " = push(" + name + ", " + s + " * " + Scalar(1) + ")");
  scope_.scalars.push_back(s);
}

// Lists of structs and of arrays, changed in place and copied.
void LanguageWriter::ListOfRecords() {
  const std::string name = Fresh("l"), i = Fresh("i"), s = Fresh("s");
  if (Chance(50)) {
    Count("list of structs");
    Line("var " + name + " = list(" + One(scope_.points) + ", " + Point(1) + ")");
    Line("for " + i + " < 3 {");
    Inside([&] {
      Line(name + "[" + i + " % 2].v[" + i + "] = sin(" + name + "[1 - " + i + " % 2].part.c * " +
           Scalar(1) + ")");
      Line(name + "[1].part.q.0 += 0.5 * " + name + "[0].a");
    });
    Line("}");
    return Let("energy(" + name + "[0]) * 0.5 + energy(last(" + name + "))");
  }
  Count("list of arrays");
  Line("var " + name + " = list(" + One(scope_.vectors) + ", " + One(scope_.vectors) + ")");
  Line("let " + s + " = " + name);
  Line("for " + i + " < n { " + name + "[1][" + i + "] += sin(" + name + "[0][" + i + "] * " +
       Scalar(1) + ") }");
  if (Chance(50)) Line(name + "[0] = 0.5 * " + name + "[1]");
  Let("tanh(sum(" + name + "[0]) + sum(" + s + "[1]) * sum(" + name + "[1]))");
}

void LanguageWriter::StructStatement() {
  if (scope_.point_vars.empty()) {
    const std::string name = Fresh("p");
    Line("var " + name + " = " + Point(1));
    scope_.points.push_back(name);
    scope_.point_vars.push_back(name);
  }
  Count("nested update");
  static const std::vector<std::string> fields = {".a", ".v[1]", ".part.c", ".part.q.0"};
  const std::string& name = One(scope_.point_vars);
  if (Chance(20)) return Line(name + ".v[k % 3] *= " + Scalar(1));
  Line(name + One(fields) + (Chance(50) ? " = " : " += ") + "sin(" + Scalar(1) + ")");
}

void LanguageWriter::TreeStatement() {
  Count("tree");
  const std::string name = Fresh("r");
  Line("var " + name + " = grown(" + Scalar(1) + ", " + std::to_string(1 + Pick(3)) + ")");
  if (Chance(60)) {
    Count("tree update");
    Line(name + ".kids[0].value *= " + Scalar(1));
    Line(name + ".kids = push(" + name + ".kids, Tree(" + Scalar(1) + ", list()))");
  }
  scope_.trees.push_back(name);
}

void LanguageWriter::LambdaStatement() {
  const std::string name = Fresh("g");
  Line("let " + name + " = " + FunctionValue(2));
  scope_.functions.push_back(name);
}

// A variable that a lambda assigns is shared: both see it.
void LanguageWriter::SharedStatement() {
  Count("shared variable");
  const std::string v = Fresh("v"), g = Fresh("g"), t = Fresh("t");
  if (Chance(30)) {
    Count("shared array");
    Line("var " + v + " = " + One(scope_.vectors));
    Line("let " + g + " = |" + t + ": f64| { " + v + "[1] = sin(" + v + "[0] + " + t + "); " + v +
         "[0] *= 0.5; " + v + "[1] }");
    scope_.vectors.push_back(v);
  } else {
    Line("var " + v + " = " + Scalar(1));
    Line("let " + g + " = |" + t + ": f64| { " + v + " = sin(" + v + " * " + t + " + " + Scalar(0) +
         "); " + v + " * 0.8 }");
    scope_.scalars.push_back(v);
  }
  Line(v + (scope_.vectors.back() == v ? "[0]" : "") + " += 0.3");
  scope_.sharing.push_back(g);
  Let(g + "(" + Scalar(1) + ") * " + g + "(" + Scalar(0) + ")");
}

void LanguageWriter::BoxStatement() {
  if (!scope_.boxes.empty() && Chance(60)) {
    Count("box set");
    const std::string& b = One(scope_.boxes);
    return Line(Chance(50) ? "set(" + b + ", sin(get(" + b + ") + " + Scalar(1) + "))"
                           : "cell_add(" + b + ", " + Scalar(1) + ")");
  }
  Count("box");
  const std::string b = Fresh("b");
  Line("let " + b + " = box(" + Scalar(1) + ")");
  scope_.boxes.push_back(b);
}

// A function that a branch, or the turn of a loop, chooses.
void LanguageWriter::DynamicStatement() {
  Count("function chosen by a branch");
  const std::string g = Fresh("g"), h = Fresh("g"), i = Fresh("i"), t = Fresh("t");
  Line("var " + g + ": fn(f64) -> f64 = " + Lambda(1));
  Line("if k > " + std::to_string(Pick(3)) + " { " + g + " = " + (Chance(50) ? "sin" : Lambda(1)) +
       " }");
  if (Chance(40)) {
    Count("closure that grows in a loop");
    Line("for " + i + " < k {");
    Inside([&] {
      Line("let " + h + " = " + g);
      Line(g + " = |" + t + "| 0.5 * " + h + "(" + t + ") + sin(" + One(scope_.scalars) + ")");
    });
    Line("}");
  }
  const std::string last = Fresh("g");
  Line("let " + last + " = " + g);
  scope_.functions.push_back(last);
}

void LanguageWriter::FunctionsAsData() {
  const std::string fs = Fresh("l"), v = Fresh("v"), i = Fresh("i");
  if (Chance(50)) {
    Count("list of functions");
    Line("let " + fs + ": list fn(f64) -> f64 = list(" + Lambda(1) + ", tanh, " + Lambda(1) + ")");
    Line("var " + v + " = " + Scalar(1));
    Line("for " + i + " < k + 1 { " + v + " = " + fs + "[" + i + " % 3](" + v + ") }");
  } else {
    Count("functions in structs");
    Line("var " + fs + " = list(Layer(" + Scalar(1) + ", " + Lambda(1) + "), Layer(" + Literal() +
         ", sigmoid))");
    Line(fs + "[0].scale += " + Scalar(0));
    if (Chance(50)) Line(fs + "[1].act = " + Lambda(1));
    Line("var " + v + " = run(" + fs + ", " + Scalar(1) + ")");
  }
  scope_.scalars.push_back(v);
}

}  // namespace pullback::testing
