// Transposes of the ops on lists. The cotangent of a list has one owner along a path of the reverse and
// is changed in place: each op costs what it costs in the primal, whatever the length of the list.
#include "core/ad/reverse_function.h"

namespace pullback::ad {

using ir::Inst;
using ir::Op;
using ir::Value;

// The cotangents of the results of `inst` from `first` on, kNoValue or (`zeros`) a short zero where there
// is none or the type carries none.
std::vector<Value> ReverseFunction::TakeFieldBars(const Inst& inst, size_t first, bool zeros) {
  std::vector<Value> bars;
  for (size_t k = first; k < inst.results.size(); ++k) {
    const Value bar = TakeBar(inst.results[k]);
    bars.push_back(bar.valid() || !zeros
                       ? bar
                       : ListFunctions::ZeroField(*rb_, work_.TypeOf(inst.results[k])));
  }
  return bars;
}

// To the operands of `inst` from `first` on. Arrays come out of a list, maybe as short zeros.
void ReverseFunction::AccumulateFields(const Inst& inst, size_t first,
                                       const std::vector<Value>& bars) {
  for (size_t k = 0; k < bars.size(); ++k) {
    const Value v = inst.args[first + k];
    if (!Active(v)) continue;
    Accumulate(v, work_.TypeOf(v).IsArray() ? rb_->Fit(bars[k], Extents(v)) : bars[k]);
  }
}

void ReverseFunction::ReverseListOp(const Inst& inst) {
  if (inst.op == Op::ListGet) return ReverseListGet(inst);
  if (inst.op == Op::ListTake) return ReverseListTake(inst);
  if (inst.op == Op::ListPop) return ReverseListPop(inst);
  const Value w = TakeBar(inst.results[0]);
  if (!w.valid()) return;
  const Value list = inst.args[0];
  switch (inst.op) {
    case Op::Fit:  // where it made zeros, nothing goes back
      if (Active(list)) Accumulate(list, lists_.Shaped(*rb_, w, Extents(list)));
      return;
    case Op::ListOf: return AccumulateFields(inst, 1, lists_.Sum(*rb_, w));
    case Op::ListSet: {
      const ir::Builder::Taken taken = lists_.Take(*rb_, w, Primal(inst.args[1]));
      Accumulate(list, taken.list);
      return AccumulateFields(inst, 2, taken.fields);
    }
    case Op::ListPush: {
      const ir::Builder::Taken taken = lists_.Pop(*rb_, w);
      Accumulate(list, taken.list);
      return AccumulateFields(inst, 1, taken.fields);
    }
    default: PB_CHECK(!"an active op on lists without a transpose");
  }
}

void ReverseFunction::ReverseListGet(const Inst& inst) {
  const Value list = inst.args[0];
  const std::vector<Value> fields = TakeFieldBars(inst, 0, false);
  bool zero = true;
  for (Value bar : fields) zero &= !bar.valid();
  if (zero || !Active(list)) return;
  const Value bar = TakeBar(list);
  bars_[list] = lists_.AddAt(*rb_, bar.valid() ? bar : ZeroOf(list), Length(list),
                             Primal(inst.args[1]), fields);
}

// What take left behind is a constant: its cotangent gives way to that of the element.
void ReverseFunction::ReverseListTake(const Inst& inst) {
  const Value list = inst.args[0];
  const Value w = TakeBar(inst.results[0]);
  const std::vector<Value> fields = TakeFieldBars(inst, 1, true);
  if (!Active(list)) return;
  const Value full = lists_.Full(*rb_, w.valid() ? w : ZeroOf(list), Length(list));
  Accumulate(list, rb_->ListSet(full, Primal(inst.args[1]), fields));
}

void ReverseFunction::ReverseListPop(const Inst& inst) {
  const Value list = inst.args[0];
  const Value w = TakeBar(inst.results[0]);
  const std::vector<Value> fields = TakeFieldBars(inst, 1, true);
  if (!Active(list)) return;
  const Value rest = rb_->AffineOf(ir::Affine::Of(Length(list)) - ir::Affine::Const(1));
  Accumulate(list, rb_->ListPush(lists_.Full(*rb_, w.valid() ? w : ZeroOf(list), rest), fields));
}

}  // namespace pullback::ad
