// What a run is charged for, and the end of a run, which gives everything back.
#include <cstring>

#include "jit/runtime/reaper.h"
#include "jit/runtime/support.h"

namespace pullback::jit {
namespace {

// So many things are freed by the run's own thread, a fraction of a millisecond's work; they stay in
// its cache. More are left to the reaper.
constexpr int kAtOnce = 4096;

template <typename T>
bool Few(const T* t) {
  int n = 0;
  for (; t != nullptr && n <= kAtOnce; t = t->next) ++n;
  return n <= kAtOnce;
}

// Frees the parts of each thing on a list by free(data, size), and forgets them.
template <typename Free>
void FreeArrays(Array* a, Free&& free) {
  while (a != nullptr) {
    Array* const next = a->next;
    free(a, BlockOf(a));
    a = next;
  }
}
template <typename T, typename Free>
void FreeWithSlots(T* t, Free&& free) {
  while (t != nullptr) {
    T* const next = t->next;
    if (const int64_t size = BlockOf(t); size > 0) free(t->slots, size);
    free(t, BlockSize(sizeof(T)));
    t = next;
  }
}

template <typename Free>
void FreeAll(const Remains& r, Free&& free) {
  FreeArrays(r.arrays, free);
  FreeWithSlots(r.tapes, free);
  FreeWithSlots(r.lists, free);
}

}  // namespace

void OutOfMemory(RunContext* c, uint32_t loc, int64_t bytes) {
  pb_trap(c, kTrapMemory, loc, bytes, c->bytes_budget);
}

void Charge(RunContext* c, uint32_t loc, int64_t bytes) {
  if (bytes > c->bytes_budget - c->bytes_used) OutOfMemory(c, loc, bytes);
  c->bytes_used += bytes;
  c->peak_bytes = std::max(c->peak_bytes, c->bytes_used);
}

Block TakeCharged(RunContext* c, uint32_t loc, int64_t size) {
  Charge(c, loc, size);
  const Block block = TakeBlock(size);
  if (block.data == nullptr) {
    c->bytes_used -= size;
    OutOfMemory(c, loc, size);
  }
  return block;
}

void GiveCharged(RunContext* c, void* data, int64_t size) {
  c->bytes_used -= size;
  GiveBlock(data, size);
}

void* GrowCharged(RunContext* c, void* data, int64_t used, int64_t size, int64_t larger) {
  const bool room_for_both = larger <= c->bytes_budget - c->bytes_used;
  if (size >= kMovable && (!IsCached(larger) || !room_for_both)) {
    Charge(c, 0, larger - size);
    void* const moved = MoveBlock(data, size, larger);
    if (moved == nullptr) OutOfMemory(c, 0, larger - size);
    return moved;
  }
  void* const block = TakeCharged(c, 0, larger).data;
  if (data == nullptr) return block;
  c->growing = block;  // the run may be stopped while it is filled
  c->growing_size = larger;
  InSlices(c, used, [&](int64_t at, int64_t n) {
    std::memcpy(static_cast<char*>(block) + at, static_cast<char*>(data) + at,
                static_cast<size_t>(n));
  });
  c->growing = nullptr;
  GiveCharged(c, data, size);
  return block;
}

void FreeRemains(const Remains& remains) {
  FreeAll(remains, [](void* data, int64_t size) { DropBlock(data, size); });
}

void ResetContext(RunContext* c) {
  if (c->growing != nullptr) GiveBlock(c->growing, c->growing_size);
  const Remains remains{c->arrays, c->tapes, c->lists, c->bytes_used};
  const bool few = Few(c->arrays) && Few(c->tapes) && Few(c->lists);
  if (few || !BuryLater(remains)) {
    FreeAll(remains, [](void* data, int64_t size) { GiveBlock(data, size); });
  }
  c->growing = nullptr;
  c->arrays = nullptr;
  c->tapes = nullptr;
  c->lists = nullptr;
  c->bytes_used = 0;
  c->depth = 0;
}

}  // namespace pullback::jit
