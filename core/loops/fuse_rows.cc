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
#include "core/loops/known_extents.h"
#include "core/loops/row_items.h"
#include "core/loops/shrink_rows.h"
#include "core/loops/walk.h"

namespace pullback::loops {
namespace {

using Kind = Node::Kind;

constexpr size_t kMostApart = 64;    // nodes from the first loop of an array to the last
constexpr size_t kMostNodes = 1000;  // in a loop

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

// Of a function, before anything changes.
struct Known {
  std::vector<int> uses;
  KnownExtents extents;  // and of what is made here
  Reg zero = ir::kNoValue;
  std::map<Reg, Reg> gone;  // by array, an axis that it has no more, which may be too long for one
  std::set<Reg> values;     // arrays that are no more

  void NoteGone(Reg array, Reg extent) {
    if (!extents.of_arrays.contains(extent) && !extents.constants.contains(extent))
      gone.emplace(array, extent);
  }
  // A row of one axis that may be larger than any array of the program's becomes an element.
  bool IsWanted(const Node& alloc) const {
    return alloc.args.size() > 1 || !extents.of_arrays.contains(alloc.args[0]);
  }
};

Known KnownOf(const Function& f) {
  Known known{CountUses(f), FindKnownExtents(f), ir::kNoValue, {}, {}};
  for (const Node& n : f.blocks[0].nodes) {
    const bool zero = n.kind == Kind::kScalar && n.op == ir::Op::Const && n.bits == 0 &&
                      f.TypeOf(n.results[0]) == ir::Type::I64();
    if (zero) known.zero = n.results[0];
  }
  return known;
}

// A block, or the body of a loop. Its nodes keep their numbers while their places change; a loop that has joined
// another has that one's.
class RowFuser {
 public:
  // An array that is wanted and made outside, of which nothing is known when the nodes begin to run or once
  // they have run.
  struct Outer {
    Node* alloc;
    std::vector<Node>* before;  // in front of it
  };
  RowFuser(Function& f, std::vector<Node>& nodes, Known& known, std::vector<Outer> outer)
      : f_(f), nodes_(nodes), known_(known), outer_(std::move(outer)) {}

  void Run() {
    if (!FindArrays()) return;
    for (const auto& [array, of] : arrays_) {
      if (of.alloc && of.uses != known_.uses[array.id]) continue;  // other blocks know it
      const std::optional<size_t> fill = FillOf(array, of);
      const std::optional<size_t> loop = LoopOf(array, of, fill);
      if (!loop) continue;
      if (fill) JoinLoops(items_[*fill], items_[*loop], Side::kBefore);
      Shrink(array, of, *loop);
    }
    // The rows of what is left of them, in the loops inside.
    std::map<size_t, std::vector<Outer>> inside;
    for (const auto& [loop, outer] : rows_) inside[Joined(loop)].push_back(outer);
    for (auto& [loop, rows] : inside) {
      ShareIntegers(f_, items_[loop].node.body);
      RowFuser(f_, items_[loop].node.body, known_, std::move(rows)).Run();
    }
    nodes_.clear();
    for (size_t k : order_) PutBack(std::move(items_[k]), nodes_);
  }

 private:
  struct Array {
    std::optional<size_t> alloc;  // in place of `outer`
    Outer outer{};
    std::vector<size_t> users;  // but releases
    int uses = 0;
  };
  using Members = std::set<size_t>;

  // Those wanted. False: there are none, and nothing has been done.
  bool FindArrays() {
    const auto is_one = [&](const Node& n) {
      return n.kind == Kind::kAlloc && !n.args.empty() && known_.IsWanted(n);
    };
    if (outer_.empty() && std::none_of(nodes_.begin(), nodes_.end(), is_one)) return false;
    for (const Outer& outer : outer_) arrays_[outer.alloc->results[0]].outer = outer;
    SplitBranches();
    for (Node& node : nodes_) {
      const size_t k = items_.size();
      if (is_one(node)) arrays_[node.results[0]].alloc = k;
      items_.push_back(TakeItem(std::move(node), k));
      order_.push_back(k);
      const RowItem& item = items_.back();
      for (Reg r : item.effects.uses) {
        const auto array = arrays_.find(r);
        if (array == arrays_.end()) continue;
        if (item.node.kind != Kind::kRelease) array->second.users.push_back(k);
        array->second.uses += UsesIn(item.node, r);
      }
    }
    return true;
  }
  // Those that access rows of arrays made outside.
  void SplitBranches() {
    if (outer_.empty()) return;
    std::vector<Node> parts;
    for (Node& node : nodes_) {
      if (node.kind == Kind::kIf && UsesArrays(node)) {
        std::vector<Node> more = SplitBranch(std::move(node));
        std::move(more.begin(), more.end(), std::back_inserter(parts));
      } else {
        parts.push_back(std::move(node));
      }
    }
    nodes_ = std::move(parts);
  }
  bool UsesArrays(const Node& node) const {
    const std::vector<Reg> uses = EffectsOf(node).uses;
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

  size_t Joined(size_t k) const {
    while (items_[k].joined != k) k = items_[k].joined;
    return k;
  }

  const Node& AllocOf(const Array& of) const {
    return of.alloc ? items_[*of.alloc].node : *of.outer.alloc;
  }

  void Shrink(Reg array, const Array& of, size_t loop) {
    RowItem* made = of.alloc ? &items_[*of.alloc] : nullptr;
    const Outer outer = made ? Outer{&made->node, &made->before} : of.outer;
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
    std::vector<Node> before = ShrinkToRow(f_, alloc, items_[loop].node, known_.zero);
    std::move(before.begin(), before.end(), std::back_inserter(*outer.before));
    if (made) made->effects = EffectsOf(made->node);
    if (element) return;
    if (known_.extents.of_arrays.contains(rows)) known_.extents.of_arrays.insert(alloc.args[0]);
    if (known_.IsWanted(alloc)) rows_.emplace_back(loop, outer);
  }

  // The loop that gives all elements of the array their first value and does nothing else, if others use it. Rows that
  // no other loop visits need none, so each turn of these may fill its own. (An array that is zeroed has elements that
  // no loop stores first.)
  std::optional<size_t> FillOf(Reg array, const Array& of) const {
    const Node& alloc = AllocOf(of);
    if (of.users.size() < 2 || alloc.bits == 1) return std::nullopt;
    const size_t k = of.users[0];
    const RowItem& item = items_[k];
    const auto& memory = item.effects.memory;
    const bool alone = item.joined == k && item.IsLoop() && !item.guard.valid() &&
                       memory.size() == 1 && memory.begin()->first == array &&
                       memory.begin()->second.axis == 0;
    if (!alone || item.effects.ordered) return std::nullopt;
    bool fills = true;
    ForEachNode(item.node.body, [&](const Node& n) {
      fills &= n.kind == Kind::kFor || n.kind == Kind::kScalar || n.kind == Kind::kStore;
    });
    return fills ? std::optional(k) : std::nullopt;
  }
  // The loop that uses all of the array by rows, once those that do are one, apart from what fills it.
  std::optional<size_t> LoopOf(Reg array, const Array& of, std::optional<size_t> fill) {
    Members loops;
    const bool element = AllocOf(of).args.size() == 1;
    for (size_t user : of.users) {
      if (user == fill) continue;
      const size_t k = Joined(user);
      const RowItem& item = items_[k];
      const auto access = item.effects.memory.find(array);
      const bool by_row =
          item.IsLoop() && access != item.effects.memory.end() && access->second.axis == 0;
      if (!by_row || (element && of.users.size() > 1 && item.IsBetterAlone())) return std::nullopt;
      loops.insert(k);
    }
    if (loops.empty() || (loops.size() > 1 && !Fuse(loops))) return std::nullopt;
    return Joined(*loops.begin());
  }

  bool Fuse(Members members) {
    size_t first = order_.size(), last = 0;
    for (size_t k : members) {
      first = std::min(first, items_[k].place);
      last = std::max(last, items_[k].place);
    }
    if (last - first > kMostApart) return false;
    std::vector<bool> after;
    if (!Close(members, first, last, after) || !MayJoin(members)) return false;
    std::vector<size_t> order;
    const auto take = [&](bool which) {
      for (size_t p = first; p <= last; ++p) {
        if (!members.contains(order_[p]) && after[p - first] == which) order.push_back(order_[p]);
      }
    };
    take(false);
    const size_t loop = Join(members, first, last);
    order.push_back(loop);
    take(true);
    // What has joined is a loop without a body by now, and may be anywhere.
    for (size_t k : members) {
      if (k != loop) order.push_back(k);
    }
    for (size_t p = first; p <= last; ++p) {
      order_[p] = order[p - first];
      items_[order_[p]].place = p;
    }
    return true;
  }

  bool SameBounds(size_t a, size_t b) const {
    return items_[b].IsLoop() && items_[a].node.args == items_[b].node.args;
  }

  // Loops in between that some member needs, and that need another, become members. `after`: by place, what needs one.
  bool Close(Members& members, size_t first, size_t last, std::vector<bool>& after) const {
    for (bool grown = true; grown;) {
      grown = false;
      after = Reached(members, first, last, true);
      const std::vector<bool> needed = Reached(members, first, last, false);
      for (size_t p = first; p <= last; ++p) {
        if (!after[p - first] || !needed[p - first]) continue;
        if (!SameBounds(*members.begin(), order_[p])) return false;
        grown |= members.insert(order_[p]).second;
      }
    }
    return true;
  }
  // By place: no member, but needs one, or (not forwards) is needed by one, through others or not.
  std::vector<bool> Reached(const Members& members, size_t first, size_t last,
                            bool forwards) const {
    const size_t count = last - first + 1;
    std::vector<bool> reached(count);
    for (size_t step = 0; step < count; ++step) {
      const size_t at = forwards ? step : count - 1 - step;
      if (members.contains(order_[first + at])) continue;
      for (size_t other = 0; other < step && !reached[at]; ++other) {
        const size_t from = forwards ? other : count - 1 - other;
        if (!reached[from] && !members.contains(order_[first + from])) continue;
        const Effects& mine = items_[order_[first + at]].effects;
        const Effects& its = items_[order_[first + from]].effects;
        reached[at] =
            DependenceOf(forwards ? mine : its, forwards ? its : mine) != Dependence::kNone;
      }
    }
    return reached;
  }

  bool MayJoin(const Members& members) const {
    size_t size = 0;
    for (size_t a : members) {
      size += items_[a].size;
      if (size > kMostNodes) return false;
      for (size_t b : members) {
        if (a == b) break;
        if (!SameBounds(a, b)) return false;
        if (DependenceOf(items_[a].effects, items_[b].effects) == Dependence::kWhole) return false;
      }
    }
    return true;
  }

  // Into the first of them, in order.
  size_t Join(const Members& members, size_t first, size_t last) {
    size_t loop = items_.size();
    for (size_t p = first; p <= last; ++p) {
      const size_t k = order_[p];
      if (!members.contains(k)) continue;
      if (loop == items_.size()) {
        loop = k;
        continue;
      }
      JoinLoops(items_[k], items_[loop], Side::kBehind);
    }
    return loop;
  }

  Function& f_;
  std::vector<Node>& nodes_;
  Known& known_;
  const std::vector<Outer> outer_;
  std::vector<RowItem> items_;
  std::vector<size_t> order_;  // numbers by place
  std::map<Reg, Array> arrays_;
  std::vector<std::pair<size_t, Outer>> rows_;  // with its loop, what is a row and wanted still
};

bool IsOfArray(const Node& n, const std::set<Reg>& arrays) {
  return (n.kind == Kind::kAlloc && arrays.contains(n.results[0])) ||
         (n.kind == Kind::kRelease && arrays.contains(n.args[0]));
}

}  // namespace

void FuseRows(Function& f) {
  Known known = KnownOf(f);
  for (Block& b : f.blocks) RowFuser(f, b.nodes, known, {}).Run();
  for (Block& b : f.blocks) {
    if (!known.gone.empty()) LimitExtents(f, known.gone, b.nodes);
    std::erase_if(b.nodes, [&](const Node& n) { return IsOfArray(n, known.values); });
  }
}

}  // namespace pullback::loops
