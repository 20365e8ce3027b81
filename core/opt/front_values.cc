#include "core/opt/front_values.h"

#include <algorithm>

#include "core/opt/turn_facts.h"

namespace pullback::opt {

using ir::Affine;
using ir::Inst;
using ir::Op;
using ir::Value;

namespace {
constexpr int kMostDepth = 8;  // of what it is made of

bool IsArrayOp(const Inst& inst) {
  const bool is_plain = inst.op == Op::Zeros || inst.op == Op::Index || inst.op == Op::Dim ||
                        (ir::Info(inst.op).flags & ir::kPure) != 0;
  return inst.each ? std::none_of(inst.each->body.begin(), inst.each->body.end(),
                                  [](const Inst& part) { return ir::HasCallee(part.op); })
                   : is_plain;
}
}  // namespace

bool FrontValues::IsInFront(Value v, const BlockLoop& loop) const {
  const uint32_t block = defs_.BlockOf(v);
  return block == ir::kNoBlock || dominators_.Dominates(block, loop.entry);
}

bool FrontValues::MayBe(Value v, const BlockLoop& loop) const { return MayBe(v, loop, kMostDepth); }

bool FrontValues::MayBe(Value v, const BlockLoop& loop, int depth) const {
  if (IsInFront(v, loop)) return true;
  const Inst* inst = defs_.Inst(v);
  if (inst == nullptr || depth == 0) return false;
  const auto may = [&](Value of) { return MayBe(of, loop, depth - 1); };
  switch (inst->op) {
    case Op::Const: return true;
    case Op::Div: {
      const Affine by = FormOf(inst->args[1], defs_);
      if (!by.IsConst() || by.constant <= 0) return false;
      break;
    }
    case Op::AffineOf:
      return std::all_of(inst->subs[0].terms.begin(), inst->subs[0].terms.end(),
                         [&](const Affine::Term& t) { return may(t.value); });
    case Op::Add:
    case Op::Sub:
    case Op::Mul:
    case Op::Max:
    case Op::Min: break;
    default:
      if (made_ == Made::kIntegers || !IsArrayOp(*inst)) return false;
  }
  bool all = true;
  ir::ForEachOperand(*inst, [&](Value of) { all = all && may(of); });
  return all;
}

void FrontValues::AddMakers(Value v, const BlockLoop& loop, std::vector<Inst>& out) const {
  const auto makes = [&](const Inst& inst) {
    return std::find(inst.results.begin(), inst.results.end(), v) != inst.results.end();
  };
  if (IsInFront(v, loop) || std::any_of(out.begin(), out.end(), makes)) return;
  const Inst& inst = *defs_.Inst(v);
  ir::ForEachOperand(inst, [&](Value of) { AddMakers(of, loop, out); });
  out.push_back(inst);
}

Value BroughtValues::Bring(Value v) {
  if (front_.IsInFront(v, loop_) || names_.names().contains(v.id)) return names_.Get(v);
  std::vector<Inst> makers;
  front_.AddMakers(v, loop_, makers);
  for (const Inst& inst : makers) {
    if (!names_.names().contains(inst.results[0].id))
      f_.blocks[block_].insts.push_back(names_.Copy(inst));
  }
  return names_.Get(v);
}

Affine BroughtValues::Bring(const Affine& a) {
  Affine brought = Affine::Const(a.constant);
  for (const Affine::Term& t : a.terms) brought = brought + Affine::Of(Bring(t.value)) * t.coeff;
  return brought;
}

}  // namespace pullback::opt
