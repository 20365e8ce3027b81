// Statements behind a loop that make a few numbers of each row of arrays whose rows its turns take. The loop's blocks make those of
// their rows, too, and put them into an array that they carry, so that nobody needs all rows of the larger ones:
//
//   … a loop of blocks: e[i, k] in its turn i …                         t = each(i < n) {} gen [i] of (n): -0.0
//   s = each(i < n, k < s) { … e[i, k] … } sum [i] of (n)               … in block b, t the carried one:
//                                                                        e' = each(p < m, k < s) { … 16 b + p … } gen [p, k]
//                                                                        s' = each(p < m, k < s) { … e'[p, k] … } sum [p] of (m)
//                                                                        q = each(p < m) { s'[p] } gen [16 b + p] of (n)
//                                                                        t' = add_arrays t, q
//
// What nothing is added to is -0.0, which adds nothing. (The rows are added in place, core/tensor/accumulate.cc.) A statement that adds
// up what it makes of all rows, sum [k], has an array of such sums instead, 0.0 as those of no rows, to which each block's are added: in
// another order. So do extrema, where the greatest so far is replaced by a block's that is greater. (Products have their order.) It may
// make a row of some: of n / 2 rows, e[2 * i] and e[2 * i + 1], a block makes 8.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/ir/append.h"
#include "core/ir/dominance.h"
#include "core/ir/ir.h"
#include "core/opt/block_loops.h"
#include "core/opt/front_values.h"
#include "core/opt/row_makers.h"

namespace pullback::opt {

class RowAsides {
 public:
  RowAsides(const ir::Function& f, const ir::Dominators& dominators, const DefinitionBlocks& defs,
            const RowMakers& makers)
      : f_(f), dominators_(dominators), defs_(defs), makers_(makers), front_(dominators, defs) {}

  // Whether the maker stands behind the loop, makes no more rows than that has turns, or one for some, none of which is large, or
  // folds them, and what it needs may be there in front of the loop (NeedsOnly).
  bool MayBe(size_t maker, const BlockLoop& loop, const Counter& counter) const;
  // Whether it makes rows behind the loop, as many as may be counted in front of it, that blocks may make for others, and cannot trap.
  bool MayBeRows(size_t maker, const BlockLoop& loop) const;
  // Whether what it needs is there in front of the loop, but for what `is_made`.
  bool NeedsOnly(size_t maker, const BlockLoop& loop,
                 const std::function<bool(const RowRead&)>& is_made) const;
  // How many more rows it makes than the loop counts to, each `per` turns; nothing: not known.
  std::optional<int64_t> Beyond(size_t maker, const Counter& counter, int64_t per) const;
  // What makes a size that is not there in front of the loop of what is: copies, in order.
  std::vector<ir::Inst> MakersOfSize(ir::Value v, const BlockLoop& loop) const;
  // Whether every run that gets behind the loop evaluates it: where it ends the run, this may do so earlier.
  bool IsRun(size_t maker, const BlockLoop& loop) const;

 private:
  std::optional<int64_t> BeyondQuotient(ir::Value rows, ir::Value bound, int64_t per) const;
  bool IsBehind(const Maker& maker, const BlockLoop& loop) const;
  bool HasRowsInFront(const Maker& maker, const BlockLoop& loop) const;
  bool NeedsMaybe(const ir::Inst& inst, const Maker& maker, const BlockLoop& loop) const;

  const ir::Function& f_;
  const ir::Dominators& dominators_;
  const DefinitionBlocks& defs_;
  const RowMakers& makers_;
  const FrontValues front_;
};

// Of the shape of a result of the statement at `loc`: what it is where nothing is folded, or of rows that nothing was put into.
ir::Inst EmptyTable(ir::Function& f, const ir::EachResult& like, ir::Type array, bool folds,
                    uint32_t loc);
// The table with `rows` at `first` and behind it, `count` of them.
ir::Value PutRows(ir::Function& f, ir::Value rows, ir::Value count, const ir::Affine& first,
                  const ir::EachResult& like, ir::Value table, uint32_t loc,
                  std::vector<ir::Inst>& out);
// The extremum of two, of which the one so far stays where both attain it, and the first NaN. `is_first`: a condition that holds where
// there was none, or none.
ir::Value JoinExtrema(ir::Appender& out, ir::Monoid monoid, ir::Type type, ir::Value so_far,
                      ir::Value next, ir::Value is_first);
// The table, of what was folded, with another array of its shape. `is_first`: a condition that holds where nothing was, or none.
ir::Value FoldInto(ir::Function& f, ir::Value table, ir::Value more, ir::Value is_first,
                   const ir::EachResult& like, uint32_t loc, std::vector<ir::Inst>& out);

}  // namespace pullback::opt
