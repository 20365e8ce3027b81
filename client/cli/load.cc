// pullback load: how a server does under load, alone or beside a bare echo.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>

#include "client/cli/commands.h"
#include "client/cli/files.h"
#include "client/cli/load_progress.h"
#include "client/cli/load_report.h"
#include "client/cli/options.h"
#include "client/cli/report.h"
#include "client/load/prepare.h"

namespace pullback::cli {
namespace {

// What --distinct replaces in the program's text.
constexpr std::string_view kDistinctWord = "DISTINCT";
constexpr int kMostConnections = 16;  // by default

struct LoadOptions {
  KernelOptions kernel;
  ArgumentTexts arguments;
  load::Options load;
  std::string arrivals = "poisson";
  int connections = 0;  // 0: one for each in flight, at most kMostConnections
  double duration = 10;
  double warmup = 2;
  bool stream = false;
  bool distinct = false;
  std::string echo;
  int rounds = 10;
  double max_errors = 0;
  std::string json;
};

Status Usage(const std::string& message) {
  return Status(Code::kInvalidArgument, "USAGE", message);
}

// Another program for each number, by its digits: DISTINCT stands for a number.
std::string Distinguish(std::string text, uint64_t number) {
  const std::string digits = std::to_string(number);
  for (size_t at = 0; (at = text.find(kDistinctWord, at)) != std::string::npos;) {
    text.replace(at, kDistinctWord.size(), digits);
  }
  return text;
}

struct Prepared {
  load::Requests requests;
  std::string example;  // a request
  std::string reply;    // to it
  std::string program_hash;
};

// That numbers make a difference is tried: a word in a comment makes none.
Status CheckDistinct(client::Client* client, const client::KernelSpec& spec, uint64_t base) {
  std::string ids[2];
  for (uint64_t i : {0, 1}) {
    client::KernelSpec one = spec;
    one.program = Distinguish(spec.program, base + i);
    PB_ASSIGN_OR_RETURN(const client::Compiled kernel, client->Compile(one));
    ids[i] = kernel.kernel_id;
  }
  if (ids[0] != ids[1]) return {};
  return Usage("--distinct: the program must have a number DISTINCT that its result depends on");
}

StatusOr<Prepared> PrepareDistinct(client::Client* client, const client::KernelSpec& spec,
                                   const ArgumentJson& json) {
  // Numbers that no run before had, though the server is the same. As integers they keep every digit as f64.
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const uint64_t base = static_cast<uint64_t>(std::chrono::nanoseconds(now).count()) / 1000;
  PB_RETURN_IF_ERROR(CheckDistinct(client, spec, base));
  client::KernelSpec first = spec;
  first.program = Distinguish(spec.program, base);
  PB_ASSIGN_OR_RETURN(const client::Compiled kernel, client->Compile(first));
  PB_ASSIGN_OR_RETURN(const client::Inputs inputs,
                      ConvertArguments(json, kernel.signature, spec.transform));
  Prepared prepared;
  PB_ASSIGN_OR_RETURN(prepared.example, load::ColdRequest(first, inputs));
  prepared.requests.make = [spec, inputs, base](uint64_t number) {
    client::KernelSpec one = spec;
    one.program = Distinguish(spec.program, base + 2 + number);
    return *load::ColdRequest(one, inputs);
  };
  return prepared;
}

StatusOr<Prepared> PrepareWarm(client::Client* client, const client::KernelSpec& spec,
                               const ArgumentJson& json) {
  PB_ASSIGN_OR_RETURN(const client::Compiled kernel, client->Compile(spec));
  PB_ASSIGN_OR_RETURN(const client::Inputs inputs,
                      ConvertArguments(json, kernel.signature, spec.transform));
  Prepared prepared;
  PB_ASSIGN_OR_RETURN(prepared.example, load::WarmRequest(kernel, inputs));
  prepared.requests.bytes = prepared.example;
  prepared.program_hash = kernel.program_hash;
  return prepared;
}

StatusOr<Prepared> Prepare(const LoadOptions& options) {
  PB_ASSIGN_OR_RETURN(const client::KernelSpec spec, ReadSpec(options.kernel));
  PB_ASSIGN_OR_RETURN(const ArgumentJson json, ReadArguments(options.arguments));
  const bool marked = spec.program.find(kDistinctWord) != std::string::npos;
  if (options.distinct != marked) {
    return Usage(marked ? "the program has a number DISTINCT: --distinct replaces it"
                        : "--distinct: the program has no number DISTINCT to replace");
  }
  client::ConnectOptions connect;
  connect.security = options.load.security;
  PB_ASSIGN_OR_RETURN(const auto client, client::Client::Connect(options.load.target, connect));
  PB_ASSIGN_OR_RETURN(Prepared prepared, options.distinct
                                             ? PrepareDistinct(client.get(), spec, json)
                                             : PrepareWarm(client.get(), spec, json));
  // A run that traps is told now, with its place, and not as so many errors.
  PB_ASSIGN_OR_RETURN(prepared.reply,
                      load::Ask(options.load.target, options.load.security, prepared.example));
  return prepared;
}

double Ratio(int64_t a, int64_t b) { return static_cast<double>(a) / static_cast<double>(b); }

// Server and echo by turns, first one, then the other first, so that whatever the machine does meets both.
Status RunPaired(const LoadOptions& options, const Prepared& prepared, LoadReport* report) {
  load::Options echo_options = options.load;
  echo_options.target = options.echo;
  echo_options.security = {};
  PB_ASSIGN_OR_RETURN(const auto server, load::Generator::Connect(options.load, prepared.requests));
  auto connected = load::Generator::Connect(echo_options, prepared.requests);
  if (!connected.ok()) {
    const Status& status = connected.status();
    return Status(status.code(), status.reason(), "--echo: " + status.message());
  }
  const auto echo = *std::move(connected);
  PB_RETURN_IF_ERROR(load::TeachEcho(options.echo, prepared.reply));
  LoadProgress progress(2 * (options.duration + options.warmup));
  const double seconds = options.duration / options.rounds;
  const double pause = std::min(0.05, seconds / 4);  // until a turn has got going
  echo->Run(0, options.warmup, progress.counts());
  server->Run(0, options.warmup, progress.counts());
  report->echo.emplace();
  for (int round = 0; round < options.rounds; ++round) {
    load::Outcome ours, theirs;
    const auto run_ours = [&] { ours = server->Run(pause, seconds, progress.counts()); };
    if (round % 2 == 1) run_ours();
    theirs = echo->Run(pause, seconds, progress.counts());
    if (round % 2 == 0) run_ours();
    if (ours.latency.count() > 0 && theirs.latency.count() > 0) {
      report->rounds.push_back({ours.rate() / theirs.rate(),
                                Ratio(ours.latency.Percentile(50), theirs.latency.Percentile(50)),
                                Ratio(ours.latency.Percentile(99), theirs.latency.Percentile(99))});
    }
    report->server.MergeAfter(ours);
    report->echo->MergeAfter(theirs);
  }
  return {};
}

Status RunAlone(const LoadOptions& options, const Prepared& prepared, LoadReport* report) {
  PB_ASSIGN_OR_RETURN(const auto server, load::Generator::Connect(options.load, prepared.requests));
  LoadProgress progress(options.duration + options.warmup);
  report->server = server->Run(options.warmup, options.duration, progress.counts());
  return {};
}

StatusOr<LoadReport> Measure(LoadOptions options) {
  PB_ASSIGN_OR_RETURN(const Prepared prepared, Prepare(options));
  options.load.program_hash = prepared.program_hash;
  LoadReport report;
  report.kind = options.distinct ? "distinct" : "warm";
  report.options = options.load;
  report.warmup_seconds = options.warmup;
  report.request_bytes = prepared.example.size();
  report.reply_bytes = prepared.reply.size();
  PB_RETURN_IF_ERROR(options.echo.empty() ? RunAlone(options, prepared, &report)
                                          : RunPaired(options, prepared, &report));
  return report;
}

// What the options say together.
LoadOptions Resolve(const LoadOptions& given) {
  LoadOptions options = given;
  options.load.rpc = options.stream ? load::Rpc::kEvaluateStream : load::Rpc::kEvaluate;
  options.load.arrivals =
      options.arrivals == "poisson" ? load::ArrivalKind::kPoisson : load::ArrivalKind::kConstant;
  const int in_flight =
      options.load.rate > 0 ? options.load.max_in_flight : options.load.concurrency;
  const int wanted = options.connections > 0 ? options.connections : kMostConnections;
  options.load.connections = std::min(wanted, in_flight);
  return options;
}

int RunLoad(const LoadOptions& given) {
  // One thread of a process would else poll for all and hand events on: much of what is measured would
  // be how threads of this process wake each other.
  setenv("GRPC_POLL_STRATEGY", "poll", 0);
  const LoadOptions options = Resolve(given);
  const bool json_only = options.json == "-";
  const auto report = Measure(options);
  if (!report.ok()) return Fail(report.status(), options.kernel.file, json_only);
  if (!options.json.empty()) {
    const std::string line = Dump(ToJson(*report)) + "\n";
    if (json_only) {
      std::fputs(line.c_str(), stdout);
    } else if (const Status written = WriteText(options.json, line); !written.ok()) {
      return Fail(written, options.json, false);
    }
  }
  if (!json_only) std::fputs(ToText(*report).c_str(), stdout);
  if (report->error_share() <= options.max_errors) return kExitOk;
  std::fprintf(stderr, "pullback: %.4f of the requests failed; --max-errors is %g\n",
               report->error_share(), options.max_errors);
  return kExitErrors;
}

void AddLoopOptions(CLI::App* command, LoadOptions* options) {
  const auto many = CLI::Range(1, 100000).description("");
  auto* const rate = command->add_option("--rate", options->load.rate,
                                         "Open loop: so many requests a second, whatever the "
                                         "server does; latency counts from when each was due");
  rate->check(Within(0.001, 1e7))->type_name("R");
  command
      ->add_option("--concurrency", options->load.concurrency,
                   "Closed loop: so many requests always in flight; default 16")
      ->check(many)
      ->excludes(rate)
      ->type_name("C");
  command
      ->add_option("--arrivals", options->arrivals,
                   "Of the open loop: poisson (as of many users; default) or constant")
      ->check(CLI::IsMember({"poisson", "constant"}).description(""))
      ->needs(rate)
      ->type_name("KIND");
  command->add_option("--random-seed", options->load.seed, "Of Poisson arrivals; default 1")
      ->type_name("N");
  command
      ->add_option("--max-in-flight", options->load.max_in_flight,
                   "Open loop: what is due beyond so many waits here; default 1024")
      ->check(many)
      ->needs(rate)
      ->type_name("N");
  command
      ->add_option("--max-backlog", options->load.max_backlog,
                   "Open loop: what would wait beyond so many is shed, an error; default 100000")
      ->check(CLI::Range(1, 100000000).description(""))
      ->needs(rate)
      ->type_name("N");
  command
      ->add_option("--connections", options->connections,
                   "Connections; default: as many as may be in flight, at most 16")
      ->check(CLI::Range(1, 1000).description(""))
      ->type_name("N");
}

void AddTimeOptions(CLI::App* command, LoadOptions* options) {
  const auto seconds = Within(0.01, 1e6);
  command->add_option("--duration", options->duration, "Seconds that are measured; default 10")
      ->check(seconds)
      ->type_name("SECONDS");
  command->add_option("--warmup", options->warmup, "Seconds before that; default 2")
      ->check(Within(0.0, 1e6))
      ->type_name("SECONDS");
  command->add_option("--timeout", options->load.timeout_seconds, "Of one request; default 10")
      ->check(seconds)
      ->type_name("SECONDS");
}

}  // namespace

void AddLoad(CLI::App* app, Action* action) {
  auto* const command =
      app->add_subcommand("load", "Puts load on a server and measures its answers");
  auto options = std::make_shared<LoadOptions>();
  options->kernel.transform = "value_and_grad";
  options->load.concurrency = 16;
  AddKernelOptions(command, &options->kernel);
  AddArgumentOptions(command, &options->arguments);
  AddServerOption(command, &options->load.target);
  AddSecurityOptions(command, &options->load.security);
  AddLoopOptions(command, options.get());
  AddTimeOptions(command, options.get());
  command->add_flag("--stream", options->stream, "EvaluateStream, one stream a connection");
  command->add_flag("--distinct", options->distinct,
                    "Every request is a program never seen, with its text: the word DISTINCT in it "
                    "becomes another number each time");
  auto* const echo = command->add_option(
      "--echo", options->echo,
      "A bench_echo_server, asked by turns with the server and never encrypted; ratios are of the "
      "same round");
  echo->type_name("HOST:PORT")->check([](const std::string& address) {
    return address.empty() ? std::string("is empty") : std::string();
  });
  command->add_option("--rounds", options->rounds, "With --echo, turns of each; default 10")
      ->check(CLI::Range(1, 10000).description(""))
      ->needs(echo)
      ->type_name("N");
  command
      ->add_option("--max-errors", options->max_errors,
                   "Share of requests that may fail; beyond it the exit code is 1; default 0")
      ->check(Within(0.0, 1.0))
      ->type_name("SHARE");
  command->add_option("--json", options->json, "Write the report as JSON; - is standard output")
      ->type_name("FILE");
  command->callback([options, action] { *action = [options] { return RunLoad(*options); }; });
}

}  // namespace pullback::cli
