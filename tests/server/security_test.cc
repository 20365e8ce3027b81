// TLS, clients' certificates, bearer tokens: who gets in, and files that change while the server runs.
#include <unistd.h>
#include <catch2/catch.hpp>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "tests/server/http_get.h"
#include "tests/server/process.h"
#include "tests/server/programs.h"
#include "tests/support/paths.h"

namespace pullback::test {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / ("pullback-security-" + std::to_string(getpid()))) {
    fs::remove_all(path_);
    fs::create_directories(path_);
  }
  ~Folder() { fs::remove_all(path_); }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

  // An authority, and a server's and a client's certificate by it.
  void MakeCertificates(const std::string& name) const {
    const std::string script = testing::SourcePath("tests/support/certificates.sh");
    REQUIRE(std::system((script + " " + path_.string() + " " + name + " 2>/dev/null").c_str()) ==
            0);
  }
  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(*this / (name + ".new")) << text;
    fs::rename(*this / (name + ".new"), *this / name);
  }
  // Replaced as a whole, as Kubernetes does.
  void Copy(const std::string& from, const std::string& to) const {
    fs::copy_file(*this / from, *this / (to + ".new"), fs::copy_options::overwrite_existing);
    fs::rename(*this / (to + ".new"), *this / to);
  }

 private:
  const fs::path path_;
};

StatusOr<std::unique_ptr<client::Client>> Connect(const std::string& address,
                                                  const client::Security& security,
                                                  milliseconds wait = milliseconds(2000)) {
  client::ConnectOptions options;
  options.own_connection = true;
  options.security = security;
  options.wait = wait;
  return client::Client::Connect(address, options);
}

client::Security Trusting(const std::string& ca) {
  client::Security security;
  security.ca_file = ca;
  return security;
}

bool Answers(const ServerProcess& server, const client::Security& security) {
  auto client = Connect(server.address(), security, milliseconds(500));
  return client.ok() && (*client)->Evaluate(PowGradient(), PowInputs(2, 3)).ok();
}

// Within some seconds: files are looked at every second.
bool Becomes(bool wanted, const std::function<bool()>& holds) {
  for (int i = 0; i < 40; ++i) {
    if (holds() == wanted) return true;
    std::this_thread::sleep_for(milliseconds(250));
  }
  return false;
}

TEST_CASE(
    "TLS: only for who trusts the server's authority; the certificate is replaced while it runs") {
  const Folder folder;
  folder.MakeCertificates("a");
  folder.MakeCertificates("b");
  folder.Copy("a.crt", "now.crt");
  folder.Copy("a.key", "now.key");
  ServerProcess server({"--tls-cert", folder / "now.crt", "--tls-key", folder / "now.key"});
  CHECK(Answers(server, Trusting(folder / "a-ca.crt")));
  CHECK_FALSE(Answers(server, Trusting(folder / "b-ca.crt")));
  CHECK_FALSE(Answers(server, {}));
  auto old = Connect(server.address(), Trusting(folder / "a-ca.crt"));
  REQUIRE(old.ok());

  folder.Copy("b.crt", "now.crt");
  folder.Copy("b.key", "now.key");
  CHECK(Becomes(true, [&] { return Answers(server, Trusting(folder / "b-ca.crt")); }));
  CHECK_FALSE(Answers(server, Trusting(folder / "a-ca.crt")));
  // Connections that were there go on.
  CHECK((*old)->Evaluate(PowGradient(), PowInputs(2, 3)).ok());
  server.Signal(SIGTERM);
  CHECK(server.Wait() == 0);
}

TEST_CASE(
    "mTLS: clients need a certificate by the authority, which is replaced while the server runs") {
  const Folder folder;
  folder.MakeCertificates("a");
  folder.MakeCertificates("b");
  folder.Copy("a-ca.crt", "clients.crt");
  ServerProcess server(
      {}, {"PULLBACK_TLS_CERT=" + (folder / "a.crt"), "PULLBACK_TLS_KEY=" + (folder / "a.key"),
           "PULLBACK_TLS_CLIENT_CA=" + (folder / "clients.crt")});
  client::Security by_a = Trusting(folder / "a-ca.crt");
  CHECK_FALSE(Answers(server, by_a));  // no certificate
  client::Security by_b = by_a;
  by_a.cert_file = folder / "a-client.crt";
  by_a.key_file = folder / "a-client.key";
  by_b.cert_file = folder / "b-client.crt";
  by_b.key_file = folder / "b-client.key";
  CHECK(Answers(server, by_a));
  CHECK_FALSE(Answers(server, by_b));

  folder.Copy("b-ca.crt", "clients.crt");
  CHECK(Becomes(true, [&] { return Answers(server, by_b); }));
  CHECK_FALSE(Answers(server, by_a));
}

TEST_CASE("TLS: files that cannot serve are left aside while the server runs") {
  const Folder folder;
  folder.MakeCertificates("a");
  folder.MakeCertificates("b");
  for (const char* file : {"crt", "key"})
    folder.Copy(std::string("a.") + file, std::string("now.") + file);
  folder.Copy("a-ca.crt", "clients.crt");
  ServerProcess server({"--tls-cert", folder / "now.crt", "--tls-key", folder / "now.key",
                        "--tls-client-ca", folder / "clients.crt"});
  client::Security by_a = Trusting(folder / "a-ca.crt");
  by_a.cert_file = folder / "a-client.crt";
  by_a.key_file = folder / "a-client.key";
  const auto goes_on = [&] {
    std::this_thread::sleep_for(milliseconds(2500));  // we look every second, and so does gRPC
    return Answers(server, by_a);
  };
  for (const std::string name : {"now.crt", "now.key", "clients.crt"}) {
    for (const std::string text : {"", "no PEM\n"}) {
      INFO(name << " holds \"" << text << "\"");
      folder.Write(name, text);
      CHECK(goes_on());
    }
    fs::remove(folder / name);
    CHECK(goes_on());
    fs::create_directory(folder / name);
    CHECK(goes_on());
    fs::remove(folder / name);
    folder.Copy(name == "clients.crt" ? "a-ca.crt" : "a" + name.substr(3), name);
  }
  folder.Copy("b.crt", "now.crt");  // its key is still the other's
  CHECK(goes_on());
  folder.Copy("b.key", "now.key");
  client::Security to_b = by_a;
  to_b.ca_file = folder / "b-ca.crt";
  CHECK(Becomes(true, [&] { return Answers(server, to_b); }));
  server.Signal(SIGTERM);
  CHECK(server.Wait() == 0);
}

TEST_CASE("TLS: files that cannot serve do not start a server") {
  const Folder folder;
  folder.MakeCertificates("a");
  folder.MakeCertificates("b");
  folder.Write("empty", "");
  const std::vector<std::vector<std::string>> bad = {
      {"--tls-cert", folder / "a.crt"},
      {"--tls-key", folder / "a.key"},
      {"--tls-client-ca", folder / "a-ca.crt"},
      {"--tls-cert", folder / "a.crt", "--tls-key", folder / "b.key"},
      {"--tls-cert", folder / "none", "--tls-key", folder / "a.key"},
      {"--tls-cert", folder / "empty", "--tls-key", folder / "a.key"},
      {"--tls-cert", folder / "", "--tls-key", folder / "a.key"},  // a folder
      {"--tls-cert", folder / "a.crt", "--tls-key", folder / "a.key", "--tls-client-ca",
       folder / "empty"}};
  for (std::vector<std::string> arguments : bad) {
    INFO(arguments[0] << " " << arguments.back());
    arguments.insert(arguments.end(), {"--grpc-port", "0"});
    const Output output = RunPullbackd(arguments);
    CHECK(output.exit_code == 1);
    CHECK(output.text.find("TLS_FILES") != std::string::npos);
  }
}

Status TryToken(const ServerProcess& server, const std::string& token) {
  client::Security security;
  security.token = token;
  auto client = Connect(server.address(), security);
  if (!client.ok()) return client.status();
  return (*client)->Compile(PowGradient()).status();
}

TEST_CASE("tokens: UNAUTHENTICATED without one, for every call; the file is read again") {
  const Folder folder;
  folder.Write("tokens", "# the team\nfirst\n\n  second \n");
  ServerProcess server({"--token-file", folder / "tokens", "--http-port", "0"});
  CHECK(TryToken(server, "first").ok());
  CHECK(TryToken(server, "second").ok());
  CHECK(TryToken(server, "").reason() == "TOKEN_MISSING");
  for (const char* wrong : {"third", "firs", "firstt", "# the team", "FIRST"}) {
    INFO(wrong);
    const Status status = TryToken(server, wrong);
    CHECK(status.code() == Code::kUnauthenticated);
    CHECK(status.reason() == "TOKEN_UNKNOWN");
  }

  auto stranger = Connect(server.address(), {});
  REQUIRE(stranger.ok());
  CHECK((*stranger)->Info().status().reason() == "TOKEN_MISSING");
  CHECK((*stranger)->Explain(PowGradient()).status().reason() == "TOKEN_MISSING");
  client::Compiled compiled;
  compiled.kernel_id = std::string(64, 'a');
  CHECK((*stranger)->Evaluate(compiled, {}).status().reason() == "TOKEN_MISSING");
  auto stream = (*stranger)->OpenStream();
  stream->Send(1, PowGradient(), PowInputs(2, 3));
  CHECK_FALSE(stream->Receive());
  CHECK(stream->Finish().reason() == "TOKEN_MISSING");

  folder.Write("tokens", "third\n");
  CHECK(Becomes(true, [&] { return TryToken(server, "third").ok(); }));
  CHECK(TryToken(server, "first").reason() == "TOKEN_UNKNOWN");
  // What cannot be read changes nothing.
  fs::remove(folder / "tokens");
  std::this_thread::sleep_for(milliseconds(1200));
  CHECK(TryToken(server, "third").ok());
  folder.Write("tokens", "");
  CHECK(Becomes(false, [&] { return TryToken(server, "third").ok(); }));

  const std::string log = server.log();
  CHECK(log.find("tokens read again") != std::string::npos);
  CHECK(log.find("third") == std::string::npos);
  CHECK(HttpGet(server.http_address(), "/metrics")
            .body.find(R"(rpc_requests_total{code="UNAUTHENTICATED",method="Compile"})") !=
        std::string::npos);
}

TEST_CASE("tokens: a stream that is open ends when its token does") {
  const Folder folder;
  folder.Write("tokens", "first\n");
  ServerProcess server({"--token-file", folder / "tokens"});
  client::Security security;
  security.token = "first";
  auto client = Connect(server.address(), security);
  REQUIRE(client.ok());
  auto stream = (*client)->OpenStream();
  stream->Send(1, PowGradient(), PowInputs(2, 3));
  REQUIRE(stream->Receive());
  folder.Write("tokens", "second\n");
  REQUIRE(Becomes(true, [&] { return TryToken(server, "second").ok(); }));
  stream->Send(2, PowGradient(), PowInputs(2, 3));
  CHECK_FALSE(stream->Receive());
  const Status status = stream->Finish();
  CHECK(status.code() == Code::kUnauthenticated);
  CHECK(status.reason() == "TOKEN_UNKNOWN");
}

TEST_CASE("tokens: with TLS, from a file of the client's") {
  const Folder folder;
  folder.MakeCertificates("a");
  folder.Write("tokens", "first\nsecond\n");
  folder.Write("mine", "# mine\nsecond\n");
  ServerProcess server({"--token-file", folder / "tokens", "--tls-cert", folder / "a.crt",
                        "--tls-key", folder / "a.key"});
  client::Security security = Trusting(folder / "a-ca.crt");
  CHECK_FALSE(Answers(server, security));
  security.token_file = folder / "mine";
  CHECK(Answers(server, security));
  security.token_file = folder / "none";
  CHECK(Connect(server.address(), security).status().reason() == "SECURITY_FILE");
  security.token = "two\nlines";
  CHECK(Connect(server.address(), security).status().reason() == "INVALID_TOKEN");
}

TEST_CASE("tokens: a file without any, or none at all, does not start a server") {
  const Folder folder;
  folder.Write("tokens", "# nobody\n");
  for (const char* name : {"tokens", "none"}) {
    const Output output = RunPullbackd({"--grpc-port", "0", "--token-file", folder / name});
    CHECK(output.exit_code == 1);
    CHECK(output.text.find("TOKEN_FILE") != std::string::npos);
  }
}

TEST_CASE("TLS and tokens on the command line, by flags and by environment") {
  const Folder folder;
  folder.MakeCertificates("a");
  folder.Write("tokens", "first\n");
  ServerProcess server({"--token-file", folder / "tokens", "--tls-cert", folder / "a.crt",
                        "--tls-key", folder / "a.key", "--tls-client-ca", folder / "a-ca.crt"});
  const auto run = [&](const std::string& environment, const std::string& flags,
                       const std::string& command = "info") {
    const std::string line = environment + " " + testing::BinaryPath("pullback") + " " + command +
                             " --server " + server.address() + " " + flags + " >/dev/null 2>&1";
    return std::system(line.c_str());
  };
  const std::string a = folder / "a";
  const std::string tls =
      "--tls-ca " + a + "-ca.crt --tls-cert " + a + "-client.crt --tls-key " + a + "-client.key";
  CHECK(run("", tls + " --token first") == 0);
  CHECK(run("", tls + " --token-file " + (folder / "tokens")) == 0);
  CHECK(run("", tls) != 0);
  CHECK(run("", "--token first") != 0);
  CHECK(run("PULLBACK_TLS_CA=" + a + "-ca.crt PULLBACK_TLS_CERT=" + a +
                "-client.crt PULLBACK_TLS_KEY=" + a + "-client.key PULLBACK_TOKEN=first",
            "") == 0);
  CHECK(run("PULLBACK_TOKEN_FILE=" + (folder / "tokens"), tls) == 0);

  const std::string load = "load " + testing::SourcePath("docs/examples/pow.pull") +
                           " -e pow -a x=2.0 -a n=3 --duration 0.2 --warmup 0 --concurrency 2";
  for (const std::string way : {"", " --stream"}) {
    CHECK(run("", tls + " --token first", load + way) == 0);
    CHECK(run("", tls + " --token second", load + way) != 0);
    CHECK(run("", "--token first", load + way) != 0);
  }
}

}  // namespace
}  // namespace pullback::test
