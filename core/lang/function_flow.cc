#include "core/lang/function_flow.h"

#include <algorithm>

#include "core/lang/builtins.h"
#include "core/lang/walk.h"

namespace pullback::lang {
namespace {

constexpr uint32_t kNone = UINT32_MAX;

bool Holds(const Type& t, Type::Kind kind, std::set<const Struct*>& seen) {
  if (kind == Type::Kind::kFunction ? t.IsDynamic() : t.kind == kind) return true;
  if (t.kind == Type::Kind::kStruct && !seen.insert(t.structure).second) return false;
  const auto holds = [&](const Type& part) { return Holds(part, kind, seen); };
  if (std::any_of(t.elements.begin(), t.elements.end(), holds)) return true;
  bool any = false;
  if (t.elements.empty()) ForEachPart(t, [&](const Type& part) { any = any || holds(part); });
  return any;
}

// The callee's parameter that operand i begins at.
size_t ParamOf(const Expr& call, size_t i) {
  const bool derive = call.kind == Expr::Kind::kDerive;
  const Type& function = call.operands[0]->type;
  if (!call.applies && !derive) return i;
  if (i == 0) return 0;
  return (function.IsDynamic() ? 1 : function.elements.size()) + i - 1;
}

}  // namespace

bool HoldsDynamic(const Type& t) {
  std::set<const Struct*> seen;
  return Holds(t, Type::Kind::kFunction, seen);
}

bool HoldsBox(const Type& t) {
  std::set<const Struct*> seen;
  return Holds(t, Type::Kind::kBox, seen);
}

FunctionFlow::FunctionFlow(const Program& program, uint32_t function, const FlowInput& in,
                           size_t& work, size_t most)
    : program_(program), captured_(in.captured), boxes_(in.boxes), work_(work), most_(most) {
  for (size_t d = 0; d < program.dynamics.size(); ++d) {
    const uint32_t dispatcher = program.dynamics[d].dispatcher;
    if (dispatcher != kNone) dispatchers_[dispatcher] = d;
  }
  Enter(function);
  const Function& f = *program.functions[function];
  for (size_t i = 0; i < f.params.size() && i < in.params.size(); ++i)
    IntoLocal(f, functions_[function], f.params[i].local, in.params[i]);
  do {
    changed_ = false;
    for (size_t i = 0; i < order_.size() && IsComplete(); ++i) Walk(order_[i]);
  } while (changed_ && IsComplete());
}

std::vector<char> FunctionFlow::VariantsOf(uint32_t dispatcher) const {
  const size_t d = dispatchers_.at(dispatcher);
  std::vector<char> out(program_.dynamics[d].variants.size());
  const Function& f = *program_.functions[dispatcher];
  const auto& locals = functions_.at(dispatcher).locals;
  const auto it = locals.find(f.params[0].local);
  if (it == locals.end()) return out;
  for (const Variant& v : it->second) {
    if (v.first == d) out[v.second] = 1;
  }
  return out;
}

FlowInput FunctionFlow::Into(const Expr& derive) const {
  FlowInput in;
  const auto found = derived_.find(&derive);
  if (found == derived_.end()) return in;
  in.params = found->second;
  in.boxes = boxes_;
  std::vector<Variant> queue(boxes_.begin(), boxes_.end());
  for (const Variants& set : in.params) queue.insert(queue.end(), set.begin(), set.end());
  while (!queue.empty()) {
    const Variant v = queue.back();
    queue.pop_back();
    const auto it = captured_.find(v);
    if (it == captured_.end() || !in.captured.emplace(v, it->second).second) continue;
    queue.insert(queue.end(), it->second.begin(), it->second.end());
  }
  return in;
}

void FunctionFlow::Enter(uint32_t function) {
  if (!functions_.try_emplace(function).second) return;
  order_.push_back(function);
  changed_ = true;
}

void FunctionFlow::Flow(const Variants& from, Variants& to) {
  for (const Variant& v : from) changed_ |= to.insert(v).second;
}

void FunctionFlow::IntoLocal(const Function& f, State& s, uint32_t local, const Variants& from) {
  if (local == kNone || from.empty() || !HoldsDynamic(f.locals[local].type)) return;
  Flow(from, s.locals[local]);
  if (HoldsBox(f.locals[local].type)) Flow(from, boxes_);
}

void FunctionFlow::Walk(uint32_t function) {
  const Function& f = *program_.functions[function];
  State& s = functions_.at(function);
  if (const auto it = dispatchers_.find(function); it != dispatchers_.end())
    return Dispatch(program_.dynamics[it->second], it->second, s);
  Walk(f, s, f.body);
  for (const DerivativeRule* rule : {&f.vjp_rule, &f.jvp_rule}) {
    if (rule->name.empty()) continue;
    Enter(rule->function);
    const Function& g = *program_.functions[rule->function];
    Variants all = s.result;
    for (const auto& [local, set] : s.locals) all.insert(set.begin(), set.end());
    for (const Param& p : g.params) IntoLocal(g, functions_.at(rule->function), p.local, all);
  }
}

void FunctionFlow::Dispatch(const DynamicType& d, size_t index, State& s) {
  const Function& f = *program_.functions[d.dispatcher];
  const Variants functions = s.locals[f.params[0].local];
  for (const Variant& v : functions) {
    ++work_;
    if (v.first != index) continue;
    const uint32_t callee = d.instances[v.second];
    Enter(callee);
    const Function& g = *program_.functions[callee];
    State& to = functions_.at(callee);
    const size_t captures = d.variants[v.second].elements.size();
    const bool nested = d.variants[v.second].IsDynamic();
    const size_t first = nested ? 1 : captures;
    for (size_t i = 0; i < g.params.size(); ++i) {
      if (i < first) {
        IntoLocal(g, to, g.params[i].local, captured_[v]);
      } else if (i - first + 1 < f.params.size()) {
        IntoLocal(g, to, g.params[i].local, s.locals[f.params[i - first + 1].local]);
      }
    }
    Flow(to.result, s.result);
  }
}

void FunctionFlow::Walk(const Function& f, State& s, const Block& b) {
  for (const StmtPtr& stmt : b.stmts) Walk(f, s, *stmt);
}

void FunctionFlow::Walk(const Function& f, State& s, const Stmt& stmt) {
  ++work_;
  const Variants value = Of(f, s, stmt.value);
  if (stmt.kind == Stmt::Kind::kReturn) Flow(value, s.result);
  for (const Target& t : stmt.targets) IntoLocal(f, s, t.local, value);
  Of(f, s, stmt.binder.lo);
  Of(f, s, stmt.binder.hi);
  Of(f, s, stmt.snapshots);
  for (const Target& t : stmt.targets) {
    ForEachExpr(t.path, [&](const Expr& e) {
      if (e.callee != kNone) Inside(f, s, e);
    });
  }
  for (const CondArm& arm : stmt.arms) {
    Of(f, s, arm.cond);
    Walk(f, s, arm.body);
  }
  Walk(f, s, stmt.body);
}

Variants FunctionFlow::Of(const Function& f, State& s, const ExprPtr& e) {
  if (!e) return {};
  Variants all = Inside(f, s, *e);
  if (!all.empty() && !HoldsDynamic(e->type)) all.clear();
  return all;
}

Variants FunctionFlow::Inside(const Function& f, State& s, const Expr& e) {
  ++work_;
  std::vector<Variants> operands;
  for (const ExprPtr& operand : e.operands) operands.push_back(Of(f, s, operand));
  Variants all;
  for (const Variants& set : operands) all.insert(set.begin(), set.end());
  const auto add = [&](const Variants& more) { all.insert(more.begin(), more.end()); };
  const auto add_subscripts = [&](const std::vector<Subscript>& subscripts) {
    for (const Subscript& at : subscripts) {
      for (const ExprPtr* part : {&at.index, &at.lo, &at.hi, &at.step}) Of(f, s, *part);
    }
  };
  add_subscripts(e.subscripts);
  for (const Access& a : e.path) add_subscripts(a.subscripts);
  for (const Binder& b : e.binders) {
    Of(f, s, b.lo);
    Of(f, s, b.hi);
  }
  Walk(f, s, e.body);
  add(Of(f, s, e.body.result));
  for (const CondArm& arm : e.arms) {
    Of(f, s, arm.cond);
    Walk(f, s, arm.body);
    add(Of(f, s, arm.body.result));
  }
  if (e.local != kNone) {
    if (!operands.empty()) IntoLocal(f, s, e.local, operands[0]);
    if (const auto it = s.locals.find(e.local); it != s.locals.end()) add(it->second);
  }
  if (e.kind == Expr::Kind::kDynamic) {
    for (size_t d = 0; d < program_.dynamics.size(); ++d) {
      if (!(program_.dynamics[d].type == e.type)) continue;
      const Variant v{d, static_cast<size_t>(e.int_value)};
      Flow(all, captured_[v]);
      return {v};
    }
  }
  if (e.callee != kNone) return Call(e, operands);
  const auto builtin = static_cast<Builtin>(e.builtin);
  if (builtin == Builtin::Set || builtin == Builtin::Box) Flow(all, boxes_);
  if (HoldsBox(e.type) || builtin == Builtin::Get) add(boxes_);
  return all;
}

Variants FunctionFlow::Call(const Expr& e, const std::vector<Variants>& operands) {
  Enter(e.callee);
  const Function& g = *program_.functions[e.callee];
  State& to = functions_.at(e.callee);
  std::vector<Variants> params(g.params.size());
  Variants all;
  for (size_t i = 0; i < operands.size(); ++i) {
    all.insert(operands[i].begin(), operands[i].end());
    const size_t end = i + 1 < operands.size() ? ParamOf(e, i + 1) : g.params.size();
    for (size_t p = ParamOf(e, i); p < std::min(end, g.params.size()); ++p) {
      params[p] = operands[i];
      IntoLocal(g, to, g.params[p].local, operands[i]);
    }
  }
  if (e.kind == Expr::Kind::kDerive) {
    std::vector<Variants>& known = derived_[&e];
    known.resize(params.size());
    for (size_t p = 0; p < params.size(); ++p) Flow(params[p], known[p]);
    all.insert(to.result.begin(), to.result.end());  // a gradient has its argument's type
    return all;
  }
  return to.result;
}

}  // namespace pullback::lang
