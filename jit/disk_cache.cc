#include "jit/disk_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include "core/base/hmac.h"

namespace pullback::jit {
namespace {

namespace fs = std::filesystem;

constexpr char kMagic[] = "pullback cache 1\n";
constexpr size_t kMagicSize = sizeof kMagic - 1;
constexpr const char* kKeyFile = "mac.key";
constexpr const char* kUnfinished = ".unfinished";
constexpr auto kAbandoned = std::chrono::hours(1);  // then nobody writes it any more

std::string Length(uint64_t size) {
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &size, 8);
  return bytes;
}

class File {
 public:
  File(const std::string& path, int flags, mode_t mode = 0600)
      : fd_(open(path.c_str(), flags | O_CLOEXEC, mode)) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (fd_ >= 0) close(fd_);
  }
  bool good() const { return fd_ >= 0; }
  int fd() const { return fd_; }

 private:
  const int fd_;
};

bool WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

std::optional<std::string> ReadAll(const std::string& path) {
  const File file(path, O_RDONLY | O_NOFOLLOW);
  struct stat about = {};
  if (!file.good() || fstat(file.fd(), &about) != 0 || !S_ISREG(about.st_mode)) return std::nullopt;
  std::string bytes(static_cast<size_t>(about.st_size), '\0');
  size_t got = 0;
  while (got < bytes.size()) {
    const ssize_t n = read(file.fd(), bytes.data() + got, bytes.size() - got);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return std::nullopt;
    got += static_cast<size_t>(n);
  }
  return bytes;
}

bool SyncFolder(const std::string& path) {
  const File folder(path, O_RDONLY | O_DIRECTORY);
  return folder.good() && fsync(folder.fd()) == 0;
}

// The bytes under this path, or none of them. `unfinished` is in the same folder.
bool WriteWhole(const std::string& path, const std::string& unfinished, std::string_view bytes) {
  bool good = false;
  {
    const File file(unfinished, O_WRONLY | O_CREAT | O_EXCL);
    good = file.good() && WriteAll(file.fd(), bytes) && fsync(file.fd()) == 0;
  }
  good = good && rename(unfinished.c_str(), path.c_str()) == 0;
  if (!good) unlink(unfinished.c_str());
  return good && SyncFolder(fs::path(path).parent_path());
}

Status Unusable(const std::string& folder, const std::string& why) {
  return {Code::kFailedPrecondition, "CACHE_DIR",
          "the folder of the disk cache, " + folder + ", cannot be used: " + why};
}

// Whoever comes first makes it; a hard link, so that nobody sees a part of it.
StatusOr<std::string> ReadOrMakeKey(const std::string& folder) {
  const std::string path = folder + "/" + kKeyFile;
  if (!fs::exists(path)) {
    const std::string mine = path + "." + std::to_string(getpid()) + kUnfinished;
    unlink(mine.c_str());
    const File file(mine, O_WRONLY | O_CREAT | O_EXCL);
    const bool written =
        file.good() && WriteAll(file.fd(), RandomBytes(kHmacBytes)) && fsync(file.fd()) == 0;
    const bool linked = written && (link(mine.c_str(), path.c_str()) == 0 || errno == EEXIST);
    const int reason = errno;
    unlink(mine.c_str());
    if (!linked) return Unusable(folder, std::strerror(reason));
  }
  std::optional<std::string> key = ReadAll(path);
  if (!key || key->size() != kHmacBytes) return Unusable(folder, "its key is not one: " + path);
  return *std::move(key);
}

bool IsName(const std::string& name) {
  return name.size() >= 4 && std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

}  // namespace

std::string DiskCache::SealEntry(std::string_view key, std::string_view name,
                                 std::string_view bytes) {
  std::string file(kMagic, kMagicSize);
  file += Length(name.size());
  file += name;
  file += Length(bytes.size());
  file += bytes;
  return file + HmacSha256(key, file);
}

// The MAC covers lengths and name, so that what it agrees with is what was sealed.
std::optional<std::string> DiskCache::OpenEntry(std::string_view key, std::string_view name,
                                                std::string_view file) {
  const size_t before = kMagicSize + 8 + name.size() + 8;
  if (file.size() < before + kHmacBytes) return std::nullopt;
  const std::string_view sealed = file.substr(0, file.size() - kHmacBytes);
  const std::string_view bytes = sealed.substr(before);
  const std::string header = std::string(kMagic, kMagicSize) + Length(name.size()) +
                             std::string(name) + Length(bytes.size());
  if (sealed.substr(0, before) != header) return std::nullopt;
  if (!SameMac(HmacSha256(key, sealed), file.substr(sealed.size()))) return std::nullopt;
  return std::string(bytes);
}

DiskCache::DiskCache(std::string folder, int64_t max_bytes, std::string key)
    : folder_(std::move(folder)), max_bytes_(max_bytes), key_(std::move(key)) {}

StatusOr<std::unique_ptr<DiskCache>> DiskCache::Open(const std::string& folder, int64_t max_bytes) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return Unusable(folder, error.message());
  PB_ASSIGN_OR_RETURN(std::string key, ReadOrMakeKey(folder));
  auto cache = std::unique_ptr<DiskCache>(new DiskCache(folder, max_bytes, std::move(key)));
  cache->Scan();
  return cache;
}

// By the time of their last use, which is that of their last change.
void DiskCache::Scan() {
  struct Found {
    fs::file_time_type used;
    Entry entry;
  };
  std::vector<Found> found;
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder_, error), end; !error && at != end;
       at.increment(error)) {
    std::error_code gone;
    if (!at->is_regular_file(gone) || gone) continue;
    const std::string name = at->path().filename();
    const auto used = at->last_write_time(gone);
    if (gone) continue;
    if (name.ends_with(kUnfinished)) {
      if (fs::file_time_type::clock::now() - used > kAbandoned) fs::remove(at->path(), gone);
    } else if (IsName(name)) {
      const auto size = static_cast<int64_t>(at->file_size(gone));
      if (!gone) found.push_back({used, {name, size}});
    }
  }
  std::sort(found.begin(), found.end(),
            [](const Found& a, const Found& b) { return a.used < b.used; });
  for (const Found& f : found) Touch(f.entry.name, f.entry.bytes);
  while (const auto evicted = EvictOne()) unlink(PathOf(*evicted).c_str());
}

std::string DiskCache::PathOf(const std::string& name) const {
  return folder_ + "/" + name.substr(0, 2) + "/" + name;
}

void DiskCache::Touch(const std::string& name, int64_t bytes) {
  Forget(name);
  order_.push_front({name, bytes});
  by_name_[name] = order_.begin();
  ++stats_.entries;
  stats_.bytes += bytes;
}

void DiskCache::Forget(const std::string& name) {
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) return;
  stats_.bytes -= found->second->bytes;
  --stats_.entries;
  order_.erase(found->second);
  by_name_.erase(found);
}

// The name of one that has to go, or nothing.
std::optional<std::string> DiskCache::EvictOne() {
  const std::lock_guard lock(mutex_);
  if (stats_.bytes <= max_bytes_ || order_.empty()) return std::nullopt;
  std::string name = order_.back().name;
  Forget(name);
  ++stats_.evictions;
  return name;
}

std::optional<std::string> DiskCache::Get(const std::string& name) {
  PB_CHECK(IsName(name));
  const std::string path = PathOf(name);
  const std::optional<std::string> file = ReadAll(path);
  std::optional<std::string> bytes;
  if (file) bytes = OpenEntry(key_, name, *file);
  if (file && !bytes) unlink(path.c_str());
  if (bytes) utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
  const std::lock_guard lock(mutex_);
  ++(bytes ? stats_.hits : stats_.misses);
  if (file && !bytes) ++stats_.damaged;
  if (bytes) {
    Touch(name, static_cast<int64_t>(file->size()));
  } else {
    Forget(name);
  }
  return bytes;
}

void DiskCache::Put(const std::string& name, std::string_view bytes) {
  PB_CHECK(IsName(name));
  const std::string file = SealEntry(key_, name, bytes);
  const auto size = static_cast<int64_t>(file.size());
  if (size > max_bytes_) return;
  const std::string path = PathOf(name);
  std::string unfinished = path + "." + std::to_string(getpid()) + ".";
  {
    const std::lock_guard lock(mutex_);
    unfinished += std::to_string(next_++) + kUnfinished;
  }
  const std::string shard = fs::path(path).parent_path();
  mkdir(shard.c_str(), 0700);
  const bool written = WriteWhole(path, unfinished, file);
  {
    const std::lock_guard lock(mutex_);
    if (written) {
      Touch(name, size);
    } else {
      ++stats_.failed_writes;
    }
  }
  while (const auto evicted = EvictOne()) unlink(PathOf(*evicted).c_str());
}

void DiskCache::Remove(const std::string& name) {
  unlink(PathOf(name).c_str());
  const std::lock_guard lock(mutex_);
  Forget(name);
  ++stats_.damaged;
}

DiskCacheStats DiskCache::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

}  // namespace pullback::jit
