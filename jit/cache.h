// A thread-safe map from strings to values, bounded by bytes: the least recently used goes first.
//
// Keys are spread over shards with a mutex each, held for a look-up or a few pointers, so that warm
// requests hardly meet. Within a shard entries lie in order of use; between shards the time of the
// last use decides. The bound is on all shards together.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"

namespace pullback::jit {

struct CacheStats {
  int64_t entries = 0, bytes = 0, hits = 0, misses = 0, evictions = 0;
};

// Value is cheap to copy, such as shared_ptrs. Values are destroyed outside of the locks.
template <typename Value>
class ByteLru {
 public:
  explicit ByteLru(size_t max_bytes) : max_bytes_(max_bytes) {}

  // Makes it the most recently used.
  std::optional<Value> Find(std::string_view key);
  // The same without a trace: neither a use nor a hit or miss.
  std::optional<Value> Peek(std::string_view key);
  // Evicts until the rest fits; the new entry stays even when it is alone over the bound. An entry that
  // is already there is replaced.
  void Insert(const std::string& key, Value value, size_t bytes);
  CacheStats stats() const;

 private:
  struct Entry {
    std::string key;
    Value value;
    size_t bytes;
    std::chrono::steady_clock::time_point used;
  };
  using List = std::list<Entry>;  // the most recently used in front
  struct alignas(64) Shard {
    mutable std::mutex mutex;
    List entries;
    absl::flat_hash_map<std::string_view, typename List::iterator> by_key;  // views of Entry::key
    int64_t hits = 0, misses = 0;
  };

  Shard& ShardOf(std::string_view key) { return shards_[absl::HashOf(key) % shards_.size()]; }
  // Takes an entry out of its shard; the caller holds the shard's mutex and destroys it later.
  void Unlink(Shard& shard, typename List::iterator entry, List& out);
  void EvictOldest(List& out);

  const size_t max_bytes_;
  std::array<Shard, 16> shards_;
  std::mutex insert_mutex_;  // one insertion with its evictions at a time
  std::atomic<size_t> bytes_{0};
  std::atomic<int64_t> entries_{0};
  std::atomic<int64_t> evictions_{0};
};

template <typename Value>
std::optional<Value> ByteLru<Value>::Find(std::string_view key) {
  const auto now = std::chrono::steady_clock::now();
  Shard& shard = ShardOf(key);
  const std::lock_guard lock(shard.mutex);
  const auto found = shard.by_key.find(key);
  if (found == shard.by_key.end()) {
    ++shard.misses;
    return std::nullopt;
  }
  ++shard.hits;
  found->second->used = now;
  shard.entries.splice(shard.entries.begin(), shard.entries, found->second);
  return found->second->value;
}

template <typename Value>
std::optional<Value> ByteLru<Value>::Peek(std::string_view key) {
  Shard& shard = ShardOf(key);
  const std::lock_guard lock(shard.mutex);
  const auto found = shard.by_key.find(key);
  return found == shard.by_key.end() ? std::nullopt : std::optional(found->second->value);
}

template <typename Value>
void ByteLru<Value>::Unlink(Shard& shard, typename List::iterator entry, List& out) {
  shard.by_key.erase(entry->key);
  bytes_ -= entry->bytes;
  --entries_;
  out.splice(out.end(), shard.entries, entry);
}

template <typename Value>
void ByteLru<Value>::Insert(const std::string& key, Value value, size_t bytes) {
  List removed;  // outlives the locks
  const std::lock_guard inserting(insert_mutex_);
  {
    Shard& shard = ShardOf(key);
    const std::lock_guard lock(shard.mutex);
    const auto old = shard.by_key.find(key);
    if (old != shard.by_key.end()) Unlink(shard, old->second, removed);
    shard.entries.push_front({key, std::move(value), bytes, std::chrono::steady_clock::now()});
    shard.by_key.emplace(shard.entries.front().key, shard.entries.begin());
    bytes_ += bytes;
    ++entries_;
  }
  while (bytes_ > max_bytes_ && entries_ > 1) EvictOldest(removed);
}

template <typename Value>
void ByteLru<Value>::EvictOldest(List& out) {
  Shard* oldest = nullptr;
  auto used = std::chrono::steady_clock::time_point::max();
  for (Shard& shard : shards_) {
    const std::lock_guard lock(shard.mutex);
    if (shard.entries.empty() || shard.entries.back().used >= used) continue;
    oldest = &shard;
    used = shard.entries.back().used;
  }
  // Entries leave a shard only here and in Insert, so it still has one; it may have been used since.
  const std::lock_guard lock(oldest->mutex);
  Unlink(*oldest, std::prev(oldest->entries.end()), out);
  ++evictions_;
}

template <typename Value>
CacheStats ByteLru<Value>::stats() const {
  CacheStats stats;
  stats.entries = entries_;
  stats.bytes = static_cast<int64_t>(bytes_.load());
  stats.evictions = evictions_;
  for (const Shard& shard : shards_) {
    const std::lock_guard lock(shard.mutex);
    stats.hits += shard.hits;
    stats.misses += shard.misses;
  }
  return stats;
}

}  // namespace pullback::jit
