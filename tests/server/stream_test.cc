// EvaluateStream: answers matched by id, out of order, bad items, windows, ends.
#include <catch2/catch.hpp>

#include <map>
#include <thread>

#include "tests/server/process.h"
#include "tests/server/programs.h"

namespace pullback::test {
namespace {

using client::Arg;
using std::chrono::milliseconds;

TEST_CASE("a stream answers every item under its id") {
  auto client = SharedServer().Connect();
  auto kernel = client->Compile(PowGradient());
  REQUIRE(kernel.ok());
  auto stream = client->OpenStream();
  constexpr uint64_t kItems = 500;  // more than a window
  std::thread sender([&] {
    for (uint64_t id = 1; id <= kItems; ++id) {
      if (!stream->Send(id, *kernel, PowInputs(static_cast<double>(id), 2))) break;
    }
    stream->CloseSend();
  });
  std::map<uint64_t, double> gradients;
  while (auto answer = stream->Receive()) {
    REQUIRE(answer->result.ok());
    CHECK(answer->result->derivatives[0].name == "x");
    CHECK(gradients.emplace(answer->id, Scalar(answer->result->derivatives[0].value)).second);
  }
  sender.join();
  CHECK(stream->Finish().ok());
  REQUIRE(gradients.size() == kItems);
  for (const auto& [id, gradient] : gradients) CHECK(gradient == 2.0 * static_cast<double>(id));
}

TEST_CASE("answers come as they are ready, not as they were asked for") {
  ServerProcess server({"--threads", "2"});
  auto client = server.Connect();
  auto spin = client->Compile(Spec(kSpin, "spin"));
  auto pow = client->Compile(PowGradient());
  REQUIRE(spin.ok());
  REQUIRE(pow.ok());
  auto stream = client->OpenStream();
  REQUIRE(stream->Send(7, *spin, Args({Arg("x", Tensor::F64(1))}), milliseconds(500)));
  REQUIRE(stream->Send(8, *pow, PowInputs(2, 3)));
  stream->CloseSend();
  auto first = stream->Receive();
  REQUIRE(first);
  CHECK(first->id == 8);
  CHECK(first->result.ok());
  auto second = stream->Receive();
  REQUIRE(second);
  CHECK(second->id == 7);
  REQUIRE_FALSE(second->result.ok());
  CHECK(second->result.status().reason() == "DEADLINE_EXCEEDED");
  CHECK_FALSE(stream->Receive());
  CHECK(stream->Finish().ok());
}

TEST_CASE("a bad item is answered with its status and the stream goes on") {
  auto client = SharedServer().Connect();
  auto at = client->Compile(Spec(kAt, "at"));
  REQUIRE(at.ok());
  auto stream = client->OpenStream();
  const client::Inputs good = Args({Arg("x", Vector({1, 2, 3})), Arg("i", Tensor::I64(1))});
  const client::Inputs bad = Args({Arg("x", Vector({1, 2, 3})), Arg("i", Tensor::I64(9))});
  REQUIRE(stream->Send(1, *at, bad));
  REQUIRE(stream->Send(2, Spec("fn broken(", "broken"), Args({})));
  REQUIRE(stream->Send(3, *at, Args({Arg("y", Vector({1}))})));
  client::Compiled gone = *at;
  gone.kernel_id = std::string(64, '0');
  REQUIRE(stream->Send(4, gone, good));
  REQUIRE(stream->Send(5, *at, good));
  REQUIRE(stream->Send(6, Spec(kAt, "at"), good));
  stream->CloseSend();
  std::map<uint64_t, std::string> reasons;
  while (auto answer = stream->Receive()) {
    reasons[answer->id] = answer->result.ok() ? "OK" : answer->result.status().reason();
    if (answer->id == 1) {
      REQUIRE(answer->result.status().diagnostics().size() == 1);
      CHECK(answer->result.status().diagnostics()[0].span.line == 2);
    }
  }
  CHECK(stream->Finish().ok());
  CHECK(reasons == std::map<uint64_t, std::string>{{1, "INDEX_OUT_OF_RANGE"},
                                                   {2, "SYNTAX_ERROR"},
                                                   {3, "UNKNOWN_ARGUMENT"},
                                                   {4, "KERNEL_NOT_RESIDENT"},
                                                   {5, "OK"},
                                                   {6, "OK"}});
}

TEST_CASE("a stream without items ends with OK") {
  auto client = SharedServer().Connect();
  auto stream = client->OpenStream();
  stream->CloseSend();
  CHECK_FALSE(stream->Receive());
  CHECK(stream->Finish().ok());
}

TEST_CASE("a full queue refuses items by their ids, and the stream lives") {
  ServerProcess server({"--threads", "1", "--queue", "1", "--stream-window", "8"});
  auto client = server.Connect();
  auto spin = client->Compile(Spec(kSpin, "spin"));
  REQUIRE(spin.ok());
  auto stream = client->OpenStream();
  const client::Inputs inputs = Args({Arg("x", Tensor::F64(1))});
  for (uint64_t id = 11; id <= 15; ++id) {
    REQUIRE(stream->Send(id, *spin, inputs, milliseconds(300)));
  }
  stream->CloseSend();
  std::map<uint64_t, std::string> reasons;
  while (auto answer = stream->Receive()) {
    REQUIRE_FALSE(answer->result.ok());
    reasons[answer->id] = answer->result.status().reason();
  }
  CHECK(stream->Finish().ok());
  CHECK(reasons.size() == 5);
  CHECK(reasons[11] == "DEADLINE_EXCEEDED");
  CHECK(reasons[15] == "QUEUE_FULL");
}

TEST_CASE("a client that reads nothing holds no more than a window") {
  ServerProcess server({"--stream-window", "4"});
  auto client = server.Connect();
  auto kernel = client->Compile(Spec(kDot, "dot", client::Transform::kValueAndGrad));
  REQUIRE(kernel.ok());
  const Tensor large = Vector(std::vector<double>(50000, 1.0));
  const client::Inputs inputs = Args({Arg("a", large), Arg("b", large)});
  auto stream = client->OpenStream();
  std::thread sender([&] {
    for (uint64_t id = 1; id <= 40; ++id) {
      if (!stream->Send(id, *kernel, inputs)) break;
    }
    stream->CloseSend();
  });
  std::this_thread::sleep_for(milliseconds(300));
  auto info = client->Info();
  REQUIRE(info.ok());
  CHECK(info->running + info->queued <= 4);
  int answers = 0;
  while (auto answer = stream->Receive()) answers += answer->result.ok() ? 1 : 0;
  sender.join();
  CHECK(answers == 40);
  CHECK(stream->Finish().ok());
}

}  // namespace
}  // namespace pullback::test
