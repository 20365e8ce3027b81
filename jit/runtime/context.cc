#include "jit/runtime/context.h"

#include <pthread.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#else
#include <cfenv>
#endif

#include <algorithm>

#include "jit/runtime/support.h"

namespace pullback::jit {

// Generated code addresses these fields by offset.
static_assert(offsetof(Array, refs) == 0 && offsetof(Array, data) == 8);
static_assert(offsetof(Array, dims) == 16 && sizeof(Array) == 16 + 8 * kMaxRank + 24);
static_assert(offsetof(Tape, slots) == 0 && offsetof(Tape, size) == 8);
static_assert(offsetof(Tape, capacity) == 16);
static_assert(offsetof(List, refs) == 0 && offsetof(List, size) == 8);
static_assert(sizeof(std::atomic<int32_t>) == 4 && std::atomic<int32_t>::is_always_lock_free);

namespace {

// Left below the limit for what runs without a check of its own: the runtime's functions, leaves,
// and the part of a frame that a check cannot see.
constexpr size_t kStackReserve = size_t{256} << 10;

const char* FindStackLimit() {
  pthread_attr_t attributes;
  void* lowest = nullptr;
  size_t size = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return nullptr;
  pthread_attr_getstack(&attributes, &lowest, &size);
  pthread_attr_destroy(&attributes);
  return static_cast<const char*>(lowest) + std::min(kStackReserve, size / 2);
}

const char* StackLimit() {
  thread_local const char* const limit = FindStackLimit();
  return limit;
}

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

// Apart, so that nothing with a destructor lives in the frame that longjmp returns to.
bool Enter(KernelEntry entry, RunContext* c, const uint64_t* args, uint64_t* results) {
  if (_setjmp(c->exit) != 0) return false;
  entry(c, args, results);
  return true;
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
  pb_trap(c, stop != 0 ? kTrapStopped : kTrapDepth, 0, stop, 0);
}

bool RunKernel(KernelEntry entry, RunContext* c, const uint64_t* args, uint64_t* results) {
  c->depth = 0;
  c->trap_kind = 0;
  c->stack_limit = StackLimit();
  c->empty_array.refs = c->empty_list.refs = kPinned;
  c->empty_array.data = &c->empty_array;  // no elements, yet an address
  FloatEnvironment environment;
  return Enter(entry, c, args, results);
}

}  // namespace pullback::jit
