// From Status to what travels: gRPC's code and message, and google.rpc details in the trailer.
#pragma once

#include <absl/functional/function_ref.h>
#include <grpcpp/support/status.h>

#include <chrono>
#include <string>

#include "core/base/status.h"
#include "google/rpc/status.pb.h"
#include "proto/values.h"
#include "server/request.h"

namespace pullback::server {

inline constexpr char kErrorDomain[] = "pullback";

// A fault of the request's message: `field` is the path of what is wrong in it. INVALID_ARGUMENT.
Status FieldFault(const std::string& field, const std::string& what,
                  const std::string& reason = "INVALID_REQUEST");
Status FieldFault(const std::string& field, const wire::Fault& fault);

// RESOURCE_EXHAUSTED, QUEUE_FULL.
Status QueueFull();
// UNAVAILABLE, DRAINING.
Status Draining();
// INVALID_ARGUMENT, MALFORMED_REQUEST.
Status Malformed();

// What `work` returns; what it throws becomes RESOURCE_EXHAUSTED, OUT_OF_MEMORY or INTERNAL.
Status Guard(absl::FunctionRef<Status()> work);

// The status with all its details. They are cut to stay within what clients accept as trailers (8 KiB
// of metadata in all): at most 8 places, long texts shortened. queue_delay: RetryInfo of QUEUE_FULL.
google::rpc::Status ToRpcStatus(const Status& status, Request& request,
                                std::chrono::milliseconds queue_delay);
grpc::Status ToGrpcStatus(const Status& status, Request& request,
                          std::chrono::milliseconds queue_delay);

}  // namespace pullback::server
