// Statements that make and read arrays larger than the function's own run over one index first, if there is one by which
// all of them can (row_groups.h). Terms of sums may then be added in another order: of a sum over that index and others,
// each turn's is a sum of its own, of which the sum is made:
//
//   g = each(i < n, k < c, a < h, j < d): sum [i, k]: e        s = each(a < h, i < n, k < c, j < d): sum [a, i, k]: e
//                                                              g = each(a < h, i < n, k < c): sum [i, k]: s[a, i, k]
#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "core/ir/own_arrays.h"
#include "core/ir/statements.h"
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

constexpr int kMostRounds = 4;  // of rows inside rows

class BlockRows {
 public:
  BlockRows(ir::Function& f, ir::Block& block, const ir::OwnArrays& own,
            const std::vector<bool>& elsewhere)
      : f_(f), insts_(block.insts), own_(own), elsewhere_(elsewhere) {}

  bool Run() {
    SumStatements sums(f_, insts_, [](const ir::Values&) { return true; });
    bool changed = false;
    for (int round = 0; round < kMostRounds; ++round) {
      const std::vector<RowPlan> plans = RowGroups(f_, insts_, own_, elsewhere_).Plans();
      if (plans.empty()) break;
      changed = true;
      std::set<size_t> split;
      for (const RowPlan& plan : plans) {
        Apply(plan);
        split.insert(plan.split.begin(), plan.split.end());
      }
      for (auto at = split.rbegin(); at != split.rend(); ++at) Split(*at);
    }
    sums.PutBack(insts_, [](const Inst& inst) { return !IsPlainSum(*inst.each); });
    return changed;
  }

 private:
  // Both arrays have their axes in the order that the sum has.
  static bool IsPlainSum(const Each& each) {
    return std::all_of(each.body.begin(), each.body.end(), [&](const Inst& inst) {
      return inst.op != Op::Index ||
             std::equal(inst.subs.begin(), inst.subs.end(), each.results[0].out.begin());
    });
  }

  void Apply(const RowPlan& plan) {
    for (const auto& [at, index] : plan.first) ir::BringIndicesFirst(*insts_[at].each, {&index, 1});
    for (Inst& inst : insts_) {
      if (inst.each) TurnAxes(inst, plan.axes);
    }
  }

  // By its first index.
  void Split(size_t at) {
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
    const auto name = [&](Value index, Value extent) {
      const Value own = f_.NewLike(f_, index);
      sum.each->indices.push_back({own, extent});
      return Affine::Of(own);
    };
    const ir::IndexVar first = turns.each->indices[0];
    Inst& read = sum.each->body.emplace_back();
    read.op = Op::Index;
    read.subs.push_back(name(first.var, first.extent));
    for (size_t k = 0; k < r.out.size(); ++k) {
      s.out.push_back(name(r.out[k].AsValue(), r.shape[k]));
      read.subs.push_back(s.out.back());
    }
    const ir::Type type = f_.TypeOf(turns.results[0]);
    turns.results = {f_.NewValue(ir::Type::Array(type.elem, type.rank + 1))};
    r.out.insert(r.out.begin(), Affine::Of(first.var));
    r.shape.insert(r.shape.begin(), first.extent);
    read.args = {turns.results[0]};
    read.results = {f_.NewValue(type.Element())};
    s.value = read.results[0];
    insts_.insert(insts_.begin() + static_cast<std::ptrdiff_t>(at) + 1, std::move(sum));
  }

  ir::Function& f_;
  std::vector<Inst>& insts_;
  const ir::OwnArrays& own_;
  const std::vector<bool>& elsewhere_;  // of the values that there were in the beginning
};

}  // namespace

bool CommonRows(ir::Function& f) {
  const ir::OwnArrays own(f);
  const std::vector<bool> elsewhere = ir::UsedElsewhere(f);
  bool changed = false;
  for (ir::Block& b : f.blocks) changed |= BlockRows(f, b, own, elsewhere).Run();
  return changed;
}

}  // namespace pullback::tensor
