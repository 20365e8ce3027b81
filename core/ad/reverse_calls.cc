// Active calls: on the tape by halves, or from the arguments alone (a rule, a checkpoint).
#include <algorithm>

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

void ReverseFunction::CountCalls() {
  for (uint32_t b = 0; b < work_.blocks.size(); ++b) {
    const std::vector<Inst>& insts = work_.blocks[b].insts;
    const auto n = std::count_if(insts.begin(), insts.end(),
                                 [this](const Inst& inst) { return IsActiveCall(inst); });
    blocks_[b].calls.resize(static_cast<size_t>(n));
  }
}

// By argument: whether there is a cotangent to hand in. Of a value that is handed in twice the last one has
// it: what a loop captures comes behind its state, and its reverse adds to it first.
std::vector<bool> ReverseFunction::HaveBars(ir::ValueSpan args) const {
  std::vector<bool> have;
  for (size_t k = 0; k < args.size(); ++k) {
    const bool again =
        std::find(args.begin() + static_cast<long>(k) + 1, args.end(), args[k]) != args.end();
    have.push_back(!again && bars_.count(args[k]) != 0);
  }
  return have;
}

Status ReverseFunction::ReverseCall(const Inst& inst) {
  if (!IsActiveCall(inst)) return {};
  CallAdjoint& how = blocks_[current_].calls[--calls_left_];
  if (const auto early = early_.find(&inst); early != early_.end()) {
    ReverseEarly(inst, early->second);
    return {};
  }
  std::vector<Value> bars;
  for (Value v : inst.results) bars.push_back(TakeBar(v));
  const bool any = std::any_of(bars.begin(), bars.end(), [](Value v) { return v.valid(); });
  const std::vector<bool> have = HaveBars(inst.args);
  PB_ASSIGN_OR_RETURN(how, adjoint_of_(inst, ActiveOf(inst.args), ActiveOf(inst.results), have));
  how.is_resolved = true;
  if (!how.OnTape() && !any) return {};
  const std::vector<Value> made = CallReverse(inst, how, bars, have);
  // What the call added to is there first.
  for (const bool first : {true, false}) {
    size_t next = 0;
    for (size_t k = 0; k < inst.args.size(); ++k) {
      if (!how.params[k]) continue;
      const Value v = inst.args[k], bar = made[next++];
      if (first != (how.sums[k] && have[k])) continue;
      const bool may_be_short = how.sums[k] && !have[k] && k < how.first_full &&
                                work_.TypeOf(v).IsArray() && !MayBeShort(v);
      Accumulate(v, may_be_short ? rb_->Fit(bar, Extents(v)) : bar, how.sums[k]);
    }
  }
  return {};
}

// The cotangents of the arguments in how.params. From the arguments alone, or what is on the tape.
std::vector<Value> ReverseFunction::CallReverse(const Inst& inst, const CallAdjoint& how,
                                                const std::vector<Value>& bars,
                                                const std::vector<bool>& have) {
  std::vector<Value> args;
  for (size_t k = 0; k < inst.args.size() && !how.OnTape(); ++k) {
    const bool is_sum = how.is_region && k < how.first_full;
    args.push_back(is_sum ? SumIn(inst, k, bars[k]) : Primal(inst.args[k]));
  }
  for (size_t k = 0; k < bars.size(); ++k) {
    if (how.results[k]) args.push_back(bars[k].valid() ? bars[k] : ZeroOf(inst.results[k]));
  }
  for (size_t k = 0; k < inst.args.size(); ++k) {
    if (!how.sums[k]) continue;
    const Value v = inst.args[k];
    Value sum = have[k] ? TakeBar(v) : NoSum(how, k, v);
    if (have[k] && how.is_region && MayBeShort(v)) sum = rb_->Fit(sum, Extents(v));
    args.push_back(sum);
  }
  if (!how.OnTape() && !how.is_region) return rb_->Call(how.pullback, args, inst.checkpoint);
  args.push_back(tape_);
  std::vector<Value> made = rb_->Call(how.is_region ? how.pullback : how.halves.reverse, args);
  tape_ = made.back();
  made.pop_back();
  return made;
}

// Nothing depends on what a sum is: one of its shape.
Value ReverseFunction::SumIn(const Inst& call, size_t k, Value bar) {
  return bar.valid() ? bar : ZeroOf(call.results[k]);
}

// What is handed in where there is no cotangent yet.
Value ReverseFunction::NoSum(const CallAdjoint& how, size_t k, Value v) {
  return k < how.first_full ? ListFunctions::ZeroField(*rb_, work_.TypeOf(v)) : ZeroOf(v);
}

}  // namespace pullback::ad
