// Fission of a statement in a loop of blocks, only where a part moves out (dF~'s 8g with invariant motion): what its
// body computes alike in every turn, and dearly, becomes a statement of its own, whose results the rest reads. The
// partials of a called function in a loop over seeds are the case: once a point instead of once a point and seed.
#include <algorithm>
#include <iterator>

#include "core/ir/op_weight.h"
#include "core/opt/invariants.h"
#include "core/opt/simplify.h"

namespace pullback::opt {
namespace {

using ir::Each;
using ir::Inst;
using ir::Op;
using ir::Value;

constexpr size_t kMostValues = 64;  // that are stored for each point

class Fission {
 public:
  Fission(ir::Function& f, const RewriteOptions& options)
      : f_(f), options_(options), dominators_(f), invariants_(f, dominators_), round_(f) {}

  // Splits a statement in each of at most so many loops; how many.
  size_t Run(size_t most) {
    size_t split = 0;
    for (const BlockLoop& loop : FindLoops(f_, dominators_)) {
      if (split == most) break;
      if (round_.IsUntouched(loop) && MayMoveOutOf(f_, loop) && SplitOne(loop)) ++split;
    }
    return split;
  }

 private:
  // Positions are others then.
  bool SplitOne(const BlockLoop& loop) {
    std::vector<uint32_t> chain;
    const ValueIds invariant = invariants_.Find(loop, chain);
    for (uint32_t b : chain) {
      if (b == loop.header) continue;
      std::vector<Inst>& insts = f_.blocks[b].insts;
      for (size_t k = 0; k < insts.size(); ++k) {
        if (!insts[k].each || invariant.contains(insts[k].results[0].id)) continue;
        const std::vector<Value> stored = FindStored(*insts[k].each, loop, invariant);
        if (stored.empty() || stored.size() > kMostValues) continue;
        if (!options_.Take(RuleId::kFissionOfInvariants)) return false;
        Inst part = Split(insts[k], stored);
        insts.insert(insts.begin() + static_cast<long>(k), std::move(part));
        round_.Touch(loop);
        return true;
      }
    }
    return false;
  }

  // What the rest of the body reads of what is dear and the same in every turn; nothing where the space is not
  // that of the results, whose size is then what is stored for each value.
  std::vector<Value> FindStored(const Each& each, const BlockLoop& loop,
                                const ValueIds& invariant) const {
    bool fixed = true;
    const auto look = [&](Value v) { fixed &= invariants_.IsFixed(v, loop, invariant); };
    for (const ir::IndexVar& i : each.indices) look(i.extent);
    for (const ir::Constraint& c : each.where) ir::ForEachOperand(c.e, look);
    if (!fixed || each.indices.empty()) return {};
    for (const ir::EachResult& r : each.results) {
      if (r.monoid != ir::Monoid::kGen || r.out.size() < each.indices.size()) return {};
    }
    ValueIds varied, dear, read;
    for (const Inst& inst : each.body) {
      bool same = inst.op != Op::Jvp && inst.op != Op::Vjp, costs = ir::IsDear(inst);
      ir::ForEachOperand(inst, [&](Value v) {
        same &= !varied.contains(v.id) && invariants_.IsFixed(v, loop, invariant);
        costs |= dear.contains(v.id);
      });
      for (Value v : inst.results) {
        if (!same) varied.insert(v.id);
        if (same && costs) dear.insert(v.id);
      }
      if (!same) ir::ForEachOperand(inst, [&](Value v) { read.insert(v.id); });
    }
    for (const ir::EachResult& r : each.results) {
      for (const ir::Affine& a : r.out) ir::ForEachOperand(a, [&](Value v) { read.insert(v.id); });
      for (Value v : {r.value, r.guard}) {
        if (v.valid()) read.insert(v.id);
      }
    }
    std::vector<Value> stored;
    for (const Inst& inst : each.body) {
      std::copy_if(inst.results.begin(), inst.results.end(), std::back_inserter(stored),
                   [&](Value v) { return dear.contains(v.id) && read.contains(v.id); });
    }
    return stored;
  }

  // The new statement, which stores; `inst` reads. What either does not need is dead code.
  Inst Split(Inst& inst, const std::vector<Value>& stored) {
    const auto is_stored = [&](Value v) {
      return std::find(stored.begin(), stored.end(), v) != stored.end();
    };
    Copier names(f_);
    Inst part = names.Copy(inst);
    part.results.clear();
    part.each->results.clear();
    Each& rest = *inst.each;
    std::vector<Inst> reads;
    for (Value v : stored) {
      const int rank = static_cast<int>(rest.indices.size());
      const Value array = f_.NewValue(ir::Type::Array(f_.TypeOf(v).elem, rank));
      ir::EachResult r;
      Inst read;
      read.op = Op::Index;
      read.args = {array};
      read.results = {v};
      read.loc = inst.loc;
      for (size_t k = 0; k < rest.indices.size(); ++k) {
        r.out.push_back(ir::Affine::Of(part.each->indices[k].var));
        r.shape.push_back(rest.indices[k].extent);
        read.subs.push_back(ir::Affine::Of(rest.indices[k].var));
      }
      r.value = names.Get(v);
      part.results.push_back(array);
      part.each->results.push_back(std::move(r));
      reads.push_back(std::move(read));
    }
    // A value of the old body that nobody reads any more keeps its definition, under another name.
    for (Inst& body : rest.body) {
      for (Value& v : body.results) {
        if (is_stored(v)) v = f_.NewValue(f_.TypeOf(v));
      }
    }
    rest.body.insert(rest.body.begin(), std::make_move_iterator(reads.begin()),
                     std::make_move_iterator(reads.end()));
    return part;
  }

  ir::Function& f_;
  const RewriteOptions& options_;
  const ir::Dominators dominators_;
  const LoopInvariants invariants_;
  LoopRound round_;
};

}  // namespace

size_t SplitInvariants(ir::Function& f, const RewriteOptions& options) {
  const size_t most = 2 + f.blocks.size();
  size_t split = 0;
  while (split < most) {
    const size_t more = Fission(f, options).Run(most - split);
    if (more == 0) break;
    split += more;
    EliminateDeadCode(f, options);
  }
  return split;
}

}  // namespace pullback::opt
