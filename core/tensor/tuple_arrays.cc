#include "core/tensor/tuple_arrays.h"

#include <algorithm>
#include <set>

#include "core/analysis/predicate.h"
#include "core/tensor/statement_edit.h"

namespace pullback::tensor {

using ir::Affine;
using ir::Each;
using ir::Inst;
using ir::Op;
using ir::Value;

namespace {

// How far a value is followed.
constexpr int kMaxDepth = 8;

// Whether it gives 0 of 0, and so adds nothing there.
bool KeepsZero(Op op) {
  switch (op) {
    case Op::Abs:
    case Op::Sqrt:
    case Op::Cbrt:
    case Op::Sin:
    case Op::Tan:
    case Op::Asin:
    case Op::Atan:
    case Op::Sinh:
    case Op::Tanh:
    case Op::Asinh:
    case Op::Atanh:
    case Op::Erf:
    case Op::Expm1:
    case Op::Log1p: return true;
    default: return false;
  }
}

bool IsAbsent(const Each& each, Value v, Value read, int depth) {
  if (v == read) return true;
  const Inst* def = FindDef(each, v);
  if (!def || depth == kMaxDepth) return false;
  const auto absent = [&](Value arg) { return IsAbsent(each, arg, read, depth + 1); };
  switch (def->op) {
    case Op::Mul:
    case Op::SMul: return std::any_of(def->args.begin(), def->args.end(), absent);
    case Op::Div: return absent(def->args[0]);
    case Op::Neg:
    case Op::Add:
    case Op::Sub: return std::all_of(def->args.begin(), def->args.end(), absent);
    default: return KeepsZero(def->op) && absent(def->args[0]);
  }
}

// So far as it is followed.
bool MayDependOn(const Each& each, Value v, Value read, int depth) {
  if (v == read) return true;
  const Inst* def = FindDef(each, v);
  if (!def) return false;
  if (depth == kMaxDepth) return true;
  bool depends = false;
  ir::ForEachOperand(
      *def, [&](Value arg) { depends = depends || MayDependOn(each, arg, read, depth + 1); });
  return depends;
}

bool IsLinear(const Each& each, Value v, Value read, int depth) {
  if (v == read) return true;
  const Inst* def = FindDef(each, v);
  if (!def || depth == kMaxDepth) return false;
  const auto linear = [&](Value arg) { return IsLinear(each, arg, read, depth + 1); };
  const auto apart = [&](Value arg) { return !MayDependOn(each, arg, read, 0); };
  if (def->guard.valid() && !apart(def->guard)) return false;
  switch (def->op) {
    case Op::Mul:
    case Op::SMul:
      return (linear(def->args[0]) && apart(def->args[1])) ||
             (apart(def->args[0]) && linear(def->args[1]));
    case Op::Div: return linear(def->args[0]) && apart(def->args[1]);
    case Op::Neg:
    case Op::Add:
    case Op::Sub: return std::all_of(def->args.begin(), def->args.end(), linear);
    default: return false;
  }
}

}  // namespace

bool IsTupleArray(const Inst& statement, size_t k, const ir::Function& f) {
  const ir::EachResult& r = statement.each->results[k];
  if (r.monoid != ir::Monoid::kGen || r.into.valid() || !f.TypeOf(statement.results[k]).IsFloat())
    return false;
  const auto is_data = [&](const Affine& a) {
    return FindDef(*statement.each, a.AsValue()) != nullptr;
  };
  const bool values =
      std::all_of(r.out.begin(), r.out.end(), [](const Affine& a) { return a.AsValue().valid(); });
  return values && std::any_of(r.out.begin(), r.out.end(), is_data);
}

bool HoldsTupleArray(const ir::Function& f) {
  for (const ir::Block& b : f.blocks) {
    for (const Inst& inst : b.insts) {
      for (size_t k = 0; inst.each && k < inst.results.size(); ++k) {
        if (IsTupleArray(inst, k, f)) return true;
      }
    }
  }
  return false;
}

bool IsAbsentWith(const Each& each, Value v, Value read) { return IsAbsent(each, v, read, 0); }

bool IsLinearIn(const Each& each, Value v, Value read) { return IsLinear(each, v, read, 0); }

bool IsApart(const Each& each, Value v, Value read) { return !MayDependOn(each, v, read, 0); }

const Inst* OnlyReadOf(const Each& each, Value array) {
  const Inst* only = nullptr;
  for (const Inst& inst : each.body) {
    if (inst.op != Op::Index || inst.args[0] != array) continue;
    if (only) return nullptr;
    only = &inst;
  }
  return only;
}

ir::Constraint Below(Value index, Value extent) {
  return {Affine::Of(extent) - Affine::Of(index) - Affine::Const(1), false};
}

bool ReadsByIndices(const Each& each, const analysis::Box& box, Value array,
                    const ir::Values& shape) {
  const Inst* read = OnlyReadOf(each, array);
  if (!read) return false;
  std::set<Value> seen;
  analysis::Work work;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    const Value index = read->subs[axis].AsValue();
    const auto place = PlaceOfIndex(each, index);
    if (!place || !seen.insert(index).second) return false;
    // A negative one traps.
    const Value extent = each.indices[*place].extent;
    const bool is_size = box.RangeOf(extent).lo >= 0 ||
                         box.IsNonNegative(*box.ExtentOf(index)) == analysis::Truth::kTrue;
    if (!is_size) return false;
    if (extent == shape[axis]) continue;
    if (!analysis::ProvesImplied(each.where, Below(index, shape[axis]), box, work)) return false;
  }
  return true;
}

}  // namespace pullback::tensor
