// A total over the rows of an array larger than the function's own, which another block makes and of which turns of a loop in between
// take rows, is one of what each row gives:
//
//   %t = each(i < n, j < h) { … %z[i, j] … } sum []
//
//   %s = each(i < n, j < h) { … %z[i, j] … } sum [i] of (n)
//   %t = each(i < n) { %s[i] } sum []
//
// The loop can make %s with the rows then (core/opt/row_asides.h). So can it what is made of rows of z in between. Terms are added in another order. Comes before derivatives are taken.
#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/ir/own_arrays.h"
#include "core/tensor/normalise.h"
#include "core/tensor/statement_edit.h"
#include "core/tensor/turn_values.h"

namespace pullback::tensor {
namespace {

using ir::Affine;
using ir::Each;
using ir::EachResult;
using ir::Inst;
using ir::Monoid;
using ir::Op;
using ir::Value;

class TotalSplitter {
 public:
  explicit TotalSplitter(ir::Function& f) : f_(f), own_(f) {}

  bool Run() {
    const std::set<Value> taken = TurnValues(f_).ArraysTaken(f_);
    for (uint32_t b = 0; b < f_.blocks.size() && !taken.empty(); ++b) {
      for (const Inst& inst : f_.blocks[b].insts) {
        for (size_t k = 0; inst.each && k < inst.results.size(); ++k) {
          if (taken.contains(inst.results[k]) && !own_.IsNoLarger(inst.each->results[k].shape))
            large_[inst.results[k].id] = b;
        }
      }
    }
    if (large_.empty()) return false;
    bool changed = false;
    for (uint32_t b = 0; b < f_.blocks.size(); ++b) {
      std::vector<Inst> out;
      for (Inst& inst : f_.blocks[b].insts) {
        const bool splits = inst.each && TotalsOfRows(*inst.each, b);
        if (splits) out.push_back(RowsOf(inst));
        changed |= splits;
        if (inst.each) LearnMadeOfRows(inst, b);
        out.push_back(std::move(inst));
      }
      f_.blocks[b].insts = std::move(out);
    }
    return changed;
  }

 private:
  bool TotalsOfRows(const Each& each, uint32_t block) const {
    if (each.results.size() != 1 || each.indices.empty()) return false;
    const EachResult& r = each.results[0];
    const Value row = each.indices[0].var;
    if (!r.out.empty() || r.guard.valid() || !f_.TypeOf(r.value).IsFloat() ||
        (r.monoid != Monoid::kSum && r.monoid != Monoid::kMax && r.monoid != Monoid::kMin) ||
        (each.indices.size() == 1 && !each.where.empty()))
      return false;
    return std::any_of(each.body.begin(), each.body.end(), [&](const Inst& read) {
      const auto large = read.op == Op::Index ? large_.find(read.args[0].id) : large_.end();
      return large != large_.end() && large->second != block && read.subs[0].Coeff(row) != 0;
    });
  }

  // What is made of rows of these behind the loop is as they are.
  void LearnMadeOfRows(const Inst& inst, uint32_t block) {
    for (size_t k = 0; k < inst.results.size(); ++k) {
      const EachResult& r = inst.each->results[k];
      if (r.out.size() < 2 || own_.IsNoLarger(r.shape)) continue;
      for (const Inst& read : inst.each->body) {
        const auto large = read.op == Op::Index ? large_.find(read.args[0].id) : large_.end();
        const Value row = r.out[0].AsValue();
        if (large != large_.end() && large->second != block && row.valid() &&
            read.subs[0].Coeff(row) != 0) {
          const uint32_t made_in = large->second;
          large_[inst.results[k].id] = made_in;
          break;
        }
      }
    }
  }

  // `total` is of what this makes.
  Inst RowsOf(Inst& total) {
    Inst rows = CopyStatement(total, f_).inst;
    Each& each = *rows.each;
    EachResult& r = each.results[0];
    const Value extent = each.indices[0].extent;
    r.out = {Affine::Of(each.indices[0].var)};
    r.shape = {extent};
    if (each.indices.size() == 1) r.monoid = Monoid::kGen;
    rows.results = {f_.NewValue(ir::Type::Array(f_.TypeOf(r.value).elem, 1))};

    EachResult of = total.each->results[0];
    auto each_row = std::make_unique<Each>();
    const Value row = f_.NewLike(f_, total.each->indices[0].var);
    each_row->indices.push_back({row, extent});
    Inst& read = each_row->body.emplace_back();
    read.op = Op::Index;
    read.loc = total.loc;
    read.args = {rows.results[0]};
    read.subs = {Affine::Of(row)};
    read.results = {f_.NewValue(f_.TypeOf(rows.results[0]).Element())};
    of.value = read.results[0];
    each_row->results.push_back(std::move(of));
    total.each = std::move(each_row);
    return rows;
  }

  ir::Function& f_;
  const ir::OwnArrays own_;
  std::unordered_map<uint32_t, uint32_t> large_;  // by array, its block
};

}  // namespace

bool SplitTotals(ir::Function& f) { return f.blocks.size() > 1 && TotalSplitter(f).Run(); }

}  // namespace pullback::tensor
