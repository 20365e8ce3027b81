#include "core/lang/lower_neighbours.h"

#include "core/lang/lower_expr.h"
#include "core/lang/lower_relation.h"
#include "core/lang/lower_sizes.h"

namespace pullback::lang {
namespace {

// A function of the module, which gives `points`, `count` and `other` of Neighbours. Of `places` places of
// the tuples from `first` on, those whose other indices are the keys, and whose point is in range:
//   (first, places, shift, extent, coordinate[, order], (coordinate, key) of each other axis)
// where the point of a tuple is sign * coordinate + shift.
class NeighboursFunction {
 public:
  NeighboursFunction(ModuleContext& m, uint32_t id, bool ordered, int64_t sign, size_t others)
      : c_(m, id), ordered_(ordered), sign_(sign), others_(others) {}
  void Write();

 private:
  Value Param(const char* name) { return c_.b.AddParam(0, ir::Type::I64(), name); }
  Value ArrayParam(const char* name);
  void AddParams();
  std::pair<Value, Value> PointAt(Value k);
  void Count();
  void Fill();
  // Runs `body` once where the condition holds.
  void If(Value condition, std::vector<Value>& state, const std::function<void()>& body);

  Context c_;
  bool ordered_;
  int64_t sign_;
  size_t others_;
  Value first_, places_, shift_, extent_, coordinate_, order_;
  std::vector<std::pair<Value, Value>> keys_;
  Value count_, other_;
  Value points_;
};

Value NeighboursFunction::ArrayParam(const char* name) {
  const Value v = c_.b.AddParam(0, ir::Type::Array(DType::kI64, 1), name);
  c_.ReadDims(v);
  return v;
}

void NeighboursFunction::AddParams() {
  first_ = Param("first");
  places_ = Param("places");
  shift_ = Param("shift");
  extent_ = Param("extent");
  coordinate_ = ArrayParam("coordinate");
  if (ordered_) order_ = ArrayParam("order");
  for (size_t i = 0; i < others_; ++i) {
    const Value coordinate = ArrayParam("other");
    keys_.emplace_back(coordinate, Param("key"));
  }
}

// Whether the k-th place has a point, and which. Points ascend with k: places of equal other indices are in
// the order of the index.
std::pair<Value, Value> NeighboursFunction::PointAt(Value k) {
  Affine tuple = Affine::Of(first_) + Affine::Of(k);
  if (sign_ < 0) {
    tuple = Affine::Of(first_) + Affine::Of(places_) - Affine::Const(1) - Affine::Of(k);
  }
  if (ordered_) tuple = Affine::Of(c_.b.Index(order_, {tuple}));
  const Value there = c_.b.Index(coordinate_, {tuple});
  const Value point = c_.b.AffineOf(Affine::Of(there) * sign_ + Affine::Of(shift_));
  Value fits = c_.b.Make(
      Op::And, {c_.b.Make(Op::Ge, {point, c_.b.I64(0)}), c_.b.Make(Op::Lt, {point, extent_})});
  for (const auto& [coordinate, key] : keys_) {
    const Value same = c_.b.Make(Op::Eq, {c_.b.Index(coordinate, {tuple}), key});
    fits = c_.b.Make(Op::And, {fits, same});
  }
  return {fits, point};
}

// `state`: how many fit, the point after the last of them, and the first gap. In front of that, points are
// places.
void NeighboursFunction::Count() {
  std::vector<Value> state = {c_.b.I64(0), c_.b.I64(0), c_.b.I64(-1)};
  const Range all{Affine::Const(0), Affine::Of(places_)};
  const auto gap_before = [&](Value point) {
    const Value none_yet = c_.b.Make(Op::Lt, {state[2], c_.b.I64(0)});
    return c_.b.Make(Op::And, {none_yet, c_.b.Make(Op::Lt, {state[1], point})});
  };
  CountedLoop(c_, all, "k", state, [&](Value k) {
    const auto [fits, point] = PointAt(k);
    const Value gap = c_.b.Make(Op::And, {fits, gap_before(point)});
    const Value next = c_.b.Make(Op::Add, {point, c_.b.I64(1)});
    state = {c_.b.Make(Op::Add, {state[0], c_.b.Cast(fits, DType::kI64)}),
             c_.b.Make(Op::Select, {fits, next, state[1]}),
             c_.b.Make(Op::Select, {gap, state[1], state[2]})};
  });
  other_ = c_.b.Make(Op::Select, {gap_before(extent_), state[1], state[2]});
  const Value one = c_.b.Cast(c_.b.Make(Op::Ge, {other_, c_.b.I64(0)}), DType::kI64);
  count_ = c_.b.Make(Op::Add, {state[0], one});
}

void NeighboursFunction::If(Value condition, std::vector<Value>& state,
                            const std::function<void()>& body) {
  const Value times = c_.b.Cast(condition, DType::kI64);
  CountedLoop(c_, {Affine::Const(0), Affine::Of(times)}, "", state, [&](Value) { body(); });
}

void NeighboursFunction::Fill() {
  const Value is_one = c_.b.Make(Op::Ge, {other_, c_.b.I64(0)});
  const Value behind = c_.b.Make(Op::Select, {is_one, other_, count_});
  std::vector<Value> state = {c_.b.Zeros(DType::kI64, {c_.b.Make(Op::Add, {count_, c_.b.I64(1)})}),
                              c_.b.I64(0)};
  c_.ReadDims(state[0]);
  If(is_one, state, [&] { state[0] = c_.b.Update(state[0], {Affine::Of(other_)}, other_); });
  CountedLoop(c_, {Affine::Const(0), Affine::Of(places_)}, "k", state, [&](Value k) {
    const auto [fits, point] = PointAt(k);
    If(fits, state, [&, point = point] {
      const Value later = c_.b.Cast(c_.b.Make(Op::Ge, {state[1], behind}), DType::kI64);
      const Subs place = {Affine::Of(state[1]) + Affine::Of(later)};
      state = {c_.b.Update(state[0], place, point), c_.b.Make(Op::Add, {state[1], c_.b.I64(1)})};
    });
  });
  points_ = state[0];
}

void NeighboursFunction::Write() {
  c_.function.results = {ir::Type::Array(DType::kI64, 1), ir::Type::I64(), ir::Type::I64()};
  c_.b.SetBlock(c_.b.NewBlock());
  AddParams();
  Count();
  Fill();
  c_.b.Return({points_, count_, other_});
}

uint32_t FunctionFor(ModuleContext& m, bool ordered, int64_t sign, size_t others) {
  const auto [at, added] = m.neighbours.try_emplace({ordered, sign > 0, others}, 0);
  if (added) {
    at->second = m.module.AddFunction("neighbours");
    NeighboursFunction(m, at->second, ordered, sign, others).Write();
  }
  return at->second;
}

}  // namespace

std::optional<Neighbours> NeighboursOf(Context& c, const Expr& e, size_t binder,
                                       const Range& range) {
  PB_TRY(const Teller teller, FindTeller(c, e, binder));
  const Expr& call = *teller.related[0];
  const Tuples t = *TuplesOf(c, call);
  c.SetLoc(call.ordinal);
  // The binder counts from the range's low end.
  const Value point = c.function.NewValue(ir::Type::I64());
  c.at->locals[e.binders[binder].local] = {{point, nullptr}};
  std::vector<Affine> forms;
  for (size_t i = 1; i < call.operands.size(); ++i)
    forms.push_back(*LowerInt(c, *call.operands[i]));
  const Affine rest = forms[teller.axis].Substitute(point, Affine::Const(0));
  const Affine shift = rest * -teller.sign - range.lo;
  std::optional<size_t> fixed;
  std::vector<Value> keys;
  for (size_t axis = 0; axis < forms.size(); ++axis) {
    if (axis == teller.axis) continue;
    if (fixed) {
      keys.push_back(t.Coordinate(axis));
      keys.push_back(c.ToValue(forms[axis]));
    } else {
      fixed = axis;
    }
  }
  std::vector<Value> args = {c.b.I64(0), c.ToValue(c.DimsOf(t.Coordinate(0))[0])};
  if (fixed) {
    const auto [begin, end] = TuplesWith(c, t.Start(*fixed), forms[*fixed]);
    args = {begin, c.b.Make(Op::Sub, {end, begin})};
  }
  const bool ordered = fixed && *fixed > 0;
  args.push_back(c.ToValue(shift));
  args.push_back(c.ToValue(range.hi - range.lo));
  args.push_back(t.Coordinate(teller.axis));
  if (ordered) args.push_back(t.Order(*fixed));
  args.insert(args.end(), keys.begin(), keys.end());
  const uint32_t function = FunctionFor(c.module, ordered, teller.sign, keys.size() / 2);
  const std::vector<Value> made = c.b.Call(function, args);
  c.ReadDims(made[0]);
  c.sizes.insert(made[1].id);
  c.small.insert(made[1].id);
  return Neighbours{made[0], made[1], made[2], teller.related};
}

void Tell(Context& c, const Neighbours& n, Value place) {
  const Value is = c.b.Make(Op::Ne, {place, n.other});
  for (const Expr* call : n.related) c.replaced[call] = is;
}

void Untell(Context& c, const Neighbours& n) {
  for (const Expr* call : n.related) c.replaced.erase(call);
}

}  // namespace pullback::lang
