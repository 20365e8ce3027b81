#include "core/tensor/split_statement.h"

#include <algorithm>

#include "core/tensor/statement_edit.h"

namespace pullback::tensor {

using ir::Affine;
using ir::Inst;
using ir::Op;
using ir::Value;

namespace {

bool IsRead(const ir::Each& each, Value v) {
  bool read = false;
  const auto look = [&](Value w) { read |= w == v; };
  for (const Inst& inst : each.body) ir::ForEachOperand(inst, look);
  for (const ir::EachResult& r : each.results) {
    look(r.value);
    look(r.guard);
    look(r.second);
    for (const Affine& a : r.out) ir::ForEachOperand(a, look);
  }
  return read;
}

// The results that store `values` over the marked indices.
absl::InlinedVector<ir::EachResult, 1> Stores(const ir::Each& each,
                                              const std::vector<Value>& values, Value guard,
                                              const std::vector<bool>& marked) {
  absl::InlinedVector<ir::EachResult, 1> results;
  for (Value v : values) {
    ir::EachResult r;
    r.value = v;
    r.guard = guard;
    for (size_t i = 0; i < each.indices.size(); ++i) {
      if (!marked[i]) continue;
      r.out.push_back(Affine::Of(each.indices[i].var));
      r.shape.push_back(each.indices[i].extent);
    }
    results.push_back(std::move(r));
  }
  return results;
}

void ReadInstead(ir::Each& each, size_t k, const std::vector<Value>& values, ir::ValueSpan arrays,
                 ir::AffineSpan subs) {
  const Value guard = each.body[k].guard;
  std::vector<Inst> reads;
  for (size_t r = 0; r < values.size(); ++r) {
    Inst read;
    read.op = Op::Index;
    read.args = {arrays[r]};
    read.subs = subs;
    read.guard = guard;
    read.results = {values[r]};
    reads.push_back(std::move(read));
  }
  const auto at = each.body.erase(each.body.begin() + static_cast<long>(k));
  each.body.insert(at, std::make_move_iterator(reads.begin()),
                   std::make_move_iterator(reads.end()));
}

}  // namespace

void StoreInstruction(Inst& statement, size_t k, const Space& space, ir::Function& f,
                      std::vector<Inst>& before) {
  ir::Each& each = *statement.each;
  const Value guard = each.body[k].guard;
  std::vector<Value> values;
  for (Value v : each.body[k].results) {
    if (IsRead(each, v)) values.push_back(v);
  }

  Inst store = statement;
  store.each->results = Stores(each, values, guard, space.needs);
  store.results.clear();
  store.each->where = space.where;
  store.each->indices.clear();
  for (size_t i = 0; i < space.needs.size(); ++i) {
    if (space.needs[i]) store.each->indices.push_back(each.indices[i]);
  }
  for (Value v : values) {
    const ir::Type t = f.TypeOf(v);
    const int rank = static_cast<int>(store.each->results[0].out.size());
    store.results.push_back(
        f.NewValue(rank == 0 ? t : ir::Type::Array(t.elem, rank), f.names[v.id]));
  }
  const ir::Values arrays = store.results;
  const ir::Affines subs = store.each->results[0].out;
  Inst made = CopyStatement(store, f).inst;
  MoveGuardToWhere(*made.each);
  PruneBody(*made.each);
  before.push_back(std::move(made));

  if (!subs.empty()) return ReadInstead(each, k, values, arrays, subs);
  each.body.erase(each.body.begin() + static_cast<long>(k));
  for (size_t r = 0; r < values.size(); ++r) {
    ir::ForEachOperand(statement, [&](Value& v) {
      if (v == values[r]) v = arrays[r];
    });
  }
  ir::CanonicaliseAffines(statement);
}

void MoveGuardToWhere(ir::Each& each) {
  const Value guard = each.results[0].guard;
  const Inst* def = guard.valid() ? FindDef(each, guard) : nullptr;
  if (!def || def->op != Op::Holds || def->guard.valid()) return;
  for (const ir::EachResult& r : each.results) {
    if (r.guard != guard) return;
  }
  bool outside = true;
  for (const ir::Constraint& c : def->constraints)
    ir::ForEachOperand(c.e, [&](Value v) { outside &= FindDef(each, v) == nullptr; });
  if (!outside) return;
  each.where.insert(each.where.end(), def->constraints.begin(), def->constraints.end());
  for (ir::EachResult& r : each.results) r.guard = ir::kNoValue;
  for (Inst& inst : each.body) {
    if (inst.guard == guard) inst.guard = ir::kNoValue;
  }
  PruneBody(each);
}

Inst ResultAlone(const Inst& statement, size_t result, ir::Function& f) {
  Inst one = CopyWithResult(statement, result, f).inst;
  MoveGuardToWhere(*one.each);
  return one;
}

}  // namespace pullback::tensor
