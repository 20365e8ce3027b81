// Mark and sweep from checks, branches and returns; block parameters live only by a use.
#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/flat_lists.h"
#include "core/ir/dominance.h"
#include "core/opt/simplify.h"

namespace pullback::opt {
namespace {

using ir::Inst;
using ir::Value;

class Marker {
 public:
  Marker(ir::Function& f, const RewriteOptions& options)
      : f_(f),
        options_(options),
        live_(f.values.size()),
        def_(f.values.size()),
        edges_to_(ir::EdgesTo(ir::Successors(f.blocks))),
        is_tape_(f.values.size()) {
    for (size_t id = 0; id < f.values.size(); ++id) is_tape_[id] = f.values[id].IsTape();
    std::vector<std::pair<uint32_t, uint32_t>> after;
    for (uint32_t b = 0; b < f.blocks.size(); ++b) {
      for (uint32_t k = 0; k < f.blocks[b].params.size(); ++k)
        def_[f.blocks[b].params[k].id] = {b, Def::kParam | k};
      for (uint32_t k = 0; k < f.blocks[b].insts.size(); ++k) {
        for (Value v : f.blocks[b].insts[k].results) def_[v.id] = {b, k};
      }
      FindTapes(f.blocks[b], after);
    }
    taken_ = !after.empty();
    if (!taken_) return;
    after_ = FlatLists(f.values.size(), [&](auto&& add) {
      for (const auto& [tape, next] : after) add(tape, next);
    });
  }

  void Run() {
    DropWithoutResults();
    for (Value v : f_.params()) Mark(v);
    for (; block_ > 0; --block_) MarkBlock(block_ - 1);
    KeepWhatMayNotGo();
  }

  bool Sweep() {
    CountDead();
    if (lets_ + projections_ == 0 && !dropped_) return false;
    options_.Take(RuleId::kDeadLet, lets_);
    options_.Take(RuleId::kFissionWithProjection, projections_);
    for (ir::Block& b : f_.blocks) {
      std::erase_if(b.insts, [&](Inst& inst) { return IsDead(inst); });
      for (Inst& inst : b.insts) {
        if (inst.each) SweepEach(inst);
      }
    }
    for (uint32_t b = 1; b < f_.blocks.size(); ++b) SweepParams(b);
    return true;
  }

 private:
  struct Def {
    static constexpr uint32_t kParam = uint32_t{1} << 31;
    uint32_t block = ir::kNoBlock;  // none: a value of a body
    uint32_t place = 0;             // in the block: kParam and which, or the instruction

    bool IsInst() const { return block != ir::kNoBlock && (place & kParam) == 0; }
    bool IsParam() const { return block != ir::kNoBlock && (place & kParam) != 0; }
  };

  // What takes a live tape is live, and so is a tape that a live instruction gives: a tape whose last
  // pops were gone would have no derivative. Pairs of a tape and what takes it.
  void FindTapes(const ir::Block& b, std::vector<std::pair<uint32_t, uint32_t>>& after) const {
    for (const Inst& inst : b.insts) {
      for (Value v : inst.args) {
        if (is_tape_[v.id] && !inst.results.empty()) after.emplace_back(v.id, inst.results[0].id);
      }
    }
    for (const ir::Edge& e : b.term.edges) {
      for (size_t k = 0; k < e.args.size(); ++k) {
        if (is_tape_[e.args[k].id])
          after.emplace_back(e.args[k].id, f_.blocks[e.block].params[k].id);
      }
    }
  }

  // From its end to its start. What is found live and stands further up will be come to; the rest is visited then.
  void MarkBlock(uint32_t number) {
    ir::Block& b = f_.blocks[number];
    insts_ahead_ = static_cast<uint32_t>(b.insts.size());
    params_ahead_ = true;
    if (b.term.cond.valid()) Mark(b.term.cond);
    if (b.term.snapshots.valid()) Mark(b.term.snapshots);
    for (Value v : b.term.results) Mark(v);
    while (insts_ahead_ > 0) {
      const Inst& inst = b.insts[--insts_ahead_];
      if (inst.results.empty() && !IsDropped(inst)) MarkOperands(inst);
      for (Value v : inst.results) {
        if (live_[v.id]) Visit(v);
      }
    }
    params_ahead_ = false;
    for (Value v : b.params) {
      if (live_[v.id]) Visit(v);
    }
    while (!work_.empty()) {
      const Value v = work_.back();
      work_.pop_back();
      Visit(v);
    }
  }

  bool IsAhead(Def d) const {
    if (d.block + 1 != block_) return d.block + 1 < block_;
    return d.IsParam() ? params_ahead_ : d.place < insts_ahead_;
  }
  void Mark(Value v) {
    if (live_[v.id]) return;
    live_[v.id] = 1;
    const Def d = def_[v.id];
    if (d.block != ir::kNoBlock && !IsAhead(d)) work_.push_back(v);
  }
  void MarkOperands(const Inst& inst) {
    ir::ForEachOperand(inst, [&](Value v) { Mark(v); });
  }

  void Visit(Value v) {
    const Def d = def_[v.id];
    if (taken_ && is_tape_[v.id]) {
      for (uint32_t next : after_[v.id]) Mark(Value{next});
    }
    if (d.IsParam()) {
      for (uint32_t edge : edges_to_[d.block])
        Mark(ir::EdgeOf(f_, edge).args[d.place & ~Def::kParam]);
    } else if (d.IsInst()) {
      const Inst& inst = f_.blocks[d.block].insts[d.place];
      if (inst.each) {
        VisitEach(inst, v);
      } else {
        MarkOperands(inst);
        for (Value r : inst.results) {
          if (is_tape_[r.id]) Mark(r);
        }
      }
    }
  }

  // Only what the live result needs of the statement.
  void VisitEach(const Inst& inst, Value v) {
    const ir::Each& each = *inst.each;
    for (const ir::IndexVar& i : each.indices) Mark(i.extent);
    for (const ir::Constraint& c : each.where) ir::ForEachOperand(c.e, [&](Value x) { Mark(x); });
    for (size_t k = 0; k < inst.results.size(); ++k) {
      if (inst.results[k] != v) continue;
      const ir::EachResult& r = each.results[k];
      for (const ir::Affine& a : r.out) ir::ForEachOperand(a, [&](Value x) { Mark(x); });
      for (Value x : r.shape) Mark(x);
      Mark(r.value);
      if (r.into.valid()) Mark(r.into);
      if (r.second.valid()) Mark(r.second);
      if (r.guard.valid()) Mark(r.guard);
    }
    for (auto it = each.body.rbegin(); it != each.body.rend(); ++it) {
      for (Value x : it->results) {
        if (live_[x.id]) MarkOperands(*it);
      }
    }
  }

  // What gives nothing: a check that holds and a call go; each is left as a check without operands until Sweep.
  void DropWithoutResults() {
    for (ir::Block& b : f_.blocks) {
      for (Inst& inst : b.insts) {
        if (!inst.results.empty()) continue;
        const bool check = inst.op == ir::Op::Check;
        if (check && !Holds(inst.args[0])) continue;
        if (!options_.Take(check ? RuleId::kCheckTrue : RuleId::kDeadLet)) continue;
        inst = Inst();
        inst.op = ir::Op::Check;
        dropped_ = true;
      }
    }
  }
  // Whether it is the constant true.
  bool Holds(Value condition) const {
    const Def d = def_[condition.id];
    if (!d.IsInst()) return false;
    const Inst& cond = f_.blocks[d.block].insts[d.place];
    return cond.op == ir::Op::Const && cond.bits != 0;
  }
  static bool IsDropped(const Inst& inst) { return inst.op == ir::Op::Check && inst.args.empty(); }

  // Calls fn(rule, value) for all that is dead, what is read mostly before what reads it: instructions of blocks and
  // of bodies, by a result each, results of statements that have another one, and parameters.
  template <typename Fn>
  void ForEachDead(Fn&& fn) const {
    for (uint32_t b = 0; b < f_.blocks.size(); ++b) {
      const RuleId param_rule = GoesRound(b) ? RuleId::kFissionWithProjection : RuleId::kDeadLet;
      for (Value v : f_.blocks[b].params) {
        if (b != 0 && !live_[v.id]) fn(param_rule, v);
      }
      for (const Inst& inst : f_.blocks[b].insts) {
        if (inst.results.empty()) continue;
        if (IsDead(inst)) {
          fn(RuleId::kDeadLet, inst.results[0]);
        } else if (inst.each) {
          for (Value v : inst.results) {
            if (!live_[v.id]) fn(RuleId::kFissionWithProjection, v);
          }
          for (const Inst& body : inst.each->body) {
            if (IsDead(body)) fn(RuleId::kDeadLet, body.results[0]);
          }
        }
      }
    }
  }
  // A loop's state: its parameters.
  bool GoesRound(uint32_t block) const {
    const auto edges = edges_to_[block];
    return std::any_of(edges.begin(), edges.end(),
                       [&](uint32_t edge) { return edge / 2 >= block; });
  }
  void CountDead() {
    lets_ = projections_ = 0;
    ForEachDead([&](RuleId rule, Value) { ++(rule == RuleId::kDeadLet ? lets_ : projections_); });
  }

  // What no fuel is left for, or whose family is off, lives on with all that it needs.
  void KeepWhatMayNotGo() {
    const bool all = options_.Has(Family::kLambda) && options_.Has(Family::kFission);
    if (all && options_.Fuel() >= 2 * f_.values.size()) return;
    std::vector<Value> kept;
    const auto keep = [&] {
      for (Value v : kept) Mark(v);
      while (!work_.empty()) {
        const Value v = work_.back();
        work_.pop_back();
        Visit(v);
      }
      kept.clear();
    };
    ForEachDead([&](RuleId rule, Value v) {
      if (!options_.May(rule)) kept.push_back(v);
    });
    keep();
    for (CountDead(); lets_ + projections_ > options_.Fuel(); CountDead()) {
      uint64_t more = lets_ + projections_ - options_.Fuel();
      ForEachDead([&](RuleId, Value v) {
        if (more == 0) return;
        kept.push_back(v);
        --more;
      });
      keep();
    }
  }

  bool IsDead(const Inst& inst) const {
    if (inst.results.empty()) return IsDropped(inst);
    for (Value v : inst.results) {
      if (live_[v.id]) return false;
    }
    return true;
  }

  void SweepEach(Inst& inst) {
    for (size_t k = inst.results.size(); k-- > 0;) {
      if (live_[inst.results[k].id]) continue;
      inst.results.erase(inst.results.begin() + static_cast<long>(k));
      inst.each->results.erase(inst.each->results.begin() + static_cast<long>(k));
    }
    std::erase_if(inst.each->body, [&](Inst& b) { return IsDead(b); });
  }

  void SweepParams(uint32_t b) {
    ir::Values& params = f_.blocks[b].params;
    for (size_t k = params.size(); k-- > 0;) {
      if (live_[params[k].id]) continue;
      params.erase(params.begin() + static_cast<long>(k));
      for (uint32_t edge : edges_to_[b]) {
        ir::Values& args = ir::EdgeOf(f_, edge).args;
        args.erase(args.begin() + static_cast<long>(k));
      }
    }
  }

  ir::Function& f_;
  const RewriteOptions& options_;
  std::vector<char> live_;
  std::vector<Def> def_;
  FlatLists edges_to_;         // by block
  std::vector<char> is_tape_;  // by value
  FlatLists after_;            // by tape; empty where none is taken
  bool taken_ = false;         // whether anything takes a tape
  std::vector<Value> work_;
  uint64_t lets_ = 0, projections_ = 0;  // that go
  bool dropped_ = false;
  // Where MarkBlock stands: in the block before this one, below these.
  uint32_t block_ = static_cast<uint32_t>(f_.blocks.size());
  uint32_t insts_ahead_ = 0;
  bool params_ahead_ = true;
};

}  // namespace

bool EliminateDeadCode(ir::Function& f, const RewriteOptions& options) {
  Marker marker(f, options);
  marker.Run();
  return marker.Sweep();
}

}  // namespace pullback::opt
