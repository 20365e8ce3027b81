// Arrays that a loop of blocks fills, a row in each turn, which takes no rows but its own and those of few turns before
// (stream_rows.cc): z[i, j] = tanh(x[i, j] + z[i - 1, j]).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "core/ir/axis_extents.h"
#include "core/ir/dominance.h"
#include "core/ir/ir.h"
#include "core/ir/own_arrays.h"
#include "core/opt/block_loops.h"
#include "core/opt/front_values.h"
#include "core/opt/turn_facts.h"

namespace pullback::opt {

inline constexpr int64_t kMostRowsKept = 16;  // of turns before

// A loop that counts up by ones, from one form to below another.
struct RowLoop {
  BlockLoop loop;
  size_t counter_param;
  ir::Value turn;
  ir::Affine first, bound;
};

struct Stream {
  RowLoop l;
  size_t param;     // of the loop's header
  ir::Value array;  // that parameter
  ir::Value start;  // the array that is filled
  ir::Values shape;
  size_t axis;        // of its rows
  ir::Affine row;     // that a turn makes
  int64_t step;       // from one turn's to the next one's: 1 or -1
  int64_t kept;       // so many rows of turns before are read
  ValueIds versions;  // what the array is within turns
  std::map<const ir::Inst*, int64_t>
      before;            // by access in the loop: how many turns before it is the row's
  int64_t ahead;         // of the row of the first such array of the loop
  bool is_always_there;  // every turn has such a row, not only where one is read or stored to

  ir::Value rows() const { return shape[axis]; }
  bool IsVersion(ir::Value v) const { return v == array || versions.contains(v.id); }
  ir::Affine RowOf(const ir::Affine& turn) const { return row.Substitute(l.turn, turn); }
  ir::Affine FirstRow() const { return RowOf(l.first); }
  ir::Affine EndRow() const { return RowOf(l.bound); }  // behind the last one
  // How many turns before that of `own` the other row is made; nothing: it is not known, or made later.
  std::optional<int64_t> TurnsBefore(const ir::Affine& own, const ir::Affine& other) const;
};

// Those of one loop, whose rows go on in the same direction.
using Streams = std::vector<Stream>;

// What is known of a function's loops and integers.
class StreamFinder {
 public:
  explicit StreamFinder(const ir::Function& f);

  std::vector<RowLoop> Loops() const;
  // Whose arrays are larger than the function's own.
  Streams Find(const RowLoop& l) const;

  // What it is a sum of, equal sizes as one.
  ir::Affine FormOf(const ir::Affine& a) const;
  bool IsInFront(const ir::Affine& a, const BlockLoop& loop) const;
  // Whether it stands behind the loop, in no loop that does not hold this one.
  bool IsBehind(uint32_t block, const BlockLoop& loop) const;
  // Whether it is surely no less than 0, as extents of arrays are.
  bool IsAtLeast0(const ir::Affine& form, std::vector<ir::Affine> facts) const;
  // Whether it is surely one of an axis that long.
  bool IsWithin(const ir::Affine& form, ir::Value extent,
                const std::vector<ir::Affine>& facts) const;
  // What checks say that stand between the loop and a place behind it.
  std::vector<ir::Affine> FactsBehind(const BlockLoop& loop, uint32_t block, size_t place) const;

  const ir::AxisExtents& extents() const { return extents_; }
  const DefinitionBlocks& defs() const { return defs_; }
  const ir::OwnArrays& own() const { return own_; }
  const FrontValues& front() const { return front_; }

 private:
  std::optional<Stream> Find(const RowLoop& l, size_t param) const;
  ir::Values ShapeOf(ir::Value array, const BlockLoop& loop) const;
  bool IsTame(const ir::Affine& form) const;
  bool FindVersions(Stream& s) const;
  bool HoldsOnlyVersions(const Stream& s) const;
  bool FindRows(Stream& s) const;
  bool HasRowAt(const ir::Inst& access, uint32_t block, size_t place, Stream& s) const;
  // `each`: the statement there, if it is one; `guard`: of the access in its body.
  std::vector<ir::Affine> FactsAt(uint32_t block, size_t place, const ir::Each* each,
                                  ir::Value guard, const RowLoop& l) const;
  void LearnGuard(const ir::Each& each, ir::Value guard, bool holds, const RowLoop& l,
                  TurnFacts& facts) const;

  const ir::Function& f_;
  const ir::Dominators dominators_;
  const DefinitionBlocks defs_;
  const FrontValues front_;
  const ir::AxisExtents extents_;
  const ir::OwnArrays own_;
  const std::vector<std::set<uint32_t>> around_;  // by block: headers of loops
};

}  // namespace pullback::opt
