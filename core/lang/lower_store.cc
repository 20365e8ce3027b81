// Arrays that a body stores: a statement of its own makes them for every point that they depend on. What takes a sum or a
// call for each element is stored where it has a name, is an argument or is multiplied as a matrix, as blocks do: it is
// read again there, unless of what has a name only single elements are. Passes put into its reader what has but one.
#include <algorithm>
#include <set>
#include <utility>

#include "core/lang/lower_array.h"
#include "core/lang/lower_comprehension.h"
#include "core/lang/lower_sizes.h"
#include "core/lang/walk.h"

namespace pullback::lang {
namespace {

// Whether a statement has been written to the current block behind its first so many instructions.
bool WroteStatement(Context& c, size_t first) {
  const std::vector<ir::Inst>& insts = c.function.blocks[c.b.block()].insts;
  return std::any_of(insts.begin() + static_cast<std::ptrdiff_t>(first), insts.end(),
                     [](const ir::Inst& inst) { return inst.each != nullptr; });
}

// `anywhere`: it must not trap, nor take more than arithmetic.
std::optional<ArrayRef> Stored(Context& c, const ArrayRef& a, bool anywhere) {
  NestedFrame nested(c);
  Statement s;
  s.loc = c.b.loc();
  Subs subs;
  for (const Affine& d : a->dims) {
    if (!c.IsOuter(d)) return std::nullopt;
    const Affine extent = IsNonNegative(c, d) ? d : NotNegative(c, d);
    subs.push_back(Affine::Of(AddIndex(c, s, extent, true, "")));
  }
  const size_t before = c.function.blocks[c.b.block()].insts.size();
  MaybeValue v;
  if (a->inner) {
    if (!c.IsOuter(*a->inner)) return std::nullopt;
    s.reduce = ir::Monoid::kSum;
    v = a->term(subs, Affine::Of(AddIndex(c, s, *a->inner, false, "")));
  } else {
    v = ReadAt(c, *a, subs);
  }
  if (!v) return std::nullopt;
  const std::vector<ir::Inst>& body = c.frame().body;
  const bool is_more = std::any_of(body.begin(), body.end(), [&](const ir::Inst& inst) {
    return MayTrapHere(c, inst) || (ir::Info(inst.op).flags & ir::kLibm) != 0;
  });
  if (anywhere && (is_more || WroteStatement(c, before))) return std::nullopt;
  return ArrayInMemory(c, LiftStatement(c, s, {*v}));
}

// Where no guard is asked, so that it depends on no index for it.
std::optional<ArrayRef> StoredAnywhere(Context& c, const ArrayRef& a) {
  Mark mark(c);
  Guard outer = std::exchange(c.guard, Guard());
  std::optional<ArrayRef> stored = Stored(c, a, true);
  if (!stored) mark.Rollback();
  c.guard = std::move(outer);
  return stored;
}

}  // namespace

std::optional<ArrayRef> StoreInBody(Context& c, const ArrayRef& a, bool guarded) {
  if (c.guard.any && !a->inner) {
    if (auto stored = StoredAnywhere(c, a)) return stored;
  }
  return guarded || !c.guard.any ? Stored(c, a, false) : std::nullopt;
}

bool IsDear(const Array& a) { return a.inner || (a.at && a.dear); }

std::optional<ArrayRef> StoreIfDear(Context& c, const ArrayRef& a) {
  const auto outer = [&](const Affine& d) { return c.IsOuter(d); };
  const bool known =
      std::all_of(a->dims.begin(), a->dims.end(), outer) && (!a->inner || c.IsOuter(*a->inner));
  if (!c.InBody() || c.dims_only || !IsDear(*a) || !known) return a;
  return StoreInBody(c, a);
}

namespace {

// Whether the subscripts name no index of a comprehension that comes behind the local.
bool AreSingle(const Expr& element, uint32_t local, const std::set<uint32_t>& binders) {
  bool single = element.type.kind == Type::Kind::kScalar;
  ForEachExpr(element.subscripts, [&](const Expr& e) {
    single &= e.kind != Expr::Kind::kName || e.local <= local || binders.count(e.local) == 0;
  });
  return single;
}

// By local: whether the text reads more of it than single elements. One that is an array of sums is no larger than these
// where it is computed where it is read.
const std::vector<bool>& ReadWhole(Context& c, const Function& f) {
  const auto [it, fresh] = c.module.read_whole.try_emplace(&f);
  if (!fresh) return it->second;
  std::set<uint32_t> binders;
  std::vector<int> reads(f.locals.size());  // but of single elements
  ForEachExpr(f.body, [&](const Expr& e) {
    for (const Binder& b : e.binders) binders.insert(b.local);
    if (e.kind == Expr::Kind::kName && e.local != UINT32_MAX) ++reads[e.local];
  });
  ForEachExpr(f.body, [&](const Expr& e) {
    if (e.kind != Expr::Kind::kIndex || e.operands[0]->kind != Expr::Kind::kName) return;
    const uint32_t local = e.operands[0]->local;
    if (local != UINT32_MAX && AreSingle(e, local, binders)) --reads[local];
  });
  for (int count : reads) it->second.push_back(count > 0);
  return it->second;
}

}  // namespace

bool StoreIfDear(Context& c, const Function& f, uint32_t local, Leaves& leaves) {
  for (Leaf& leaf : leaves) {
    if (!leaf.array || !IsDear(*leaf.array) || !ReadWhole(c, f)[local]) continue;
    const auto stored = StoreIfDear(c, leaf.array);
    if (!stored) return false;
    leaf = LeafOf(c, *stored);
  }
  return true;
}

}  // namespace pullback::lang
