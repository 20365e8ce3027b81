// Blocks of memory for arrays and tapes. Freed blocks are kept per thread in size classes, so that
// a warm request takes no page faults; large ones go back to the system, the largest on a thread of
// their own. A block holds stale bytes of the same process: whoever takes one clears it or writes all
// of it before it is read.
#pragma once

#include <cstdint>

namespace pullback::jit {

struct Block {
  void* data = nullptr;  // 64-byte aligned; nullptr: the system has no memory left
  bool zeroed = false;   // fresh from the system: known to be zero
};

// The size of the block that holds `bytes` (its class, or whole pages). Saturates at INT64_MAX.
int64_t BlockSize(int64_t bytes);
// `size` is what BlockSize gave. Any thread may give a block back.
Block TakeBlock(int64_t size);
void GiveBlock(void* data, int64_t size);
// Past the thread's cache, straight to the system.
void DropBlock(void* data, int64_t size);

// From this size on a block grows by moving its pages (mremap), without a copy.
inline constexpr int64_t kMovable = int64_t{4} << 20;
// A block of `size` >= kMovable with `larger` bytes, the old contents first. nullptr: no memory, and the
// old block is as it was.
void* MoveBlock(void* data, int64_t size, int64_t larger);
// Whether TakeBlock(size) would be met from the cache.
bool IsCached(int64_t size);
// The largest size from `least` to `most` (of BlockSize) that would be; 0: none.
int64_t LargestCached(int64_t least, int64_t most);

// Bytes that this thread keeps for later; ReleaseCachedBlocks gives them back to the system.
int64_t CachedBytes();
void ReleaseCachedBlocks();

}  // namespace pullback::jit
