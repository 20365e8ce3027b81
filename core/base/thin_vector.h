// A vector whose own size is one pointer, for members that most objects leave empty: nothing is allocated
// for an empty one, and size and capacity stand before the elements. Iterators and references are
// invalidated as those of std::vector.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "absl/types/span.h"

namespace pullback {

template <typename T>
class ThinVector {
 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;

  ThinVector() = default;
  ThinVector(std::initializer_list<T> values) : ThinVector(values.begin(), values.end()) {}
  ThinVector(const std::vector<T>& values) : ThinVector(values.begin(), values.end()) {}  // NOLINT
  ThinVector(std::vector<T>&& values)                                                     // NOLINT
      : ThinVector(std::make_move_iterator(values.begin()), std::make_move_iterator(values.end())) {
  }
  ThinVector(absl::Span<const T> values) : ThinVector(values.begin(), values.end()) {}  // NOLINT
  template <std::input_iterator It>  // one whose distance can be told beforehand
  ThinVector(It begin, It end) {
    reserve(static_cast<size_t>(std::distance(begin, end)));
    for (; begin != end; ++begin) push_back(*begin);
  }
  ThinVector(const ThinVector& o) : ThinVector(o.begin(), o.end()) {}
  ThinVector(ThinVector&& o) noexcept : block_(std::exchange(o.block_, nullptr)) {}
  ThinVector& operator=(ThinVector o) noexcept {
    std::swap(block_, o.block_);
    return *this;
  }
  ~ThinVector() { Free(); }

  std::vector<T> ToVector() const { return std::vector<T>(begin(), end()); }
  bool empty() const { return size() == 0; }
  size_t size() const { return block_ == nullptr ? 0 : block_->size; }
  T* data() { return block_ == nullptr ? nullptr : Elements(block_); }
  const T* data() const { return block_ == nullptr ? nullptr : Elements(block_); }
  T* begin() { return data(); }
  T* end() { return data() + size(); }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size(); }
  T& operator[](size_t k) { return data()[k]; }
  const T& operator[](size_t k) const { return data()[k]; }
  T& front() { return data()[0]; }
  const T& front() const { return data()[0]; }
  T& back() { return data()[size() - 1]; }
  const T& back() const { return data()[size() - 1]; }

  template <typename... Args>
  T& emplace_back(Args&&... args) {
    T made(std::forward<Args>(args)...);  // before the elements move: args may be among them
    const size_t n = size();
    if (block_ == nullptr || n == block_->capacity) reserve(std::max<size_t>(2 * n, 1));
    T* const at = new (Elements(block_) + n) T(std::move(made));
    ++block_->size;
    return *at;
  }
  void push_back(T value) { emplace_back(std::move(value)); }
  void reserve(size_t capacity) {
    if (capacity == 0 || (block_ != nullptr && capacity <= block_->capacity)) return;
    Block* const grown = new (::operator new(sizeof(Block) + capacity * sizeof(T)))
        Block{static_cast<uint32_t>(size()), static_cast<uint32_t>(capacity)};
    std::uninitialized_move(begin(), end(), Elements(grown));
    Free();
    block_ = grown;
  }
  void resize(size_t n, const T& value = T()) {
    if (n < size()) {
      std::destroy(begin() + n, end());
      block_->size = static_cast<uint32_t>(n);
    }
    reserve(n);
    while (size() < n) push_back(value);
  }
  void clear() { *this = {}; }

  friend bool operator==(const ThinVector& a, const ThinVector& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  struct alignas(std::max(alignof(T), alignof(uint64_t))) Block {
    uint32_t size;
    uint32_t capacity;
  };
  static T* Elements(Block* b) { return reinterpret_cast<T*>(b + 1); }
  void Free() {
    std::destroy(begin(), end());
    ::operator delete(block_);
  }

  Block* block_ = nullptr;
};

}  // namespace pullback
