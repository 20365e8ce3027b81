#include "tests/core/lang/tree_eval.h"

#include <utility>

#include "tests/core/lang/tree.h"

namespace pullback::lang::tree_eval {

Datum Tree::Call(uint32_t callee, std::vector<Datum> args) {
  Run run{program_.functions[callee].get(), {}, {}};
  run.locals.resize(run.function->locals.size());
  Run* const caller = std::exchange(run_, &run);
  for (size_t i = 0; i < args.size(); ++i) run.locals[run.function->params[i].local] = args[i];
  BindSizes(args);
  Execute(run.function->body);
  if (run.function->has_result) CheckSizes(run.function->result, run.result);
  run_ = caller;
  return run.result;
}

void Leaves(const Datum& d, std::vector<Datum>& out) {
  if (d.kind != Datum::Kind::kTuple) return out.push_back(d);
  for (const Datum& e : d.tuple) Leaves(e, out);
}

void Tree::BindSizes(const std::vector<Datum>& args) {
  std::vector<Datum> leaves;
  for (const Datum& a : args) Leaves(a, leaves);
  for (const SizeBinding& s : run_->function->size_bindings) {
    run_->locals[s.local] = Int(0);
    const int64_t rest = AsInt(Eval(*s.dim));
    run_->locals[s.local] = Int((leaves[s.leaf].shape[s.axis] - rest) / s.coeff);
  }
  for (size_t i = 0; i < args.size(); ++i) CheckSizes(run_->function->params[i].type, args[i]);
}

void Tree::CheckSizes(const TypeExpr& type, const Datum& value) {
  for (size_t i = 0; i < type.dims.size(); ++i) {
    if (IsAnySize(*type.dims[i])) continue;
    if (AsInt(Eval(*type.dims[i])) != value.shape[i]) throw Trapped{TrapKind::kSizeMismatch};
  }
  if (type.kind != TypeExpr::Kind::kTuple) return;
  for (size_t i = 0; i < type.elements.size(); ++i) CheckSizes(type.elements[i], value.tuple[i]);
}

// --- statements

Flow Tree::Execute(const Block& block) {
  for (const StmtPtr& s : block.stmts) {
    const Flow flow = Execute(*s);
    if (flow != Flow::kNext) return flow;
  }
  return Flow::kNext;
}

Flow Tree::Execute(const Stmt& s) {
  switch (s.kind) {
    case Stmt::Kind::kLet:
    case Stmt::Kind::kVar: Define(s); return Flow::kNext;
    case Stmt::Kind::kAssign: Assign(s); return Flow::kNext;
    case Stmt::Kind::kIf:
      for (const CondArm& arm : s.arms) {
        if (!arm.cond || AsBool(Eval(*arm.cond))) return Execute(arm.body);
      }
      return Flow::kNext;
    case Stmt::Kind::kWhile:
    case Stmt::Kind::kFor: return ExecuteLoop(s);
    case Stmt::Kind::kBreak: return Flow::kBreak;
    case Stmt::Kind::kContinue: return Flow::kContinue;
    case Stmt::Kind::kCall: Eval(*s.value); return Flow::kNext;
    case Stmt::Kind::kReturn:
      if (s.value) run_->result = Eval(*s.value);
      return Flow::kReturn;
  }
  return Flow::kNext;
}

Flow Tree::ExecuteLoop(const Stmt& s) {
  const bool is_for = s.kind == Stmt::Kind::kFor;
  int64_t i = is_for && s.binder.lo ? AsInt(Eval(*s.binder.lo)) : 0;
  const int64_t hi = is_for ? AsInt(Eval(*s.binder.hi)) : 0;
  for (; is_for ? i < hi : AsBool(Eval(*s.value)); ++i) {
    if (is_for) run_->locals[s.binder.local] = Int(i);
    const Flow flow = Execute(s.body);
    if (flow == Flow::kReturn) return flow;
    if (flow == Flow::kBreak) break;
  }
  return Flow::kNext;
}

void Tree::Define(const Stmt& s) {
  const Datum value = Eval(*s.value);
  if (s.annotation) CheckSizes(*s.annotation, value);
  for (size_t i = 0; i < s.targets.size(); ++i) {
    const uint32_t local = s.targets[i].local;
    Datum part = s.targets.size() == 1 ? value : value.tuple[i];
    if (run_->function->locals[local].shared) part = BoxOf(std::move(part));
    run_->locals[local] = std::move(part);
  }
}

void Tree::Assign(const Stmt& s) {
  const Datum value = Eval(*s.value);
  for (size_t i = 0; i < s.targets.size(); ++i) {
    const Target& t = s.targets[i];
    const Datum& part = s.targets.size() == 1 ? value : value.tuple[i];
    Datum& variable = run_->locals[t.local];
    const bool shared = run_->function->locals[t.local].shared;
    Change(shared ? *variable.cell : variable, t.path, 0, part);
  }
}

void Tree::Change(Datum& place, const std::vector<Access>& path, size_t step, const Datum& value) {
  if (step == path.size()) {
    place = value;
  } else if (path[step].IsField()) {
    Change(place.tuple[static_cast<size_t>(path[step].index)], path, step + 1, value);
  } else if (place.kind == Datum::Kind::kList) {
    Change(ListElement(place, Eval(*path[step].subscripts[0].index)), path, step + 1, value);
  } else if (path[step].region) {
    ChangeRegion(place, path[step].subscripts, value);
  } else {
    place.bits[ElementOf(place, path[step].subscripts)] = value.bits[0];
  }
}

Datum& Tree::ListElement(Datum& list, const Datum& index) {
  const int64_t i = AsInt(index);
  if (i < 0 || i >= static_cast<int64_t>(list.tuple.size())) throw Trapped{TrapKind::kIndex};
  return list.tuple[static_cast<size_t>(i)];
}

}  // namespace pullback::lang::tree_eval

namespace pullback::lang {

TreeResult RunTree(const Program& program, const std::string& entry,
                   const std::vector<Tensor>& args) {
  using namespace tree_eval;
  uint32_t function = 0;
  while (program.functions[function]->name != entry) ++function;
  std::vector<Datum> data;
  for (const Tensor& t : args) data.push_back(FromTensor(t));
  TreeResult result;
  try {
    std::vector<Datum> leaves;
    Leaves(Tree(program).Call(function, data), leaves);
    for (const Datum& d : leaves) result.values.push_back(ToTensor(d));
  } catch (const Trapped& t) {
    result.trap = t.kind;
  }
  return result;
}

}  // namespace pullback::lang
