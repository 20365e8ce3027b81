#include "jit/runtime/stack.h"

#include <sys/mman.h>

#include <algorithm>

#include "jit/runtime/reaper.h"
#include "jit/runtime/support.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PB_ASAN 1
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#endif

namespace pullback::jit {

// pb_call_on_stack(fn, argument, top): fn(argument) with the stack pointer at top (16-byte aligned).
extern "C" void pb_call_on_stack(void (*fn)(void*), void* argument, char* top);
#if defined(__x86_64__)
asm(R"(
  .text
  .p2align 4
  .globl pb_call_on_stack
  .hidden pb_call_on_stack
  .type pb_call_on_stack, @function
pb_call_on_stack:
  .cfi_startproc
  pushq %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp, -16
  movq %rsp, %rbp
  .cfi_def_cfa_register %rbp
  movq %rdx, %rsp
  movq %rdi, %rax
  movq %rsi, %rdi
  callq *%rax
  movq %rbp, %rsp
  popq %rbp
  .cfi_def_cfa %rsp, 8
  retq
  .cfi_endproc
  .size pb_call_on_stack, .-pb_call_on_stack
)");
#elif defined(__aarch64__)
asm(R"(
  .text
  .p2align 4
  .globl pb_call_on_stack
  .hidden pb_call_on_stack
  .type pb_call_on_stack, %function
pb_call_on_stack:
  .cfi_startproc
  stp x29, x30, [sp, #-16]!
  .cfi_def_cfa_offset 16
  .cfi_offset w30, -8
  .cfi_offset w29, -16
  mov x29, sp
  .cfi_def_cfa w29, 16
  mov sp, x2
  mov x8, x0
  mov x0, x1
  blr x8
  mov sp, x29
  .cfi_def_cfa wsp, 16
  ldp x29, x30, [sp], #16
  ret
  .cfi_endproc
  .size pb_call_on_stack, .-pb_call_on_stack
)");
#else
#error "how stacks are switched on this architecture has to be written"
#endif

namespace {

constexpr int64_t kPage = 4096;
constexpr int64_t kGuard = int64_t{64} << 10;  // never usable, at the low end

int64_t RoundUp(int64_t n, int64_t step) { return (n + step - 1) / step * step; }

}  // namespace

Stack& Stack::OfThisThread() {
  thread_local Stack stack;
  return stack;
}

Stack::~Stack() {
  if (low_ != nullptr) ::munmap(low_, static_cast<size_t>(size_));
}

// Less where a limit on address space forbids that much.
bool Stack::Reserve() {
  for (int64_t size = kReserved; size >= 2 * kFree; size /= 2) {
    void* p = ::mmap(nullptr, static_cast<size_t>(size), PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) continue;
    low_ = static_cast<char*>(p);
    size_ = size;
    open_ = 0;
    return true;
  }
  return false;
}

bool Stack::Open(int64_t bytes) {
  if (bytes <= open_) return true;
  if (::mprotect(top() - bytes, static_cast<size_t>(bytes - open_), PROT_READ | PROT_WRITE) != 0) {
    return false;
  }
  open_ = bytes;
  return true;
}

bool Stack::Begin(RunContext* c) {
  if (low_ == nullptr && !Reserve()) return false;
  if (!Open(kFree)) return false;
  allowed_ = kFree;
  c->stack_limit = top() - allowed_ + kBelowLimit;
  return true;
}

// Twice as much each time, so that growing costs nothing beside touching the pages.
void Stack::Grow(RunContext* c, const char* here, int64_t frame) {
  const int64_t wanted = RoundUp(top() - here + frame + kBelowLimit, kPage);
  const int64_t most = size_ - kGuard;
  if (wanted > most) pb_trap(c, kTrapDepth, 0, 0, 0);
  int64_t bytes = std::min(most, std::max(wanted, 2 * allowed_));
  if (bytes - allowed_ > c->bytes_budget - c->bytes_used) bytes = wanted;
  Charge(c, 0, bytes - allowed_);
  if (!Open(bytes)) OutOfMemory(c, 0, bytes - allowed_);
  allowed_ = bytes;
  c->stack_limit = top() - allowed_ + kBelowLimit;
}

void Stack::End(bool returned) {
#ifdef PB_ASAN
  if (!returned) {  // the jump has left the poison of the frames that it skipped
    __sanitizer_start_switch_fiber(nullptr, callers_low_, callers_size_);
    __sanitizer_finish_switch_fiber(fake_, nullptr, nullptr);
    ASAN_UNPOISON_MEMORY_REGION(top() - open_, static_cast<size_t>(open_));
  }
#else
  static_cast<void>(returned);
#endif
  if (open_ <= kKept) return;
  // The whole reservation goes, so that nobody waits for the pages.
  Unmap(top() - open_, open_);
  ::munmap(low_, static_cast<size_t>(size_ - open_));
  low_ = nullptr;
}

#ifdef PB_ASAN
namespace {

struct Switched {
  void (*fn)(void*);
  void* argument;
  const void** low;
  size_t* size;
};

}  // namespace

void Stack::Call(void (*fn)(void*), void* argument) {
  Switched switched{fn, argument, &callers_low_, &callers_size_};
  __sanitizer_start_switch_fiber(&fake_, low_, static_cast<size_t>(size_));
  pb_call_on_stack(
      [](void* p) {
        const Switched s = *static_cast<Switched*>(p);
        __sanitizer_finish_switch_fiber(nullptr, s.low, s.size);
        s.fn(s.argument);
        __sanitizer_start_switch_fiber(nullptr, *s.low, *s.size);
      },
      &switched, top());
  __sanitizer_finish_switch_fiber(fake_, nullptr, nullptr);
}
#else
void Stack::Call(void (*fn)(void*), void* argument) { pb_call_on_stack(fn, argument, top()); }
#endif

}  // namespace pullback::jit
