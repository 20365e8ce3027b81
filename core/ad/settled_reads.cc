#include "core/ad/settled_reads.h"

#include "core/ad/later_stores.h"

#include <algorithm>
#include <set>

namespace pullback::ad {
namespace {

using ir::Inst;
using ir::Op;
using ir::Value;

constexpr size_t kMostStores = 16;  // of a table

bool IsStore(const Inst& inst) { return inst.op == Op::Update || inst.op == Op::AddAt; }
bool IsRead(const Inst& inst) { return inst.op == Op::Index || inst.op == Op::Dim || inst.each; }

// What all loops of a function ask for.
struct KnownOfAll {
  KnownOfAll(const ir::Function& function, const ReverseFlow& reverse, const Definitions& defined,
             const Counters& all_counters, const ReadAlone& alone)
      : f(function),
        flow(reverse),
        defs(defined),
        read_alone(alone),
        counters(WithSmallSteps(all_counters)),
        place(f.blocks.size(), kNoPlace),
        takers(f.values.size(), [&](auto&& add) {
          for (uint32_t b = 0; b < f.blocks.size(); ++b) ForEachTaken(b, add);
        }) {
    for (size_t k = 0; k < flow.dominators.order().size(); ++k)
      place[flow.dominators.order()[k]] = k;
  }

  static constexpr size_t kNoPlace = SIZE_MAX;
  const ir::Function& f;
  const ReverseFlow& flow;
  const Definitions& defs;
  const ReadAlone& read_alone;
  const Counters counters;
  std::vector<size_t> place;  // by block: in reverse postorder
  const FlatLists takers;     // by array: blocks that do more than read it

 private:
  template <typename Add>
  void ForEachTaken(uint32_t b, Add&& add) const {
    for (const Inst& inst : f.blocks[b].insts) {
      if (IsRead(inst)) continue;
      for (Value v : inst.args) add(v.id, b);
    }
    for (const ir::Edge& edge : f.blocks[b].term.edges) {
      for (Value v : edge.args) add(v.id, b);
    }
  }
};

// A loop and the arrays that it carries.
class TableLoop {
 public:
  TableLoop(const KnownOfAll& known, uint32_t header)
      : f_(known.f),
        flow_(known.flow),
        defs_(known.defs),
        known_(known),
        header_(header),
        is_outermost_(flow_.dominators.Dominates(header, flow_.exit) &&
                      flow_.SurvivesTo(header, flow_.preds[header][0].block)),
        later_(f_, flow_, defs_, known.counters, header),
        blocks_(flow_.LoopOf(header)) {}

  bool IsOutermost() const { return is_outermost_; }
  // Reads of this loop, with their tables.
  void Find(std::map<const Inst*, Value>& found) {
    for (Value param : f_.blocks[header_].params) {
      if (f_.TypeOf(param).IsArray()) tables_.insert(param);
    }
    if (tables_.empty() || !HasCountedLoopsAlone()) return;
    FindVersions();
    std::erase_if(tables_, [&](Value table) { return !IsTable(table); });
    for (uint32_t b : blocks_) {
      std::set<Value> stored_to;  // so far
      for (const Inst& inst : f_.blocks[b].insts) {
        if (IsStore(inst)) stored_to.insert(inst.args[0]);
        if (inst.op != Op::Index || b == header_) continue;
        const Value table = TableOf(inst.args[0]);
        const bool current = tables_.contains(table) && !stored_to.contains(inst.args[0]) &&
                             IsCurrent(inst.args[0], b);
        if (current && IsSettled(inst, b, table)) found.emplace(&inst, table);
      }
    }
  }

 private:
  bool IsInside(uint32_t b) const { return b == header_ || flow_.IsLoopBodyOf(b, header_); }
  bool IsConstantHere(Value v) const { return !IsInside(flow_.def_block[v.id]); }
  // Whether every cycle inside is a loop that is left through its header: those that places are compared in.
  bool HasCountedLoopsAlone() const {
    return std::all_of(blocks_.begin(), blocks_.end(), [&](uint32_t b) {
      const ir::Edges& edges = f_.blocks[b].term.edges;
      return std::all_of(edges.begin(), edges.end(), [&](const ir::Edge& e) {
        const size_t from = known_.place[b], to = known_.place[e.block];
        const bool forwards = to != KnownOfAll::kNoPlace && from < to;
        const bool back = IsInside(e.block) && !forwards;
        return !back || (flow_.way[e.block] == WayBack::kTrips && flow_.IsLoopBodyOf(b, e.block));
      });
    });
  }

  // --- versions of a table

  // The table that v is a version of; kNoValue: none, or not known yet.
  Value TableOf(Value v) const {
    const auto it = table_of_.find(v);
    return it == table_of_.end() ? Value() : it->second;
  }
  void FindVersions() {
    for (Value table : tables_) table_of_[table] = table;
    // What is known grows, and what was a version may become mixed.
    const auto known = [&] { return table_of_.size() + 2 * mixed_.size(); };
    for (size_t before = 0; before != known();) {
      before = known();
      for (uint32_t b : blocks_) {
        for (const Inst& inst : f_.blocks[b].insts) {
          if (IsStore(inst)) Join(inst.results[0], inst.args[0]);
        }
        for (const ir::Edge& edge : f_.blocks[b].term.edges) {
          if (edge.block == header_ || !IsInside(edge.block)) continue;
          const ir::Values& params = f_.blocks[edge.block].params;
          for (size_t k = 0; k < params.size(); ++k) Join(params[k], edge.args[k]);
        }
      }
    }
  }
  // `to` is what `from` is, among others.
  void Join(Value to, Value from) {
    const ir::Type t = f_.TypeOf(to);
    if (!t.IsArray() || mixed_.contains(to)) return;
    const bool is_known = table_of_.contains(from);
    const bool is_none = mixed_.contains(from) || IsConstantHere(from) ||
                         (defs_[from.id] != nullptr && !IsStore(*defs_[from.id]));
    if (!is_known && !is_none) return;  // not yet
    const auto it = table_of_.find(to);
    if (is_none || (it != table_of_.end() && it->second != table_of_.at(from))) {
      mixed_.insert(to);
      if (it != table_of_.end()) table_of_.erase(it);
    } else if (it == table_of_.end()) {
      table_of_[to] = table_of_.at(from);
    }
  }

  // Whether the next turn has what came of it in this one, nothing else comes of any version, and behind the loop it is
  // read alone.
  bool IsTable(Value table) {
    const Predecessor& latch = flow_.preds[header_][1];
    const ir::Values& params = f_.blocks[header_].params;
    const auto at = std::find(params.begin(), params.end(), table) - params.begin();
    const Value next = f_.blocks[latch.block].term.edges[latch.edge].args[static_cast<size_t>(at)];
    const std::vector<Store>& stores = StoresOf(table);
    // A store in the header itself would copy what is read behind the loop, in each turn.
    const bool in_header = std::any_of(stores.begin(), stores.end(),
                                       [&](const Store& s) { return s.block == header_; });
    return TableOf(next) == table && !in_header && stores.size() <= kMostStores &&
           IsReadAloneOutside(table) && HasOneSuccessorEach(table);
  }
  bool IsReadAloneOutside(Value table) const {
    if (!is_outermost_)
      return known_.read_alone.IsOutside(table, [&](uint32_t b) { return IsInside(b); });
    const auto takers = known_.takers[table.id];
    if (!std::all_of(takers.begin(), takers.end(), [&](uint32_t b) { return IsInside(b); }))
      return false;
    // The header leads out of the loop by an edge of its own.
    for (const ir::Edge& edge : f_.blocks[header_].term.edges) {
      if (!IsInside(edge.block) &&
          std::find(edge.args.begin(), edge.args.end(), table) != edge.args.end())
        return false;
    }
    return true;
  }
  // A block stores to a version, or hands it on, once, and no block behind that does, before the version is another array.
  bool HasOneSuccessorEach(Value table) {
    std::map<Value, std::vector<uint32_t>> ends;
    for (uint32_t b : blocks_) {
      for (const Inst& inst : f_.blocks[b].insts) {
        if (IsRead(inst)) continue;
        for (Value v : inst.args) {
          if (TableOf(v) != table) continue;
          if (!IsStore(inst) || v != inst.args[0]) return false;
          ends[v].push_back(b);
        }
      }
      std::set<Value> handed_on;
      for (const ir::Edge& edge : f_.blocks[b].term.edges) {
        std::set<Value> by_edge;
        for (Value v : edge.args) {
          if (TableOf(v) == table && !by_edge.insert(v).second) return false;
        }
        handed_on.insert(by_edge.begin(), by_edge.end());
      }
      for (Value v : handed_on) ends[v].push_back(b);
    }
    const bool one = std::all_of(ends.begin(), ends.end(), [&](const auto& end) {
      return std::all_of(end.second.begin(), end.second.end(), [&](uint32_t b) {
        const std::set<uint32_t> behind = Behind(b, flow_.def_block[end.first.id]);
        return std::count(end.second.begin(), end.second.end(), b) == 1 &&
               std::none_of(end.second.begin(), end.second.end(),
                            [&](uint32_t other) { return behind.contains(other); });
      });
    });
    ends_.merge(ends);
    return one;
  }
  // Whether the version is the last one at the start of the block: it has no successor yet.
  bool IsCurrent(Value version, uint32_t block) {
    const auto ends = ends_.find(version);
    if (ends == ends_.end()) return true;
    const auto [it, fresh] = behind_.try_emplace(version);
    for (uint32_t b : fresh ? ends->second : std::vector<uint32_t>())
      it->second.merge(Behind(b, flow_.def_block[version.id]));
    return !it->second.contains(block);
  }
  // The blocks behind `from` that are reached without passing `without`.
  std::set<uint32_t> Behind(uint32_t from, uint32_t without) const {
    std::set<uint32_t> seen;
    std::vector<uint32_t> work = {from};
    while (!work.empty()) {
      const uint32_t b = work.back();
      work.pop_back();
      for (const ir::Edge& edge : f_.blocks[b].term.edges) {
        if (edge.block != without && IsInside(edge.block) && seen.insert(edge.block).second)
          work.push_back(edge.block);
      }
    }
    return seen;
  }

  // --- places

  struct Store {
    const Inst* inst;
    uint32_t block;
  };
  const std::vector<Store>& StoresOf(Value table) {
    const auto [it, fresh] = stores_.try_emplace(table);
    if (!fresh) return it->second;
    for (uint32_t b : blocks_) {
      for (const Inst& inst : f_.blocks[b].insts) {
        if (IsStore(inst) && TableOf(inst.results[0]) == table) it->second.push_back({&inst, b});
      }
    }
    return it->second;
  }
  bool IsSettled(const Inst& read, uint32_t block, Value table) {
    const std::vector<Store>& stores = StoresOf(table);
    return std::all_of(stores.begin(), stores.end(), [&](const Store& s) {
      return later_.AreElsewhere({*s.inst, s.block}, {read, block});
    });
  }

  const ir::Function& f_;
  const ReverseFlow& flow_;
  const Definitions& defs_;
  const KnownOfAll& known_;
  const uint32_t header_;
  const bool is_outermost_;  // it stands in no other loop
  const LaterStores later_;
  const std::vector<uint32_t>& blocks_;
  std::set<Value> tables_;                       // parameters of the header
  std::map<Value, Value> table_of_;              // by version
  std::set<Value> mixed_;                        // arrays that are no version, or of several
  std::map<Value, std::vector<uint32_t>> ends_;  // by version: where it is stored to or handed on
  std::map<Value, std::set<uint32_t>> behind_;   // and the blocks behind that
  std::map<Value, std::vector<Store>> stores_;
};

}  // namespace

SettledReads::SettledReads(const ir::Function& f, const ReverseFlow& flow, const Definitions& defs,
                           const Counters& counters, const ReadAlone& read_alone) {
  if (flow.exit == kNoExit) return;
  const KnownOfAll known(f, flow, defs, counters, read_alone);
  for (const bool outermost : {true, false}) {
    for (uint32_t h = 0; h < f.blocks.size(); ++h) {
      if (flow.way[h] != WayBack::kTrips) continue;
      TableLoop loop(known, h);
      if (loop.IsOutermost() == outermost) loop.Find(tables_);
    }
    for (const auto& [read, table] : tables_) {
      if (outermost) of_outermost_.insert(table);
    }
  }
}

}  // namespace pullback::ad
