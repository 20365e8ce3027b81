#include "core/analysis/carried_extents.h"

#include <utility>

#include "core/ir/dominance.h"

namespace pullback::analysis {

using ir::Inst;
using ir::Op;
using ir::Value;

namespace {

constexpr int kMostSweeps = 16;  // loops nest less deep
constexpr int kMostChoices = 4;  // of a choice of choices

}  // namespace

void MadeExtents::Record(const Inst& inst) {
  if (inst.each) {
    for (size_t k = 0; k < inst.results.size(); ++k) {
      const ir::EachResult& r = inst.each->results[k];
      if (!r.into.valid()) extents_[inst.results[k].id] = {r.shape, inst.loc};
    }
  } else if (inst.op == Op::Zeros) {
    extents_[inst.results[0].id] = {inst.args, inst.loc};
  } else if (inst.op == Op::Fit) {
    extents_[inst.results[0].id] = {{inst.args.begin() + 1, inst.args.end()}, inst.loc};
  } else if (inst.op == Op::Update || inst.op == Op::AddAt || inst.op == Op::AddArrays) {
    const auto it = extents_.find(inst.args[0].id);
    if (it == extents_.end()) return;
    Extents extents = it->second;
    extents_[inst.results[0].id] = std::move(extents);
  }
}

// Each extent of a parameter is taken for what its edges give until two of them differ; then it is the parameter's own. So
// what is found is the most that is true.
CarriedExtents::CarriedExtents(const ir::Function& f, bool checked) {
  FindParams(f);
  const FlatLists successors = ir::Successors(f.blocks);
  const std::vector<uint32_t> order = ir::ReversePostorder(successors);
  edges_to_ = ir::EdgesTo(successors);
  for (uint32_t b : order) {
    for (const Inst& inst : f.blocks[b].insts) {
      made_.Record(inst);
      if (inst.op == Op::Dim)
        asked_[inst.results[0].id] = {inst.args[0], static_cast<int>(inst.bits)};
      if (inst.op == Op::Update || inst.op == Op::AddAt || inst.op == Op::AddArrays)
        changed_[inst.results[0].id] = inst.args[0];
      for (size_t k = 0; inst.each && k < inst.results.size(); ++k) {
        if (inst.each->results[k].into.valid())
          changed_[inst.results[k].id] = inst.each->results[k].into;
      }
      if (inst.op == Op::Select) either_[inst.results[0].id] = {inst.args[1], inst.args[2]};
    }
  }
  if (checked) FindEqual(f.blocks[0]);
  bool changed = !known_.empty();
  for (int sweep = 0; changed; ++sweep) {
    if (sweep == kMostSweeps) {
      FindParams(f);
      return;
    }
    changed = false;
    for (size_t k = 1; k < order.size(); ++k) changed |= Visit(f, order[k]);
  }
}

// What the entry checks to be equal is so in all blocks behind it.
void CarriedExtents::FindEqual(const ir::Block& entry) {
  absl::flat_hash_map<uint32_t, const Inst*> equalities;  // by result
  for (const Inst& inst : entry.insts) {
    if (inst.op == Op::Eq) equalities[inst.results[0].id] = &inst;
    if (inst.op != Op::Check) continue;
    const auto checked = equalities.find(inst.args[0].id);
    if (checked == equalities.end()) continue;
    const Extent a = Resolved({checked->second->args[0]}, 0),
                 b = Resolved({checked->second->args[1]}, 0);
    if (a != b) equal_[a] = b;
  }
}

void CarriedExtents::FindParams(const ir::Function& f) {
  first_.assign(f.values.size(), kNone);
  known_.clear();
  for (size_t b = 1; b < f.blocks.size(); ++b) {
    for (Value param : f.blocks[b].params) {
      if (!f.TypeOf(param).IsArray()) continue;
      first_[param.id] = static_cast<uint32_t>(known_.size());
      known_.resize(known_.size() + static_cast<size_t>(f.TypeOf(param).rank));
    }
  }
}

Extent CarriedExtents::Of(Value array, int axis) const {
  const Extent given = Given(array, axis);
  return given.value.valid() ? given : Extent{array, axis};
}

// Not valid: of a parameter of which nothing is known yet.
Extent CarriedExtents::Given(Value array, int axis) const { return Resolved({array, axis}, 0); }

Extent CarriedExtents::Resolved(Extent e, int depth) const {
  for (;;) {
    if (e.IsInteger()) {
      const auto asked = asked_.find(e.value.id);
      if (asked == asked_.end()) break;
      e = asked->second;
    }
    if (IsParam(e.value)) return known_[first_[e.value.id] + static_cast<size_t>(e.axis)];
    const MadeExtents::Extents* extents = made_.Of(e.value);
    const auto changed = changed_.find(e.value.id);
    if (extents == nullptr && changed == changed_.end()) break;
    if (extents != nullptr)
      e = {extents->values[static_cast<size_t>(e.axis)]};
    else
      e.value = changed->second;
  }
  const auto either = e.IsInteger() ? either_.find(e.value.id) : either_.end();
  if (either != either_.end() && depth < kMostChoices) return EitherOf(e, either->second, depth);
  for (auto it = equal_.find(e); it != equal_.end(); it = equal_.find(e)) e = it->second;
  return e;
}

// A choice of two extents that are one: of an axis that may be expanded to another one's length.
Extent CarriedExtents::EitherOf(Extent e, std::pair<Value, Value> of, int depth) const {
  const Extent a = Resolved({of.first}, depth + 1), b = Resolved({of.second}, depth + 1);
  if (!a.value.valid() || a == b) return b;
  return b.value.valid() ? e : a;
}

bool CarriedExtents::Visit(const ir::Function& f, uint32_t b) {
  bool changed = false;
  const ir::Values& params = f.blocks[b].params;
  for (size_t k = 0; k < params.size(); ++k) {
    if (!IsParam(params[k])) continue;
    for (int axis = 0; axis < f.TypeOf(params[k]).rank; ++axis) changed |= Visit(f, b, k, axis);
  }
  return changed;
}

bool CarriedExtents::Visit(const ir::Function& f, uint32_t b, size_t param, int axis) {
  const Extent own{f.blocks[b].params[param], axis};
  Extent now = Known(own.value, axis);
  if (now == own) return false;
  for (uint32_t edge : edges_to_[b]) {
    const ir::Edge& e = f.blocks[edge / 2].term.edges[edge % 2];
    const Extent given = Given(e.args[param], axis);
    if (!given.value.valid() || given == now) continue;
    now = now.value.valid() ? own : given;
    if (now == own) break;
  }
  return now != std::exchange(Known(own.value, axis), now);
}

}  // namespace pullback::analysis
