// The parts that need no server: log lines, the pool, the gate, messages, errors.
#include <catch2/catch.hpp>

#include <atomic>
#include <future>
#include <thread>

#include "core/base/lists.h"
#include "proto/values.h"
#include "server/errors.h"
#include "server/lanes.h"
#include "server/log.h"
#include "server/message.h"
#include "tests/server/rpc_error.h"

namespace pullback::server {
namespace {

TEST_CASE("log: text quotes what would be ambiguous, and nothing forges a line") {
  CHECK(log::FormatText("ready", {{"a", "plain"}, {"b", "two words"}, {"c", ""}}) ==
        R"(ready a=plain b="two words" c="")");
  CHECK(log::FormatText("x", {{"a", "1\n2024 error fake"}}) == R"(x a="1\n2024 error fake")");
}

TEST_CASE("log: JSON escapes") {
  CHECK(log::FormatJson("say \"hi\"", {{"k", "a\\b\n\x01"}}) ==
        R"("message":"say \"hi\"","k":"a\\b\n\u0001")");
}

// Waits in Run until it is let go.
class Blocker : public Job {
 public:
  void Run() override {
    started.set_value();
    go.get_future().wait();
    done.set_value();
  }
  std::promise<void> started, go, done;
};

class Counter : public Job {
 public:
  explicit Counter(std::atomic<int>* count) : count_(count) {}
  void Run() override { ++*count_; }

 private:
  std::atomic<int>* count_;
};

TEST_CASE("pool: bounded by number, in order, and drained at its end") {
  std::atomic<int> count{0};
  Counter counter(&count);
  Blocker blocker;
  {
    Pool pool("test", 1, 2, 1000);
    REQUIRE(pool.Submit(&blocker, 0));
    blocker.started.get_future().wait();
    CHECK(pool.running() == 1);
    CHECK(pool.Submit(&counter, 0));
    CHECK(pool.Submit(&counter, 0));
    CHECK_FALSE(pool.Submit(&counter, 0));
    CHECK(pool.queued() == 2);
    CHECK(pool.RetryDelay().count() >= 10);
    blocker.go.set_value();
  }
  CHECK(count == 2);
}

TEST_CASE("pool: bounded by bytes, but one job always fits") {
  std::atomic<int> count{0};
  Counter counter(&count);
  Blocker blocker;
  Pool pool("test", 1, 100, 1000);
  REQUIRE(pool.Submit(&blocker, 0));
  blocker.started.get_future().wait();
  CHECK(pool.Submit(&counter, 5000));
  CHECK_FALSE(pool.Submit(&counter, 1));
  blocker.go.set_value();
  blocker.done.get_future().wait();
}

TEST_CASE("pool: many threads submit, many run, none is lost") {
  std::atomic<int> count{0};
  Counter counter(&count);
  std::atomic<int> accepted{0};
  {
    Pool pool("test", 4, 100, 1000);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 5000; ++i) accepted += pool.Submit(&counter, 1) ? 1 : 0;
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  CHECK(count == accepted);
  CHECK(count > 0);
}

TEST_CASE("gate: closed it lets nobody in and waits for those inside") {
  Gate gate;
  REQUIRE(gate.Enter());
  gate.Close();
  CHECK_FALSE(gate.Enter());
  CHECK_FALSE(gate.WaitEmpty(0.01));
  std::thread leaver([&] { gate.Leave(); });
  CHECK(gate.WaitEmpty(10));
  leaver.join();
}

TEST_CASE("messages: written in one slice, read from many, an id found without parsing") {
  v1::EvaluateStreamRequest message;
  message.set_id(1234567);
  message.mutable_request()->set_kernel_id(std::string(3000, 'k'));
  const grpc::ByteBuffer whole = WriteMessage(message);
  std::vector<grpc::Slice> slices;
  REQUIRE(whole.Dump(&slices).ok());
  REQUIRE(slices.size() == 1);
  const std::string bytes(reinterpret_cast<const char*>(slices[0].begin()), slices[0].size());
  std::vector<grpc::Slice> pieces;
  for (size_t i = 0; i < bytes.size(); i += 7) pieces.emplace_back(bytes.substr(i, 7));
  const grpc::ByteBuffer split(pieces.data(), pieces.size());
  v1::EvaluateStreamRequest read;
  REQUIRE(ParseMessage(split, &read));
  CHECK(read.SerializeAsString() == message.SerializeAsString());
  CHECK(PeekUint64(split, 1) == 1234567);
  CHECK(PeekUint64(split, 5) == 0);
}

TEST_CASE("details stay small, whatever the diagnostics hold") {
  std::vector<Diagnostic> diagnostics(1000);
  for (Diagnostic& d : diagnostics) {
    d.span.line = 3;
    d.message = std::string(100000, 'm') + "\n";
    for (int i = 0; i < 1000; ++i) d.excerpt += "ü";
  }
  Request request;
  const auto status = ToRpcStatus(Status(Code::kInvalidArgument, "TYPE_ERROR",
                                         std::string(100000, '%'), std::move(diagnostics)),
                                  request, std::chrono::milliseconds(1));
  CHECK(status.ByteSizeLong() < 5000);
  test::RpcError error;
  test::Unpack(status, &error);
  CHECK(error.error_infos == 1);
  CHECK(error.bad.field_violations_size() >= 1);
  CHECK(error.request.request_id().size() == 16);
}

TEST_CASE("what a handler throws becomes a status") {
  CHECK(Guard([]() -> Status { throw std::bad_alloc(); }).reason() == "OUT_OF_MEMORY");
  CHECK(Guard([]() -> Status { throw std::runtime_error("x"); }).code() == Code::kInternal);
  CHECK(Guard([] { return Status(); }).ok());
}

TEST_CASE("deadlines: asked for, default, and longest") {
  ServerOptions options;
  options.default_deadline = 60;
  options.max_deadline = 100;
  const auto bound = [&](double client, double asked) {
    Request request;
    request.arrived = Clock::now();
    if (client > 0) {
      request.deadline = request.arrived + std::chrono::duration_cast<Clock::duration>(
                                               std::chrono::duration<double>(client));
    }
    BoundDeadline(&request, asked, options);
    return std::chrono::duration<double>(*request.deadline - request.arrived).count();
  };
  CHECK(bound(0, 0) == Approx(60));
  CHECK(bound(80, 0) == Approx(80));
  CHECK(bound(500, 0) == Approx(100));
  CHECK(bound(80, 5) == Approx(5));
  CHECK(bound(3, 5) == Approx(3));
  CHECK(bound(0, 1e300) == Approx(100));
  CHECK(bound(0, std::numeric_limits<double>::quiet_NaN()) == Approx(60));
}

TEST_CASE(
    "deadlines: a client that gives up at its own, just before ours, is late and has not "
    "cancelled") {
  using std::chrono::milliseconds;
  using std::chrono::minutes;
  const Status cancelled(Code::kCancelled, "CANCELLED", "");
  const auto blamed = [&](Clock::duration total, Clock::duration left) {
    Request request;
    request.deadline = Clock::now() + left;
    request.arrived = *request.deadline - total;
    return BlameDeadline(cancelled, request).reason();
  };
  CHECK(blamed(minutes(60), minutes(-1)) == "DEADLINE_EXCEEDED");
  CHECK(blamed(milliseconds(200), milliseconds(2)) == "DEADLINE_EXCEEDED");
  CHECK(blamed(minutes(200), minutes(1)) == "DEADLINE_EXCEEDED");
  CHECK(blamed(minutes(200), minutes(100)) == "CANCELLED");
  CHECK(BlameDeadline(cancelled, Request()).reason() == "CANCELLED");
  CHECK(BlameDeadline(Malformed(), Request()).reason() == "MALFORMED_REQUEST");
}

v1::Value TwoNumbers() {
  v1::Value message;
  message.mutable_list()->set_length(2);
  v1::ListColumn* column = message.mutable_list()->add_records()->add_columns();
  column->set_dtype(v1::DTYPE_F64);
  column->set_data(std::string(16, '\0'));
  return message;
}

std::string FaultOf(const v1::Value& message) {
  ApiValue value;
  const auto fault = wire::DecodeValue(message, &value);
  return fault ? fault->path + ": " + fault->what : "";
}

TEST_CASE("a list from the wire is as long as its bytes say") {
  v1::Value message = TwoNumbers();
  CHECK(FaultOf(message).empty());
  v1::ListColumn* column = message.mutable_list()->mutable_records(0)->mutable_columns(0);
  message.mutable_list()->set_length(int64_t{1} << 60);
  CHECK(FaultOf(message) == ".list: the data is not one scalar for each element");
  message.mutable_list()->set_length(2);
  column->set_dtype(static_cast<v1::DType>(9));
  CHECK(FaultOf(message) == ".list.records[0].columns[0].dtype: no such dtype: 9");
  column->set_dtype(v1::DTYPE_F64);
  column->set_rank(1u << 31);
  CHECK(FaultOf(message) == ".list.records[0].columns[0].rank: a rank is from 0 to 8");
  column->set_rank(0);
  column->set_extents("odd");
  CHECK(FaultOf(message) == ".list.records[0].columns[0].extents: not whole 64-bit integers");
  column->clear_extents();
  column->set_list(5);
  CHECK(FaultOf(message) == ".list: a length is negative, too large, or of no record");
}

TEST_CASE("lists and types that recur survive the wire") {
  ApiValue value, again;
  CHECK_FALSE(wire::DecodeValue(TwoNumbers(), &value));
  v1::Value message;
  wire::EncodeValue(value, &message);
  CHECK_FALSE(wire::DecodeValue(message, &again));
  CHECK(again.list->length == 2);
  CHECK(again.list->records[0][0].data == value.list->records[0][0].data);

  ApiType tree{true, DType::kF64, {}, {}};
  tree.struct_name = "Tree";
  tree.field_names = {"kids"};
  ApiType named = tree;
  named.field_names.clear();
  named.declared = 0;
  ApiType kids;
  kids.is_list = true;
  kids.elements = {named};
  tree.elements = {kids};
  v1::Signature signature;
  wire::EncodeType(tree, signature.add_structs());
  wire::EncodeType(kids, signature.mutable_result());
  const ApiType decoded = wire::DecodeType(signature.result(), signature.structs());
  CHECK(decoded.ToString() == "list Tree");
  CHECK(decoded.elements[0].declared == 0);
  CHECK(wire::DecodeType(signature.structs(0), signature.structs()).elements[0].is_list);
  signature.mutable_result()->mutable_list()->mutable_element()->set_declared(7);
  CHECK(wire::DecodeType(signature.result(), signature.structs()).elements[0].declared == -1);
}

TEST_CASE("types survive the wire") {
  ApiType tuple{true, {}, {}, {ApiType{false, DType::kF32, {"n", "n - m + 1"}, {}}, ApiType{}}};
  v1::Type message;
  wire::EncodeType(tuple, &message);
  CHECK(wire::DecodeType(message, {}).ToString() == tuple.ToString());
}

}  // namespace
}  // namespace pullback::server
