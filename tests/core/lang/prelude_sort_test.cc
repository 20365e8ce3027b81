// sort, argsort, searchsorted of the prelude against the standard library.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "tests/core/lang/lower_support.h"

namespace pullback::lang {
namespace {

bool Before(double a, double b) { return a < b || (!std::isnan(a) && std::isnan(b)); }

// Few different values, so that many are equal.
std::vector<double> Draw(std::mt19937& random, size_t n) {
  const double values[] = {-1,
                           0,
                           0.5,
                           2,
                           std::numeric_limits<double>::infinity(),
                           -std::numeric_limits<double>::infinity(),
                           std::nan("")};
  std::vector<double> x(n);
  for (double& v : x) v = values[random() % std::size(values)];
  return x;
}

TEST_CASE("Prelude: argsort is stable, with NaN last") {
  const ir::Module module =
      LowerText("fn f(x: [n]f64) -> ([n]i64, [n]f64) { return (argsort(x), sort(x)) }");
  std::mt19937 random(7);
  for (size_t n = 0; n <= 40; ++n) {
    const std::vector<double> x = Draw(random, n);
    std::vector<size_t> order(n);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t i, size_t j) { return Before(x[i], x[j]); });
    const StatusOr<eval::Result> run = eval::Run(module, {Vec(x)});
    REQUIRE(run.ok());
    REQUIRE_FALSE(run->trap);
    for (size_t k = 0; k < n; ++k) {
      CHECK(run->values[0].At<int64_t>(static_cast<int64_t>(k)) == static_cast<int64_t>(order[k]));
      const double sorted = run->values[1].At<double>(static_cast<int64_t>(k));
      CHECK((sorted == x[order[k]] || (std::isnan(sorted) && std::isnan(x[order[k]]))));
    }
  }
}

TEST_CASE("Prelude: searchsorted finds the lower bound") {
  const ir::Module module =
      LowerText("fn f(x: [n]f64, v: f64) -> i64 { return searchsorted(x, v) }");
  std::mt19937 random(8);
  for (size_t n = 0; n <= 20; ++n) {
    std::vector<double> x = Draw(random, n);
    std::sort(x.begin(), x.end(), Before);
    for (double v : {-2.0, -1.0, 0.0, 0.7, 2.0, 5.0}) {
      const auto want = std::lower_bound(x.begin(), x.end(), v, Before) - x.begin();
      const StatusOr<eval::Result> run = eval::Run(module, {Vec(x), F64(v)});
      REQUIRE(run.ok());
      CHECK(run->values.at(0).At<int64_t>(0) == want);
    }
  }
}

}  // namespace
}  // namespace pullback::lang
