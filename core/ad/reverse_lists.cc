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

bool ReverseFunction::IsElementHere(Value v) const {
  return defs_[v.id] != nullptr && defs_[v.id]->op == Op::ListGet &&
         flow_.def_block[v.id] == current_;
}

// At once, or where v was read out of a list.
void ReverseFunction::ChangeBar(Value v, Change change) {
  if (bars_.count(v) == 0 && IsElementHere(v)) {
    changes_[v].push_back(std::move(change));
    return;
  }
  const Value bar = TakeBar(v);
  const Value full = bar.valid() && MayBeShort(v) ? rb_->Fit(bar, Extents(v)) : bar;
  bars_[v] = change(full.valid() ? full : ZeroOf(v));
}

void ReverseFunction::ReverseListGet(const Inst& inst) {
  const Value list = inst.args[0];
  const std::vector<Value> fields = TakeFieldBars(inst, 0, false);
  std::vector<std::vector<Change>> changes;
  bool zero = true, plain = true;
  for (size_t k = 0; k < fields.size(); ++k) {
    changes.push_back(std::move(changes_[inst.results[k]]));
    plain &= changes.back().empty();
    zero &= !fields[k].valid() && changes.back().empty();
  }
  if (zero || !Active(list)) return;
  ChangeBar(list, [this, &inst, fields, plain, changes = std::move(changes)](Value bar) {
    if (!plain) return AddToElement(inst, bar, fields, changes);
    return lists_.AddAt(*rb_, bar, Length(inst.args[0]), Primal(inst.args[1]), fields);
  });
}

// The cotangent `bar` of a list with `fields` added to the element that `get` read, then changed.
Value ReverseFunction::AddToElement(const Inst& get, Value bar, const std::vector<Value>& fields,
                                    const std::vector<std::vector<Change>>& changes) {
  const Value i = Primal(get.args[1]);
  ir::Builder::Taken taken = rb_->ListTake(lists_.Full(*rb_, bar, Length(get.args[0])), i);
  for (size_t k = 0; k < fields.size(); ++k) {
    Value& field = taken.fields[k];
    if (fields[k].valid()) field = lists_.AddField(*rb_, field, fields[k]);
    if (changes[k].empty()) continue;
    const Value v = get.results[k];
    if (work_.TypeOf(v).IsArray()) field = rb_->Fit(field, Extents(v));
    for (const Change& change : changes[k]) field = change(field);
  }
  return rb_->ListSet(taken.list, i, taken.fields);
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
