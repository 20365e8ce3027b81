// Value numbering over the dominator tree: an instruction that computes what one which dominates it has
// computed gives that one's value. In a statement's body, integers that the blocks have computed, too: what an index is moved by, or
// ends at, has one name.
#include <absl/container/flat_hash_map.h>
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

// Ancestors looked at.
constexpr uint32_t kMaxDepth = 32;

class Numbering {
 public:
  Numbering(ir::Function& f, const RewriteOptions& options)
      : f_(f),
        options_(options),
        renaming_(f),
        dominators_(f),
        depth_(f.blocks.size()),
        latest_(0, ComputationHash{}, ComputationEq{&f}),
        body_(0, ComputationHash{}, ComputationEq{&f}) {}

  bool Run() {
    size_t insts = 0;
    for (const ir::Block& b : f_.blocks) insts += b.insts.size();
    latest_.reserve(insts);  // to grow is to hash again
    std::vector<uint32_t> open = {0};
    while (!open.empty()) {
      const uint32_t b = open.back();
      open.pop_back();
      if (b != 0) depth_[b] = depth_[dominators_.Idom(b)] + 1;
      for (Inst& inst : f_.blocks[b].insts) Visit(inst, b);
      renaming_.Apply(f_.blocks[b].term);
      const auto children = dominators_.Children(b);
      open.insert(open.end(), children.begin(), children.end());
    }
    renaming_.Apply(f_);
    return renaming_.any();
  }

 private:
  // Of equal computations on the way to the block that is visited, one that was found before in `below`.
  struct Found {
    Value value;
    uint32_t block, below;
  };
  static constexpr uint32_t kNone = UINT32_MAX;

  void Visit(Inst& inst, uint32_t b) {
    renaming_.Apply(inst);
    if (inst.each) VisitBody(*inst.each, b);
    if (!IsShareable(inst, f_)) return;
    uint32_t& latest = latest_.try_emplace(&inst, kNone).first->second;
    if (Replace(inst, b, latest)) return;
    found_.push_back({inst.results[0], b, latest});
    latest = static_cast<uint32_t>(found_.size() - 1);
  }

  // By what has been found on the way to the block; `latest`: of equal computations.
  bool Replace(const Inst& inst, uint32_t b, uint32_t& latest) {
    // The walk is in preorder: a subtree that it has left it does not enter again.
    while (latest != kNone && !dominators_.Dominates(found_[latest].block, b))
      latest = found_[latest].below;
    if (latest == kNone || depth_[b] - depth_[found_[latest].block] >= kMaxDepth ||
        !options_.Take(RuleId::kCommonSubexpression))
      return false;
    renaming_.Set(inst.results[0], found_[latest].value);
    return true;
  }

  // By what the blocks have computed of the same values and numbers.
  bool ReplaceByOuter(const Inst& inst, uint32_t b) {
    if (inst.op == ir::Op::Const) {
      const auto number = latest_.find(&inst);
      if (number == latest_.end() || number->second == kNone) return false;
      const Found& outer = found_[number->second];
      if (dominators_.Dominates(outer.block, b)) numbers_[inst.results[0].id] = outer.value;
      return false;
    }
    if (inst.args.empty() || inst.guard.valid() || inst.op == ir::Op::Index) return false;
    Inst same = inst;
    for (Value& v : same.args) {
      if (const auto it = numbers_.find(v.id); it != numbers_.end()) v = it->second;
    }
    const auto known = latest_.find(&same);
    return known != latest_.end() && Replace(inst, b, known->second);
  }

  void VisitBody(ir::Each& each, uint32_t b) {
    body_.clear();
    numbers_.clear();
    for (Inst& inst : each.body) {
      renaming_.Apply(inst);
      if (!IsShareable(inst, f_)) continue;
      if (f_.TypeOf(inst.results[0]) == ir::Type::I64() && ReplaceByOuter(inst, b)) continue;
      const auto [it, fresh] = body_.insert(&inst);
      if (!fresh && options_.Take(RuleId::kCommonSubexpression))
        renaming_.Set(inst.results[0], (*it)->results[0]);
    }
    // The results are renamed by the final Apply over the function.
  }

  ir::Function& f_;
  const RewriteOptions& options_;
  Renaming renaming_;
  const ir::Dominators dominators_;
  std::vector<uint32_t> depth_;  // in the dominator tree, by block
  std::vector<Found> found_;
  absl::flat_hash_map<const Inst*, uint32_t, ComputationHash, ComputationEq> latest_;  // in found_
  absl::flat_hash_set<const Inst*, ComputationHash, ComputationEq>
      body_;                                      // of the statement that is visited
  absl::flat_hash_map<uint32_t, Value> numbers_;  // of its body, by those of the blocks
};

}  // namespace

bool EliminateCommonSubexpressions(ir::Function& f, const RewriteOptions& options) {
  return Numbering(f, options).Run();
}

}  // namespace pullback::opt
