#include "tests/client/cli.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <catch2/catch.hpp>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>

#include "tests/support/paths.h"

extern char** environ;

namespace pullback::test {
namespace {

namespace fs = std::filesystem;

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& s : strings) pointers.push_back(s.data());
  pointers.push_back(nullptr);
  return pointers;
}

struct Files {
  std::string in, out, err;
};

pid_t Spawn(const std::string& program, std::vector<std::string> arguments,
            std::vector<std::string> environment, const Files& files) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, files.in.c_str(), O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, files.out.c_str(), O_WRONLY | O_CREAT, 0600);
  posix_spawn_file_actions_addopen(&actions, 2, files.err.c_str(), O_WRONLY | O_CREAT, 0600);
  for (char** e = environ; *e != nullptr; ++e) environment.emplace_back(*e);
  arguments.insert(arguments.begin(), testing::BinaryPath(program));
  pid_t pid = -1;
  const int error = posix_spawn(&pid, arguments[0].c_str(), &actions, nullptr,
                                Pointers(arguments).data(), Pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw std::runtime_error("cannot start " + arguments[0]);
  return pid;
}

// A pullbackd until the end of the process.
class Server {
 public:
  Server() {
    const Files files{"/dev/null", scratch_.path("out"), scratch_.path("err")};
    pid_ = Spawn("pullbackd", {"--grpc-port", "0"}, {}, files);
    for (int i = 0; i < 3000 && address_.empty(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      address_ = FindAddress(ReadFile(files.out) + ReadFile(files.err));
    }
    if (address_.empty()) throw std::runtime_error("pullbackd does not listen");
  }
  ~Server() {
    kill(pid_, SIGTERM);
    waitpid(pid_, nullptr, 0);
  }
  const std::string& address() const { return address_; }

 private:
  static std::string FindAddress(const std::string& log) {
    static constexpr char kMark[] = " listening address=";
    const size_t mark = log.find(kMark);
    if (mark == std::string::npos) return "";
    const size_t begin = mark + sizeof kMark - 1;
    const size_t end = log.find_first_of(" \n", begin);
    return end == std::string::npos ? "" : log.substr(begin, end - begin);
  }

  Scratch scratch_;
  std::string address_;
  pid_t pid_ = -1;
};

}  // namespace

nlohmann::json CliResult::json() const { return nlohmann::json::parse(out); }

CliResult Cli(const std::vector<std::string>& arguments, const std::string& standard_input,
              const std::vector<std::string>& environment) {
  const Scratch scratch;
  const Files files{scratch.Put("in", standard_input), scratch.path("out"), scratch.path("err")};
  const pid_t pid = Spawn("pullback", arguments, environment, files);
  int status = 0;
  waitpid(pid, &status, 0);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, ReadFile(files.out), ReadFile(files.err)};
}

Scratch::Scratch() : folder_((fs::temp_directory_path() / "pullback-cli-XXXXXX").string()) {
  if (mkdtemp(folder_.data()) == nullptr) throw std::runtime_error("mkdtemp");
}

Scratch::~Scratch() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

std::string Scratch::Put(const std::string& name, const std::string& text) const {
  std::ofstream(path(name), std::ios::binary) << text;
  return path(name);
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

const std::string& ServerAddress() {
  static const Server server;
  return server.address();
}

std::string SourceFile(const std::string& path) { return testing::SourcePath(path); }

nlohmann::json Lasting(nlohmann::json answer) {
  for (const char* key : {"timings", "cache", "peak_bytes", "tier"}) answer.erase(key);
  return answer;
}

CliResult Eval(const std::string& program, const std::string& entry, const std::string& argument,
               const std::vector<std::string>& more) {
  std::vector<std::string> words = {"eval", "-", "-e", entry, "-a", argument, "--json"};
  words.insert(words.end(), more.begin(), more.end());
  if (more.empty() || more[0] != "--server") words.emplace_back("--local");
  return Cli(words, program);
}

nlohmann::json EvalHereAndThere(const std::string& program, const std::string& entry,
                                const std::string& argument, const std::vector<std::string>& more) {
  std::vector<std::string> by_server = {"--server", ServerAddress()};
  by_server.insert(by_server.end(), more.begin(), more.end());
  nlohmann::json answers[2];
  for (int there = 0; there < 2; ++there) {
    const CliResult result = Eval(program, entry, argument, there == 0 ? more : by_server);
    INFO(result.err);
    REQUIRE(result.exit_code == 0);
    answers[there] = Lasting(result.json());
  }
  CHECK(answers[0] == answers[1]);
  return answers[0];
}

}  // namespace pullback::test
