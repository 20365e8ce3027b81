#include "core/analysis/body_forms.h"

namespace pullback::analysis {

using ir::Affine;
using ir::Inst;
using ir::Op;
using ir::Value;

std::optional<IntegerOrder> OrderOf(Op op) {
  switch (op) {
    case Op::Lt: return IntegerOrder{0, 1, 1};
    case Op::Le: return IntegerOrder{0, 1, 0};
    case Op::Gt: return IntegerOrder{1, 0, 1};
    case Op::Ge: return IntegerOrder{1, 0, 0};
    default: return std::nullopt;
  }
}

BodyForms::BodyForms(const ir::Each& each, const ir::Function& f, Quotients* quotients)
    : f_(f), quotients_(quotients) {
  for (const ir::IndexVar& i : each.indices) known_[i.var] = {Affine::Of(i.var), ir::kNoValue};
}

void BodyForms::Note(const Inst& inst) {
  const bool integer = inst.results.size() == 1 && f_.TypeOf(inst.results[0]) == ir::Type::I64();
  for (Value v : inst.results) known_[v] = {integer ? Describe(inst) : std::nullopt, inst.guard};
}

std::optional<Affine> BodyForms::FormOf(Value v, Value guard) const {
  const auto it = known_.find(v);
  if (it == known_.end()) return Affine::Of(v);
  const Known& known = it->second;
  return known.guard.valid() && known.guard != guard ? std::nullopt : known.form;
}

std::optional<Affine> BodyForms::Describe(const Inst& inst) const {
  if (inst.op == Op::Const) return Affine::Const(static_cast<int64_t>(inst.bits));
  if (inst.op == Op::AffineOf) return inst.subs[0];
  if (inst.op == Op::Div || inst.op == Op::Rem) return DescribeQuotient(inst);
  const bool linear =
      inst.op == Op::Add || inst.op == Op::Sub || inst.op == Op::Neg || inst.op == Op::Mul;
  if (!linear) return std::nullopt;
  const std::optional<Affine> a = FormOf(inst.args[0], inst.guard);
  if (inst.op == Op::Neg) return a ? std::optional(*a * -1) : std::nullopt;
  const std::optional<Affine> b = FormOf(inst.args[1], inst.guard);
  if (!a || !b) return std::nullopt;
  if (inst.op == Op::Add) return *a + *b;
  if (inst.op == Op::Sub) return *a - *b;
  if (a->IsConst()) return *b * a->constant;
  return b->IsConst() ? std::optional(*a * b->constant) : std::nullopt;
}

std::optional<Affine> BodyForms::DescribeQuotient(const Inst& inst) const {
  const std::optional<Affine> e = FormOf(inst.args[0], inst.guard),
                              by = FormOf(inst.args[1], inst.guard);
  if (!quotients_ || !e || !by || !by->IsConst()) return std::nullopt;
  return inst.op == Op::Div ? quotients_->Divide(*e, by->constant)
                            : quotients_->Remainder(*e, by->constant);
}

}  // namespace pullback::analysis
