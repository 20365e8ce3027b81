// The runtime without generated code: kernels here are plain functions.
#include <xmmintrin.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <set>
#include <string>
#include <thread>

#include "core/base/math.h"
#include "jit/runtime/support.h"
#include "tests/jit/runtime_support.h"

namespace pullback::jit {
namespace {

TEST_CASE("Arrays are charged, linked, copied and freed", "[runtime]") {
  RunContext c;
  REQUIRE(RunBody(&c, [](RunContext* ctx) {
    Array* a = Alloc(ctx, {3, 5});
    CHECK(a->refs == 1);
    CHECK(a->dims[0] == 3);
    CHECK(a->dims[1] == 5);
    CHECK(a->bytes == 120);
    CHECK(reinterpret_cast<uintptr_t>(a->data) % 64 == 0);
    auto* data = static_cast<double*>(a->data);
    for (int i = 0; i < 15; ++i) CHECK(data[i] == 0);
    data[14] = 2.5;
    Array* b = pb_copy(ctx, 0, a, 8);
    CHECK(b != a);
    CHECK(static_cast<double*>(b->data)[14] == 2.5);
    CHECK(b->dims[1] == 5);
    const int64_t both = ctx->bytes_used;
    pb_free(ctx, a);
    CHECK(ctx->bytes_used == both / 2);
    CHECK(ctx->arrays == b);
    Alloc(ctx, {0, int64_t{1} << 20});  // an empty array
  }));
  CHECK(c.peak_bytes > 0);
  ResetContext(&c);
  CHECK(c.bytes_used == 0);
  CHECK(c.arrays == nullptr);
}

TEST_CASE("The memory budget is charged before memory is taken", "[runtime]") {
  RunContext c;
  c.bytes_budget = 1 << 20;
  CHECK_FALSE(RunBody(&c, [](RunContext* ctx) { Alloc(ctx, {int64_t{1} << 40}); }));
  CHECK(c.trap_kind == kTrapMemory);
  CHECK(c.trap_loc == 7);
  CHECK(c.trap_a >= int64_t{8} << 40);
  CHECK(c.trap_b == 1 << 20);
  CHECK_FALSE(RunBody(&c, [](RunContext* ctx) {  // the product overflows
    Alloc(ctx, {int64_t{1} << 40, int64_t{1} << 40});
  }));
  CHECK(c.trap_kind == kTrapMemory);
  CHECK_FALSE(RunBody(&c, [](RunContext* ctx) {
    for (;;) Alloc(ctx, {1000});
  }));
  CHECK(c.bytes_used <= 1 << 20);
  ResetContext(&c);
  CHECK(RunBody(&c, [](RunContext* ctx) { Alloc(ctx, {1000}); }));
  ResetContext(&c);
}

TEST_CASE("Zeroed arrays are zero whatever the block held before", "[runtime]") {
  RunContext c;
  for (const int64_t n : {1, 7, 500, 5000, 40000, 300000}) {
    CHECK(RunBody(&c, [n](RunContext* ctx) {
      std::memset(Alloc(ctx, {n}, 8, false)->data, 0xff, static_cast<size_t>(n) * 8);
    }));
    ResetContext(&c);
    CHECK(RunBody(&c, [n](RunContext* ctx) {
      const auto* data = static_cast<const uint64_t*>(Alloc(ctx, {n})->data);
      CHECK(std::all_of(data, data + n, [](uint64_t bits) { return bits == 0; }));
    }));
    ResetContext(&c);
  }
}

TEST_CASE("A trap carries its place and details; a stop says so", "[runtime]") {
  RunContext c;
  CHECK_FALSE(RunBody(&c, [](RunContext* ctx) { pb_trap(ctx, 1, 42, -3, 10); }));
  CHECK(c.trap_kind == 1);
  CHECK(c.trap_loc == 42);
  CHECK(c.trap_a == -3);
  CHECK(c.trap_b == 10);
  c.stop = 2;
  CHECK_FALSE(RunBody(&c, [](RunContext* ctx) { pb_stopped(ctx); }));
  CHECK(c.trap_kind == kTrapStopped);
  CHECK(c.trap_a == 2);
  CHECK_FALSE(RunBody(&c, [](RunContext* ctx) {
    Alloc(ctx, {1 << 20}, 8, true);
    pb_stopped(ctx);
  }));
  ResetContext(&c);
  c.stop = 0;
  CHECK_FALSE(RunBody(&c, [](RunContext* ctx) { pb_stopped(ctx); }));
  CHECK(c.trap_kind == kTrapDepth);
}

TEST_CASE("The float environment is IEEE inside and the caller's outside", "[runtime]") {
  RunContext c;
  const unsigned mine = _mm_getcsr();
  const unsigned odd = 0x1f80 | 0x8040 | 0x6000;  // flush to zero, denormals are zero, truncate
  for (const bool trap : {false, true}) {
    _mm_setcsr(odd);
    unsigned inside = 0;
    const bool ran = RunBody(&c, [&](RunContext* ctx) {
      inside = _mm_getcsr();
      if (trap) pb_trap(ctx, 1, 0, 0, 0);
    });
    const unsigned after = _mm_getcsr();
    _mm_setcsr(mine);
    CHECK(ran == !trap);
    CHECK(inside == 0x1f80);
    CHECK(after == odd);
  }
}

TEST_CASE("The stack limit is inside the stack of the thread that runs", "[runtime]") {
  const auto check = [] {
    RunContext c;
    bool below = false;
    RunBody(&c, [&](RunContext* ctx) {
      below = ctx->stack_limit != nullptr && ctx->stack_limit < __builtin_frame_address(0);
    });
    return below;
  };
  CHECK(check());
  bool other = false;
  std::thread([&] { other = check(); }).join();
  CHECK(other);
}

TEST_CASE("The allow-list is the runtime and the math tables, each once", "[runtime]") {
  std::set<std::string> names;
  for (const auto* s = SymbolsBegin(); s != SymbolsEnd(); ++s) {
    CHECK(s->address != nullptr);
    CHECK(names.insert(s->name).second);
    CHECK(std::string(s->name).starts_with("pb_"));
  }
  CHECK(names.count("pb_trap") == 1);
  CHECK(names.count("pb_sin_f64") == 1);
  CHECK(names.count("pb_exp_f32_v16") == 1);
  CHECK(names.count("malloc") == 0);
}

}  // namespace
}  // namespace pullback::jit
