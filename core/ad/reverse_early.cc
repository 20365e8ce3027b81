// Calls of regions (core/ad/adders.h) are reversed in the forward half, where they stand: the cotangents of their sums are known
// there. What they add to the cotangents of what they read goes from one such call to the next, and from the last to the
// reverse half. Where there is one sum, whose cotangent is not known, they are reversed for a cotangent of 1, since what they
// give is linear in it.
#include "core/ad/reverse_function.h"

namespace pullback::ad {

using ir::Inst;
using ir::Op;
using ir::Value;

Status ReverseFunction::PlanEarly() {
  if (flow_.exit == kNoExit) return {};
  bool any = false;
  for (const ir::Block& b : work_.blocks) {
    for (const Inst& inst : b.insts)
      any |= inst.op == Op::Call && early_of_.adders.SumsOf(inst.callee) > 0;
  }
  if (!any) return {};
  cotangents_ = std::make_unique<EarlyCotangents>(
      work_, flow_, [this](uint32_t callee) { return early_of_.adders.SumsOf(callee); });
  std::map<Value, EarlyCall::Bar*> pending;
  for (uint32_t b :
       flow_.dominators.order()) {  // those of every run: in the order in which they run
    if (flow_.InCycle(b)) continue;
    int ordinal = -1;
    for (const Inst& inst : work_.blocks[b].insts) {
      ++ordinal;
      if (!IsActiveCall(inst)) continue;
      EarlyCall early;
      early.sums = early_of_.adders.SumsOf(inst.callee);
      early.place = {b, ordinal};
      if (early.sums == 0) continue;
      bool known = true;
      for (size_t k = 0; k < early.sums && known; ++k)
        known = cotangents_->IsKnown(inst.results[k], early.place);
      early.of_one = !known;
      if (!known && !early_of_.adders.for_one.contains(inst.callee)) continue;
      const bool as_part = first_tape_.valid();
      if (as_part && !cotangents_->IsSure(b)) continue;
      early.results = ActiveOf(inst.results);
      early.params = ActiveOf(inst.args);
      for (size_t k = 0; k < early.sums; ++k) early.params[k] = early.results[k];
      early_of_.adders.DropInert(inst.callee, early.params);
      PB_ASSIGN_OR_RETURN(early.both,
                          early_of_.both(inst.callee, early.sums, early.params, early.results));
      EarlyCall& kept = early_[&inst] = std::move(early);
      PlanBars(inst, kept, pending);
    }
  }
  return {};
}

void ReverseFunction::PlanBars(const Inst& call, EarlyCall& early,
                               std::map<Value, EarlyCall::Bar*>& pending) {
  for (size_t k = 0; k < call.args.size(); ++k) {
    if (!early.params[k]) continue;
    const Value v = call.args[k];
    EarlyCall::Bar& bar = early.bars[k];
    bar.made = NewForward(work_.TypeOf(v), "bar");
    if (k < early.sums) continue;  // what goes on is the result's
    if (early.of_one || !cotangents_->IsSure(early.place.block)) {
      bar.delivered = true;
      continue;
    }
    if (const auto sum = accumulated_.find(v); sum != accumulated_.end()) {
      bar.handed = std::exchange(sum->second, bar.made);
      continue;
    }
    EarlyCall::Bar*& last = pending[v];
    if (last != nullptr) {
      bar.handed = last->made;
      last->delivered = false;
    }
    last = &bar;
    bar.delivered = true;
  }
}

// The seeds are those of the active results that carry a tangent.
Value ReverseFunction::SeedOf(size_t result) {
  size_t number = 0;
  for (size_t k = 0; k <= result; ++k) {
    const bool has_seed = active_results_[k] && Carries(work_.results[k]);
    if (k == result)
      return !has_seed        ? ir::kNoValue
             : seeds_.empty() ? fb_->One(work_.results[k])
                              : seeds_[number];
    number += has_seed ? 1 : 0;
  }
  return ir::kNoValue;
}

void ReverseFunction::ForwardEarly(const Inst& call, const EarlyCall& early, Value& tape) {
  const auto here = [this](Value v) { return forward_[v.id]; };
  std::vector<Value> args;
  for (Value v : call.args) args.push_back(here(v));
  for (size_t k = 0; k < early.sums; ++k) {
    if (!early.results[k]) continue;
    if (early.of_one) {
      args.push_back(fb_->One(work_.TypeOf(call.results[k])));
      continue;
    }
    const Value bar = cotangents_->Make(
        call.results[k], early.place, *fb_, [this](size_t result) { return SeedOf(result); }, here);
    args.push_back(bar.valid() ? bar : fb_->ZerosLike(args[k]));
  }
  for (const auto& [k, bar] : early.bars) {
    if (k < early.sums) continue;
    if (!bar.handed.valid()) {
      args.push_back(fb_->ZerosLike(args[k]));
      continue;
    }
    const Value v = call.args[k];
    const bool may_be_short = MayBeShort(v);
    std::vector<Value> extents;
    for (int axis = 0; may_be_short && axis < work_.TypeOf(v).rank; ++axis)
      extents.push_back(fb_->Dim(args[k], axis));
    args.push_back(may_be_short ? fb_->Fit(bar.handed, extents) : bar.handed);
  }
  Inst copy;
  copy.op = Op::Call;
  copy.callee = early.both;
  copy.loc = call.loc;
  copy.args = ir::Values(args.begin(), args.end());
  for (Value v : call.results) copy.results.push_back(here(v));
  for (const auto& [k, bar] : early.bars) copy.results.push_back(bar.made);
  copy.args.push_back(tape);
  copy.results.push_back(tape = NewForward(ir::Type::Tape(), "tape"));
  fb_->Append(std::move(copy));
}

void ReverseFunction::ReverseEarly(const Inst& call, const EarlyCall& early) {
  Value seed;
  for (Value v : call.results) {
    const Value bar = TakeBar(v);
    if (bar.valid()) seed = bar;
  }
  if (early.of_one && !seed.valid()) return;
  for (const auto& [k, bar] : early.bars) {
    if (k < early.sums && early.of_one) {
      Accumulate(call.args[k], seed);
    } else if (k < early.sums || bar.delivered) {
      const Value made = Fetch(bar.made, current_);
      Accumulate(call.args[k], early.of_one ? Multiplied(made, seed) : made);
    }
  }
}

// 0 stays 0 on either side.
Value ReverseFunction::Multiplied(Value bar, Value by) {
  const Value none = rb_->Make(Op::Eq, {by, rb_->Zero(rb_->TypeOf(by))});
  const auto times = [&](Value element) {
    const Value product = rb_->Make(Op::SMul, {element, by});
    return rb_->Make(Op::Select, {none, rb_->Zero(rb_->TypeOf(by)), product});
  };
  const ir::Type t = rb_->TypeOf(bar);
  if (t.IsScalar()) return times(bar);
  std::vector<Value> extents;
  for (int axis = 0; axis < t.rank; ++axis) extents.push_back(rb_->Dim(bar, axis));
  std::vector<ir::Affine> at;
  for (Value i : rb_->BeginEach(extents)) at.push_back(ir::Affine::Of(i));
  ir::EachResult product;
  product.out = at;
  product.shape = ir::Values(extents.begin(), extents.end());
  product.value = times(rb_->Index(bar, at));
  return rb_->EndEach({product})[0];
}

}  // namespace pullback::ad
