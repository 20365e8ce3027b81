#include "core/opt/pointwise.h"

#include <algorithm>
#include <set>
#include <vector>

namespace pullback::opt {
namespace {

bool IsIndexOf(const ir::Each& each, ir::Value v) {
  return std::any_of(each.indices.begin(), each.indices.end(),
                     [v](const ir::IndexVar& i) { return i.var == v; });
}

bool IsOfBody(const ir::Each& each, ir::Value v) {
  return std::any_of(each.body.begin(), each.body.end(), [v](const ir::Inst& inst) {
    return std::find(inst.results.begin(), inst.results.end(), v) != inst.results.end();
  });
}

// Whether the statement has points only where 0 <= a < extent.
bool IsWithin(const ir::Each& each, const ir::Affine& a, ir::Value extent) {
  const bool first = a == ir::Affine::Const(0);
  if (first && std::any_of(each.indices.begin(), each.indices.end(),
                           [&](const ir::IndexVar& i) { return i.extent == extent; }))
    return true;
  const ir::Affine to = ir::Affine::Of(extent) - a - ir::Affine::Const(1);
  bool above = false, below = false;
  for (const ir::Constraint& c : each.where) {
    above |= !c.equality && c.e == a;
    below |= !c.equality && c.e == to;
  }
  return above && below;
}

}  // namespace

ir::Value IndexOf(const ir::Each& each, const ir::Affine& a) {
  ir::Value index;
  for (const ir::Affine::Term& t : a.terms) {
    if (IsOfBody(each, t.value)) return ir::kNoValue;
    if (!IsIndexOf(each, t.value)) continue;
    if (index.valid() || t.coeff != 1) return ir::kNoValue;
    index = t.value;
  }
  return index;
}

bool IsOutside(const ir::Each& each, const ir::Affine& a) {
  return std::none_of(a.terms.begin(), a.terms.end(), [&](const ir::Affine::Term& t) {
    return IsIndexOf(each, t.value) || IsOfBody(each, t.value);
  });
}

bool IsPointwise(const ir::Each& each, const ir::EachResult& r) {
  if (r.monoid != ir::Monoid::kGen || r.guard.valid() || r.out.empty()) return false;
  std::vector<ir::Value> seen;
  for (size_t k = 0; k < r.out.size(); ++k) {
    const ir::Affine& a = r.out[k];
    if (IsOutside(each, a) && IsWithin(each, a, r.shape[k])) continue;
    const ir::Value v = IndexOf(each, a);
    if (!v.valid()) return false;
    seen.push_back(v);
  }
  return std::all_of(each.indices.begin(), each.indices.end(), [&](const ir::IndexVar& i) {
    return std::find(seen.begin(), seen.end(), i.var) != seen.end();
  });
}

bool OnlyPlaces(const ir::Each& each) {
  if (each.results.size() != 1 || each.body.size() != 1 || each.body[0].op != ir::Op::Index)
    return false;
  const ir::EachResult& r = each.results[0];
  const bool repeats =
      r.out.size() > each.indices.size();  // an index, or a place that is known outside
  return repeats && IsPointwise(each, r);
}

bool NamesEveryIndex(const ir::Each& each, ir::AffineSpan subs) {
  return std::all_of(each.indices.begin(), each.indices.end(), [&](const ir::IndexVar& i) {
    return std::any_of(subs.begin(), subs.end(), [&](const ir::Affine& a) {
      const int64_t coeff = a.Coeff(i.var);
      return (coeff == 1 || coeff == -1) && IsOutside(each, a.Substitute(i.var, ir::Affine{}));
    });
  });
}

bool CallsMath(const ir::Each& each) {
  return std::any_of(each.body.begin(), each.body.end(), [](const ir::Inst& inst) {
    return (ir::Info(inst.op).flags & ir::kLibm) != 0;
  });
}

bool PlacesByData(const ir::Each& each) {
  if (each.indices.empty()) return false;
  std::set<ir::Value> varying = {each.indices.back().var};
  for (const ir::Inst& inst : each.body) {
    bool varies = false;
    ir::ForEachOperand(inst, [&](ir::Value v) { varies |= varying.contains(v); });
    if (varies) varying.insert(inst.results.begin(), inst.results.end());
  }
  varying.erase(each.indices.back().var);
  return std::any_of(each.results.begin(), each.results.end(), [&](const ir::EachResult& r) {
    return std::any_of(r.out.begin(), r.out.end(), [&](const ir::Affine& sub) {
      return std::any_of(sub.terms.begin(), sub.terms.end(),
                         [&](const auto& t) { return varying.contains(t.value); });
    });
  });
}

bool IsTurnedCopy(const ir::Each& each) {
  if (each.indices.size() != 2 || each.body.size() != 1 || each.results.size() != 1 ||
      each.where.size() != 1)
    return false;
  const ir::EachResult& r = each.results[0];
  const ir::Inst& read = each.body[0];
  const ir::Affine i = ir::Affine::Of(each.indices[0].var), j = ir::Affine::Of(each.indices[1].var);
  return IsOutside(each, each.where[0].e) && r.monoid == ir::Monoid::kGen && !r.into.valid() &&
         !r.guard.valid() && r.out == ir::Affines{i, j} && read.op == ir::Op::Index &&
         r.value == read.results[0] && read.subs.size() == 2 && read.subs[0] == j &&
         read.subs[1] == i;
}

}  // namespace pullback::opt
