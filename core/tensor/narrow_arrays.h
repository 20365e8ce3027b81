// Arrays that lose an axis.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "core/ir/ir.h"

namespace pullback::tensor {

class NarrowArrays {
 public:
  explicit NarrowArrays(ir::Function& f) : f_(f) {}

  // The array that is result k has this axis no more: its name is given to another statement's result, and `inst` makes
  // one that nobody reads.
  void Narrow(ir::Inst& inst, size_t k, size_t axis);
  // An array that is to be made without it.
  void Narrow(ir::Value array, size_t axis);
  // The reads of all of them name the axis no longer. Each is read in bodies alone (ArrayReads::OnlyByStatements).
  // False: there are none.
  bool Finish();

 private:
  ir::Function& f_;
  std::unordered_map<uint32_t, size_t> axes_;  // that go, by array
};

// Without element k of a short list.
template <typename List>
void Erase(List& list, size_t k) {
  list.erase(list.begin() + static_cast<long>(k));
}

}  // namespace pullback::tensor
