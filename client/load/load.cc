#include "client/load/load.h"

#include <grpcpp/create_channel.h>

#include <algorithm>
#include <thread>

#include "client/impl.h"
#include "client/load/connection.h"
#include "client/load/wire.h"

namespace pullback::load {
namespace {

constexpr std::chrono::seconds kConnectWait{5};

Clock::duration Seconds(double s) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(s));
}

// How much of `total` is part `index` of `parts`.
int Share(int total, int index, int parts) { return total / parts + (index < total % parts); }

int Connections(const Options& options) {
  const int most = options.rate > 0 ? options.max_in_flight : options.concurrency;
  return std::clamp(options.connections, 1, std::max(1, most));
}

}  // namespace

int64_t Outcome::failed() const {
  int64_t sum = 0;
  for (const auto& [code, count] : errors) sum += count;
  return sum;
}

void Outcome::MergeCounts(const Outcome& other) {
  latency.Merge(other.latency);
  delay.Merge(other.delay);
  for (const auto& [code, count] : other.errors) errors[code] += count;
}

void Outcome::MergeBeside(const Outcome& other) {
  MergeCounts(other);
  seconds = std::max(seconds, other.seconds);
  peak_in_flight += other.peak_in_flight;
  peak_backlog += other.peak_backlog;
}

void Outcome::MergeAfter(const Outcome& other) {
  MergeCounts(other);
  seconds += other.seconds;
  peak_in_flight = std::max(peak_in_flight, other.peak_in_flight);
  peak_backlog = std::max(peak_backlog, other.peak_backlog);
}

struct Generator::Impl {
  Impl(const Options& given, Requests requests) : options(given), source(std::move(requests)) {}

  Outcome RunOne(int index, const Window& window, Progress* progress) {
    Connection& connection = *connections[static_cast<size_t>(index)];
    if (options.rate <= 0) return connection.RunClosed(window, progress);
    const int parts = static_cast<int>(connections.size());
    // Another run has other arrivals.
    const uint64_t seed = options.seed * 1000 + static_cast<uint64_t>(runs);
    const int64_t most_waiting = std::max<int64_t>(1, options.max_backlog / parts);
    return connection.RunOpen(window, Arrivals(options.arrivals, options.rate, index, parts, seed),
                              most_waiting, progress);
  }

  const Options options;
  RequestSource source;
  std::vector<std::unique_ptr<Connection>> connections;
  int runs = 0;
};

Generator::Generator(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Generator::~Generator() = default;

StatusOr<std::unique_ptr<Generator>> Generator::Connect(const Options& options, Requests requests) {
  auto impl = std::make_unique<Impl>(options, std::move(requests));
  const int count = Connections(options);
  PB_ASSIGN_OR_RETURN(const client::Secrets secrets, client::ReadSecrets(options.security));
  for (int i = 0; i < count; ++i) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a connection of its own
    arguments.SetMaxReceiveMessageSize(-1);
    auto channel = grpc::CreateCustomChannel(options.target, secrets.credentials, arguments);
    if (!channel->WaitForConnected(std::chrono::system_clock::now() + kConnectWait)) {
      return Status(Code::kUnavailable, "UNAVAILABLE", "no server answers at " + options.target);
    }
    WireOptions wire;
    wire.headers = {options.program_hash, secrets.authorization};
    wire.timeout = Seconds(options.timeout_seconds);
    wire.slots = Share(options.rate > 0 ? options.max_in_flight : options.concurrency, i, count);
    const auto make = options.rpc == Rpc::kEvaluate ? MakeUnaryWire : MakeStreamWire;
    impl->connections.push_back(std::make_unique<Connection>(
        make(std::move(channel), wire), &impl->source, impl->options, wire.slots));
  }
  return std::unique_ptr<Generator>(new Generator(std::move(impl)));
}

Outcome Generator::Run(double warmup_seconds, double seconds, Progress* progress) {
  Progress unseen;
  if (progress == nullptr) progress = &unseen;
  ++impl_->runs;
  Window window;
  window.begin = Clock::now();
  window.record = window.begin + Seconds(warmup_seconds);
  window.end = window.record + Seconds(seconds);
  const size_t count = impl_->connections.size();
  std::vector<Outcome> outcomes(count);
  std::vector<std::thread> threads;
  std::atomic<size_t> running{count};
  for (size_t i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      outcomes[i] = impl_->RunOne(static_cast<int>(i), window, progress);
      --running;
    });
  }
  // Requests end at their timeouts, those of a stream when the server says so: one that says nothing is
  // left in the end. A backlog may take as long again before its last request is sent.
  const auto last = window.end + Seconds(2 * impl_->options.timeout_seconds + 1);
  for (std::thread& thread : threads) {
    while (running > 0 && Clock::now() < last)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    if (running > 0) {
      for (const auto& connection : impl_->connections) connection->Cancel();
    }
    thread.join();
  }
  Outcome all;
  for (const Outcome& outcome : outcomes) all.MergeBeside(outcome);
  all.seconds = seconds;
  return all;
}

}  // namespace pullback::load
