#include "client/load/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace pullback::load {

// Values below 256 have a bucket each; then 128 buckets for each power of two.
size_t Histogram::IndexOf(int64_t value) {
  if (value < 2 * kParts) return static_cast<size_t>(value);
  const int shift = std::bit_width(static_cast<uint64_t>(value)) - 8;
  return static_cast<size_t>(shift) * kParts + static_cast<size_t>(value >> shift);
}

Histogram::Bucket Histogram::EdgesOf(size_t index) {
  const auto i = static_cast<int64_t>(index);
  if (i < 2 * kParts) return {i, i, 0};
  const int64_t shift = i / kParts - 1;
  const int64_t lowest = (i - shift * kParts) << shift;
  return {lowest, lowest + ((int64_t{1} << shift) - 1), 0};
}

void Histogram::Record(int64_t value, int64_t times) {
  value = std::max<int64_t>(value, 0);
  const size_t index = IndexOf(value);
  if (index >= counts_.size()) counts_.resize(index + 1);
  counts_[index] += times;
  count_ += times;
  max_ = std::max(max_, value);
}

void Histogram::Merge(const Histogram& other) {
  if (other.counts_.size() > counts_.size()) counts_.resize(other.counts_.size());
  for (size_t i = 0; i < other.counts_.size(); ++i) counts_[i] += other.counts_[i];
  count_ += other.count_;
  max_ = std::max(max_, other.max_);
}

double Histogram::Mean() const {
  double sum = 0;
  for (const Bucket& b : Buckets()) {
    const double middle = (static_cast<double>(b.lowest) + static_cast<double>(b.highest)) / 2;
    sum += middle * static_cast<double>(b.count);
  }
  return count_ == 0 ? 0 : sum / static_cast<double>(count_);
}

int64_t Histogram::Percentile(double percent) const {
  const double share = std::clamp(percent, 0.0, 100.0) / 100;
  const auto rank = static_cast<int64_t>(std::ceil(share * static_cast<double>(count_)));
  int64_t seen = 0;
  for (size_t i = 0; i < counts_.size(); ++i) {
    seen += counts_[i];
    if (seen >= std::max<int64_t>(rank, 1)) return std::min(EdgesOf(i).highest, max_);
  }
  return max_;
}

std::vector<Histogram::Bucket> Histogram::Buckets() const {
  std::vector<Bucket> buckets;
  for (size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i] == 0) continue;
    buckets.push_back(EdgesOf(i));
    buckets.back().count = counts_[i];
  }
  return buckets;
}

}  // namespace pullback::load
