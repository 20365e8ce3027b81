#include "core/opt/row_statement.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace pullback::opt {

using ir::Affine;
using ir::Inst;
using ir::Op;
using ir::Value;

Inst StatementAtRow(ir::Function& f, const Inst& whole, Value row, const Affine& at,
                    Copier& names) {
  Inst inst = names.Copy(whole);
  ir::Each& each = *inst.each;
  const Value own_row = names.Get(row);
  const auto index = std::find_if(each.indices.begin(), each.indices.end(),
                                  [&](const ir::IndexVar& i) { return i.var == own_row; });
  const auto place = static_cast<uint32_t>(index - each.indices.begin());
  each.indices.erase(index);
  for (ir::Constraint& c : each.where) c.e = c.e.Substitute(own_row, at);
  for (size_t k = 0; k < inst.results.size(); ++k) {
    ir::EachResult& r = each.results[k];
    if (place < r.outer) --r.outer;
    const std::optional<size_t> axis = RowAxis(r, own_row);
    if (!axis) continue;
    r.out.erase(r.out.begin() + static_cast<std::ptrdiff_t>(*axis));
    r.shape.erase(r.shape.begin() + static_cast<std::ptrdiff_t>(*axis));
    const ir::Type type = f.TypeOf(whole.results[k]);
    inst.results[k] =
        f.NewValue(r.out.empty() ? type.Element() : ir::Type::Array(type.elem, type.rank - 1),
                   f.names[whole.results[k].id]);
    names.Set(whole.results[k], inst.results[k]);
  }
  Inst is;
  is.op = Op::AffineOf;
  is.subs = {at};
  is.results = {own_row};
  each.body.insert(each.body.begin(), std::move(is));
  return inst;
}

void DropRow(Inst& access, size_t axis) {
  std::vector<Affine> subs = access.subs.ToVector();
  subs.erase(subs.begin() + static_cast<std::ptrdiff_t>(axis));
  access.subs = ThinVector<Affine>(subs.begin(), subs.end());
}

std::optional<size_t> RowAxis(const ir::EachResult& r, Value row) {
  const auto at =
      std::find_if(r.out.begin(), r.out.end(), [&](const Affine& a) { return a.AsValue() == row; });
  return at == r.out.end() ? std::nullopt : std::optional(static_cast<size_t>(at - r.out.begin()));
}

}  // namespace pullback::opt
