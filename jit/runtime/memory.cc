#include "jit/runtime/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <limits>

#include "jit/runtime/reaper.h"

namespace pullback::jit {
namespace {

constexpr int64_t kSmall = 4096;                 // up to here classes are 64 bytes apart
constexpr int64_t kMapped = int64_t{256} << 10;  // from here blocks are mapped, not malloc'd
constexpr int64_t kLargest = int64_t{64} << 20;  // beyond: never kept
constexpr int64_t kKeep = int64_t{128} << 20;    // bytes kept per thread
constexpr int64_t kHugePages = int64_t{4} << 20;
static_assert(kMovable >= kMapped);
constexpr int64_t kPage = 4096;

// Small classes are multiples of 64; then four steps per power of two.
constexpr int kSmallClasses = kSmall / 64;
constexpr int kClasses = kSmallClasses + 4 * (26 - 12) + 1;

int64_t RoundUp(int64_t n, int64_t step) { return (n + step - 1) / step * step; }

// `size` is a class size; see BlockSize.
int ClassOf(int64_t size) {
  if (size <= kSmall) return static_cast<int>(size / 64) - 1;
  const int log = 63 - std::countl_zero(static_cast<uint64_t>(size - 1));
  const int64_t quarter = int64_t{1} << (log - 2);
  const int step = static_cast<int>((size - 1 - (int64_t{1} << log)) / quarter);
  return kSmallClasses + 4 * (log - 12) + step;
}

Block FromSystem(int64_t size) {
  if (size < kMapped) return {std::aligned_alloc(64, static_cast<size_t>(size)), false};
  void* p = ::mmap(nullptr, static_cast<size_t>(size), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return {};
  if (size >= kHugePages) ::madvise(p, static_cast<size_t>(size), MADV_HUGEPAGE);
  return {p, true};
}

void ToSystem(void* data, int64_t size) {
  if (size < kMapped) {
    std::free(data);
  } else {
    Unmap(data, size);
  }
}

// The free lists of one thread, linked through the blocks' first words.
struct Cache {
  std::array<void*, kClasses> heads{};
  int64_t bytes = 0;

  ~Cache() { Clear(); }

  void* Take(int64_t size) {
    void*& head = heads[static_cast<size_t>(ClassOf(size))];
    void* block = head;
    if (block == nullptr) return nullptr;
    head = *static_cast<void**>(block);
    bytes -= size;
    return block;
  }

  void Give(void* block, int64_t size) {
    void*& head = heads[static_cast<size_t>(ClassOf(size))];
    *static_cast<void**>(block) = head;
    head = block;
    bytes += size;
  }

  bool Has(int64_t size) const { return heads[static_cast<size_t>(ClassOf(size))] != nullptr; }

  void Clear() {
    for (int64_t size = 64; size <= kLargest; size = BlockSize(size + 1)) {
      while (void* block = Take(size)) {
        size < kMapped ? std::free(block)
                       : static_cast<void>(::munmap(block, static_cast<size_t>(size)));
      }
    }
  }
};

thread_local Cache cache;

}  // namespace

int64_t BlockSize(int64_t bytes) {
  if (bytes <= 64) return 64;
  if (bytes <= kSmall) return RoundUp(bytes, 64);
  if (bytes <= kLargest) {
    const int log = 63 - std::countl_zero(static_cast<uint64_t>(bytes - 1));
    return RoundUp(bytes, int64_t{1} << (log - 2));
  }
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  return bytes > kMax - kPage ? kMax : RoundUp(bytes, kPage);
}

Block TakeBlock(int64_t size) {
  if (size <= kLargest) {
    if (void* block = cache.Take(size)) return {block, false};
  }
  return FromSystem(size);
}

void GiveBlock(void* data, int64_t size) {
  if (size <= kLargest && cache.bytes + size <= kKeep) {
    cache.Give(data, size);
  } else {
    ToSystem(data, size);
  }
}

void DropBlock(void* data, int64_t size) { ToSystem(data, size); }

void* MoveBlock(void* data, int64_t size, int64_t larger) {
  void* p = ::mremap(data, static_cast<size_t>(size), static_cast<size_t>(larger), MREMAP_MAYMOVE);
  return p == MAP_FAILED ? nullptr : p;
}

bool IsCached(int64_t size) { return size <= kLargest && cache.Has(size); }

int64_t LargestCached(int64_t least, int64_t most) {
  int64_t found = 0;
  for (int64_t size = least; size <= std::min(most, kLargest); size = BlockSize(size + 1)) {
    if (cache.Has(size)) found = size;
  }
  return found;
}

int64_t CachedBytes() { return cache.bytes; }
void ReleaseCachedBlocks() { cache.Clear(); }

}  // namespace pullback::jit
