#include "core/loops/fuse_rows.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "core/loops/effects.h"
#include "core/loops/forward_element.h"
#include "core/loops/limit_extents.h"
#include "core/loops/row_order.h"
#include "core/loops/shrink_rows.h"
#include "core/loops/strip_loops.h"
#include "core/loops/walk.h"

namespace pullback::loops {
namespace {

using Kind = Node::Kind;

std::vector<int> CountUses(const Function& f) {
  std::vector<int> uses(f.regs.size());
  const auto count = [&](Reg r) { ++uses[r.id]; };
  for (const Block& b : f.blocks) {
    ForEachNode(b.nodes, [&](const Node& n) {
      for (const auto* list : {&n.args, &n.body_yields, &n.other_yields})
        std::for_each(list->begin(), list->end(), count);
    });
    ir::ForEachTermOperand(b.term, count);
  }
  return uses;
}

// Equal integers of loops that have become one are computed once: bounds of the loops inside, which are then the same.
void ShareIntegers(const Function& f, std::vector<Node>& nodes) {
  std::map<std::tuple<ir::Op, uint64_t, std::vector<Reg>>, Reg> known;
  std::map<Reg, Reg> same;
  const auto rename = [&](Reg& r) {
    if (const auto it = same.find(r); it != same.end()) r = it->second;
  };
  std::vector<Node> kept;
  for (Node& n : nodes) {
    const bool integer = n.kind == Kind::kScalar && f.TypeOf(n.results[0]) == ir::Type::I64();
    if (integer && !n.args.empty()) {
      std::for_each(n.args.begin(), n.args.end(), rename);
      const auto [it, fresh] = known.try_emplace({n.op, n.bits, n.args}, n.results[0]);
      if (!fresh) {
        same[n.results[0]] = it->second;
        continue;
      }
    }
    kept.push_back(std::move(n));
  }
  if (!same.empty()) ForEachRead(kept, rename);
  nodes = std::move(kept);
}

// Integers that are there before any array is made.
std::set<Reg> KnownFirst(const Function& f) {
  std::set<Reg> known;
  for (const Node& n : f.blocks[0].nodes) {
    if (n.kind == Kind::kAlloc) break;
    known.insert(n.results.begin(), n.results.end());
  }
  return known;
}

// Of a function, before anything changes.
struct KnownBefore {
  std::vector<int> uses;
  ir::KnownExtents extents;  // and of what is made here
  std::multimap<Reg, Reg>
      gone;              // by array, axes that it has no more, which may be too long for one
  std::set<Reg> values;  // arrays that are no more
  std::map<Reg, Reg>
      runs;  // by row, where loops over it end: at its extent, unless there is no row
  RowsOfTurns rows;
  std::set<Reg> first;  // what is known before any array is made

  void NoteGone(Reg array, Reg extent) {
    if (!extents.of_arrays.contains(extent) && !extents.constants.contains(extent))
      gone.emplace(array, extent);
  }
  // A row of one axis that may be larger than any array of the program's becomes an element.
  bool IsWanted(const Node& alloc) const {
    return alloc.args.size() > 1 || !extents.of_arrays.contains(alloc.args[0]);
  }
};

// A block, or the body of a loop.
class RowFuser {
 public:
  // An array that is wanted and made outside, of which nothing is known when the nodes begin to run or once
  // they have run.
  struct Outer {
    Node* alloc;
    std::vector<Node>* before;  // in front of it
  };
  RowFuser(Function& f, std::vector<Node>& nodes, KnownBefore& known, std::vector<Outer> outer)
      : f_(f), nodes_(nodes), known_(known), outer_(std::move(outer)), items_(f, known.extents) {}

  void Run() {
    if (!FindArrays()) return;
    for (Reg array : LargestFirst()) {
      const Array& of = arrays_[array];
      if (of.alloc && of.uses != known_.uses[array.id]) continue;  // other blocks know it
      if (!ShrinkByTurn(array, of)) apart_.push_back(array);
    }
    // The rows of what is left of them, in the loops inside.
    std::map<size_t, std::vector<Outer>> inside;
    for (const auto& [loop, outer] : rows_) inside[items_.Joined(loop)].push_back(outer);
    for (auto& [loop, rows] : inside) {
      ShareIntegers(f_, items_[loop].node.body);
      RowFuser(f_, items_[loop].node.body, known_, std::move(rows)).Run();
    }
    for (const auto& [array, loop] : shrunk_) {
      const Node& node = items_[items_.Joined(loop)].node;
      if (!node.results.empty()) known_.rows[node.results[0]].emplace(array, known_.runs.at(array));
    }
    MakeStrips();
    nodes_ = items_.PutBack();
  }

 private:
  struct Array {
    std::optional<size_t> alloc;  // in place of `outer`
    Outer outer{};
    std::vector<size_t> users;  // but releases
    int uses = 0;
  };
  using Members = RowOrder::Members;

  // Those wanted. False: there are none, and nothing has been done.
  bool FindArrays() {
    const auto is_one = [&](const Node& n) {
      return n.kind == Kind::kAlloc && !n.args.empty() && known_.IsWanted(n);
    };
    if (outer_.empty() && std::none_of(nodes_.begin(), nodes_.end(), is_one)) return false;
    for (const Outer& outer : outer_) arrays_[outer.alloc->results[0]].outer = outer;
    for (const Node& node : nodes_) {
      if (is_one(node)) arrays_[node.results[0]] = {};
    }
    SplitBranches();
    for (Node& node : nodes_) {
      const size_t k = items_.size();
      if (is_one(node)) arrays_[node.results[0]].alloc = k;
      const RowItem& item = items_.Add(std::move(node));
      for (Reg r : item.effects.uses) {
        const auto array = arrays_.find(r);
        if (array == arrays_.end()) continue;
        if (item.node.kind != Kind::kRelease) array->second.users.push_back(k);
        array->second.uses += UsesIn(item.node, r);
      }
    }
    return true;
  }
  // Those that access rows of the arrays, or have loops that may be needed between two that do.
  void SplitBranches() {
    std::vector<Node> parts;
    for (Node& node : nodes_) {
      if (node.kind == Kind::kIf && (HasLoop(node) || UsesArrays(node))) {
        std::vector<Node> more = SplitBranch(f_, std::move(node));
        std::move(more.begin(), more.end(), std::back_inserter(parts));
      } else {
        parts.push_back(std::move(node));
      }
    }
    nodes_ = std::move(parts);
  }
  static bool HasLoop(const Node& branch) {
    return std::any_of(branch.body.begin(), branch.body.end(),
                       [](const Node& n) { return n.kind == Kind::kFor; });
  }
  bool UsesArrays(const Node& node) const {
    const std::vector<Reg> uses = EffectsOf(f_, node).uses;
    return std::any_of(uses.begin(), uses.end(), [&](Reg r) { return arrays_.contains(r); });
  }
  static int UsesIn(const Node& node, Reg r) {
    int uses = 0;
    const auto count = [&](const Node& n) {
      for (const auto* list : {&n.args, &n.body_yields, &n.other_yields})
        uses += static_cast<int>(std::count(list->begin(), list->end(), r));
    };
    count(node);
    ForEachNode(node.body, count);
    ForEachNode(node.other, count);
    return uses;
  }

  // Those with more axes in front: a loop that may be part of either of two is part of the one that saves more.
  std::vector<Reg> LargestFirst() {
    std::vector<std::pair<size_t, Reg>> arrays;  // by axes
    for (const auto& [array, of] : arrays_)
      arrays.emplace_back(MadeAt(of).alloc->args.size(), array);
    std::sort(arrays.begin(), arrays.end(), [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first > b.first : a.second < b.second;
    });
    std::vector<Reg> sorted;
    for (const auto& [axes, array] : arrays) sorted.push_back(array);
    return sorted;
  }

  Outer MadeAt(const Array& of) {
    if (!of.alloc) return of.outer;
    RowItem& made = items_[*of.alloc];
    return {&made.node, &made.before};
  }
  // Of its first axis, where there is any of it.
  Reg EndOf(Reg array, const Array& of) {
    const auto row = known_.runs.find(array);
    return row == known_.runs.end() ? MadeAt(of).alloc->args[0] : row->second;
  }
  // Of what is made in other nodes from now on.
  void Put(std::vector<Node> before, const Array& of) {
    const Outer outer = MadeAt(of);
    std::move(before.begin(), before.end(), std::back_inserter(*outer.before));
    if (of.alloc) items_[*of.alloc].effects = EffectsOf(f_, *outer.alloc);
  }

  // False: no loop's turns each use a row of their own.
  bool ShrinkByTurn(Reg array, const Array& of) {
    const bool element = MadeAt(of).alloc->args.size() == 1;
    const std::optional<size_t> fill = FillOf(array, of);
    if (element && fill && items_[*fill].IsBetterAlone(f_)) return false;
    if (IsNarrow(*MadeAt(of).alloc) && HasRowsBetween(of)) return false;
    const std::optional<size_t> loop =
        LoopOf(array, of, fill, element ? Into::kLoopOfPlain : Into::kLoop);
    if (!loop) return false;
    if (fill) JoinLoops(items_[*fill], items_[*loop], Side::kBefore);
    Shrink(array, of, *loop);
    return true;
  }

  // A vector's elements, a few times.
  bool IsNarrow(const Node& alloc) const {
    const auto is_long = [&](Reg extent) {
      const auto n = known_.extents.constants.find(extent);
      return n == known_.extents.constants.end() || n->second > ir::kShortExtent;
    };
    return alloc.args.size() > 1 &&
           std::count_if(alloc.args.begin(), alloc.args.end(), is_long) <= 1;
  }
  // Whether loops over rows of larger arrays stand between those that use it: as one loop, these would be needed in front of them
  // and behind.
  bool HasRowsBetween(const Array& of) {
    size_t first = SIZE_MAX, last = 0;
    for (size_t user : of.users) {
      const size_t place = items_[items_.Joined(user)].place;
      first = std::min(first, place);
      last = std::max(last, place);
    }
    if (last <= first + 1) return false;
    return std::any_of(arrays_.begin(), arrays_.end(), [&](const auto& other) {
      if (IsNarrow(*MadeAt(other.second).alloc) || MadeAt(other.second).alloc->args.size() < 2)
        return false;
      return std::any_of(other.second.users.begin(), other.second.users.end(), [&](size_t user) {
        const size_t place = items_[items_.Joined(user)].place;
        return first < place && place < last;
      });
    });
  }

  void Shrink(Reg array, const Array& of, size_t loop) {
    const Outer outer = MadeAt(of);
    Node& alloc = *outer.alloc;
    MoveGuardInside(items_[loop]);
    items_[loop].effects.memory[array].axis = Effects::Access::kNoAxis;
    const bool element = alloc.args.size() == 1;
    known_.NoteGone(array, alloc.args[0]);
    if (element && alloc.bits == 0 && ForwardElement(f_, items_[loop].node, array)) {
      known_.values.insert(array);
      return;
    }
    const Reg rows = element ? ir::kNoValue : alloc.args[1];
    Put(ShrinkToRow(f_, alloc, items_[loop].node, known_.extents), of);
    if (element) return;
    shrunk_.emplace_back(array, loop);
    known_.runs[array] = rows;
    if (known_.extents.of_arrays.contains(rows)) known_.extents.of_arrays.insert(alloc.args[0]);
    if (known_.IsWanted(alloc)) rows_.emplace_back(loop, outer);
  }

  static bool IsOfRow(const Effects::Access& access) {
    return access.IsOfTurn() && access.axis == 0;
  }
  // As near as rows in strips may be, by extents that are known where these are made: to the first loop's, or to each other far behind it.
  bool IsNearRow(const Effects::Access& access, bool of_rows) const {
    const auto is_known = [&](const Reach& turns) {
      return (of_rows || turns.IsConst()) &&
             std::all_of(turns.terms.begin(), turns.terms.end(),
                         [&](const Reach::Term& t) { return known_.first.contains(t.value); });
    };
    const Reach &first = access.first, &last = access.last;
    const bool is_near = (IsNear(first) && IsNear(last)) ||
                         (IsShortDelay(first) && IsShortDelay(last) && IsNear(last - first));
    return access.axis == 0 && is_near && is_known(first) && is_known(last);
  }
  // The loop that gives all elements of the array their first value and does nothing else, if others use it. Rows that
  // no other loop visits need none, so each turn of these may fill its own. (An array that is zeroed has elements that
  // no loop stores first.)
  std::optional<size_t> FillOf(Reg array, const Array& of) {
    if (of.users.size() < 2 || MadeAt(of).alloc->bits == 1) return std::nullopt;
    const size_t k = of.users[0];
    const RowItem& item = items_[k];
    const auto& memory = item.effects.memory;
    const bool alone = item.joined == k && item.IsLoop() && item.parts.empty() &&
                       !item.guard.valid() && memory.size() == 1 &&
                       memory.begin()->first == array && IsOfRow(memory.begin()->second);
    if (!alone || item.effects.checks || item.effects.ordered) return std::nullopt;
    bool fills = true;
    ForEachNode(item.node.body, [&](const Node& n) {
      fills &= n.kind == Kind::kFor || n.kind == Kind::kScalar || n.kind == Kind::kStore;
    });
    return fills ? std::optional(k) : std::nullopt;
  }
  // The loop that uses all of the array by rows, once those that do have become one, apart from what fills it.
  std::optional<size_t> LoopOf(Reg array, const Array& of, std::optional<size_t> fill, Into into) {
    const bool of_rows = MadeAt(of).alloc->args.size() > 1;
    Members loops;
    for (size_t user : of.users) {
      if (user == fill) continue;
      const size_t k = items_.Joined(user);
      const RowItem& item = items_[k];
      const auto access = item.effects.memory.find(array);
      const bool by_row =
          item.IsLoop() && access != item.effects.memory.end() &&
          (into == Into::kStrips ? IsNearRow(access->second, of_rows) : IsOfRow(access->second));
      const bool apart =
          into == Into::kLoopOfPlain && of.users.size() > 1 && item.IsBetterAlone(f_);
      if (!by_row || apart) return std::nullopt;
      loops.insert(k);
    }
    const bool fuses = loops.size() > 1 || (into == Into::kStrips && loops.size() == 1);
    if (loops.empty() || (fuses && !items_.Fuse(loops, into, EndOf(array, of))))
      return std::nullopt;
    return items_.Joined(*loops.begin());
  }

  // Of what is made for loops that stay apart.
  void MakeStrips() {
    std::map<Reg, size_t> stripped;  // with a loop that uses it
    for (Reg array : apart_) {
      const Array& of = arrays_[array];
      if (!MayBeStrip(of)) continue;
      const bool plain = std::all_of(of.users.begin(), of.users.end(), [&](size_t user) {
        const auto& memory = items_[items_.Joined(user)].effects.memory;
        const auto access = memory.find(array);
        return access != memory.end() && IsOfRow(access->second);
      });
      const std::optional<size_t> fill = plain ? FillOf(array, of) : std::nullopt;
      const std::optional<size_t> loop = LoopOf(array, of, fill, Into::kStrips);
      if (!loop) continue;
      if (fill) JoinStrips(items_[*fill], items_[*loop], Side::kBefore);
      items_[*loop].ends.insert(EndOf(array, of));
      stripped.emplace(array, *loop);
    }
    std::map<size_t, std::vector<StripArray>> strips;  // by loop
    for (const auto& [array, user] : stripped) {
      const size_t loop = items_.Joined(user);
      const Node& alloc = *MadeAt(arrays_[array]).alloc;
      const Effects::Access& access = items_[loop].effects.memory[array];
      strips[loop].push_back(MakeStripArray(alloc, access));
    }
    for (auto& [loop, arrays] : strips) {
      const int64_t turns = StripTurns(arrays);
      for (StripArray& of : arrays) Shrink(of, turns);
      RowItem& item = items_[loop];
      std::vector<Node> nodes =
          RunByStrips(f_, item.node, std::move(item.parts), arrays, known_.extents);
      item.node = std::move(nodes.back());
      nodes.pop_back();
      std::move(nodes.begin(), nodes.end(), std::back_inserter(item.before));
    }
  }
  void Shrink(StripArray& strip, int64_t turns) {
    const Array& of = arrays_[strip.array];
    Node& alloc = *MadeAt(of).alloc;
    known_.NoteGone(strip.array, alloc.args[0]);
    Put(ShrinkToStrip(f_, alloc, strip, turns), of);
  }
  bool MayBeStrip(const Array& of) {
    if (!known_.IsWanted(*MadeAt(of).alloc)) return false;
    return std::all_of(of.users.begin(), of.users.end(), [&](size_t user) {
      const RowItem& item = items_[items_.Joined(user)];
      return item.IsLoop() && known_.extents.IsStart(item.node.args[0]);
    });
  }

  Function& f_;
  std::vector<Node>& nodes_;
  KnownBefore& known_;
  const std::vector<Outer> outer_;
  RowOrder items_;
  std::map<Reg, Array> arrays_;
  std::vector<Reg> apart_;                      // those that no loop's turns use row by row
  std::vector<std::pair<size_t, Outer>> rows_;  // with its loop, what is a row and wanted still
  std::vector<std::pair<Reg, size_t>> shrunk_;  // arrays that are rows, each with its loop
};

bool IsOfArray(const Node& n, const std::set<Reg>& arrays) {
  return (n.kind == Kind::kAlloc && arrays.contains(n.results[0])) ||
         (n.kind == Kind::kRelease && arrays.contains(n.args[0]));
}

}  // namespace

RowsOfTurns FuseRows(Function& f) {
  KnownBefore known{CountUses(f), FindKnownExtents(f), {}, {}, {}, {}, KnownFirst(f)};
  for (Block& b : f.blocks) RowFuser(f, b.nodes, known, {}).Run();
  for (Block& b : f.blocks) {
    if (!known.gone.empty()) LimitExtents(f, known.gone, b.nodes);
    std::erase_if(b.nodes, [&](const Node& n) { return IsOfArray(n, known.values); });
  }
  return std::move(known.rows);
}

}  // namespace pullback::loops
