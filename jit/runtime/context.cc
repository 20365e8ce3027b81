#include "jit/runtime/context.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#else
#include <cfenv>
#endif

#include "jit/runtime/stack.h"
#include "jit/runtime/support.h"

namespace pullback::jit {

// Generated code addresses these fields by offset.
static_assert(offsetof(Array, refs) == 0 && offsetof(Array, data) == 8);
static_assert(offsetof(Array, dims) == 16 && sizeof(Array) == 16 + 8 * kMaxRank + 32);
static_assert(offsetof(Tape, slots) == 0 && offsetof(Tape, size) == 8);
static_assert(offsetof(Tape, capacity) == 16);
static_assert(offsetof(List, refs) == 0 && offsetof(List, size) == 8);
static_assert(sizeof(std::atomic<int32_t>) == 4 && std::atomic<int32_t>::is_always_lock_free);

namespace {

// Sets the IEEE defaults for its lifetime: round to nearest, subnormals kept, exceptions masked.
class FloatEnvironment {
 public:
#if defined(__x86_64__)
  FloatEnvironment() : saved_(_mm_getcsr()) { _mm_setcsr(0x1f80); }
  ~FloatEnvironment() { _mm_setcsr(saved_); }

 private:
  unsigned saved_;
#else
  FloatEnvironment() {
    std::fegetenv(&saved_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~FloatEnvironment() { std::fesetenv(&saved_); }

 private:
  std::fenv_t saved_;
#endif
};

struct Call {
  KernelEntry entry;
  RunContext* c;
  const uint64_t* args;
  uint64_t* results;
};

// Apart, so that nothing with a destructor lives in the frame that longjmp returns to.
bool Enter(Stack& stack, Call& call) {
  if (_setjmp(call.c->exit) != 0) return false;
  stack.Call(
      [](void* p) {
        const auto& [entry, c, args, results] = *static_cast<struct Call*>(p);
        entry(c, args, results);
      },
      &call);
  return true;
}

bool Attempt(void (*work)(RunContext*, void*), RunContext* c, void* argument) {
  if (_setjmp(c->exit) != 0) return false;
  work(c, argument);
  return true;
}

void Start(RunContext* c) {
  c->trap_kind = 0;
  c->empty_array.refs = c->empty_list.refs = kPinned;
  c->empty_array.data = &c->empty_array;  // no elements, yet an address
}

}  // namespace

void pb_trap(RunContext* c, int32_t kind, uint32_t loc, int64_t a, int64_t b) {
  c->trap_kind = kind;
  c->trap_loc = loc;
  c->trap_a = a;
  c->trap_b = b;
  _longjmp(c->exit, 1);
}

void pb_stopped(RunContext* c) {
  const int32_t stop = c->stop.load(std::memory_order_relaxed);
  if (stop != 0) pb_trap(c, kTrapStopped, 0, stop, 0);
  pb_trap(c, kTrapDepth, 0, c->max_depth, 0);
}

bool RunKernel(KernelEntry entry, RunContext* c, const uint64_t* args, uint64_t* results) {
  c->depth = 0;
  Start(c);
  Stack& stack = Stack::OfThisThread();
  if (!stack.Begin(c)) {
    c->trap_kind = kTrapMemory;
    c->trap_loc = 0;
    c->trap_a = Stack::kFree;
    c->trap_b = c->bytes_budget;
    return false;
  }
  FloatEnvironment environment;
  Call call{entry, c, args, results};
  const bool returned = Enter(stack, call);
  stack.End(returned);
  return returned;
}

bool RunGuarded(void (*work)(RunContext*, void*), RunContext* c, void* argument) {
  Start(c);
  return Attempt(work, c, argument);
}

void pb_stack_grow(RunContext* c, const char* here, int64_t frame) {
  Stack::OfThisThread().Grow(c, here, frame);
}

}  // namespace pullback::jit
