// deploy/haproxy/haproxy.cfg in a real HAProxy (Debian's), before two servers, over TLS and HTTP/2.
#include <netinet/in.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <catch2/catch.hpp>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <thread>

#include "tests/server/exposition.h"
#include "tests/server/http_get.h"
#include "tests/server/process.h"
#include "tests/server/programs.h"
#include "tests/support/paths.h"

namespace pullback::test {
namespace {

using std::chrono::milliseconds;

int FreePort() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in any{};
  any.sin_family = AF_INET;
  any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof any;
  REQUIRE(bind(fd, reinterpret_cast<const sockaddr*>(&any), size) == 0);
  getsockname(fd, reinterpret_cast<sockaddr*>(&any), &size);
  close(fd);
  return ntohs(any.sin_port);
}

class HaProxy {
 public:
  HaProxy(const std::string& folder, const ServerProcess& one, const ServerProcess& two)
      : address_("127.0.0.1:" + std::to_string(FreePort())) {
    const auto port = [](const std::string& address) {
      return address.substr(address.rfind(':') + 1);
    };
    std::vector<std::string> environment = {"PULLBACK_BIND=" + address_,
                                            "PULLBACK_PEM=" + folder + "/a.pem",
                                            "PULLBACK_SERVER_1=" + one.address(),
                                            "PULLBACK_SERVER_2=" + two.address(),
                                            "PULLBACK_HTTP_PORT_1=" + port(one.http_address()),
                                            "PULLBACK_HTTP_PORT_2=" + port(two.http_address())};
    std::vector<std::string> arguments = {"haproxy", "-db", "-q", "-f",
                                          testing::SourcePath("deploy/haproxy/haproxy.cfg")};
    std::vector<char*> argv, envp;
    for (std::string& text : arguments) argv.push_back(text.data());
    for (std::string& text : environment) envp.push_back(text.data());
    argv.push_back(nullptr);
    envp.push_back(nullptr);
    // Debian's lies in /usr/sbin, which not every PATH has.
    REQUIRE(posix_spawn(&pid_, "/usr/sbin/haproxy", nullptr, nullptr, argv.data(), envp.data()) ==
            0);
  }
  ~HaProxy() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  const std::string& address() const { return address_; }

 private:
  const std::string address_;
  pid_t pid_ = -1;
};

struct Folder {
  std::string path =
      (std::filesystem::temp_directory_path() / ("pullback-haproxy-" + std::to_string(getpid())))
          .string();
  Folder() {
    std::filesystem::create_directories(path);
    const std::string script = testing::SourcePath("tests/support/certificates.sh");
    REQUIRE(std::system((script + " " + path + " a 2>/dev/null").c_str()) == 0);
  }
  ~Folder() { std::filesystem::remove_all(path); }
};

std::unique_ptr<client::Client> Connect(const HaProxy& proxy, const Folder& folder) {
  client::ConnectOptions options;
  options.own_connection = true;
  options.wait = milliseconds(10000);
  options.security.ca_file = folder.path + "/a-ca.crt";
  auto client = client::Client::Connect(proxy.address(), options);
  REQUIRE(client.ok());
  return std::move(client).value();
}

// Programs whose texts differ, so that their hashes do.
client::KernelSpec Program(int number) {
  return Spec("fn f(x: f64) -> f64 { return x * " + std::to_string(number) + ".0 }", "f",
              client::Transform::kValueAndGrad);
}

// 0 or 1: the server that compiled it; each request is a Compile of its own.
int WhereIs(client::Client& client, int number, std::vector<ServerProcess*> servers) {
  const auto count = [](ServerProcess* server) {
    const auto values = ReadExposition(HttpGet(server->http_address(), "/metrics").body).values;
    const auto found = values.find(R"(pullback_rpc_requests_total{code="OK",method="Compile"})");
    return found == values.end() ? 0.0 : found->second;
  };
  std::vector<double> before;
  for (auto* server : servers) before.push_back(count(server));
  const auto compiled = client.Compile(Program(number));
  INFO(compiled.status().ToString());
  REQUIRE(compiled.ok());
  int where = -1;
  for (size_t i = 0; i < servers.size(); ++i) {
    const double grown = count(servers[i]) - before[i];
    if (grown == 0) continue;
    CHECK(grown == 1);
    CHECK(where == -1);
    where = static_cast<int>(i);
  }
  REQUIRE(where >= 0);
  return where;
}

// Two servers that serve, behind HAProxy, and a client of it.
struct Pair {
  explicit Pair(const std::vector<std::string>& more = {})
      : one(Flags(more)),
        two(Flags(more)),
        proxy(folder.path, one, two),
        client(Connect(proxy, folder)) {
    // haproxy asks /readyz only after it has begun to listen.
    for (int i = 0; i < 100 && !client->Info().ok(); ++i) {
      std::this_thread::sleep_for(milliseconds(100));
    }
    REQUIRE(client->Info().ok());
  }
  static std::vector<std::string> Flags(std::vector<std::string> more) {
    more.insert(more.end(), {"--http-port", "0"});
    return more;
  }

  Folder folder;
  ServerProcess one, two;
  HaProxy proxy;
  std::unique_ptr<client::Client> client;
};

TEST_CASE("HAProxy: a program stays at its server, programs spread, an ended server's move") {
  Pair pair;
  auto& [folder, one, two, proxy, client] = pair;

  constexpr int kPrograms = 24;
  std::map<int, int> home;
  int at_two = 0;
  for (int i = 0; i < kPrograms; ++i) {
    home[i] = WhereIs(*client, i, {&one, &two});
    at_two += home[i];
  }
  CHECK(at_two >= 4);
  CHECK(at_two <= kPrograms - 4);
  // Over connections of its own, too.
  auto other = Connect(proxy, folder);
  for (int i = 0; i < kPrograms; ++i) CHECK(WhereIs(*other, i, {&one, &two}) == home[i]);

  // Its drain is a failed probe, and its end takes nobody else along.
  two.Signal(SIGTERM);
  CHECK(two.Wait() == 0);
  std::this_thread::sleep_for(milliseconds(2500));
  for (int i = 0; i < kPrograms; ++i) CHECK(WhereIs(*other, i, {&one}) == 0);
  // By its id, a kernel that has moved is compiled again without the caller's doing.
  CHECK(client->Evaluate(PowGradient(), PowInputs(2, 3)).ok());
}

TEST_CASE("HAProxy: a drained server's running request is answered, new ones go elsewhere") {
  Pair pair;
  auto& [folder, one, two, proxy, client] = pair;
  auto spec = Spec(kPow, "pow");
  spec.tier = client::Tier::kLlvm;
  auto kernel = client->Compile(spec);
  REQUIRE(kernel.ok());
  // How many steps take some 6 s where nothing else runs: longer than it takes HAProxy to see that a server is gone.
  constexpr int64_t kProbe = 20000000;
  double best = 1e9;
  for (int i = 0; i < 3; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    REQUIRE(client->Evaluate(*kernel, PowInputs(1, kProbe)).ok());
    best = std::min(best, MillisecondsSince(begin));
  }
  const auto steps = static_cast<int64_t>(kProbe * (6000 / std::max(1.0, best)));

  StatusOr<client::Evaluation> result = Status(Code::kInternal, "", "did not run");
  std::thread running([&] { result = client->Evaluate(*kernel, PowInputs(1, steps)); });
  const auto runs_at = [](ServerProcess& server) {
    const auto values = ReadExposition(HttpGet(server.http_address(), "/metrics").body).values;
    const auto found = values.find(R"(pullback_requests_running{pool="run"})");
    return found != values.end() && found->second > 0;
  };
  bool at_one = false, at_two = false;
  for (int i = 0; i < 100 && !at_one && !at_two; ++i) {
    std::this_thread::sleep_for(milliseconds(20));
    at_one = runs_at(one);
    at_two = runs_at(two);
  }
  ServerProcess& drained = at_one ? one : two;
  drained.Signal(SIGTERM);
  std::this_thread::sleep_for(milliseconds(2000));
  // The same program, whose home is the drained server.
  const auto elsewhere = client->Evaluate(spec, PowInputs(2, 3));
  const bool still_drains = drained.alive();
  running.join();
  CHECK(at_one != at_two);
  CHECK(still_drains);
  INFO(result.status().ToString());
  REQUIRE(result.ok());
  CHECK(Scalar(result->value) == 1);
  INFO(elsewhere.status().ToString());
  CHECK(elsewhere.ok());
  CHECK(drained.Wait() == 0);
}

TEST_CASE("HAProxy: headers that gRPC cannot stand do not pass") {
  Pair pair({"--log-requests"});
  auto& [folder, one, two, proxy, client] = pair;
  client::CallOptions call;
  call.request_id = std::string(100, 'x');
  CHECK(client->Compile(PowGradient(), call).ok());
  // 4 KiB and no more.
  call.request_id = std::string(5000, 'x');
  CHECK_FALSE(client->Compile(PowGradient(), call).ok());
  call.request_id.clear();
  CHECK(client->Compile(PowGradient(), call).ok());
}

}  // namespace
}  // namespace pullback::test
