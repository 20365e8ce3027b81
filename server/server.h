// The server as a whole: engine, pools, gRPC, health, from start to drain.
#pragma once

#include <memory>
#include <string>

#include "core/base/status.h"
#include "jit/backend.h"
#include "server/options.h"

namespace pullback::server {

// Options with every 0 that stands for "by the machine" filled in.
ServerOptions Resolve(ServerOptions options);

class Server {
 public:
  // Opens the HTTP port, not ready; compiles a small program first, so that a server that listens can serve. FAILED_PRECONDITION,
  // CANNOT_LISTEN when the address is not to be had.
  static StatusOr<std::unique_ptr<Server>> Start(const ServerOptions& options,
                                                 std::shared_ptr<jit::Backend> llvm,
                                                 std::shared_ptr<jit::Backend> baseline);
  ~Server();

  // "127.0.0.1:8001", with the port that was picked.
  const std::string& address() const;
  // Of the HTTP port; empty where there is none.
  const std::string& http_address() const;

  // Health turns NOT_SERVING and /readyz 503, new calls are refused with UNAVAILABLE, running ones are answered; those
  // that take longer than drain_timeout are cancelled. True when none had to be.
  bool Drain();

 private:
  struct Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace pullback::server
