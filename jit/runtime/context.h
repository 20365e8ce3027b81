// What generated code may see: the run context, arrays and tapes, and the functions it may call.
// Layouts are fixed: generated code addresses fields by offset (static_asserts in context.cc).
#pragma once

#include <atomic>
#include <csetjmp>
#include <cstddef>
#include <cstdint>

namespace pullback::jit {

inline constexpr int kMaxRank = 8;

// An array handle. Data of arrays that the runtime makes follows the header, 64-byte aligned.
struct Array {
  int64_t refs;  // inputs of a request start at kPinned: never unique, never freed
  void* data;
  int64_t dims[kMaxRank];
  int64_t bytes;  // of data
  Array* prev;    // list of all arrays of the run, so that its end frees them whole
  Array* next;
  void* device;  // its copy on a device (DeviceRun); nullptr: none, the data here are all
};
inline constexpr int64_t kPinned = int64_t{1} << 40;

// A LIFO of 8-byte slots (floats and bools widened; arrays as handles).
struct Tape {
  uint64_t* slots;
  int64_t size;
  int64_t capacity;
  Tape* prev;
  Tape* next;
};

// A dynamic sequence of records. A record is `width` words: handles of arrays first, then handles of
// lists, then scalars.
struct List {
  int64_t refs;  // as of an array; the empty list of the context is pinned
  int64_t size;  // records
  int64_t capacity;
  int64_t layout;  // RecordLayout
  uint64_t* slots;
  List* prev;
  List* next;
};
// What a record is made of, in one word.
struct RecordLayout {
  static constexpr int kBits = 20;  // of each number
  static constexpr int64_t Of(int64_t arrays, int64_t lists, int64_t width) {
    return arrays | lists << kBits | width << (2 * kBits);
  }
  explicit RecordLayout(int64_t word)
      : arrays(word & ((1 << kBits) - 1)),
        lists(word >> kBits & ((1 << kBits) - 1)),
        width(word >> (2 * kBits)) {}
  int64_t arrays, lists, width;
};

class DeviceRun;  // jit/runtime/device.h
struct Blas;      // jit/runtime/blas.h

struct RunContext {
  std::atomic<int32_t> stop{0};  // set by deadline timer or cancellation: 1 deadline, 2 cancelled
  int32_t depth = 0;             // calls now active
  int32_t max_depth = 100000;
  int64_t bytes_used = 0;
  int64_t bytes_budget = int64_t{1} << 30;
  int64_t peak_bytes = 0;
  // set by pb_trap
  int32_t trap_kind = 0;  // ir::TrapKind, 0: none
  uint32_t trap_loc = 0;
  int64_t trap_a = 0;
  int64_t trap_b = 0;
  const char* stack_limit = nullptr;  // calls below this address ask pb_stack_grow for more
  Array* arrays = nullptr;
  Tape* tapes = nullptr;
  List* lists = nullptr;
  void* growing = nullptr;  // a block that is being filled with what another has grown out of
  int64_t growing_size = 0;
  Array empty_array{};          // pinned: the array with all extents 0, of any rank and type
  List empty_list{};            // pinned: the empty list of any record
  DeviceRun* device = nullptr;  // of code that launches kernels
  const Blas* blas = nullptr;   // takes contractions of code that lets it; none: they are loops
  int64_t contractions = 0;     // that a library has taken
  std::jmp_buf exit;
};

// args/results: one 8-byte slot each: f64 bits, f32 bits in the low half, i64, bool as 0/1, Array*.
// Result arrays are owned by the context until it is reset.
using KernelEntry = void (*)(RunContext*, const uint64_t* args, uint64_t* results);

extern "C" {
// Ends the run: longjmps to RunContext::exit. Never returns.
[[noreturn]] void pb_trap(RunContext* c, int32_t kind, uint32_t loc, int64_t a, int64_t b);
// Called when a poll sees stop != 0, or the depth limit is passed.
[[noreturn]] void pb_stopped(RunContext* c);
// Called on entry to a function whose frame, of at most `frame` bytes from `here` down, would pass
// stack_limit: charges for more of the stack and lowers the limit, or traps (kMemory; kDepth at the end).
void pb_stack_grow(RunContext* c, const char* here, int64_t frame);
// rank extents at dims; elem_size 1, 4 or 8; charges the budget first (trap kMemory). zero: clear data
// (memory is always zeroed or fully written: the allocator never hands out another request's bytes).
Array* pb_alloc(RunContext* c, uint32_t loc, int64_t elem_size, int64_t rank, const int64_t* dims,
                int32_t zero);
void pb_free(RunContext* c, Array* a);                                     // refs reached 0
Array* pb_copy(RunContext* c, uint32_t loc, Array* a, int64_t elem_size);  // a fresh unique copy
Tape* pb_tape_new(RunContext* c);
void pb_tape_grow(RunContext* c, Tape* t);  // charges; at least doubles capacity
// --- lists (lists.cc). Indices are checked already. `record`: the words of one record, whose
// references are handed over. What gives a list consumes the one it takes.
List* pb_list_new(RunContext* c);
List* pb_list_of(RunContext* c, uint32_t loc, int64_t n, int64_t layout, const uint64_t* record);
void pb_list_get(RunContext* c, List* l, int64_t i, uint64_t* record);
List* pb_list_set(RunContext* c, uint32_t loc, List* l, int64_t i, const uint64_t* record);
List* pb_list_take(RunContext* c, uint32_t loc, List* l, int64_t i, uint64_t* record);
List* pb_list_push(RunContext* c, uint32_t loc, List* l, int64_t layout, const uint64_t* record);
List* pb_list_pop(RunContext* c, uint32_t loc, List* l, uint64_t* record);
void pb_list_free(RunContext* c, List* l);  // refs reached 0
// `a`, or zeros of these extents where it has no elements and they have; consumes `a`.
Array* pb_fit(RunContext* c, uint32_t loc, Array* a, int64_t elem_size, int64_t rank,
              const int64_t* dims);
}

struct RuntimeSymbol {
  const char* name;
  const void* address;
};
// Everything that generated code may link to: the functions above and the math table. A back end
// defines these and nothing else.
const RuntimeSymbol* SymbolsBegin();
const RuntimeSymbol* SymbolsEnd();

// Frees everything the run made.
void ResetContext(RunContext* c);

// Runs entry under c, on a stack of its own (stack.h), with the float environment set (round to nearest,
// no flush to zero, exceptions masked). True when it returned; false when it trapped (fields trap_*).
bool RunKernel(KernelEntry entry, RunContext* c, const uint64_t* args, uint64_t* results);
// Runs work(c, argument), which may make arrays and lists for a kernel to take. False when it trapped,
// which skips what is on the stack: nothing there may have a destructor.
bool RunGuarded(void (*work)(RunContext*, void*), RunContext* c, void* argument);
// A list of so many records (at least one), for its maker to fill before anything else happens to it.
List* MakeList(RunContext* c, int64_t layout, int64_t records);

}  // namespace pullback::jit
