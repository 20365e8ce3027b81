// A pullbackd of its own for a test: started on a free port, stopped at the end.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "client/client.h"
#include "pullback/v1/service.grpc.pb.h"

namespace pullback::test {

// What a program that ended by itself wrote and returned.
struct Output {
  int exit_code = -1;
  std::string text;  // standard output and error
};

// Runs pullbackd until it ends. environment: "NAME=value".
Output RunPullbackd(const std::vector<std::string>& arguments,
                    const std::vector<std::string>& environment = {});

class ServerProcess {
 public:
  // Waits until the server listens; throws with its output when it does not. On a free port
  // unless the arguments say --grpc-port.
  explicit ServerProcess(std::vector<std::string> arguments = {},
                         const std::vector<std::string>& environment = {});
  ~ServerProcess();  // SIGKILL where it still runs
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  const std::string& address() const { return address_; }
  int port() const;
  // Of --http-port.
  std::string http_address() const;
  // What it has logged up to now.
  std::string log();
  void Signal(int number);
  bool alive();
  // Exit code; -1 when it does not end in time or was ended by a signal.
  int Wait(std::chrono::milliseconds timeout = std::chrono::seconds(60));

  std::unique_ptr<client::Client> Connect();
  std::unique_ptr<v1::GradientService::Stub> Stub();

 private:
  bool ReadUntilListening();
  std::string ReadField(const std::string& key) const;

  pid_t pid_ = -1;
  int output_ = -1;
  int exit_code_ = -1;
  bool ended_ = false;
  std::string log_;
  std::string address_;
};

// One server with default flags for all tests that do not need their own.
ServerProcess& SharedServer();

double MillisecondsSince(std::chrono::steady_clock::time_point begin);

}  // namespace pullback::test
