// Numbers of nodes, in pre-order: a node, then its parts (targets, annotation, value, arms, binder,
// body). They name the places of traps, and depend on the tree alone, so that texts which differ in
// layout and names have equal ones.
#include "core/lang/check.h"

namespace pullback::lang {
namespace {

// Calls on(Expr&), on(Stmt&), on(Target&) for every node of a function.
template <typename On>
class TreeVisitor {
 public:
  explicit TreeVisitor(On on) : on_(on) {}

  void Visit(Function& f) {
    for (Param& p : f.params) Visit(p.type);
    if (f.has_result) Visit(f.result);
    Visit(f.body);
  }
  void Visit(TypeExpr& t) {
    for (ExprPtr& dim : t.dims) Visit(*dim);
    for (TypeExpr& element : t.elements) Visit(element);
    for (TypeExpr& part : t.parts) Visit(part);
  }
  void Visit(Block& b) {
    for (StmtPtr& s : b.stmts) Visit(*s);
    Visit(b.result);
  }
  void Visit(Stmt& s) {
    on_(s);
    for (Target& t : s.targets) {
      on_(t);
      Visit(t.path);
    }
    if (s.annotation) Visit(*s.annotation);
    Visit(s.value);
    for (CondArm& arm : s.arms) Visit(arm);
    Visit(s.binder);
    Visit(s.body);
  }
  void Visit(Expr& e) {
    on_(e);
    for (ExprPtr& operand : e.operands) Visit(*operand);
    for (Subscript& sub : e.subscripts) Visit(sub);
    Visit(e.path);
    for (Binder& b : e.binders) Visit(b);
    Visit(e.body);
    for (CondArm& arm : e.arms) Visit(arm);
  }

 private:
  void Visit(ExprPtr& e) {
    if (e) Visit(*e);
  }
  void Visit(std::vector<Access>& path) {
    for (Access& a : path) {
      for (Subscript& sub : a.subscripts) Visit(sub);
    }
  }
  void Visit(CondArm& arm) {
    Visit(arm.cond);
    Visit(arm.body);
  }
  void Visit(Binder& b) {
    Visit(b.lo);
    Visit(b.hi);
  }
  void Visit(Subscript& s) {
    Visit(s.index);
    Visit(s.lo);
    Visit(s.hi);
    Visit(s.step);
  }

  On on_;
};

}  // namespace

// A function's first number stands for the function as a whole.
void NumberNodes(Program& program) {
  program.spans.assign(1, Span());
  auto number = [&](const Span& span, bool from_prelude) {
    program.spans.push_back(from_prelude ? Span() : span);
    return static_cast<uint32_t>(program.spans.size() - 1);
  };
  for (auto& f : program.functions) {
    f->first_ordinal = number(f->span, f->from_prelude);
    auto on = [&](auto& node) { node.ordinal = number(node.span, f->from_prelude); };
    TreeVisitor<decltype(on)>(on).Visit(*f);
    f->node_count = static_cast<uint32_t>(program.spans.size()) - f->first_ordinal;
  }
}

}  // namespace pullback::lang
