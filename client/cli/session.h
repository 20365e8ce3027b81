// Where programs are compiled and run: a server, or the engine in this process. Both speak the client's
// structs and give the same answers.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/client.h"
#include "core/base/status.h"

namespace pullback::cli {

class Session {
 public:
  virtual ~Session() = default;
  virtual StatusOr<client::Compiled> Compile(const client::KernelSpec& spec) = 0;
  // `kernel` is what Compile gave for `spec`. Errors name places of spec's text.
  virtual StatusOr<client::Evaluation> Evaluate(const client::KernelSpec& spec,
                                                const client::Compiled& kernel,
                                                const client::Inputs& inputs) = 0;
  // inputs: none, or those that the stage cost runs with.
  virtual StatusOr<std::string> Explain(const client::KernelSpec& spec, const std::string& stage,
                                        const client::Inputs* inputs) = 0;
  virtual StatusOr<client::ServerInfo> Info() = 0;
};

// deadline: seconds from now for all that the session does.
StatusOr<std::unique_ptr<Session>> OpenLocal(std::optional<double> deadline);
StatusOr<std::unique_ptr<Session>> OpenRemote(const std::string& target,
                                              const client::Security& security,
                                              std::optional<double> deadline);

}  // namespace pullback::cli
