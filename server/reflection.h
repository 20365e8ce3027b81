// Server reflection, v1 and v1alpha, through the callback API. gRPC 1.51's own knows v1alpha only, and as
// a synchronous service adds polling threads that take events from ours.
#pragma once

#include <grpcpp/impl/codegen/service_type.h>

#include <memory>
#include <string>
#include <vector>

namespace pullback::server {

// The two services; they list themselves and `services` (full names).
std::vector<std::unique_ptr<grpc::Service>> MakeReflectionServices(
    const std::vector<std::string>& services);

}  // namespace pullback::server
