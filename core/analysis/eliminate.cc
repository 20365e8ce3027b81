#include "core/analysis/eliminate.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <tuple>
#include <utility>

namespace pullback::analysis {

using ir::Affine;
using ir::Constraint;
using ir::Value;

namespace {

__int128 Modulo(__int128 a, int64_t m) {
  const __int128 r = a % m;
  return r < 0 ? r + m : r;
}

// a * x = 1 modulo m, or nullopt: the extended Euclidean algorithm.
std::optional<int64_t> Inverse(int64_t a, int64_t m) {
  __int128 r0 = m, r1 = Modulo(a, m), x0 = 0, x1 = 1;
  while (r1 != 0) {
    const __int128 q = r0 / r1;
    std::tie(r0, r1) = std::pair(r1, r0 - q * r1);
    std::tie(x0, x1) = std::pair(x1, x0 - q * x1);
  }
  if (r0 != 1) return std::nullopt;
  return static_cast<int64_t>(Modulo(x0, m));
}

}  // namespace

std::optional<int64_t> Residue(int64_t a, int64_t c, int64_t m) {
  const int64_t g = std::gcd(a, m);
  if (c % g != 0) return std::nullopt;
  const std::optional<int64_t> inverse = Inverse(a / g, m / g);
  if (!inverse) return std::nullopt;
  return static_cast<int64_t>(Modulo(__int128{-(c / g)} * *inverse, m / g));
}

std::optional<Line> SolveLine(const Affine& zero, Value i, Value j) {
  const int64_t a = zero.Coeff(i), b = zero.Coeff(j), c = zero.constant;
  const int64_t step = std::abs(b);
  const std::optional<int64_t> first = Residue(a, c, step);
  if (!first) return std::nullopt;
  // j = -(a * i + c) / b, along i = first + step * t.
  const __int128 start = -(__int128{a} * *first + c) / b;
  return Line{*first, step, static_cast<int64_t>(start), b > 0 ? -a : a};
}

// --- exists

namespace {

class Exists {
 public:
  Exists(Value v, const Box& box, Work& work) : v_(v), box_(box), work_(work) {}

  std::optional<Predicate> Run(const Predicate& p) {
    if (const Constraint* zero = UnitEquality(p)) return Substituted(p, *zero);
    if (!Sort(p)) return std::nullopt;
    const auto equality = std::find_if(with_.begin(), with_.end(), BestFirst());
    const bool solved = equality != with_.end() ? Solve(Constraint(*equality)) : PairBounds();
    if (!solved) return std::nullopt;
    return std::move(out_);
  }

 private:
  // v = e, which is exact however e wraps.
  const Constraint* UnitEquality(const Predicate& p) const {
    if (!p.strides.empty() || !box_.ExtentOf(v_)) return nullptr;
    for (const Constraint& c : p.constraints) {
      if (c.equality && std::abs(c.e.Coeff(v_)) == 1) return &c;
    }
    return nullptr;
  }

  // 0 <= e and e < extent do not wrap either: the second is asked where the first holds.
  Predicate Substituted(const Predicate& p, const Constraint& zero) const {
    const Affine e = zero.e.Substitute(v_, Affine{}) * -zero.e.Coeff(v_);
    Predicate out;
    for (const Constraint& c : p.constraints) {
      if (&c != &zero) out.constraints.push_back({c.e.Substitute(v_, e), c.equality});
    }
    out.constraints.push_back({e, false});
    out.constraints.push_back({*box_.ExtentOf(v_) - Affine::Const(1) - e, false});
    return out;
  }

  // What has v in it, its range included, and what has not.
  bool Sort(const Predicate& p) {
    std::vector<Constraint> all = p.constraints;
    for (Constraint& c : box_.ConstraintsOf(v_)) all.push_back(std::move(c));
    for (Constraint& c : all) {
      if (c.e.Coeff(v_) == 0) {
        out_.constraints.push_back(std::move(c));
      } else if (box_.IsTame(c.e)) {
        with_.push_back(std::move(c));
      } else {
        return false;
      }
    }
    for (const Stride& s : p.strides) {
      if (s.e.Coeff(v_) != 0 && !box_.IsTame(s.e)) return false;
      (s.e.Coeff(v_) == 0 ? out_.strides : strides_).push_back(s);
    }
    return true;
  }

  // The equality with the least coefficient.
  std::function<bool(const Constraint&)> BestFirst() const {
    int64_t least = INT64_MAX;
    for (const Constraint& c : with_) {
      if (c.equality) least = std::min(least, std::abs(c.e.Coeff(v_)));
    }
    return [this, least](const Constraint& c) {
      return c.equality && std::abs(c.e.Coeff(v_)) == least;
    };
  }

  // k * v + rest = 0, k > 0: v exists where rest is a multiple of k and the others hold of -rest / k.
  bool Solve(const Constraint& zero) {
    const int64_t sign = zero.e.Coeff(v_) > 0 ? 1 : -1, k = sign * zero.e.Coeff(v_);
    const Affine rest = zero.e.Substitute(v_, Affine{}) * sign;
    for (const Constraint& c : with_) {
      if (c == zero) continue;
      const auto e = Combine(k, c.e.Substitute(v_, Affine{}), -c.e.Coeff(v_), rest);
      if (!e || !work_.Spend()) return false;
      out_.constraints.push_back({*e, c.equality});
    }
    if (k != 1) out_.strides.push_back({rest, k});
    for (const Stride& s : strides_) {
      const auto e = Combine(k, s.e.Substitute(v_, Affine{}), -s.e.Coeff(v_), rest);
      int64_t multiple = 0;
      if (!e || !work_.Spend() || __builtin_mul_overflow(s.k, k, &multiple)) return false;
      out_.strides.push_back({*e, multiple});
    }
    return true;
  }

  // lower <= v <= upper for every pair: exact where one of the two is not of a multiple of v.
  bool PairBounds() {
    if (!strides_.empty()) return false;
    for (const Constraint& low : with_) {
      const int64_t a = low.e.Coeff(v_);
      for (const Constraint& high : with_) {
        const int64_t b = -high.e.Coeff(v_);
        if (a < 0 || b < 0) continue;
        const auto e = Combine(b, low.e, a, high.e);
        if ((a != 1 && b != 1) || !e || !work_.Spend()) return false;
        out_.constraints.push_back({*e, false});
      }
    }
    return true;
  }

  const Value v_;
  const Box& box_;
  Work& work_;
  std::vector<Constraint> with_;
  std::vector<Stride> strides_;
  Predicate out_;
};

}  // namespace

std::optional<Predicate> EliminateExists(Value v, const Predicate& p, const Box& box, Work& work) {
  return p.quotients.empty() ? Exists(v, box, work).Run(p) : std::nullopt;
}

}  // namespace pullback::analysis
