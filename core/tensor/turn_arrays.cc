// Arrays that are made by rows and read by columns, with the column's index in front of the reader's others: made by
// columns, a turn of that index needs what one turn makes (core/loops/fuse_rows.h).
//
//   v = each(i < n, j < m): gen [i, j] of (n, m): e       v = each(j < m, i < n): gen [j, i] of (m, n): e
//   s = each(j < m, i < n): sum [j]: f(v[i, j])           s = each(j < m, i < n): sum [j]: f(v[j, i])
//
// No element and no order of terms is another. Contractions stay, unless the array may be larger than any of the function's own:
// one at a time they are dot products. Of x @ w, which would go down a column of w for each row of x, x is turned first, where
// that is no larger than the function's own arrays and columns are needed in front of a total of theirs and behind it
// (core/opt/fuse.cc leaves it so):
//
//   v = each(i, j, k): sum [i, j]: x[i, k] * w[k, j]      u = each(k, i) where (1 <= m): gen [k, i]: x[i, k]
//                                                         v = each(j, i, k): sum [j, i]: u[k, i] * w[k, j]
#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/ir/axis_extents.h"
#include "core/ir/own_arrays.h"
#include "core/ir/statements.h"
#include "core/tensor/array_reads.h"
#include "core/tensor/normalise.h"
#include "core/tensor/statement_edit.h"

namespace pullback::tensor {
namespace {

using ir::Affine;
using ir::Each;
using ir::EachResult;
using ir::Inst;
using ir::Op;
using ir::Value;

constexpr size_t kMostInsts = 256;

class Turner {
 public:
  explicit Turner(ir::Function& f) : f_(f), own_(f), extents_(f) {}

  bool Run() {
    const ArrayReads reads(f_);
    // Readers first: the statement of one that is turned runs by another index first.
    for (auto b = f_.blocks.rbegin(); b != f_.blocks.rend(); ++b) {
      for (size_t k = b->insts.size(); k-- > 0;) {
        if (!b->insts[k].each || b->insts[k].results.size() != 1) continue;
        Visit(*b, k, reads);
        b->insts.insert(b->insts.begin() + static_cast<long>(k),
                        std::make_move_iterator(factors_.begin()),
                        std::make_move_iterator(factors_.end()));
        factors_.clear();
      }
    }
    if (turned_.empty()) return changed_;
    for (ir::Block& b : f_.blocks) {
      for (Inst& inst : b.insts) {
        if (inst.each) TurnReads(*inst.each);
      }
    }
    return true;
  }

 private:
  void Visit(ir::Block& b, size_t k, const ArrayReads& reads) {
    Inst& inst = b.insts[k];
    const Value array = inst.results[0];
    if (f_.TypeOf(array).rank < 2 || !reads.OnlyByStatements(array)) return;
    const std::optional<size_t> axis = reads.FirstIndexAxis(array);
    if (axis && *axis == 0 && IsContraction(*inst.each)) TurnFactorsOfColumns(*inst.each);
    if (!axis || *axis == 0 || !IsReadByColumns(array, reads)) return;
    if (IsContraction(*inst.each) && !IsNeededTwice(array, b.insts, k + 1)) return;
    if (!IsContraction(*inst.each) && IsOfRowsThatStay(*inst.each, *axis, b.insts, k)) return;
    if (!Turn(*inst.each, *axis)) return;
    turned_[array.id] = *axis;
  }

  // Whether readers run over whole columns: not over rows that turns of a loop, or numbers, name.
  static bool IsReadByColumns(Value array, const ArrayReads& reads) {
    return std::all_of(reads.Of(array).begin(), reads.Of(array).end(), [](const auto& read) {
      return std::all_of(read.inst->subs.begin(), read.inst->subs.end(), [&](const Affine& sub) {
        return std::any_of(sub.terms.begin(), sub.terms.end(), [&](const Affine::Term& t) {
          return PlaceOfIndex(*read.statement, t.value) || FindDef(*read.statement, t.value);
        });
      });
    });
  }

  // Whether it takes elements of a large product in front of it, by rows in which that is made and stays: then one turn of a row can
  // make both, and what sums columns can add to all of them.
  bool IsOfRowsThatStay(const Each& each, size_t axis, const std::vector<Inst>& insts,
                        size_t k) const {
    const EachResult& r = each.results[0];
    if (r.monoid != ir::Monoid::kGen) return false;
    return std::any_of(each.body.begin(), each.body.end(), [&](const Inst& read) {
      if (read.op != Op::Index || ir::AffineSpan(read.subs) != ir::AffineSpan(r.out)) return false;
      const size_t first = k < kMostInsts ? 0 : k - kMostInsts;
      for (size_t at = first; at < k; ++at) {
        const Inst& maker = insts[at];
        if (maker.results.empty() || maker.results[0] != read.args[0]) continue;
        return maker.each && maker.results.size() == 1 && IsContraction(*maker.each) &&
               !own_.IsNoLarger(maker.each->results[0].shape) &&
               !(axis == 1 && IsNeededTwice(maker.results[0], insts, at + 1));
      }
      return false;
    });
  }

  // Whether elements of it, or of what is made of it element by element, are needed in front of a total of theirs and behind
  // it. Sums alone take rows as well as columns. Looks at some of the instructions from `k` on.
  bool IsNeededTwice(Value array, const std::vector<Inst>& insts, size_t k) const {
    std::set<Value> elements = {array}, totals;
    const size_t end = std::min(insts.size(), k + kMostInsts);
    for (; k < end; ++k) {
      bool of_elements = false, of_totals = false;
      ir::ForEachOperand(insts[k], [&](Value v) {
        of_elements |= elements.contains(v);
        of_totals |= totals.contains(v);
      });
      if (of_elements && of_totals) return true;
      if (!of_elements && !of_totals) continue;
      for (Value v : insts[k].results) {
        const bool alike =
            of_elements && f_.TypeOf(v) == f_.TypeOf(array) && IsElementwise(insts[k]);
        (alike ? elements : totals).insert(v);
      }
    }
    return false;
  }
  static bool IsElementwise(const Inst& inst) {
    return inst.each && inst.each->results.size() == 1 &&
           inst.each->results[0].monoid == ir::Monoid::kGen;
  }

  bool Turn(Each& each, size_t axis) {
    EachResult& r = each.results[0];
    if (r.into.valid() || ir::IsScan(r.monoid) || ir::IsArg(r.monoid)) return false;
    if (!ir::IsPrefixForm(each, r)) return false;
    if (IsContraction(each) && (own_.IsNoLarger(r.shape) || !TurnFactors(each, axis))) return false;
    ir::BringToFront(each.indices, axis);
    ir::BringToFront(r.out, axis);
    ir::BringToFront(r.shape, axis);
    return true;
  }

  // Of a product that is written by columns and read so, `gen j < m { x @ w[:, j] }`.
  void TurnFactorsOfColumns(Each& each) {
    const EachResult& r = each.results[0];
    if (!r.into.valid() && ir::IsPrefixForm(each, r) && !own_.IsNoLarger(r.shape))
      changed_ |= WalksAcrossRows(each, /*with_results=*/false) && TurnFactors(each, 0);
  }

  // So that what is made by columns goes along rows of what it is made of, as it did by rows; false: it would not.
  bool TurnFactors(Each& each, size_t axis) {
    if (!WalksAcrossRows(each, /*with_results=*/false)) return true;
    const ir::IndexVar column = each.indices[axis], term = each.indices.back();
    if (each.indices.size() != 3) return false;
    const ir::IndexVar row = each.indices[1 - axis];
    const ir::Affines along = {Affine::Of(row.var), Affine::Of(term.var)};
    const ir::Affines across = {Affine::Of(term.var), Affine::Of(column.var)};
    if (!own_.IsNoLarger({term.extent, row.extent})) return false;
    std::vector<Inst*> factors;
    for (Inst& read : each.body) {
      if (read.op != Op::Index) continue;
      const ir::Affines subs(read.subs.ToVector());
      if (subs == across) continue;
      if (subs != along || read.guard.valid() ||
          !extents_.AreEqual(extents_.Of(read.args[0], 0), row.extent) ||
          !extents_.AreEqual(extents_.Of(read.args[0], 1), term.extent))
        return false;
      factors.push_back(&read);
    }
    std::map<Value, Copy> copies;  // by matrix
    for (Inst* read : factors) {
      const Value matrix = read->args[0];
      Copy& copy = copies[matrix];
      if (!copy.array.valid()) copy = {f_.NewLike(f_, matrix), read->loc};
      read->args[0] = copy.array;
      std::swap(read->subs[0], read->subs[1]);
    }
    for (const auto& [matrix, copy] : copies)
      factors_.push_back(Turned(matrix, copy, term, row, column.extent));
    return true;
  }

  struct Copy {
    Value array;
    uint32_t loc = 0;  // of what reads it
  };
  // copy[i, j] = matrix[j, i], where something reads it.
  Inst Turned(Value matrix, Copy copy, const ir::IndexVar& row, const ir::IndexVar& column,
              Value readers) {
    Inst inst;
    inst.op = Op::Each;
    inst.loc = copy.loc;
    inst.results = {copy.array};
    inst.each = std::make_unique<Each>();
    const Value i = f_.NewLike(f_, row.var), j = f_.NewLike(f_, column.var);
    inst.each->indices = {{i, row.extent}, {j, column.extent}};
    inst.each->where.push_back({Affine::Of(readers) - Affine::Const(1), false});
    Inst& read = inst.each->body.emplace_back();
    read.op = Op::Index;
    read.args = {matrix};
    read.loc = copy.loc;
    read.subs = {Affine::Of(j), Affine::Of(i)};
    read.results = {f_.NewValue(f_.TypeOf(matrix).Element())};
    EachResult& r = inst.each->results.emplace_back();
    r.out = {Affine::Of(i), Affine::Of(j)};
    r.shape = {row.extent, column.extent};
    r.value = read.results[0];
    return inst;
  }

  static bool IsContraction(const Each& each) {
    const EachResult& r = each.results[0];
    if (r.monoid != ir::Monoid::kSum || r.out.size() == each.indices.size()) return false;
    const Inst* def = FindDef(each, r.value);
    return def && def->op == Op::Mul;
  }

  void TurnReads(Each& each) const {
    for (Inst& inst : each.body) {
      if (inst.op != Op::Index) continue;
      const auto it = turned_.find(inst.args[0].id);
      if (it != turned_.end()) ir::BringToFront(inst.subs, it->second);
    }
  }

  ir::Function& f_;
  const ir::OwnArrays own_;
  const ir::AxisExtents extents_;
  bool changed_ = false;
  std::vector<Inst> factors_;                    // in front of the statement that is visited
  std::unordered_map<uint32_t, size_t> turned_;  // by array: the axis that came to the front
};

}  // namespace

bool TurnArrays(ir::Function& f) { return Turner(f).Run(); }

}  // namespace pullback::tensor
