#include "core/tensor/body_graph.h"

#include <algorithm>

#include "core/analysis/eliminate.h"

namespace pullback::tensor {

using ir::Inst;
using ir::Value;

namespace {

constexpr int64_t kMaxWork = 200;

bool Any(const std::vector<bool>& bits) {
  return std::find(bits.begin(), bits.end(), true) != bits.end();
}
bool All(const std::vector<bool>& bits) {
  return std::find(bits.begin(), bits.end(), false) == bits.end();
}

// Without `1 <= n` where an index that stays is below n.
std::vector<ir::Constraint> WithoutSizes(const ir::Each& each, const std::vector<bool>& needs,
                                         std::vector<ir::Constraint> where) {
  for (size_t i = 0; i < needs.size(); ++i) {
    const ir::Affine above = ir::Affine::Of(each.indices[i].extent) - ir::Affine::Const(1);
    if (needs[i]) std::erase(where, ir::Constraint{above, false});
  }
  return where;
}

// As core/eval counts.
bool CostsNothing(const Inst& inst, const ir::Function& f) {
  if (ir::HasCallee(inst.op)) return false;
  const ir::TypeRule rule = ir::Info(inst.op).rule;
  const bool arithmetic = rule == ir::TypeRule::Float || rule == ir::TypeRule::Num;
  return !arithmetic || !f.TypeOf(inst.results[0]).IsFloat();
}

}  // namespace

BodyGraph::BodyGraph(const ir::Each& each, const ir::Function& f,
                     const analysis::OuterValues& outer)
    : each_(each), outer_(outer), nodes_(each.body.size()) {
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

Space BodyGraph::SpaceOf(size_t k) const {
  Space space{nodes_[k].needs, each_.where};
  // A scalar is no place for what may be absent.
  if (!space.needs.empty() && each_.body[k].guard.valid() && !Any(space.needs))
    space.needs[0] = true;
  if (All(space.needs)) return space;
  analysis::Box box = outer_.BoxOf(each_);
  analysis::Predicate p{each_.where, {}};
  for (size_t i = 0; i < space.needs.size(); ++i) {
    if (space.needs[i]) continue;
    analysis::Work work{kMaxWork};
    auto without = analysis::EliminateExists(each_.indices[i].var, p, box, work);
    if (without && without->strides.empty()) {
      p = std::move(*without);
      box.RemoveIndex(each_.indices[i].var);
    } else {
      space.needs[i] = true;
    }
  }
  analysis::Work work{kMaxWork};
  if (!All(space.needs) && Simplify(p, box, work) != analysis::Truth::kFalse)
    space.where = WithoutSizes(each_, space.needs, std::move(p.constraints));
  else
    space.needs.assign(space.needs.size(), true);  // nothing to drop, or no point at all
  return space;
}

bool BodyGraph::NeedsAll(size_t k) const { return All(SpaceOf(k).needs); }

}  // namespace pullback::tensor
