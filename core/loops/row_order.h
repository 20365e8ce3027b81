// Nodes of a block, or of a loop's body, in an order that changes where loops become one, or run strip by strip.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "core/ir/known_extents.h"
#include "core/loops/row_items.h"
#include "core/loops/writer.h"

namespace pullback::loops {

enum class Into : uint8_t {
  kLoop,         // a turn does what a turn of each of them did
  kLoopOfPlain,  // the same; not if one of them is better alone
  kStrips        // strip_loops.h
};

class RowOrder {
 public:
  using Members = std::set<size_t>;

  RowOrder(Function& f, const ir::KnownExtents& extents) : f_(f), extents_(extents) {}

  // Items keep their numbers, from 0 on, while their places change.
  RowItem& Add(Node node);
  size_t size() const { return items_.size(); }
  RowItem& operator[](size_t k) { return items_[k]; }
  const RowItem& operator[](size_t k) const { return items_[k]; }
  // What this one is part of by now.
  size_t Joined(size_t k) const;

  // These loops, and others in between that they cannot do without, become part of the first of them. `extent`: of an
  // array that is made in front of them, whose rows loops in strips may be some turns apart for. False: they may not, and
  // nothing has been done.
  bool Fuse(Members members, Into into, Reg extent);
  std::vector<Node> PutBack();

 private:
  bool Close(Members& members, size_t first, size_t last, std::vector<bool>& after) const;
  std::vector<bool> Reached(const Members& members, size_t first, size_t last, bool forwards) const;
  bool MayFuse(const Members& members, Into into) const;
  // Of each member, when its turns run in strips. nullopt: one has to wait for another's end, or for too many turns.
  using Paces = std::map<size_t, Pace>;
  std::optional<Paces> PacesOf(const Members& members) const;
  std::vector<size_t> InOrder(const Members& members) const;
  // That holds those of all members.
  struct Range {
    Reg lo, hi;
  };
  bool IsNoLess(Reg lo, Reg than) const;  // where loops start
  bool StartsAtZero(const Members& members) const;
  bool IsExtent(const Members& members, Reg end, Reg extent) const;
  std::optional<Reg> StartOf(const Members& members) const;
  Reg EndOf(const Members& members, Reg extent) const;
  Reg MakeEnd(const Members& members, const Paces& paces, Writer& front);
  size_t Join(const Members& members, size_t first, size_t last, Into into, Range range,
              const Paces& paces);

  Function& f_;
  const ir::KnownExtents& extents_;
  std::vector<RowItem> items_;
  std::vector<size_t> order_;  // numbers by place
  std::set<Reg> made_ends_;    // of loops that run strip by strip
};

}  // namespace pullback::loops
