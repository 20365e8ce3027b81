// Blocks, tapes and the stack of a run: what is charged, what is kept, what is given back.
#include <sys/resource.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <set>
#include <vector>

#include "jit/runtime/memory.h"
#include "jit/runtime/reaper.h"
#include "jit/runtime/support.h"
#include "tests/jit/runtime_support.h"

namespace pullback::jit {
namespace {

TEST_CASE("Size classes cover their requests and waste at most a quarter", "[runtime]") {
  for (int64_t bytes = 1; bytes < int64_t{1} << 34; bytes += 1 + bytes / 37) {
    const int64_t size = BlockSize(bytes);
    REQUIRE(size >= bytes);
    REQUIRE(BlockSize(size) == size);
    if (bytes > 4096) REQUIRE(size - bytes <= bytes / 4);
  }
  ReleaseCachedBlocks();
  std::vector<std::pair<void*, int64_t>> blocks;
  for (int64_t bytes = 1; bytes < int64_t{1} << 26; bytes += 1 + bytes / 3) {
    const int64_t size = BlockSize(bytes);
    blocks.emplace_back(TakeBlock(size).data, size);
    std::memset(blocks.back().first, 1, static_cast<size_t>(bytes));
  }
  for (auto [p, size] : blocks) GiveBlock(p, size);
  CHECK(CachedBytes() > 0);
  ReleaseCachedBlocks();
  CHECK(CachedBytes() == 0);
}

TEST_CASE("Large arrays begin at different places of their pages", "[runtime]") {
  RunContext c;
  const auto work = [](RunContext* ctx) {
    const auto place = [](const Array* a) { return reinterpret_cast<uintptr_t>(a->data) % 4096; };
    std::set<uintptr_t> places;
    for (int k = 0; k < 16; ++k) {
      const Array* a = Alloc(ctx, {int64_t{1} << 16});
      places.insert(place(a));
      CHECK(place(a) % 64 == 0);
      const char* end = static_cast<const char*>(a->data) + a->bytes;
      CHECK(end - reinterpret_cast<const char*>(a) <= BlockOf(a));
    }
    CHECK(places.size() == 16);
    CHECK(place(Alloc(ctx, {10})) % 64 == 0);
  };
  REQUIRE(RunBody(&c, work));
  ResetContext(&c);
}

TEST_CASE("A warm run takes no page faults", "[runtime]") {
  RunContext c;
  const auto work = [](RunContext* ctx) {
    Tape* t = pb_tape_new(ctx);
    for (int64_t i = 0; i < 100000; ++i) {
      if (t->size == t->capacity) pb_tape_grow(ctx, t);
      t->slots[t->size++] = static_cast<uint64_t>(i);
    }
    for (int i = 0; i < 10; ++i) std::memset(Alloc(ctx, {50000}, 8, false)->data, 1, 400000);
  };
  const auto faults = [] {
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
  };
  for (int i = 0; i < 2; ++i) {
    REQUIRE(RunBody(&c, work));
    ResetContext(&c);
  }
  const auto before = faults();
  REQUIRE(RunBody(&c, work));
  ResetContext(&c);
  CHECK(faults() - before < 20);
}

TEST_CASE("Tapes grow, keep their contents, and are given back", "[runtime]") {
  RunContext c;
  REQUIRE(RunBody(&c, [](RunContext* ctx) {
    Tape* t = pb_tape_new(ctx);
    for (uint64_t i = 0; i < 5000; ++i) {
      if (t->size == t->capacity) pb_tape_grow(ctx, t);
      t->slots[t->size++] = i * i;
    }
    for (uint64_t i = 0; i < 5000; ++i) REQUIRE(t->slots[i] == i * i);
    CHECK(ctx->bytes_used >= 40000);
    pb_tape_free(ctx, t);
    CHECK(ctx->bytes_used == 0);
    pb_tape_new(ctx);
  }));
  ResetContext(&c);
  CHECK(c.tapes == nullptr);
  c.bytes_budget = 1 << 16;
  CHECK_FALSE(RunBody(&c, [](RunContext* ctx) {
    Tape* t = pb_tape_new(ctx);
    for (;;) pb_tape_grow(ctx, t);
  }));
  CHECK(c.trap_kind == kTrapMemory);
  ResetContext(&c);
}

TEST_CASE("Large tapes grow by moving their pages, and are charged for what they gain",
          "[runtime]") {
  ReleaseCachedBlocks();
  RunContext c;
  REQUIRE(RunBody(&c, [](RunContext* ctx) {
    Tape* t = pb_tape_new(ctx);
    const int64_t header = ctx->bytes_used;
    constexpr int64_t kSlots = 5000000;
    for (int64_t i = 0; i < kSlots; ++i) {
      if (t->size == t->capacity) pb_tape_grow(ctx, t);
      t->slots[t->size++] = static_cast<uint64_t>(3 * i);
    }
    bool same = true;
    for (int64_t i = 0; i < kSlots; ++i) same &= t->slots[i] == static_cast<uint64_t>(3 * i);
    CHECK(same);
    CHECK(ctx->bytes_used == header + t->capacity * 8);
    CHECK(t->capacity * 8 < kSlots * 10);
    CHECK(ctx->peak_bytes == ctx->bytes_used);  // never the old and the new one
  }));
  ResetContext(&c);
  CHECK(c.bytes_used == 0);
}

TEST_CASE(
    "A large tape takes the block that an earlier run left, where the budget has room for both",
    "[runtime]") {
  ReleaseCachedBlocks();
  RunContext c;
  int64_t size = 0;
  // How often a tape of a million slots and a half grows once it is large.
  const auto steps = [&] {
    int n = 0;
    REQUIRE(RunBody(&c, [&](RunContext* ctx) {
      Tape* t = pb_tape_new(ctx);
      while (t->capacity < 1500000) {
        t->size = t->capacity;
        n += t->capacity * 8 >= kMovable;
        pb_tape_grow(ctx, t);
      }
      size = t->capacity * 8;
      t->slots[t->capacity - 1] = 1;
    }));
    ResetContext(&c);
    return n;
  };
  const int cold = steps();
  const int64_t final_size = size;
  CHECK(steps() < cold);
  CHECK(size == final_size);
  ReleaseCachedBlocks();
  steps();
  c.bytes_budget = final_size + 4096;
  CHECK(steps() == cold);
}

TEST_CASE("A run that is stopped while its tape grows leaves nothing behind", "[runtime]") {
  RunContext c;
  for (const int64_t slots : {int64_t{1} << 18, int64_t{1} << 22}) {
    CHECK_FALSE(RunBody(&c, [slots](RunContext* ctx) {
      Tape* t = pb_tape_new(ctx);
      while (t->capacity < slots) {
        t->size = t->capacity;
        pb_tape_grow(ctx, t);
      }
      t->size = t->capacity;
      ctx->stop = 1;
      pb_tape_grow(ctx, t);  // a copy looks at `stop`, moved pages need not
      pb_stopped(ctx);
    }));
    CHECK(c.trap_kind == kTrapStopped);
    c.stop = 0;
    ResetContext(&c);
    CHECK(c.bytes_used == 0);
    CHECK(c.growing == nullptr);
  }
}

TEST_CASE("What takes long to free is freed by the reaper", "[runtime]") {
  RunContext c;
  ReleaseCachedBlocks();
  REQUIRE(RunBody(&c, [](RunContext* ctx) {
    for (int i = 0; i < 100000; ++i) Alloc(ctx, {4});
    const uint64_t record[] = {reinterpret_cast<uint64_t>(Alloc(ctx, {3}))};
    List* l = pb_list_new(ctx);
    for (int i = 0; i < 10; ++i) l = pb_list_push(ctx, 0, l, RecordLayout::Of(1, 0, 1), record);
    Tape* t = pb_tape_new(ctx);
    while (t->capacity < 100000) pb_tape_grow(ctx, t);
  }));
  ResetContext(&c);
  CHECK(c.arrays == nullptr);
  CHECK(CachedBytes() < 4 << 20);  // the arrays did not come back to this thread
  AwaitReaper();
  REQUIRE(RunBody(&c, [](RunContext* ctx) { Alloc(ctx, {4}); }));
  ResetContext(&c);
  CHECK(CachedBytes() > 0);
}

// Recurs with frames of a kilobyte, asking for stack as generated code does.
[[gnu::noinline]] int64_t Dive(RunContext* c, int64_t n) {
  volatile char frame[1000];
  frame[n % 1000] = 1;
  const auto* here = static_cast<const char*>(__builtin_frame_address(0));
  if (here - c->stack_limit < 4096) pb_stack_grow(c, here, 4096);
  return n == 0 ? frame[0] : Dive(c, n - 1) + frame[n % 1000];
}

TEST_CASE("The stack is charged as it is used, and is as deep as the budget", "[runtime]") {
  RunContext c;
  int64_t got = 0;
  REQUIRE(RunBody(&c, [&](RunContext* ctx) { got = Dive(ctx, 100); }));
  CHECK(c.bytes_used == 0);
  REQUIRE(RunBody(&c, [&](RunContext* ctx) { got = Dive(ctx, 100000); }));
  CHECK(got == 100001);
  CHECK(c.bytes_used > 100000 * 1000);
  CHECK(c.bytes_used <= int64_t{256} << 20);
  ResetContext(&c);
  c.bytes_budget = 50 << 20;
  CHECK_FALSE(RunBody(&c, [&](RunContext* ctx) { got = Dive(ctx, 100000); }));
  CHECK(c.trap_kind == kTrapMemory);
  CHECK(c.bytes_used <= c.bytes_budget);
  ResetContext(&c);
  REQUIRE(RunBody(&c, [&](RunContext* ctx) { got = Dive(ctx, 10000); }));
  CHECK(got == 10001);
  ResetContext(&c);
}

}  // namespace
}  // namespace pullback::jit
