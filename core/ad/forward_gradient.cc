#include "core/ad/forward_gradient.h"

#include <algorithm>
#include <cstring>

#include "core/ad/partials.h"
#include "core/ad/tangent.h"
#include "core/analysis/activity.h"
#include "core/ir/builder.h"
#include "core/ir/dominance.h"

namespace pullback::ad {
namespace {

using ir::Function;
using ir::Inst;
using ir::Op;
using ir::Type;
using ir::Value;

bool IsFloatScalar(Type t) { return t.IsScalar() && t.IsFloat(); }

// Headers of loops: blocks that an edge goes back to.
std::vector<uint32_t> LoopHeaders(const Function& f) {
  const ir::Dominators dominators(f);
  std::vector<uint32_t> headers;
  for (uint32_t b : dominators.order()) {
    for (const ir::Edge& e : f.blocks[b].term.edges) {
      if (dominators.Dominates(e.block, b)) headers.push_back(e.block);
    }
  }
  return headers;
}

// What is called from `f`, directly or not; `f` itself only where it is in a recursion.
std::vector<uint32_t> CalledFrom(const ir::Module& m, uint32_t f) {
  std::vector<char> seen(m.functions.size());
  std::vector<uint32_t> called;
  const auto visit = [&](uint32_t g) {
    ir::ForEachCallee(m.Get(g), [&](uint32_t h) {
      if (!seen[h]) called.push_back(h);
      seen[h] = 1;
    });
  };
  visit(f);
  for (size_t k = 0; k < called.size(); ++k) visit(called[k]);
  return called;
}

// A partial that may be infinite where the value is finite. Reverse mode multiplies it by a cotangent of zero
// where the result is not used, which is zero; forward mode would multiply infinity by zero later on.
bool MayHaveInfinitePartial(const Inst& inst, const std::vector<char>& is_constant) {
  switch (inst.op) {
    case Op::Pow: return !is_constant[inst.args[1].id];
    case Op::Cbrt:
    case Op::Asin:
    case Op::Acos:
    case Op::Acosh: return true;
    default: return false;
  }
}

// Whether `f` has what only reverse mode gives: rules, checkpoints, strong zeros.
bool NeedsReverse(const Function& f) {
  bool needs = f.HasRule();
  std::vector<char> is_constant(f.values.size());
  const auto see = [&](const Inst& inst) {
    if (inst.op == Op::Const) {
      double exponent = 0;
      std::memcpy(&exponent, &inst.bits, sizeof(exponent));
      is_constant[inst.results[0].id] = f.TypeOf(inst.results[0]) == Type::F64() && exponent >= 1;
    }
    needs |= inst.checkpoint || MayHaveInfinitePartial(inst, is_constant);
  };
  for (const ir::Block& b : f.blocks) {
    for (const Inst& inst : b.insts) {
      see(inst);
      if (inst.each) std::for_each(inst.each->body.begin(), inst.each->body.end(), see);
    }
  }
  return needs;
}

// Whether a call of `f` runs a loop, or `f` is in a recursion or runs one.
bool Repeats(const ir::Module& m, uint32_t f) {
  std::vector<uint32_t> all = CalledFrom(m, f);
  const bool recursive = std::find(all.begin(), all.end(), f) != all.end();
  if (recursive || !LoopHeaders(m.Get(f)).empty()) return true;
  return std::any_of(all.begin(), all.end(), [&](uint32_t g) {
    const std::vector<uint32_t> from = CalledFrom(m, g);
    return !LoopHeaders(m.Get(g)).empty() || std::find(from.begin(), from.end(), g) != from.end();
  });
}

// Whether a loop over it costs reverse mode more than a tangent does: functions, divisions, what is no scalar.
bool IsDear(const Inst& inst, const Function& f) {
  if (inst.op == Op::Div || inst.op == Op::Sqrt || (ir::Info(inst.op).flags & ir::kLibm))
    return true;
  return std::any_of(inst.results.begin(), inst.results.end(),
                     [&](Value v) { return !f.TypeOf(v).IsScalar(); });
}

// Whether tangents go through a loop with something dear or through a recursion.
bool RepeatsWithTangents(const ir::Module& m, uint32_t id, const std::vector<bool>& wrt) {
  const Function& f = m.Get(id);
  std::vector<bool> results;
  for (Type t : f.results) results.push_back(ir::CarriesTangent(m, t));
  const std::function<bool(Op)> is_constant = [](Op op) { return RuleOf(op) == Rule::kConstant; };
  const analysis::Activity activity(m, f, wrt, results, is_constant);
  const auto active = [&](Value v) { return activity.Active(v); };
  bool loop = false, dear = false;
  for (uint32_t b : LoopHeaders(f)) {
    loop |= std::any_of(f.blocks[b].params.begin(), f.blocks[b].params.end(), active);
  }
  for (const ir::Block& b : f.blocks) {
    for (const Inst& inst : b.insts) {
      if (!std::any_of(inst.results.begin(), inst.results.end(), active)) continue;
      dear |= IsDear(inst, f);
      if (inst.op == Op::Call && Repeats(m, inst.callee)) return true;
    }
  }
  return loop && dear;
}

}  // namespace

bool PrefersForward(const ir::Module& module, uint32_t f, const std::vector<bool>& wrt) {
  const Function& from = module.Get(f);
  int width = 0;
  std::vector<bool> active;
  for (size_t k = 0; k < from.params().size(); ++k) {
    const Type t = from.TypeOf(from.params()[k]);
    active.push_back(wrt[k] && ir::CarriesTangent(module, t));
    if (!active[k]) continue;
    if (!IsFloatScalar(t) || ++width > kMostForward) return false;
  }
  const std::vector<Type> out = ir::TangentTypes(module, from.results);
  if (width == 0 || out.size() != 1 || !IsFloatScalar(out[0])) return false;
  if (NeedsReverse(from) || !RepeatsWithTangents(module, f, active)) return false;
  const std::vector<uint32_t> called = CalledFrom(module, f);
  return std::none_of(called.begin(), called.end(),
                      [&](uint32_t g) { return NeedsReverse(module.Get(g)); });
}

StatusOr<uint32_t> BuildCheaperGradient(ir::Module& module, uint32_t f,
                                        const std::vector<bool>& wrt, Seed seed, Mixed mixed) {
  if (!PrefersForward(module, f, wrt)) return BuildGradient(module, f, wrt, seed, mixed);
  const ir::Values params = module.Get(f).params();
  std::vector<Type> types;
  std::vector<bool> active;
  for (size_t k = 0; k < params.size(); ++k) {
    types.push_back(module.Get(f).TypeOf(params[k]));
    active.push_back(wrt[k] && ir::CarriesTangent(module, types[k]));
  }
  PB_ASSIGN_OR_RETURN(const uint32_t partials, Tangents(module).Partials(f, active));
  const uint32_t target = module.AddFunction(module.Get(f).name + ".forward_grad");
  ir::Builder b(module, module.Get(target));
  b.NewBlock();
  b.SetBlock(0);
  std::vector<Value> args;
  for (size_t k = 0; k < params.size(); ++k) {
    args.push_back(b.AddParam(0, types[k], module.Get(f).names[params[k].id]));
  }
  b.function().results = module.Get(f).results;
  for (size_t k = 0; k < types.size(); ++k) {
    if (active[k]) b.function().results.push_back(types[k]);
  }
  const Type out = ir::TangentTypes(module, module.Get(f).results)[0];
  const Value bar = seed == Seed::kParams ? b.AddParam(0, out, "bar") : ir::kNoValue;
  std::vector<Value> made = b.Call(partials, args);
  size_t next = module.Get(f).results.size();
  for (size_t k = 0; k < types.size(); ++k) {
    if (!active[k]) continue;
    if (bar.valid()) made[next] = b.Make(Op::SMul, {bar, made[next]});
    if (types[k] != out) made[next] = b.Cast(made[next], types[k].elem);
    ++next;
  }
  b.Return(made);
  return target;
}

}  // namespace pullback::ad
