#include "tests/core/analysis/points.h"

#include <algorithm>

namespace pullback::analysis {

using ir::Affine;
using ir::Constraint;
using ir::Value;
using S = SmallBox;

SmallBox::SmallBox() {
  box.AddValue(n, {0, kMaxExtentOf});
  box.AddValue(m, {0, kMaxExtentOf});
  box.AddValue(p, {-kMostP, kMostP});
  box.AddIndex(i, Affine::Of(n));
  box.AddIndex(j, Affine::Of(m));
  box.AddIndex(k, Affine::Const(3));
}

int64_t Eval(const Affine& e, const Point& at) {
  int64_t sum = e.constant;
  for (const Affine::Term& t : e.terms) sum += t.coeff * at.at(t.value);
  return sum;
}

bool Holds(const Constraint& c, const Point& at) {
  const int64_t e = Eval(c.e, at);
  return c.equality ? e == 0 : e >= 0;
}

bool Holds(const std::vector<Constraint>& all, const Point& at) {
  return std::all_of(all.begin(), all.end(), [&](const Constraint& c) { return Holds(c, at); });
}

bool Holds(const Predicate& p, Point at) {
  for (const Quotient& q : p.quotients) at[q.name] = FloorDiv(Eval(q.e, at), q.d);
  return Holds(p.constraints, at) &&
         std::all_of(p.strides.begin(), p.strides.end(),
                     [&](const Stride& s) { return Eval(s.e, at) % s.k == 0; });
}

void ForEachPoint(const std::function<void(const Point&)>& fn) {
  Point at;
  const auto loop = [&](Value v, int64_t from, int64_t to, const auto& inner) {
    for (at[v] = from; at[v] < to; ++at[v]) inner();
  };
  const auto indices = [&] {
    loop(S::i, 0, at[S::n],
         [&] { loop(S::j, 0, at[S::m], [&] { loop(S::k, 0, 3, [&] { fn(at); }); }); });
  };
  loop(S::n, 0, S::kMaxExtentOf + 1, [&] {
    loop(S::m, 0, S::kMaxExtentOf + 1, [&] { loop(S::p, -S::kMostP, S::kMostP + 1, indices); });
  });
}

Affine RandomForm(std::mt19937& random) {
  const auto below = [&](int n) {
    return static_cast<int64_t>(random() % static_cast<unsigned>(n));
  };
  Affine e = Affine::Const(below(9) - 4);
  for (const Value v : {S::i, S::j, S::k, S::n, S::m, S::p}) {
    if (below(v.id < 3 ? 2 : 4) == 0) e = e + Affine::Of(v) * (below(9) - 4);
  }
  return e;
}

Constraint RandomConstraint(std::mt19937& random) {
  return {RandomForm(random), random() % 4 == 0};
}

std::vector<Constraint> RandomConstraints(std::mt19937& random, size_t most) {
  std::vector<Constraint> all(random() % (most + 1));
  for (Constraint& c : all) c = RandomConstraint(random);
  return all;
}

Predicate RandomPredicate(std::mt19937& random) {
  Predicate p{RandomConstraints(random, 4), {}};
  if (random() % 3 == 0)
    p.strides.push_back({RandomForm(random), 2 + static_cast<int64_t>(random() % 4)});
  return p;
}

}  // namespace pullback::analysis
