// Two loops of which one takes rows of an array up to where the other begins, `for i < k { … } for i in k..n { … }`, get an array of
// their own each, of which the loop makes its rows (turn_blocks.cc): no row is made twice but for those next to where they meet. What
// such statements alone read comes along.
#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "core/ir/own_arrays.h"
#include "core/opt/block_loops.h"
#include "core/opt/part_rows.h"
#include "core/opt/turn_facts.h"

namespace pullback::opt {
namespace {

using ir::Affine;
using ir::Inst;
using ir::Op;
using ir::Value;

constexpr int64_t kMostAway = 4;  // rows next to a turn's own
constexpr size_t kMostLoops = 64;

class Parter {
 public:
  explicit Parter(ir::Function& f) : f_(f), dominators_(f), defs_(f), own_(f) {
    for (const BlockLoop& loop : FindLoops(f, dominators_, LoopExits::kWithBreaks)) {
      if (const auto counter = FindCounterByOnes(f, loop, defs_))
        ranges_.push_back({loop, f.blocks[loop.header].params[counter->param],
                           FormOf(loop.Arguments(f)[counter->param], defs_),
                           FormOf(counter->bound, defs_)});
    }
  }

  std::vector<PartedRows> Run(std::optional<ir::Function>& before) {
    std::vector<PartedRows> parts;
    if (ranges_.size() < 2 || ranges_.size() > kMostLoops) return parts;
    FindReads();
    for (const Range& a : ranges_) {
      for (const Range& b : ranges_) {
        if (a.bound != b.start || a.loop.Holds(b.loop.header) || b.loop.Holds(a.loop.header))
          continue;
        const std::vector<Value> taken = TakenByBoth(a, b);
        if (taken.empty() || !touched_.insert(defs_.BlockOf(taken[0])).second) continue;
        if (!before) before = f_;
        Part(taken, a, b, parts);
      }
    }
    return parts;
  }

 private:
  struct Range {
    BlockLoop loop;
    Value turn;
    Affine start, bound;
  };
  struct Read {
    uint32_t block;
    Value statement;  // that reads it; none: the block does, or what it gives is not one array
    Affine row;
    bool by_index;
  };

  void FindReads() {
    for (uint32_t b = 0; b < f_.blocks.size(); ++b) {
      const auto add = [&](const Inst& inst, Value statement) {
        const bool by_index = inst.op == Op::Index;
        ir::ForEachOperand(inst, [&](Value v) {
          if (!f_.TypeOf(v).IsArray()) return;
          reads_[v].push_back({b, statement, by_index ? FormOf(inst.subs[0], defs_) : Affine(),
                               by_index && v == inst.args[0]});
        });
      };
      for (const Inst& inst : f_.blocks[b].insts) {
        if (!inst.each) {
          add(inst, {});
          continue;
        }
        for (const Inst& part : inst.each->body)
          add(part, inst.results.size() == 1 ? inst.results[0] : Value());
        for (const ir::EachResult& r : inst.each->results) {
          if (r.into.valid()) reads_[r.into].push_back({b, {}, {}, false});
        }
      }
      ir::ForEachTermOperand(f_.blocks[b].term, [&](Value v) {
        if (f_.TypeOf(v).IsArray()) reads_[v].push_back({b, {}, {}, false});
      });
    }
  }

  // Whether it is next to a turn's own row.
  static bool IsNear(const Read& read, const Range& of) {
    const Affine away = read.row - Affine::Of(of.turn);
    return read.by_index && of.loop.Holds(read.block) && away.IsConst() &&
           -kMostAway <= away.constant && away.constant <= kMostAway;
  }

  // Large arrays of one block of which both loops take rows, and nothing else but what makes others of them does.
  std::vector<Value> TakenByBoth(const Range& a, const Range& b) {
    std::vector<Value> taken;
    made_.clear();
    const uint32_t from = dominators_.Idom(a.loop.header);
    for (uint32_t at = from;; at = dominators_.Idom(at)) {
      if (dominators_.Dominates(at, b.loop.entry)) FindMade(at, a, b);
      for (Value v : made_) {
        const std::vector<Read>& reads = reads_.at(v);
        const auto takes = [&](const Range& of) {
          return std::any_of(reads.begin(), reads.end(),
                             [&](const Read& read) { return IsNear(read, of); });
        };
        if (IsLarge(v) && takes(a) && takes(b)) taken.push_back(v);
      }
      if (!taken.empty() || at == 0) return taken;
    }
  }
  // Arrays of the block that turns of both loops take rows of, or what makes such: `made_`.
  void FindMade(uint32_t block, const Range& a, const Range& b) {
    made_.clear();
    for (const Inst& inst : f_.blocks[block].insts) {
      if (inst.each && inst.results.size() == 1 && reads_.contains(inst.results[0]))
        made_.insert(inst.results[0]);
    }
    const auto is_by_rows = [&](const Read& read) {
      return IsNear(read, a) || IsNear(read, b) ||
             (read.by_index && made_.contains(read.statement));
    };
    while (std::erase_if(made_, [&](Value v) {
             const std::vector<Read>& reads = reads_.at(v);
             return !std::all_of(reads.begin(), reads.end(), is_by_rows);
           }) > 0)
      continue;
  }
  bool IsLarge(Value array) const {
    return !own_.IsNoLarger(defs_.Inst(array)->each->results[0].shape);
  }

  // Copies of these, and of what makes them, for the second loop.
  void Part(const std::vector<Value>& taken, const Range& a, const Range& b,
            std::vector<PartedRows>& parts) {
    std::set<Value> needed(taken.begin(), taken.end());
    std::vector<Inst>& insts = f_.blocks[defs_.BlockOf(taken[0])].insts;
    for (auto inst = insts.rbegin(); inst != insts.rend(); ++inst) {
      if (!inst->each || inst->results.size() != 1 || !needed.contains(inst->results[0])) continue;
      for (const Inst& read : inst->each->body) {
        if (read.op == Op::Index && made_.contains(read.args[0])) needed.insert(read.args[0]);
      }
    }
    Copier copies(f_);
    std::vector<Inst> copied;
    for (Inst& inst : insts) {
      const bool copy = inst.each && inst.results.size() == 1 && needed.contains(inst.results[0]);
      copied.push_back(std::move(inst));
      if (copy) {
        Inst other = copies.Copy(copied.back());
        copied.push_back(std::move(other));
      }
    }
    insts = std::move(copied);
    for (uint32_t in : b.loop.blocks) {
      for (Inst& inst : f_.blocks[in].insts) copies.Rename(inst);
    }
    for (Value v : taken) parts.push_back({a.loop.header, v, b.loop.header, copies.Get(v)});
  }

  ir::Function& f_;
  const ir::Dominators dominators_;
  const DefinitionBlocks defs_;
  const ir::OwnArrays own_;
  std::vector<Range> ranges_;
  std::map<Value, std::vector<Read>> reads_;
  std::set<Value> made_;        // found last (FindMade)
  std::set<uint32_t> touched_;  // blocks whose instructions are others by now
};

}  // namespace

std::vector<PartedRows> PartRows(ir::Function& f, std::optional<ir::Function>& before) {
  return Parter(f).Run(before);
}

}  // namespace pullback::opt
