#include "core/tensor/down_columns.h"

#include <algorithm>

#include "core/ir/statements.h"
#include "core/tensor/statement_edit.h"
#include "core/tensor/turns.h"

namespace pullback::tensor {

using ir::Affine;
using ir::Each;
using ir::EachResult;
using ir::Value;

namespace {

bool IsDownColumn(const Each& each, Value first, ir::AffineSpan subs, size_t depth) {
  const auto runs_inside = [&](const Affine::Term& t) {
    const auto place = PlaceOfIndex(each, t.value);
    return t.value != first && place && *place >= depth;
  };
  if (subs.size() < 2 || subs.back().Coeff(first) == 0 ||
      std::any_of(subs.back().terms.begin(), subs.back().terms.end(), runs_inside))
    return false;
  return std::any_of(subs.begin(), subs.end() - 1, [&](const Affine& a) {
    return std::any_of(a.terms.begin(), a.terms.end(), [&](const Affine::Term& t) {
      const auto place = PlaceOfIndex(each, t.value);
      return t.value != first && (place ? *place >= depth : FindDef(each, t.value) != nullptr);
    });
  });
}

// Whether some read has the index last, and in front one behind it.
bool ReadsColumnsOf(const Each& each, Value index) {
  const size_t at = *PlaceOfIndex(each, index);
  bool reads = false;
  ForEachRead(each, [&](Value, ir::AffineSpan subs) {
    if (subs.size() < 2 || subs.back().AsValue() != index) return;
    for (size_t k = at + 1; k < each.indices.size(); ++k) {
      reads |= std::any_of(subs.begin(), subs.end() - 1,
                           [&](const Affine& a) { return a.Coeff(each.indices[k].var) != 0; });
    }
  });
  return reads;
}

// Whether the index is in none of these subscripts, and its loop is inside those of their indices: it comes behind them, or
// is the last of a result whose terms are summed row by row (core/loops/columns.h).
bool RunsInside(const Each& each, Value index, const std::vector<ir::AffineSpan>& down) {
  const size_t at = *PlaceOfIndex(each, index);
  const EachResult& r = each.results[0];
  const bool by_rows = each.results.size() == 1 && ir::IsPrefixForm(each, r) &&
                       r.out.size() == at + 1 && ReadsColumnsOf(each, index);
  return std::all_of(down.begin(), down.end(), [&](ir::AffineSpan subs) {
    return std::all_of(subs.begin(), subs.end(), [&](const Affine& a) {
      return a.Coeff(index) == 0 &&
             (by_rows || std::all_of(a.terms.begin(), a.terms.end(), [&](const auto& t) {
                const auto place = PlaceOfIndex(each, t.value);
                return place && *place < at;
              }));
    });
  });
}

}  // namespace

std::vector<ir::AffineSpan> DownColumns(const Each& each, Value first, size_t depth) {
  std::vector<ir::AffineSpan> down;
  const auto look = [&](ir::AffineSpan subs) {
    if (IsDownColumn(each, first, subs, depth)) down.push_back(subs);
  };
  for (const EachResult& r : each.results) look(r.out);
  ForEachRead(each, [&](Value, ir::AffineSpan subs) { look(subs); });
  return down;
}

bool GoesDownColumns(const Each& each, Value first, size_t depth) {
  const std::vector<ir::AffineSpan> down = DownColumns(each, first, depth);
  if (down.empty()) return false;
  return std::none_of(each.indices.begin(), each.indices.end(), [&](const ir::IndexVar& i) {
    return i.var != first && *PlaceOfIndex(each, i.var) >= depth &&
           !WalksAcrossRows(each, i.var, /*with_results=*/true) && RunsInside(each, i.var, down);
  });
}

}  // namespace pullback::tensor
