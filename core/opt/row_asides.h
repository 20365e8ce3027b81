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
// another order.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/ir/dominance.h"
#include "core/ir/ir.h"
#include "core/opt/block_loops.h"
#include "core/opt/loop_traps.h"
#include "core/opt/row_makers.h"

namespace pullback::opt {

class RowAsides {
 public:
  RowAsides(const ir::Function& f, const ir::Dominators& dominators, const DefinitionBlocks& defs,
            const RowMakers& makers)
      : f_(f), dominators_(dominators), defs_(defs), makers_(makers) {}

  // Whether the maker stands behind the loop, makes as many rows as that counts to or a few less, none of which is large, or adds them up, and what
  // it needs is there in front of the loop.
  bool MayBe(size_t maker, const BlockLoop& loop, const Counter& counter) const;
  // How many rows it makes, if that is not there in front of the loop, of what is.
  std::optional<ir::Affine> RowsToMake(size_t maker, const BlockLoop& loop) const;
  // Whether nothing behind the loop, in front of it, may end the run.
  bool NothingTrapsBefore(size_t maker, const CountedLoop& loop, const LoopTraps& traps) const;

 private:
  bool HasRowsInFront(const Maker& maker, const BlockLoop& loop) const;
  bool IsInFront(ir::Value v, const BlockLoop& loop) const;

  const ir::Function& f_;
  const ir::Dominators& dominators_;
  const DefinitionBlocks& defs_;
  const RowMakers& makers_;
};

// Of the shape of a result of the statement at `loc`: of rows, or of sums.
ir::Inst EmptyTable(ir::Function& f, const ir::EachResult& like, ir::Type array, bool of_sums,
                    uint32_t loc);
// The table with `rows` at `first` and behind it, `count` of them.
ir::Value PutRows(ir::Function& f, ir::Value rows, ir::Value count, const ir::Affine& first,
                  const ir::EachResult& like, ir::Value table, uint32_t loc,
                  std::vector<ir::Inst>& out);
// The table and another array of its shape, element by element.
ir::Value AddTo(ir::Function& f, ir::Value table, ir::Value rows, std::vector<ir::Inst>& out);

}  // namespace pullback::opt
