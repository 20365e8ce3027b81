// A session with a server.
#include <algorithm>
#include <chrono>
#include <utility>

#include "client/cli/session.h"

namespace pullback::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kConnectWait{3000};
constexpr milliseconds kAnswerWait{1000};  // for the answer that the deadline has passed

class Remote final : public Session {
 public:
  Remote(std::unique_ptr<client::Client> client, std::optional<steady_clock::time_point> deadline)
      : client_(std::move(client)), deadline_(deadline) {}

  StatusOr<client::Compiled> Compile(const client::KernelSpec& spec) override {
    return client_->Compile(spec, Call({}));
  }

  // By a stream, which takes the text and not the kernel's id: an id stands for the first text that
  // made the kernel, and errors would name its places.
  StatusOr<client::Evaluation> Evaluate(const client::KernelSpec& spec,
                                        const client::Compiled& kernel,
                                        const client::Inputs& inputs) override {
    client::CallOptions call = Call(kAnswerWait);
    call.program_hash = kernel.program_hash;
    auto stream = client_->OpenStream(call);
    stream->Send(1, spec, inputs, Remaining());
    stream->CloseSend();
    auto answer = stream->Receive();
    if (answer) return std::move(answer->result);
    const Status end = stream->Finish();
    return end.ok() ? Status(Code::kInternal, "NO_ANSWER", "the server gave no answer") : end;
  }

  StatusOr<std::string> Explain(const client::KernelSpec& spec, const std::string& stage,
                                const client::Inputs* inputs) override {
    if (inputs != nullptr) {
      return Status(Code::kInvalidArgument, "USAGE",
                    "a server explains without arguments: use --local");
    }
    PB_ASSIGN_OR_RETURN(auto stages, client_->Explain(spec, {stage}, Call({})));
    return stages.empty() ? std::string() : std::move(stages[0].text);
  }

  StatusOr<client::ServerInfo> Info() override { return client_->Info(Call({})); }

 private:
  std::optional<milliseconds> Remaining() const {
    if (!deadline_) return std::nullopt;
    const auto left = std::chrono::duration_cast<milliseconds>(*deadline_ - steady_clock::now());
    return std::max(left, milliseconds(1));
  }
  client::CallOptions Call(milliseconds more) const {
    client::CallOptions call;
    if (deadline_) call.timeout = *Remaining() + more;
    return call;
  }

  const std::unique_ptr<client::Client> client_;
  const std::optional<steady_clock::time_point> deadline_;
};

}  // namespace

StatusOr<std::unique_ptr<Session>> OpenRemote(const std::string& target,
                                              const client::Security& security,
                                              std::optional<double> deadline) {
  std::optional<steady_clock::time_point> end;
  if (deadline) {
    end = steady_clock::now() + milliseconds(static_cast<int64_t>(*deadline * 1000));
  }
  client::ConnectOptions options;
  options.wait = kConnectWait;
  options.security = security;
  auto client = client::Client::Connect(target, options);
  if (!client.ok() && client.status().code() == Code::kUnavailable) {
    const bool tls = security.tls || !security.ca_file.empty() || !security.cert_file.empty() ||
                     !security.key_file.empty();
    const std::string hint =
        tls ? "; either none runs, or TLS with it fails: it speaks none, wants a certificate, or "
              "one "
              "side does not trust the other's"
            : "; start one with pullbackd, or use --local; if it speaks TLS, ask with --tls";
    return Status(client.status().code(), client.status().reason(),
                  client.status().message() + hint);
  }
  if (!client.ok()) return client.status();
  return std::unique_ptr<Session>(std::make_unique<Remote>(std::move(client).value(), end));
}

}  // namespace pullback::cli
