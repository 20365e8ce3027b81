#include "core/ad/body.h"
#include "core/ad/partials.h"
#include "core/ad/statement.h"

namespace pullback::ad {
namespace {

using ir::Inst;
using ir::Op;
using ir::Value;

class Transposer {
 public:
  Transposer(ir::Builder& b, const Surroundings& around, const Inst& inst)
      : b_(b), around_(around), each_(*inst.each), body_(b, around, *inst.each) {
    body_.ReadBack(inst);
  }

  StatusOr<std::map<Value, std::vector<Value>>> Run(const std::vector<Value>& result_bars) {
    Seed(result_bars);
    for (auto inst = each_.body.rbegin(); inst != each_.body.rend(); ++inst)
      PB_RETURN_IF_ERROR(Visit(*inst));
    CollectOuterScalars();
    const std::vector<Value> made = b_.EndEach(std::move(results_));
    std::map<Value, std::vector<Value>> bars;
    for (size_t k = 0; k < made.size(); ++k) bars[targets_[k]].push_back(made[k]);
    return bars;
  }

 private:
  // A cotangent inside the body; it is 0 where `guard` (of the new body) is false.
  struct Bar {
    Value value;
    Value guard;
  };

  void Seed(const std::vector<Value>& result_bars) {
    for (size_t k = 0; k < result_bars.size(); ++k) {
      const ir::EachResult& r = each_.results[k];
      if (!result_bars[k].valid() || !around_.activity.Active(r.value)) continue;
      if (r.out.empty() && !r.guard.valid()) {
        Accumulate(r.value, result_bars[k], ir::kNoValue);
        continue;
      }
      const Value bar = body_.Under(r.guard, [&] {
        return r.out.empty() ? b_.Make(Op::Mul, {result_bars[k], b_.One(b_.TypeOf(result_bars[k]))})
                             : b_.Index(result_bars[k], body_.Get(r.out));
      });
      Accumulate(r.value, bar, body_.GetOrNone(r.guard));
    }
  }

  void Accumulate(Value v, Value bar, Value guard) {
    if (!bar.valid() || !around_.activity.Active(v)) return;
    const auto [it, fresh] = bars_.emplace(v, Bar{bar, guard});
    if (fresh) return;
    const bool same = it->second.guard == guard;
    const Value before = b_.guard();
    b_.SetGuard(same ? guard : ir::kNoValue);
    it->second = {b_.Make(Op::Add, {it->second.value, bar}), same ? guard : ir::kNoValue};
    b_.SetGuard(before);
  }

  Status Visit(const Inst& inst) {
    if (inst.results.size() == 1 && !bars_.count(inst.results[0])) return {};
    switch (inst.op) {
      case Op::Index: VisitRead(inst); return {};
      case Op::Select: VisitSelect(inst); return {};
      case Op::Cast: VisitCast(inst); return {};
      case Op::Call: return VisitCall(inst);
      default: VisitScalar(inst); return {};
    }
  }

  void VisitRead(const Inst& inst) {
    const Value array = inst.args[0];
    if (!around_.activity.Active(array)) return;
    ir::EachResult r;
    r.monoid = ir::Monoid::kSum;
    r.out = body_.Get(inst.subs);
    for (int axis = 0; axis < static_cast<int>(inst.subs.size()); ++axis)
      r.shape.push_back(around_.extent(array, axis));
    r.value = bars_.at(inst.results[0]).value;
    r.guard = body_.GetOrNone(inst.guard);
    results_.push_back(std::move(r));
    targets_.push_back(array);
  }

  void VisitSelect(const Inst& inst) {
    const Value w = bars_.at(inst.results[0]).value;
    const Value guard = body_.GetOrNone(inst.guard);
    for (size_t k = 1; k <= 2; ++k) {
      if (!around_.activity.Active(inst.args[k])) continue;
      const Value bar = body_.Under(inst.guard, [&] {
        const Value cond = body_.Get(inst.args[0]);
        const Value zero = b_.Zero(b_.TypeOf(w));
        return b_.Make(Op::Select, {cond, k == 1 ? w : zero, k == 1 ? zero : w});
      });
      Accumulate(inst.args[k], bar, guard);
    }
  }

  void VisitCast(const Inst& inst) {
    if (!around_.activity.Active(inst.args[0])) return;
    const Value bar = body_.Under(inst.guard, [&] {
      return b_.Cast(bars_.at(inst.results[0]).value, around_.from.TypeOf(inst.args[0]).elem);
    });
    Accumulate(inst.args[0], bar, body_.GetOrNone(inst.guard));
  }

  void VisitScalar(const Inst& inst) {
    if (RuleOf(inst.op) != Rule::kPartials) return;
    const Value w = bars_.at(inst.results[0]).value;
    const std::function<Value(Value)> primal = [&](Value v) { return body_.Get(v); };
    for (size_t k = 0; k < inst.args.size(); ++k) {
      if (!around_.activity.Active(inst.args[k])) continue;
      const Value bar = body_.Under(inst.guard, [&] {
        return Times(b_, w, PartialOf({b_, inst, primal}, static_cast<int>(k)));
      });
      Accumulate(inst.args[k], bar, body_.GetOrNone(inst.guard));
    }
  }

  // Multidimensional duals inside the reverse pass (Revels et al. 2018): the callee's partials by its
  // active arguments come out of one call.
  Status VisitCall(const Inst& inst) {
    std::vector<bool> active;
    bool any = false;
    for (Value v : inst.args) active.push_back(around_.activity.Active(v));
    for (Value v : inst.results) any |= bars_.count(v) != 0;
    if (!any) return {};
    PB_ASSIGN_OR_RETURN(const uint32_t partials, around_.partials_of(inst.callee, active));
    const std::vector<Value> made = body_.Under(inst.guard, [&] {
      std::vector<Value> args;
      for (Value v : inst.args) args.push_back(body_.Get(v));
      return b_.Call(partials, std::move(args));
    });
    size_t next = inst.results.size();
    for (Value result : inst.results) {
      if (!around_.from.TypeOf(result).IsFloat()) continue;
      for (size_t k = 0; k < inst.args.size(); ++k) {
        if (!active[k]) continue;
        const Value partial = made[next++];
        if (!bars_.count(result)) continue;
        const Value w = bars_.at(result).value;
        const Value bar = body_.Under(inst.guard, [&] { return b_.Make(Op::SMul, {w, partial}); });
        Accumulate(inst.args[k], bar, body_.GetOrNone(inst.guard));
      }
    }
    return {};
  }

  // Scalars from outside that the body uses: their cotangents are sums over the whole space.
  void CollectOuterScalars() {
    for (const auto& [v, bar] : bars_) {
      if (body_.IsBody(v)) continue;
      results_.push_back({ir::Monoid::kSum, {}, {}, bar.value, bar.guard});
      targets_.push_back(v);
    }
  }

  ir::Builder& b_;
  const Surroundings& around_;
  const ir::Each& each_;
  BodyCopy body_;
  std::map<Value, Bar> bars_;
  std::vector<ir::EachResult> results_;
  std::vector<Value> targets_;
};

}  // namespace

Status Unimplemented(const std::string& what, uint32_t loc) {
  return {Code::kUnimplemented, "UNIMPLEMENTED", what + " !" + std::to_string(loc)};
}

StatusOr<std::map<Value, std::vector<Value>>> TransposeStatement(
    ir::Builder& b, const Surroundings& around, const ir::Inst& each,
    const std::vector<Value>& result_bars) {
  for (size_t k = 0; k < result_bars.size(); ++k) {
    const ir::EachResult& r = each.each->results[k];
    if (!result_bars[k].valid() || !around.activity.Active(r.value)) continue;
    if (r.monoid == ir::Monoid::kGen || r.monoid == ir::Monoid::kSum) continue;
    return Unimplemented(std::string("the derivative of ") + ir::MonoidName(r.monoid) +
                             " over an index is not implemented yet",
                         each.loc);
  }
  b.SetLoc(each.loc);
  return Transposer(b, around, each).Run(result_bars);
}

}  // namespace pullback::ad
