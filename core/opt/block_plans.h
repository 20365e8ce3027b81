// Which loops of blocks make arrays a few rows at a time, and which rows of each a block makes (turn_blocks.cc): found before anything
// is changed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "core/opt/row_asides.h"
#include "core/opt/row_loops.h"
#include "core/opt/turn_facts.h"

namespace pullback::opt {

// Rows around a turn's own: turn i takes step * i + first to step * i + last.
struct Window {
  int64_t first = 0, last = 0;
  int64_t cut = 0;  // so many more of the last turn, of a row for turns that the loop does not make
  int64_t more = 0;  // of an array that has so many rows more than the loop counts to,
  int64_t step = 1;
  ir::Value rows = {};  // or so many: by steps of more than 1, or wherever the loop ends
  // Of one row for some turns it is (i - shift) / per, of `rows`.
  int64_t per = 1, shift = 0;
  bool operator==(const Window&) const = default;
  bool IsOwnRow() const {
    return first == 0 && last == 0 && cut == 0 && more >= 0 && !rows.valid();
  }
};

struct BlockPlan {
  BlockLoop loop;
  Counter counter;
  Order order;
  ir::Affine start = {};  // of the counter
  std::optional<int64_t> bound =
      {};                     // of the counter, if it is a number, which the loop itself may name
  bool starts_at_row = true;  // no negative number
  // It starts or ends at integers that may be any: how many turns it makes is counted in front of it.
  bool is_counted = false;
  bool by_rows = false;  // rows are made as far as there are such, whatever its ends are
  RowMakers::Members members = {};
  Window window{};                     // that the turns take
  std::map<size_t, Window> made = {};  // by member
  int64_t turns = 16;                  // of a block
  RowMakers::Members asides = {};
  // By what is behind the loop: what makes the number of its rows, in front of it.
  std::map<size_t, std::vector<ir::Inst>> sizes = {};
  std::vector<size_t> checked = {};  // reads of turns whose row may not be there

  bool StartsAt0() const { return start == ir::Affine(); }
};

class BlockPlans : protected RowLoops {
 protected:
  BlockPlans(ir::Module& m, ir::Function& f)
      : RowLoops(m, f), users_(f), asides_(f, dominators_, defs_, makers_) {}

  std::optional<BlockPlan> PlanFor(const BlockLoop& loop) const;
  // Whether there is one for the loop of that header that makes rows of the array.
  bool Makes(uint32_t header, ir::Value array) const;

  const UsingBlocks users_;
  const RowAsides asides_;

 private:
  using Members = RowMakers::Members;
  // So many rows for so many turns.
  struct Rate {
    int64_t rows, turns;
    bool operator==(const Rate&) const = default;
  };
  using Rates = std::map<size_t, Rate>;  // by maker

  bool IsFew(ir::Value extent) const;
  static bool HasUsualStart(const BlockPlan& plan);
  std::optional<BlockPlan> FirstOf(std::vector<BlockPlan> plans, bool with_asides) const;
  std::set<int64_t, std::greater<>> StepsOf(const BlockPlan& plan) const;
  std::ptrdiff_t CountLarge(const BlockPlan& plan) const;
  Turns TurnsOf(const BlockPlan& plan) const;
  Window WindowOf(const BlockPlan& plan, int64_t step) const;
  std::optional<Window> WindowFor(const RowSpan& span, ir::Value rows, const BlockPlan& plan,
                                  int64_t step) const;
  std::optional<RowSpan> NearRows(const RowRead& read, const Turns& turns, int64_t step) const;
  std::optional<RowSpan> RowsOfTurn(const RowRead& read, const BlockPlan& plan, int64_t step) const;
  bool IsReadBehind(const BlockLoop& loop) const;
  bool FindMembers(BlockPlan& plan, bool with_asides) const;
  bool FindAsides(BlockPlan& plan) const;
  bool FindMade(BlockPlan& plan) const;
  bool HasAsidesRead(const BlockPlan& plan) const;
  bool FindMadeOf(size_t m, BlockPlan& plan) const;
  bool FindWindowsOfAsides(BlockPlan& plan) const;
  bool LearnInFront(const BlockPlan& plan, Rates& rates) const;
  bool LearnBehind(const Members& behind, Rates& rates) const;
  bool IsReadByOwnRows(size_t m, const Rates& rates) const;
  std::optional<Window> WindowOfAside(size_t m, Rate rate, const BlockPlan& plan) const;
  void FindChecked(BlockPlan& plan) const;
  Members MembersOf(const BlockPlan& plan, bool beside, bool with_asides) const;
  bool EndsBy(ir::Value rows, int64_t step, const BlockPlan& plan) const;
  bool HasNear(size_t m, const BlockPlan& plan) const;
  bool HasRows(const Maker& maker, const BlockPlan& plan) const;
  static bool MakesAll(const BlockPlan& plan);
};

}  // namespace pullback::opt
