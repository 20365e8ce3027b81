// Tapes: a stack of slots that grows without copies once it is large.
#include "jit/runtime/memory.h"
#include "jit/runtime/support.h"

namespace pullback::jit {
namespace {

constexpr int64_t kFirstSlots = 64;
static_assert(sizeof(Tape) <= 64);

// Doubled while growing is a copy; a large block's pages are moved instead, so that less need be taken
// in advance. Where an earlier run has left a block up to twice as large, that is taken: its pages
// are there, and new ones cost more than the copy.
int64_t Larger(const RunContext* c, int64_t size) {
  if (size == 0) return BlockSize(kFirstSlots * 8);
  if (size < kMovable) return BlockSize(2 * size);
  const int64_t larger = BlockSize(size + size / 4);
  const int64_t kept = LargestCached(larger, 2 * size);
  return kept != 0 && kept <= c->bytes_budget - c->bytes_used ? kept : larger;
}

}  // namespace

int64_t BlockOf(const Tape* t) { return t->slots == nullptr ? 0 : BlockSize(t->capacity * 8); }

Tape* pb_tape_new(RunContext* c) {
  auto* t = static_cast<Tape*>(TakeCharged(c, 0, BlockSize(sizeof(Tape))).data);
  *t = {nullptr, 0, 0, nullptr, nullptr};
  Link(c->tapes, t);
  return t;
}

void pb_tape_grow(RunContext* c, Tape* t) {
  const int64_t size = BlockOf(t);
  const int64_t larger = Larger(c, size);
  t->slots = static_cast<uint64_t*>(GrowCharged(c, t->slots, t->size * 8, size, larger));
  t->capacity = larger / 8;
}

void pb_tape_free(RunContext* c, Tape* t) {
  Unlink(c->tapes, t);
  if (t->slots != nullptr) GiveCharged(c, t->slots, BlockOf(t));
  GiveCharged(c, t, BlockSize(sizeof(Tape)));
}

}  // namespace pullback::jit
