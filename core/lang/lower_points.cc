// Sets of points that reductions run over (lower_neighbours.h).
#include "core/lang/lower_expr.h"
#include "core/lang/lower_keys.h"
#include "core/lang/lower_neighbours.h"

namespace pullback::lang {
namespace {

// A function of the module: (a, count_a, b, count_b, extent) -> (points, count, -1). In front of the first gap,
// points are places.
class MergeFunction {
 public:
  MergeFunction(ModuleContext& m, uint32_t id) : c_(m, id) {}
  void Write();

 private:
  struct Source {
    Value points, count;
  };
  Source AddSource(const char* name);
  Value Next(const Source& s, Value at);
  std::vector<Value> Step(const std::vector<Value>& state);

  Context c_;
  Source a_, b_;
  Value extent_;
};

MergeFunction::Source MergeFunction::AddSource(const char* name) {
  Source s;
  s.points = c_.b.AddParam(0, ir::Type::Array(DType::kI64, 1), name);
  c_.ReadDims(s.points);
  s.count = c_.b.AddParam(0, ir::Type::I64(), "count");
  return s;
}

// The point at `at`, or what is behind all. (The arrays have an element too many.)
Value MergeFunction::Next(const Source& s, Value at) {
  const Value there = c_.b.Index(s.points, {Affine::Of(at)});
  return c_.b.Make(Op::Select, {c_.b.Make(Op::Lt, {at, s.count}), there, extent_});
}

// `state`: the points, how many, whether a gap is among them, and how many of each are taken. One is added: a
// point, or the gap in front of it; or, behind the last, none.
std::vector<Value> MergeFunction::Step(const std::vector<Value>& state) {
  const Value a = Next(a_, state[3]), b = Next(b_, state[4]);
  const Value next = c_.b.Make(Op::Min, {a, b});
  const Value gap =
      c_.b.Make(Op::And, {c_.b.Make(Op::Not, {state[2]}), c_.b.Make(Op::Lt, {state[1], next})});
  const Value point = c_.b.Make(Op::Select, {gap, state[1], next});
  const Value adds = c_.b.Make(Op::Lt, {point, extent_});
  const Value takes = c_.b.Make(Op::And, {adds, c_.b.Make(Op::Not, {gap})});
  const auto plus = [&](Value v, Value condition) {
    return c_.b.Make(Op::Add, {v, c_.b.Cast(condition, DType::kI64)});
  };
  const auto taken = [&](Value v, Value from) {
    return plus(v, c_.b.Make(Op::And, {takes, c_.b.Make(Op::Eq, {from, next})}));
  };
  return {c_.b.Update(state[0], {Affine::Of(state[1])}, point), plus(state[1], adds),
          c_.b.Make(Op::Or, {state[2], gap}), taken(state[3], a), taken(state[4], b)};
}

void MergeFunction::Write() {
  c_.function.results = {ir::Type::Array(DType::kI64, 1), ir::Type::I64(), ir::Type::I64()};
  c_.b.SetBlock(c_.b.NewBlock());
  a_ = AddSource("a");
  b_ = AddSource("b");
  extent_ = c_.b.AddParam(0, ir::Type::I64(), "extent");
  const Affine steps = Affine::Of(a_.count) + Affine::Of(b_.count) + Affine::Const(1);
  const Value room = c_.ToValue(steps + Affine::Const(1));
  const Value zero = c_.b.I64(0);
  std::vector<Value> state = {c_.b.Zeros(DType::kI64, {room}), zero, c_.b.Bool(false), zero, zero};
  CountedLoop(c_, {Affine::Const(0), steps}, "k", state, [&](Value) { state = Step(state); });
  c_.b.Return({state[0], state[1], c_.b.I64(-1)});
}

// A function of the module: keys -> (the points at which they are open, count, -1).
void WriteOpenPoints(ModuleContext& m, uint32_t id) {
  const ir::Type array = ir::Type::Array(DType::kI64, 1);
  Context c(m, id);
  c.function.results = {array, ir::Type::I64(), ir::Type::I64()};
  c.b.SetBlock(c.b.NewBlock());
  const Value keys = c.b.AddParam(0, array, "keys");
  c.ReadDims(keys);
  const Range all{Affine::Const(0), c.DimsOf(keys)[0]};
  const auto is_open = [&](Value p) {
    const Value key = c.b.Index(keys, {Affine::Of(p)});
    return c.b.Cast(c.b.Make(Op::Eq, {key, c.b.I64(kOpenKey)}), DType::kI64);
  };
  std::vector<Value> count = {c.I64(0)};
  CountedLoop(c, all, "p", count,
              [&](Value p) { count = {c.b.Make(Op::Add, {count[0], is_open(p)})}; });
  const Value room = c.b.Make(Op::Add, {count[0], c.b.I64(1)});
  std::vector<Value> state = {c.b.Zeros(DType::kI64, {room}), c.I64(0)};
  CountedLoop(c, all, "p", state, [&](Value p) {
    state = {c.b.Update(state[0], {Affine::Of(state[1])}, p),
             c.b.Make(Op::Add, {state[1], is_open(p)})};
  });
  c.b.Return({state[0], count[0], c.b.I64(-1)});
}

uint32_t OpenPointsFor(ModuleContext& m) {
  const auto [at, added] = m.neighbours.try_emplace(std::vector<size_t>{1}, 0);
  if (added) {
    at->second = m.module.AddFunction("open_points");
    WriteOpenPoints(m, at->second);
  }
  return at->second;
}

uint32_t FunctionFor(ModuleContext& m) {
  const auto [at, added] = m.neighbours.try_emplace(std::vector<size_t>{0}, 0);
  if (added) {
    at->second = m.module.AddFunction("merge");
    MergeFunction(m, at->second).Write();
  }
  return at->second;
}

// An array of this many elements.
Value Filled(Context& c, Value size, const std::function<Value(Value)>& element) {
  const Value p = c.b.BeginEach({size})[0];
  ir::EachResult r;
  r.out = {Affine::Of(p)};
  r.shape = {size};
  r.value = element(p);
  return c.b.EndEach({r})[0];
}

}  // namespace

std::vector<Value> MergePoints(Context& c, const std::vector<Value>& a, const std::vector<Value>& b,
                               Value extent) {
  return c.b.Call(FunctionFor(c.module), {a[0], a[1], b[0], b[1], extent});
}

std::vector<Value> OpenPoints(Context& c, Value keys) {
  return c.b.Call(OpenPointsFor(c.module), {keys});
}

std::vector<Value> OnePoint(Context& c, Value point, Value extent) {
  const Value inside =
      c.b.Make(Op::And, {c.b.Make(Op::Ge, {point, c.b.I64(0)}), c.b.Make(Op::Lt, {point, extent})});
  const Value points =
      Filled(c, c.b.I64(2), [&](Value) { return c.b.Make(Op::Add, {point, c.b.I64(0)}); });
  return {points, c.b.Cast(inside, DType::kI64), c.b.I64(-1)};
}

std::vector<Value> AllPoints(Context& c, Value extent) {
  const Value count = c.b.Make(Op::Max, {extent, c.b.I64(0)});
  const Value size = c.b.Make(Op::Add, {count, c.b.I64(1)});
  const Value points = Filled(c, size, [&](Value p) { return c.b.Make(Op::Add, {p, c.b.I64(0)}); });
  return {points, count, c.b.I64(-1)};
}

}  // namespace pullback::lang
