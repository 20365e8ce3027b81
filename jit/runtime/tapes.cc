// Tapes: a stack of slots that grows without copies once it is large.
#include "jit/runtime/memory.h"
#include "jit/runtime/support.h"

namespace pullback::jit {
namespace {

constexpr int64_t kFirstSlots = 64;
static_assert(sizeof(Tape) <= 64);

// Doubled while growing is a copy; a large block's pages are moved instead, so that less need be taken
// in advance.
int64_t Larger(int64_t size) {
  if (size == 0) return BlockSize(kFirstSlots * 8);
  return BlockSize(size < kMovable ? 2 * size : size + size / 4);
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
  const int64_t larger = Larger(size);
  t->slots = static_cast<uint64_t*>(GrowCharged(c, t->slots, t->size * 8, size, larger));
  t->capacity = larger / 8;
}

void pb_tape_free(RunContext* c, Tape* t) {
  Unlink(c->tapes, t);
  if (t->slots != nullptr) GiveCharged(c, t->slots, BlockOf(t));
  GiveCharged(c, t, BlockSize(sizeof(Tape)));
}

}  // namespace pullback::jit
