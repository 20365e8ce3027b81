// The checked program as a tree: one node a line, indented, with ordinal, what it is, and its type.
#include "core/lang/builtins.h"
#include "core/lang/entry.h"
#include "core/lang/lang.h"
#include "core/lang/number.h"
#include "core/lang/spelling.h"

namespace pullback::lang {
namespace {

constexpr const char* kExprNames[] = {  // in the order of Expr::Kind
    "int",       "float",   "bool",    "name",      "unary",   "binary",        "call",
    "broadcast", "cast",    "index",   "transpose", "tuple",   "field",         "construct",
    "with",      "bracket", "array",   "iverson",   "scan",    "comprehension", "if",
    "lambda",    "apply",   "dynamic", "tag",       "variant", "closure",       "derive"};
constexpr const char* kStmtNames[] = {  // in the order of Stmt::Kind
    "let", "var", "assign", "if", "while", "for", "break", "continue", "return", "call"};
constexpr const char* kLocalNames[] = {  // in the order of Local::Kind
    "parameter", "size", "let", "var", "index"};

// What tells a node from others of its kind.
std::string Detail(const Expr& e) {
  switch (e.kind) {
    case Expr::Kind::kInt: return std::to_string(e.int_value);
    case Expr::Kind::kFloat: return SpellFloat(e.float_value, e.type.elem);
    case Expr::Kind::kBool: return e.int_value ? "true" : "false";
    case Expr::Kind::kUnary: return e.unary == UnaryOp::kNeg ? "-" : "not";
    case Expr::Kind::kBinary: return std::string(Spelling(e.binary));
    case Expr::Kind::kCall:
    case Expr::Kind::kBroadcastCall: return e.name + (e.builtin >= 0 ? " (built-in)" : "");
    case Expr::Kind::kCast: return DTypeName(e.elem);
    case Expr::Kind::kField: return e.name.empty() ? std::to_string(e.int_value) : e.name;
    case Expr::Kind::kScan:
    case Expr::Kind::kComprehension: return std::string(Spelling(e.comprehension));
    default: return e.name;
  }
}

class Dumper {
 public:
  explicit Dumper(std::string& out) : out_(out) {}

  void Dump(const Function& f) {
    Line(0, "fn " + f.name + (f.from_prelude ? " (prelude)" : ""), f.result_type);
    Deeper deeper(*this);
    for (const Local& l : f.locals) {
      Line(0, kLocalNames[static_cast<size_t>(l.kind)] + (" " + l.name), l.type);
    }
    Dump(f.body);
  }

 private:
  class Deeper {
   public:
    explicit Deeper(Dumper& d) : d_(d) { ++d_.depth_; }
    ~Deeper() { --d_.depth_; }

   private:
    Dumper& d_;
  };

  void Line(uint32_t ordinal, const std::string& what, const Type& type = {}) {
    out_ += std::string(2 * static_cast<size_t>(depth_), ' ');
    if (ordinal != 0) out_ += "#" + std::to_string(ordinal) + " ";
    out_ += what;
    if (type.kind != Type::Kind::kError) out_ += ": " + ToString(type);
    out_ += '\n';
  }

  void Dump(const Block& b) {
    for (const StmtPtr& s : b.stmts) Dump(*s);
    Dump("value", b.result);
  }

  // A part with a name of its own; nothing where there is none.
  void Dump(const char* part, const ExprPtr& e) {
    if (!e) return;
    Line(0, part);
    Deeper deeper(*this);
    Dump(*e);
  }

  void Dump(const std::vector<CondArm>& arms) {
    for (const CondArm& arm : arms) {
      Dump("condition", arm.cond);
      Line(0, arm.cond ? "then" : "else");
      Deeper deeper(*this);
      Dump(arm.body);
    }
  }

  void Dump(const Binder& b) {
    Line(0, "for " + b.name);
    Deeper deeper(*this);
    Dump("from", b.lo);
    Dump("below", b.hi);
  }

  void Dump(const std::vector<Subscript>& subscripts) {
    for (const Subscript& s : subscripts) {
      Dump("at", s.index);
      if (!s.is_slice) continue;
      Line(0, "slice");
      Deeper deeper(*this);
      Dump("from", s.lo);
      Dump("below", s.hi);
      Dump("step", s.step);
    }
  }

  void Dump(const std::vector<Access>& path) {
    for (const Access& a : path) {
      if (a.IsField()) Line(0, "field " + (a.field.empty() ? std::to_string(a.index) : a.field));
      Dump(a.subscripts);
    }
  }

  void Dump(const Stmt& s) {
    Line(s.ordinal, kStmtNames[static_cast<size_t>(s.kind)]);
    Deeper deeper(*this);
    for (const Target& t : s.targets) {
      Line(t.ordinal, "target " + t.name);
      Deeper in_target(*this);
      Dump(t.path);
    }
    if (s.kind == Stmt::Kind::kFor) Dump(s.binder);
    if (s.snapshots) Dump(*s.snapshots);
    if (s.value) Dump(*s.value);
    Dump(s.arms);
    Dump(s.body);
  }

  void Dump(const Expr& e) {
    std::string detail = Detail(e);
    Line(e.ordinal, kExprNames[static_cast<size_t>(e.kind)] + (detail.empty() ? "" : " " + detail),
         e.type);
    Deeper deeper(*this);
    for (const ExprPtr& o : e.operands) Dump(*o);
    Dump(e.subscripts);
    Dump(e.path);
    for (const Binder& b : e.binders) Dump(b);
    Dump(e.body);
    Dump(e.arms);
  }

  std::string& out_;
  int depth_ = 0;
};

}  // namespace

std::string DumpAst(const Program& program, const std::string& entry) {
  StatusOr<uint32_t> found = FindEntry(program, entry);
  if (!found.ok()) return found.status().message() + "\n";
  std::string out;
  for (uint32_t f : ReachedFunctions(program, *found)) Dumper(out).Dump(*program.functions[f]);
  return out;
}

}  // namespace pullback::lang
