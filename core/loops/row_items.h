// What is reordered and joined where arrays become rows (fuse_rows.h): nodes of a block, or of a loop's body.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "core/loops/effects.h"
#include "core/loops/loops.h"
#include "core/loops/strip_loops.h"

namespace pullback::loops {

struct RowItem {
  Node node;
  Reg guard;                     // of a loop that runs where this holds; kNoValue: always
  Effects effects;               // the guard's, too
  size_t size;                   // nodes inside
  std::vector<Node> before;      // that have come in front of it
  std::vector<StripPart> parts;  // loops that run strip by strip: `node` has their bounds
  std::set<Reg> ends;            // extents of arrays that are there for strips
  size_t number, place;
  size_t joined;  // number of the loop that this one is part of by now; its own

  bool IsLoop() const { return node.kind == Node::Kind::kFor; }
  // A loop without others inside that calls functions, which back ends do for several turns at once: as a part of a
  // larger loop it would take many times as long.
  bool IsBetterAlone(const Function& f) const;
};

// A branch around one loop becomes that loop, with a guard.
RowItem TakeItem(const Function& f, Node node, size_t number);
// A branch that need not be one: a branch around each loop, load and store in it, while what cannot fail runs always.
// Others come back as they are.
std::vector<Node> SplitBranch(Function& f, Node node);
// As taken, behind what has come in front of it.
void PutBack(RowItem item, std::vector<Node>& nodes);
// The loop runs always, and each turn asks.
void MoveGuardInside(RowItem& loop);
// The loop runs over this range, which holds its own; each turn asks whether it is of the loop's own.
void Widen(Function& f, RowItem& loop, Reg lo, Reg hi);
// What `from` does in a turn comes before, or behind, what `into` does: `from` is part of that loop from now on.
enum class Side : uint8_t { kBefore, kBehind };
void JoinLoops(RowItem& from, RowItem& into, Side side);
// A loop becomes one part.
void StartStrips(RowItem& loop);
// Each turn of what it would be is one at this pace; `node` keeps its bounds.
void SetPace(RowItem& strips, const Pace& pace);
// The same for what they do in a strip.
void JoinStrips(RowItem& from, RowItem& into, Side side);

}  // namespace pullback::loops
