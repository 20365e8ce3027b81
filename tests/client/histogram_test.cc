// The histogram of pullback load, and when its requests are due.
#include "client/load/histogram.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "client/load/arrivals.h"

namespace pullback::test {
namespace {

using load::ArrivalKind;
using load::Arrivals;
using load::Histogram;

TEST_CASE("histogram: empty") {
  const Histogram histogram;
  CHECK(histogram.count() == 0);
  CHECK(histogram.max() == 0);
  CHECK(histogram.Percentile(50) == 0);
  CHECK(histogram.Mean() == 0);
  CHECK(histogram.Buckets().empty());
}

TEST_CASE("histogram: a value of any size is known to 1/128, and never comes out smaller") {
  std::mt19937_64 random(7);
  for (int i = 0; i < 100000; ++i) {
    const auto value = static_cast<int64_t>(random() >> (1 + random() % 63));
    Histogram histogram;
    histogram.Record(value);
    histogram.Record(INT64_MAX);  // so that the bucket's edge is not cut off by the maximum
    const int64_t found = histogram.Percentile(50);
    REQUIRE(found >= value);
    REQUIRE(static_cast<double>(found - value) <= static_cast<double>(value) / 128);
    const auto buckets = histogram.Buckets();
    REQUIRE(buckets[0].lowest <= value);
    REQUIRE(value <= buckets[0].highest);
  }
}

TEST_CASE("histogram: buckets meet without gap or overlap") {
  Histogram histogram;
  for (int64_t value = 0; value < 100000; ++value) histogram.Record(value);
  const auto buckets = histogram.Buckets();
  int64_t next = 0;
  for (const auto& b : buckets) {
    REQUIRE(b.lowest == next);
    // The last one has room for more than came.
    if (&b != &buckets.back()) REQUIRE(b.count == b.highest - b.lowest + 1);
    next = b.highest + 1;
  }
  CHECK(next >= 100000);
}

TEST_CASE("histogram: percentiles are those of the sorted values, within the bound") {
  std::mt19937_64 random(3);
  std::lognormal_distribution<double> latency(12, 1);
  Histogram histogram;
  std::vector<int64_t> values;
  for (int i = 0; i < 20011; ++i) {
    values.push_back(static_cast<int64_t>(latency(random)));
    histogram.Record(values.back());
  }
  std::sort(values.begin(), values.end());
  for (const double percent : {0.0, 1.0, 50.0, 90.0, 99.0, 99.9, 99.99, 100.0}) {
    const auto rank = static_cast<size_t>(std::ceil(percent / 100 * 20011));
    const int64_t exact = values[std::max<size_t>(rank, 1) - 1];
    INFO(percent);
    CHECK(histogram.Percentile(percent) >= exact);
    CHECK(static_cast<double>(histogram.Percentile(percent)) <=
          static_cast<double>(exact) * (1 + 1.0 / 128));
  }
  CHECK(histogram.Percentile(100) == values.back());
  double sum = 0;
  for (const int64_t v : values) sum += static_cast<double>(v);
  CHECK(histogram.Mean() == Approx(sum / 20011).epsilon(0.004));
}

TEST_CASE("histogram: merged is the same as recorded in one") {
  std::mt19937_64 random(5);
  Histogram both, left, right;
  for (int i = 0; i < 5000; ++i) {
    const auto value = static_cast<int64_t>(random() >> (20 + i % 40));
    both.Record(value);
    (i % 3 == 0 ? left : right).Record(value);
  }
  left.Merge(right);
  CHECK(left.count() == both.count());
  CHECK(left.max() == both.max());
  for (const double percent : {1.0, 50.0, 99.0, 100.0}) {
    CHECK(left.Percentile(percent) == both.Percentile(percent));
  }
  CHECK(left.Buckets().size() == both.Buckets().size());
}

TEST_CASE("histogram: negative durations count as 0") {
  Histogram histogram;
  histogram.Record(-5);
  CHECK(histogram.Percentile(100) == 0);
  CHECK(histogram.count() == 1);
}

std::vector<int64_t> Take(Arrivals arrivals, int count) {
  std::vector<int64_t> times;
  for (int i = 0; i < count; ++i) times.push_back(arrivals.Next());
  return times;
}

TEST_CASE("constant arrivals: shares interleave to even distances, without drift") {
  std::vector<int64_t> all;
  for (int share = 0; share < 3; ++share) {
    for (const int64_t t : Take({ArrivalKind::kConstant, 3000, share, 3, 1}, 100000)) {
      all.push_back(t);
    }
  }
  std::sort(all.begin(), all.end());
  for (size_t i = 0; i < all.size(); ++i) {
    REQUIRE(std::abs(static_cast<double>(all[i]) - static_cast<double>(i) * 1e9 / 3000) <= 1);
  }
}

TEST_CASE("Poisson arrivals: distances are exponential, of one share and of all together") {
  constexpr int kCount = 50000;
  std::vector<int64_t> all;
  for (int share = 0; share < 4; ++share) {
    const auto times = Take({ArrivalKind::kPoisson, 1000, share, 4, 9}, kCount);
    CHECK(std::is_sorted(times.begin(), times.end()));
    all.insert(all.end(), times.begin(), times.end());
  }
  std::sort(all.begin(), all.end());
  // Up to the time when the first share ends, the process is whole.
  all.resize(all.size() * 9 / 10);
  double sum = 0, squares = 0, beyond_mean = 0;
  for (size_t i = 1; i < all.size(); ++i) {
    const double gap = static_cast<double>(all[i] - all[i - 1]) / 1e6;  // of 1 ms in the mean
    sum += gap;
    squares += gap * gap;
    beyond_mean += gap > 1 ? 1 : 0;
  }
  const auto n = static_cast<double>(all.size() - 1);
  CHECK(sum / n == Approx(1).epsilon(0.02));
  CHECK(squares / n - sum / n * sum / n ==
        Approx(1).epsilon(0.05));  // the variance is the mean's square
  CHECK(beyond_mean / n == Approx(std::exp(-1)).epsilon(0.02));
}

TEST_CASE("Poisson arrivals: the seed decides") {
  const auto take = [](uint64_t seed) {
    return Take({ArrivalKind::kPoisson, 100, 0, 1, seed}, 50);
  };
  CHECK(take(1) == take(1));
  CHECK(take(1) != take(2));
}

}  // namespace
}  // namespace pullback::test
