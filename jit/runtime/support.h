// What generated code may call beside the functions of context.h.
#pragma once

#include "jit/runtime/context.h"

namespace pullback::jit {

// The kinds of traps that the runtime itself raises: ir::TrapKind's numbers (this layer does not
// know the IR; jit/llvm/emit_entry.cc checks that they agree).
inline constexpr int32_t kTrapNegativeSize = 3;
inline constexpr int32_t kTrapDepth = 5;
inline constexpr int32_t kTrapMemory = 6;
inline constexpr int32_t kTrapStopped = 7;

extern "C" {
// Gives a tape's memory back before the end of the run.
void pb_tape_free(RunContext* c, Tape* t);
// An array of floats (elem_size 8: f64, 4: f32) whose NaNs are all the canonical one: `a` itself
// when they are already or when it is the only reference, else a copy. Consumes a reference,
// returns one.
Array* pb_canonicalise(RunContext* c, Array* a, int64_t elem_size);
}

// A block of `size` (of BlockSize) that the run is charged for, and its way back.
void* TakeCharged(RunContext* c, uint32_t loc, int64_t size);
void GiveCharged(RunContext* c, void* data, int64_t size);

// At the end of a run: gives back every list, whatever refers to it.
void FreeLists(RunContext* c);

// Adds to the bytes in use, or traps with kMemory.
void Charge(RunContext* c, uint32_t loc, int64_t bytes);

// A vector variant of a math function: the same bits as the scalar one in every lane.
struct VectorMath {
  const char* name;    // the op's mnemonic
  bool f64;            // else f32
  int width;           // lanes; 16 bytes need AVX2 and FMA (VEX), 32 AVX2, 64 AVX-512F
  const char* symbol;  // "pb_exp_f64_v8"
  const void* address;
};
const VectorMath* VectorMathBegin();
const VectorMath* VectorMathEnd();

}  // namespace pullback::jit
