#include "core/ad/pattern_pieces.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "core/analysis/eliminate.h"
#include "core/analysis/isl_solver.h"
#include "core/analysis/predicate.h"
#include "core/base/work.h"

namespace pullback::ad {

using analysis::Predicate;
using analysis::Truth;
using ir::Affine;
using ir::Constraint;
using ir::Value;

namespace {

constexpr size_t kMaxPieces = 16, kMaxPoints = 8, kMaxConstraints = 24;
constexpr size_t kStepsOfReduce = 64;  // about, of core/base/work.h

// point < extent where point >= 0 is known, and both.
Constraint Below(const Affine& e, const Affine& extent) {
  return {extent - e - Affine::Const(1), false};
}

std::vector<Constraint> WithRanges(const PatternPiece& piece) {
  std::vector<Constraint> all = piece.where;
  for (const PatternPoint& p : piece.points) {
    all.push_back({Affine::Of(p.var), false});
    all.push_back(Below(Affine::Of(p.var), p.extent));
  }
  return all;
}

}  // namespace

void SubstitutePoint(PatternIntegers& integers, PatternPiece& piece, Value point,
                     const Affine& by) {
  for (Affine& e : piece.element) e = integers.Substitute(e, point, by);
  for (Constraint& c : piece.where) c.e = integers.Substitute(c.e, point, by);
  std::erase_if(piece.points, [&](const PatternPoint& p) { return p.var == point; });
}

bool PatternPieces::InElement(const PatternPiece& piece, Value point) const {
  return std::any_of(piece.element.begin(), piece.element.end(),
                     [&](const Affine& e) { return all_.Mentions(e, point); });
}

// The point of c = 0, where that is one form.
std::optional<Affine> PatternPieces::Solved(const Constraint& c, Value point) const {
  const int64_t coeff = c.e.Coeff(point);
  if (!c.equality || std::abs(coeff) != 1 || all_.Reads(c.e, point)) return std::nullopt;
  return c.e.Substitute(point, Affine{}) * -coeff;
}

// An equality determines a point: rather one that no element speaks of, or the last.
bool PatternPieces::SolveOne(PatternPiece& piece) {
  for (const bool in_element : {false, true}) {
    for (size_t k = piece.points.size(); k-- > 0;) {
      const PatternPoint point = piece.points[k];
      if (InElement(piece, point.var) != in_element) continue;
      for (size_t c = 0; c < piece.where.size(); ++c) {
        const std::optional<Affine> by = Solved(piece.where[c], point.var);
        if (!by) continue;
        piece.where.erase(piece.where.begin() + static_cast<ptrdiff_t>(c));
        SubstitutePoint(all_, piece, point.var, *by);
        piece.where.push_back({*by, false});
        piece.where.push_back(Below(*by, point.extent));
        return true;
      }
    }
  }
  return false;
}

// A point that no element speaks of, and for which some value is enough. False: there is none, or it stays.
bool PatternPieces::Eliminate(PatternPiece& piece, std::vector<PatternPiece>& more) {
  for (const PatternPoint& point : piece.points) {
    const auto read = [&](const Constraint& c) { return all_.Reads(c.e, point.var); };
    if (InElement(piece, point.var) || std::any_of(piece.where.begin(), piece.where.end(), read))
      continue;
    Predicate with;
    PatternPiece rest = piece;
    std::erase_if(rest.points, [&](const PatternPoint& p) { return p.var == point.var; });
    rest.where.clear();
    for (const Constraint& c : piece.where)
      (c.e.Coeff(point.var) == 0 ? rest.where : with.constraints).push_back(c);
    analysis::Work work;
    std::optional<std::vector<Predicate>> without;
    if (auto one = analysis::EliminateExists(point.var, with, all_.box(), work)) {
      without = {{std::move(*one)}};
    } else {
      without = analysis::IslExists({point.var}, with, all_.box());
    }
    const auto more_than_rows = [](const Predicate& p) {
      return !p.strides.empty() || !p.quotients.empty();
    };
    if (!without || std::any_of(without->begin(), without->end(), more_than_rows)) continue;
    for (const Predicate& p : *without) {
      more.push_back(rest);
      more.back().where.insert(more.back().where.end(), p.constraints.begin(), p.constraints.end());
    }
    return true;
  }
  return false;
}

// What the points' ranges and the other constraints say.
void PatternPieces::DropImplied(PatternPiece& piece) const {
  for (size_t k = piece.where.size(); k-- > 0;) {
    PatternPiece others = piece;
    others.where.erase(others.where.begin() + static_cast<ptrdiff_t>(k));
    analysis::Work work;
    if (analysis::ProvesImplied(WithRanges(others), piece.where[k], all_.box(), work))
      piece = std::move(others);
  }
}

PatternPieces::Left PatternPieces::Reduce(PatternPiece& piece, std::vector<PatternPiece>& more) {
  for (;;) {
    Spend(kStepsOfReduce);
    if (piece.points.size() > 2 * kMaxPoints || piece.where.size() > 2 * kMaxConstraints)
      return Left::kTooMuch;
    analysis::Work work;
    if (analysis::Simplify(piece.where, all_.box(), work) == Truth::kFalse) return Left::kNothing;
    if (SolveOne(piece)) continue;
    if (Eliminate(piece, more)) return Left::kNothing;
    break;
  }
  analysis::Work work;
  if (analysis::ProvesEmpty(WithRanges(piece), all_.box(), work)) return Left::kNothing;
  DropImplied(piece);
  const bool fits = piece.points.size() <= kMaxPoints && piece.where.size() <= kMaxConstraints;
  return fits ? Left::kPiece : Left::kTooMuch;
}

bool PatternPieces::Add(PatternPiece piece) {
  std::vector<PatternPiece> work = {std::move(piece)};
  for (size_t steps = 0; !work.empty(); ++steps) {
    PatternPiece next = std::move(work.back());
    work.pop_back();
    const Left left = steps > 4 * kMaxPieces ? Left::kTooMuch : Reduce(next, work);
    if (left == Left::kTooMuch) return false;
    if (left == Left::kNothing) continue;
    const auto covers = [&](const PatternPiece& p) { return Covers(p, next); };
    if (std::any_of(pieces_.begin(), pieces_.end(), covers)) continue;
    std::erase_if(pieces_, [&](const PatternPiece& p) { return Covers(next, p); });
    pieces_.push_back(std::move(next));
  }
  return pieces_.size() <= kMaxPieces;
}

bool PatternPieces::IsWhole(const PatternPiece& piece, const PatternPoint& point) const {
  for (size_t axis = 0; axis < extents_.size(); ++axis) {
    if (piece.element[axis] == Affine::Of(point.var) && extents_[axis] == point.extent) return true;
  }
  return false;
}

// 1 <= extent: what is summed is not nothing.
bool PatternPieces::SaysSomething(const Constraint& c) const {
  const auto extent = all_.atoms().find((c.e + Affine::Const(1)).AsValue());
  return !c.equality && extent != all_.atoms().end() && extent->second.op == ir::Op::Dim;
}

bool PatternPieces::IsEverything(const PatternPiece& piece) const {
  return piece.points.size() == extents_.size() &&
         std::all_of(piece.where.begin(), piece.where.end(),
                     [&](const Constraint& c) { return SaysSomething(c); }) &&
         std::all_of(piece.points.begin(), piece.points.end(),
                     [&](const PatternPoint& p) { return IsWhole(piece, p); });
}

// With points of its own: pieces that come from one have points in common.
PatternPiece PatternPieces::Apart(const PatternPiece& piece) {
  PatternPiece out = piece;
  for (size_t k = 0; k < piece.points.size(); ++k) {
    const PatternPoint& point = piece.points[k];
    if (k == apart_.size()) apart_.push_back(all_.NewPoint({}, point.extent).var);
    SubstitutePoint(all_, out, point.var, Affine::Of(apart_[k]));
  }
  for (size_t k = 0; k < piece.points.size(); ++k)
    out.points.push_back({apart_[k], piece.points[k].extent});
  return out;
}

// Every element of `inner` is one of `outer`: its points are found from the element, and hold.
bool PatternPieces::Covers(const PatternPiece& outer, const PatternPiece& inner) {
  const PatternPiece from = Apart(outer);
  PatternPiece at = from;
  std::vector<Constraint> needed;
  for (const PatternPoint& point : from.points) {
    const auto axis = std::find(from.element.begin(), from.element.end(), Affine::Of(point.var));
    if (axis == from.element.end()) continue;
    const Affine& by = inner.element[static_cast<size_t>(axis - from.element.begin())];
    SubstitutePoint(all_, at, point.var, by);
    if (IsWhole(from, point)) continue;
    needed.push_back({by, false});
    needed.push_back(Below(by, point.extent));
  }
  // Others stand for each other in their order.
  for (const PatternPoint& point : inner.points) {
    if (at.points.empty() || InElement(inner, point.var) != InElement(at, at.points[0].var))
      continue;
    if (at.points[0].extent == point.extent)
      SubstitutePoint(all_, at, at.points[0].var, Affine::Of(point.var));
  }
  if (!at.points.empty() || at.element != inner.element) return false;
  needed.insert(needed.end(), at.where.begin(), at.where.end());
  const std::vector<Constraint> known = WithRanges(inner);
  return std::all_of(needed.begin(), needed.end(), [&](const Constraint& c) {
    analysis::Work work;
    return analysis::ProvesImplied(known, c, all_.box(), work);
  });
}

void PatternPieces::Join() {
  for (size_t k = 0; k < pieces_.size(); ++k) {
    for (size_t c = 0; c < pieces_[k].where.size(); ++c) {
      if (pieces_[k].where[c].equality) continue;
      // The points just beside the constraint.
      PatternPiece edge = pieces_[k];
      edge.where[c].e = edge.where[c].e + Affine::Const(1);
      PatternPiece wider = edge;
      edge.where[c].equality = true;
      std::vector<PatternPiece> more;
      if (Reduce(edge, more) != Left::kPiece) continue;
      const auto beside = std::find_if(pieces_.begin(), pieces_.end(), [&](const PatternPiece& p) {
        return Covers(p, edge) && Covers(edge, p);
      });
      if (beside == pieces_.end() || Reduce(wider, more) != Left::kPiece) continue;
      pieces_[k] = std::move(wider);
      pieces_.erase(beside);
      return Join();
    }
  }
}

}  // namespace pullback::ad
