// Options that several commands share.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/cli/arguments.h"
#include "client/cli/session.h"
#include "client/client.h"
#include "core/base/status.h"

namespace pullback::cli {

// What to compile.
struct KernelOptions {
  std::string file;
  std::string entry;
  std::string transform = "value";
  std::vector<std::string> wrt;
  bool sparse = false;
  bool no_optimise = false;
  int opt_level = -1;
  std::string tier = "auto";
  std::string mixed = "auto";
  std::string target = "cpu";
  std::string contractions = "exact";
};
void AddKernelOptions(CLI::App* command, KernelOptions* options);
// Reads the file.
StatusOr<client::KernelSpec> ReadSpec(const KernelOptions& options);

void AddArgumentOptions(CLI::App* command, ArgumentTexts* texts);

// Where it runs.
struct PlaceOptions {
  std::string server;  // the flag, PULLBACK_SERVER, or the default
  bool local = false;
  std::optional<double> deadline;
  client::Security security;
};
void AddSecurityOptions(CLI::App* command, client::Security* security);
void AddPlaceOptions(CLI::App* command, PlaceOptions* options);
// Only --server.
CLI::Option* AddServerOption(CLI::App* command, std::string* server);
StatusOr<std::unique_ptr<Session>> Open(const PlaceOptions& options);

void AddJsonFlag(CLI::App* command, bool* json);

// A number from `least` to `most`; CLI11's own ranges let nan pass.
CLI::Validator Within(double least, double most);

}  // namespace pullback::cli
