// One failed call through the bare stub, with its google.rpc details taken apart.
#pragma once

#include <grpcpp/support/status.h>

#include <string>
#include <vector>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "pullback/v1/service.grpc.pb.h"

namespace pullback::test {

struct RpcError {
  grpc::StatusCode code = grpc::StatusCode::OK;
  std::string message;
  int error_infos = 0;
  google::rpc::ErrorInfo info;
  google::rpc::BadRequest bad;
  google::rpc::RequestInfo request;
  bool has_retry = false;
  double retry_seconds = 0;
};

inline void Unpack(const google::rpc::Status& status, RpcError* error) {
  for (const auto& detail : status.details()) {
    google::rpc::RetryInfo retry;
    error->error_infos += detail.UnpackTo(&error->info) ? 1 : 0;
    detail.UnpackTo(&error->bad);
    detail.UnpackTo(&error->request);
    if (!detail.UnpackTo(&retry)) continue;
    error->has_retry = true;
    error->retry_seconds = static_cast<double>(retry.retry_delay().seconds()) +
                           static_cast<double>(retry.retry_delay().nanos()) * 1e-9;
  }
}

inline RpcError Decode(const grpc::Status& status) {
  RpcError error;
  error.code = status.error_code();
  error.message = status.error_message();
  google::rpc::Status rpc;
  if (rpc.ParseFromString(status.error_details())) Unpack(rpc, &error);
  return error;
}

}  // namespace pullback::test
