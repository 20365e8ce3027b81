// The forward half: the primal, with what the reverse half asked for pushed on the tape.
#include "core/ad/reverse_function.h"

namespace pullback::ad {

using ir::Inst;
using ir::Op;
using ir::Value;

void ReverseFunction::DeclareForwardParams() {
  for (uint32_t b = 0; b < work_.blocks.size(); ++b) {
    if (flow_.way[b] == WayBack::kTrips) blocks_[b].trips = NewForward(ir::Type::I64(), "t");
    if (flow_.way[b] == WayBack::kTag) blocks_[b].tag = NewForward(ir::Type::I64(), "from");
  }
}

Status ReverseFunction::BuildForward() {
  for (uint32_t b : flow_.dominators.order()) PB_RETURN_IF_ERROR(ForwardBlock(b));
  return {};
}

Status ReverseFunction::ForwardBlock(uint32_t b) {
  BlockState& state = blocks_[b];
  fb_->SetBlock(b);
  fb_->SetLoc(0);
  Value tape = first_tape_;
  if (b != 0) {
    std::vector<Value> params;
    for (Value v : work_.blocks[b].params) params.push_back(forward_[v.id]);
    fb_->function().blocks[b].params = params;
    tape = state.tape = fb_->AddParam(b, ir::Type::Tape(), "tape");
    for (Value extra : {state.trips, state.tag}) {
      if (extra.valid()) fb_->function().blocks[b].params.push_back(extra);
    }
    if (state.tag.valid()) tape = fb_->Push(tape, state.tag);
  } else {
    if (!tape.valid()) tape = fb_->TapeNew();
    state.tape = tape;
  }
  // At once: what is read after it was changed is not changed in place.
  const auto measure = [&](ir::ValueSpan defined) {
    for (const Inst& size : state.early_sizes) {
      for (Value v : defined) {
        if (forward_[v.id] == size.args[0]) fb_->Append(size);
      }
    }
  };
  measure(work_.blocks[b].params);
  size_t call = 0;
  for (const Inst& inst : work_.blocks[b].insts) {
    if (const auto old = overwritten_.find(&inst); old != overwritten_.end()) {
      Inst read;
      read.op = Op::Index;
      read.loc = inst.loc;
      read.args = {forward_[inst.args[0].id]};
      read.subs = inst.subs;
      for (ir::Affine& a : read.subs) {
        for (ir::Affine::Term& t : a.terms) t.value = forward_[t.value.id];
        ir::Canonicalise(a);
      }
      read.results = {old->second};
      fb_->Append(std::move(read));
    }
    if (const auto early = early_.find(&inst); early != early_.end()) {
      ForwardEarly(inst, early->second, tape);
      measure(inst.results);
      ++call;
      continue;
    }
    Inst copy = MapForward(inst);
    const CallAdjoint* how = IsActiveCall(inst) ? &state.calls[call++] : nullptr;
    if (how != nullptr && how->is_resolved && how->OnTape()) {
      copy.callee = how->halves.forward;
      copy.args.push_back(tape);
      tape = NewForward(ir::Type::Tape(), "tape");
      copy.results.push_back(tape);
    }
    fb_->Append(std::move(copy));
    measure(inst.results);
  }
  for (const Inst& dim : state.extents) fb_->Append(dim);
  for (const Need& need : state.needs) tape = fb_->Push(tape, need.source);
  ForwardTerminator(b, tape);
  return {};
}

Inst ReverseFunction::MapForward(const Inst& inst) {
  Inst copy = inst;
  const auto map = [this](Value& v) { v = forward_[v.id]; };
  ir::ForEachOperand(copy, map);
  for (Value& v : copy.results) map(v);
  if (copy.each) {
    for (ir::IndexVar& i : copy.each->indices) map(i.var);
    for (Inst& body : copy.each->body) {
      for (Value& v : body.results) map(v);
    }
  }
  AddKept(inst, copy);
  ir::CanonicaliseAffines(copy);
  return copy;
}

void ReverseFunction::ForwardTerminator(uint32_t b, Value tape) {
  ir::Terminator term = work_.blocks[b].term;
  ir::ForEachTermOperand(term, [this](Value& v) { v = forward_[v.id]; });
  if (term.kind == ir::Terminator::Kind::kReturn) {
    if (combined_) return fb_->Jump(blocks_[b].reverse_block, {tape});
    term.results.push_back(tape);
    return fb_->Return(std::move(term.results));
  }
  for (uint32_t e = 0; e < term.edges.size(); ++e) {
    ir::Edge& edge = term.edges[e];
    edge.args.push_back(tape);
    if (flow_.way[edge.block] != WayBack::kTag && flow_.way[edge.block] != WayBack::kTrips)
      continue;
    const std::vector<Predecessor>& preds = flow_.preds[edge.block];
    size_t which = 0;
    while (preds[which].block != b || preds[which].edge != e) ++which;
    if (flow_.way[edge.block] == WayBack::kTag)
      edge.args.push_back(fb_->I64(static_cast<int64_t>(which)));
    if (flow_.way[edge.block] == WayBack::kTrips) {
      const bool entry = which == 0;
      edge.args.push_back(
          entry ? fb_->I64(0) : fb_->Make(Op::Add, {blocks_[edge.block].trips, fb_->I64(1)}, "t"));
    }
  }
  fb_->function().blocks[b].term = std::move(term);
}

}  // namespace pullback::ad
