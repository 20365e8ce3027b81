// What the server knows of one request beside its message: who asks, until when, whether still.
#pragma once

#include <grpcpp/server_context.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "server/options.h"

namespace pullback::server {

using Clock = std::chrono::steady_clock;

// Where a request's time went, in seconds; below 0: it had no such part.
struct StageTimes {
  double queue = -1;                 // from its arrival to its start on the thread that answers
  double execute = -1;               // in compiled code
  double convert = 0;                // between bytes, messages and values
  std::vector<jit::Timing> compile;  // empty where the kernel was there
};

struct Request {
  const char* method = "";
  // Where the two that follow are to be read, when somebody needs them: for most requests nobody does, and gRPC makes a
  // map of all metadata for it. Null: they have been.
  const grpc::CallbackServerContext* metadata = nullptr;
  std::string id;            // x-request-id; empty until somebody needs one, see RequestId
  std::string program_hash;  // x-pullback-program-hash, or empty
  Clock::time_point arrived;
  std::optional<Clock::time_point> deadline;
  std::shared_ptr<std::atomic<bool>> cancelled;
  size_t bytes = 0;      // of its message
  StageTimes stages;     // filled in by who does the work
  bool overran = false;  // a run of it was stopped, since it took longer than short ones may
  // Its kernel, once that was found by its id: what is left to another thread need not look for it again.
  jit::HandlePtr kernel;
};

inline double SecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Reads the client's deadline; the context must live until metadata is read or the request is answered.
Request MakeRequest(const char* method, const grpc::CallbackServerContext& context);
// Reads the metadata that has not been. What is too long or not printable ASCII is taken as absent. Not thread-safe:
// before copies are made for other threads.
void ReadMetadata(Request* request);

// Brings the deadline forward to what the request itself asks for (0: nothing), or else, without any
// deadline, to default_deadline, and in any case to max_deadline, all counted from its arrival.
void BoundDeadline(Request* request, double asked_seconds, const ServerOptions& options);

// The request's id, made now where the client sent none.
const std::string& RequestId(Request& request);

// CANCELLED or DEADLINE_EXCEEDED when nobody waits for the answer any more.
Status CheckLive(const Request& request);
// Whether its deadline has passed.
bool IsLate(const Request& request);

// The transport cancels a call whose deadline passes, so a run may be stopped by either: a stop after
// the deadline, or so shortly before it that the client's clock must have been the faster, is DEADLINE_EXCEEDED.
Status BlameDeadline(Status status, const Request& request);

// One line of the log for an answered request: at level error when the fault is ours, else at info where
// every request is to be logged, else at debug.
void LogAnswer(Request& request, const Status& status);

}  // namespace pullback::server
