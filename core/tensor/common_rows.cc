// Statements that make and read arrays larger than the function's own run over one index first, if there is one by which
// all of them can (row_groups.h). Terms of sums may then be added in another order: of a sum over that index and others,
// each turn's is a sum of its own, of which the sum is made:
//
//   g = each(i < n, k < c, a < h, j < d): sum [i, k]: e        s = each(a < h, i < n, k < c, j < d): sum [a, i, k]: e
//                                                              g = each(a < h, i < n, k < c): sum [i, k]: s[a, i, k]
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "core/ir/known_extents.h"
#include "core/ir/own_arrays.h"
#include "core/ir/statements.h"
#include "core/tensor/mirror_scans.h"
#include "core/tensor/normalise.h"
#include "core/tensor/row_groups.h"
#include "core/tensor/statement_edit.h"
#include "core/tensor/sum_statements.h"

namespace pullback::tensor {
namespace {

using ir::Affine;
using ir::Each;
using ir::EachResult;
using ir::Inst;
using ir::Op;
using ir::Value;

constexpr size_t kDepths = 2;   // of loops that the arrays are by rows of
constexpr int kMostRounds = 4;  // at each

class BlockRows {
 public:
  BlockRows(ir::Function& f, ir::Block& block, const ir::OwnArrays& own,
            const ir::KnownExtents& extents, const std::vector<bool>& elsewhere)
      : f_(f), insts_(block.insts), own_(own), extents_(extents), elsewhere_(elsewhere) {}

  bool Run() {
    SumStatements sums(f_, insts_, [](const ir::Values&) { return true; });
    bool changed = false;
    for (size_t depth = 0; depth < kDepths; ++depth) {
      changed |= RunRounds(depth);
      changed |= Mirror(depth);
    }
    sums.PutBack(insts_, [](const Inst& inst) { return !IsPlainSum(*inst.each); });
    return changed;
  }

 private:
  bool RunRounds(size_t depth) {
    bool changed = false;
    for (int round = 0; round < kMostRounds && RunOnce(depth); ++round) changed = true;
    return changed;
  }
  // Scans from the end run forwards, where fewer arrays are kept then.
  bool Mirror(size_t depth) {
    bool changed = false;
    for (int round = 0; round < kMostRounds && MirrorOnce(depth); ++round) changed = true;
    return changed;
  }
  bool MirrorOnce(size_t depth) {
    const std::vector<MirrorWay> ways = MirrorWays(insts_);
    if (ways.empty() || CountKept(depth) == 0) return false;
    std::vector<size_t> fewest = CountKeptUpTo(depth);
    std::vector<Inst> best = insts_;
    bool found = false;
    for (const std::vector<Inst> now = insts_; const MirrorWay& way : ways) {
      auto mirrored = MirrorScans(f_, now, own_, elsewhere_, way);
      if (!mirrored) continue;
      insts_ = *std::move(mirrored);
      RunRounds(depth);
      std::vector<size_t> kept = CountKeptUpTo(depth);
      if (kept >= fewest) continue;
      fewest = std::move(kept);
      best = insts_;
      found = true;
    }
    insts_ = std::move(best);
    return found;
  }
  size_t CountKept(size_t depth) const {
    return tensor::CountKept(insts_, own_, elsewhere_, depth);
  }
  std::vector<size_t> CountKeptUpTo(size_t depth) const {
    std::vector<size_t> kept;
    for (size_t d = 0; d <= depth; ++d) kept.push_back(CountKept(d));
    return kept;
  }
  // False: there is no better order at that depth.
  bool RunOnce(size_t depth) {
    const std::vector<RowPlan> plans =
        RowGroups(f_, insts_, own_, extents_, elsewhere_, depth).Plans();
    std::set<size_t> split;
    for (const RowPlan& plan : plans) {
      Apply(plan, depth);
      split.insert(plan.split.begin(), plan.split.end());
    }
    for (auto at = split.rbegin(); at != split.rend(); ++at) Split(*at, depth + 1);
    return !plans.empty();
  }

  // Both arrays have their axes in the order that the sum has.
  static bool IsPlainSum(const Each& each) {
    return std::all_of(each.body.begin(), each.body.end(), [&](const Inst& inst) {
      return inst.op != Op::Index ||
             std::equal(inst.subs.begin(), inst.subs.end(), each.results[0].out.begin());
    });
  }

  void Apply(const RowPlan& plan, size_t depth) {
    for (const auto& [at, index] : plan.first) BringIndexTo(*insts_[at].each, depth, index);
    for (Inst& inst : insts_) {
      if (inst.each) TurnAxes(inst, plan.axes, depth);
    }
  }

  // By its first indices.
  void Split(size_t at, size_t count) {
    Inst& turns = insts_[at];
    EachResult& r = turns.each->results[0];
    Inst sum;
    sum.op = Op::Each;
    sum.loc = turns.loc;
    sum.results = turns.results;
    sum.each = std::make_unique<Each>();
    EachResult& s = sum.each->results.emplace_back();
    s.monoid = r.monoid;
    s.shape = r.shape;
    s.loc = r.loc;
    Inst& read = sum.each->body.emplace_back();
    read.op = Op::Index;
    ir::Affines out;
    ir::Values shape;
    std::map<Value, Affine> own;  // by index of the turns' sums, that of the sum of these
    const auto add_axis = [&](Value index, Value extent) {
      const Value mine = f_.NewLike(f_, index);
      sum.each->indices.push_back({mine, extent});
      own.emplace(index, Affine::Of(mine));
      out.push_back(Affine::Of(index));
      shape.push_back(extent);
      read.subs.push_back(Affine::Of(mine));
    };
    for (size_t k = 0; k < count; ++k)
      add_axis(turns.each->indices[k].var, turns.each->indices[k].extent);
    for (size_t k = 0; k < r.out.size(); ++k) {
      const Value index = r.out[k].AsValue();
      if (!own.contains(index)) add_axis(index, r.shape[k]);
      s.out.push_back(own.at(index));
    }
    if (r.monoid == ir::Monoid::kSum) sum.each->where = OnOuter(*turns.each, own);
    const ir::Type type = f_.TypeOf(turns.results[0]);
    turns.results = {f_.NewValue(ir::Type::Array(type.elem, static_cast<int>(out.size())))};
    r.out = std::move(out);
    r.shape = std::move(shape);
    read.args = {turns.results[0]};
    read.results = {f_.NewValue(type.Element())};
    s.value = read.results[0];
    insts_.insert(insts_.begin() + static_cast<std::ptrdiff_t>(at) + 1, std::move(sum));
  }

  // What the statement's points fulfil, of these of its indices alone: where it does not hold its sums are 0.
  static std::vector<ir::Constraint> OnOuter(const Each& each, const std::map<Value, Affine>& own) {
    std::vector<ir::Constraint> on_outer;
    for (ir::Constraint c : each.where) {
      const bool all = std::all_of(
          each.indices.begin(), each.indices.end(),
          [&](const ir::IndexVar& i) { return own.contains(i.var) || c.e.Coeff(i.var) == 0; });
      if (!all) continue;
      for (const auto& [index, mine] : own) c.e = c.e.Substitute(index, mine);
      on_outer.push_back(std::move(c));
    }
    return on_outer;
  }

  ir::Function& f_;
  std::vector<Inst>& insts_;
  const ir::OwnArrays& own_;
  const ir::KnownExtents& extents_;
  const std::vector<bool>& elsewhere_;  // of the values that there were in the beginning
};

}  // namespace

bool CommonRows(ir::Function& f) {
  const ir::OwnArrays own(f);
  const ir::KnownExtents extents = ir::FindKnownExtents(f);
  const std::vector<bool> elsewhere = ir::UsedElsewhere(f);
  bool changed = false;
  for (ir::Block& b : f.blocks) changed |= BlockRows(f, b, own, extents, elsewhere).Run();
  return changed;
}

}  // namespace pullback::tensor
