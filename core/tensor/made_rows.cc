#include "core/tensor/made_rows.h"

#include <algorithm>

#include "core/ir/op_weight.h"
#include "core/tensor/narrow_arrays.h"
#include "core/tensor/statement_edit.h"

namespace pullback::tensor {

bool MakesLargeArray(const ir::Inst& inst, const ir::OwnArrays& own) {
  if (!inst.each || inst.results.size() != 1) return false;
  const ir::EachResult& r = inst.each->results[0];
  return !r.into.valid() && r.shape.size() > 1 && !ir::IsScan(r.monoid) && !own.IsNoLarger(r.shape);
}

bool MakesLargeRows(const ir::Inst& inst, const ir::OwnArrays& own) {
  if (!MakesLargeArray(inst, own)) return false;
  const ir::EachResult& r = inst.each->results[0];
  return r.monoid != ir::Monoid::kGen ||
         std::any_of(inst.each->body.begin(), inst.each->body.end(), ir::IsDear);
}

ir::Inst RowAlone(const ir::Inst& maker, size_t result, size_t axis, const ir::Affine& row,
                  ir::Function& f) {
  ir::Inst inst = CopyWithResult(maker, result, f).inst;
  ir::Each& each = *inst.each;
  ir::EachResult& r = each.results[0];
  const ir::Value index = r.out[axis].AsValue(), extent = r.shape[axis];
  const size_t place = *PlaceOfIndex(each, index);
  Erase(r.out, axis);
  Erase(r.shape, axis);
  if (ir::IsScan(r.monoid)) --r.outer;
  SubstituteIndex(each, f, index, row);
  each.indices.erase(each.indices.begin() + static_cast<std::ptrdiff_t>(place));
  if (!row.IsConst() || row.constant < 0) {
    AddRange(each, row, extent);
  } else {
    each.where.push_back({ir::Affine::Of(extent) - row - ir::Affine::Const(1), false});
  }
  PruneBody(each);
  const ir::Value array = maker.results[result];
  const ir::Type t = f.TypeOf(array);
  inst.results = {f.NewValue(t.rank == 1 ? t.Element() : ir::Type::Array(t.elem, t.rank - 1),
                             f.names[array.id])};
  return inst;
}

ir::Inst FewRowsAlone(const ir::Inst& maker, size_t result, size_t axis, const ir::Affine& first,
                      ir::Value count, ir::Function& f) {
  ir::Inst inst = CopyWithResult(maker, result, f).inst;
  ir::Each& each = *inst.each;
  ir::EachResult& r = each.results[0];
  const ir::Value index = r.out[axis].AsValue(), extent = r.shape[axis];
  const ir::Value row = f.NewLike(f, index);
  each.indices[*PlaceOfIndex(each, index)] = {row, count};
  const ir::Affine at = first + ir::Affine::Of(row);
  SubstituteIndex(each, f, index, at);
  r.out[axis] = ir::Affine::Of(row);
  r.shape[axis] = count;
  AddRange(each, at, extent);
  PruneBody(each);
  inst.results = {f.NewLike(f, maker.results[result])};
  return inst;
}

}  // namespace pullback::tensor
