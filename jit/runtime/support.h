// What generated code may call beside the functions of context.h.
#pragma once

#include <algorithm>

#include "jit/runtime/context.h"
#include "jit/runtime/memory.h"

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
}

// Adds to the bytes in use, or traps with kMemory.
void Charge(RunContext* c, uint32_t loc, int64_t bytes);
[[noreturn]] void OutOfMemory(RunContext* c, uint32_t loc, int64_t bytes);
// A block of `size` (of BlockSize) that the run is charged for, and its way back.
Block TakeCharged(RunContext* c, uint32_t loc, int64_t size);
void GiveCharged(RunContext* c, void* data, int64_t size);
// A larger block (both sizes of BlockSize) with the first `used` bytes of the old one, which it replaces.
// `data` nullptr: none yet.
void* GrowCharged(RunContext* c, void* data, int64_t used, int64_t size, int64_t larger);

// The block that each is made of, beside the header of tapes and lists.
int64_t BlockOf(const Array* a);
int64_t BlockOf(const Tape* t);
int64_t BlockOf(const List* l);

// The lists of all arrays, tapes and lists of a run.
template <typename T>
void Link(T*& head, T* t) {
  t->prev = nullptr;
  t->next = head;
  if (head != nullptr) head->prev = t;
  head = t;
}
template <typename T>
void Unlink(T*& head, T* t) {
  (t->prev != nullptr ? t->prev->next : head) = t->next;
  if (t->next != nullptr) t->next->prev = t->prev;
}

// Calls fn(offset, bytes) on slices of [0, bytes), so that large work stays stoppable.
template <typename Fn>
void InSlices(RunContext* c, int64_t bytes, Fn&& fn) {
  constexpr int64_t kSlice = int64_t{1} << 20;
  for (int64_t at = 0; at < bytes; at += kSlice) {
    if (c->stop.load(std::memory_order_relaxed) != 0) pb_stopped(c);
    fn(at, std::min(kSlice, bytes - at));
  }
}

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
