#include "core/ir/op_types.h"

#include <algorithm>

namespace pullback::ir {
namespace {

template <typename Fn>
bool AllEqual(const std::vector<Type>& ts, Fn&& allowed) {
  return std::all_of(ts.begin(), ts.end(), [&](const Type& t) { return allowed(t) && t == ts[0]; });
}

Type OperandType(const Inst& inst, const Function& f, size_t i) {
  if (i >= inst.args.size() || inst.args[i].id >= f.values.size()) return {};
  return f.TypeOf(inst.args[i]);
}

Type ElementOf(Type t) { return t.IsArray() ? t.Element() : Type{}; }

std::vector<Type> EachTypes(const Each& each, const Function& f) {
  std::vector<Type> types;
  for (const EachResult& r : each.results) {
    const Type elem = r.value.id < f.values.size() ? f.ElementOf(r) : Type{};
    const bool array = elem.IsScalar() && !r.out.empty();
    types.push_back(array ? Type::Array(elem.elem, static_cast<int>(r.out.size())) : elem);
  }
  return types;
}

std::vector<Type> FieldTypes(Type t, const Module& m) {
  if (!t.HasRecord() || t.record >= m.records.size()) return {};
  return m.FieldsOf(t);
}

// The list itself and what was moved out of it.
std::vector<Type> WithFields(Type list, const Module& m) {
  std::vector<Type> types = FieldTypes(list, m);
  types.insert(types.begin(), list);
  return types;
}

// Of jvp and vjp: the callee's results, then tangents of results or cotangents of parameters.
std::vector<Type> DerivativeTypes(const Inst& inst, const Module& m) {
  if (inst.callee >= m.functions.size()) return {};
  const Function& callee = m.Get(inst.callee);
  std::vector<Type> types = callee.results;
  if (inst.op == Op::Jvp) {
    for (Type t : TangentTypes(m, callee.results)) types.push_back(t);
    return types;
  }
  const size_t params = callee.blocks.empty() ? 0 : callee.params().size();
  for (size_t k = 0; k < std::min(params, inst.wrt.size()); ++k) {
    if (inst.wrt[k]) types.push_back(callee.TypeOf(callee.params()[k]));
  }
  return types;
}

std::vector<Type> OwnTypes(const Inst& inst, const Function& f, const Module& m) {
  switch (inst.op) {
    case Op::AffineOf:
    case Op::ListLen:
    case Op::Dim: return {Type::I64()};
    case Op::Holds: return {Type::Bool()};
    case Op::Index: return {ElementOf(OperandType(inst, f, 0))};
    case Op::Update:
    case Op::AddAt:
    case Op::Fit:
    case Op::ListSet:
    case Op::ListPush:
    case Op::AddArrays: return {OperandType(inst, f, 0)};
    case Op::Each: return inst.each ? EachTypes(*inst.each, f) : std::vector<Type>{};
    case Op::Call:
      return inst.callee < m.functions.size() ? m.Get(inst.callee).results : std::vector<Type>{};
    case Op::ListGet:
    case Op::BoxGet: return FieldTypes(OperandType(inst, f, 0), m);
    case Op::ListTake:
    case Op::ListPop: return WithFields(OperandType(inst, f, 0), m);
    case Op::Jvp:
    case Op::Vjp: return DerivativeTypes(inst, m);
    case Op::StopGradient: return {OperandType(inst, f, 0)};
    case Op::BoxSet:
    case Op::Check: return {};
    case Op::TapeNew:
    case Op::Push: return {Type::Tape()};
    case Op::Pop: return {Type::Tape(), Type{}};
    default: return {Type{}};
  }
}

}  // namespace

const char* CheckOperandTypes(Op op, const std::vector<Type>& ts) {
  const auto number = [](Type t) { return t.IsScalar() && t.elem != DType::kBool; };
  switch (Info(op).rule) {
    case TypeRule::Float:
    case TypeRule::ToBoolF:
      return AllEqual(ts, [](Type t) { return t.IsScalar() && t.IsFloat(); })
                 ? nullptr
                 : "operands of one float type";
    case TypeRule::Num:
      return AllEqual(ts, number) ? nullptr : "operands of one type of f64, f32, i64";
    case TypeRule::Int:
      return AllEqual(ts, [](Type t) { return t == Type::I64(); }) ? nullptr : "i64 operands";
    case TypeRule::Bool:
      return AllEqual(ts, [](Type t) { return t == Type::Bool(); }) ? nullptr : "bool operands";
    case TypeRule::Cmp:
      return AllEqual(ts, [](Type t) { return t.IsScalar(); }) ? nullptr
                                                               : "operands of one scalar type";
    case TypeRule::Cast: return ts[0].IsScalar() ? nullptr : "a scalar operand";
    case TypeRule::Select:
      return ts[0] == Type::Bool() && ts[1].IsScalar() && ts[1] == ts[2]
                 ? nullptr
                 : "a bool and two operands of one scalar type";
    case TypeRule::Own: break;
  }
  return nullptr;
}

std::vector<Type> ResultTypes(const Inst& inst, const Function& f, const Module& m) {
  switch (Info(inst.op).rule) {
    case TypeRule::Float:
    case TypeRule::Num: return {OperandType(inst, f, 0)};
    case TypeRule::Int: return {Type::I64()};
    case TypeRule::Bool:
    case TypeRule::Cmp:
    case TypeRule::ToBoolF: return {Type::Bool()};
    case TypeRule::Cast: return {Type{}};
    case TypeRule::Select: return {OperandType(inst, f, 1)};
    case TypeRule::Own: break;
  }
  return OwnTypes(inst, f, m);
}

}  // namespace pullback::ir
