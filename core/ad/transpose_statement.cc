#include <algorithm>

#include "core/ad/body.h"
#include "core/ad/partials.h"
#include "core/ad/reductions.h"
#include "core/ad/statement.h"

namespace pullback::ad {
namespace {

using ir::Inst;
using ir::Op;
using ir::Value;

// What a result's seed needs that statements of their own have computed.
struct Extra {
  TermPartial partial;
  Value state_bars;  // scans
};

class Transposer {
 public:
  Transposer(ir::Builder& b, const Surroundings& around, const Inst& inst,
             std::vector<Extra> extras)
      : b_(b),
        around_(around),
        inst_(inst),
        each_(*inst.each),
        extras_(std::move(extras)),
        body_(b, around, *inst.each) {
    body_.ReadBack(inst);
    body_.CopyCallsBy([this](const Inst& call) { return CopyWithPartials(call); });
  }

  StatusOr<std::map<Value, std::vector<Value>>> Run(const std::vector<Value>& result_bars) {
    Seed(result_bars);
    for (auto inst = each_.body.rbegin(); inst != each_.body.rend(); ++inst) {
      b_.SetLoc(inst->loc != 0 ? inst->loc : inst_.loc);
      PB_RETURN_IF_ERROR(Visit(*inst));
    }
    b_.SetLoc(inst_.loc);
    PB_RETURN_IF_ERROR(status_);
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
      if (!result_bars[k].valid()) continue;
      if (ir::IsScan(r.monoid)) {
        SeedScan(k);
      } else if (around_.activity.Active(r.value)) {
        SeedValue(k, result_bars[k]);
      }
    }
  }

  void SeedValue(size_t k, Value result_bar) {
    const ir::EachResult& r = each_.results[k];
    const bool linear = r.monoid == ir::Monoid::kGen || r.monoid == ir::Monoid::kSum;
    if (linear && r.out.empty() && !r.guard.valid())
      return Accumulate(r.value, result_bar, ir::kNoValue);
    const Value bar = body_.Under(r.guard, [&] {
      const Value w = AtOut(b_, body_, r, result_bar);
      if (linear) return w;
      return ShareOfTerm(b_, body_, around_, each_, r, extras_[k].partial, w);
    });
    Accumulate(r.value, bar, body_.GetOrNone(r.guard));
  }

  // The state after a point is `state * value + second`.
  void SeedScan(size_t k) {
    const ir::EachResult& r = each_.results[k];
    const Value guard = body_.GetOrNone(r.guard);
    const Value w =
        body_.Under(r.guard, [&] { return AtPoint(b_, body_, each_, extras_[k].state_bars); });
    if (r.second.valid()) Accumulate(r.second, w, guard);
    if (!around_.activity.Active(r.value)) return;
    if (r.monoid == ir::Monoid::kScanSum) return Accumulate(r.value, w, guard);
    const Value states = around_.primal(inst_.results[k]);
    const Value bar = body_.Under(r.guard, [&] {
      if (r.monoid == ir::Monoid::kScanMax || r.monoid == ir::Monoid::kScanMin) {
        const Value replaces = Replaces(b_, body_, r, states);
        return b_.Make(Op::Select, {replaces, w, b_.Zero(b_.TypeOf(w))});
      }
      return b_.Make(Op::SMul, {w, AtOut(b_, body_, r, states)});
    });
    Accumulate(r.value, bar, guard);
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
    r.loc = inst.loc;
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
        const Value product = Times(b_, w, PartialOf({b_, inst, primal}, static_cast<int>(k)));
        return product == w ? OnlyHere(inst, inst.args[k], w) : product;
      });
      Accumulate(inst.args[k], bar, body_.GetOrNone(inst.guard));
    }
  }

  // The cotangent of a guarded instruction, as that of an operand from outside of its guard: 0 where the
  // operand was not read. What is computed from it under the guard is so by itself.
  Value OnlyHere(const Inst& inst, Value operand, Value w) {
    const bool inside = body_.IsBody(operand) && body_.Def(operand).guard == inst.guard;
    const Value guard = body_.GetOrNone(inst.guard);
    if (!guard.valid() || inside || bars_.at(inst.results[0]).guard == guard) return w;
    return b_.Make(Op::Select, {guard, w, w});
  }

  // Multidimensional duals inside the reverse pass (Revels et al. 2018): the callee's partials by its
  // active arguments come out of one call, here or in the forward pass.
  Status VisitCall(const Inst& inst) {
    bool any = false;
    for (Value v : inst.results) any |= bars_.count(v) != 0;
    if (!any) return {};
    const uint32_t rule = b_.module().Get(inst.callee).vjp_rule;
    if (rule != ir::kNoFunction) {
      VisitRule(inst, rule);
      return {};
    }
    size_t number = 0;  // of the partial
    for (Value result : inst.results) {
      if (!around_.from.TypeOf(result).IsFloat()) continue;
      for (Value arg : inst.args) {
        if (!around_.activity.Active(arg)) continue;
        const size_t partial = number++;
        if (bars_.count(result)) PB_RETURN_IF_ERROR(PassOn(inst, result, arg, partial));
      }
    }
    return {};
  }

  // What the cotangent of a call's result adds to that of an argument.
  Status PassOn(const Inst& call, Value result, Value arg, size_t number) {
    PB_ASSIGN_OR_RETURN(const Value partial, Partial(call, number));
    const Value w = bars_.at(result).value;
    const Value bar = body_.Under(call.guard, [&] {
      const Value product = b_.Make(Op::SMul, {w, partial});
      const DType elem = around_.from.TypeOf(arg).elem;
      return b_.TypeOf(product).elem == elem ? product : b_.Cast(product, elem);
    });
    Accumulate(arg, bar, body_.GetOrNone(call.guard));
    return {};
  }

  StatusOr<Value> Partial(const Inst& call, size_t number) {
    if (around_.kept_partial) {
      PB_ASSIGN_OR_RETURN(const Value array, around_.kept_partial(call, number));
      if (array.valid()) return body_.AtPoint(array, call.guard);
    }
    PB_ASSIGN_OR_RETURN(const std::vector<Value> made, CallPartials(call));
    return made[call.results.size() + number];
  }

  // The call's results and partials, once.
  StatusOr<std::vector<Value>> CallPartials(const Inst& call) {
    if (const auto it = partials_.find(&call); it != partials_.end()) return it->second;
    std::vector<bool> active;
    for (Value v : call.args) active.push_back(around_.activity.Active(v));
    PB_ASSIGN_OR_RETURN(const uint32_t callee, around_.partials_of(call.callee, active));
    return partials_[&call] = body_.Under(call.guard, [&] {
      std::vector<Value> args;
      for (Value v : call.args) args.push_back(body_.Get(v));
      return b_.Call(callee, args);
    });
  }

  // A call whose value the reverse pass needs beside its partials is not run twice.
  bool CopyWithPartials(const Inst& call) {
    const auto active = [this](Value v) { return around_.activity.Active(v); };
    if (b_.module().Get(call.callee).vjp_rule != ir::kNoFunction ||
        std::none_of(call.args.begin(), call.args.end(), active) ||
        std::none_of(call.results.begin(), call.results.end(), active))
      return false;
    StatusOr<std::vector<Value>> made = CallPartials(call);
    if (!made.ok()) {
      status_ = made.status();
      return false;
    }
    for (size_t k = 0; k < call.results.size(); ++k) body_.Set(call.results[k], (*made)[k]);
    return true;
  }

  // A rule takes the cotangents themselves: it need not be linear in them.
  void VisitRule(const Inst& inst, uint32_t rule) {
    const std::vector<Value> made = body_.Under(inst.guard, [&] {
      std::vector<Value> args;
      for (Value v : inst.args) args.push_back(body_.Get(v));
      for (Value v : inst.results) {
        const ir::Type t = around_.from.TypeOf(v);
        if (!t.IsFloat()) continue;
        args.push_back(bars_.count(v) ? bars_.at(v).value : b_.Zero(t));
      }
      return b_.Call(rule, args);
    });
    size_t next = 0;
    for (Value v : inst.args) {
      if (around_.from.TypeOf(v).IsFloat())
        Accumulate(v, made[next++], body_.GetOrNone(inst.guard));
    }
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
  const Inst& inst_;
  const ir::Each& each_;
  std::vector<Extra> extras_;
  BodyCopy body_;
  std::map<Value, Bar> bars_;
  std::map<const Inst*, std::vector<Value>> partials_;  // by call
  Status status_;                                       // of copies of calls
  std::vector<ir::EachResult> results_;
  std::vector<Value> targets_;
};

}  // namespace

StatusOr<std::map<Value, std::vector<Value>>> TransposeStatement(
    ir::Builder& b, const Surroundings& around, const ir::Inst& each,
    const std::vector<Value>& result_bars) {
  b.SetLoc(each.loc);
  std::vector<Extra> extras(result_bars.size());
  for (size_t k = 0; k < result_bars.size(); ++k) {
    const ir::EachResult& r = each.each->results[k];
    if (!result_bars[k].valid()) continue;
    if (ir::IsScan(r.monoid)) {
      const bool reads = r.monoid == ir::Monoid::kScanMax || r.monoid == ir::Monoid::kScanMin;
      const Value states = reads ? around.primal(each.results[k]) : ir::kNoValue;
      extras[k].state_bars = MakeStateBars(b, around, *each.each, r, states, result_bars[k]);
    } else {
      extras[k].partial = MakeTermPartial(b, around, *each.each, r);
    }
  }
  return Transposer(b, around, each, std::move(extras)).Run(result_bars);
}

}  // namespace pullback::ad
