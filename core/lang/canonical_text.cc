#include "core/lang/canonical_text.h"

#include <cstdlib>

#include "core/lang/builtins.h"
#include "core/lang/number.h"
#include "core/lang/spelling.h"

namespace pullback::lang {
namespace {

// Integers up to here are doubles too, so that 2 and 2.0 beside a float are one literal.
constexpr int64_t kExactInteger = int64_t{1} << 53;

class Writer {
 public:
  Writer(const std::vector<uint32_t>& number, StructNumbers& structs)
      : number_(number), structs_(structs) {}

  // The fields' types; whole numbers in them have no type of their own.
  std::string Run(const Struct& s) {
    out_ = "struct " + StructName(&s) + " {";
    for (const Field& f : s.fields) {
      WriteType(f.type);
      out_ += ", ";
    }
    out_ += "}\n";
    return std::move(out_);
  }

  std::string Run(const Function& f, uint32_t self) {
    out_ = "fn f" + std::to_string(self) + "(";
    for (const Param& p : f.params) {
      Local(p.local);
      out_ += ": ";
      WriteType(p.type);
      out_ += ", ";
    }
    out_ += ")";
    if (f.has_result) {
      out_ += " -> ";
      WriteType(f.result);
    }
    for (const DerivativeRule* rule : {&f.vjp_rule, &f.jvp_rule}) {
      if (rule->name.empty()) continue;
      out_ += rule == &f.vjp_rule ? " vjp f" : " jvp f";
      out_ += std::to_string(number_[rule->function]);
    }
    WriteBlock(f.body);
    out_ += "\n";
    return std::move(out_);
  }

 private:
  void Local(uint32_t index) {
    PB_CHECK(index != UINT32_MAX);
    out_ += 'v';
    out_ += std::to_string(index);
  }

  void WriteType(const TypeExpr& t) {
    if (t.kind == TypeExpr::Kind::kTuple || t.kind == TypeExpr::Kind::kFunction) {
      out_ += t.kind == TypeExpr::Kind::kFunction ? "fn(" : "(";
      for (const TypeExpr& e : t.elements) {
        WriteType(e);
        out_ += ", ";
      }
      out_ += ')';
      return;
    }
    if (t.kind == TypeExpr::Kind::kGiven) return WriteGiven(t.given);
    if (t.kind == TypeExpr::Kind::kStructArray) {  // the parts have all sizes
      out_ += '[' + std::to_string(t.dims.size()) + ']';
      WriteType(t.elements[0]);
      out_ += '{';
      for (const TypeExpr& part : t.parts) {
        WriteType(part);
        out_ += ", ";
      }
      out_ += '}';
      return;
    }
    if (t.kind == TypeExpr::Kind::kStruct) {
      out_ += StructName(t.structure);
      return;
    }
    if (t.kind == TypeExpr::Kind::kList || t.kind == TypeExpr::Kind::kBox) {
      out_ += t.kind == TypeExpr::Kind::kList ? "list " : "box ";
      return WriteType(t.elements[0]);
    }
    if (t.kind == TypeExpr::Kind::kRelation) out_ += "rel ";
    if (!t.dims.empty()) WriteDims(t.dims);
    out_ += DTypeName(t.elem);
  }

  // A function's code shows in the calls of it; its type says what it captures.
  void WriteGiven(const Type& t) {
    switch (t.kind) {
      case Type::Kind::kStruct: out_ += StructName(t.structure); return;
      case Type::Kind::kList: out_ += "list "; return WriteGiven(t.elements[0]);
      case Type::Kind::kBox: out_ += "box "; return WriteGiven(t.elements[0]);
      case Type::Kind::kStructArray:
        out_ += '[' + std::to_string(t.rank) + ']';
        return WriteGiven(t.elements[0]);
      case Type::Kind::kTuple:
      case Type::Kind::kFunction: break;
      default: out_ += "any " + ToString(t); return;
    }
    if (t.IsDynamic()) out_ += "fn";
    out_ += t.kind == Type::Kind::kFunction && !t.IsDynamic() ? "closure(" : "(";
    for (const Type& e : t.elements) {
      WriteGiven(e);
      out_ += ", ";
    }
    out_ += ')';
  }

  // Names inside structs, lists and boxes stand for any size.
  void WriteDims(const std::vector<ExprPtr>& dims) {
    out_ += '[';
    for (const ExprPtr& d : dims) {
      if (d->kind == Expr::Kind::kName && d->local == UINT32_MAX) {
        out_ += '_';
      } else {
        WriteExpr(*d);
      }
      out_ += ", ";
    }
    out_ += ']';
  }

  std::string StructName(const Struct* s) { return "s" + std::to_string(structs_.Number(s)); }

  // --- statements
  void WriteBlock(const Block& b) {
    out_ += " {\n";
    for (const StmtPtr& s : b.stmts) {
      WriteStmt(*s);
      out_ += '\n';
    }
    if (b.result) {
      WriteExpr(*b.result);
      out_ += '\n';
    }
    out_ += '}';
  }

  void WriteArms(const std::vector<CondArm>& arms) {
    for (const CondArm& arm : arms) {
      out_ += arm.cond ? "if " : "else";
      if (arm.cond) WriteExpr(*arm.cond);
      WriteBlock(arm.body);
      out_ += ' ';
    }
  }

  void WriteLoopBody(const Stmt& s) {
    if (s.snapshots) {
      out_ += " checkpoint ";
      WriteExpr(*s.snapshots);
    }
    WriteBlock(s.body);
  }

  void WriteStmt(const Stmt& s) {
    switch (s.kind) {
      case Stmt::Kind::kLet: return WriteBinding("let ", s);
      case Stmt::Kind::kVar: return WriteBinding("var ", s);
      case Stmt::Kind::kAssign: return WriteBinding("set ", s);
      case Stmt::Kind::kIf: return WriteArms(s.arms);
      case Stmt::Kind::kWhile:
        out_ += "while ";
        WriteExpr(*s.value);
        return WriteLoopBody(s);
      case Stmt::Kind::kFor:
        out_ += "for ";
        WriteBinder(s.binder);
        return WriteLoopBody(s);
      case Stmt::Kind::kBreak: out_ += "break"; return;
      case Stmt::Kind::kContinue: out_ += "continue"; return;
      case Stmt::Kind::kReturn:
        out_ += "return ";
        if (s.value) WriteExpr(*s.value);
        return;
      case Stmt::Kind::kCall: return WriteExpr(*s.value);
    }
  }

  void WriteBinding(const char* word, const Stmt& s) {
    out_ += word;
    for (const Target& t : s.targets) {
      Local(t.local);
      WritePath(t.path);
      out_ += ", ";
    }
    if (s.annotation) {
      out_ += ": ";
      WriteType(*s.annotation);
    }
    out_ += " = ";
    WriteExpr(*s.value);
  }

  void WriteBinder(const Binder& b) {
    Local(b.local);
    out_ += " in ";
    if (b.lo) WriteExpr(*b.lo);
    out_ += "..";
    WriteExpr(*b.hi);
  }

  void WriteSubscripts(const std::vector<Subscript>& subscripts) {
    if (subscripts.empty()) return;
    out_ += '[';
    for (const Subscript& s : subscripts) {
      if (s.is_slice) {
        WriteOptional(s.lo);
        out_ += ':';
        WriteOptional(s.hi);
        out_ += ':';
        WriteOptional(s.step);
      } else {
        WriteExpr(*s.index);
      }
      out_ += ", ";
    }
    out_ += ']';
  }

  void WritePath(const std::vector<Access>& path) {
    for (const Access& a : path) {
      if (a.IsField()) {
        out_ += "." + std::to_string(a.index);
      } else {
        WriteSubscripts(a.subscripts);
      }
    }
  }

  void WriteOptional(const ExprPtr& e) {
    if (e) WriteExpr(*e);
  }

  // --- expressions
  void WriteList(const std::string& open, const std::vector<ExprPtr>& list, const char* close) {
    out_ += open;
    for (const ExprPtr& e : list) {
      WriteExpr(*e);
      out_ += ", ";
    }
    out_ += close;
  }

  void WriteExpr(const Expr& e) {
    switch (e.kind) {
      case Expr::Kind::kInt:
      case Expr::Kind::kFloat: return WriteNumber(e);
      case Expr::Kind::kBool: out_ += e.int_value ? "true" : "false"; return;
      case Expr::Kind::kName:
        if (e.type.kind == Type::Kind::kFunction && e.local == UINT32_MAX) {
          out_ += "closure()";
          return;
        }
        return Local(e.local);
      case Expr::Kind::kLambda:
      case Expr::Kind::kClosure: return WriteList("closure(", e.operands, ")");
      case Expr::Kind::kDerive:
        return WriteList("derive " + std::to_string(static_cast<int>(e.derive)) + " f" +
                             std::to_string(number_[e.callee]) + "(",
                         e.operands, ")");
      case Expr::Kind::kApply: break;  // the checker leaves none
      case Expr::Kind::kDynamic:
        WriteGiven(e.type);
        return WriteList("." + std::to_string(e.int_value) + "(", e.operands, ")");
      case Expr::Kind::kTag: return WriteList("tag(", e.operands, ")");
      case Expr::Kind::kVariant:
        return WriteList("variant " + std::to_string(e.int_value) + "(", e.operands, ")");
      case Expr::Kind::kUnary:
        return WriteList(e.unary == UnaryOp::kNeg ? "(-" : "(not ", e.operands, ")");
      case Expr::Kind::kBinary: return WriteBinary(e);
      case Expr::Kind::kCall:
        if (e.builtin == static_cast<int>(Builtin::List)) WriteGiven(e.type);
        return WriteList(Callee(e) + "(", e.operands, ")");
      case Expr::Kind::kBroadcastCall: return WriteList(Callee(e) + ".(", e.operands, ")");
      case Expr::Kind::kCast:
        return WriteList(std::string("cast ") + DTypeName(e.elem) + "(", e.operands, ")");
      case Expr::Kind::kIndex: WriteExpr(*e.operands[0]); return WriteSubscripts(e.subscripts);
      case Expr::Kind::kTranspose:
        WriteExpr(*e.operands[0]);
        out_ += ".T";
        return;
      case Expr::Kind::kConstruct:
        return WriteList(StructName(e.type.structure) + "(", e.operands, ")");
      case Expr::Kind::kWith:
        out_ += '(';
        WriteExpr(*e.operands[0]);
        out_ += " with ";
        WritePath(e.path);
        out_ += " = ";
        WriteExpr(*e.operands[1]);
        out_ += ')';
        return;
      case Expr::Kind::kTuple: return WriteList("tuple(", e.operands, ")");
      case Expr::Kind::kField:
        WriteExpr(*e.operands[0]);
        out_ += "." + std::to_string(e.int_value);
        return;
      case Expr::Kind::kBracket:  // the checker leaves none
      case Expr::Kind::kArray: return WriteList("array[", e.operands, "]");
      case Expr::Kind::kIverson:
        return WriteList(std::string("iverson ") + DTypeName(e.type.elem) + "[", e.operands, "]");
      case Expr::Kind::kScan:
        return WriteList(std::string(e.exclusive ? "exscan " : "scan ") +
                             std::string(Spelling(e.comprehension)) + "(",
                         e.operands, ")");
      case Expr::Kind::kComprehension: return WriteComprehension(e);
      case Expr::Kind::kIf:
        out_ += '(';
        WriteArms(e.arms);
        out_ += ')';
        return;
    }
  }

  void WriteNumber(const Expr& e) {
    DType type = e.type.elem;
    bool is_int = e.kind == Expr::Kind::kInt;
    out_ += DTypeName(type);
    out_ += ':';
    if (type == DType::kI64 || (is_int && std::abs(e.int_value / 2) >= kExactInteger / 2)) {
      out_ += std::to_string(e.int_value);
    } else {
      out_ += SpellFloat(is_int ? static_cast<double>(e.int_value) : e.float_value, type);
    }
  }

  void WriteBinary(const Expr& e) {
    out_ += '(';
    WriteExpr(*e.operands[0]);
    out_ += ' ';
    out_ += Spelling(e.binary);
    out_ += ' ';
    WriteExpr(*e.operands[1]);
    out_ += ')';
  }

  std::string Callee(const Expr& e) {
    if (e.builtin >= 0) return std::string("$") + std::string(BuiltinName(e.builtin));
    PB_CHECK(e.callee < number_.size());
    return "f" + std::to_string(number_[e.callee]);
  }

  void WriteComprehension(const Expr& e) {
    out_ += '(';
    out_ += Spelling(e.comprehension);
    out_ += ' ';
    if (!e.operands.empty()) {
      out_ += "over ";
      Local(e.local);
      WriteList(" = (", e.operands, ") ");
    }
    for (const Binder& b : e.binders) {
      WriteBinder(b);
      out_ += ", ";
    }
    WriteBlock(e.body);
    out_ += ')';
  }

  const std::vector<uint32_t>& number_;
  StructNumbers& structs_;
  std::string out_;
};

}  // namespace

uint32_t StructNumbers::Number(const Struct* s) {
  auto [it, added] = numbers_.emplace(s, static_cast<uint32_t>(order_.size()));
  if (added) order_.push_back(s);
  return it->second;
}

std::string CanonicalText(const Function& f, uint32_t self, const std::vector<uint32_t>& number,
                          StructNumbers& structs) {
  return Writer(number, structs).Run(f, self);
}

std::string CanonicalText(const Struct& s, StructNumbers& structs) {
  return Writer({}, structs).Run(s);
}

}  // namespace pullback::lang
