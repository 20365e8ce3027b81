// Load on a server, and what its answers took.
//
// Closed loop: a number of requests is always in flight; each answer sends the next. Such a measure says how
// much a server can do, and hides what waiting users would have seen while it stalled (coordinated
// omission): nothing is sent then. Open loop: requests are due by a clock, whatever the server does, and the
// latency of each counts from the time at which it was due, not from when it could be sent.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "client/client.h"
#include "client/load/arrivals.h"
#include "client/load/histogram.h"
#include "core/base/status.h"

namespace pullback::load {

enum class Rpc : uint8_t { kEvaluate, kEvaluateStream };

struct Options {
  std::string target;  // HOST:PORT
  client::Security security;
  Rpc rpc = Rpc::kEvaluate;
  std::string program_hash;  // x-pullback-program-hash; empty: none
  int connections = 1;       // each with a thread of its own; open loop: with two

  int concurrency = 1;  // of the closed loop: requests in flight, at least one a connection
  double rate = 0;      // of the open loop, a second; 0: closed
  ArrivalKind arrivals = ArrivalKind::kPoisson;
  uint64_t seed = 1;
  int max_in_flight = 1024;      // of the open loop; what is due beyond them waits here
  int64_t max_backlog = 100000;  // that wait; what is due beyond them is shed

  double timeout_seconds =
      10;  // of one request; also how long a backlog may take to empty at the end
};

// Serialised EvaluateRequests. `make` gives that of a number, and is called by many threads; without it all are
// `bytes`.
struct Requests {
  std::string bytes;
  std::function<std::string(uint64_t number)> make;
};

struct Outcome {
  Histogram latency;  // of answers that were OK, nanoseconds
  Histogram delay;    // open loop: how late requests were sent, which latency has in it
  std::map<std::string, int64_t> errors;  // by code; "SHED": due, and never sent
  double seconds = 0;
  int64_t peak_in_flight = 0;
  int64_t peak_backlog = 0;

  int64_t failed() const;
  int64_t total() const { return latency.count() + failed(); }
  double rate() const { return static_cast<double>(latency.count()) / seconds; }
  // Of another connection at the same time: the seconds stay, what was in flight adds up.
  void MergeBeside(const Outcome& other);
  // Of another time.
  void MergeAfter(const Outcome& other);

 private:
  void MergeCounts(const Outcome& other);
};

// Answers so far, for whoever watches.
struct Progress {
  std::atomic<int64_t> answers{0};
  std::atomic<int64_t> errors{0};
};

// Connections to one server, kept from run to run.
class Generator {
 public:
  // UNAVAILABLE when nobody answers within five seconds; INVALID_ARGUMENT as of client::Client::Connect.
  static StatusOr<std::unique_ptr<Generator>> Connect(const Options& options, Requests requests);
  ~Generator();

  // Runs for warmup_seconds, of which nothing is recorded, and `seconds`, and until all is answered. progress:
  // may be null.
  Outcome Run(double warmup_seconds, double seconds, Progress* progress);

 private:
  struct Impl;
  explicit Generator(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace pullback::load
