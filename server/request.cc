#include "server/request.h"

#include <algorithm>
#include <random>

#include "server/log.h"

namespace pullback::server {
namespace {

constexpr size_t kMaxIdBytes = 128;

// gRPC sends what is left of a deadline rounded up, by 1 % at most: a client gives up that much before the deadline
// that is known here, and its cancellation takes a moment, too.
constexpr Clock::duration kLeastSlack = std::chrono::milliseconds(5);

bool IsHex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

bool IsPrintable(char c) { return c > 0x20 && c < 0x7f; }

// The metadata's first value, where `valid` holds for all of its characters.
std::string FirstOf(const grpc::CallbackServerContext& context, const char* key,
                    bool (*valid)(char)) {
  const auto found = context.client_metadata().find(key);
  if (found == context.client_metadata().end()) return {};
  const grpc::string_ref value = found->second;
  if (value.size() > kMaxIdBytes || !std::all_of(value.begin(), value.end(), valid)) return {};
  return {value.data(), value.size()};
}

std::optional<Clock::time_point> ReadDeadline(const grpc::CallbackServerContext& context,
                                              Clock::time_point now) {
  const auto left = context.deadline() - std::chrono::system_clock::now();
  // gRPC's "none" is the far end of time.
  if (left > std::chrono::hours(24 * 365)) return std::nullopt;
  return now + std::chrono::duration_cast<Clock::duration>(left);
}

}  // namespace

Request MakeRequest(const char* method, const grpc::CallbackServerContext& context) {
  Request request;
  request.method = method;
  request.metadata = &context;
  request.arrived = Clock::now();
  request.deadline = ReadDeadline(context, request.arrived);
  request.cancelled = std::make_shared<std::atomic<bool>>(false);
  return request;
}

void ReadMetadata(Request* request) {
  if (request->metadata == nullptr) return;
  request->id = FirstOf(*request->metadata, "x-request-id", IsPrintable);
  request->program_hash = FirstOf(*request->metadata, "x-pullback-program-hash", IsHex);
  request->metadata = nullptr;
}

void BoundDeadline(Request* request, double asked_seconds, const ServerOptions& options) {
  constexpr double kMostSeconds = 1e8;  // clocks would overflow on what clients may ask for
  const double own = asked_seconds > 0   ? std::min(asked_seconds, kMostSeconds)
                     : request->deadline ? 0
                                         : options.default_deadline;
  for (const double seconds : {own, options.max_deadline}) {
    if (!(seconds > 0)) continue;
    const auto bound = request->arrived + std::chrono::duration_cast<Clock::duration>(
                                              std::chrono::duration<double>(seconds));
    request->deadline = std::min(request->deadline.value_or(bound), bound);
  }
}

const std::string& RequestId(Request& request) {
  ReadMetadata(&request);
  if (!request.id.empty()) return request.id;
  static constexpr char kHex[] = "0123456789abcdef";
  thread_local std::mt19937_64 random{std::random_device{}()};
  uint64_t bits = random();
  for (int i = 0; i < 16; ++i, bits >>= 4) request.id += kHex[bits & 15];
  return request.id;
}

bool IsLate(const Request& request) {
  return request.deadline && Clock::now() >= *request.deadline;
}

Status CheckLive(const Request& request) {
  if (IsLate(request)) {
    return Status(Code::kDeadlineExceeded, "DEADLINE_EXCEEDED", "the deadline passed in the queue");
  }
  if (request.cancelled->load(std::memory_order_relaxed)) {
    return Status(Code::kCancelled, "CANCELLED", "the client cancelled the request");
  }
  return {};
}

Status BlameDeadline(Status status, const Request& request) {
  if (status.code() != Code::kCancelled || !request.deadline) return status;
  const auto slack = std::max(kLeastSlack, (*request.deadline - request.arrived) / 100);
  if (Clock::now() + slack < *request.deadline) return status;
  return Status(Code::kDeadlineExceeded, "DEADLINE_EXCEEDED", "the deadline passed");
}

void LogAnswer(Request& request, const Status& status) {
  const auto level = status.code() == Code::kInternal ? log::Level::kError : log::RequestLevel();
  if (!log::Enabled(level)) return;
  ReadMetadata(&request);
  std::vector<log::Field> fields = {{"method", request.method},
                                    {"request_id", RequestId(request)},
                                    {"program_hash", request.program_hash},
                                    {"code", CodeName(status.code())},
                                    {"reason", status.reason()},
                                    {"detail", status.message()},
                                    {"seconds", SecondsSince(request.arrived)}};
  const StageTimes& stages = request.stages;
  if (stages.queue >= 0) fields.emplace_back("queue_seconds", stages.queue);
  // Their keys must outlive the line.
  std::vector<std::string> keys;
  keys.reserve(stages.compile.size());
  for (const jit::Timing& stage : stages.compile) {
    fields.emplace_back(keys.emplace_back("compile_" + stage.stage + "_seconds"), stage.seconds);
  }
  if (stages.execute >= 0) fields.emplace_back("execute_seconds", stages.execute);
  if (stages.convert > 0) fields.emplace_back("convert_seconds", stages.convert);
  log::Write(level, "answered", fields);
}

}  // namespace pullback::server
