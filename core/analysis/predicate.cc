#include "core/analysis/predicate.h"

#include <algorithm>
#include <numeric>

namespace pullback::analysis {

using ir::Affine;
using ir::Constraint;

namespace {

// Beyond this many constraints the comparison of each with each is left out.
constexpr size_t kMaxCompared = 64;

int64_t GcdOfCoefficients(const Affine& e) {
  int64_t g = 0;
  for (const Affine::Term& t : e.terms) g = std::gcd(g, t.coeff);
  return g;
}

void DivideTerms(Affine& e, int64_t by) {
  for (Affine::Term& t : e.terms) t.coeff /= by;
}

Truth OfConstant(const Constraint& c) {
  const bool holds = c.equality ? c.e.constant == 0 : c.e.constant >= 0;
  return holds ? Truth::kTrue : Truth::kFalse;
}

Truth EqualityInBox(const Affine& e, const Box& box) {
  const Affine one = Affine::Const(1);
  const bool above = box.IsNonNegative(e - one) == Truth::kTrue;
  const bool below = box.IsNonNegative(e * -1 - one) == Truth::kTrue;
  return above || below ? Truth::kFalse : Truth::kUnknown;
}

}  // namespace

int64_t FloorDiv(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

std::optional<Interval> RangeOf(const Quotient& q, const Box& box) {
  const std::optional<Interval> range = box.RangeOf(q.e);
  if (!range) return std::nullopt;
  return Interval{FloorDiv(range->lo, q.d), FloorDiv(range->hi, q.d)};
}

Truth LowestTerms(Constraint& c) {
  if (c.e.IsConst()) return OfConstant(c);
  const int64_t g = GcdOfCoefficients(c.e);
  if (c.equality && c.e.constant % g != 0) return Truth::kFalse;
  if (g != 1) {
    DivideTerms(c.e, g);
    c.e.constant = FloorDiv(c.e.constant, g);
  }
  if (c.equality && c.e.terms[0].coeff < 0) c.e = c.e * -1;
  return Truth::kUnknown;
}

Truth Normalise(Constraint& c, const Box& box) {
  if (!c.e.IsConst() && !box.IsTame(c.e)) return Truth::kUnknown;
  const Truth t = LowestTerms(c);
  if (t != Truth::kUnknown) return t;
  return c.equality ? EqualityInBox(c.e, box) : box.IsNonNegative(c.e);
}

Truth Normalise(Stride& s, const Box& box) {
  if (!box.IsTame(s.e)) return Truth::kUnknown;
  const int64_t g = std::gcd(GcdOfCoefficients(s.e), s.k);
  if (s.e.constant % g != 0) return Truth::kFalse;
  DivideTerms(s.e, g);
  s.e.constant /= g;
  s.k /= g;
  // What is a multiple of k anyway goes.
  for (Affine::Term& t : s.e.terms) t.coeff %= s.k;
  s.e.constant %= s.k;
  Canonicalise(s.e);
  if (s.k == 1 || s.e == Affine{}) return Truth::kTrue;
  return s.e.IsConst() ? Truth::kFalse : Truth::kUnknown;
}

// --- conjunctions

namespace {

// Whether the terms of x are those of y (1), or their negatives (-1); 0: neither.
int Direction(const Affine& x, const Affine& y) {
  if (x.terms == y.terms) return 1;
  return x.terms == (y * -1).terms ? -1 : 0;
}

enum class Pair : uint8_t { kBoth, kFirst, kSecond, kEquality, kNone };

Pair JoinInequalities(const Affine& x, const Affine& y, int sign) {
  if (sign > 0) return x.constant <= y.constant ? Pair::kFirst : Pair::kSecond;
  const int64_t gap = x.constant + y.constant;  // x.constant >= -t >= -y.constant
  if (gap < 0) return Pair::kNone;
  return gap == 0 ? Pair::kEquality : Pair::kBoth;
}

// x = 0 beside y >= 0 or y = 0, parallel: x's terms are -x.constant.
Pair JoinWithEquality(const Affine& x, const Constraint& y, int sign) {
  const Constraint there{Affine::Const(y.e.constant - sign * x.constant), y.equality};
  return OfConstant(there) == Truth::kTrue ? Pair::kFirst : Pair::kNone;
}

// What of two constraints is needed.
Pair Join(const Constraint& x, const Constraint& y, const Box& box) {
  if (!box.IsTame(x.e) || !box.IsTame(y.e)) return x == y ? Pair::kFirst : Pair::kBoth;
  const int sign = Direction(x.e, y.e);
  if (sign != 0 && x.equality) return JoinWithEquality(x.e, y, sign);
  if (sign != 0 && y.equality) {
    return JoinWithEquality(y.e, x, sign) == Pair::kNone ? Pair::kNone : Pair::kSecond;
  }
  if (sign != 0) return JoinInequalities(x.e, y.e, sign);
  if (x.equality || y.equality) return Pair::kBoth;
  // One from the other by the box: x = y + something that is never negative.
  if (box.IsNonNegative(y.e - x.e) == Truth::kTrue) return Pair::kFirst;
  if (box.IsNonNegative(x.e - y.e) == Truth::kTrue) return Pair::kSecond;
  return Pair::kBoth;
}

// False: two of them cannot hold together.
bool JoinPairs(std::vector<Constraint>& all, const Box& box) {
  if (all.size() > kMaxCompared) return true;
  std::vector<char> dropped(all.size());
  for (size_t i = 0; i < all.size(); ++i) {
    for (size_t j = i + 1; j < all.size() && !dropped[i]; ++j) {
      if (dropped[j]) continue;
      switch (Join(all[i], all[j], box)) {
        case Pair::kBoth: break;
        case Pair::kFirst: dropped[j] = 1; break;
        case Pair::kSecond: dropped[i] = 1; break;
        case Pair::kNone: return false;
        case Pair::kEquality:
          all[i].equality = true;
          dropped[j] = 1;
          j = i;  // the equality may say more about those that were passed
          break;
      }
    }
  }
  size_t at = 0;
  std::erase_if(all, [&](const Constraint&) { return dropped[at++] != 0; });
  return true;
}

// In lowest terms, without those that the box implies.
bool NormaliseAll(std::vector<Constraint>& all, const Box& box) {
  std::vector<Constraint> kept;
  for (Constraint& c : all) {
    const Truth t = Normalise(c, box);
    if (t == Truth::kFalse) return false;
    if (t == Truth::kUnknown) kept.push_back(std::move(c));
  }
  all = std::move(kept);
  return true;
}

}  // namespace

Truth Simplify(std::vector<Constraint>& constraints, const Box& box, Work& work) {
  if (!NormaliseAll(constraints, box) || !JoinPairs(constraints, box)) return Truth::kFalse;
  if (!NormaliseAll(constraints, box)) return Truth::kFalse;  // equalities that were joined
  if (constraints.empty()) return Truth::kTrue;
  // The corners have decided about a single one.
  if (constraints.size() == 1 && !constraints[0].equality) return Truth::kUnknown;
  return ProvesEmpty(constraints, box, work) ? Truth::kFalse : Truth::kUnknown;
}

Truth Simplify(Predicate& p, const Box& box, Work& work) {
  const Truth constraints = Simplify(p.constraints, box, work);
  if (constraints == Truth::kFalse) return constraints;
  std::vector<Stride> kept;
  for (Stride& s : p.strides) {
    const Truth t = Normalise(s, box);
    if (t == Truth::kFalse) return t;
    if (t == Truth::kUnknown && std::find(kept.begin(), kept.end(), s) == kept.end())
      kept.push_back(std::move(s));
  }
  p.strides = std::move(kept);
  return p.strides.empty() ? constraints : Truth::kUnknown;
}

bool ProvesImplied(ir::ConstraintSpan constraints, const Constraint& c, const Box& box,
                   Work& work) {
  const auto negated = Negate(c, box);
  if (!negated) return std::find(constraints.begin(), constraints.end(), c) != constraints.end();
  return std::all_of(negated->begin(), negated->end(), [&](const Constraint& n) {
    std::vector<Constraint> all = ir::ToVector(constraints);
    all.push_back(n);
    return ProvesEmpty(all, box, work);
  });
}

std::optional<std::vector<Constraint>> Negate(const Constraint& c, const Box& box) {
  if (!box.IsTame(c.e)) return std::nullopt;
  const Affine one = Affine::Const(1);
  std::vector<Constraint> either{{c.e * -1 - one, false}};
  if (c.equality) either.push_back({c.e - one, false});
  return either;
}

}  // namespace pullback::analysis
