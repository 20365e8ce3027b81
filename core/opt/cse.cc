// Value numbering over the dominator tree: an instruction that computes what one which dominates it has
// computed gives that one's value.
#include <absl/container/flat_hash_set.h>
#include <absl/hash/hash.h>

#include <tuple>

#include "core/ir/dominance.h"
#include "core/opt/rename.h"
#include "core/opt/simplify.h"

namespace pullback::opt {
namespace {

using ir::Inst;
using ir::Value;

bool IsShareable(const Inst& inst, const ir::Function& f) {
  if (inst.results.size() != 1 || (ir::Info(inst.op).flags & ir::kEffect) || inst.each)
    return false;
  const ir::Type t = f.TypeOf(inst.results[0]);
  return !t.IsArray() && !t.IsList();  // sharing an array would cost an update its unique owner
}

// The operands; of an op that commutes, in order.
struct Operands {
  explicit Operands(const Inst& inst) : args(inst.args) {
    if ((ir::Info(inst.op).flags & ir::kCommutes) && args[1] < args[0])
      swapped = {args[1], args[0]};
  }
  ir::ValueSpan get() const { return swapped.empty() ? args : ir::ValueSpan(swapped); }

  ir::ValueSpan args;
  absl::InlinedVector<Value, 2> swapped;
};

// Instructions by what they compute. The operands of those in a set do not change.
struct ComputationHash {
  size_t operator()(const Inst* inst) const {
    size_t hash = absl::HashOf(static_cast<int>(inst->op), inst->bits, inst->guard.id);
    const Operands operands(*inst);
    for (Value v : operands.get()) hash = absl::HashOf(hash, v.id);
    for (const ir::Affine& a : inst->subs) hash = Mix(hash, a);
    for (const ir::Constraint& c : inst->constraints)
      hash = Mix(absl::HashOf(hash, c.equality), c.e);
    return hash;
  }
  static size_t Mix(size_t hash, const ir::Affine& a) {
    hash = absl::HashOf(hash, a.constant, a.terms.size());
    for (const ir::Affine::Term& t : a.terms) hash = absl::HashOf(hash, t.value.id, t.coeff);
    return hash;
  }
};
struct ComputationEq {
  bool operator()(const Inst* a, const Inst* b) const {
    const auto key = [&](const Inst* i) {
      return std::tuple(i->op, f->TypeOf(i->results[0]).elem, i->guard, i->bits);
    };
    return key(a) == key(b) && Operands(*a).get() == Operands(*b).get() && a->subs == b->subs &&
           a->constraints == b->constraints;
  }
  const ir::Function* f;
};
using Table = absl::flat_hash_set<const Inst*, ComputationHash, ComputationEq>;

// Ancestors looked at: keeps long chains of arms linear.
constexpr int kMaxDepth = 32;

class Numbering {
 public:
  explicit Numbering(ir::Function& f) : f_(f), renaming_(f), body_(MakeTable()) {}

  bool Run() {
    const ir::Dominators dominators(f_);
    const size_t n = f_.blocks.size();
    tables_.assign(n, MakeTable());
    parents_.assign(n, -1);
    for (uint32_t b : dominators.order()) {
      if (b != 0) parents_[b] = static_cast<int>(dominators.Idom(b));
      for (Inst& inst : f_.blocks[b].insts) Visit(inst, b);
      renaming_.Apply(f_.blocks[b].term);
    }
    renaming_.Apply(f_);
    return renaming_.any();
  }

 private:
  Table MakeTable() const { return Table(0, ComputationHash{}, ComputationEq{&f_}); }

  void Visit(Inst& inst, uint32_t b) {
    renaming_.Apply(inst);
    if (inst.each) VisitBody(*inst.each);
    if (!IsShareable(inst, f_)) return;
    int steps = 0;
    for (int at = static_cast<int>(b); at >= 0 && steps < kMaxDepth;
         at = parents_[static_cast<size_t>(at)], ++steps) {
      const Table& table = tables_[static_cast<size_t>(at)];
      if (const auto it = table.find(&inst); it != table.end()) {
        renaming_.Set(inst.results[0], (*it)->results[0]);
        return;
      }
    }
    tables_[b].insert(&inst);
  }

  void VisitBody(ir::Each& each) {
    body_.clear();
    for (Inst& inst : each.body) {
      renaming_.Apply(inst);
      if (!IsShareable(inst, f_)) continue;
      const auto [it, fresh] = body_.insert(&inst);
      if (!fresh) renaming_.Set(inst.results[0], (*it)->results[0]);
    }
    // The results are renamed by the final Apply over the function.
  }

  ir::Function& f_;
  Renaming renaming_;
  Table body_;  // of the statement that is visited
  std::vector<Table> tables_;
  std::vector<int> parents_;
};

}  // namespace

bool EliminateCommonSubexpressions(ir::Function& f) { return Numbering(f).Run(); }

}  // namespace pullback::opt
