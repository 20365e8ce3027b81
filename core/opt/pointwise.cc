#include "core/opt/pointwise.h"

#include <algorithm>
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

bool IsPointwise(const ir::Each& each, const ir::EachResult& r) {
  if (r.monoid != ir::Monoid::kGen || r.guard.valid() || r.out.empty()) return false;
  std::vector<ir::Value> seen;
  for (const ir::Affine& a : r.out) {
    const ir::Value v = IndexOf(each, a);
    if (!v.valid()) return false;
    seen.push_back(v);
  }
  return std::all_of(each.indices.begin(), each.indices.end(), [&](const ir::IndexVar& i) {
    return std::find(seen.begin(), seen.end(), i.var) != seen.end();
  });
}

}  // namespace pullback::opt
