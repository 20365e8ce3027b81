// Bytes under names, in files that outlive the process. Thread-safe; processes may share a folder.
//
// A file is what was put, whole and unchanged, or it is a miss: it ends with a MAC over its name and all
// of its bytes, by a key that lies beside the files and that only their owner may read. It is written under a
// name of its own, synced and renamed, so that a crash leaves the old state or the new one. A file that is
// damaged is removed when it is met.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/base/status.h"

namespace pullback::jit {

struct DiskCacheStats {
  int64_t entries = 0, bytes = 0, hits = 0, misses = 0, damaged = 0, evictions = 0;
  int64_t failed_writes = 0;
};

class DiskCache {
 public:
  // Makes the folder and its key where there are none; removes what crashes have left. FAILED_PRECONDITION,
  // CACHE_DIR, with the system's reason, when it cannot be used.
  static StatusOr<std::unique_ptr<DiskCache>> Open(const std::string& folder, int64_t max_bytes);

  // Names are of 0-9 and a-f, of four characters at least.
  std::optional<std::string> Get(const std::string& name);
  // Keeps the rest within the bound: the least recently used goes first. What is larger than the bound is
  // not kept. A failure, such as a full disk, is counted and changes nothing.
  void Put(const std::string& name, std::string_view bytes);
  void Remove(const std::string& name);
  DiskCacheStats stats() const;

  // The bytes of a file, and back: nothing unless they are what SealEntry gave for this key and name.
  static std::string SealEntry(std::string_view key, std::string_view name, std::string_view bytes);
  static std::optional<std::string> OpenEntry(std::string_view key, std::string_view name,
                                              std::string_view file);

 private:
  struct Entry {
    std::string name;
    int64_t bytes;
  };
  using Order = std::list<Entry>;  // the most recently used in front

  DiskCache(std::string folder, int64_t max_bytes, std::string key);
  void Scan();
  std::string PathOf(const std::string& name) const;
  void Touch(const std::string& name, int64_t bytes);
  void Forget(const std::string& name);
  std::optional<std::string> EvictOne();

  const std::string folder_;
  const int64_t max_bytes_;
  const std::string key_;
  mutable std::mutex mutex_;  // of what follows; never held while a file is read or written
  Order order_;
  std::unordered_map<std::string, Order::iterator> by_name_;
  DiskCacheStats stats_;
  int64_t next_ = 0;
};

}  // namespace pullback::jit
