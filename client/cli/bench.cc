// pullback bench: what a derivative costs beside its primal. Both run in this process, by turns, so that
// whatever slows the machine slows both; medians are compared.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <utility>

#include "client/cli/commands.h"
#include "client/cli/engine.h"
#include "client/cli/options.h"
#include "client/cli/report.h"

namespace pullback::cli {
namespace {

using std::chrono::steady_clock;

constexpr size_t kLeastRuns = 10;

struct BenchOptions {
  KernelOptions kernel;
  ArgumentTexts arguments;
  double seconds = 2;
  size_t runs = 0;
  bool json = false;
};

// One kernel with its inputs, and what its runs took.
struct Contender {
  jit::Handle handle;
  jit::Inputs inputs;
  double compile_seconds = 0;
  std::vector<double> execute;  // in compiled code
  std::vector<double> call;     // with inputs checked and outputs copied
};

struct Duel {
  Contender primal;
  Contender derivative;
};

double SecondsSince(steady_clock::time_point begin) {
  return std::chrono::duration<double>(steady_clock::now() - begin).count();
}

double Median(std::vector<double> times) {
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

StatusOr<Contender> Enter(jit::Engine* engine, const client::KernelSpec& spec,
                          const ArgumentJson& json) {
  Contender contender;
  const auto begin = steady_clock::now();
  PB_ASSIGN_OR_RETURN(contender.handle, engine->Compile(ToRequest(spec)));
  contender.compile_seconds = SecondsSince(begin);
  const client::Signature signature = ToCompiled(contender.handle).signature;
  PB_ASSIGN_OR_RETURN(const client::Inputs inputs,
                      ConvertArguments(json, signature, spec.transform));
  contender.inputs = ToInputs(inputs, signature);
  return contender;
}

Status RunOnce(jit::Engine* engine, Contender* contender) {
  const auto begin = steady_clock::now();
  PB_ASSIGN_OR_RETURN(const jit::Outputs outputs,
                      engine->Run(contender->handle, contender->inputs));
  contender->call.push_back(SecondsSince(begin));
  contender->execute.push_back(outputs.execute_seconds);
  return {};
}

Status Fight(jit::Engine* engine, const BenchOptions& options, Duel* duel) {
  // The first runs touch memory for the first time.
  for (int i = 0; i < 2; ++i) {
    PB_RETURN_IF_ERROR(RunOnce(engine, &duel->primal));
    PB_RETURN_IF_ERROR(RunOnce(engine, &duel->derivative));
  }
  for (Contender* c : {&duel->primal, &duel->derivative}) {
    c->execute.clear();
    c->call.clear();
  }
  const auto begin = steady_clock::now();
  const auto more = [&](size_t done) {
    if (options.runs > 0) return done < options.runs;
    return done < kLeastRuns || SecondsSince(begin) < options.seconds;
  };
  for (size_t done = 0; more(done); ++done) {
    PB_RETURN_IF_ERROR(RunOnce(engine, &duel->primal));
    PB_RETURN_IF_ERROR(RunOnce(engine, &duel->derivative));
  }
  return {};
}

StatusOr<Duel> Bench(const BenchOptions& options) {
  PB_ASSIGN_OR_RETURN(client::KernelSpec spec, ReadSpec(options.kernel));
  PB_ASSIGN_OR_RETURN(ArgumentJson json, ReadArguments(options.arguments));
  PB_ASSIGN_OR_RETURN(const auto engine, MakeEngine());
  Duel duel;
  PB_ASSIGN_OR_RETURN(duel.derivative, Enter(engine.get(), spec, json));
  spec.transform = client::Transform::kValue;
  spec.sparse = false;
  spec.wrt.clear();
  json.seed.reset();
  PB_ASSIGN_OR_RETURN(duel.primal, Enter(engine.get(), spec, json));
  PB_RETURN_IF_ERROR(Fight(engine.get(), options, &duel));
  return duel;
}

Json Describe(const Contender& contender) {
  Json json = Json::Object();
  json.Add("execute_seconds", Json::Number(Median(contender.execute)));
  json.Add("call_seconds", Json::Number(Median(contender.call)));
  json.Add("compile_seconds", Json::Number(contender.compile_seconds));
  return json;
}

void PrintJson(const Duel& duel) {
  Json json = Json::Object();
  json.Add("runs", Json::Integer(static_cast<int64_t>(duel.primal.call.size())));
  json.Add("primal", Describe(duel.primal));
  json.Add("derivative", Describe(duel.derivative));
  json.Add("ratio", Json::Number(Median(duel.derivative.execute) / Median(duel.primal.execute)));
  json.Add("call_ratio", Json::Number(Median(duel.derivative.call) / Median(duel.primal.call)));
  std::printf("%s\n", Dump(json).c_str());
}

void PrintRow(const char* name, const Contender& contender) {
  std::printf("%-11s %14.3f %14.3f %14.2f\n", name, 1e6 * Median(contender.execute),
              1e6 * Median(contender.call), 1e3 * contender.compile_seconds);
}

void PrintText(const Duel& duel) {
  std::printf("%-11s %14s %14s %14s\n", "", "execute [us]", "call [us]", "compile [ms]");
  PrintRow("primal", duel.primal);
  PrintRow("derivative", duel.derivative);
  std::printf("%-11s %14.2f %14.2f\n", "ratio",
              Median(duel.derivative.execute) / Median(duel.primal.execute),
              Median(duel.derivative.call) / Median(duel.primal.call));
  std::printf("medians of %zu runs each\n", duel.primal.call.size());
}

int RunBench(const BenchOptions& options) {
  const auto duel = Bench(options);
  if (!duel.ok()) return Fail(duel.status(), options.kernel.file, options.json);
  (options.json ? PrintJson : PrintText)(*duel);
  return kExitOk;
}

}  // namespace

void AddBench(CLI::App* app, Action* action) {
  auto* const command =
      app->add_subcommand("bench", "Times a function and its derivative, in this process");
  auto options = std::make_shared<BenchOptions>();
  options->kernel.transform = "value_and_grad";
  AddKernelOptions(command, &options->kernel);
  AddArgumentOptions(command, &options->arguments);
  command->add_option("--runs", options->runs, "Runs of each; default: as many as --seconds has")
      ->check(CLI::Range(size_t{1}, size_t{1} << 30).description(""))
      ->type_name("N");
  command->add_option("--seconds", options->seconds, "How long to run; default 2, at least 10 runs")
      ->check(Within(0.0, 1e6))
      ->type_name("SECONDS");
  AddJsonFlag(command, &options->json);
  command->callback([options, action] { *action = [options] { return RunBench(*options); }; });
}

}  // namespace pullback::cli
