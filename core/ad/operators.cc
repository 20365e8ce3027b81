#include "core/ad/operators.h"

#include <map>
#include <tuple>
#include <vector>

#include "core/ad/forward_gradient.h"
#include "core/ad/statement.h"
#include "core/ad/tangent.h"

namespace pullback::ad {
namespace {

using ir::Inst;
using ir::Op;

bool IsOperator(const Inst& inst) { return inst.op == Op::Jvp || inst.op == Op::Vjp; }

// Every instruction of a function, those of bodies too.
template <typename F, typename Fn>
void ForEachInst(F& f, Fn&& fn) {
  for (auto& block : f.blocks) {
    for (auto& inst : block.insts) {
      fn(inst);
      if (!inst.each) continue;
      for (auto& body : inst.each->body) fn(body);
    }
  }
}

bool HasOperators(const ir::Function& f) {
  bool any = false;
  ForEachInst(f, [&](const Inst& inst) { any |= IsOperator(inst); });
  return any;
}

// f and what follows from it, directly or not: next(g, visit) visits the functions that follow from g.
template <typename Next>
std::vector<uint32_t> Closure(const ir::Module& m, uint32_t f, Next&& next) {
  std::vector<char> seen(m.functions.size());
  std::vector<uint32_t> reached = {f};
  seen[f] = 1;
  for (size_t k = 0; k < reached.size(); ++k) {
    next(reached[k], [&](uint32_t g) {
      if (!seen[g]) reached.push_back(g);
      seen[g] = 1;
    });
  }
  return reached;
}

// f and what it refers to.
std::vector<uint32_t> ReachedFrom(const ir::Module& m, uint32_t f) {
  return Closure(m, f, [&](uint32_t g, auto visit) { ir::ForEachCallee(m.Get(g), visit); });
}

// What may be derived where f is. A function with a rule is not; its only rule is, in the other mode.
std::vector<uint32_t> DerivedWith(const ir::Module& m, uint32_t f) {
  std::vector<uint32_t> all = Closure(m, f, [&](uint32_t g, auto visit) {
    const ir::Function& function = m.Get(g);
    if (!function.HasRule()) return ir::ForEachCallee(function, visit);
    if (function.vjp_rule == ir::kNoFunction) visit(function.jvp_rule);
    if (function.jvp_rule == ir::kNoFunction) visit(function.vjp_rule);
  });
  std::erase_if(all, [&](uint32_t g) { return m.Get(g).HasRule(); });
  return all;
}

bool ReachesOperator(const ir::Module& m, uint32_t f) {
  for (uint32_t g : ReachedFrom(m, f)) {
    if (HasOperators(m.Get(g))) return true;
  }
  return false;
}

Status CheckFunction(const ir::Module& m, const ir::Function& f) {
  const std::string where = "@" + f.name + ": the derivative of ";
  Status status;
  const auto check = [&](ir::Value v) {
    const ir::Type t = f.TypeOf(v);
    if (t.IsBox() && ir::CarriesTangent(m, t)) status = UnimplementedAt(where + ToString(t, m), 0);
  };
  for (const ir::Block& b : f.blocks) {
    for (ir::Value v : b.params) check(v);
  }
  ForEachInst(f, [&](const Inst& inst) {
    for (ir::Value v : inst.results) check(v);
  });
  return status;
}

// Makes each derived function once.
class Derivatives {
 public:
  Derivatives(ir::Module& m, Mixed mixed) : m_(m), mixed_(mixed), tangents_(m) {}

  StatusOr<uint32_t> Of(const Inst& inst) {
    PB_RETURN_IF_ERROR(CheckDerivable(m_, inst.callee));
    if (inst.op == Op::Jvp) return tangents_.FilledJvp(inst.callee, inst.wrt.ToVector());
    const auto [it, fresh] = vjps_.try_emplace({inst.callee, inst.wrt.ToVector()});
    if (!fresh) return it->second;
    PB_ASSIGN_OR_RETURN(
        const uint32_t made,
        BuildCheaperGradient(m_, inst.callee, inst.wrt.ToVector(), Seed::kParams, mixed_));
    return it->second = made;
  }

 private:
  ir::Module& m_;
  Mixed mixed_;
  Tangents tangents_;
  std::map<std::pair<uint32_t, std::vector<bool>>, uint32_t> vjps_;
};

Status Replace(Inst& inst, Derivatives& derivatives) {
  StatusOr<uint32_t> made = derivatives.Of(inst);
  if (!made.ok()) return made.status();
  inst.op = Op::Call;
  inst.callee = *made;
  inst.wrt.clear();
  return {};
}

}  // namespace

bool HasOperators(const ir::Module& module) {
  for (const auto& f : module.functions) {
    if (HasOperators(*f)) return true;
  }
  return false;
}

Status CheckDerivable(const ir::Module& module, uint32_t f) {
  for (uint32_t g : DerivedWith(module, f))
    PB_RETURN_IF_ERROR(CheckFunction(module, module.Get(g)));
  return {};
}

Status DeriveInnermost(ir::Module& module, Mixed mixed) {
  // Decided before any is replaced: what a derived function calls is derived code only.
  std::vector<Inst*> ready;
  uint32_t waiting = 0;
  for (const auto& f : module.functions) {
    ForEachInst(*f, [&](Inst& inst) {
      if (!IsOperator(inst)) return;
      if (ReachesOperator(module, inst.callee)) {
        waiting = inst.loc;
      } else {
        ready.push_back(&inst);
      }
    });
  }
  if (ready.empty() && HasOperators(module)) {
    return {
        Code::kInvalidArgument, "UNBOUNDED_DERIVATIVE",
        "the function differentiates itself: how deep derivatives nest must be known before the "
        "program runs !" +
            std::to_string(waiting)};
  }
  Derivatives derivatives(module, mixed);
  for (Inst* inst : ready) PB_RETURN_IF_ERROR(Replace(*inst, derivatives));
  return {};
}

}  // namespace pullback::ad
