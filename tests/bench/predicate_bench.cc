// What questions to the predicate algebra cost: microseconds, and combinations of constraints.
//
//   bench_predicate
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <vector>

#include "core/analysis/eliminate.h"
#include "core/analysis/isl_solver.h"

namespace pullback::bench {
namespace {

using namespace analysis;
using ir::Affine;
using ir::Constraint;
using ir::Value;

constexpr Value kI{0}, kJ{1}, kK{2}, kN{3}, kM{4};
Affine I(int64_t k = 1) { return Affine::Of(kI) * k; }
Affine J(int64_t k = 1) { return Affine::Of(kJ) * k; }
Affine K(int64_t k = 1) { return Affine::Of(kK) * k; }
Affine N() { return Affine::Of(kN); }
Affine C(int64_t k) { return Affine::Const(k); }

// i, j < n and k < m, extents of arrays.
Box ArrayBox() {
  Box box;
  for (Value v : {kN, kM}) box.AddValue(v, {0, kMaxExtent});
  box.AddIndex(kI, N());
  box.AddIndex(kJ, N());
  box.AddIndex(kK, Affine::Of(kM));
  return box;
}

// The median of batches.
double Microseconds(const std::function<void()>& ask) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> times;
  for (int batch = 0; batch < 15; ++batch) {
    int count = 0;
    const auto start = Clock::now();
    for (; Clock::now() - start < std::chrono::milliseconds(4); ++count) ask();
    times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count() /
                    count);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

void Row(const char* name, const std::function<void(Work&)>& ask) {
  Work work;
  ask(work);
  const double us = Microseconds([&] {
    Work each;
    ask(each);
  });
  std::printf("%-58s %10.2f %6lld\n", name, us, static_cast<long long>(work.steps));
}

void Run() {
  const Box box = ArrayBox();
  const auto simplify = [&](std::vector<Constraint> all) {
    return [&box, all](Work& work) {
      std::vector<Constraint> copy = all;
      Simplify(copy, box, work);
    };
  };
  const auto exists = [&](Predicate p) {
    return [&box, p](Work& work) { EliminateExists(kK, p, box, work); };
  };
  std::printf("%-58s %10s %6s\n", "", "us", "steps");
  Row("stencil: 0 <= i - 1 and i + 1 < n",
      simplify({{I() - C(1), false}, {N() - C(2) - I(), false}}));
  Row("implied by the box: i < n and 0 <= j", simplify({{N() - C(1) - I(), false}, {J(), false}}));
  Row("triangle: j <= i", simplify({{I() - J(), false}}));
  Row("contradiction: i < j and j < i",
      simplify({{J() - I() - C(1), false}, {I() - J() - C(1), false}}));
  Row("parity: 2i = 2j + 1", simplify({{I(2) - J(2) - C(1), true}}));
  Row("cycle: i < j, j < k, k <= i, by elimination",
      simplify({{J() - I() - C(1), false}, {K() - J() - C(1), false}, {I() - K(), false}}));
  Row("exists k: k = i + 1", exists({{{K() - I() - C(1), true}}, {}}));
  Row("exists k: 2k = i", exists({{{K(2) - I(), true}}, {}}));
  Row("exists k: i <= k and k < j", exists({{{K() - I(), false}, {J() - K() - C(1), false}}, {}}));
  Row("the points of 2i = 3j", [](Work&) { SolveLine(I(2) - J(3), kI, kJ); });
  const Predicate multiples{{{I() - K(2), false}, {K(2) + C(1) - I(), false}}, {}};
  Row("isl: exists k: 2k <= i <= 2k + 1", [&](Work&) { IslExists({kK}, multiples, box); });
  const Predicate uneven{{{I(3) - J(2) - K(4) - C(1), true}, {I(2) - J(2) + C(1), true}}, {}};
  Row("isl: 3i = 2j + 4k + 1 and 2i = 2j - 1 is empty", [&](Work&) { IslIsEmpty(uneven, box); });
  Row("isl: the same at its cap", [&](Work&) { IslIsEmpty(uneven, box, {1, 4}); });
}

}  // namespace
}  // namespace pullback::bench

int main() { pullback::bench::Run(); }
