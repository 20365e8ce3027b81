#include "tests/server/process.h"

#include <fcntl.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <thread>

#include "tests/support/paths.h"

extern char** environ;

namespace pullback::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::chrono::seconds kStartTimeout{60};

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& s : strings) pointers.push_back(s.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Starts pullbackd with standard output and error going to *output.
pid_t Spawn(std::vector<std::string> arguments, std::vector<std::string> environment, int* output) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe2");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
  for (char** e = environ; *e != nullptr; ++e) environment.emplace_back(*e);
  arguments.insert(arguments.begin(), testing::BinaryPath("pullbackd"));
  pid_t pid = -1;
  const int error = posix_spawn(&pid, arguments[0].c_str(), &actions, nullptr,
                                Pointers(arguments).data(), Pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (error != 0) throw std::runtime_error("cannot start " + arguments[0]);
  *output = ends[0];
  return pid;
}

// Appends what there is within `timeout`; false at the end.
bool ReadSome(int fd, milliseconds timeout, std::string* text) {
  pollfd wait{fd, POLLIN, 0};
  if (poll(&wait, 1, static_cast<int>(timeout.count())) <= 0) return true;
  char buffer[4096];
  const ssize_t size = read(fd, buffer, sizeof buffer);
  if (size > 0) text->append(buffer, static_cast<size_t>(size));
  return size > 0;
}

}  // namespace

Output RunPullbackd(const std::vector<std::string>& arguments,
                    const std::vector<std::string>& environment) {
  int fd = -1;
  const pid_t pid = Spawn(arguments, environment, &fd);
  Output output;
  const auto end = steady_clock::now() + kStartTimeout;
  while (steady_clock::now() < end && ReadSome(fd, milliseconds(100), &output.text)) {
  }
  if (steady_clock::now() >= end) kill(pid, SIGKILL);
  close(fd);
  int status = 0;
  waitpid(pid, &status, 0);
  if (WIFEXITED(status)) output.exit_code = WEXITSTATUS(status);
  return output;
}

ServerProcess::ServerProcess(std::vector<std::string> arguments,
                             const std::vector<std::string>& environment) {
  const auto has = [&](const char* flag) {
    return std::find(arguments.begin(), arguments.end(), flag) != arguments.end();
  };
  if (!has("--grpc-port")) arguments.insert(arguments.end(), {"--grpc-port", "0"});
  pid_ = Spawn(std::move(arguments), environment, &output_);
  if (!ReadUntilListening()) throw std::runtime_error("pullbackd does not listen:\n" + log_);
}

ServerProcess::~ServerProcess() {
  if (alive()) Signal(SIGKILL);
  Wait();
  close(output_);
}

// Of the line that says where it listens, as text or as JSON.
std::string ServerProcess::ReadField(const std::string& key) const {
  const size_t line = log_.find("listening");
  for (const std::string& begin : {" " + key + "=", "\"" + key + "\":\""}) {
    const size_t at = log_.find(begin, line);
    if (at == std::string::npos) continue;
    const size_t value = at + begin.size();
    return log_.substr(value, log_.find_first_of(" \"\n", value) - value);
  }
  return {};
}

bool ServerProcess::ReadUntilListening() {
  const auto end = steady_clock::now() + kStartTimeout;
  while (steady_clock::now() < end) {
    const bool more = ReadSome(output_, milliseconds(100), &log_);
    const size_t line = log_.find("listening");
    if (line != std::string::npos && log_.find('\n', line) != std::string::npos) {
      address_ = ReadField("address");
      return true;
    }
    if (!more) return false;
  }
  return false;
}

int ServerProcess::port() const { return std::stoi(address_.substr(address_.rfind(':') + 1)); }

std::string ServerProcess::http_address() const { return ReadField("http_address"); }

std::string ServerProcess::log() {
  size_t before;
  do {
    before = log_.size();
    ReadSome(output_, milliseconds(50), &log_);
  } while (log_.size() != before);
  return log_;
}

void ServerProcess::Signal(int number) {
  if (!ended_) kill(pid_, number);
}

bool ServerProcess::alive() {
  if (ended_) return false;
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) != pid_) return true;
  ended_ = true;
  if (WIFEXITED(status)) exit_code_ = WEXITSTATUS(status);
  return false;
}

int ServerProcess::Wait(milliseconds timeout) {
  const auto end = steady_clock::now() + timeout;
  while (alive() && steady_clock::now() < end) std::this_thread::sleep_for(milliseconds(2));
  return exit_code_;
}

std::unique_ptr<client::Client> ServerProcess::Connect() {
  client::ConnectOptions options;
  options.own_connection = true;
  auto client = client::Client::Connect(address_, options);
  if (!client.ok()) throw std::runtime_error(client.status().ToString() + "\n" + log());
  return std::move(client).value();
}

std::unique_ptr<v1::GradientService::Stub> ServerProcess::Stub() {
  return v1::GradientService::NewStub(
      grpc::CreateChannel(address_, grpc::InsecureChannelCredentials()));
}

ServerProcess& SharedServer() {
  static ServerProcess server;
  return server;
}

double MillisecondsSince(steady_clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(steady_clock::now() - begin).count();
}

}  // namespace pullback::test
