// The bytes that a load is made of.
#pragma once

#include <string>

#include "client/client.h"
#include "core/base/status.h"

namespace pullback::load {

// Serialised EvaluateRequests: by the id of a kernel, and with the program's text.
StatusOr<std::string> WarmRequest(const client::Compiled& kernel, const client::Inputs& inputs);
StatusOr<std::string> ColdRequest(const client::KernelSpec& spec, const client::Inputs& inputs);

// The serialised EvaluateResponse to a serialised EvaluateRequest.
StatusOr<std::string> Ask(const std::string& target, const client::Security& security,
                          const std::string& request);

// Tells tests/bench/echo_server.cc what to answer: it takes the request of a Compile for its reply.
Status TeachEcho(const std::string& target, const std::string& reply);

}  // namespace pullback::load
