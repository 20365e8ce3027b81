// A list of numbers for every number below a bound, one list behind the other in one array: what a vector of
// vectors would hold, in two allocations, and side by side in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace pullback {

class FlatLists {
 public:
  FlatLists() = default;
  // for_each(add) calls add(key, item) for all items, keys below `keys`. It is called twice; each list is in its order.
  template <typename ForEach>
  FlatLists(size_t keys, ForEach&& for_each) : begin_(keys + 1) {
    for_each([&](uint32_t key, uint32_t) { ++begin_[key + 1]; });
    for (size_t k = 0; k < keys; ++k) begin_[k + 1] += begin_[k];
    items_.resize(begin_[keys]);
    std::vector<uint32_t> next(begin_.begin(), begin_.end() - 1);
    for_each([&](uint32_t key, uint32_t item) { items_[next[key]++] = item; });
  }

  // One list after the other: its items, then its end.
  void Add(uint32_t item) { items_.push_back(item); }
  void EndList() { begin_.push_back(static_cast<uint32_t>(items_.size())); }

  absl::Span<const uint32_t> operator[](uint32_t key) const {
    return {items_.data() + begin_[key], begin_[key + 1] - begin_[key]};
  }
  size_t size() const { return begin_.size() - 1; }

 private:
  std::vector<uint32_t> begin_ = {0};  // in items_, by key; then the end
  std::vector<uint32_t> items_;
};

}  // namespace pullback
