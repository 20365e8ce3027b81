#include "core/opt/front_values.h"

#include <algorithm>

#include "core/opt/turn_facts.h"

namespace pullback::opt {

using ir::Affine;
using ir::Inst;
using ir::Op;
using ir::Value;

namespace {
constexpr int kMostDepth = 8;  // of a size
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
    default: return false;
  }
  return std::all_of(inst->args.begin(), inst->args.end(), may);
}

void FrontValues::AddMakers(Value v, const BlockLoop& loop, std::vector<Inst>& out) const {
  const auto makes = [&](const Inst& inst) { return inst.results[0] == v; };
  if (IsInFront(v, loop) || std::any_of(out.begin(), out.end(), makes)) return;
  const Inst& inst = *defs_.Inst(v);
  ir::ForEachOperand(inst, [&](Value of) { AddMakers(of, loop, out); });
  out.push_back(inst);
}

}  // namespace pullback::opt
