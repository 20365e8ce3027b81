#include "core/ad/counters.h"

namespace pullback::ad {

using ir::Affine;
using ir::Inst;
using ir::Op;
using ir::Value;

Definitions FindDefinitions(const ir::Function& f) {
  Definitions defs(f.values.size());
  for (const ir::Block& b : f.blocks) {
    for (const Inst& inst : b.insts) {
      for (Value v : inst.results) defs[v.id] = &inst;
    }
  }
  return defs;
}

std::optional<Affine> FormOf(const Inst& inst, const ir::Function& f, const Definitions& defs) {
  if (inst.op == Op::AffineOf) return inst.subs[0];
  if (inst.args.empty() || f.TypeOf(inst.args[0]) != ir::Type::I64()) return std::nullopt;
  const auto form = [&](size_t k) { return Affine::Of(inst.args[k]); };
  const auto constant = [&](size_t k) -> const Inst* {
    const Inst* def = defs[inst.args[k].id];
    return def != nullptr && def->op == Op::Const ? def : nullptr;
  };
  switch (inst.op) {
    case Op::Add: return form(0) + form(1);
    case Op::Sub: return form(0) - form(1);
    case Op::Neg: return form(0) * -1;
    case Op::Mul:
      for (const size_t k : {0, 1}) {
        if (constant(k)) return form(1 - k) * static_cast<int64_t>(constant(k)->bits);
      }
      return std::nullopt;
    default: return std::nullopt;
  }
}

namespace {

// The constant step of `v + step` with v the given value.
std::optional<int64_t> StepOf(const Inst& inst, Value v, const Definitions& defs) {
  const auto constant = [&](Value x) -> std::optional<int64_t> {
    const Inst* def = defs[x.id];
    if (def == nullptr || def->op != Op::Const) return std::nullopt;
    return static_cast<int64_t>(def->bits);
  };
  if (inst.op == Op::Add && inst.args[0] == v) return constant(inst.args[1]);
  if (inst.op == Op::Add && inst.args[1] == v) return constant(inst.args[0]);
  if (inst.op == Op::Sub && inst.args[0] == v) {
    const auto c = constant(inst.args[1]);
    return c ? std::optional(-*c) : std::nullopt;
  }
  if (inst.op != Op::AffineOf) return std::nullopt;
  const Affine rest = inst.subs[0] - Affine::Of(v);
  return rest.IsConst() ? std::optional(rest.constant) : std::nullopt;
}

}  // namespace

Counters FindCounters(const ir::Function& f, const ReverseFlow& flow, const Definitions& defs) {
  Counters counters;
  for (uint32_t h = 0; h < f.blocks.size(); ++h) {
    if (flow.way[h] != WayBack::kTrips) continue;
    const auto argument = [&](size_t pred, size_t k) {
      const Predecessor& p = flow.preds[h][pred];
      return f.blocks[p.block].term.edges[p.edge].args[k];
    };
    const ir::Values& params = f.blocks[h].params;
    for (size_t k = 0; k < params.size(); ++k) {
      if (f.TypeOf(params[k]) != ir::Type::I64()) continue;
      const Inst* next = defs[argument(1, k).id];
      if (next == nullptr) continue;
      if (const auto step = StepOf(*next, params[k], defs))
        counters[params[k]] = {h, argument(0, k), *step};
    }
  }
  return counters;
}

const Inst* TestOf(const ir::Function& f, const ReverseFlow& flow, const Definitions& defs,
                   uint32_t header) {
  const ir::Terminator& term = f.blocks[header].term;
  const Inst* test = term.cond.valid() ? defs[term.cond.id] : nullptr;
  const bool is_order = test != nullptr && test->op == Op::Lt;
  return is_order && flow.IsLoopBodyOf(term.edges[0].block, header) ? test : nullptr;
}

}  // namespace pullback::ad
