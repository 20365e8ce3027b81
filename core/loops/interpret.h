// A test interpreter of the loop IR: slow, obvious, and strict about the promises that loops.h makes.
// Besides computing, it checks that every reference is consumed exactly once and nothing but the
// results is left, that no element of a not-zeroed array is read before it is stored, that nothing
// is stored into an array that somebody else can see, and that every offset and register is good.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/status.h"
#include "core/base/tensor.h"
#include "core/loops/loops.h"

namespace pullback::loops {

// What the scalar ops compute, on bits as ir::Inst::bits holds them. The reference interpreter has
// them (core/eval, a layer that this one does not see).
struct ScalarOps {
  uint64_t (*eval)(ir::Op op, DType operand, const uint64_t* args);
  uint64_t (*cast)(DType from, DType to, uint64_t v);
};

struct Outcome {
  struct Trap {
    ir::TrapKind kind;
    uint32_t loc = 0;
    int64_t a = 0, b = 0;
  };
  std::vector<Tensor> values;  // empty when trapped
  std::optional<Trap> trap;
  int64_t iterations = 0;     // of all loops
  int64_t copies = 0;         // arrays that had to be copied
  int64_t elements = 0;       // of all of these
  std::vector<int64_t> made;  // by array that was made, its elements
};

// Runs the entry. INTERNAL, reason LOOPS_BROKEN, when a promise is broken.
StatusOr<Outcome> Interpret(const Module& module, const std::vector<Tensor>& args,
                            const ScalarOps& ops);

}  // namespace pullback::loops
