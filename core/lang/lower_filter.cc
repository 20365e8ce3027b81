// Conditions on one index, as cases of an `or` with relations (lower_either.cc):
//
//   sum i < n, j < m { [r(i, j) or x[j] > 0.5] * e }
//
// The case runs over the j at which the condition holds. They are listed in front of the statement, as tuples of one
// index; those at which it would trap are among them, and the condition is evaluated as written.
#include <algorithm>

#include "core/lang/lower_expr.h"
#include "core/lang/lower_keys.h"
#include "core/lang/lower_tuples.h"

namespace pullback::lang {
namespace {

// The condition as a key, kOpenKey where it holds or would trap.
std::optional<Key> KeyOf(Context& c, const Expr& p) {
  if (!IsCheckable(c, p)) return std::nullopt;
  std::vector<ir::Inst>& body = c.frame().body;
  const size_t size = body.size();
  const MaybeValue v = LowerScalar(c, p);
  std::optional<KeyChain> chain = v ? ChainOf(c, *v, /*guarded=*/true) : std::nullopt;
  if (chain && !OpenWhere(c, *chain)) chain.reset();
  body.resize(size);
  if (!chain) return std::nullopt;
  return BindKeyChain(c, *std::move(chain));
}

// The condition depends on no index: one that is summed over has no range where it does not hold.
bool FilterAll(Context& c, const Statement& s, const Affine& key) {
  for (ir::IndexVar& i : c.frame().indices) {
    if (std::find(s.out.begin(), s.out.end(), i.var) != s.out.end()) continue;
    AtBlock block(c);
    const Value holds = c.b.Make(Op::Eq, {c.ToValue(key), c.b.I64(kOpenKey)});
    i.extent = c.b.Make(Op::Select, {holds, i.extent, c.b.I64(0)});
    return true;
  }
  return false;
}

// Of a relation without tuples: what is joined are the points with an open key themselves, each with one place.
std::pair<Value, Value> NoTuples(Context& c) {
  AtBlock block(c);
  const Value one = c.b.I64(1);
  const Value starts = c.b.Zeros(DType::kI64, {one});
  c.SetDims(starts, {Affine::Const(1)});
  return {starts, one};
}

}  // namespace

bool FilterIndex(Context& c, const Statement& s, const Expr& p) {
  const std::optional<Key> key = KeyOf(c, p);
  if (!key) return false;
  if (key->sources.empty()) return FilterAll(c, s, key->form);
  const Value form = key->form.AsValue();
  const std::vector<ir::IndexVar> sources = SourcesOf(c, form);
  if (sources.size() != 1 || !MayJoin(c, s, sources)) return false;
  const std::vector<Constraint> constraints =
      ConstraintsOn(c, [&](Value v) { return Contains(sources, v); });
  // What stands in the body already would have to be guarded, too.
  if (!constraints.empty() && !c.frame().body.empty()) return false;
  const auto [starts, one] = NoTuples(c);
  JoinSources(c, s, form, sources, starts, one);
  DropConstraints(c, constraints);
  if (!constraints.empty()) AddGuard(c, c.b.Holds(constraints));
  return true;
}

}  // namespace pullback::lang
