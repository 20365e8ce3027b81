// Deadlines, cancellation, memory, depth, sizes, queues: each ends the one request that meets it and
// leaves the server serving.
#include <grpcpp/client_context.h>
#include <catch2/catch.hpp>

#include <thread>

#include "client/convert.h"
#include "tests/server/process.h"
#include "tests/server/programs.h"
#include "tests/server/rpc_error.h"

namespace pullback::test {
namespace {

using client::Arg;
using client::Transform;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

client::Inputs One() { return Args({Arg("x", Tensor::F64(1))}); }

bool Serves(client::Client* client) {
  auto result = client->Evaluate(PowGradient(), PowInputs(2, 3));
  return result.ok() && Scalar(result->derivatives[0].value) == 12;
}

// Milliseconds until no thread of the server is at work; gives up after 5 s.
double MillisecondsUntilIdle(client::Client* client) {
  const auto begin = steady_clock::now();
  while (MillisecondsSince(begin) < 5000) {
    auto info = client->Info();
    REQUIRE(info.ok());
    if (info->running == 0 && info->queued == 0) break;
    std::this_thread::sleep_for(milliseconds(1));
  }
  return MillisecondsSince(begin);
}

TEST_CASE("an endless loop with a deadline of 100 ms is back within 150 ms, its thread free") {
  ServerProcess server({"--threads", "1", "--compile-threads", "1"});
  auto client = server.Connect();
  auto kernel = client->Compile(Spec(kSpin, "spin"));
  REQUIRE(kernel.ok());
  REQUIRE(Serves(client.get()));
  for (int i = 0; i < 5; ++i) {
    client::CallOptions call;
    call.timeout = milliseconds(100);
    const auto begin = steady_clock::now();
    auto result = client->Evaluate(*kernel, One(), call);
    const double took = MillisecondsSince(begin);
    REQUIRE_FALSE(result.ok());
    CHECK(result.status().code() == Code::kDeadlineExceeded);
    CHECK(took >= 95);
    CHECK(took <= 150);
    CHECK(MillisecondsUntilIdle(client.get()) < 50);
    // With one thread this only runs when the loop has left it.
    CHECK(Serves(client.get()));
  }
}

TEST_CASE("the server's own deadline holds where the client sets none") {
  ServerProcess server({"--default-deadline", "100ms"});
  auto client = server.Connect();
  const auto begin = steady_clock::now();
  auto result = client->Evaluate(Spec(kSpin, "spin"), One());
  REQUIRE_FALSE(result.ok());
  CHECK(result.status().code() == Code::kDeadlineExceeded);
  CHECK(result.status().reason() == "DEADLINE_EXCEEDED");
  CHECK(MillisecondsSince(begin) < 1000);
  CHECK(Serves(client.get()));
}

TEST_CASE("the server's longest deadline cuts the client's") {
  ServerProcess server({"--max-deadline", "100ms"});
  auto client = server.Connect();
  client::CallOptions call;
  call.timeout = std::chrono::minutes(1);
  const auto begin = steady_clock::now();
  auto result = client->Evaluate(Spec(kSpin, "spin"), One(), call);
  REQUIRE_FALSE(result.ok());
  CHECK(result.status().reason() == "DEADLINE_EXCEEDED");
  CHECK(MillisecondsSince(begin) < 1000);
}

TEST_CASE("cancelling stops the run and frees its thread") {
  ServerProcess server({"--threads", "1"});
  auto client = server.Connect();
  auto kernel = client->Compile(Spec(kSpin, "spin"));
  REQUIRE(kernel.ok());
  client::CancelToken token;
  client::CallOptions call;
  call.cancel = &token;
  std::thread canceller([&] {
    std::this_thread::sleep_for(milliseconds(100));
    token.Cancel();
  });
  auto result = client->Evaluate(*kernel, One(), call);
  canceller.join();
  REQUIRE_FALSE(result.ok());
  CHECK(result.status().code() == Code::kCancelled);
  CHECK(MillisecondsUntilIdle(client.get()) < 100);
  CHECK(Serves(client.get()));
}

TEST_CASE("a client that goes away stops its run") {
  ServerProcess server({"--threads", "1"});
  auto client = server.Connect();
  auto kernel = client->Compile(Spec(kSpin, "spin"));
  REQUIRE(kernel.ok());
  {
    auto stream = client->OpenStream();
    REQUIRE(stream->Send(1, *kernel, One()));
    std::this_thread::sleep_for(milliseconds(50));
  }
  CHECK(MillisecondsUntilIdle(client.get()) < 1000);
  CHECK(Serves(client.get()));
}

TEST_CASE("a run that allocates without end meets its budget") {
  ServerProcess server({"--memory-budget", "64MiB"});
  auto client = server.Connect();
  auto result = client->Evaluate(PowGradient(), PowInputs(1, int64_t{1} << 50));
  REQUIRE_FALSE(result.ok());
  CHECK(result.status().code() == Code::kResourceExhausted);
  CHECK(result.status().reason() == "MEMORY_BUDGET");
  CHECK(Serves(client.get()));
}

TEST_CASE("one allocation beyond the budget is refused before it is made") {
  const std::string program =
      "fn big(n: i64, i: i64) -> f64 {\n"
      "  var a = gen k < n { 1.0 }\n  a[i] = 2.0\n  return a[i] + a[0]\n}";
  auto client = SharedServer().Connect();
  const auto at = [&](int64_t n) {
    return client->Evaluate(Spec(program, "big"),
                            Args({Arg("n", Tensor::I64(n)), Arg("i", Tensor::I64(1))}));
  };
  CHECK(at(10).ok());
  for (int64_t n : {int64_t{1} << 40, int64_t{1} << 60, INT64_MAX}) {
    auto result = at(n);
    REQUIRE_FALSE(result.ok());
    CHECK(result.status().reason() == "MEMORY_BUDGET");
  }
  CHECK(Serves(client.get()));
}

TEST_CASE("a request may ask for less memory than the server allows, not for more") {
  auto client = SharedServer().Connect();
  client::Inputs inputs = PowInputs(1, 1000000);
  REQUIRE(client->Evaluate(PowGradient(), inputs).ok());
  inputs.memory_bytes = 65536;
  auto result = client->Evaluate(PowGradient(), inputs);
  REQUIRE_FALSE(result.ok());
  CHECK(result.status().reason() == "MEMORY_BUDGET");
  inputs = PowInputs(1, int64_t{1} << 50);
  inputs.memory_bytes = int64_t{1} << 60;
  result = client->Evaluate(PowGradient(), inputs);
  REQUIRE_FALSE(result.ok());
  CHECK(result.status().reason() == "MEMORY_BUDGET");
}

TEST_CASE("endless recursion meets the depth limit") {
  auto client = SharedServer().Connect();
  auto result = client->Evaluate(Spec(kDive, "dive"), One());
  REQUIRE_FALSE(result.ok());
  CHECK(result.status().code() == Code::kResourceExhausted);
  CHECK(result.status().reason() == "RECURSION_LIMIT");
  auto gradient = client->Evaluate(Spec(kDive, "dive", Transform::kValueAndGrad), One());
  REQUIRE_FALSE(gradient.ok());
  CHECK(gradient.status().reason() == "RECURSION_LIMIT");
  CHECK(Serves(client.get()));
}

TEST_CASE("limits of programs, each with its own reason") {
  ServerProcess server({"--max-source-bytes", "2000", "--max-nesting", "20", "--max-rank", "2",
                        "--max-array-literal", "4", "--max-ir-insts", "200", "--max-tuple", "4",
                        "--max-params", "3", "--max-type-nodes", "9"});
  auto client = server.Connect();
  const auto reason = [&](const std::string& program) {
    auto result = client->Compile(Spec(program, "f"));
    return result.ok() ? "OK" : result.status().reason();
  };
  const auto body = [](const std::string& expression) {
    return "fn f(x: f64) -> f64 { return " + expression + " }";
  };
  CHECK(reason(body("x")) == "OK");
  CHECK(reason(body("x") + "#" + std::string(2000, ' ')) == "SOURCE_TOO_LARGE");
  CHECK(reason(body(std::string(50, '(') + "x" + std::string(50, ')'))) == "NESTING_TOO_DEEP");
  CHECK(reason("fn f(x: [2, 2, 2]f64) -> f64 { return x[0, 0, 0] }") == "TYPE_TOO_LARGE");
  CHECK(reason("fn f(x: (f64, f64, f64, f64, f64)) -> f64 { return 1.0 }") == "TYPE_TOO_LARGE");
  CHECK(reason(body("get(get(get(box(box(box(x))))))")) == "OK");
  CHECK(reason(body("get(get(box((box((x, x)), list((x, x))))).0).0")) == "TYPE_TOO_LARGE");
  CHECK(reason("fn f(a: f64, b: f64, c: f64, d: f64) -> f64 { return a }") == "TYPE_TOO_LARGE");
  CHECK(reason(body("sum([1.0, 2.0, 3.0, 4.0, x])")) == "CONSTANT_TOO_LARGE");
  std::string sum = "x";
  for (int i = 0; i < 300; ++i) sum += i % 50 == 49 ? " +\n x" : " + x";
  CHECK(reason(body(sum)) == "PROGRAM_TOO_LARGE");
  CHECK(Serves(client.get()));
}

TEST_CASE("an oversized message is refused") {
  ServerProcess server({"--max-message-bytes", "100KiB"});
  auto client = server.Connect();
  const Tensor large = Vector(std::vector<double>(20000, 1.0));
  auto result = client->Evaluate(Spec(kDot, "dot"), Args({Arg("a", large), Arg("b", large)}));
  REQUIRE_FALSE(result.ok());
  CHECK(result.status().code() == Code::kResourceExhausted);
  const Tensor small = Vector(std::vector<double>(5000, 1.0));
  result = client->Evaluate(Spec(kDot, "dot"), Args({Arg("a", small), Arg("b", small)}));
  REQUIRE(result.ok());
  CHECK(Scalar(result->value) == 5000);
}

TEST_CASE("large messages travel whole") {
  auto client = SharedServer().Connect();
  const std::vector<double> ones(1000000, 1.0);
  auto result = client->Evaluate(Spec(kDot, "dot", Transform::kValueAndGrad),
                                 Args({Arg("a", Vector(ones)), Arg("b", Vector(ones))}));
  REQUIRE(result.ok());
  CHECK(Scalar(result->value) == 1000000);
  CHECK(Doubles(result->derivatives[1].value) == ones);
}

TEST_CASE("a full queue refuses with QUEUE_FULL and a time to come back") {
  ServerProcess server({"--threads", "1", "--queue", "2"});
  auto client = server.Connect();
  auto kernel = client->Compile(Spec(kSpin, "spin"));
  REQUIRE(kernel.ok());
  v1::EvaluateRequest request;
  request.set_kernel_id(kernel->kernel_id);
  REQUIRE(client::ToMessage(One(), &kernel->signature, &request).ok());

  std::vector<RpcError> errors(6);
  std::vector<std::thread> threads;
  const auto running = [&] { return client->Info()->running; };
  for (RpcError& error : errors) {
    threads.emplace_back([&] {
      v1::EvaluateResponse response;
      grpc::ClientContext context;
      context.set_deadline(std::chrono::system_clock::now() + milliseconds(1000));
      error = Decode(server.Stub()->Evaluate(&context, request, &response));
    });
    // The first is to run before the others queue up.
    while (running() == 0) std::this_thread::sleep_for(milliseconds(1));
  }
  for (std::thread& thread : threads) thread.join();
  int full = 0;
  for (const RpcError& error : errors) {
    if (error.info.reason() != "QUEUE_FULL") {
      CHECK(error.code == grpc::StatusCode::DEADLINE_EXCEEDED);
      continue;
    }
    ++full;
    CHECK(error.code == grpc::StatusCode::RESOURCE_EXHAUSTED);
    CHECK(error.error_infos == 1);
    CHECK(error.retry_seconds >= 0.01);
    CHECK(error.retry_seconds <= 1);
  }
  CHECK(full == 3);  // one runs, two wait
  // Those that waited past their deadline are dropped without running.
  CHECK(MillisecondsUntilIdle(client.get()) < 200);
  CHECK(Serves(client.get()));
}

TEST_CASE("compressed messages are refused: their size is known only when they are unpacked") {
  ServerProcess server;
  v1::CompileRequest request;
  client::ToMessage(PowGradient(), request.mutable_spec());
  for (const auto algorithm : {GRPC_COMPRESS_GZIP, GRPC_COMPRESS_DEFLATE}) {
    v1::CompileResponse response;
    grpc::ClientContext context;
    context.set_compression_algorithm(algorithm);
    const grpc::Status status = server.Stub()->Compile(&context, request, &response);
    CHECK(status.error_code() == grpc::StatusCode::UNIMPLEMENTED);
  }
  CHECK(Serves(server.Connect().get()));
}

TEST_CASE("compiling does not keep resident kernels waiting") {
  ServerProcess server({"--threads", "1", "--compile-threads", "1"});
  auto client = server.Connect();
  auto kernel = client->Compile(PowGradient());
  auto spin = client->Compile(Spec(kSpin, "spin"));
  REQUIRE(kernel.ok());
  REQUIRE(spin.ok());
  // By spec it runs on the compile thread.
  v1::EvaluateRequest request;
  client::ToMessage(Spec(kSpin, "spin"), request.mutable_spec());
  REQUIRE(client::ToMessage(One(), nullptr, &request).ok());
  std::thread busy([&] {
    v1::EvaluateResponse response;
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + milliseconds(500));
    CHECK_FALSE(server.Stub()->Evaluate(&context, request, &response).ok());
  });
  std::this_thread::sleep_for(milliseconds(50));
  const auto begin = steady_clock::now();
  CHECK(client->Evaluate(*kernel, PowInputs(2, 3)).ok());
  CHECK(MillisecondsSince(begin) < 300);
  busy.join();
}

TEST_CASE("the client sends a program again when the server has dropped it") {
  auto first = std::make_unique<ServerProcess>();
  const std::string port = std::to_string(first->port());
  auto client = first->Connect();
  REQUIRE(Serves(client.get()));
  first.reset();
  // Another server at the same place knows nothing.
  ServerProcess second({"--grpc-port", port});
  for (int i = 0; i < 100 && !client->Info().ok(); ++i) {
    std::this_thread::sleep_for(milliseconds(50));
  }
  CHECK(Serves(client.get()));
}

}  // namespace
}  // namespace pullback::test
