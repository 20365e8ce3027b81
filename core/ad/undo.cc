#include "core/ad/undo.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "core/ad/partials.h"

namespace pullback::ad {
namespace {

using ir::Inst;
using ir::Op;
using ir::Value;

bool Updates(const Inst& inst) { return inst.op == Op::Update || inst.op == Op::AddAt; }

class Finder {
 public:
  Finder(const ir::Function& f, const ReverseFlow& flow, const analysis::Activity& activity)
      : f_(f), flow_(flow), activity_(activity), in_(f.blocks.size()), out_(f.blocks.size()) {}

  // Whether there is anything to look for.
  bool Worthwhile() const {
    bool updates = false, statements = false;
    for (uint32_t b = 0; b < f_.blocks.size(); ++b) {
      if (!flow_.InCycle(b)) continue;
      for (const Inst& inst : f_.blocks[b].insts) {
        updates |= Updates(inst);
        statements |= inst.op == Op::Each;
      }
    }
    return updates && statements;
  }

  // By value, its web.
  std::vector<uint32_t> Find() {
    FindLiveness();
    parent_.resize(f_.values.size());
    std::iota(parent_.begin(), parent_.end(), 0U);
    for (uint32_t b = 0; b < f_.blocks.size(); ++b) Connect(b);
    std::vector<char> updated(f_.values.size()), read(f_.values.size()), bad(f_.values.size());
    for (uint32_t b = 0; b < f_.blocks.size(); ++b) {
      if (!flow_.InCycle(b)) continue;
      for (const Inst& inst : f_.blocks[b].insts) {
        if (Updates(inst)) updated[Root(inst.results[0])] = 1;
        if (inst.op == Op::Each) MarkRead(inst, read);
      }
    }
    for (uint32_t b = 0; b < f_.blocks.size(); ++b) FindOverlaps(b, bad);
    std::vector<uint32_t> web(f_.values.size(), UndoWebs::kNone);
    for (uint32_t v = 0; v < f_.values.size(); ++v) {
      const uint32_t root = Root(Value{v});
      if (updated[root] && read[root] && !bad[root]) web[v] = root;
    }
    return web;
  }

  const std::set<Value>& Out(uint32_t b) const { return out_[b]; }

 private:
  bool IsArray(Value v) const { return f_.TypeOf(v).IsArray(); }

  uint32_t Root(Value v) {
    uint32_t at = v.id;
    while (parent_[at] != at) at = parent_[at] = parent_[parent_[at]];
    return at;
  }
  void Unite(Value a, Value b) { parent_[Root(a)] = Root(b); }

  // Of arrays; a value that is passed to a block is live at the end of the block that passes it.
  void FindLiveness() {
    for (bool changed = true; changed;) {
      changed = false;
      for (uint32_t b = static_cast<uint32_t>(f_.blocks.size()); b-- > 0;) {
        for (const ir::Edge& e : f_.blocks[b].term.edges) {
          const auto& params = f_.blocks[e.block].params;
          for (Value v : in_[e.block]) {
            if (std::find(params.begin(), params.end(), v) == params.end()) out_[b].insert(v);
          }
          for (Value v : e.args) {
            if (IsArray(v)) out_[b].insert(v);
          }
        }
        std::set<Value> live = out_[b];
        Backwards(b, live, [] {}, [](const Inst&) {});
        if (live.size() == in_[b].size()) continue;
        in_[b] = std::move(live);
        changed = true;
      }
    }
  }

  // From what is live at the end of a block to what is live at its start, its parameters included where
  // they are. `between` is called behind each instruction, `see` at it: its results are no longer live,
  // its operands not yet.
  template <typename Between, typename See>
  void Backwards(uint32_t b, std::set<Value>& live, Between&& between, See&& see) const {
    const ir::Block& block = f_.blocks[b];
    for (Value v : block.term.results) {
      if (IsArray(v)) live.insert(v);
    }
    for (auto inst = block.insts.rbegin(); inst != block.insts.rend(); ++inst) {
      between();
      for (Value v : inst->results) live.erase(v);
      see(*inst);
      std::set<Value> body;
      if (inst->each) {
        for (const Inst& in : inst->each->body) body.insert(in.results.begin(), in.results.end());
      }
      ir::ForEachOperand(*inst, [&](Value v) {
        if (!body.count(v) && IsArray(v)) live.insert(v);
      });
    }
  }

  // What dies where another value is made from it, or is passed, is the same array.
  void Connect(uint32_t b) {
    std::set<Value> live = out_[b];
    Backwards(
        b, live, [] {},
        [&](const Inst& inst) {
          if (Updates(inst) && !live.count(inst.args[0])) Unite(inst.args[0], inst.results[0]);
        });
    for (const ir::Edge& e : f_.blocks[b].term.edges) {
      for (size_t k = 0; k < e.args.size(); ++k) {
        const Value v = e.args[k];
        if (IsArray(v) && !in_[e.block].count(v) &&
            std::count(e.args.begin(), e.args.end(), v) == 1)
          Unite(v, f_.blocks[e.block].params[k]);
      }
    }
  }

  // Arrays whose elements the transpose of a statement asks for: all but those that go through linear
  // operations only.
  void MarkRead(const Inst& statement, std::vector<char>& read) {
    const auto active = [&](const Inst& inst) {
      return std::any_of(inst.results.begin(), inst.results.end(),
                         [&](Value v) { return activity_.Active(v); });
    };
    if (!active(statement)) return;
    const auto& body = statement.each->body;
    const bool nonlinear = std::any_of(body.begin(), body.end(), [&](const Inst& inst) {
      const bool linear = inst.op == Op::Add || inst.op == Op::Sub || inst.op == Op::Neg ||
                          inst.op == Op::Cast || inst.op == Op::Index;
      return active(inst) && !linear;
    });
    for (const Inst& inst : body) {
      if (inst.op == Op::Index && (nonlinear || !f_.TypeOf(inst.results[0]).IsFloat()))
        read[Root(inst.args[0])] = 1;
    }
  }

  // Webs of which two values are live at once.
  void FindOverlaps(uint32_t b, std::vector<char>& bad) {
    std::set<Value> live = out_[b];
    const auto check = [&] {
      std::set<uint32_t> seen;
      for (Value v : live) {
        if (!seen.insert(Root(v)).second) bad[Root(v)] = 1;
      }
    };
    Backwards(b, live, check, [](const Inst&) {});
    live.insert(f_.blocks[b].params.begin(), f_.blocks[b].params.end());
    std::erase_if(live, [&](Value v) { return !IsArray(v); });
    check();
  }

  const ir::Function& f_;
  const ReverseFlow& flow_;
  const analysis::Activity& activity_;
  std::vector<std::set<Value>> in_, out_;
  std::vector<uint32_t> parent_;
};

}  // namespace

UndoWebs::UndoWebs(const ir::Function& f, const ReverseFlow& flow,
                   const analysis::Activity& activity)
    : live_out_(f.blocks.size()) {
  Finder finder(f, flow, activity);
  if (!finder.Worthwhile()) return;
  web_ = finder.Find();
  for (uint32_t b = 0; b < f.blocks.size(); ++b) {
    for (Value v : finder.Out(b)) {
      if (Of(v) != kNone) live_out_[b][Of(v)] = v;
    }
  }
}

}  // namespace pullback::ad
