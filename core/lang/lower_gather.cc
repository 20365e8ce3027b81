// Reductions by neighbours where the binder is the key's: max j < n { [r(i, k[j])] * x[j] }.
#include <algorithm>

#include "core/lang/lower_expr.h"
#include "core/lang/lower_keys.h"
#include "core/lang/lower_neighbours.h"
#include "core/lang/lower_relation.h"
#include "core/lang/lower_sizes.h"
#include "core/lang/lower_source.h"
#include "core/lang/lower_walk.h"
#include "core/lang/walk.h"

namespace pullback::lang {
namespace {

using Locals = std::set<uint32_t>;

// A function of the module: pairs of a point and a tuple, points ascending, ordered by an index of the tuple:
//   (points, tuples, coordinate, size) -> (starts, tuples, points)
// A counting sort: starts[c + 1] is where the next pair with index c goes.
class GatherFunction {
 public:
  GatherFunction(ModuleContext& m, uint32_t id) : c_(m, id) {}
  void Write();

 private:
  Value ArrayParam(const char* name);
  Value IndexOf(Value pair);
  void Count();
  void Place();
  void Add(std::vector<Value>& state, const Affine& at, Value v);

  Context c_;
  Value points_, tuples_, coordinate_, size_, starts_;
  std::vector<Value> placed_;
};

Value GatherFunction::ArrayParam(const char* name) {
  const Value v = c_.b.AddParam(0, ir::Type::Array(DType::kI64, 1), name);
  c_.ReadDims(v);
  return v;
}

Value GatherFunction::IndexOf(Value pair) {
  const Value tuple = c_.b.Index(tuples_, {Affine::Of(pair)});
  return c_.b.Index(coordinate_, {Affine::Of(tuple)});
}

void GatherFunction::Add(std::vector<Value>& state, const Affine& at, Value v) {
  const Value sum = c_.b.Make(Op::Add, {c_.b.Index(state[0], {at}), v});
  state[0] = c_.b.Update(state[0], {at}, sum);
}

void GatherFunction::Count() {
  const Affine one = Affine::Const(1), two = Affine::Const(2);
  const Value room = c_.ToValue(Affine::Of(size_) + two);
  std::vector<Value> state = {c_.b.Zeros(DType::kI64, {room})};
  CountedLoop(c_, {Affine::Const(0), c_.DimsOf(points_)[0]}, "q", state,
              [&](Value q) { Add(state, Affine::Of(IndexOf(q)) + two, c_.b.I64(1)); });
  CountedLoop(c_, {Affine::Const(0), Affine::Of(size_) + one}, "i", state, [&](Value i) {
    Add(state, Affine::Of(i) + one, c_.b.Index(state[0], {Affine::Of(i)}));
  });
  starts_ = state[0];
}

void GatherFunction::Place() {
  const Value count = c_.ToValue(c_.DimsOf(points_)[0]);
  placed_ = {starts_, c_.b.Zeros(DType::kI64, {count}), c_.b.Zeros(DType::kI64, {count})};
  CountedLoop(c_, {Affine::Const(0), Affine::Of(count)}, "q", placed_, [&](Value q) {
    const Affine next = Affine::Of(IndexOf(q)) + Affine::Const(1);
    const Value place = c_.b.Index(placed_[0], {next});
    const Subs at = {Affine::Of(place)};
    Add(placed_, next, c_.b.I64(1));
    placed_[1] = c_.b.Update(placed_[1], at, c_.b.Index(tuples_, {Affine::Of(q)}));
    placed_[2] = c_.b.Update(placed_[2], at, c_.b.Index(points_, {Affine::Of(q)}));
  });
}

void GatherFunction::Write() {
  const ir::Type array = ir::Type::Array(DType::kI64, 1);
  c_.function.results = {array, array, array};
  c_.b.SetBlock(c_.b.NewBlock());
  points_ = ArrayParam("points");
  tuples_ = ArrayParam("tuples");
  coordinate_ = ArrayParam("coordinate");
  size_ = c_.b.AddParam(0, ir::Type::I64(), "size");
  Count();
  Place();
  c_.b.Return(placed_);
}

uint32_t FunctionFor(ModuleContext& m) {
  const auto [at, added] = m.neighbours.try_emplace(std::vector<size_t>(), 0);
  if (added) {
    at->second = m.module.AddFunction("gather");
    GatherFunction(m, at->second).Write();
  }
  return at->second;
}

// The argument for every point of the binder's range, kOpenKey where it would trap; of a condition, where it holds, too.
struct BinderKeys {
  Value keys;
  bool open;  // some may be kOpenKey
};
// nullopt: one cannot ask whether it traps.
std::optional<BinderKeys> KeysOfBinder(Context& c, const Binder& b, const Expr& argument) {
  const Affine lo = b.lo ? *LowerInt(c, *b.lo) : Affine::Const(0);
  const Affine extent = *LowerInt(c, *b.hi) - lo;
  const Affine size = IsNonNegative(c, extent) ? extent : NotNegative(c, extent);
  c.OpenFrame();
  Statement s;
  s.loc = c.b.loc();
  const Value i = AddIndex(c, s, size, true, b.name);
  c.at->locals[b.local] = {{c.ToValue(Affine::Of(i) + lo), nullptr}};
  const MaybeValue v = LowerScalar(c, argument);
  std::optional<KeyChain> chain = v ? ChainOf(c, *v, /*guarded=*/true) : std::nullopt;
  if (!chain) return std::nullopt;
  const bool condition = argument.type == Type::Scalar(DType::kBool);
  const bool open = condition || MayTrap(c, *chain);
  if (open && !(condition ? OpenWhere(c, *chain) : KeepOpen(c, *chain))) return std::nullopt;
  if (open) c.frame().body = std::move(chain->insts);
  return BinderKeys{FinishStatement(c, s, {chain->value})[0], open};
}

// Places in the order by an axis as numbers of tuples.
Value TuplesAt(Context& c, const Tuples& t, size_t axis, Value places) {
  if (axis == 0) return places;
  AtBlock block(c);
  const Value count = c.ToValue(c.DimsOf(places)[0]);
  const Value p = c.b.BeginEach({count})[0];
  const Value place = c.b.Index(places, {Affine::Of(p)});
  ir::EachResult r;
  r.out = {Affine::Of(p)};
  r.shape = {count};
  r.value = c.b.Index(t.Order(axis), {Affine::Of(place)});
  const Value tuples = c.b.EndEach({r})[0];
  c.SetDims(tuples, c.DimsOf(places));
  return tuples;
}

std::optional<Gathered> Gather(Context& c, const Binder& b, const Expr& call, size_t axis) {
  PB_TRY(const Tuples t, TuplesOf(c, call));
  c.SetLoc(call.ordinal);
  PB_TRY(const BinderKeys made, KeysOfBinder(c, b, *call.operands[axis + 1]));
  const auto [points, places] = JoinTuples(c, made.keys, t.Start(axis));
  const Value tuples = TuplesAt(c, t, axis, places);
  Gathered g{std::nullopt, Value(), tuples, points, {}};
  if (made.open) g.open = OpenPoints(c, made.keys);
  if (t.layout.arity == 1) return g;
  g.fixed = axis == 0 ? 1 : 0;
  const Value size = c.ToValue(c.DimsOf(t.Domain())[*g.fixed]);
  const std::vector<Value> sorted =
      c.b.Call(FunctionFor(c.module), {points, tuples, t.Coordinate(*g.fixed), size});
  for (Value v : sorted) c.ReadDims(v);
  g.starts = sorted[0];
  g.tuples = sorted[1];
  g.points = sorted[2];
  return g;
}

// Of a condition on the binder alone.
std::optional<Gathered> GatherWhere(Context& c, const Binder& b, const Expr& condition) {
  c.SetLoc(condition.ordinal);
  PB_TRY(const BinderKeys made, KeysOfBinder(c, b, condition));
  Gathered g;
  g.open = OpenPoints(c, made.keys);
  return g;
}

bool HasRelations(const Block& block) {
  bool found = false;
  ForEachExpr(block, [&](const Expr& e) { found = found || IsRelated(e); });
  return found;
}

// Locals of names in the block that it binds itself.
Locals BoundIn(const Block& block) {
  Locals bound;
  ForEachExpr(block, [&](const Expr& e) {
    if (e.kind == Expr::Kind::kName) bound.insert(e.local);
    for (const Binder& b : e.binders) bound.insert(b.local);
  });
  for (uint32_t local : FreeLocals(block)) bound.erase(local);
  return bound;
}

}  // namespace

GatherAhead::GatherAhead(Context& c, const Expr& nest, size_t known, bool own) : c_(c) {
  if (!HasRelations(nest.body)) return;
  Locals before = BoundIn(nest.body);
  for (size_t i = known; i < nest.binders.size(); ++i) before.insert(nest.binders[i].local);
  if (!nest.operands.empty() && known == 0) before.insert(nest.local);
  Scan(nest, before, own ? known : known + 1);
  ForEachExpr(nest.body, [&](const Expr& e) { Scan(e, before); });
}

GatherAhead::GatherAhead(Context& c, const Block& loop, const std::vector<uint32_t>& changing)
    : c_(c) {
  if (!HasRelations(loop)) return;
  Locals before = BoundIn(loop);
  before.insert(changing.begin(), changing.end());
  ForEachExpr(loop, [&](const Expr& e) { Scan(e, before); });
}

GatherAhead::~GatherAhead() {
  for (const Expr* call : made_) c_.gathered.erase(call);
}

void GatherAhead::Scan(const Expr& e, const std::set<uint32_t>& before, size_t first) {
  if (e.kind != Expr::Kind::kComprehension || AddsUp(e)) return;
  for (size_t i = first; i < e.binders.size(); ++i) {
    for (const Teller& t : FindTellersAhead(c_, e, i, before)) {
      if (t.sign != 0 || c_.gathered.count(t.related[0]) != 0) continue;
      Mark mark(c_);
      const auto gathered = IsRelated(*t.related[0])
                                ? Gather(c_, e.binders[i], *t.related[0], t.axis)
                                : GatherWhere(c_, e.binders[i], *t.related[0]);
      if (!gathered) {
        mark.Rollback();
        continue;
      }
      for (const Expr* call : t.related) {
        c_.gathered[call] = *gathered;
        made_.push_back(call);
      }
    }
  }
}

}  // namespace pullback::lang
