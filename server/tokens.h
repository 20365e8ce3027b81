// Bearer tokens that requests are let in by, from a file that is read again when it changes. Thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"

namespace pullback::server {

class Tokens {
 public:
  // One token a line; empty lines and those that begin with # are not. FAILED_PRECONDITION, TOKEN_FILE,
  // when it cannot be read or has no token.
  static StatusOr<std::unique_ptr<Tokens>> Open(const std::string& path);

  // authorization: the header "Bearer TOKEN", or empty. UNAUTHENTICATED: TOKEN_MISSING, TOKEN_UNKNOWN.
  // At most once a second it looks whether the file has changed; a file that cannot be read leaves the
  // tokens as they were, and one without tokens lets nobody in.
  Status Check(std::string_view authorization);

 private:
  // Tokens are kept as hashes, and all of them compared, each in whole: how long that takes says nothing.
  using Hash = std::array<uint8_t, 32>;
  struct Stamp {
    int64_t modified = -1, changed = -1;  // ns
    int64_t size = -1, inode = -1;
    bool operator==(const Stamp&) const = default;
  };

  explicit Tokens(std::string path) : path_(std::move(path)) {}
  Status Read();
  void ReadIfChanged();

  const std::string path_;
  std::atomic<std::chrono::steady_clock::time_point> next_look_{};
  std::mutex mutex_;  // guards what follows
  Stamp stamp_;
  std::shared_ptr<const std::vector<Hash>> hashes_;
};

}  // namespace pullback::server
