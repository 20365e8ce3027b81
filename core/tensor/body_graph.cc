#include "core/tensor/body_graph.h"

#include <algorithm>

namespace pullback::tensor {

using ir::Inst;
using ir::Op;
using ir::Value;

namespace {

// As core/eval counts.
bool CostsNothing(const Inst& inst, const ir::Function& f) {
  if (ir::HasCallee(inst.op)) return false;
  const ir::TypeRule rule = ir::Info(inst.op).rule;
  const bool arithmetic = rule == ir::TypeRule::Float || rule == ir::TypeRule::Num;
  return !arithmetic || !f.TypeOf(inst.results[0]).IsFloat();
}

}  // namespace

BodyGraph::BodyGraph(const ir::Each& each, const ir::Function& f)
    : each_(each), nodes_(each.body.size()) {
  for (size_t i = 0; i < each.indices.size(); ++i) indices_[each.indices[i].var.id] = i;
  for (size_t k = 0; k < each.body.size(); ++k) Visit(k, each.body[k], f);
  const auto read = [&](Value v) {
    if (const int k = DefinitionOf(v); k >= 0) ++nodes_[static_cast<size_t>(k)].readers;
  };
  for (const Inst& inst : each.body) ir::ForEachOperand(inst, read);
  for (const ir::EachResult& r : each.results) {
    read(r.value);
    read(r.guard);
    read(r.second);
    for (const ir::Affine& a : r.out) ir::ForEachOperand(a, read);
  }
}

void BodyGraph::Visit(size_t k, const Inst& inst, const ir::Function& f) {
  Node& node = nodes_[k];
  node.needs.assign(each_.indices.size(), false);
  node.op = !CostsNothing(inst, f);
  ir::ForEachOperand(inst, [&](Value v) {
    if (const auto i = indices_.find(v.id); i != indices_.end()) node.needs[i->second] = true;
    const int at = DefinitionOf(v);
    if (at < 0) return;
    const Node& operand = nodes_[static_cast<size_t>(at)];
    node.op |= operand.op;
    for (size_t i = 0; i < node.needs.size(); ++i)
      node.needs[i] = node.needs[i] || operand.needs[i];
  });
  for (Value v : inst.results) definitions_[v.id] = k;
}

int BodyGraph::DefinitionOf(Value v) const {
  const auto it = definitions_.find(v.id);
  return it == definitions_.end() ? -1 : static_cast<int>(it->second);
}

bool BodyGraph::IsStoredWhole(size_t k) const {
  std::vector<Value> stored;
  for (const ir::EachResult& r : each_.results) {
    if (r.monoid != ir::Monoid::kGen || DefinitionOf(r.value) != static_cast<int>(k)) return false;
    if (std::find(stored.begin(), stored.end(), r.value) != stored.end()) return false;
    stored.push_back(r.value);
  }
  return nodes_[k].readers == static_cast<int>(stored.size());
}

bool BodyGraph::IsShared(size_t k) const {
  return nodes_[k].op && nodes_[k].readers > 1 && !IsStoredWhole(k);
}

std::vector<bool> BodyGraph::NeedsOf(size_t k) const {
  std::vector<bool> needs = nodes_[k].needs;
  // A scalar is no place for what may be absent.
  const bool none = std::find(needs.begin(), needs.end(), true) == needs.end();
  if (none && !needs.empty() && each_.body[k].guard.valid()) needs[0] = true;
  for (bool grew = true; grew;) {
    grew = false;
    for (const ir::Constraint& c : each_.where) {
      std::vector<size_t> named;
      ir::ForEachOperand(c.e, [&](Value v) {
        if (const auto i = indices_.find(v.id); i != indices_.end()) named.push_back(i->second);
      });
      // A constraint on dropped indices only would have to be solved for them.
      const bool dropped =
          std::any_of(named.begin(), named.end(), [&](size_t i) { return !needs[i]; });
      if (!dropped) continue;
      for (size_t i : named) needs[i] = true;
      grew = true;
    }
  }
  return needs;
}

bool BodyGraph::NeedsAll(size_t k) const {
  const std::vector<bool> needs = NeedsOf(k);
  return std::all_of(needs.begin(), needs.end(), [](bool b) { return b; });
}

}  // namespace pullback::tensor
