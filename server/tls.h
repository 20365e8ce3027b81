// What gRPC listens with: nothing, TLS, or TLS that asks clients for certificates.
#pragma once

#include <grpcpp/security/server_credentials.h>

#include <memory>

#include "core/base/status.h"
#include "server/options.h"

namespace pullback::server {

// Files that are replaced are taken within a second or two, for new connections. FAILED_PRECONDITION,
// TLS_FILES, when they cannot be read, are not what they should be, or do not belong together.
StatusOr<std::shared_ptr<grpc::ServerCredentials>> MakeCredentials(const ServerOptions& options);

}  // namespace pullback::server
