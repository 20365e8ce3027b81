// Whether a tuple is related, and what a relation is followed with.
#include "core/lang/lower_expr.h"
#include "core/lang/lower_keys.h"
#include "core/lang/lower_relation.h"
#include "core/lang/lower_sizes.h"

namespace pullback::lang {
namespace {

// A relation has fewer than 2^31 tuples (core/base/relation.cc).
constexpr int kSteps = 31;
// They are made in groups, of which those that no row as short needs are skipped: the lowest bit of each.
constexpr int kLowBits[] = {16, 8, 4, 0};

Value Clamped(Context& c, const Affine& i, int64_t least, const Affine& high) {
  const Value low = c.b.Make(Op::Max, {c.ToValue(i), c.I64(least)});
  return c.b.Make(Op::Min, {low, c.ToValue(high)});
}

// The element where the guard holds.
Value ReadIf(Context& c, Value guard, Value array, Value at) {
  const Value v = c.b.Index(array, {Affine::Of(at)});
  c.frame().body.back().guard = guard;
  return v;
}

// Whether the tuple at a place, behind its first index, comes before `key`; or is it.
Value Compare(Context& c, const Tuples& t, const std::vector<Value>& key, Value guard, Value at,
              bool equal) {
  Value result;
  for (size_t axis = key.size(); axis-- > 1;) {
    const Value v = ReadIf(c, guard, t.Coordinate(axis), at);
    const Value same = equal || result.valid() ? c.b.Make(Op::Eq, {v, key[axis]}) : Value();
    const Value less = equal ? Value() : c.b.Make(Op::Lt, {v, key[axis]});
    if (equal) {
      result = result.valid() ? c.b.Make(Op::And, {same, result}) : same;
    } else {
      result = result.valid() ? c.b.Make(Op::Or, {less, c.b.Make(Op::And, {same, result})}) : less;
    }
  }
  return c.b.Make(Op::And, {guard, result});
}

// The last place before `key`, from `last` on, where the bits above `bits` are found; down to `low`.
Value FindBits(Context& c, const Tuples& t, const std::vector<Value>& key, Value last, Value end,
               Value guard, int bits, int low) {
  for (int bit = bits; bit-- > low;) {
    const Value next = c.b.Make(Op::Add, {last, c.b.I64(int64_t{1} << bit)});
    Value inside = c.b.Make(Op::Lt, {next, end});
    if (guard.valid()) inside = c.b.Make(Op::And, {guard, inside});
    const Value before = Compare(c, t, key, inside, next, false);
    last = c.b.Make(Op::Select, {before, next, last});
  }
  return last;
}

// The same, evaluated only where so many places are left.
Value FindBitsIfLong(Context& c, const Tuples& t, const std::vector<Value>& key, Value last,
                     Value end, int bits, int low) {
  const Value least = c.b.Make(Op::Add, {last, c.b.I64(int64_t{1} << low)});
  const Value is_long = c.b.Make(Op::Lt, {least, end});
  std::vector<ir::Inst>& body = c.frame().body;
  const size_t first = body.size();
  const Value found = FindBits(c, t, key, last, end, is_long, bits, low);
  for (size_t k = first; k < body.size(); ++k) {
    if (!body[k].guard.valid()) body[k].guard = is_long;
  }
  return c.b.Make(Op::Select, {is_long, found, last});
}

// Binary search among the tuples with the first index, in straight-line code: the last place before
// `key` is found bit by bit.
Value Search(Context& c, const Tuples& t, const std::vector<Value>& key) {
  const auto [begin, end] = TuplesWith(c, t.Start(0), Affine::Of(key[0]));
  if (key.size() == 1) return c.b.Make(Op::Lt, {begin, end});
  Value last = c.b.Make(Op::Sub, {begin, c.b.I64(1)});
  int bits = kSteps;
  for (const int low : kLowBits) {
    last = low > 0 ? FindBitsIfLong(c, t, key, last, end, bits, low)
                   : FindBits(c, t, key, last, end, Value(), bits, low);
    bits = low;
  }
  const Value next = c.b.Make(Op::Add, {last, c.b.I64(1)});
  return Compare(c, t, key, c.b.Make(Op::Lt, {next, end}), next, true);
}

// In a block: a statement of one point, since only bodies have guards.
Value SearchInBlock(Context& c, const Tuples& t, const std::vector<Value>& key) {
  c.OpenFrame();
  Statement s;
  s.loc = c.b.loc();
  s.reduce = ir::Monoid::kSum;
  AddIndex(c, s, Affine::Const(1), false, "");
  const Value found = c.b.Cast(Search(c, t, key), DType::kI64);
  return c.b.Make(Op::Ne, {FinishStatement(c, s, {found})[0], c.b.I64(0)});
}

// Where the tuples with a key begin and end; or, where the key is open, 0 and how many go with it.
struct Places {
  Value begin, end;
  Value open;  // kNoValue: none is
};
Places PlacesWith(Context& c, Value key, Value starts, Value all) {
  const auto [begin, end] = TuplesWith(c, starts, Affine::Of(key));
  if (!all.valid()) return {begin, end, Value()};
  const Value open = c.b.Make(Op::Eq, {key, c.b.I64(kOpenKey)});
  return {c.b.Make(Op::Select, {open, c.b.I64(0), begin}), c.b.Make(Op::Select, {open, all, end}),
          open};
}

// A function of the module: (keys, starts[, all]) -> (left, right).
uint32_t MakeJoin(ModuleContext& m, bool opens) {
  const uint32_t id = m.module.AddFunction(opens ? "join_open" : "join");
  const ir::Type array = ir::Type::Array(DType::kI64, 1);
  Context c(m, id);
  c.function.results = {array, array};
  c.b.SetBlock(c.b.NewBlock());
  const Value keys = c.b.AddParam(0, array, "keys");
  const Value starts = c.b.AddParam(0, array, "starts");
  const Value all_places = opens ? c.b.AddParam(0, ir::Type::I64(), "all") : Value();
  c.ReadDims(keys);
  c.ReadDims(starts);
  const Range all{Affine::Const(0), c.DimsOf(keys)[0]};
  const auto with = [&](Value p) {
    return PlacesWith(c, c.b.Index(keys, {Affine::Of(p)}), starts, all_places);
  };
  std::vector<Value> total = {c.I64(0)};
  CountedLoop(c, all, "p", total, [&](Value p) {
    const auto [begin, end, open] = with(p);
    const Value count = c.b.Make(Op::Sub, {end, begin});
    total = {c.b.Make(Op::Add, {total[0], count})};
  });
  const Value left = c.b.Zeros(DType::kI64, {total[0]});
  const Value right = c.b.Zeros(DType::kI64, {total[0]});
  c.ReadDims(left);
  c.ReadDims(right);
  std::vector<Value> state = {left, right, c.I64(0)};
  CountedLoop(c, all, "p", state, [&](Value p) {
    const auto [begin, end, open] = with(p);
    CountedLoop(c, {Affine::Of(begin), Affine::Of(end)}, "q", state, [&, open = open](Value q) {
      const Subs at = {Affine::Of(state[2])};
      const Value next = c.b.Make(Op::Add, {state[2], c.b.I64(1)});
      Value place = q;
      if (opens) place = c.b.Make(Op::Select, {open, c.b.Make(Op::Sub, {c.b.I64(-1), q}), q});
      state = {c.b.Update(state[0], at, p), c.b.Update(state[1], at, place), next};
    });
  });
  c.b.Return({state[0], state[1]});
  return id;
}

}  // namespace

std::optional<Tuples> TuplesOf(Context& c, const Expr& related) {
  const Expr& relation = *related.operands[0];
  const Expr* root = &relation;
  while (root->kind == Expr::Kind::kField) root = root->operands[0].get();
  if (root->kind != Expr::Kind::kName) return std::nullopt;
  PB_TRY(Leaves leaves, Lower(c, relation));
  for (const Leaf& leaf : leaves) {
    if (!leaf.value.valid() || c.OwnerOf(leaf.value) != 0) return std::nullopt;
  }
  return Tuples{std::move(leaves), {related.operands.size() - 1}};
}

std::pair<Value, Value> TuplesWith(Context& c, Value starts, const Affine& key) {
  const Affine last = c.DimsOf(starts)[0] - Affine::Const(1);
  // Beyond the relation's size there are none: both are the same place.
  const Value near = Clamped(c, key, -1, last);
  const Value from = Clamped(c, Affine::Of(near), 0, last);
  const Value to = Clamped(c, Affine::Of(near) + Affine::Const(1), 0, last);
  return {c.b.Index(starts, {Affine::Of(from)}), c.b.Index(starts, {Affine::Of(to)})};
}

std::pair<Value, Value> JoinTuples(Context& c, Value keys, Value starts, Value all) {
  uint32_t& join = all.valid() ? c.module.open_join : c.module.join;
  if (join == UINT32_MAX) join = MakeJoin(c.module, all.valid());
  std::vector<Value> args = {keys, starts};
  if (all.valid()) args.push_back(all);
  const std::vector<Value> pairs = c.b.Call(join, args);
  c.ReadDims(pairs[0]);
  c.SetDims(pairs[1], c.DimsOf(pairs[0]));
  return {pairs[0], pairs[1]};
}

MaybeValue LowerRelated(Context& c, const Expr& e) {
  if (c.dims_only) return c.function.NewValue(ir::Type::Scalar(DType::kBool));
  PB_TRY(Leaves leaves, Lower(c, *e.operands[0]));
  const Tuples tuples{std::move(leaves), {e.operands.size() - 1}};
  std::vector<Value> key;
  for (size_t i = 1; i < e.operands.size(); ++i) {
    PB_TRY(const Value v, LowerScalar(c, *e.operands[i]));
    key.push_back(v);
  }
  c.SetLoc(e.ordinal);
  return c.InBody() ? Search(c, tuples, key) : SearchInBlock(c, tuples, key);
}

}  // namespace pullback::lang
