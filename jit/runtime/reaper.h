// Gives back, on a thread of its own, what a run left behind where that would take long: an unmapped
// gigabyte costs tens of milliseconds, a million small arrays as well, and whoever waits for a run that
// was stopped must not wait for that.
#pragma once

#include <cstdint>

#include "jit/runtime/context.h"

namespace pullback::jit {

// Unmaps at once what is small, else later.
void Unmap(void* data, int64_t size);

// What is left of a run; the context forgets it.
struct Remains {
  Array* arrays = nullptr;
  Tape* tapes = nullptr;
  List* lists = nullptr;
  int64_t bytes = 0;
};
// False where too much is waiting already: then the caller has to free it itself.
bool BuryLater(const Remains& remains);

// Frees it, past the thread's cache.
void FreeRemains(const Remains& remains);

// Waits until nothing is waiting.
void AwaitReaper();

}  // namespace pullback::jit
