#include "core/ad/reverse_function.h"

#include <algorithm>

#include "core/ad/partials.h"
#include "core/ad/tape_proof.h"
#include "core/ir/block_loops.h"

namespace pullback::ad {

using ir::Inst;
using ir::Op;
using ir::Value;

namespace {

ir::Function Prepared(const ir::Function& f) {
  ir::Function copy = f;
  PrepareForReverse(copy);
  return copy;
}

}  // namespace

ReverseFunction::ReverseFunction(ir::Module& module, const ir::Function& f,
                                 const std::vector<bool>& active_params,
                                 const std::vector<bool>& active_results, ListFunctions& lists,
                                 AdjointOf adjoint_of, PartialsOf partials_of, EarlyOf early_of,
                                 Mixed mixed)
    : module_(module),
      work_(Prepared(f)),
      flow_(work_),
      is_constant_([](Op op) { return RuleOf(op) == Rule::kConstant; }),
      activity_(module, work_, active_params, active_results, is_constant_),
      carried_(work_),
      undo_(work_, flow_, activity_),
      active_params_(active_params),
      active_results_(active_results),
      lists_(lists),
      adjoint_of_(std::move(adjoint_of)),
      partials_of_(std::move(partials_of)),
      early_of_(std::move(early_of)),
      mixed_(mixed),
      const_def_(work_.values.size()),
      defs_(FindDefinitions(work_)),
      counters_(FindCounters(work_, flow_, defs_)),
      read_alone_(work_),
      settled_(work_, flow_, defs_, counters_, read_alone_),
      around_(ir::LoopsAround(work_, flow_.dominators)),
      blocks_(work_.blocks.size()) {
  for (const ir::Block& b : work_.blocks) {
    for (const Inst& inst : b.insts) {
      if (inst.op == Op::Const) const_def_[inst.results[0].id] = &inst;
    }
  }
  std::vector<char> inert(work_.blocks.size(), 1);
  const auto see = [&](size_t b, Value v) {
    inert[b] &= !Active(v) && undo_.Of(v) == UndoWebs::kNone;
  };
  for (size_t b = 0; b < work_.blocks.size(); ++b) {
    for (Value v : work_.blocks[b].params) see(b, v);
    for (const Inst& inst : work_.blocks[b].insts) {
      for (Value v : inst.results) see(b, v);
    }
  }
  flow_.SkipInert(work_, inert);
}

Status ReverseFunction::BuildCombined(uint32_t target, const std::vector<bool>& wrt,
                                      bool seed_params, bool give_results,
                                      const std::vector<bool>& sums, Combined combined) {
  combined_ = true;
  give_results_ = give_results;
  wrt_ = wrt;
  Start(target, target);
  const ir::Values& params = module_.Get(target).params();
  const size_t n = work_.params().size();
  for (size_t k = 0; k < n; ++k) forward_[work_.params()[k].id] = params[k];
  if (seed_params) seeds_.assign(params.begin() + static_cast<long>(n), params.end());
  if (combined == Combined::kAsPart) {
    first_tape_ = seeds_.back();
    seeds_.pop_back();
  }
  TakeSums(sums);
  if (combined == Combined::kAsPart) {
    for (const auto& [v, bar] : accumulated_) full_.insert(v);
  }
  PB_RETURN_IF_ERROR(PlanEarly());
  if (flow_.exit != kNoExit) PB_RETURN_IF_ERROR(BuildReverse());
  PB_RETURN_IF_ERROR(BuildForward());
  return ProveTape();
}

Status ReverseFunction::BuildSplit(const SplitFunctions& targets, const std::vector<bool>& sums) {
  wrt_ = active_params_;
  Start(targets.forward, targets.reverse);
  const ir::Values& params = module_.Get(targets.forward).params();
  for (size_t k = 0; k + 1 < params.size(); ++k) forward_[work_.params()[k].id] = params[k];
  first_tape_ = params.back();
  seeds_ = ir::ToVector(module_.Get(targets.reverse).params());
  reverse_tape_ = seeds_.back();
  seeds_.pop_back();
  TakeSums(sums);
  if (flow_.exit != kNoExit) {
    PB_RETURN_IF_ERROR(BuildReverse());
  } else {  // the forward half never returns, so this is never run
    const uint32_t spin = rb_->NewBlock();
    rb_->SetBlock(0);
    rb_->Jump(spin, {});
    rb_->SetBlock(spin);
    rb_->Jump(spin, {});
  }
  PB_RETURN_IF_ERROR(BuildForward());
  return ProveTape();
}

Status ReverseFunction::ProveTape() const {
  if (flow_.exit == kNoExit) return {};
  TapeHalves halves;
  halves.forward = &fb_->function();
  halves.reverse = &rb_->function();
  halves.is_balanced = combined_ && first_tape_.valid();
  for (const auto& [call, early] : early_) halves.balanced.insert(early.both);
  halves.blocks.resize(work_.blocks.size());
  for (uint32_t b : flow_.dominators.order()) {
    const BlockState& state = blocks_[b];
    halves.blocks[b] = {state.tape, state.tag,
                        flow_.skipped[b] ? ir::kNoBlock : state.reverse_block};
    for (const CallAdjoint& call : state.calls) {
      if (call.is_region) halves.balanced.insert(call.pullback);
      if (call.is_resolved && call.OnTape())
        halves.calls.emplace(call.halves.forward, call.halves.reverse);
    }
  }
  return CheckTape(halves);
}

// The last of the seeds are the cotangents so far of the parameters in `sums`.
void ReverseFunction::TakeSums(const std::vector<bool>& sums) {
  const auto n = static_cast<size_t>(std::count(sums.begin(), sums.end(), true));
  std::vector<Value> at_exit;
  size_t next = seeds_.size() - n;
  for (size_t k = 0; k < sums.size(); ++k) {
    if (!sums[k]) continue;
    at_exit.push_back(work_.params()[k]);
    accumulated_[work_.params()[k]] = seeds_[next++];
  }
  seeds_.resize(seeds_.size() - n);
  live_out_ = CotangentsLiveOut(work_, activity_, at_exit);
  CountCalls();
}

void ReverseFunction::Start(uint32_t forward, uint32_t reverse) {
  fb_ = std::make_unique<ir::Builder>(module_, module_.Get(forward));
  rb_ = std::make_unique<ir::Builder>(module_, module_.Get(reverse));
  forward_.resize(work_.values.size());
  for (size_t v = 0; v < work_.values.size(); ++v)
    forward_[v] = NewForward(work_.values[v], work_.names[v]);
  for (size_t b = 1; b < work_.blocks.size(); ++b) fb_->NewBlock();
  DeclareForwardParams();
}

Value ReverseFunction::NewForward(ir::Type t, const std::string& name) {
  return fb_->function().NewValue(t, name);
}

// --- values of the primal

Value ReverseFunction::Primal(Value v) {
  BlockState& state = blocks_[current_];
  if (const Inst* def = const_def_[v.id]) {
    if (combined_ && flow_.SurvivesTo(current_, flow_.def_block[v.id])) return forward_[v.id];
    const auto [it, fresh] = state.constants.emplace(v, ir::kNoValue);
    if (fresh) {
      Inst copy = *def;
      it->second = rb_->function().NewValue(work_.TypeOf(v));
      copy.results = {it->second};
      state.constant_insts.push_back(std::move(copy));
    }
    return it->second;
  }
  if (undo_.Of(v) != UndoWebs::kNone) return Version(v);
  return Fetch(forward_[v.id], flow_.def_block[v.id], v);
}

ir::Affine ReverseFunction::Primal(const ir::Affine& a) {
  ir::Affine out = a;
  for (ir::Affine::Term& t : out.terms) t.value = Primal(t.value);
  ir::Canonicalise(out);
  return out;
}

std::vector<ir::Affine> ReverseFunction::Primal(ir::AffineSpan subs) {
  std::vector<ir::Affine> out;
  for (const ir::Affine& a : subs) out.push_back(Primal(a));
  return out;
}

// What the reverse half has anyway where that is known to be the extent, so that no turn of a loop keeps it.
Value ReverseFunction::Extent(Value array, int axis) {
  const analysis::Extent known = carried_.Of(array, axis);
  if (known.IsInteger() && AtHand(known.value)) return Primal(known.value);
  const bool survives = !known.IsInteger() && combined_ &&
                        flow_.SurvivesTo(current_, flow_.def_block[known.value.id]);
  if (survives) return SizeOf(known.value, Op::Dim, known.axis);
  const bool is_at_hand = combined_ && flow_.SurvivesTo(current_, flow_.def_block[array.id]);
  const Value extent = is_at_hand ? ir::kNoValue : ExtentOfBar(array, axis);
  return extent.valid() ? extent : SizeOf(array, Op::Dim, axis);
}

// Of the cotangent with which the block's reverse begins, which has the array's shape.
Value ReverseFunction::ExtentOfBar(Value array, int axis) {
  const ir::Values& live = live_out_[current_];
  const auto at = std::find(live.begin(), live.end(), array);
  if (at == live.end() || MayBeShort(array)) return {};
  BlockState& state = blocks_[current_];
  const auto [it, fresh] = state.bar_extents.emplace(std::pair{array, axis}, ir::kNoValue);
  if (fresh) {
    it->second = rb_->function().NewValue(ir::Type::I64());
    const ir::Values& params = rb_->function().blocks[state.reverse_block].params;
    Inst inst;
    inst.op = Op::Dim;
    inst.bits = static_cast<uint64_t>(axis);
    inst.args = {params[params.size() - live.size() + static_cast<size_t>(at - live.begin())]};
    inst.results = {it->second};
    state.constant_insts.push_back(std::move(inst));
  }
  return it->second;
}

std::vector<Value> ReverseFunction::Extents(Value array) {
  std::vector<Value> extents;
  for (int axis = 0; axis < work_.TypeOf(array).rank; ++axis)
    extents.push_back(Extent(array, axis));
  return extents;
}

Value ReverseFunction::Length(Value list) { return SizeOf(list, Op::ListLen, 0); }

// Whether an instruction of the block may take over v, or the element of a list that v is.
bool ReverseFunction::IsChangedIn(uint32_t block, Value v) {
  if (defs_[v.id] != nullptr && defs_[v.id]->op == Op::ListGet) return true;
  const auto [it, fresh] = changed_in_.try_emplace(block);
  if (fresh) {
    for (const Inst& inst : work_.blocks[block].insts) {
      if (inst.op == Op::Index || inst.op == Op::Dim || inst.each) continue;
      it->second.insert(inst.args.begin(), inst.args.end());
    }
  }
  return it->second.count(v) != 0;
}

Value ReverseFunction::SizeOf(Value v, Op op, int axis) {
  Value& size = extents_[{v, axis}];
  const uint32_t block = flow_.def_block[v.id];
  if (!size.valid()) {
    size = NewForward(ir::Type::I64(), "");
    Inst inst;
    inst.op = op;
    inst.bits = static_cast<uint64_t>(axis);
    inst.args = {forward_[v.id]};
    inst.results = {size};
    BlockState& state = blocks_[block];
    const bool late = op == Op::Dim && !IsChangedIn(block, v);
    (late ? state.extents : state.early_sizes).push_back(std::move(inst));
  }
  return Fetch(size, block);
}

Value ReverseFunction::Fetch(Value source, uint32_t defined_in, Value work) {
  if (combined_ && flow_.SurvivesTo(current_, defined_in)) return source;
  BlockState& state = blocks_[current_];
  const auto [it, fresh] = state.popped.emplace(source, ir::kNoValue);
  if (fresh) {
    it->second = rb_->function().NewLike(fb_->function(), source);
    state.needs.push_back({source, it->second, work});
  }
  return it->second;
}

// Where the reverse of the current block is behind that of the block `at`, which pops it.
Value ReverseFunction::FetchAt(uint32_t at, Value source) {
  BlockState& state = blocks_[at];
  const auto [it, fresh] = state.popped.emplace(source, ir::kNoValue);
  if (fresh) {
    it->second = rb_->function().NewLike(fb_->function(), source);
    state.needs.push_back({source, it->second, ir::kNoValue});
  }
  return it->second;
}

Value ReverseFunction::ZeroOf(Value v) {
  const ir::Type t = work_.TypeOf(v);
  if (t.IsTape()) return rb_->TapeNew();
  if (t.IsList()) return rb_->ListNew(t.record);
  return t.IsArray() ? rb_->Zeros(t.elem, Extents(v)) : rb_->Zero(t);
}

// --- cotangents

Value ReverseFunction::TakeBar(Value v) {
  const auto it = bars_.find(v);
  if (it == bars_.end()) return {};
  const Value bar = it->second;
  bars_.erase(it);
  return bar;
}

void ReverseFunction::Accumulate(Value v, Value bar, bool short_bar) {
  if (!bar.valid() || !Active(v)) return;
  const auto [it, fresh] = bars_.emplace(v, bar);
  if (fresh) return;
  if (MayBeShort(v) && short_bar) {
    it->second = lists_.AddField(*rb_, it->second, bar);
    return;
  }
  // Given the shape it is added to in place.
  const Value sum = MayBeShort(v) ? rb_->Fit(it->second, Extents(v)) : it->second;
  it->second = lists_.Add(*rb_, sum, bar);
}

std::vector<bool> ReverseFunction::ActiveOf(ir::ValueSpan values) const {
  std::vector<bool> active;
  for (Value v : values) active.push_back(Active(v));
  return active;
}

}  // namespace pullback::ad
