#include "core/lang/lower_neighbours.h"

#include "core/lang/lower_expr.h"
#include "core/lang/lower_keys.h"
#include "core/lang/lower_relation.h"
#include "core/lang/lower_sizes.h"
#include "core/lang/lower_stmt.h"

namespace pullback::lang {
namespace {

// A function of the module, which gives `points`, `count` and `other` of Neighbours. Of `places` places of
// the tuples from `first` on, those whose other indices are the keys, and whose point is in range:
//   (first, places, shift, extent, coordinate[, order], (coordinate, key) of each other axis)
// where the point of a tuple is sign * coordinate + shift. Of one that is gathered the coordinates are by place.
class NeighboursFunction {
 public:
  struct Form {
    bool ordered, gathered;
    int64_t sign;
    size_t others;
  };
  NeighboursFunction(ModuleContext& m, uint32_t id, Form form) : c_(m, id), form_(form) {}
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
  Form form_;
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
  if (form_.ordered) order_ = ArrayParam("order");
  for (size_t i = 0; i < form_.others; ++i) {
    const Value coordinate = ArrayParam("other");
    keys_.emplace_back(coordinate, Param("key"));
  }
}

// Whether the k-th place has a point, and which. Points ascend with k: places of equal other indices are in
// the order of the index.
std::pair<Value, Value> NeighboursFunction::PointAt(Value k) {
  Affine place = Affine::Of(first_) + Affine::Of(k);
  if (form_.sign < 0) {
    place = Affine::Of(first_) + Affine::Of(places_) - Affine::Const(1) - Affine::Of(k);
  }
  Affine tuple = place;
  if (form_.ordered) tuple = Affine::Of(c_.b.Index(order_, {place}));
  const Value there = c_.b.Index(coordinate_, {form_.gathered ? place : tuple});
  const Value point = c_.b.AffineOf(Affine::Of(there) * form_.sign + Affine::Of(shift_));
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

uint32_t FunctionFor(ModuleContext& m, NeighboursFunction::Form form) {
  const std::vector<size_t> key = {form.ordered, form.gathered, form.sign > 0, form.others};
  const auto [at, added] = m.neighbours.try_emplace(key, 0);
  if (added) {
    at->second = m.module.AddFunction("neighbours");
    NeighboursFunction(m, at->second, form).Write();
  }
  return at->second;
}

// --- one teller: the function that gives its points, called with these

struct Row {
  uint32_t function;
  std::vector<Value> args;
  std::vector<Value> open;  // points beside these, as of Gathered
};

// The arguments of the call as forms over values of the block. Where one would trap, the row is not `good`.
std::vector<Affine> FormsOf(Context& c, const Expr& call, const Teller& teller, Value& good) {
  std::vector<Affine> forms;
  for (size_t i = 1; i < call.operands.size(); ++i) {
    if (i - 1 == teller.axis && teller.sign == 0) {
      forms.emplace_back();
      continue;
    }
    const CheckedKey key = LowerCheckedKey(c, *call.operands[i]);
    forms.push_back(key.form);
    if (!key.good.valid()) continue;
    good = good.valid() ? c.b.Make(Op::And, {good, key.good}) : key.good;
  }
  return forms;
}

Row RowOf(Context& c, const Teller& teller, Value point, const Range& range, Value& good) {
  const Expr& call = *teller.related[0];
  const Tuples t = *TuplesOf(c, call);
  c.SetLoc(call.ordinal);
  const std::vector<Affine> forms = FormsOf(c, call, teller, good);
  const auto found = c.gathered.find(&call);
  const Gathered* gathered = teller.sign == 0 ? &found->second : nullptr;
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
  const Value places = gathered ? gathered->points : t.Coordinate(0);
  std::vector<Value> args = {c.b.I64(0), c.ToValue(c.DimsOf(places)[0])};
  if (fixed) {
    const Value starts = gathered ? gathered->starts : t.Start(*fixed);
    const auto [begin, end] = TuplesWith(c, starts, forms[*fixed]);
    args = {begin, c.b.Make(Op::Sub, {end, begin})};
  }
  const int64_t sign = gathered ? 1 : teller.sign;
  Affine shift = Affine::Const(0);  // the binder counts from the range's low end
  if (!gathered) shift = forms[teller.axis].Substitute(point, Affine::Const(0)) * -sign - range.lo;
  args.push_back(c.ToValue(shift));
  args.push_back(c.ToValue(range.hi - range.lo));
  args.push_back(gathered ? gathered->points : t.Coordinate(teller.axis));
  const bool ordered = gathered ? !keys.empty() : fixed && *fixed > 0;
  if (ordered) args.push_back(gathered ? gathered->tuples : t.Order(*fixed));
  args.insert(args.end(), keys.begin(), keys.end());
  return {FunctionFor(c.module, {ordered, gathered != nullptr, sign, keys.size() / 2}), args,
          gathered ? gathered->open : std::vector<Value>()};
}

// What all tellers tell.
struct Rows {
  std::vector<Row> rows;
  std::vector<Value> single;              // one point each
  std::vector<std::vector<Value>> where;  // those of conditions
  Value good;                             // no argument would have trapped (kNoValue: none can)
  bool IsOne() const { return rows.size() == 1 && single.empty() && where.empty(); }
};

// The points of all rows: what NeighboursFunction gives.
std::vector<Value> CallRows(Context& c, const Rows& all, Value extent) {
  std::vector<Value> made;
  const auto add = [&](std::vector<Value> more) {
    made = made.empty() ? std::move(more) : MergePoints(c, made, more, extent);
  };
  for (const Row& row : all.rows) {
    add(c.b.Call(row.function, row.args));
    if (!row.open.empty()) add(row.open);
  }
  for (Value point : all.single) add(OnePoint(c, point, extent));
  for (const std::vector<Value>& points : all.where) add(points);
  return made;
}

// The same, or all points where the rows are not good.
std::vector<Value> CallGoodRows(Context& c, const Rows& all, Value extent) {
  if (!all.good.valid()) return CallRows(c, all, extent);
  const uint32_t yes = c.b.NewBlock();
  const uint32_t no = c.b.NewBlock();
  c.b.Branch(all.good, {yes, {}}, {no, {}});
  std::vector<Exit> exits;
  const auto leave = [&](const std::vector<Value>& made) {
    c.ReadDims(made[0]);
    Leaves leaves;
    for (Value v : made) leaves.push_back({v, nullptr});
    exits.push_back({c.b.block(), {leaves}});
  };
  c.b.SetBlock(yes);
  leave(CallRows(c, all, extent));
  c.b.SetBlock(no);
  leave(AllPoints(c, extent));
  std::vector<Value> made;
  for (const Leaf& leaf : JoinValues(c, exits)) made.push_back(leaf.value);
  return made;
}

}  // namespace

std::optional<Neighbours> NeighboursOf(Context& c, const Expr& e, size_t binder,
                                       const Range& range) {
  const std::vector<Teller> tellers = FindTellers(c, e, binder);
  if (tellers.empty()) return std::nullopt;
  const Value point = c.function.NewValue(ir::Type::I64());
  c.at->locals[e.binders[binder].local] = {{point, nullptr}};
  Rows all;
  for (const Teller& t : tellers) {
    if (IsRelated(*t.related[0])) {
      all.rows.push_back(RowOf(c, t, point, range, all.good));
    } else if (t.sign == 0) {
      all.where.push_back(c.gathered.at(t.related[0]).open);
    } else {
      const Affine at = *LowerInt(c, *t.related[0]->operands[1 - t.axis]);
      all.single.push_back(c.ToValue(at - range.lo));
    }
  }
  const Value extent = c.ToValue(range.hi - range.lo);
  const std::vector<Value> made = CallGoodRows(c, all, extent);
  c.ReadDims(made[0]);
  c.sizes.insert(made[1].id);
  c.small.insert(made[1].id);
  // With one relation, the place says whether the point is related.
  const bool told = all.IsOne() && !all.good.valid() && all.rows[0].open.empty();
  return Neighbours{made[0], made[1], made[2],
                    told ? tellers[0].related : std::vector<const Expr*>()};
}

void Tell(Context& c, const Neighbours& n, Value place) {
  const Value is = c.b.Make(Op::Ne, {place, n.other});
  for (const Expr* call : n.related) c.replaced[call] = is;
}

void Untell(Context& c, const Neighbours& n) {
  for (const Expr* call : n.related) c.replaced.erase(call);
}

}  // namespace pullback::lang
