#include <optional>
#include <tuple>

#include "core/ad/body.h"
#include "core/ad/partials.h"
#include "core/ad/reductions.h"
#include "core/ad/statement.h"

namespace pullback::ad {
namespace {

using ir::Inst;
using ir::Op;
using ir::Value;

// A float as one of the other's type: partials of a call have the result's.
Value InTypeOf(ir::Builder& b, Value v, Value like) {
  const DType elem = b.TypeOf(like).elem;
  return b.TypeOf(v).elem == elem ? v : b.Cast(v, elem);
}

// The results alone.
std::vector<Value> CopyStatement(ir::Builder& b, const Surroundings& around, const ir::Each& each) {
  BodyCopy body(b, around, each);
  std::vector<ir::EachResult> results(each.results.begin(), each.results.end());
  for (ir::EachResult& r : results) {
    r.out = body.Get(r.out);
    for (Value& v : r.shape) v = body.Get(v);
    r.value = body.Get(r.value);
    r.guard = body.GetOrNone(r.guard);
    r.second = body.GetOrNone(r.second);
  }
  return b.EndEach(std::move(results));
}

// The body with tangents: every active value gets `width` of them, kNoValue where one is zero.
class StatementPusher {
 public:
  // `extras`: by result, what its tangent needs. `primal`: the results themselves where they have been
  // made; empty: they are made here.
  StatementPusher(ir::Builder& b, const Surroundings& around, const Inst& inst, int width,
                  const std::function<Value(Value, int)>& tangent,
                  std::vector<TermPartial> partials, std::vector<Value> primal)
      : b_(b),
        around_(around),
        each_(*inst.each),
        loc_(inst.loc),
        body_(b, around, *inst.each),
        width_(static_cast<size_t>(width)),
        outer_(tangent),
        partials_(std::move(partials)),
        primal_(std::move(primal)) {}

  StatusOr<TangentStatement> Run() {
    for (const Inst& inst : each_.body) {
      b_.SetLoc(inst.loc != 0 ? inst.loc : loc_);  // the tangent's reads trap where the primal's do
      PB_RETURN_IF_ERROR(Visit(inst));
    }
    b_.SetLoc(loc_);
    std::vector<ir::EachResult> results;
    if (primal_.empty()) {
      for (const ir::EachResult& r : each_.results) results.push_back(Copy(r));
    }
    const size_t first = results.size();
    struct Place {
      size_t result, direction;
    };
    std::vector<Place> places;
    for (size_t k = 0; k < each_.results.size(); ++k) {
      for (size_t d = 0; d < width_; ++d) {
        std::optional<ir::EachResult> dot = DotOf(k, d);
        if (!dot) continue;
        results.push_back(std::move(*dot));
        places.push_back({k, d});
      }
    }
    if (results.empty()) results.push_back(Copy(each_.results[0]));  // nothing varies; unused
    const std::vector<Value> made = b_.EndEach(std::move(results));
    TangentStatement out;
    out.primal = primal_;
    if (primal_.empty()) out.primal.assign(made.begin(), made.begin() + static_cast<long>(first));
    out.dots.assign(each_.results.size(), std::vector<Value>(width_));
    for (size_t k = 0; k < places.size(); ++k)
      out.dots[places[k].result][places[k].direction] = made[first + k];
    return out;
  }

  ir::EachResult Copy(const ir::EachResult& r) {
    ir::EachResult out = r;
    out.out = body_.Get(r.out);
    for (Value& v : out.shape) v = body_.Get(v);
    out.value = body_.Get(r.value);
    out.guard = body_.GetOrNone(r.guard);
    out.second = body_.GetOrNone(r.second);
    return out;
  }

 private:
  // The d-th tangent of result k, if it is not zero.
  std::optional<ir::EachResult> DotOf(size_t k, size_t d) {
    const ir::EachResult& r = each_.results[k];
    if (ir::IsArg(r.monoid)) return std::nullopt;
    if (ir::IsScan(r.monoid)) return DotOfScan(k, d);
    const Value dot = Dots(r.value)[d];
    if (!dot.valid()) return std::nullopt;
    ir::EachResult out = Copy(r);
    out.value = dot;
    if (r.monoid == ir::Monoid::kGen || r.monoid == ir::Monoid::kSum) return out;
    out.monoid = ir::Monoid::kSum;
    out.value = body_.Under(
        r.guard, [&] { return ShareOfTerm(b_, body_, around_, each_, r, partials_[k], dot); });
    return out;
  }

  // state_dot := state_dot * value + (state * value_dot + second_dot); of scan_max and scan_min, the term's
  // where it replaces the state
  std::optional<ir::EachResult> DotOfScan(size_t k, size_t d) {
    const ir::EachResult& r = each_.results[k];
    const Value dot = Dots(r.value)[d];
    Value added = r.second.valid() ? Dots(r.second)[d] : Value{};
    if (!dot.valid() && !added.valid()) return std::nullopt;
    ir::EachResult out = Copy(r);
    if (r.monoid == ir::Monoid::kScanSum) {
      out.value = dot;
      return out;
    }
    if (r.monoid == ir::Monoid::kScanMax || r.monoid == ir::Monoid::kScanMin) {
      out.monoid = ir::Monoid::kScanLinear;
      std::tie(out.value, out.second) = body_.Under(r.guard, [&] {
        const Value replaces = Replaces(b_, body_, r, primal_[k]);
        const Value zero = b_.Zero(b_.TypeOf(dot)), one = b_.One(b_.TypeOf(dot));
        return std::pair(b_.Make(Op::Select, {replaces, zero, one}),
                         b_.Make(Op::Select, {replaces, dot, zero}));
      });
      return out;
    }
    if (dot.valid()) {
      added = body_.Under(r.guard, [&] {
        const Value term = b_.Make(Op::SMul, {dot, AtOut(b_, body_, r, primal_[k])});
        return added.valid() ? b_.Make(Op::Add, {term, added}) : term;
      });
    }
    out.monoid = ir::Monoid::kScanLinear;
    out.second = added;
    return out;
  }

  std::vector<Value> Dots(Value v) {
    if (const auto it = dots_.find(v); it != dots_.end()) return it->second;
    std::vector<Value> dots(width_);
    if (!body_.IsBody(v) && around_.activity.Active(v)) {
      for (size_t d = 0; d < width_; ++d) dots[d] = outer_(v, static_cast<int>(d));
    }
    return dots;
  }

  Status Visit(const Inst& inst) {
    bool active = false;
    for (Value v : inst.results) active |= around_.activity.Active(v);
    if (!active) return {};
    if (inst.op == Op::Call) return VisitCall(inst);
    std::vector<Value> dots(width_);
    const auto primal = [this](Value v) { return body_.Get(v); };
    const std::function<Value(Value)> get = primal;
    for (size_t d = 0; d < width_; ++d) {
      dots[d] = body_.Under(inst.guard, [&] { return Dot(inst, d, get); });
      if (IsUnguarded(inst, d, dots[d])) {
        const Value zero = b_.Zero(b_.TypeOf(dots[d]));
        dots[d] = b_.Make(Op::Select, {body_.Get(inst.guard), dots[d], zero});
      }
    }
    dots_[inst.results[0]] = dots;
    guards_[inst.results[0]] = inst.guard;
    return {};
  }

  // Where a guard is false its instruction gives 0, and so does its tangent, unless that is an operand's
  // itself (of x + 1) and the operand has no such guard.
  bool IsUnguarded(const Inst& inst, size_t d, Value dot) {
    if (inst.guard == ir::kNoValue || !dot.valid()) return false;
    for (Value v : inst.args) {
      const auto guard = guards_.find(v);
      if (guard != guards_.end() && guard->second == inst.guard) continue;
      if (Dots(v)[d] == dot) return true;
    }
    return false;
  }

  Value Dot(const Inst& inst, size_t d, const std::function<Value(Value)>& get) {
    switch (inst.op) {
      case Op::Index: {
        const Value array = outer_(inst.args[0], static_cast<int>(d));
        return array.valid() ? b_.Index(array, body_.Get(inst.subs)) : array;
      }
      case Op::Select: {
        Value x = Dots(inst.args[1])[d], y = Dots(inst.args[2])[d];
        if (!x.valid() && !y.valid()) return {};
        const ir::Type t = around_.from.TypeOf(inst.results[0]);
        if (!x.valid()) x = b_.Zero(t);
        if (!y.valid()) y = b_.Zero(t);
        return b_.Make(Op::Select, {body_.Get(inst.args[0]), x, y});
      }
      case Op::Cast: {
        const Value x = Dots(inst.args[0])[d];
        return x.valid() ? b_.Cast(x, around_.from.TypeOf(inst.results[0]).elem) : x;
      }
      default: break;
    }
    Value sum;
    if (RuleOf(inst.op) != Rule::kPartials) return sum;
    for (size_t k = 0; k < inst.args.size(); ++k) {
      const Value x = Dots(inst.args[k])[d];
      if (!x.valid()) continue;
      const Value term = Times(b_, x, PartialOf({b_, inst, get}, static_cast<int>(k)));
      if (term.valid()) sum = sum.valid() ? b_.Make(Op::Add, {sum, term}) : term;
    }
    return sum;
  }

  Status VisitCall(const Inst& inst) {
    std::vector<bool> active;
    for (Value v : inst.args) active.push_back(around_.activity.Active(v));
    const uint32_t rule = b_.module().Get(inst.callee).jvp_rule;
    if (rule != ir::kNoFunction) {
      VisitRule(inst, rule);
      return {};
    }
    PB_ASSIGN_OR_RETURN(const uint32_t partials, around_.partials_of(inst.callee, active));
    const std::vector<Value> made = body_.Under(inst.guard, [&] {
      std::vector<Value> args;
      for (Value v : inst.args) args.push_back(body_.Get(v));
      return b_.Call(partials, args);
    });
    size_t next = inst.results.size();
    for (size_t r = 0; r < inst.results.size(); ++r) {
      body_.Set(inst.results[r], made[r]);
      if (!around_.from.TypeOf(inst.results[r]).IsFloat()) continue;
      std::vector<Value> dots(width_);
      for (size_t k = 0; k < inst.args.size(); ++k) {
        if (!active[k]) continue;
        const Value partial = made[next++];
        const std::vector<Value> arg = Dots(inst.args[k]);
        for (size_t d = 0; d < width_; ++d) {
          if (!arg[d].valid()) continue;
          dots[d] = body_.Under(inst.guard, [&] {
            const Value term = b_.Make(Op::SMul, {InTypeOf(b_, arg[d], partial), partial});
            return dots[d].valid() ? b_.Make(Op::Add, {dots[d], term}) : term;
          });
        }
      }
      dots_[inst.results[r]] = dots;
    }
    return {};
  }

  // A rule takes the tangents themselves: it need not be linear in them.
  void VisitRule(const Inst& inst, uint32_t rule) {
    for (size_t d = 0; d < width_; ++d) {
      const std::vector<Value> made = body_.Under(inst.guard, [&] {
        std::vector<Value> args;
        for (Value v : inst.args) args.push_back(body_.Get(v));
        for (Value v : inst.args) {
          const ir::Type t = around_.from.TypeOf(v);
          if (!t.IsFloat()) continue;
          const Value dot = Dots(v)[d];
          args.push_back(dot.valid() ? dot : b_.Zero(t));
        }
        return b_.Call(rule, args);
      });
      size_t next = inst.results.size();
      for (size_t r = 0; r < inst.results.size(); ++r) {
        if (d == 0) body_.Set(inst.results[r], made[r]);
        if (!around_.from.TypeOf(inst.results[r]).IsFloat()) continue;
        std::vector<Value>& dots = dots_[inst.results[r]];
        dots.resize(width_);
        dots[d] = made[next++];
      }
    }
  }

  ir::Builder& b_;
  const Surroundings& around_;
  const ir::Each& each_;
  const uint32_t loc_;
  BodyCopy body_;
  size_t width_;
  const std::function<Value(Value, int)>& outer_;
  std::vector<TermPartial> partials_;
  std::vector<Value> primal_;
  std::map<Value, std::vector<Value>> dots_;
  std::map<Value, Value> guards_;  // of instructions of the body with tangents
};

}  // namespace

StatusOr<TangentStatement> PushStatement(ir::Builder& b, const Surroundings& around,
                                         const Inst& each, int width,
                                         const std::function<Value(Value, int)>& tangent) {
  b.SetLoc(each.loc);
  const ir::Each& statement = *each.each;
  std::vector<TermPartial> partials(statement.results.size());
  bool scans = false;
  for (size_t k = 0; k < partials.size(); ++k) {
    const ir::EachResult& r = statement.results[k];
    const bool active =
        around.activity.Active(r.value) || (r.second.valid() && around.activity.Active(r.second));
    if (!active) continue;
    scans |= ir::IsScan(r.monoid);
    partials[k] = MakeTermPartial(b, around, statement, r);
  }
  // The tangent of a scan reads the scan.
  std::vector<Value> primal;
  if (scans) primal = CopyStatement(b, around, statement);
  return StatementPusher(b, around, each, width, tangent, std::move(partials), std::move(primal))
      .Run();
}

}  // namespace pullback::ad
