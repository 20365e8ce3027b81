// Run-time values: a scalar's bits, or a counted reference to an array, a tape or a list.
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

struct List;
using ListRef = std::shared_ptr<List>;

// What a run has in use. Arrays, tapes and lists give back what they took when their last owner goes.
struct Meter {
  int64_t live_bytes = 0;
  int64_t tape_values = 0;
  int64_t peak_tape = 0;
  // Lists that lists on their way out held: they go one after the other, however deep they nest.
  std::vector<ListRef> doomed;
  bool burying = false;
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

// Of a box: its number in the machine.
using Slot = std::variant<uint64_t, ArrayRef, TapeRef, ListRef>;

// Shared and written in place by the last owner only, as arrays.
struct List {
  List(size_t fields, Meter& m) : width(fields), meter(m) {}
  List(const List&) = delete;
  List& operator=(const List&) = delete;
  ~List() {
    meter.live_bytes -= counted;
    for (Slot& s : slots) {
      if (auto* list = std::get_if<ListRef>(&s)) meter.doomed.push_back(std::move(*list));
    }
    if (meter.burying) return;
    meter.burying = true;
    while (!meter.doomed.empty()) {
      const ListRef next = std::move(meter.doomed.back());
      meter.doomed.pop_back();
    }
    meter.burying = false;
  }

  // After slots were added or removed.
  void Count() {
    const auto bytes = static_cast<int64_t>(slots.size() * sizeof(Slot));
    meter.live_bytes += bytes - counted;
    counted = bytes;
  }

  const size_t width;  // slots of an element
  int64_t size = 0;    // elements
  std::vector<Slot> slots;
  int64_t counted = 0;
  Meter& meter;
};

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
