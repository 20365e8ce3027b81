// Which rows next to a turn's own the reads of a loop of blocks take: of subscripts that are sums, i - 1, or one of several sums
// by cases: max(0, i - 1), abs(i - 2), `if i == 0 { 1 } else { i - 1 }`, and i + j, where j counts a few turns of a loop inside, or a
// few points of a statement.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/ir/dominance.h"
#include "core/opt/block_loops.h"
#include "core/opt/turn_facts.h"

namespace pullback::opt {

// A loop's turns, counted by ones from `start`, a sum that may have wrapped, to below `bound`.
struct Turns {
  const BlockLoop& loop;
  ir::Value counter;
  ir::Value bound;
  ir::Affine start;
};

// Of turn i: from row step * i + first to step * i + last.
struct RowSpan {
  int64_t first, last;
};

class TurnRows {
 public:
  TurnRows(const ir::Function& f, const std::vector<BlockLoop>& loops,
           const ir::Dominators& dominators, const DefinitionBlocks& defs);

  // What the sums are of, counters of loops among others.
  ir::Values TermsOf(const ir::Affine& row) const;
  // Where `row` is by steps of `step`, as seen in front of the block's instruction `place`; nothing: it is not known to be near, or
  // to be one of the array's `rows`, as the ends of loops say, or checks and branches in front of it.
  // `in_body`: the read's place in that instruction's body, whose guard says something, too.
  std::optional<RowSpan> SpanOf(const ir::Affine& row, ir::Value rows, uint32_t block, size_t place,
                                std::optional<size_t> in_body, const Turns& turns,
                                int64_t step) const;
  // Whether it is between small multiples of extents, so that sums of few such wrap nowhere; no run lasts so long that a counter that
  // starts there leaves that.
  bool IsBounded(const ir::Affine& sum) const;
  // Checks of subscripts in the loop that hold anyway.
  std::vector<const ir::Inst*> IdleChecks(const Turns& turns) const;

 private:
  // Where `facts` hold; those in `known` hold in all cases.
  struct Case {
    ir::Affine form;
    TurnFacts facts, known;
  };
  using Cases = std::vector<Case>;

  // Of a loop that counts by ones; sums.
  struct Range {
    ir::Affine start, bound;
  };

  std::vector<ir::Affine> SumsOf(ir::Value v) const;
  void LearnStatement(const ir::Each& each, ir::Value guard, const Turns& turns,
                      std::vector<ir::Affine>& facts) const;
  bool IsBoundedIn(const ir::Each* each, const ir::Affine& sum, const Turns& turns) const;
  bool IsExact(const ir::Affine& sum) const;  // it has not wrapped
  bool IsBounded(const ir::Affine& sum, int depth) const;
  bool IsBounded(ir::Value v, int depth) const;
  std::optional<Cases> CasesOf(Case all, const Turns& turns) const;
  std::optional<Cases> Split(const Case& c, ir::Value term, const Turns& turns) const;
  Case With(const Case& c, ir::Value term, const ir::Affine& sum) const;
  void WeakenExtrema(std::vector<ir::Affine>& facts) const;
  void LearnCounters(std::vector<ir::Affine>& facts, const ir::Affine& form) const;
  std::optional<RowSpan> SpanIn(Case c, const ir::Affine& rows, const Turns& turns,
                                int64_t step) const;

  const ir::Function& f_;
  const ir::Dominators& dominators_;
  const DefinitionBlocks& defs_;
  struct Join {  // of a block that is no loop's header: its parameter of that number
    uint32_t block;
    size_t param;
  };
  absl::flat_hash_map<uint32_t, Join> joins_;  // by value
  absl::flat_hash_map<uint32_t, Range> counters_;
  FlatLists edges_;  // to each block (ir::EdgesTo)
};

}  // namespace pullback::opt
