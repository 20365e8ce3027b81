#include "core/tensor/value_guards.h"

#include <bit>
#include <cmath>
#include <utility>

#include "core/tensor/statement_edit.h"

namespace pullback::tensor {

using ir::Inst;
using ir::Op;
using ir::Value;

namespace {

// f64 only: bits of other types say something else.
bool IsFactor(const Inst* def, const ir::Function& f) {
  if (!def || f.TypeOf(def->results[0]) != ir::Type::F64() || def->op != Op::Const ||
      def->guard.valid())
    return false;
  const double factor = std::bit_cast<double>(def->bits);
  return std::isfinite(factor) && factor > 0;
}

using Needs = std::set<Value>;

Needs Both(Needs a, const Needs& b) {
  a.insert(b.begin(), b.end());
  return a;
}
Needs Either(Needs a, const Needs& b) {
  std::erase_if(a, [&](Value v) { return !b.contains(v); });
  return a;
}

}  // namespace

// --- one guard

Value GuardsOfValues::Of(Value v) {
  return Look(values_, v, [&](const Inst& def) { return OfValue(def, v); });
}

// A guard outside of which v is absent: 0 because something was never there, an element that an array does
// not have or a factor under a bracket. A product is absent with any of its factors, a sum with both terms.
Value GuardsOfValues::OfAbsent(Value v) {
  return Look(absent_, v, [&](const Inst& def) -> Value {
    if (def.guard.valid()) return def.guard;
    if (def.op == Op::Add || def.op == Op::Sub) {
      const Value guard = OfAbsent(def.args[0]);
      return guard.valid() && guard == OfAbsent(def.args[1]) ? guard : ir::kNoValue;
    }
    const bool product = def.op == Op::Mul || def.op == Op::SMul;
    if (!product && def.op != Op::Neg) return ir::kNoValue;
    for (Value factor : def.args) {
      if (const Value guard = OfAbsent(factor); guard.valid()) return guard;
    }
    return ir::kNoValue;
  });
}

// Where no factor is absent all must be 0, since 0 * inf is not.
Value GuardsOfValues::OfValue(const Inst& def, Value v) {
  if (const Value guard = OfAbsent(v); guard.valid()) return guard;
  const auto of = [&](size_t k) { return Of(def.args[k]); };
  switch (def.op) {
    case Op::SMul:
    case Op::Cast:
    case Op::Neg: return of(0);
    case Op::Mul:
      if (IsFactor(DefOf(def.args[0]), f_)) return of(1);
      if (IsFactor(DefOf(def.args[1]), f_)) return of(0);
      [[fallthrough]];
    case Op::Add:
    case Op::Sub: {
      const Value a = of(0);
      return a.valid() && a == of(1) ? a : ir::kNoValue;
    }
    case Op::Select: return OfSelect(def);
    default: return ir::kNoValue;
  }
}

Value GuardsOfValues::OfSelect(const Inst& def) {
  const auto is_zero = [&](Value v) { return IsZero(v) && !DefOf(v)->guard.valid(); };
  if (is_zero(def.args[1])) return Of(def.args[2]);  // 0 wherever that arm is
  if (!is_zero(def.args[2]) || !DefOf(def.args[0])) return ir::kNoValue;
  // The arm's own guard says more where it is under the condition.
  const Value arm = OfAbsent(def.args[1]);
  const bool more = arm.valid() && ConditionsOf(each_, arm).contains(def.args[0]);
  return more ? arm : def.args[0];
}

// --- all that is needed

Needs NeedsOfValues::Of(Value v) {
  return Look(values_, v, [&](const Inst& def) { return OfValue(def, v); });
}

// Wherever it is there at all (GuardsOfValues).
Needs NeedsOfValues::OfAbsent(Value v) {
  return Look(absent_, v, [&](const Inst& def) {
    Needs own = ConditionsOf(each_, def.guard);
    const auto of = [&](size_t k) { return OfAbsent(def.args[k]); };
    switch (def.op) {
      case Op::Mul:
      case Op::SMul: return Both(std::move(own), Both(of(0), of(1)));
      case Op::Add:
      case Op::Sub: return Both(own, Either(of(0), of(1)));
      case Op::Neg: return Both(own, of(0));
      default: return own;
    }
  });
}

Needs NeedsOfValues::OfValue(const Inst& def, Value v) {
  Needs absent = OfAbsent(v);
  const auto of = [&](size_t k) { return Of(def.args[k]); };
  switch (def.op) {
    case Op::SMul:
    case Op::Cast:
    case Op::Neg: return Both(absent, of(0));
    case Op::Mul:
      if (IsFactor(DefOf(def.args[0]), f_)) return Both(absent, of(1));
      if (IsFactor(DefOf(def.args[1]), f_)) return Both(absent, of(0));
      [[fallthrough]];
    case Op::Add:
    case Op::Sub: return Both(absent, Either(of(0), of(1)));
    case Op::Select: return Both(absent, OfSelect(def));
    default: return absent;
  }
}

Needs NeedsOfValues::OfSelect(const Inst& def) {
  if (IsZero(def.args[2])) return Both(Of(def.args[1]), ConditionsOf(each_, def.args[0]));
  if (!IsZero(def.args[1])) return {};
  // a * b with a zero that wins: select (eq a, 0), 0, mul a, b.
  const Inst *is_zero = DefOf(def.args[0]), *product = DefOf(def.args[2]);
  const bool strong = is_zero && is_zero->op == Op::Eq && IsZero(is_zero->args[1]) && product &&
                      product->op == Op::Mul && product->args[0] == is_zero->args[0];
  return strong ? Both(Of(def.args[2]), Of(product->args[0])) : Of(def.args[2]);
}

}  // namespace pullback::tensor
