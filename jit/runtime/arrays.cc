// Arrays and tapes of a run: charged before they are taken, listed in the context, freed with it.
#include <algorithm>
#include <cstring>

#include "core/base/tensor.h"
#include "jit/runtime/memory.h"
#include "jit/runtime/support.h"

namespace pullback::jit {
namespace {

constexpr int64_t kHeader = 128;  // an Array, and up to where its data begins
static_assert(sizeof(Array) <= kHeader && sizeof(Tape) <= 64);
constexpr int64_t kFirstSlots = 64;
constexpr int64_t kSlice = int64_t{1} << 20;  // between two looks at `stop`

[[noreturn]] void OutOfMemory(RunContext* c, uint32_t loc, int64_t bytes) {
  pb_trap(c, kTrapMemory, loc, bytes, c->bytes_budget);
}

Block Take(RunContext* c, uint32_t loc, int64_t size) {
  Charge(c, loc, size);
  const Block block = TakeBlock(size);
  if (block.data == nullptr) OutOfMemory(c, loc, size);
  return block;
}

void Give(RunContext* c, void* data, int64_t size) {
  c->bytes_used -= size;
  GiveBlock(data, size);
}

template <typename T>
void Link(T*& head, T* t) {
  t->prev = nullptr;
  t->next = head;
  if (head != nullptr) head->prev = t;
  head = t;
}

template <typename T>
void Unlink(T*& head, T* t) {
  (t->prev != nullptr ? t->prev->next : head) = t->next;
  if (t->next != nullptr) t->next->prev = t->prev;
}

// Calls fn(offset, bytes) on slices of [0, bytes), so that large work stays stoppable.
template <typename Fn>
void InSlices(RunContext* c, int64_t bytes, Fn&& fn) {
  for (int64_t at = 0; at < bytes; at += kSlice) {
    if (c->stop.load(std::memory_order_relaxed) != 0) pb_stopped(c);
    fn(at, std::min(kSlice, bytes - at));
  }
}

int64_t BlockOf(int64_t data_bytes) { return BlockSize(kHeader + data_bytes); }

// Bytes of the elements, or -1 when they do not fit 62 bits or an axis is too long to exist.
int64_t DataBytes(int64_t elem_size, int64_t rank, const int64_t* dims) {
  if (std::any_of(dims, dims + rank, [](int64_t d) { return d > kMaxExtent; })) return -1;
  if (std::any_of(dims, dims + rank, [](int64_t d) { return d == 0; })) return 0;
  int64_t bytes = elem_size;
  for (int64_t k = 0; k < rank; ++k) {
    if (__builtin_mul_overflow(bytes, dims[k], &bytes)) return -1;
  }
  return bytes < int64_t{1} << 62 ? bytes : -1;
}

struct NewArray {
  Array* array;
  bool zeroed;
};

NewArray MakeArray(RunContext* c, uint32_t loc, int64_t bytes) {
  if (bytes < 0) OutOfMemory(c, loc, INT64_MAX);
  const Block block = Take(c, loc, BlockOf(bytes));
  auto* a = static_cast<Array*>(block.data);
  a->refs = 1;
  a->data = static_cast<char*>(block.data) + kHeader;
  a->bytes = bytes;
  Link(c->arrays, a);
  return {a, block.zeroed};
}

template <typename Bits>
struct Nan;
template <>
struct Nan<uint64_t> {
  using Float = double;
  static constexpr uint64_t kInfinity = 0x7ff0000000000000, kCanonical = 0x7ff8000000000000;
};
template <>
struct Nan<uint32_t> {
  using Float = float;
  static constexpr uint32_t kInfinity = 0x7f800000, kCanonical = 0x7fc00000;
};

template <typename Bits>
bool IsOddNan(Bits bits) {
  constexpr Bits kAbs = static_cast<Bits>(~Bits{0} >> 1);
  return (bits & kAbs) > Nan<Bits>::kInfinity && bits != Nan<Bits>::kCanonical;
}

template <typename Bits>
bool HasOddNan(const Bits* data, int64_t n) {
  return std::any_of(data, data + n, IsOddNan<Bits>);
}

// Whether any is a NaN: the common answer, no, has to be quick.
template <typename T>
[[gnu::always_inline]] inline bool HasNanIn(const T* data, int64_t n) {
  bool found = false;
  for (int64_t i = 0; i < n; ++i) found |= data[i] != data[i];
  return found;
}
#if defined(__x86_64__)
template <typename T>
[[gnu::target("avx2")]] bool HasNanAvx2(const T* data, int64_t n) {
  return HasNanIn(data, n);
}
template <typename T>
bool HasNan(const T* data, int64_t n) {
  static const bool avx2 = __builtin_cpu_supports("avx2") != 0;
  return avx2 ? HasNanAvx2(data, n) : HasNanIn(data, n);
}
#else
template <typename T>
bool HasNan(const T* data, int64_t n) {
  return HasNanIn(data, n);
}
#endif

template <typename Bits>
Array* Canonicalise(RunContext* c, Array* a) {
  bool found = false;
  InSlices(c, a->bytes, [&](int64_t at, int64_t n) {
    found = found || HasNan(static_cast<const typename Nan<Bits>::Float*>(a->data) +
                                at / int64_t{sizeof(Bits)},
                            n / int64_t{sizeof(Bits)});
  });
  if (!found || !HasOddNan(static_cast<const Bits*>(a->data), a->bytes / int64_t{sizeof(Bits)})) {
    return a;
  }
  if (a->refs != 1) {
    --a->refs;
    a = pb_copy(c, 0, a, sizeof(Bits));
  }
  auto* data = static_cast<Bits*>(a->data);
  InSlices(c, a->bytes, [&](int64_t at, int64_t n) {
    for (int64_t i = at / int64_t{sizeof(Bits)}; i < (at + n) / int64_t{sizeof(Bits)}; ++i) {
      data[i] = IsOddNan(data[i]) ? Nan<Bits>::kCanonical : data[i];
    }
  });
  return a;
}

}  // namespace

void Charge(RunContext* c, uint32_t loc, int64_t bytes) {
  if (bytes > c->bytes_budget - c->bytes_used) OutOfMemory(c, loc, bytes);
  c->bytes_used += bytes;
  c->peak_bytes = std::max(c->peak_bytes, c->bytes_used);
}

void* TakeCharged(RunContext* c, uint32_t loc, int64_t size) { return Take(c, loc, size).data; }
void GiveCharged(RunContext* c, void* data, int64_t size) { Give(c, data, size); }

Array* pb_alloc(RunContext* c, uint32_t loc, int64_t elem_size, int64_t rank, const int64_t* dims,
                int32_t zero) {
  const auto [a, zeroed] = MakeArray(c, loc, DataBytes(elem_size, rank, dims));
  std::copy_n(dims, rank, a->dims);
  if (zero != 0 && !zeroed) {
    InSlices(c, a->bytes, [&](int64_t at, int64_t n) {
      std::memset(static_cast<char*>(a->data) + at, 0, static_cast<size_t>(n));
    });
  }
  return a;
}

void pb_free(RunContext* c, Array* a) {
  Unlink(c->arrays, a);
  Give(c, a, BlockOf(a->bytes));
}

Array* pb_copy(RunContext* c, uint32_t loc, Array* a, int64_t) {
  Array* copy = MakeArray(c, loc, a->bytes).array;
  std::copy_n(a->dims, kMaxRank, copy->dims);
  InSlices(c, copy->bytes, [&](int64_t at, int64_t n) {
    std::memcpy(static_cast<char*>(copy->data) + at, static_cast<const char*>(a->data) + at,
                static_cast<size_t>(n));
  });
  return copy;
}

Array* pb_canonicalise(RunContext* c, Array* a, int64_t elem_size) {
  return elem_size == 8 ? Canonicalise<uint64_t>(c, a) : Canonicalise<uint32_t>(c, a);
}

Tape* pb_tape_new(RunContext* c) {
  auto* t = static_cast<Tape*>(Take(c, 0, BlockSize(sizeof(Tape))).data);
  *t = {nullptr, 0, 0, nullptr, nullptr};
  Link(c->tapes, t);
  return t;
}

void pb_tape_grow(RunContext* c, Tape* t) {
  const int64_t old_size = BlockSize(t->capacity * 8);
  const int64_t size = t->capacity == 0 ? BlockSize(kFirstSlots * 8) : BlockSize(2 * old_size);
  auto* slots = static_cast<uint64_t*>(Take(c, 0, size).data);
  if (t->slots != nullptr) {
    InSlices(c, t->size * 8, [&](int64_t at, int64_t n) {
      std::memcpy(slots + at / 8, t->slots + at / 8, static_cast<size_t>(n));
    });
    Give(c, t->slots, old_size);
  }
  t->slots = slots;
  t->capacity = size / 8;
}

void pb_tape_free(RunContext* c, Tape* t) {
  Unlink(c->tapes, t);
  if (t->slots != nullptr) Give(c, t->slots, BlockSize(t->capacity * 8));
  Give(c, t, BlockSize(sizeof(Tape)));
}

void ResetContext(RunContext* c) {
  while (c->arrays != nullptr) pb_free(c, c->arrays);
  while (c->tapes != nullptr) pb_tape_free(c, c->tapes);
  FreeLists(c);
  c->bytes_used = 0;
  c->depth = 0;
}

}  // namespace pullback::jit
