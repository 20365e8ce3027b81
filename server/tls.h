// What gRPC listens with under TLS: the server's certificate and key, and whose certificates clients need.
#pragma once

#include <grpcpp/security/server_credentials.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "core/base/status.h"
#include "server/options.h"

namespace pullback::server {

// A file's text in memory, under a path of its own by which this process reads it.
class MemoryFile {
 public:
  static StatusOr<MemoryFile> Of(const std::string& text);
  MemoryFile(MemoryFile&& o) noexcept;
  MemoryFile& operator=(MemoryFile&&) = delete;
  ~MemoryFile();

  std::string path() const;
  // Who opens path() from now on reads o's text: all of it, never a part.
  void Become(const MemoryFile& o) const;

 private:
  explicit MemoryFile(int fd) : fd_(fd) {}
  int fd_;
};

// The files are looked at every second. What cannot serve is left aside, with a warning in the log, until it can: gRPC,
// which looks at paths of its own, is given only a certificate and key that belong together. New connections have
// what was taken last; those that are open go on.
class Tls {
 public:
  // Null where the options name no files. FAILED_PRECONDITION, TLS_FILES, when they cannot be read, are not what they
  // should be, or do not belong together.
  static StatusOr<std::unique_ptr<Tls>> Open(const ServerOptions& options);
  ~Tls();

  // They read what this object keeps: it has to outlive the server that has them.
  std::shared_ptr<grpc::ServerCredentials> Credentials() const;

 private:
  struct Texts {
    std::string cert, key, ca;  // ca: empty where none is asked for
    bool operator==(const Texts&) const = default;
  };
  struct Files {
    MemoryFile cert, key, ca;
  };

  Tls(const ServerOptions& options, Texts seen, Files files);
  static StatusOr<Texts> Read(const ServerOptions& options);
  static StatusOr<Files> Check(const ServerOptions& options, const Texts& texts);
  void Watch();
  void Look();

  const ServerOptions options_;
  std::optional<Texts> seen_;  // at the last look; none: they could not be read
  const Files files_;
  std::mutex mutex_;  // guards stop_
  std::condition_variable wake_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace pullback::server
