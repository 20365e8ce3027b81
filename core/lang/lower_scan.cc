// Scans: the IR's give the state before each term; the one after it is joined where it is read.
#include <algorithm>

#include "core/ir/monoid.h"
#include "core/lang/lower_comprehension.h"
#include "core/lang/lower_sizes.h"

namespace pullback::lang {
namespace {

using ir::Monoid;

Monoid ScanOf(Comprehension m) {
  switch (m) {
    case Comprehension::kSum: return Monoid::kScanSum;
    case Comprehension::kProd: return Monoid::kScanProd;
    case Comprehension::kMax: return Monoid::kScanMax;
    default: PB_CHECK(m == Comprehension::kMin); return Monoid::kScanMin;
  }
}

ArrayRef Computed(const ArrayRef& like, std::function<MaybeValue(const Subs&)> at) {
  auto array = std::make_shared<Array>();
  array->elem = like->elem;
  array->dims = like->dims;
  array->at = std::move(at);
  return array;
}

// The states before the terms. The first so many axes are scanned, anew for each point of the others.
// `second`: what scan_linear adds, else null.
std::optional<ArrayRef> StatesBefore(Context& c, Monoid m, size_t scanned, const ArrayRef& terms,
                                     const ArrayRef& second) {
  const bool in_body = c.InBody();  // which may never run
  bool as_said = true;
  NestedFrame nested(c);
  Statement s;
  s.loc = c.b.loc();
  s.reduce = m;
  s.outer = terms->dims.size() - scanned;
  Subs subs(terms->dims.size());
  for (size_t k = 0; k < subs.size(); ++k) {
    const size_t axis = (scanned + k) % subs.size();
    if (!c.IsOuter(terms->dims[axis])) return std::nullopt;
    const Affine& said = terms->dims[axis];
    const Affine extent = in_body && !IsNonNegative(c, said) ? NotNegative(c, said) : said;
    as_said = as_said && extent == said;
    subs[axis] = Affine::Of(AddIndex(c, s, extent, true, ""));
  }
  PB_TRY(const Value term, ReadAt(c, *terms, subs));
  if (second) {
    PB_TRY(s.second, ReadAt(c, *second, subs));
  }
  const size_t others = s.outer;
  const Lifted lifted = LiftStatement(c, s, {term});
  if (lifted.outer.empty() && others == 0 && as_said)
    return ArrayOf(c, {lifted.results[0], nullptr});
  Context* context = &c;
  return Computed(terms, [context, lifted, scanned](const Subs& at) -> MaybeValue {
    Subs all = lifted.outer;
    const auto split = at.begin() + static_cast<std::ptrdiff_t>(scanned);
    all.insert(all.end(), split, at.end());
    all.insert(all.end(), at.begin(), split);
    return context->b.Index(lifted.results[0], std::move(all));
  });
}

}  // namespace

std::optional<ArrayRef> LowerScan(Context& c, const Expr& e) {
  PB_TRY(ArrayRef terms, LowerArray(c, *e.operands[0]));
  if (c.dims_only) return terms;
  c.SetLoc(e.ordinal);
  const Monoid m = ScanOf(e.comprehension);
  PB_TRY(ArrayRef before, StatesBefore(c, m, e.operands[0]->binders.size(), terms, nullptr));
  if (e.exclusive) return before;
  Context* context = &c;
  return Computed(terms, [context, m, before, terms](const Subs& subs) -> MaybeValue {
    PB_TRY(const Value state, ReadAt(*context, *before, subs));
    PB_TRY(const Value term, ReadAt(*context, *terms, subs));
    return context->b.Make(ir::MonoidOp(m), {state, term});
  });
}

std::optional<ArrayRef> LowerScanLinear(Context& c, const Expr& e) {
  PB_TRY(ArrayRef factors, LowerArray(c, *e.operands[0]));
  PB_TRY(const ArrayRef added, LowerArray(c, *e.operands[1]));
  c.SetLoc(e.ordinal);
  if (!RequireEqual(c, factors->dims[0], added->dims[0])) return std::nullopt;
  if (c.dims_only) return factors;
  PB_TRY(const ArrayRef before, StatesBefore(c, Monoid::kScanLinear, 1, factors, added));
  Context* context = &c;
  return Computed(factors, [context, before, factors, added](const Subs& subs) -> MaybeValue {
    PB_TRY(const Value state, ReadAt(*context, *before, subs));
    PB_TRY(const Value a, ReadAt(*context, *factors, subs));
    PB_TRY(const Value b, ReadAt(*context, *added, subs));
    return context->b.Make(Op::Add, {context->b.Make(Op::SMul, {state, a}), b});
  });
}

}  // namespace pullback::lang
