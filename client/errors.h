// From gRPC's status and its google.rpc details back to Status.
#pragma once

#include <grpcpp/support/status.h>

#include "core/base/status.h"
#include "google/rpc/status.pb.h"

namespace pullback::client {

// Reason from ErrorInfo, diagnostics from BadRequest. A status without details (made by gRPC itself: no
// connection, deadline seen by the client, oversized message) has the code's name as its reason. Codes
// that Pullback does not use become INTERNAL.
Status FromGrpc(const grpc::Status& status);
Status FromRpc(const google::rpc::Status& status);

}  // namespace pullback::client
