#include "server/errors.h"

#include <google/protobuf/any.pb.h>

#include <algorithm>
#include <exception>
#include <new>

#include "google/rpc/error_details.pb.h"

namespace pullback::server {
namespace {

constexpr int kMaxPlaces = 8;
constexpr size_t kMaxMessageBytes = 512;  // percent-encoding may triple it
constexpr size_t kMaxTextBytes = 512;     // message or excerpt of one place
constexpr int kMaxDetailBytes = 3072;     // base64 adds a third
// Of a budget: it may only be met again, so no sooner than by a client that has changed something.
constexpr std::chrono::milliseconds kBudgetDelay{1000};

// At most `size` bytes, never ending within a UTF-8 character: protobuf strings are UTF-8.
std::string Shorten(const std::string& text, size_t size) {
  if (text.size() <= size) return text;
  while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xc0) == 0x80) --size;
  return text.substr(0, size) + "…";
}

std::string OnOneLine(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

std::string FieldOf(const Diagnostic& d) {
  // FieldFault's diagnostics have no place, and carry the path as their excerpt.
  if (d.span.line == 0) return d.excerpt;
  return "program.text:" + std::to_string(d.span.line) + ":" + std::to_string(d.span.column);
}

std::string DescriptionOf(const Diagnostic& d) {
  std::string text = Shorten(OnOneLine(d.message), kMaxTextBytes);
  if (d.span.line != 0 && !d.excerpt.empty()) text += "\n" + Shorten(d.excerpt, kMaxTextBytes);
  return text;
}

google::rpc::BadRequest MakeBadRequest(const Status& status) {
  google::rpc::BadRequest bad;
  for (const Diagnostic& d : status.diagnostics()) {
    if (bad.field_violations_size() == kMaxPlaces) break;
    auto* violation = bad.add_field_violations();
    violation->set_field(FieldOf(d));
    violation->set_description(DescriptionOf(d));
    // Better fewer places than a trailer that the client's library refuses; the first always fits.
    const bool first = bad.field_violations_size() == 1;
    if (!first && bad.ByteSizeLong() > kMaxDetailBytes) {
      bad.mutable_field_violations()->RemoveLast();
      break;
    }
  }
  if (bad.field_violations_size() == 0 && status.code() == Code::kInvalidArgument) {
    auto* violation = bad.add_field_violations();
    violation->set_field("request");
    violation->set_description(Shorten(OnOneLine(status.message()), kMaxTextBytes));
  }
  return bad;
}

google::rpc::ErrorInfo MakeErrorInfo(const Status& status) {
  google::rpc::ErrorInfo info;
  info.set_reason(status.reason().empty() ? CodeName(status.code()) : status.reason());
  info.set_domain(kErrorDomain);
  return info;
}

google::rpc::RetryInfo MakeRetryInfo(std::chrono::milliseconds delay) {
  google::rpc::RetryInfo info;
  info.mutable_retry_delay()->set_seconds(delay.count() / 1000);
  info.mutable_retry_delay()->set_nanos(static_cast<int32_t>(delay.count() % 1000) * 1000000);
  return info;
}

// For people, who see only this in most clients: the first place's message, with its line and column.
std::string MessageOf(const Status& status) {
  const auto& diagnostics = status.diagnostics();
  if (diagnostics.empty() || diagnostics[0].span.line == 0) {
    return Shorten(status.message(), kMaxMessageBytes);
  }
  const Span& span = diagnostics[0].span;
  std::string text =
      std::to_string(span.line) + ":" + std::to_string(span.column) + ": " + diagnostics[0].message;
  const size_t more = diagnostics.size() - 1;
  if (more > 0) text += " (and " + std::to_string(more) + " more)";
  return Shorten(OnOneLine(text), kMaxMessageBytes);
}

}  // namespace

Status FieldFault(const std::string& field, const std::string& what, const std::string& reason) {
  return Status(Code::kInvalidArgument, reason, field + ": " + what,
                {Diagnostic{Severity::kError, Span{}, what, field}});
}

Status FieldFault(const std::string& field, const wire::Fault& fault) {
  return FieldFault(field + fault.path, fault.what, "INVALID_VALUE");
}

Status QueueFull() {
  return Status(Code::kResourceExhausted, "QUEUE_FULL", "too many requests are waiting");
}

Status Draining() { return Status(Code::kUnavailable, "DRAINING", "the server is shutting down"); }

Status Malformed() {
  return Status(Code::kInvalidArgument, "MALFORMED_REQUEST",
                "the request is not a message of the method's type");
}

Status Guard(absl::FunctionRef<Status()> work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return Status(Code::kResourceExhausted, "OUT_OF_MEMORY", "the server is out of memory");
  } catch (const std::exception& e) {
    return Status(Code::kInternal, "INTERNAL", e.what());
  }
}

google::rpc::Status ToRpcStatus(const Status& status, Request& request,
                                std::chrono::milliseconds queue_delay) {
  google::rpc::Status out;
  out.set_code(static_cast<int32_t>(status.code()));
  out.set_message(MessageOf(status));
  out.add_details()->PackFrom(MakeErrorInfo(status));
  google::rpc::RequestInfo info;
  info.set_request_id(RequestId(request));
  out.add_details()->PackFrom(info);
  const google::rpc::BadRequest bad = MakeBadRequest(status);
  if (bad.field_violations_size() > 0) out.add_details()->PackFrom(bad);
  if (status.code() == Code::kResourceExhausted) {
    const bool full = status.reason() == "QUEUE_FULL";
    out.add_details()->PackFrom(MakeRetryInfo(full ? queue_delay : kBudgetDelay));
  }
  return out;
}

grpc::Status ToGrpcStatus(const Status& status, Request& request,
                          std::chrono::milliseconds queue_delay) {
  if (status.ok()) return grpc::Status::OK;
  const google::rpc::Status out = ToRpcStatus(status, request, queue_delay);
  return {static_cast<grpc::StatusCode>(out.code()), out.message(), out.SerializeAsString()};
}

}  // namespace pullback::server
