// Mark and sweep from checks, branches and returns; block parameters live only by a use.
#include <map>
#include <utility>
#include <vector>

#include "core/opt/simplify.h"

namespace pullback::opt {
namespace {

using ir::Inst;
using ir::Value;

class Marker {
 public:
  explicit Marker(ir::Function& f) : f_(f), live_(f.values.size()), def_(f.values.size()) {
    for (uint32_t b = 0; b < f.blocks.size(); ++b) {
      for (uint32_t k = 0; k < f.blocks[b].params.size(); ++k)
        def_[f.blocks[b].params[k].id] = {Def::kParam, b, k};
      for (uint32_t k = 0; k < f.blocks[b].insts.size(); ++k) {
        for (Value v : f.blocks[b].insts[k].results) def_[v.id] = {Def::kInst, b, k};
      }
      FindTapes(f.blocks[b]);
      const ir::Terminator& t = f.blocks[b].term;
      for (uint32_t e = 0; e < t.edges.size(); ++e) {
        if (preds_.size() <= t.edges[e].block) preds_.resize(f.blocks.size());
        preds_[t.edges[e].block].emplace_back(b, e);
      }
    }
    preds_.resize(f.blocks.size());
  }

  void Run() {
    for (ir::Block& b : f_.blocks) {
      for (Inst& inst : b.insts) {
        if (IsOpenCheck(inst)) MarkOperands(inst);
      }
      if (b.term.cond.valid()) Mark(b.term.cond);
      if (b.term.snapshots.valid()) Mark(b.term.snapshots);
      for (Value v : b.term.results) Mark(v);
    }
    for (Value v : f_.params()) Mark(v);
    while (!work_.empty()) {
      const Value v = work_.back();
      work_.pop_back();
      Visit(v);
    }
  }

  bool Sweep() {
    bool changed = false;
    // Decided before positions move: a check that holds loses its operands, then goes.
    for (ir::Block& b : f_.blocks) {
      for (Inst& inst : b.insts) {
        if (inst.op == ir::Op::Check && !IsOpenCheck(inst)) inst.args.clear();
      }
    }
    for (ir::Block& b : f_.blocks) {
      changed |= std::erase_if(b.insts, [&](Inst& inst) { return IsDead(inst); }) > 0;
      for (Inst& inst : b.insts) {
        if (inst.each) changed |= SweepEach(inst);
      }
    }
    for (uint32_t b = 1; b < f_.blocks.size(); ++b) changed |= SweepParams(b);
    return changed;
  }

 private:
  struct Def {
    enum Kind : uint8_t { kNone, kParam, kInst } kind = kNone;
    uint32_t block = 0, index = 0;
  };

  // What takes a live tape is live, and so is a tape that a live instruction gives: a tape whose last
  // pops were gone would have no derivative.
  void FindTapes(const ir::Block& b) {
    for (const Inst& inst : b.insts) {
      for (Value v : inst.args) {
        if (f_.TypeOf(v).IsTape() && !inst.results.empty()) after_[v].push_back(inst.results[0]);
      }
    }
    for (const ir::Edge& e : b.term.edges) {
      for (size_t k = 0; k < e.args.size(); ++k) {
        if (f_.TypeOf(e.args[k]).IsTape())
          after_[e.args[k]].push_back(f_.blocks[e.block].params[k]);
      }
    }
  }

  void Mark(Value v) {
    if (live_[v.id]) return;
    live_[v.id] = true;
    work_.push_back(v);
  }
  void MarkOperands(const Inst& inst) {
    ir::ForEachOperand(inst, [&](Value v) { Mark(v); });
  }

  void Visit(Value v) {
    const Def d = def_[v.id];
    if (f_.TypeOf(v).IsTape()) {
      for (Value next : after_[v]) Mark(next);
    }
    if (d.kind == Def::kParam) {
      for (auto [pred, edge] : preds_[d.block])
        Mark(f_.blocks[pred].term.edges[edge].args[d.index]);
    } else if (d.kind == Def::kInst) {
      Inst& inst = f_.blocks[d.block].insts[d.index];
      if (inst.each) {
        VisitEach(inst, v);
      } else {
        MarkOperands(inst);
        for (Value r : inst.results) {
          if (f_.TypeOf(r).IsTape()) Mark(r);
        }
      }
    }
  }

  // Only what the live result needs of the statement.
  void VisitEach(Inst& inst, Value v) {
    ir::Each& each = *inst.each;
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

  // A check of something that is not the constant true.
  bool IsOpenCheck(const Inst& inst) const {
    if (inst.op != ir::Op::Check) return false;
    const Def d = def_[inst.args[0].id];
    if (d.kind != Def::kInst) return true;
    const Inst& cond = f_.blocks[d.block].insts[d.index];
    return cond.op != ir::Op::Const || cond.bits == 0;
  }

  bool IsDead(const Inst& inst) const {
    if (inst.op == ir::Op::Check) return inst.args.empty();
    for (Value v : inst.results) {
      if (live_[v.id]) return false;
    }
    return true;
  }

  bool SweepEach(Inst& inst) {
    bool changed = false;
    for (size_t k = inst.results.size(); k-- > 0;) {
      if (live_[inst.results[k].id]) continue;
      inst.results.erase(inst.results.begin() + static_cast<long>(k));
      inst.each->results.erase(inst.each->results.begin() + static_cast<long>(k));
      changed = true;
    }
    return (std::erase_if(inst.each->body, [&](Inst& b) { return IsDead(b); }) > 0) || changed;
  }

  bool SweepParams(uint32_t b) {
    std::vector<Value>& params = f_.blocks[b].params;
    bool changed = false;
    for (size_t k = params.size(); k-- > 0;) {
      if (live_[params[k].id]) continue;
      params.erase(params.begin() + static_cast<long>(k));
      for (auto [pred, edge] : preds_[b]) {
        std::vector<Value>& args = f_.blocks[pred].term.edges[edge].args;
        args.erase(args.begin() + static_cast<long>(k));
      }
      changed = true;
    }
    return changed;
  }

  ir::Function& f_;
  std::vector<char> live_;
  std::vector<Def> def_;
  std::vector<std::vector<std::pair<uint32_t, uint32_t>>> preds_;
  std::vector<Value> work_;
  std::map<Value, std::vector<Value>> after_;  // by tape
};

}  // namespace

bool EliminateDeadCode(ir::Function& f) {
  Marker marker(f);
  marker.Run();
  return marker.Sweep();
}

}  // namespace pullback::opt
