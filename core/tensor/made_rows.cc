#include "core/tensor/made_rows.h"

#include <algorithm>
#include <cstdlib>

#include "core/ir/known_extents.h"
#include "core/ir/op_weight.h"
#include "core/tensor/narrow_arrays.h"
#include "core/tensor/statement_edit.h"

namespace pullback::tensor {
namespace {

using ir::Affine;

using Length = std::function<std::optional<int64_t>(ir::Value)>;

// What holds an index from below or above, whatever other ones are.
struct Bound {
  Affine is;
  bool is_range = false;
  std::optional<size_t> at = {};  // of the condition that says no more
};
struct FewPlaces {
  Bound first, last;
  int64_t count;
};

// No more than that, with short indices where they make it so; nothing: others are in it.
std::optional<Affine> GreatestOf(const ir::Each& each, const Affine& a, const Length& length) {
  Affine greatest = a;
  for (const Affine::Term& t : a.terms) {
    const auto place = PlaceOfIndex(each, t.value);
    if (!place) continue;
    const std::optional<int64_t> count = length(each.indices[*place].extent);
    if (!count || *count < 1 || std::abs(t.coeff) > ir::kShortExtent) return std::nullopt;
    greatest = greatest.Substitute(t.value, Affine::Const(t.coeff > 0 ? *count - 1 : 0));
  }
  return greatest;
}

std::optional<FewPlaces> FewPlacesOf(const ir::Each& each, const ir::IndexVar& index,
                                     const Length& length, Few few) {
  std::vector<Bound> firsts{{{}, true}}, lasts{{Affine::Of(index.extent) - Affine::Const(1), true}};
  for (size_t k = 0; k < each.where.size(); ++k) {
    const ir::Constraint& c = each.where[k];
    const int64_t coeff = c.e.Coeff(index.var);
    if (c.equality || (coeff != 1 && coeff != -1)) continue;
    const Affine rest = c.e - Affine::Of(index.var) * coeff;
    const std::optional<Affine> greatest =
        few == Few::kNextToOthers ? rest : GreatestOf(each, rest, length);
    if (!greatest) continue;
    const auto at = *greatest == rest ? std::optional(k) : std::nullopt;
    if (coeff == 1)
      firsts.push_back({*greatest * -1, false, at});
    else
      lasts.push_back({*greatest, false, at});
  }
  for (const Bound& first : firsts) {
    for (const Bound& last : lasts) {
      const Affine more = last.is - first.is;
      if (more.IsConst() && more.constant >= 0 && more.constant < ir::kShortExtent)
        return FewPlaces{first, last, more.constant + 1};
    }
  }
  return std::nullopt;
}

void RunOver(ir::Each& each, size_t index, const FewPlaces& places, ir::Value count,
             ir::Function& f) {
  const auto [var, extent] = each.indices[index];
  std::vector<ir::Constraint> left;
  for (size_t k = 0; k < each.where.size(); ++k) {
    if (k != places.first.at && k != places.last.at) left.push_back(each.where[k]);
  }
  each.where = std::move(left);
  const ir::Value few = f.NewLike(f, var);
  each.indices[index] = {few, count};
  const Affine at = places.first.is + Affine::Of(few);
  SubstituteIndex(each, f, var, at);
  if (!places.first.is_range) each.where.push_back({at, false});
  if (!places.last.is_range)
    each.where.push_back({Affine::Of(extent) - at - Affine::Const(1), false});
}

}  // namespace

bool MakesLargeArray(const ir::Inst& inst, const ir::OwnArrays& own) {
  if (!inst.each || inst.results.size() != 1) return false;
  const ir::EachResult& r = inst.each->results[0];
  if (r.into.valid() || r.shape.size() < 2 || own.IsNoLarger(r.shape)) return false;
  const auto row = PlaceOfIndex(*inst.each, r.out[0].AsValue());
  return !ir::IsScan(r.monoid) || (row && ir::IsApartFor(r, *row));
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

void NarrowToFew(ir::Inst& statement, const Length& length,
                 const std::function<ir::Value(int64_t)>& number, ir::Function& f, Few few) {
  ir::Each& each = *statement.each;
  const bool of_places = std::any_of(each.results.begin(), each.results.end(), [](const auto& r) {
    return ir::IsScan(r.monoid) || ir::IsArg(r.monoid);
  });
  if (of_places) return;
  for (size_t k = 0; k < each.indices.size(); ++k) {
    const ir::IndexVar index = each.indices[k];
    const auto stores = [&](const ir::EachResult& r) { return CountNaming(r, index.var) > 0; };
    if (std::any_of(each.results.begin(), each.results.end(), stores)) continue;
    const std::optional<FewPlaces> places = FewPlacesOf(each, index, length, few);
    if (places) RunOver(each, k, *places, number(places->count), f);
  }
}

}  // namespace pullback::tensor
