#include "server/tokens.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <sys/stat.h>

#include <fstream>
#include <utility>

#include "server/log.h"

namespace pullback::server {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::seconds kLook{1};
constexpr std::string_view kScheme = "bearer ";
constexpr size_t kMaxTokenBytes = 4096;

std::string_view Trim(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

bool IsBearer(std::string_view header) {
  if (header.size() < kScheme.size()) return false;
  for (size_t i = 0; i < kScheme.size(); ++i) {
    const char c =
        header[i] >= 'A' && header[i] <= 'Z' ? static_cast<char>(header[i] | 0x20) : header[i];
    if (c != kScheme[i]) return false;
  }
  return true;
}

template <typename Hash>
Hash HashOf(std::string_view token) {
  Hash hash;
  SHA256(reinterpret_cast<const uint8_t*>(token.data()), token.size(), hash.data());
  return hash;
}

int64_t Nanoseconds(const timespec& time) {
  return int64_t{time.tv_sec} * 1000000000 + time.tv_nsec;
}

}  // namespace

StatusOr<std::unique_ptr<Tokens>> Tokens::Open(const std::string& path) {
  std::unique_ptr<Tokens> tokens(new Tokens(path));
  PB_RETURN_IF_ERROR(tokens->Read());
  if (tokens->hashes_->empty()) {
    return Status(Code::kFailedPrecondition, "TOKEN_FILE", path + " has no token");
  }
  tokens->next_look_ = steady_clock::now() + kLook;
  return tokens;
}

Status Tokens::Check(std::string_view authorization) {
  if (steady_clock::now() >= next_look_.load(std::memory_order_relaxed)) ReadIfChanged();
  if (authorization.empty() || !IsBearer(authorization)) {
    return Status(Code::kUnauthenticated, "TOKEN_MISSING",
                  "this server wants a token: the header \"authorization: Bearer TOKEN\"");
  }
  const std::string_view token = Trim(authorization.substr(kScheme.size()));
  const Hash hash = HashOf<Hash>(token.substr(0, kMaxTokenBytes + 1));
  std::shared_ptr<const std::vector<Hash>> hashes;
  {
    std::lock_guard lock(mutex_);
    hashes = hashes_;
  }
  int found = 0;
  for (const Hash& known : *hashes) {
    found |= static_cast<int>(CRYPTO_memcmp(known.data(), hash.data(), hash.size()) == 0);
  }
  if (found != 0) return {};
  return Status(Code::kUnauthenticated, "TOKEN_UNKNOWN", "this server does not know the token");
}

void Tokens::ReadIfChanged() {
  // Whoever moves the time on looks; the others go on with what there is.
  auto due = next_look_.load(std::memory_order_relaxed);
  const auto now = steady_clock::now();
  if (now < due || !next_look_.compare_exchange_strong(due, now + kLook)) return;
  const Status status = Read();
  if (status.ok()) return;
  log::Write(log::Level::kWarn, "the tokens stay as they were",
             {{"reason", status.reason()}, {"detail", status.message()}});
}

Status Tokens::Read() {
  struct stat info{};
  if (stat(path_.c_str(), &info) != 0) {
    return Status(Code::kFailedPrecondition, "TOKEN_FILE", "cannot read " + path_);
  }
  const Stamp stamp{Nanoseconds(info.st_mtim), Nanoseconds(info.st_ctim), info.st_size,
                    static_cast<int64_t>(info.st_ino)};
  // A file that was written in the last moments may be written again without a new time.
  const int64_t age = int64_t{time(nullptr)} - int64_t{info.st_mtim.tv_sec};
  {
    std::lock_guard lock(mutex_);
    if (stamp == stamp_ && age > 2) return {};
  }
  std::ifstream file(path_);
  auto hashes = std::make_shared<std::vector<Hash>>();
  for (std::string line; std::getline(file, line); OPENSSL_cleanse(line.data(), line.size())) {
    const std::string_view token = Trim(line);
    if (!token.empty() && token[0] != '#') hashes->push_back(HashOf<Hash>(token));
  }
  if (!file.eof()) return Status(Code::kFailedPrecondition, "TOKEN_FILE", "cannot read " + path_);
  std::lock_guard lock(mutex_);
  const bool first = hashes_ == nullptr;
  const bool changed = first || *hashes_ != *hashes;
  stamp_ = stamp;
  hashes_ = std::move(hashes);
  if (changed && !first) {
    log::Write(log::Level::kInfo, "tokens read again",
               {{"count", static_cast<double>(hashes_->size())}});
  }
  return {};
}

}  // namespace pullback::server
