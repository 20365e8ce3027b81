#include "core/loops/sizes.h"

namespace pullback::loops {

using ir::Affine;
using ir::Op;
using ir::Value;

Value Sizes::Root(Value array) const {
  const Value root = arrays_[array.id].root;
  return root.valid() ? root : array;
}

Affine Sizes::Form(const Affine& a) const {
  Affine form = Affine::Const(a.constant);
  for (const Affine::Term& t : a.terms) {
    const bool known = t.value.id < forms_.size() && forms_[t.value.id].known;
    form = form + (known ? forms_[t.value.id].form : Affine::Of(t.value)) * t.coeff;
  }
  return form;
}

Affine Sizes::Extent(Value array, int axis) {
  const std::vector<Value>& shape = Shape(array);
  if (!shape.empty()) return Form(shape[static_cast<size_t>(axis)]);
  const Value next{kFirstExtent + static_cast<uint32_t>(extents_.size())};
  return Affine::Of(extents_.try_emplace({Root(array), axis}, next).first->second);
}

Affine Sizes::Describe(const ir::Inst& inst) {
  const auto arg = [&](size_t i) { return Form(inst.args[i]); };
  switch (inst.op) {
    case Op::Const: return Affine::Const(static_cast<int64_t>(inst.bits));
    case Op::AffineOf: return Form(inst.subs[0]);
    case Op::Add: return arg(0) + arg(1);
    case Op::Sub: return arg(0) - arg(1);
    case Op::Neg: return arg(0) * -1;
    case Op::Mul: {
      const Affine x = arg(0), y = arg(1);
      if (x.IsConst()) return y * x.constant;
      if (y.IsConst()) return x * y.constant;
      break;
    }
    case Op::Dim: return Extent(inst.args[0], static_cast<int>(inst.bits));
    default: break;
  }
  return Affine::Of(inst.results[0]);
}

void Sizes::Define(const ir::Inst& inst) {
  if (inst.results.size() != 1 || inst.guard.valid()) return;
  const Value v = inst.results[0];
  if (f_.TypeOf(v) != ir::Type::I64()) return;
  Affine form = Describe(inst);
  if (form.terms.size() > kMaxTerms) return;
  forms_[v.id] = {true, std::move(form)};
}

}  // namespace pullback::loops
