#include "client/cli/options.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "client/cli/programs.h"

namespace pullback::cli {
namespace {

// In the order of client::Transform, from 1.
const std::vector<std::string> kTransforms = {"value", "value_and_grad", "vjp",    "jvp",
                                              "hvp",   "jacobian",       "hessian"};

// In the order of client::Tier.
const std::vector<std::string> kTiers = {"auto", "baseline", "llvm"};

// In the order of client::Mixed.
const std::vector<std::string> kMixed = {"auto", "cached", "recomputed"};
// In the order of client::Target, from 1.
const std::vector<std::string> kTargets = {"cpu", "cuda", "auto"};

// In the order of client::Contractions, from 1.
const std::vector<std::string> kContractions = {"exact", "blas"};

int IndexOf(const std::vector<std::string>& names, const std::string& name) {
  return static_cast<int>(std::find(names.begin(), names.end(), name) - names.begin());
}

client::Transform TransformOf(const std::string& name) {
  return static_cast<client::Transform>(IndexOf(kTransforms, name) + 1);
}

std::string DefaultServer() {
  const char* const server = std::getenv("PULLBACK_SERVER");
  return server != nullptr && *server != '\0' ? server : "127.0.0.1:8001";
}

}  // namespace

void AddKernelOptions(CLI::App* command, KernelOptions* options) {
  command->add_option("FILE", options->file, "The program (.pull); - is standard input")
      ->required();
  command->add_option("-e,--entry", options->entry, "The function to call")->required();
  command
      ->add_option("-t,--transform", options->transform,
                   "value, value_and_grad (of a scalar function), vjp (--seed: the result's "
                   "cotangent), jvp or hvp (--seed: tangents of the parameters), jacobian, hessian")
      ->check(CLI::IsMember(kTransforms).description(""))
      ->capture_default_str()
      ->type_name("NAME");
  command
      ->add_option("--wrt", options->wrt,
                   "Parameters to differentiate by, as a,b; default: every one that holds floats")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAMES");
  command->add_flag("--sparse", options->sparse,
                    "jacobian, hessian: only the elements that may be other than 0");
  command->add_flag("--no-optimise", options->no_optimise, "Leave the optimising passes out");
  command->add_option("--opt-level", options->opt_level, "Of the code generator: 0 or 2")
      ->check(CLI::IsMember({0, 2}).description(""))
      ->type_name("N");
  command
      ->add_option(
          "--tier", options->tier,
          "Who makes the code: baseline (tier 0), llvm, or auto (tier 0 first, LLVM where it "
          "is worth it); default: auto")
      ->check(CLI::IsMember(kTiers).description(""))
      ->type_name("TIER");
  command
      ->add_option(
          "--mixed", options->mixed,
          "Where partials of functions of elements, and of turns of loops that only add, are "
          "evaluated: cached (forward pass), "
          "recomputed (reverse pass), or auto, by cost; default: auto")
      ->check(CLI::IsMember(kMixed).description(""))
      ->type_name("MODE");
  command
      ->add_option(
          "--target", options->target,
          "Where it runs: cpu, cuda (a device, or an error), or auto (a device where there "
          "is one and something of the program can run on it); default: cpu")
      ->check(CLI::IsMember(kTargets).description(""))
      ->type_name("TARGET");
  command
      ->add_option(
          "--contractions", options->contractions,
          "Who computes matrix products and the like: exact (loops, with the same order of sums "
          "everywhere) or blas (OpenBLAS, on a device cuBLAS, in orders of their own); default: "
          "exact")
      ->check(CLI::IsMember(kContractions).description(""))
      ->type_name("WHO");
}

StatusOr<client::KernelSpec> ReadSpec(const KernelOptions& options) {
  client::KernelSpec spec;
  PB_ASSIGN_OR_RETURN(spec.program, ReadProgram(options.file));
  spec.entry = options.entry;
  spec.transform = TransformOf(options.transform);
  spec.wrt = options.wrt;
  spec.sparse = options.sparse;
  spec.optimise = !options.no_optimise;
  spec.opt_level = options.opt_level;
  spec.tier = static_cast<client::Tier>(IndexOf(kTiers, options.tier));
  spec.mixed = static_cast<client::Mixed>(IndexOf(kMixed, options.mixed));
  spec.target = static_cast<client::Target>(IndexOf(kTargets, options.target) + 1);
  spec.contractions =
      static_cast<client::Contractions>(IndexOf(kContractions, options.contractions) + 1);
  return spec;
}

void AddArgumentOptions(CLI::App* command, ArgumentTexts* texts) {
  command
      ->add_option("-a,--arg", texts->assignments,
                   "An argument: name=JSON, or name=@FILE with JSON in it; may be repeated, and "
                   "wins over --args")
      ->allow_extra_args(false)
      ->type_name("NAME=JSON");
  command->add_option("--args", texts->file, "A JSON object of arguments by name; - is stdin")
      ->type_name("FILE");
  command
      ->add_option("--seed", texts->seed,
                   "vjp: the cotangent, shaped like the result; jvp, hvp: {\"name\": tangent, …}; "
                   "or @FILE")
      ->type_name("JSON");
}

CLI::Option* AddServerOption(CLI::App* command, std::string* server) {
  *server = DefaultServer();
  return command
      ->add_option("--server", *server,
                   "A running pullbackd; default PULLBACK_SERVER, or 127.0.0.1:8001")
      ->type_name("HOST:PORT");
}

void AddSecurityOptions(CLI::App* command, client::Security* security) {
  command->add_flag("--tls", security->tls, "Speak TLS; implied by --tls-ca and --tls-cert")
      ->envname("PULLBACK_TLS");
  const auto add = [&](const char* flag, const char* variable, std::string* value, const char* type,
                       const char* help) {
    command->add_option(flag, *value, help)->envname(variable)->type_name(type);
  };
  add("--tls-ca", "PULLBACK_TLS_CA", &security->ca_file, "FILE",
      "Authorities to trust (PEM); default: the system's");
  add("--tls-cert", "PULLBACK_TLS_CERT", &security->cert_file, "FILE",
      "Certificate to show the server (PEM)");
  add("--tls-key", "PULLBACK_TLS_KEY", &security->key_file, "FILE", "Its key (PEM)");
  add("--token", "PULLBACK_TOKEN", &security->token, "TOKEN",
      "Bearer token; other users of the machine see it here, so rather:");
  add("--token-file", "PULLBACK_TOKEN_FILE", &security->token_file, "FILE",
      "File with the bearer token");
}

void AddPlaceOptions(CLI::App* command, PlaceOptions* options) {
  auto* const server = AddServerOption(command, &options->server);
  AddSecurityOptions(command, &options->security);
  command->add_flag("--local", options->local, "Without a server: the engine in this process")
      ->excludes(server);
  command->add_option("--deadline", options->deadline, "Give up after so many seconds")
      ->check(Within(0.001, 1e8))
      ->type_name("SECONDS");
}

StatusOr<std::unique_ptr<Session>> Open(const PlaceOptions& options) {
  if (options.local) return OpenLocal(options.deadline);
  return OpenRemote(options.server, options.security, options.deadline);
}

void AddJsonFlag(CLI::App* command, bool* json) {
  command->add_flag("--json", *json, "Print JSON, errors too (docs/cli.md)");
}

CLI::Validator Within(double least, double most) {
  const auto check = [least, most](std::string& text) -> std::string {
    double value = 0;
    const bool number = CLI::detail::lexical_cast(text, value);
    if (number && value >= least && value <= most) return "";
    return CLI::Range(least, most)(text) +
           (number && std::isnan(value) ? text + " is no number" : "");
  };
  return CLI::Validator(check, "");
}

}  // namespace pullback::cli
