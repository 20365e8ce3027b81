// Arrays of a run: charged before they are taken, listed in the context, freed with it.
#include <algorithm>
#include <cstring>

#include "core/base/tensor.h"
#include "jit/runtime/device.h"
#include "jit/runtime/memory.h"
#include "jit/runtime/support.h"

namespace pullback::jit {
namespace {

constexpr int64_t kHeader = 128;  // an Array, and up to where its data begins
static_assert(sizeof(Array) <= kHeader);
// Large arrays begin at places of their pages that differ: a processor takes a load for one that must wait when
// the low 12 bits of its address are those of a store under way, and keeps equal offsets in the same few lines of
// its first cache (docs/decisions.md).
constexpr int64_t kStaggered = int64_t{64} << 10;
constexpr int64_t kPlaces = 16, kApart = 256;

int64_t HeaderOf(int64_t bytes) {
  return bytes < kStaggered ? kHeader : kHeader + (kPlaces - 1) * kApart;
}
// Where the data begin: one after the other 7 places on, so that neighbours are far apart.
int64_t PlaceOf(int64_t bytes) {
  if (bytes < kStaggered) return kHeader;
  thread_local int64_t next = 0;
  next = (next + 7) % kPlaces;
  return kHeader + next * kApart;
}

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
  const Block block = TakeCharged(c, loc, BlockSize(HeaderOf(bytes) + bytes));
  auto* a = static_cast<Array*>(block.data);
  a->refs = 1;
  a->data = static_cast<char*>(block.data) + PlaceOf(bytes);
  a->bytes = bytes;
  a->device = nullptr;
  Link(c->arrays, a);
  return {a, block.zeroed};
}

}  // namespace

int64_t BlockOf(const Array* a) { return BlockSize(HeaderOf(a->bytes) + a->bytes); }

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
  if (a->device != nullptr) c->device->Free(a);
  Unlink(c->arrays, a);
  GiveCharged(c, a, BlockOf(a));
}

Array* pb_copy(RunContext* c, uint32_t loc, Array* a, int64_t) {
  Array* copy = MakeArray(c, loc, a->bytes).array;
  std::copy_n(a->dims, kMaxRank, copy->dims);
  if (a->device != nullptr) {
    if (!c->device->Copy(a, copy)) DeviceFailed(c);
    return copy;
  }
  InSlices(c, copy->bytes, [&](int64_t at, int64_t n) {
    std::memcpy(static_cast<char*>(copy->data) + at, static_cast<const char*>(a->data) + at,
                static_cast<size_t>(n));
  });
  return copy;
}

}  // namespace pullback::jit
