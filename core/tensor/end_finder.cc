#include "core/tensor/end_finder.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "core/tensor/statement_edit.h"

namespace pullback::tensor {

using ir::Affine;
using ir::Constraint;
using ir::Each;

EndFinder::EndFinder(const Each& reader, size_t inst, ir::ValueSpan shape, const ReadRanges& ranges,
                     const FrontChecks& checks, std::vector<Constraint> checked)
    : reader_(reader),
      inst_(inst),
      guard_(reader.body[inst].guard),
      shape_(shape),
      ranges_(ranges),
      checks_(checks),
      checked_(std::move(checked)) {}

std::optional<Affine> EndFinder::Decided(const std::vector<analysis::SubCase>& cases) const {
  std::vector<analysis::SubCase> there;
  for (const analysis::SubCase& one : cases) {
    if (!IsNever(one.where)) there.push_back(one);
  }
  return CommonForm(there);
}

std::optional<EndFinder::Found> EndFinder::Find(const PlaceWindow& window,
                                                const std::vector<analysis::SubCase>& cases) {
  window_ = window;
  found_.rows = {reader_.body[inst_].args[0], window.count, std::nullopt, {}};
  for (const analysis::SubCase& one : cases) {
    if (!IsNever(one.where) && !EndsRun(one) && !Place(one)) return std::nullopt;
  }
  return SetEnds() && AreThere() ? std::optional(found_) : std::nullopt;
}

std::vector<Constraint> EndFinder::Known(ir::ConstraintSpan where) const {
  std::vector<Constraint> known = checked_;
  known.insert(known.end(), where.begin(), where.end());
  return known;
}

std::optional<EndFinder::Placed> EndFinder::AlongPlaces(const analysis::SubCase& one) const {
  Placed placed{&one, one.form.Coeff(window_.index), {}};
  placed.rest = one.form - window_.at * placed.c;
  const bool is_of_outside =
      std::none_of(placed.rest.terms.begin(), placed.rest.terms.end(),
                   [&](const Affine::Term& t) { return PlaceOfIndex(reader_, t.value); });
  return is_of_outside ? std::optional(placed) : std::nullopt;
}

// Of a case that is there at the first point if one condition on numbers from outside holds: that condition. So is the case of n <= 1 in
// `z[if abs(i - 1) < n { abs(i - 1) } else { 2 * n - 2 - abs(i - 1) }]`.
std::optional<Constraint> EndFinder::OpenAtFirst(const analysis::SubCase& one) const {
  std::vector<Constraint> open;
  for (const Constraint& c : one.where) {
    const std::optional<bool> holds = ranges_.HoldsAtFirst(reader_, c, checked_);
    if (holds == false) return std::nullopt;
    if (holds == true) continue;
    open.push_back(c);
    for (const ir::IndexVar& i : reader_.indices)
      open.back().e = open.back().e.Substitute(i.var, {});
  }
  return open.size() == 1 && !open[0].equality ? std::optional(open[0]) : std::nullopt;
}

// Whether the case is of the first place alone, and its row never there: a check in front says so, behind which the case is gone.
bool EndFinder::EndsRun(const analysis::SubCase& one) {
  const std::optional<Placed> placed = AlongPlaces(one);
  const std::optional<Constraint> open = placed ? OpenAtFirst(one) : std::nullopt;
  if (!open) return false;
  const Affine row = placed->RowAt({}), last = Affine::Of(shape_[0]) - Affine::Const(1);
  std::vector<Constraint> places = one.where;
  places.push_back({window_.at, true});
  std::vector<Constraint> there = places;
  there.insert(there.end(), {{row, false}, {last - row, false}});
  if (IsNever(places) || !IsNever(there)) return false;
  std::optional<RowCheck> check =
      checks_.CheckOf(reader_, inst_, row, shape_, Known({*open}), places);
  if (!check) return false;
  // It fails wherever the condition holds, whether the read is evaluated or not.
  std::vector<Constraint> passed = Known({*open});
  check->AddTo(passed);
  const Constraint closed{open->e * -1 - Affine::Const(1), false};
  std::vector<Constraint> behind = one.where;
  behind.push_back(closed);
  if (!ranges_.IsNever(reader_, {}, passed) || !IsNever(behind)) return false;
  check->where = open;
  found_.checks.push_back(*check);
  checked_.push_back(closed);
  return true;
}

namespace {

// The least number that it holds for, and more.
template <typename Fn>
std::optional<int64_t> FarthestOf(Fn&& holds) {
  if (!holds(kMostAway)) return std::nullopt;
  int64_t far = 0;
  while (!holds(far)) ++far;
  return far;
}

}  // namespace

// In front, behind, or all along.
bool EndFinder::Place(const analysis::SubCase& one) {
  const Affine& at = window_.at;
  std::optional<Placed> placed = AlongPlaces(one);
  if (!placed) return false;
  const std::vector<Constraint> known = Known(one.where);
  // Both of few rows.
  const auto in_front = FarthestOf([&](int64_t far) {
    return ranges_.IsFromZero(reader_, guard_, Affine::Const(far) - at, known);
  });
  const auto behind = FarthestOf([&](int64_t far) {
    return ranges_.IsFromZero(reader_, guard_, at - Last() + Affine::Const(far), known);
  });
  if (in_front && (!behind || *in_front <= *behind)) {
    front_ = std::max(front_, *in_front);
  } else if (behind) {
    behind_ = std::max(behind_, *behind);
  } else {
    const bool is_shift =
        placed->c == 1 && placed->rest.IsConst() && std::abs(placed->rest.constant) <= kMostAway;
    std::optional<int64_t>& shift = found_.rows.shift;
    if (!is_shift || (shift && *shift != placed->rest.constant)) return false;
    shift = placed->rest.constant;
    middle_.push_back(one);
  }
  placed_.push_back(*std::move(placed));
  return true;
}

// Which all of them have where they are.
std::optional<Affine> EndFinder::CommonForm(const std::vector<analysis::SubCase>& there) const {
  for (const analysis::SubCase& one : there) {
    const bool is_common =
        std::all_of(there.begin(), there.end(), [&](const analysis::SubCase& other) {
          const Affine more = other.form - one.form;
          const std::vector<Constraint> known = Known(other.where);
          return more == Affine() || (ranges_.IsFromZero(reader_, guard_, more, known) &&
                                      ranges_.IsFromZero(reader_, guard_, more * -1, known));
        });
    if (is_common) return one.form;
  }
  return std::nullopt;
}

// Those of some point at that place, by the row that they name there.
std::vector<analysis::SubCase> EndFinder::CasesAt(const Affine& place, bool in_front) const {
  std::vector<analysis::SubCase> there;
  for (const Placed& p : placed_) {
    std::vector<Constraint> where = p.of_case->where;
    where.push_back({window_.at - place, true});
    if (!in_front) where.push_back({window_.at - Affine::Const(front_ + 1), false});
    if (!IsNever(where)) there.push_back({std::move(where), p.RowAt(place)});
  }
  return there;
}

bool EndFinder::SetEnds() {
  for (int64_t far = 0; far <= front_; ++far) {
    if (!SetEnd(far, true)) return false;
  }
  for (int64_t far = 0; far <= behind_; ++far) {
    if (!SetEnd(far, false)) return false;
  }
  return !found_.rows.ends.empty();
}

// The row at that place, counted from the end, is that of the places beyond it if these have the same.
bool EndFinder::SetEnd(int64_t far, bool in_front) {
  const Affine place = in_front ? Affine::Const(far) : Last() - Affine::Const(far);
  const std::vector<analysis::SubCase> there = CasesAt(place, in_front);
  if (there.empty()) return true;
  const std::optional<Affine> row = CommonForm(there);
  if (!row) return false;
  EndedRows& of = found_.rows;
  if (of.shift && *row == place + Affine::Const(*of.shift)) {
    middle_.insert(middle_.end(), there.begin(), there.end());
    return !in_front || behind_ < 0;  // or else an end behind would take its place
  }
  const int64_t sign = in_front ? -1 : 1;
  const Affine bound = place * -sign;
  if (far > 0 && !of.ends.empty() &&
      of.ends.back() == End{sign, bound - Affine::Const(1), false, *row}) {
    of.ends.back().bound = bound;
    return true;
  }
  of.ends.push_back({sign, bound, far > 0, *row});
  return of.ends.size() <= kMostEnds;
}

// What is known where the end is read: an end in front of it is not there.
std::vector<Constraint> EndFinder::PlacesOf(const End& end) const {
  std::vector<Constraint> places = {{window_.at * end.sign + end.bound, end.equality}};
  if (end.sign > 0) places.push_back({window_.at - Affine::Const(front_ + 1), false});
  return places;
}

bool EndFinder::AreThere() {
  for (const End& end : found_.rows.ends) {
    const std::vector<Constraint> places = PlacesOf(end);
    if (ranges_.IsInRange(reader_, guard_, end.row, shape_[0], Known(places))) continue;
    const auto check = checks_.CheckOf(reader_, inst_, end.row, shape_, checked_, places);
    if (!check) return false;
    found_.checks.push_back(*check);
    check->AddTo(checked_);
  }
  return std::all_of(middle_.begin(), middle_.end(), [&](const analysis::SubCase& one) {
    return ranges_.IsInRange(reader_, guard_, one.form, shape_[0], Known(one.where));
  });
}

}  // namespace pullback::tensor
