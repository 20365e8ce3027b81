// Arrays that statements make row by row, and who reads rows of them: what loops of blocks whose turns take rows can make in their
// turns.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "core/ir/axis_extents.h"
#include "core/ir/builder.h"
#include "core/ir/dominance.h"
#include "core/ir/ir.h"
#include "core/opt/block_loops.h"
#include "core/opt/statement_rows.h"
#include "core/opt/turn_rows.h"

namespace pullback::opt {

// A statement whose every result has a row for each turn of its index `row`; or one that `folds` over these, adds up or takes the
// greatest, what it makes of rows of others: of a statement that is both there are two.
struct Maker {
  uint32_t block;
  size_t place;  // among the block's instructions
  ir::Value row;
  ir::Value rows;  // how many
  bool is_large;   // some result may be larger than the function's own arrays
  bool folds;
};

// Rows from a turn's own to the next one's, or turns for a row, as a coefficient says.
inline constexpr int64_t kMostTold = 256;

// A read by `index`, in the block or in the body of its instruction `place`.
struct RowRead {
  uint32_t block;
  size_t place;
  std::optional<size_t> in_body;
  ir::Value array = {};
  ir::Affine row = {};  // its first subscript
};

// Which row a turn takes: that of its number, or of what is left behind it.
enum class Order : uint8_t { kForwards, kBackwards };
ir::Affine RowOfTurn(const ir::Affine& turn, ir::Value rows, Order order);

// Whether turns store at what they count: the table is as long as the arrays that they take rows of, and that they store at each
// place once is told from the counter (core/ad/settled_reads.h), which has to stay.
bool FillsTable(const ir::Function& f, const BlockLoop& loop, const Counter& counter);

class RowMakers {
 public:
  using Members = std::vector<size_t>;  // makers, by number

  RowMakers(const ir::Module& m, const ir::Function& f, const ir::Dominators& dominators,
            const std::vector<BlockLoop>& loops, const DefinitionBlocks& defs,
            const TurnRows& turn_rows);

  bool empty() const { return makers_.empty(); }
  const Maker& operator[](size_t m) const { return makers_[m]; }
  const ir::Inst& InstOf(const Maker& maker) const {
    return f_.blocks[maker.block].insts[maker.place];
  }
  // Of what makes the array that is read.
  size_t MakerOf(const RowRead& read) const { return maker_of_.at(read.array.id); }
  std::optional<size_t> MakerOf(const ir::Inst& statement) const;
  std::optional<size_t> FolderOf(const ir::Inst& statement) const;
  // Something reads it otherwise than by rows.
  bool IsWhole(size_t m) const { return whole_[m] != 0; }
  const RowRead& Read(size_t k) const { return reads_[k]; }
  const std::vector<size_t>& ReadsOf(size_t m) const { return reads_of_[m]; }
  // In the body of what makes rows.
  std::vector<RowRead> ReadsIn(size_t m) const;
  // Whether some statement makes its rows.
  bool IsMade(ir::Value array) const { return maker_of_.contains(array.id); }
  // Whose rows are made of v.
  const std::vector<size_t>& ReadsAt(ir::Value v) const;

  // Whether a read that is not of a turn may be another member's, the first argument.
  using Beside = std::function<bool(size_t, const RowRead&)>;
  // Whether the reader makes as many rows as there are of the array, and reads the one that it makes.
  bool IsOwnRow(size_t reader, const RowRead& read) const;
  struct Others {
    Beside beside = nullptr, aside = nullptr;
    std::function<bool(size_t)> may_behind = nullptr;
  };
  // Those whose rows are read by turns, as `takes` says, or make rows of others of them, of their own one, or as `beside` says; each
  // behind those that it reads. Of those that `may`, which runs once for each time that the statement is evaluated.
  // `aside`: likewise of others that read rows of members. `may_behind`: and of such that make rows of members behind the loop, for
  // these. None folds rows.
  Members MembersOf(const BlockLoop& loop, ir::Value counter,
                    const std::function<bool(size_t)>& may,
                    const std::function<bool(const RowRead&)>& takes, const Others& others) const;
  // Whether it is evaluated in front of the loop, once for each time that this is.
  bool IsOnceInFront(const Maker& maker, const BlockLoop& loop) const;
  // The maker in whose body the read is, rather the one that folds; nothing: it is in no such.
  std::optional<size_t> ReaderOf(const RowRead& read) const;
  // Rows from step * row + first to step * row + last.
  struct Near {
    int64_t step;
    RowSpan span;
  };
  // Of a read in the body of `reader`, which makes `row`: with the least step, if any up to `most_step` or the one that it names, by which it is known to be
  // near, `most` away for each row of a step, and to be there.
  std::optional<Near> NearIn(size_t reader, const RowRead& read, int64_t most,
                             int64_t most_step) const;
  // Whether the same loops are around the block as around that loop.
  bool AreInSameLoops(uint32_t block, const BlockLoop& loop) const;
  // Whatever rows are made.
  bool CannotTrap(const Maker& maker) const;
  // Ends the run where a size is negative, also where no turn is made: at the end of the block.
  void CheckSizes(ir::Builder& b, const Maker& maker, uint32_t block) const;

 private:
  void FindMakers();
  ir::Value FoldedRow(const ir::Each& each) const;
  void FindReads();
  void Read(const ir::Inst& inst, RowRead read);
  void UseWhole(ir::Value v);
  bool IsOfMember(const RowRead& read, const std::set<size_t>& members, const Beside& beside) const;
  bool IsCountedWithin(ir::Value v, ir::Value extent, uint32_t block) const;
  bool DividesByExtent(const ir::Each& each, const ir::Inst& inst) const;
  bool IsRemainder(const ir::Each& each, ir::Value v, ir::Value extent) const;

  const ir::Module& m_;
  const ir::Function& f_;
  const ir::Dominators& dominators_;
  const std::vector<BlockLoop>& loops_;
  const DefinitionBlocks& defs_;
  const TurnRows& turn_rows_;
  const std::vector<std::set<uint32_t>> around_;  // by block, headers
  const ir::AxisExtents extents_;
  const StatementRows statement_rows_;
  ValueIds dims_;  // of arrays
  std::vector<Maker> makers_;
  std::map<uint32_t, size_t> maker_of_, folder_of_;  // by result
  std::vector<RowRead> reads_;
  std::vector<std::vector<size_t>> reads_of_;         // by maker, of reads_
  std::map<uint32_t, std::vector<size_t>> reads_at_;  // by what the row is
  std::vector<char> whole_;                           // by maker
};

}  // namespace pullback::opt
