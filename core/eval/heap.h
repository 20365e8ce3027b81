// Run-time values: a scalar's bits, or a counted reference to an array or a tape.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <variant>
#include <vector>

#include "core/base/tensor.h"
#include "core/ir/ir.h"

namespace pullback::eval {

// What a run has in use. Arrays and tapes give back what they took when their last owner goes.
struct Meter {
  int64_t live_bytes = 0;
  int64_t tape_values = 0;
  int64_t peak_tape = 0;
};

// Shared and written in place by the last owner only. The shared_ptr's count tells.
struct Array {
  Array(Tensor t, Meter& meter) : tensor(std::move(t)), meter_(meter) {
    meter_.live_bytes += Bytes();
  }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  ~Array() { meter_.live_bytes -= Bytes(); }

  int64_t Bytes() const { return static_cast<int64_t>(tensor.data.size()); }
  int64_t Count() const { return Bytes() / static_cast<int64_t>(DTypeSize(tensor.dtype)); }

  uint64_t Load(int64_t i) const {
    const size_t size = DTypeSize(tensor.dtype);
    uint64_t bits = 0;  // little-endian: the element is the low bytes
    std::memcpy(&bits, tensor.data.data() + static_cast<size_t>(i) * size, size);
    return bits;
  }
  void Store(int64_t i, uint64_t bits) {
    const size_t size = DTypeSize(tensor.dtype);
    std::memcpy(tensor.data.data() + static_cast<size_t>(i) * size, &bits, size);
  }

  Tensor tensor;

 private:
  Meter& meter_;
};
using ArrayRef = std::shared_ptr<Array>;

struct Tape;
using TapeRef = std::shared_ptr<Tape>;

using Slot = std::variant<uint64_t, ArrayRef, TapeRef>;

struct Tape {
  struct Item {
    Slot value;
    ir::Type type;
  };

  explicit Tape(Meter& m) : meter(m) {}
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;
  ~Tape() { Count(-static_cast<int64_t>(items.size())); }

  void Push(Item item) {
    items.push_back(std::move(item));
    Count(1);
  }
  Item Pop() {
    Item item = std::move(items.back());
    items.pop_back();
    Count(-1);
    return item;
  }
  void Count(int64_t n) {
    meter.tape_values += n;
    meter.live_bytes += n * static_cast<int64_t>(sizeof(Item));
    meter.peak_tape = std::max(meter.peak_tape, meter.tape_values);
  }

  std::vector<Item> items;
  Meter& meter;
};

}  // namespace pullback::eval
