#include "core/loops/block_rows.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "core/loops/effects.h"
#include "core/loops/limit_extents.h"
#include "core/loops/strip_loops.h"
#include "core/loops/walk.h"
#include "core/loops/writer.h"

namespace pullback::loops {
namespace {

using ir::Op;
using ir::Type;
using Kind = Node::Kind;

constexpr size_t kMostMadeAgain = 16;  // scalars of a turn, for each loop that adds

// Where registers are written, one behind another.
class Places {
 public:
  explicit Places(const Function& f) : place_(f.regs.size()) {
    for (const Block& b : f.blocks) {
      for (Reg r : b.params) place_[r.id] = ++last_;
      ForEachNode(b.nodes, [&](const Node& n) {
        for (Reg r : n.results) place_[r.id] = ++last_;
        if (n.kind == Kind::kAlloc) extents_[n.results[0]] = n.args;
      });
    }
  }
  bool IsKnownAt(Reg r, Reg array) const {
    return r.id < place_.size() && place_[r.id] < place_[array.id];
  }
  const std::vector<Reg>& ExtentsOf(Reg array) const { return extents_.at(array); }

 private:
  std::vector<size_t> place_;
  size_t last_ = 0;
  std::map<Reg, std::vector<Reg>> extents_;  // of what is made
};

class Blocking {
 public:
  Blocking(Function& f, Node& loop, const std::map<Reg, Reg>& rows, const Places& places,
           const ir::KnownExtents& known)
      : f_(f), loop_(loop), rows_(rows), places_(places), known_(known), all_(EffectsOf(f, loop)) {
    for (const Node& n : loop.body) {
      effects_.push_back(EffectsOf(f, n));
      for (Reg r : n.results) made_[r] = effects_.size() - 1;
      for (const auto& [r, access] : effects_.back().memory) {
        ++touched_[r];
        if (access.writes) written_[r] = effects_.size() - 1;
      }
    }
  }

  // What comes in front of the loop. `grown`: arrays that hold the rows of a block now, each with what comes in front of
  // it, and the first of its extents there.
  std::vector<Node> Run(std::map<Reg, std::vector<Node>>& grown) {
    for (size_t k = 0; k < loop_.body.size(); ++k) {
      if (!AddsRows(k)) continue;
      adds_.push_back(k);
      adds_to_same_ |= !IsOfTurn(loop_.body[k]);
    }
    const std::set<Reg> crossing = Crossing();
    all_known_ = std::all_of(crossing.begin(), crossing.end(),
                             [&](Reg array) { return KnowsBoundsAt(loop_, array); });
    const bool known = std::all_of(crossing.begin(), crossing.end(), [&](Reg array) {
      return !grown.contains(array) && KnowsSizeAt(array);
    });
    if (!adds_to_same_ || crossing.empty() || !known) return {};
    for (Reg array : crossing) {
      Writer front(f_);
      SizeOf(front);
      grown[array] = std::move(front.nodes);
    }
    Strips strips =
        OpenStrips(f_, loop_, "block", [&](Writer& front) { return SizeOf(front); }, known_);
    FindElements(crossing, strips.front);
    std::vector<Node> adding = TakeAdding(strips);
    const Reg index = loop_.results[0];
    Node make = std::move(loop_);
    make.args = {strips.lo, strips.hi};
    CountFromBlock(make.body, index, strips.lo);
    loop_ = std::move(strips.loop);
    loop_.body.push_back(std::move(make));
    std::move(adding.begin(), adding.end(), std::back_inserter(loop_.body));
    return std::move(strips.front);
  }

 private:
  bool IsOutside(Reg r) const { return r != loop_.results[0] && !made_.contains(r); }

  // Whether the loop at this place of the body adds to each row of an array that nothing else in a turn touches.
  bool AddsRows(size_t k) {
    const Node& n = loop_.body[k];
    if (n.kind != Kind::kFor || effects_[k].checks || effects_[k].ordered) return false;
    if (!HasPlainBounds(n) || !AddsApart(n)) return false;
    const Node* inner = InnerOf(n);
    if (inner == nullptr || !HasPlainBounds(*inner) || known_.IsShort(inner->args[1])) return false;
    std::set<Reg> inside;  // lanes
    ForEachNode(n.body,
                [&](const Node& of) { inside.insert(of.results.begin(), of.results.end()); });
    for (const auto& [r, access] : effects_[k].memory) {
      if (inside.contains(r)) continue;
      if (access.writes ? !IsArrayOfItsOwn(r) : !MayBeReadLater(r, k)) return false;
    }
    std::set<size_t> again;
    return TakesRowsOf(n, *inner, k) &&
           std::all_of(effects_[k].uses.begin(), effects_[k].uses.end(),
                       [&](Reg r) { return MayBeMadeAgain(r, again); });
  }
  // Whether the rows that it reads are as long as one of its loops.
  bool TakesRowsOf(const Node& outer, const Node& inner, size_t k) const {
    return std::all_of(effects_[k].memory.begin(), effects_[k].memory.end(), [&](const auto& of) {
      const auto row = rows_.find(of.first);
      return row == rows_.end() || (f_.TypeOf(row->first).rank == 1 &&
                                    (row->second == outer.args[1] || row->second == inner.args[1]));
    });
  }
  // Whether no other node touches it. (What a check proves is no register.)
  bool IsArrayOfItsOwn(Reg r) const {
    return !IsToken(r) && f_.TypeOf(r).IsArray() && !f_.regs[r.id].lanes && touched_.at(r) == 1;
  }
  static bool IsToken(Reg r) { return r.id >= kFacts.id; }
  bool HasPlainBounds(const Node& n) const { return IsOutside(n.args[0]) && IsOutside(n.args[1]); }
  static const Node* InnerOf(const Node& n) {
    const auto it = std::find_if(n.body.begin(), n.body.end(),
                                 [](const Node& inner) { return inner.kind == Kind::kFor; });
    return it == n.body.end() ? nullptr : &*it;
  }
  static bool Tells(const Node& store, Reg index) {
    return std::find(store.apart.begin(), store.apart.end(), index) != store.apart.end();
  }
  // Whether no later turn of the block adds to elements that a turn adds to.
  bool IsOfTurn(const Node& n) const {
    bool of_turn = true;
    ForEachNode(n.body, [&](const Node& inner) {
      of_turn &= inner.kind != Kind::kStore || Tells(inner, loop_.results[0]);
    });
    return of_turn;
  }
  // Whether it adds to elements, or stores those of a turn, no two of its own turns to the same.
  bool AddsApart(const Node& n) const {
    std::map<Reg, Reg> offsets;  // by array, of its stores
    std::set<Reg> loaded;
    bool apart = true;
    ForEachNode(n.body, [&](const Node& inner) {
      if (inner.kind != Kind::kStore) return;
      const auto known = offsets.emplace(inner.args[0], inner.args[1]).first;
      apart &= known->second == inner.args[1] && Tells(inner, n.results[0]);
    });
    ForEachNode(n.body, [&](const Node& inner) {
      if (inner.kind != Kind::kLoad || !offsets.contains(inner.args[0])) return;
      loaded.insert(inner.args[0]);
      apart &= offsets.at(inner.args[0]) == inner.args[1];
    });
    return apart && !offsets.empty() && (IsOfTurn(n) || loaded.size() == offsets.size());
  }
  // Whether what the node at `at` reads is there when all turns of a block are over.
  bool MayBeReadLater(Reg r, size_t at) const {
    const auto written = written_.find(r);
    if (written == written_.end()) return true;
    if (written->second > at) return false;
    return rows_.contains(r) || (!IsToken(r) && all_.memory.at(r).IsOfTurn());
  }
  // Few and cheap. `again`: places of what is, with what has been found before.
  bool MayBeMadeAgain(Reg r, std::set<size_t>& again) const {
    const auto it = made_.find(r);
    if (it == made_.end() || again.contains(it->second)) return true;
    const Node& n = loop_.body[it->second];
    const bool proven = std::any_of(n.proofs.begin(), n.proofs.end(),
                                    [&](const Proof& p) { return written_.contains(p.token); });
    if (again.size() == kMostMadeAgain || proven ||
        !(IsCheap(n) || MayBeLoadedLater(n, it->second)))
      return false;
    again.insert(it->second);
    return std::all_of(n.args.begin(), n.args.end(), [&](Reg arg) {
      return f_.TypeOf(arg).IsArray() ? IsOutside(arg) : MayBeMadeAgain(arg, again);
    });
  }
  bool IsCheap(const Node& n) const {
    if (n.kind != Kind::kScalar) return false;
    const bool division = n.op == Op::Div || n.op == Op::Rem;
    return !division && (ir::Info(n.op).flags & ir::kLibm) == 0;
  }
  bool MayBeLoadedLater(const Node& n, size_t at) const {
    return n.kind == Kind::kLoad && !rows_.contains(n.args[0]) && MayBeReadLater(n.args[0], at);
  }

  // Rows that the rest of a turn makes for them.
  std::set<Reg> Crossing() const {
    std::set<Reg> crossing;
    for (size_t k : adds_) {
      for (const auto& [r, access] : effects_[k].memory) {
        if (rows_.contains(r)) crossing.insert(r);
      }
    }
    return crossing;
  }

  Reg SizeOf(Writer& front) const {
    Reg size = front.I64(kBlockTurns);
    std::set<std::pair<Reg, Reg>> ranges;
    for (const Node* n : Sized()) {
      const Reg lo = n->args[0], hi = n->args[1];
      if (!ranges.emplace(lo, hi).second) continue;
      const Reg turns = known_.IsZero(lo) ? hi : front.Scalar(Op::Sub, {hi, lo});
      size = front.Scalar(Op::Min, {size, turns});
    }
    return front.Scalar(Op::Max, {size, front.I64(1)});
  }

  // Loops that have no fewer turns than a block. (Of the loop itself it is not known in front of strips.)
  std::vector<const Node*> Sized() const {
    std::vector<const Node*> loops;
    if (all_known_) loops.push_back(&loop_);
    for (size_t k : adds_) {
      loops.push_back(&loop_.body[k]);
      loops.push_back(InnerOf(loop_.body[k]));
    }
    return loops;
  }
  bool KnowsSizeAt(Reg array) const {
    const std::vector<const Node*> loops = Sized();
    return std::all_of(loops.begin(), loops.end(),
                       [&](const Node* n) { return KnowsBoundsAt(*n, array); });
  }
  bool KnowsBoundsAt(const Node& loop, Reg array) const {
    return places_.IsKnownAt(loop.args[0], array) && places_.IsKnownAt(loop.args[1], array);
  }

  // Of a row.
  void FindElements(const std::set<Reg>& crossing, std::vector<Node>& nodes) {
    Writer front(f_);
    for (Reg array : crossing) {
      const std::vector<Reg>& extents = places_.ExtentsOf(array);
      Reg elements = extents[0];
      for (size_t axis = 1; axis < extents.size(); ++axis)
        elements = front.Scalar(Op::Mul, {elements, extents[axis]});
      elements_[array] = elements;
    }
    std::move(front.nodes.begin(), front.nodes.end(), std::back_inserter(nodes));
  }

  // Accesses of a turn are to the row that it has in its block.
  void CountFromBlock(std::vector<Node>& body, Reg index, Reg lo) {
    Writer front(f_);
    const Reg turn = front.Scalar(Op::Sub, {index, lo});
    std::map<Reg, Reg> starts;
    for (const auto& [array, elements] : elements_)
      starts[array] = front.Scalar(Op::Mul, {turn, elements});
    if (!Move(body, turn, starts)) return;
    std::move(body.begin(), body.end(), std::back_inserter(front.nodes));
    body = std::move(front.nodes);
  }
  bool Move(std::vector<Node>& nodes, Reg turn, const std::map<Reg, Reg>& starts) {
    bool moved = false;
    std::map<std::pair<Reg, Reg>, Reg> made;  // offsets
    std::vector<Node> all;
    for (Node& n : nodes) {
      moved |= Move(n.body, turn, starts);
      moved |= Move(n.other, turn, starts);
      const auto start = IsAccess(n) ? starts.find(n.args[0]) : starts.end();
      if (start != starts.end()) {
        Writer front(f_);
        Reg& offset = made[{start->second, n.args[1]}];
        if (!offset.valid()) {
          offset = front.Scalar(Op::Add, {start->second, n.args[1]});
          all.push_back(std::move(front.nodes[0]));
        }
        n.args[1] = offset;
        if (!n.rows.empty()) n.rows.insert(n.rows.begin(), Subscript{turn, turn, {}, {}});
        moved = true;
      }
      all.push_back(std::move(n));
    }
    nodes = std::move(all);
    return moved;
  }

  // Those loops, with one over the turns of a block inside; they are gone from the body.
  std::vector<Node> TakeAdding(const Strips& strips) {
    std::vector<Node> adding;
    for (size_t k : adds_) {
      Node outer = std::move(loop_.body[k]);
      Node turns = MakeLoop(f_, strips.lo, strips.hi, "i", outer.loc);
      std::map<Reg, Reg> renamed{{loop_.results[0], turns.results[0]}};
      std::vector<Node> body;
      for (Reg r : effects_[k].uses) MakeAgain(r, renamed, body);
      std::move(outer.body.begin(), outer.body.end(), std::back_inserter(body));
      ForEachRead(body, [&](Reg& r) {
        if (const auto it = renamed.find(r); it != renamed.end()) r = it->second;
      });
      CountFromBlock(body, turns.results[0], strips.lo);
      turns.body = std::move(body);
      outer.body.clear();
      outer.body.push_back(std::move(turns));
      adding.push_back(std::move(outer));
    }
    std::erase_if(loop_.body, [](const Node& n) { return n.kind == Kind::kFor && n.body.empty(); });
    return adding;
  }
  void MakeAgain(Reg r, std::map<Reg, Reg>& renamed, std::vector<Node>& nodes) {
    const auto it = made_.find(r);
    if (it == made_.end() || renamed.contains(r)) return;
    Node node = loop_.body[it->second];
    for (Reg arg : node.args) MakeAgain(arg, renamed, nodes);
    node.results = {f_.NewReg(f_.TypeOf(r), f_.regs[r.id].name)};
    renamed[r] = node.results[0];
    nodes.push_back(std::move(node));
  }

  Function& f_;
  Node& loop_;
  const std::map<Reg, Reg>& rows_;
  const Places& places_;
  const ir::KnownExtents& known_;
  const Effects all_;
  std::vector<Effects> effects_;   // of the body's nodes
  std::map<Reg, size_t> made_;     // in a turn, with the place in the body
  std::map<Reg, int> touched_;     // by how many nodes
  std::map<Reg, size_t> written_;  // in a turn, with the last place where it is
  std::vector<size_t> adds_;
  bool all_known_ = false;       // bounds of the loop, in front of what it makes rows of
  bool adds_to_same_ = false;    // some of them: in several turns to the same elements
  std::map<Reg, Reg> elements_;  // of a row of what has grown
};

// A function.
class Blocks {
 public:
  Blocks(Function& f, const RowsOfTurns& rows)
      : f_(f), rows_(rows), places_(f), known_(FindKnownExtents(f)) {}

  void Run() {
    for (Block& b : f_.blocks) Visit(b.nodes);
    if (grown_.empty()) return;
    for (Block& b : f_.blocks) Grow(b.nodes);
  }

 private:
  // Inner loops first.
  void Visit(std::vector<Node>& nodes) {
    std::vector<Node> all;
    for (Node& n : nodes) {
      Visit(n.body);
      Visit(n.other);
      const auto rows = n.kind == Kind::kFor ? rows_.find(n.results[0]) : rows_.end();
      if (rows != rows_.end()) {
        std::vector<Node> front = Blocking(f_, n, rows->second, places_, known_).Run(grown_);
        std::move(front.begin(), front.end(), std::back_inserter(all));
      }
      all.push_back(std::move(n));
    }
    nodes = std::move(all);
  }
  void Grow(std::vector<Node>& nodes) {
    std::vector<Node> all;
    for (Node& n : nodes) {
      Grow(n.body);
      Grow(n.other);
      const auto it = n.kind == Kind::kAlloc ? grown_.find(n.results[0]) : grown_.end();
      if (it != grown_.end()) {
        n.args.insert(n.args.begin(), it->second.back().results[0]);
        std::move(it->second.begin(), it->second.end(), std::back_inserter(all));
        Type& t = f_.regs[it->first.id].type;
        t = Type::Array(t.elem, t.rank + 1);
      }
      all.push_back(std::move(n));
    }
    nodes = std::move(all);
  }

  Function& f_;
  const RowsOfTurns& rows_;
  const Places places_;
  const ir::KnownExtents known_;
  std::map<Reg, std::vector<Node>> grown_;
};

}  // namespace

void BlockRows(Function& f, const RowsOfTurns& rows) {
  if (!rows.empty()) Blocks(f, rows).Run();
}

}  // namespace pullback::loops
