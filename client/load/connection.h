// What one connection of a generator does during a run.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "client/load/load.h"
#include "client/load/wire.h"

namespace pullback::load {

using Clock = std::chrono::steady_clock;

// Of a run. Recorded is what begins, or is due, in [record, end).
struct Window {
  Clock::time_point begin, record, end;
};

// Makes the bytes of requests, numbered through over all connections.
class RequestSource {
 public:
  explicit RequestSource(Requests requests);
  grpc::ByteBuffer Next();

 private:
  const Requests requests_;
  grpc::ByteBuffer fixed_;
  std::atomic<uint64_t> number_{0};
};

class Connection {
 public:
  Connection(std::unique_ptr<Wire> wire, RequestSource* source, const Options& options, int slots)
      : wire_(std::move(wire)),
        source_(source),
        options_(options),
        begun_(static_cast<size_t>(slots)) {}

  Outcome RunClosed(const Window& window, Progress* progress);
  // Its arrivals are a share of all (Arrivals).
  Outcome RunOpen(const Window& window, Arrivals arrivals, int64_t max_backlog, Progress* progress);
  void Cancel() { wire_->Cancel(); }

 private:
  struct Pacer;  // the sending side of an open loop

  void Record(const Window& window, const Wire::Answer& answer, Outcome* outcome,
              Progress* progress);

  const std::unique_ptr<Wire> wire_;
  RequestSource* const source_;
  const Options& options_;
  std::vector<Clock::time_point> begun_;  // by slot: when it was sent; open loop: when it was due
};

}  // namespace pullback::load
