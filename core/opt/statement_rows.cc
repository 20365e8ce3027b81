#include "core/opt/statement_rows.h"

#include <algorithm>

#include "core/analysis/predicate.h"
#include "core/ir/statements.h"

namespace pullback::opt {
namespace {

using ir::Affine;
using ir::Constraint;
using ir::Value;

constexpr int64_t kMostWork = 200;

// The greatest number, no further from 0 than `most`, that the form is no less than.
std::optional<int64_t> LeastOf(const Affine& form, const std::vector<Constraint>& where,
                               const analysis::Box& box, int64_t most) {
  const std::optional<analysis::Interval> range = box.RangeOf(form);
  for (int64_t least = range ? std::min(most, range->hi) : most; least >= -most; --least) {
    analysis::Work work{kMostWork};
    if (analysis::ProvesImplied(where, {form - Affine::Const(least), false}, box, work))
      return least;
  }
  return std::nullopt;
}

std::vector<Constraint> Both(std::vector<Constraint> a, const std::vector<Constraint>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace

std::optional<StatementRows::Known> StatementRows::KnownAt(const ir::Each& each,
                                                           const ir::Inst& read,
                                                           size_t axis) const {
  analysis::BodyForms forms(each, f_);
  for (const ir::Inst& inst : each.body) forms.Note(inst);
  auto cases = analysis::SubCasesOf(each, f_, forms, outer_, read.subs[axis], read.guard);
  if (!cases) return std::nullopt;
  Known known{*std::move(cases), ir::ConstraintsAt(each, read.guard), outer_.BoxOf(each)};
  const auto describe = [&](Affine& e) { e = outer_.Describe(e, each, known.box); };
  for (Constraint& c : known.where) describe(c.e);
  for (analysis::SubCase& c : known.cases) {
    describe(c.form);
    for (Constraint& said : c.where) describe(said.e);
  }
  return known;
}

std::optional<RowSpan> StatementRows::SpanOf(const ir::Each& each, const ir::Inst& read, Value row,
                                             int64_t step, int64_t most) const {
  const Affine plain = read.subs[0] - Affine::Of(row) * step;
  if (plain.IsConst())
    return -most <= plain.constant && plain.constant <= most
               ? std::optional(RowSpan{plain.constant, plain.constant})
               : std::nullopt;
  std::optional<Known> known = KnownAt(each, read, 0);
  if (!known) return std::nullopt;
  known->where = Both(std::move(known->where), outer_.QuotientsOf(each, known->box));
  std::optional<RowSpan> span;
  for (const analysis::SubCase& c : known->cases) {
    const std::vector<Constraint> where = Both(known->where, c.where);
    analysis::Work work{kMostWork};
    if (analysis::ProvesEmpty(where, known->box, work)) continue;
    const Affine away = c.form - Affine::Of(row) * step;
    const auto first = LeastOf(away, where, known->box, most),
               last = LeastOf(away * -1, where, known->box, most);
    if (!first || !last) return std::nullopt;
    span = span ? RowSpan{std::min(span->first, *first), std::max(span->last, -*last)}
                : RowSpan{*first, -*last};
  }
  return span;
}

bool StatementRows::IsThere(const ir::Each& each, const ir::Inst& read, size_t axis,
                            Value extent) const {
  std::optional<Known> known = extent.valid() ? KnownAt(each, read, axis) : std::nullopt;
  if (!known) return false;
  const auto describe = [&](Value v) { return outer_.Describe(v, known->box); };
  const Affine size = describe(extent);
  known->where = Both(std::move(known->where), outer_.QuotientsOf(each, known->box, extent));
  for (const auto& [a, b] : equal_) {
    if (a == extent || b == extent) known->where.push_back({describe(a) - describe(b), true});
  }
  return std::all_of(known->cases.begin(), known->cases.end(), [&](const analysis::SubCase& c) {
    const std::vector<Constraint> where = Both(known->where, c.where);
    const auto holds = [&](const Affine& e) {
      analysis::Work work{kMostWork};
      return analysis::ProvesImplied(where, {e, false}, known->box, work);
    };
    return holds(c.form) && holds(size - Affine::Const(1) - c.form);
  });
}

}  // namespace pullback::opt
