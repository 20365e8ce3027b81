#include "core/ad/body.h"
#include "core/ad/partials.h"
#include "core/ad/statement.h"

namespace pullback::ad {
namespace {

using ir::Inst;
using ir::Op;
using ir::Value;

// The body with tangents: every active value gets `width` of them, kNoValue where one is zero.
class Pusher {
 public:
  Pusher(ir::Builder& b, const Surroundings& around, const Inst& inst, int width,
         const std::function<Value(Value, int)>& tangent)
      : b_(b),
        around_(around),
        each_(*inst.each),
        body_(b, around, *inst.each),
        width_(static_cast<size_t>(width)),
        outer_(tangent) {}

  StatusOr<TangentStatement> Run() {
    for (const Inst& inst : each_.body) PB_RETURN_IF_ERROR(Visit(inst));
    std::vector<ir::EachResult> results;
    for (const ir::EachResult& r : each_.results) results.push_back(Copy(r, body_.Get(r.value)));
    struct Place {
      size_t result, direction;
    };
    std::vector<Place> places;
    for (size_t k = 0; k < each_.results.size(); ++k) {
      const std::vector<Value> dots = Dots(each_.results[k].value);
      for (size_t d = 0; d < width_; ++d) {
        if (!dots[d].valid()) continue;
        results.push_back(Copy(each_.results[k], dots[d]));
        places.push_back({k, d});
      }
    }
    const std::vector<Value> made = b_.EndEach(std::move(results));
    const size_t n = each_.results.size();
    TangentStatement out;
    out.primal.assign(made.begin(), made.begin() + static_cast<long>(n));
    out.dots.assign(n, std::vector<Value>(width_));
    for (size_t k = 0; k < places.size(); ++k)
      out.dots[places[k].result][places[k].direction] = made[n + k];
    return out;
  }

 private:
  ir::EachResult Copy(const ir::EachResult& r, Value value) {
    ir::EachResult out{r.monoid, body_.Get(r.out), {}, value, body_.GetOrNone(r.guard)};
    for (Value v : r.shape) out.shape.push_back(body_.Get(v));
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
    for (size_t d = 0; d < width_; ++d)
      dots[d] = body_.Under(inst.guard, [&] { return Dot(inst, d, get); });
    dots_[inst.results[0]] = dots;
    return {};
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
    PB_ASSIGN_OR_RETURN(const uint32_t partials, around_.partials_of(inst.callee, active));
    const std::vector<Value> made = body_.Under(inst.guard, [&] {
      std::vector<Value> args;
      for (Value v : inst.args) args.push_back(body_.Get(v));
      return b_.Call(partials, std::move(args));
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
            const Value term = b_.Make(Op::SMul, {arg[d], partial});
            return dots[d].valid() ? b_.Make(Op::Add, {dots[d], term}) : term;
          });
        }
      }
      dots_[inst.results[r]] = dots;
    }
    return {};
  }

  ir::Builder& b_;
  const Surroundings& around_;
  const ir::Each& each_;
  BodyCopy body_;
  size_t width_;
  const std::function<Value(Value, int)>& outer_;
  std::map<Value, std::vector<Value>> dots_;
};

}  // namespace

StatusOr<TangentStatement> PushStatement(ir::Builder& b, const Surroundings& around,
                                         const Inst& each, int width,
                                         const std::function<Value(Value, int)>& tangent) {
  for (const ir::EachResult& r : each.each->results) {
    if (r.monoid == ir::Monoid::kGen || r.monoid == ir::Monoid::kSum) continue;
    if (!around.activity.Active(r.value)) continue;
    return Unimplemented(std::string("the derivative of ") + ir::MonoidName(r.monoid) +
                             " over an index is not implemented yet",
                         each.loc);
  }
  b.SetLoc(each.loc);
  return Pusher(b, around, each, width, tangent).Run();
}

}  // namespace pullback::ad
