// A folder for a disk cache, for the time of a test.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "jit/disk_cache.h"
#include "tests/jit/engine/fake_backend.h"

namespace pullback::jit {

namespace fs = std::filesystem;

class Folder {
 public:
  Folder() {
    char name[] = "/tmp/pullback-cache-XXXXXX";
    path_ = mkdtemp(name);
  }
  ~Folder() { fs::remove_all(path_); }
  const std::string& path() const { return path_; }
  std::vector<fs::path> Files() const {
    std::vector<fs::path> files;
    for (const auto& entry : fs::recursive_directory_iterator(path_)) {
      if (entry.is_regular_file() && entry.path().filename() != "mac.key") {
        files.push_back(entry.path());
      }
    }
    return files;
  }

 private:
  std::string path_;
};

inline std::shared_ptr<DiskCache> OpenAt(const Folder& folder, int64_t bytes = 1 << 20) {
  return Ok(DiskCache::Open(folder.path(), bytes));
}

inline std::string ReadFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

inline void WriteFile(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

}  // namespace pullback::jit
