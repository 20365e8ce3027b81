#include "core/tensor/constant_guards.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "core/tensor/statement_edit.h"

namespace pullback::tensor {
namespace {

using ir::Each;
using ir::Inst;
using ir::Op;
using ir::Value;

class Folder {
 public:
  Folder(Each& each, const ir::Function& f) : each_(each), f_(f) {}

  void Run() {
    bool changed = false;
    for (Inst& inst : each_.body) {
      if (!by_.empty()) ReplaceValues(inst, by_);
      if (inst.results.size() != 1) continue;
      changed |= never_.contains(inst.guard) && MakeZero(inst);
      if (const Value same = SameAs(inst); same.valid()) {
        if (IsGuardOf(inst.results[0]) && !FindDef(each_, same))
          changed |= MakeOwn(inst, same);
        else
          by_.emplace(inst.results[0].id, same);
      }
      if (IsNever(inst)) {
        changed |= MakeZero(inst);
        never_.insert(inst.results[0]);
      }
      if (inst.op == Op::Const && !inst.guard.valid() && inst.bits != 0 && IsBool(inst))
        always_.insert(inst.results[0]);
    }
    if (by_.empty() && !changed) return;
    for (ir::EachResult& r : each_.results) {
      for (Value* v : {&r.value, &r.guard, &r.second}) {
        if (const auto it = by_.find(v->id); v->valid() && it != by_.end()) *v = it->second;
      }
    }
    PruneBody(each_);
  }

 private:
  bool IsBool(const Inst& inst) const { return f_.TypeOf(inst.results[0]) == ir::Type::Bool(); }

  bool IsGuardOf(Value v) const {
    const auto has = [&](const auto& of) { return of.guard == v; };
    return std::any_of(each_.body.begin(), each_.body.end(), has) ||
           std::any_of(each_.results.begin(), each_.results.end(), has);
  }
  // A guard is of the body: of a value from outside, both of it. False: it is that as it is.
  static bool MakeOwn(Inst& inst, Value same) {
    if (inst.op == Op::And && inst.args[0] == same && inst.args[1] == same) return false;
    Inst both;
    both.op = Op::And;
    both.args = {same, same};
    both.results = inst.results;
    both.guard = inst.guard;
    inst = std::move(both);
    return true;
  }
  // Without a guard. False: it is that as it is, or no number.
  bool MakeZero(Inst& inst) const {
    if (!f_.TypeOf(inst.results[0]).IsScalar()) return false;
    if (inst.op == Op::Const && inst.bits == 0 && !inst.guard.valid()) return false;
    Inst zero;
    zero.op = Op::Const;
    zero.loc = inst.loc;
    zero.results = inst.results;
    inst = std::move(zero);
    return true;
  }

  bool IsNever(const Inst& inst) const {
    if (!IsBool(inst)) return false;
    const auto never = [&](Value v) { return never_.contains(v); };
    switch (inst.op) {
      case Op::Const: return inst.bits == 0;
      case Op::Holds:
        return std::any_of(
            inst.constraints.begin(), inst.constraints.end(), [](const ir::Constraint& c) {
              return c.e.IsConst() && (c.equality ? c.e.constant != 0 : c.e.constant < 0);
            });
      case Op::And: return std::any_of(inst.args.begin(), inst.args.end(), never);
      case Op::Or: return std::all_of(inst.args.begin(), inst.args.end(), never);
      default: return false;
    }
  }

  // Another value that it is at all points, where it is 0 but for its guard; kNoValue: none is known.
  Value SameAs(const Inst& inst) const {
    const Value guard = inst.guard;
    const auto is_true = [&](Value v) { return v == guard || always_.contains(v); };
    switch (inst.op) {
      case Op::Const: return guard.valid() && inst.bits != 0 && IsBool(inst) ? guard : Value();
      case Op::Holds: return inst.constraints.empty() ? guard : Value();
      case Op::Not: return never_.contains(inst.args[0]) ? guard : Value();
      case Op::And:
      case Op::Or:
        for (const size_t k : {0, 1}) {
          const bool neutral =
              inst.op == Op::And ? is_true(inst.args[k]) : never_.contains(inst.args[k]);
          if (neutral && IsUnder(inst.args[1 - k], guard)) return inst.args[1 - k];
        }
        return {};
      case Op::Select: {
        const bool first = is_true(inst.args[0]);
        if (!first && !never_.contains(inst.args[0])) return {};
        const Value arm = inst.args[first ? 1 : 2];
        return IsUnder(arm, guard) ? arm : Value();
      }
      default: return {};
    }
  }
  // Whether it is 0 where the guard is false.
  bool IsUnder(Value v, Value guard) const {
    const Inst* def = FindDef(each_, v);
    return !guard.valid() || v == guard || (def && def->guard == guard);
  }

  Each& each_;
  const ir::Function& f_;
  std::set<Value> never_, always_;  // bools
  std::unordered_map<uint32_t, Value> by_;
};

}  // namespace

void FoldConstantGuards(Each& each, const ir::Function& f) { Folder(each, f).Run(); }

}  // namespace pullback::tensor
