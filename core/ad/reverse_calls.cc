// Active calls: on the tape by halves, or from the arguments alone (a rule, a checkpoint).
#include "core/ad/reverse_function.h"

namespace pullback::ad {

using ir::Inst;
using ir::Op;
using ir::Value;

bool ReverseFunction::IsActiveCall(const Inst& inst) const {
  if (inst.op != Op::Call) return false;
  for (Value v : inst.results) {
    if (Active(v)) return true;
  }
  return false;
}

Status ReverseFunction::FindCalls() {
  for (uint32_t b = 0; b < work_.blocks.size(); ++b) {
    for (const Inst& inst : work_.blocks[b].insts) {
      if (!IsActiveCall(inst)) continue;
      PB_ASSIGN_OR_RETURN(CallAdjoint how,
                          adjoint_of_(inst, ActiveOf(inst.args), ActiveOf(inst.results)));
      blocks_[b].calls.push_back(std::move(how));
    }
  }
  return {};
}

void ReverseFunction::ReverseCall(const Inst& inst) {
  if (!IsActiveCall(inst)) return;
  const CallAdjoint& how = blocks_[current_].calls[--calls_left_];
  if (!how.OnTape()) return CallPullback(inst, how);
  std::vector<Value> args;
  for (Value v : inst.results) {
    if (!Active(v)) continue;
    const Value bar = TakeBar(v);
    args.push_back(bar.valid() ? bar : ZeroOf(v));
  }
  std::vector<bool> may_be_short;  // by active argument: what comes back
  for (Value v : inst.args) {
    if (!Active(v)) continue;
    const ir::Type t = work_.TypeOf(v);
    may_be_short.push_back(false);
    if (!IsAccumulated(t)) continue;
    const Value bar = TakeBar(v);
    args.push_back(bar.valid() ? bar : ListFunctions::ZeroField(*rb_, t));
    may_be_short.back() = t.IsArray() && !bar.valid();
  }
  args.push_back(tape_);
  const std::vector<Value> made = rb_->Call(how.halves.reverse, std::move(args));
  tape_ = made.back();
  size_t next = 0;
  for (Value v : inst.args) {
    if (!Active(v)) continue;
    const bool fit = may_be_short[next] && !MayBeShort(v);
    const Value bar = made[next++];
    Accumulate(v, fit ? rb_->Fit(bar, Extents(v)) : bar);
  }
}

// From the arguments alone; not at all where no cotangent arrives.
void ReverseFunction::CallPullback(const Inst& inst, const CallAdjoint& how) {
  std::vector<Value> bars;
  bool any = false;
  for (Value v : inst.results) {
    bars.push_back(TakeBar(v));
    any |= bars.back().valid();
  }
  if (!any) return;
  std::vector<Value> args;
  for (Value v : inst.args) args.push_back(Primal(v));
  for (size_t k = 0; k < bars.size(); ++k) {
    if (how.results[k]) args.push_back(bars[k].valid() ? bars[k] : ZeroOf(inst.results[k]));
  }
  const std::vector<Value> made = rb_->Call(how.pullback, std::move(args), inst.checkpoint);
  size_t next = 0;
  for (size_t k = 0; k < inst.args.size(); ++k) {
    if (how.params[k]) Accumulate(inst.args[k], made[next++]);
  }
}

}  // namespace pullback::ad
