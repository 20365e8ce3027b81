#include "tests/core/lang/shape.h"

#include <catch2/catch.hpp>

#include "core/lang/lang.h"
#include "core/lang/number.h"
#include "core/lang/spelling.h"

namespace pullback::lang {
namespace {

std::string Shape(const Block& b);

std::string Shape(const ExprPtr& e) { return e ? Shape(*e) : "_"; }

std::string Shape(const std::vector<ExprPtr>& list) {
  std::string s;
  for (const ExprPtr& e : list) s += " " + Shape(e);
  return s;
}

std::string Shape(const TypeExpr& t) {
  if (t.kind == TypeExpr::Kind::kScalar) return DTypeName(t.elem);
  if (t.kind == TypeExpr::Kind::kArray) {
    return std::string("(array ") + DTypeName(t.elem) + Shape(t.dims) + ")";
  }
  if (t.kind == TypeExpr::Kind::kStruct) return t.name;
  std::string s = "(types";
  for (const TypeExpr& e : t.elements) s += " " + Shape(e);
  return s + ")";
}

std::string Shape(const std::vector<Subscript>& subscripts) {
  std::string s;
  for (const Subscript& x : subscripts) {
    s += " ";
    s += x.is_slice ? "(: " + Shape(x.lo) + " " + Shape(x.hi) + " " + Shape(x.step) + ")"
                    : Shape(x.index);
  }
  return s;
}

std::string Shape(const std::vector<Access>& path) {
  std::string s;
  for (const Access& a : path) {
    if (a.IsField()) s += "." + (a.field.empty() ? std::to_string(a.index) : a.field);
    s += Shape(a.subscripts);
  }
  return s;
}

std::string Shape(const Binder& b) {
  return "(" + b.name + " " + Shape(b.lo) + " " + Shape(b.hi) + ")";
}

std::string Shape(const std::vector<CondArm>& arms) {
  std::string s;
  for (const CondArm& arm : arms) s += " (" + Shape(arm.cond) + " " + Shape(arm.body) + ")";
  return s;
}

const char* Word(Stmt::Kind kind) {
  constexpr const char* kWords[] = {"let", "var",   "set",      "if",     "while",
                                    "for", "break", "continue", "return", "call"};
  return kWords[static_cast<size_t>(kind)];
}

std::string Shape(const Stmt& s) {
  std::string out = std::string("(") + Word(s.kind) + (s.augmented ? "!" : "");
  for (const Target& t : s.targets) out += " <" + t.name + Shape(t.path) + ">";
  if (s.annotation) out += ":" + Shape(*s.annotation);
  if (s.kind == Stmt::Kind::kFor) out += " " + Shape(s.binder);
  if (s.value) out += " " + Shape(s.value);
  out += Shape(s.arms);
  bool loop = s.kind == Stmt::Kind::kFor || s.kind == Stmt::Kind::kWhile;
  return out + (loop ? " " + Shape(s.body) : "") + ")";
}

std::string Shape(const Block& b) {
  std::string s = "{";
  for (const StmtPtr& stmt : b.stmts) s += " " + Shape(*stmt);
  if (b.result) s += " " + Shape(b.result);
  return s + " }";
}

std::string Comprehending(const Expr& e) {
  std::string s = "(" + std::string(Spelling(e.comprehension));
  for (const Binder& b : e.binders) s += " " + Shape(b);
  return s + " " + Shape(e.body) + ")";
}

Status ErrorOf(const std::string& text) {
  StatusOr<Program> p = Parse(text);
  REQUIRE_FALSE(p.ok());
  return p.status();
}

std::string Leaf(const Expr& e) {
  const std::string suffix = e.has_suffix ? DTypeName(e.elem) : "";
  if (e.kind == Expr::Kind::kInt) return std::to_string(e.int_value) + suffix;
  if (e.kind == Expr::Kind::kFloat) return SpellFloat(e.float_value, e.elem) + suffix;
  if (e.kind == Expr::Kind::kBool) return e.int_value ? "true" : "false";
  return e.name;
}

std::string LambdaShape(const Lambda& lambda) {
  std::string s = "(lambda";
  for (const Param& p : lambda.params) s += " " + p.name;
  return s + " " + Shape(lambda.body) + ")";
}

// What stands before the operands.
std::string Word(const Expr& e) {
  switch (e.kind) {
    case Expr::Kind::kUnary: return e.unary == UnaryOp::kNeg ? "neg" : "not";
    case Expr::Kind::kBinary: return std::string(Spelling(e.binary)) + (e.chained ? "~" : "");
    case Expr::Kind::kCall: return "call " + e.name;
    case Expr::Kind::kBroadcastCall: return "each " + e.name;
    case Expr::Kind::kCast: return std::string("cast ") + DTypeName(e.elem);
    case Expr::Kind::kIndex: return "at";
    case Expr::Kind::kTranspose: return "T";
    case Expr::Kind::kTuple: return "tuple";
    case Expr::Kind::kField:
      return "field " + (e.name.empty() ? std::to_string(e.int_value) : e.name);
    case Expr::Kind::kConstruct: return "construct " + e.name;
    case Expr::Kind::kWith: return "with" + Shape(e.path);
    case Expr::Kind::kBracket: return "bracket";
    case Expr::Kind::kArray: return "array";
    case Expr::Kind::kIverson: return "iverson";
    case Expr::Kind::kScan:
      return (e.exclusive ? "exscan " : "scan ") + std::string(Spelling(e.comprehension));
    case Expr::Kind::kApply: return "apply";
    default: return "?";  // the parser makes no other
  }
}

}  // namespace

// Small, since trees are deep.
std::string Shape(const Expr& e) {
  switch (e.kind) {
    case Expr::Kind::kInt:
    case Expr::Kind::kFloat:
    case Expr::Kind::kBool:
    case Expr::Kind::kName: return Leaf(e);
    case Expr::Kind::kComprehension: return Comprehending(e);
    case Expr::Kind::kIf: return "(if" + Shape(e.arms) + ")";
    case Expr::Kind::kLambda: return LambdaShape(*e.lambda);
    default: break;
  }
  std::string s = "(";
  s += Word(e);
  s += Shape(e.operands);
  if (e.kind == Expr::Kind::kIndex) s += Shape(e.subscripts);
  s += ")";
  return s;
}

std::string Shape(const Program& program) {
  std::string s;
  for (size_t i = 0; i < program.user_functions; ++i) {
    const Function& f = *program.functions[i];
    s += "(fn " + f.name;
    for (const Param& p : f.params) s += " " + p.name + ":" + Shape(p.type);
    if (f.has_result) s += " -> " + Shape(f.result);
    s += " " + Shape(f.body) + ")\n";
  }
  return s;
}

std::string ShapeOf(const std::string& expression) {
  StatusOr<Program> p = Parse("fn f() { return " + expression + "\n}");
  INFO(expression << "\n" << p.status().ToString());
  REQUIRE(p.ok());
  return Shape(*p->functions[0]->body.stmts[0]->value);
}

std::string FirstError(const std::string& text) {
  Status status = ErrorOf(text);
  REQUIRE_FALSE(status.diagnostics().empty());
  const Diagnostic& d = status.diagnostics()[0];
  return std::to_string(d.span.line) + ":" + std::to_string(d.span.column) + ": " + d.message;
}

std::string ReasonOf(const std::string& text) { return ErrorOf(text).reason(); }

}  // namespace pullback::lang
