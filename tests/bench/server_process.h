// Servers as processes of their own, for benchmarks.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

extern char** environ;

namespace pullback::bench {

// Where this executable lies, and the others beside it.
inline std::string OwnFolder() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path().string();
}

// A server process that prints "… address=HOST:PORT …" when it listens.
class ServerProcess {
 public:
  explicit ServerProcess(std::vector<std::string> arguments) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe2");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    std::vector<char*> argv;
    // The servers poll as gRPC does by default.
    unsetenv("GRPC_POLL_STRATEGY");
    for (std::string& a : arguments) argv.push_back(a.data());
    argv.push_back(nullptr);
    if (posix_spawn(&pid_, argv[0], &actions, nullptr, argv.data(), environ) != 0) {
      throw std::runtime_error("cannot start " + arguments[0]);
    }
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    output_ = fdopen(ends[0], "r");
    ReadAddress();
  }
  ~ServerProcess() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    std::fclose(output_);
  }
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  const std::string& address() const { return address_; }

 private:
  void ReadAddress() {
    char line[4096];
    while (address_.empty() && std::fgets(line, sizeof line, output_) != nullptr) {
      if (const char* found = std::strstr(line, "address=")) {
        address_.assign(found + 8, std::strcspn(found + 8, " \n"));
      }
    }
    if (address_.empty()) throw std::runtime_error("the server does not listen");
  }

  pid_t pid_ = -1;
  std::FILE* output_ = nullptr;
  std::string address_;
};

}  // namespace pullback::bench
