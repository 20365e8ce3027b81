// The command line and a server for it, as a user has them: real programs, real processes.
#pragma once

#include <sys/types.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace pullback::test {

struct CliResult {
  int exit_code = -1;
  std::string out;
  std::string err;
  nlohmann::json json() const;  // of `out`; throws when it is none
};

// Runs pullback with these arguments. environment: "NAME=value".
CliResult Cli(const std::vector<std::string>& arguments, const std::string& standard_input = "",
              const std::vector<std::string>& environment = {});

// An answer of eval --json without what may differ from run to run: times, whether the kernel was there, how
// much it held, and which tier answered.
nlohmann::json Lasting(nlohmann::json answer);

// eval --json of a program given as text; in this process where `more` does not begin with --server.
CliResult Eval(const std::string& program, const std::string& entry, const std::string& argument,
               const std::vector<std::string>& more = {});
// Its lasting answer, the same here and by a server; fails the test where it is not.
nlohmann::json EvalHereAndThere(const std::string& program, const std::string& entry,
                                const std::string& argument,
                                const std::vector<std::string>& more = {});

// A folder of its own, gone at the end.
class Scratch {
 public:
  Scratch();
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  // Writes a file; gives its path.
  std::string Put(const std::string& name, const std::string& text) const;

 private:
  std::string folder_;
};

std::string ReadFile(const std::string& path);

// A pullbackd for all tests of this process. Its host:port.
const std::string& ServerAddress();

// A file of this repository.
std::string SourceFile(const std::string& path);

}  // namespace pullback::test
