// Comprehensions of tuples and structs: a statement with a result for each part, or one for each shape of
// part.
#include <algorithm>

#include "core/lang/lower_comprehension.h"
#include "core/lang/lower_expr.h"
#include "core/lang/lower_neighbours.h"
#include "core/lang/lower_stmt.h"

namespace pullback::lang {

using ir::Monoid;

namespace {

// The extents of leaves that stand in the open frame, of those that are not done the first one's; the
// leaves that have them.
struct Alike {
  std::vector<Affine> dims;
  std::vector<size_t> leaves;
};
Alike FirstAlike(Context& c, const Leaves& leaves, const std::vector<bool>& done) {
  const auto dims_of = [&](const Leaf& leaf) {
    const bool scalar = leaf.value.valid() && c.b.TypeOf(leaf.value).IsScalar();
    return scalar ? std::vector<Affine>() : ExtentsOf(c, leaf);
  };
  Alike alike;
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (done[i]) continue;
    if (alike.leaves.empty()) alike.dims = dims_of(leaves[i]);
    if (dims_of(leaves[i]) == alike.dims) alike.leaves.push_back(i);
  }
  return alike;
}

// One statement for the leaves of the body's value that have equal extents; what it gives is put where
// they are in `out`.
bool AlikeAsStatement(Context& c, const Expr& e, const Ranges& ranges, std::vector<bool>& done,
                      Leaves& out) {
  NestedFrame nested(c);
  Statement s;
  s.loc = c.at->base + e.ordinal - c.at->function->first_ordinal;
  s.body = &e.body;
  const Monoid m = MonoidOf(e);
  if (!AddBinders(c, s, e, ranges)) return false;
  if (m != Monoid::kGen) s.reduce = m;
  if (!LowerLets(c, e.body)) return false;
  const std::optional<Leaves> leaves = Lower(c, *e.body.result);
  if (!leaves) return false;
  const Alike alike = FirstAlike(c, *leaves, done);
  Subs subs;
  if (!alike.dims.empty()) SpillCostly(c);
  for (const Affine& d : alike.dims) {
    if (!c.IsOuter(d)) return false;
    subs.push_back(Affine::Of(AddIndex(c, s, d, true, "")));
  }
  std::vector<Value> values;
  for (size_t i : alike.leaves) {
    const Leaf& leaf = (*leaves)[i];
    const MaybeValue v = subs.empty() ? leaf.value : ReadAt(c, *ArrayOf(c, leaf), subs);
    if (!v) return false;
    values.push_back(*v);
  }
  const std::vector<Value> results = FinishStatement(c, s, values);
  for (size_t k = 0; k < results.size(); ++k) {
    out[alike.leaves[k]] = {results[k], nullptr};
    done[alike.leaves[k]] = true;
  }
  return true;
}

}  // namespace

std::optional<Leaves> AsStatements(Context& c, const Expr& e, const Ranges& ranges) {
  const std::vector<ir::Type> types = c.module.Flatten(e.body.result->type);
  const bool arrays =
      std::any_of(types.begin(), types.end(), [](const ir::Type& t) { return t.IsArray(); });
  if ((arrays && c.InBody()) || c.module.no_bodies.count(&e.body) != 0) return std::nullopt;
  std::vector<bool> done(types.size());
  Leaves out(types.size());
  while (std::find(done.begin(), done.end(), false) != done.end()) {
    if (AlikeAsStatement(c, e, ranges, done, out)) continue;
    c.module.no_bodies.insert(&e.body);
    return std::nullopt;
  }
  return out;
}

std::optional<Leaves> LowerStructs(Context& c, const Expr& e) {
  const bool gen = e.comprehension == Comprehension::kGen;
  return gen && c.InBody() ? GenStructsInBody(c, e) : LowerReduction(c, e);
}

}  // namespace pullback::lang
