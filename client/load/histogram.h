// Counts of durations in log-linear buckets, as HdrHistogram has them: every power of two is cut into 128
// equal parts, so that a value is known to 1/128 of itself however large, in memory that does not grow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace pullback::load {

class Histogram {
 public:
  // Nanoseconds; what is negative counts as 0.
  void Record(int64_t value, int64_t times = 1);
  void Merge(const Histogram& other);

  int64_t count() const { return count_; }
  int64_t max() const { return max_; }  // exactly; 0 when empty
  double Mean() const;                  // of the buckets' middles
  // The smallest value that at least `percent` of all values do not exceed, at most 1/128 too large and
  // never too small; 0 when empty.
  int64_t Percentile(double percent) const;

  struct Bucket {
    int64_t lowest;   // of the values that belong to it
    int64_t highest;  // likewise
    int64_t count;
  };
  // Those with values, in order.
  std::vector<Bucket> Buckets() const;

 private:
  static constexpr int kParts = 128;
  static size_t IndexOf(int64_t value);
  static Bucket EdgesOf(size_t index);

  std::vector<int64_t> counts_;
  int64_t count_ = 0;
  int64_t max_ = 0;
};

}  // namespace pullback::load
