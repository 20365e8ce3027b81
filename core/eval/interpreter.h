// The reference interpreter of the IR: slow, obvious, the oracle of every test.
//
// Counts ATL's cost (4.22-4.34): one for every executed float op (also smul, select excluded;
// comparisons, integer ops, casts and constants are free), n-1 additions for a sum of n present
// terms, one for an addition of two present terms (in a body a term is absent where its guard is false;
// add_at on an element counts one); index arithmetic free; a call from a body counts `call_cost` when >= 0 (a black box), else what it runs.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/status.h"
#include "core/ir/ir.h"

namespace pullback::eval {

struct Limits {
  int64_t max_steps = int64_t{1} << 40;  // instructions; beyond: DEADLINE_EXCEEDED, STEP_LIMIT
  int64_t max_bytes = int64_t{1} << 32;
  int max_depth = 100000;  // calls; frames are on the heap
  int64_t call_cost = -1;
};

struct Cost {
  int64_t ops = 0;          // ATL's count
  int64_t steps = 0;        // executed instructions
  int64_t peak_tape = 0;    // most values on tapes at once
  int64_t array_bytes = 0;  // bytes of all arrays made
};

// A trap: what kind, at which ordinal, with which details.
struct Trap {
  ir::TrapKind kind;
  uint32_t loc = 0;
  int64_t a = 0;
  int64_t b = 0;
};

struct Result {
  std::vector<Tensor> values;  // empty when trapped
  std::optional<Trap> trap;
  Cost cost;
};

// Runs module.entry (or `function`). Arguments must have the parameters' types (INTERNAL otherwise).
// NaN results are canonicalised to the positive quiet NaN without payload.
StatusOr<Result> Run(const ir::Module& module, const std::vector<Tensor>& args,
                     const Limits& limits = {});
StatusOr<Result> RunFunction(const ir::Module& module, uint32_t function,
                             const std::vector<Tensor>& args, const Limits& limits = {});

}  // namespace pullback::eval
