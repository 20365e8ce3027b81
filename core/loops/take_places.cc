#include "core/loops/take_places.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/loops/same_integers.h"
#include "core/loops/walk.h"

namespace pullback::loops {
namespace {

using Kind = Node::Kind;

struct Access {
  const Node* node;
  std::vector<Reg> loops;  // those around it, the outermost first
  int time;                // in the order of the text
};

// What a loop does with arrays: those of which it has the elements alone.
class LoopAccesses {
 public:
  explicit LoopAccesses(const Node& loop) { Visit(loop); }

  // Of what may trap: a back end may run some turns again to find which, and needs what they have read.
  int last_check() const { return last_check_; }
  // nullptr: it does something else with it.
  const std::vector<Access>* Of(Reg array) const {
    const auto it = of_.find(array);
    return it == of_.end() || other_.contains(array) ? nullptr : &it->second;
  }

 private:
  void Visit(const Node& n) {
    ++time_;
    if (n.kind == Kind::kCheck || n.kind == Kind::kCall) last_check_ = time_;
    if (IsAccess(n)) {
      of_[n.args[0]].push_back({&n, loops_, time_});
      return;
    }
    for (const auto* list : {&n.args, &n.body_yields, &n.other_yields}) {
      other_.insert(list->begin(), list->end());
    }
    if (n.kind == Kind::kFor) loops_.push_back(n.results[0]);
    for (const Node& inner : n.body) Visit(inner);
    for (const Node& inner : n.other) Visit(inner);
    if (n.kind == Kind::kFor) loops_.pop_back();
  }

  int time_ = 0, last_check_ = 0;
  std::vector<Reg> loops_;
  std::map<Reg, std::vector<Access>> of_;
  std::set<Reg> other_;  // arrays that something else is done with
};

// Whether, of the loops that both are in, each turn loads of the part of the array that it stores to itself: at the same
// offset, or in the same row by each of these loops.
bool IsOfTheTurn(const Access& load, const Access& store) {
  if (load.node->args[1] == store.node->args[1]) return true;
  const Rows &from = load.node->rows, &to = store.node->rows;
  if (from.size() != to.size()) return false;
  for (size_t k = 0; k < store.loops.size() && k < load.loops.size(); ++k) {
    const Reg index = store.loops[k];
    if (load.loops[k] != index) return true;
    size_t axis = 0;
    while (axis < to.size() && (to[axis].is != index || from[axis].is != index)) ++axis;
    if (axis == to.size()) return false;
  }
  return true;
}

bool StoresOnce(const Access& store) {
  return std::all_of(store.loops.begin(), store.loops.end(), [&](Reg index) {
    return std::count(store.node->apart.begin(), store.node->apart.end(), index) > 0;
  });
}

// Whether each element of an array is read for the last time before that of the other is stored, if they were one.
bool ReadsFirst(const std::vector<Access>& from, const std::vector<Access>& to) {
  constexpr size_t kMostPairs = 4096;  // of many accesses nobody knows
  if (from.size() * to.size() > kMostPairs) return false;
  for (const Access& store : to) {
    if (store.node->kind != Kind::kStore) continue;
    const bool first = StoresOnce(store) && std::all_of(from.begin(), from.end(), [&](auto& load) {
                         return load.node->kind == Kind::kLoad && load.time < store.time &&
                                IsOfTheTurn(load, store);
                       });
    if (!first) return false;
  }
  return true;
}

class BlockPlaces {
 public:
  BlockPlaces(const Function& f, const Block& b) : f_(f), b_(b), same_(f) {}

  // Arrays that go, each with the one whose place it takes.
  std::vector<std::pair<Reg, Reg>> Find() {
    for (size_t k = 0; k < b_.nodes.size(); ++k) Note(k);
    ir::ForEachTermOperand(b_.term, [&](Reg r) { NoteShared(r); });
    std::vector<std::pair<Reg, Reg>> taken;
    for (const auto& [user, made] : begin_at_) {
      const auto ending = end_at_.find(user);
      if (ending == end_at_.end() || b_.nodes[user].kind != Kind::kFor) continue;
      const LoopAccesses loop(b_.nodes[user]);
      for (Reg to : made) Take(loop, to, ending->second, taken);
    }
    return taken;
  }

  // Makes of the arrays that go, and releases of those whose place they take.
  std::vector<size_t> NodesOf(const std::vector<std::pair<Reg, Reg>>& taken) const {
    std::vector<size_t> nodes;
    for (const auto& [to, from] : taken) {
      nodes.push_back(arrays_.at(to).alloc);
      nodes.push_back(arrays_.at(from).release);
    }
    return nodes;
  }

 private:
  static constexpr size_t kNever = ~size_t{0};
  struct Array {
    size_t alloc = kNever, first = kNever, last = kNever, release = kNever;
    std::vector<Reg> extents;
    bool shared = false;  // something else gets its handle
  };

  void Note(size_t k) {
    const Node& n = b_.nodes[k];
    same_.Note(n);
    if (n.kind == Kind::kAlloc) {
      Array& made = arrays_[n.results[0]];
      made.alloc = k;
      made.extents = same_.All(n.args);
    } else if (n.kind == Kind::kRelease) {
      NoteRelease(n.args[0], k);
    } else {
      NoteUses(k, n);
    }
  }
  void NoteRelease(Reg r, size_t k) {
    const auto it = arrays_.find(r);
    if (it == arrays_.end()) return;
    it->second.release = k;
    if (it->second.last != kNever) end_at_[it->second.last].push_back(r);
  }
  void NoteUses(size_t k, const Node& n) {
    const bool borrows = IsAccess(n) || n.kind == Kind::kDim || n.kind == Kind::kContract;
    for (Reg r : n.args) {
      const auto it = arrays_.find(r);
      if (it == arrays_.end()) continue;
      it->second.shared |= !borrows;
      if (it->second.first == kNever) {
        it->second.first = k;
        begin_at_[k].push_back(r);
      }
      it->second.last = k;
    }
    for (const auto* list : {&n.body_yields, &n.other_yields}) {
      for (Reg r : *list) NoteShared(r);
    }
    for (const Node& inner : n.body) NoteUses(k, inner);
    for (const Node& inner : n.other) NoteUses(k, inner);
  }
  void NoteShared(Reg r) {
    if (const auto it = arrays_.find(r); it != arrays_.end()) it->second.shared = true;
  }

  void Take(const LoopAccesses& loop, Reg to, std::vector<Reg>& ending,
            std::vector<std::pair<Reg, Reg>>& taken) {
    const Array& made = arrays_.at(to);
    const std::vector<Access>* stores = loop.Of(to);
    if (!stores || b_.nodes[made.alloc].bits == 1 || stores->front().time < loop.last_check())
      return;
    for (auto from = ending.begin(); from != ending.end(); ++from) {
      const Array& old = arrays_.at(*from);
      const std::vector<Access>* loads = loop.Of(*from);
      if (old.shared || !loads || f_.TypeOf(*from) != f_.TypeOf(to) ||
          old.extents != made.extents || !ReadsFirst(*loads, *stores))
        continue;
      taken.emplace_back(to, *from);
      ending.erase(from);
      return;
    }
  }

  const Function& f_;
  const Block& b_;
  SameIntegers same_;
  std::map<Reg, Array> arrays_;
  std::map<size_t, std::vector<Reg>> begin_at_,
      end_at_;  // by the node that is first and last to use them
};

void Rename(Function& f, const std::vector<std::pair<Reg, Reg>>& taken) {
  std::vector<Reg> name(f.regs.size());
  for (uint32_t id = 0; id < name.size(); ++id) name[id] = Reg{id};
  // Those that were made first have theirs already.
  for (const auto& [to, from] : taken) name[to.id] = name[from.id];
  const auto rename = [&](Reg& r) { r = name[r.id]; };
  for (Block& b : f.blocks) {
    ForEachRead(b.nodes, rename);
    ir::ForEachTermOperand(b.term, rename);
  }
}

}  // namespace

void TakePlaces(Function& f) {
  std::vector<std::pair<Reg, Reg>> all;
  for (Block& b : f.blocks) {
    BlockPlaces places(f, b);
    const std::vector<std::pair<Reg, Reg>> taken = places.Find();
    std::vector<bool> goes(b.nodes.size());
    for (size_t k : places.NodesOf(taken)) goes[k] = true;
    size_t k = 0;
    std::erase_if(b.nodes, [&](const Node&) { return goes[k++]; });
    all.insert(all.end(), taken.begin(), taken.end());
  }
  if (!all.empty()) Rename(f, all);
}

}  // namespace pullback::loops
