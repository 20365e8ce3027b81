// What a branch or a check has decided holds in everything it dominates (dF~'s "propagate the
// condition", rule 8d): the condition is a constant there, and integers found equal are one value. Behind a check that m is
// not negative max(m, 0) is m. A statement over m is such a check for what is computed as long as it is there: statements
// over max(m, 0), or over m and max(m, 0), are over m, since they end before they begin if it is negative.
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "core/ir/dominance.h"
#include "core/opt/simplify.h"

namespace pullback::opt {
namespace {

using ir::Inst;
using ir::Op;
using ir::Value;

class Propagation {
 public:
  Propagation(ir::Function& f, const RewriteOptions& options)
      : f_(f),
        options_(options),
        dominators_(f),
        preds_(ir::Predecessors(f)),
        to_(f.values.size()) {
    defs_.resize(f.values.size());
    for (const ir::Block& b : f.blocks) {
      for (const Inst& inst : b.insts) {
        if (inst.results.size() == 1 && f.TypeOf(inst.results[0]).IsScalar())
          defs_[inst.results[0].id] = &inst;
      }
    }
    for (const Inst* def : defs_) {
      if (def != nullptr && (def->op == Op::Max || def->op == Op::Ge) && IsZero(def->args[1]))
        clamps_[def->args[0]].push_back(def);
    }
  }

  bool Run() {
    struct Open {
      uint32_t block;
      size_t next_child, trail, ranges;
    };
    std::vector<Open> open;
    const auto enter = [&](uint32_t block) {
      open.push_back({block, 0, trail_.size(), ranges_.size()});
      Visit(block);
    };
    enter(0);
    while (!open.empty()) {
      Open& top = open.back();
      const absl::Span<const uint32_t> children = dominators_.Children(top.block);
      if (top.next_child < children.size()) {
        enter(children[top.next_child++]);
      } else {
        Forget(top.trail);
        for (; ranges_.size() > top.ranges; ranges_.pop_back()) ranged_over_.erase(ranges_.back());
        open.pop_back();
      }
    }
    if (changed_) {
      InsertConstants();
    } else {
      f_.values.resize(to_.size() - made_);  // nothing took a constant's place
      f_.names.resize(f_.values.size());
    }
    return changed_;
  }

 private:
  void Visit(uint32_t block) {
    LearnFromEdge(block);
    ir::Block& b = f_.blocks[block];
    for (Inst& inst : b.insts) {
      Apply(inst);
      if (inst.each) DropClamps(inst);
      if (inst.op == Op::Check) Learn(inst.args[0], true);
    }
    ir::ForEachTermOperand(b.term, [&](Value& v) { Rename(v); });
  }

  void LearnFromEdge(uint32_t block) {
    if (block == 0 || preds_[block].size() != 1) return;
    const ir::Terminator& term = f_.blocks[preds_[block][0]].term;
    if (term.kind == ir::Terminator::Kind::kBranch) Learn(term.cond, term.edges[0].block == block);
  }

  void DropClamps(Inst& statement) {
    for (const ir::IndexVar& i : statement.each->indices) {
      if (ranged_over_.insert(i.extent).second) ranges_.push_back(i.extent);
    }
    for (ir::IndexVar& i : statement.each->indices) {
      const Inst* def = i.extent.id < defs_.size() ? defs_[i.extent.id] : nullptr;
      if (def == nullptr || def->op != Op::Max || !IsZero(def->args[1]) ||
          !ranged_over_.contains(def->args[0]) || !options_.Take(RuleId::kEqualInArms))
        continue;
      const Value clamped = i.extent;
      ir::ForEachOperand(statement, [&](Value& v) {
        if (v == clamped) v = def->args[0];
      });
      ir::CanonicaliseAffines(statement);
      changed_ = true;
    }
  }

  // max(v, 0) is v, and v >= 0 holds.
  void LearnNotNegative(Value v) {
    const auto it = clamps_.find(v);
    if (it == clamps_.end()) return;
    for (const Inst* clamp : it->second) {
      const Value result = clamp->results[0];
      if (clamp->op == Op::Ge)
        Learn(result, true);
      else if (!to_[result.id].valid())
        Map(result, Get(v));
    }
  }

  using Learned = std::pair<Value, bool>;  // a condition, and whether it holds

  void Learn(Value condition, bool holds) {
    std::vector<Learned> work = {{condition, holds}};
    while (!work.empty()) {
      const auto [next, next_holds] = work.back();
      work.pop_back();
      LearnOne(next, next_holds, &work);
    }
  }

  // What follows from it goes to `work`; conditions share parts, and each is learned once.
  void LearnOne(Value condition, bool holds, std::vector<Learned>* work) {
    if (condition.id >= defs_.size() || IsMade(Get(condition))) return;
    const Inst* const def = defs_[condition.id];
    if (def != nullptr && def->op == Op::Const) return;
    Map(condition, Constant(holds));
    if (def == nullptr) return;
    if (def->op == Op::Not) {
      work->emplace_back(def->args[0], !holds);
    } else if (def->op == (holds ? Op::And : Op::Or)) {
      work->emplace_back(def->args[1], holds);
      work->emplace_back(def->args[0], holds);
    } else if (def->op == (holds ? Op::Eq : Op::Ne) && IsInt(def->args[0])) {
      Equate(Get(def->args[0]), Get(def->args[1]));
    } else if ((def->op == Op::Ge || def->op == Op::Gt) && holds && IsZero(def->args[1])) {
      LearnNotNegative(def->args[0]);
    } else if (def->op == Op::Holds && holds) {
      for (const ir::Constraint& c : def->constraints) EquateSides(c);
    }
  }

  // a - b = 0, or a - constant = 0 that some value holds already: the first only.
  void EquateSides(const ir::Constraint& c) {
    if (!c.equality || c.e.constant != 0 || c.e.terms.size() != 2) return;
    const ir::Affine::Term &a = c.e.terms[0], &b = c.e.terms[1];
    if (a.coeff * b.coeff == -1) Equate(Get(a.value), Get(b.value));
  }

  // Both dominate what is visited; a constant, or else the older one, stands for both.
  void Equate(Value a, Value b) {
    if (a == b) return;
    if (IsConst(b) || (!IsConst(a) && b < a)) std::swap(a, b);
    Map(b, a);
  }

  bool IsConst(Value v) const {
    return v.id < defs_.size() && defs_[v.id] != nullptr && defs_[v.id]->op == Op::Const;
  }
  bool IsZero(Value v) const { return IsInt(v) && IsConst(v) && defs_[v.id]->bits == 0; }
  bool IsInt(Value v) const { return f_.TypeOf(v) == ir::Type::I64(); }

  // A constant of this pass's.
  bool IsMade(Value v) const { return v == constants_[false] || v == constants_[true]; }
  Value Constant(bool value) {
    Value& made = constants_[value];
    if (!made.valid()) {
      made = f_.NewValue(ir::Type::Bool());
      to_.resize(f_.values.size());
      ++made_;
    }
    return made;
  }
  void InsertConstants() {
    for (const bool value : {false, true}) {
      if (!constants_[value].valid()) continue;
      Inst inst;
      inst.op = Op::Const;
      inst.bits = value;
      inst.results = {constants_[value]};
      f_.blocks[0].insts.insert(f_.blocks[0].insts.begin(), std::move(inst));
    }
  }

  Value Get(Value v) const {
    while (to_[v.id].valid()) v = to_[v.id];
    return v;
  }
  void Map(Value from, Value to) {
    from = Get(from);
    if (from == to) return;
    to_[from.id] = to;
    trail_.push_back(from);
  }
  void Forget(size_t size) {
    for (; trail_.size() > size; trail_.pop_back()) to_[trail_.back().id] = ir::kNoValue;
  }

  bool Rename(Value& v) {
    const Value to = Get(v);
    if (to == v) return false;
    if (!options_.Take(IsMade(to) ? RuleId::kConditionInArms : RuleId::kEqualInArms)) return false;
    v = to;
    changed_ = true;
    return true;
  }
  void Apply(Inst& inst) {
    if (trail_.empty()) return;
    bool any = false;
    ir::ForEachOperand(inst, [&](Value& v) { any |= Rename(v); });
    if (any) ir::CanonicaliseAffines(inst);
  }

  ir::Function& f_;
  const RewriteOptions& options_;
  const ir::Dominators dominators_;
  const FlatLists preds_;
  std::vector<const Inst*> defs_;                     // of scalars, by value
  std::map<Value, std::vector<const Inst*>> clamps_;  // max(v, 0) and v >= 0, by v
  std::vector<Value> to_;                             // in what is visited
  std::vector<Value> trail_;                          // what `to_` was set for, in order
  Value constants_[2];
  size_t made_ = 0;              // of constants_
  std::set<Value> ranged_over_;  // by statements that dominate what is visited
  std::vector<Value> ranges_;    // the same, in order
  bool changed_ = false;
};

}  // namespace

bool PropagateConditions(ir::Function& f, const RewriteOptions& options) {
  return Propagation(f, options).Run();
}

}  // namespace pullback::opt
