#include "core/ad/cotangent_flow.h"

#include <set>

namespace pullback::ad {
namespace {

using ir::Value;

struct LocalSets {
  std::set<Value> uses, defs;
};

LocalSets UsesAndDefs(const ir::Function& f, const analysis::Activity& activity,
                      const std::vector<Value>& at_exit, uint32_t b) {
  LocalSets s;
  std::set<Value> body;
  s.defs.insert(f.blocks[b].params.begin(), f.blocks[b].params.end());
  for (const ir::Inst& inst : f.blocks[b].insts) {
    bool active = false;
    for (Value v : inst.results) active |= activity.Active(v);
    s.defs.insert(inst.results.begin(), inst.results.end());
    if (inst.each) {
      for (const ir::Inst& in : inst.each->body) body.insert(in.results.begin(), in.results.end());
    }
    if (!active) continue;
    ir::ForEachOperand(inst, [&](Value v) {
      if (activity.Active(v) && !body.count(v)) s.uses.insert(v);
    });
  }
  for (Value v : f.blocks[b].term.results) {
    if (activity.Active(v)) s.uses.insert(v);
  }
  if (f.blocks[b].term.kind == ir::Terminator::Kind::kReturn)
    s.uses.insert(at_exit.begin(), at_exit.end());
  return s;
}

}  // namespace

std::vector<std::vector<Value>> CotangentsLiveOut(const ir::Function& f,
                                                  const analysis::Activity& activity,
                                                  const std::vector<Value>& at_exit) {
  const size_t n = f.blocks.size();
  std::vector<LocalSets> local;
  for (uint32_t b = 0; b < n; ++b) local.push_back(UsesAndDefs(f, activity, at_exit, b));
  std::vector<std::set<Value>> in(n), out(n);
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t b = n; b-- > 0;) {
      for (const ir::Edge& e : f.blocks[b].term.edges) {
        out[b].insert(in[e.block].begin(), in[e.block].end());
        for (size_t k = 0; k < e.args.size(); ++k) {
          if (activity.Active(f.blocks[e.block].params[k]) && activity.Active(e.args[k]))
            out[b].insert(e.args[k]);
        }
      }
      std::set<Value> now = local[b].uses;
      now.insert(out[b].begin(), out[b].end());
      for (Value v : local[b].defs) now.erase(v);
      if (now.size() == in[b].size()) continue;
      in[b] = std::move(now);
      changed = true;
    }
  }
  std::vector<std::vector<Value>> result;
  for (const std::set<Value>& s : out) result.emplace_back(s.begin(), s.end());
  return result;
}

}  // namespace pullback::ad
