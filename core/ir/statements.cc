#include "core/ir/statements.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace pullback::ir {

std::vector<bool> UsedElsewhere(const Function& f) {
  std::vector<uint32_t> block(f.values.size(), UINT32_MAX);
  std::vector<bool> used(f.values.size());
  for (uint32_t b = 0; b < f.blocks.size(); ++b) {
    for (const Inst& inst : f.blocks[b].insts) {
      for (Value v : inst.results) block[v.id] = b;
    }
  }
  for (uint32_t b = 0; b < f.blocks.size(); ++b) {
    for (const Inst& inst : f.blocks[b].insts)
      ForEachOperand(inst, [&](const Value& v) { used[v.id] = used[v.id] || block[v.id] != b; });
    ForEachTermOperand(f.blocks[b].term, [&](const Value& v) { used[v.id] = true; });
  }
  return used;
}

void BringIndicesFirst(Each& each, ValueSpan first) {
  auto front = each.indices.begin();
  for (Value v : first) {
    const auto at =
        std::find_if(front, each.indices.end(), [&](const IndexVar& i) { return i.var == v; });
    std::rotate(front++, at, at + 1);
  }
}

Inst SumAsStatement(Function& f, const Inst& sum, ValueSpan shape) {
  Inst statement;
  statement.op = Op::Each;
  statement.loc = sum.loc;
  statement.results = sum.results;
  statement.each = std::make_unique<Each>();
  Each& each = *statement.each;
  EachResult& r = each.results.emplace_back();
  r.shape = Values(shape.begin(), shape.end());
  for (Value extent : shape) {
    each.indices.push_back({f.NewValue(Type::I64(), "o"), extent});
    r.out.push_back(Affine::Of(each.indices.back().var));
  }
  const Type element = f.TypeOf(sum.results[0]).Element();
  Inst add;
  add.op = Op::Add;
  for (Value array : sum.args) {
    Inst& read = each.body.emplace_back();
    read.op = Op::Index;
    read.args = {array};
    for (const Affine& sub : r.out) read.subs.push_back(sub);
    read.results = {f.NewValue(element)};
    add.args.push_back(read.results[0]);
  }
  add.results = {f.NewValue(element)};
  r.value = add.results[0];
  each.body.push_back(std::move(add));
  return statement;
}

const Inst* FindDef(const Each& each, Value v) {
  for (const Inst& inst : each.body) {
    if (std::find(inst.results.begin(), inst.results.end(), v) != inst.results.end()) return &inst;
  }
  return nullptr;
}

std::set<Value> ConditionsOf(const Each& each, Value v) {
  constexpr size_t kMaxConditions = 32;
  std::set<Value> all;
  std::vector<Value> next = {v};
  for (size_t k = 0; k < next.size() && all.size() < kMaxConditions; ++k) {
    const Value condition = next[k];
    if (!condition.valid() || !all.insert(condition).second) continue;
    const Inst* def = FindDef(each, condition);
    if (!def) continue;
    next.push_back(def->guard);
    if (def->op == Op::And) next.insert(next.end(), def->args.begin(), def->args.end());
  }
  return all;
}

std::vector<Constraint> ConstraintsAt(const Each& each, Value guard) {
  std::vector<Constraint> known = each.where;
  if (!guard.valid()) return known;
  for (Value condition : ConditionsOf(each, guard)) {
    const Inst* def = FindDef(each, condition);
    if (def && def->op == Op::Holds)
      known.insert(known.end(), def->constraints.begin(), def->constraints.end());
  }
  return known;
}

std::optional<size_t> PlaceOfIndex(const Each& each, Value v) {
  for (size_t k = 0; k < each.indices.size(); ++k) {
    if (each.indices[k].var == v) return k;
  }
  return std::nullopt;
}

}  // namespace pullback::ir
