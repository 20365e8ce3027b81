// pullback explain: the stages a program goes through, as text.
#include <algorithm>
#include <cstdio>
#include <utility>

#include "client/cli/commands.h"
#include "client/cli/options.h"
#include "client/cli/report.h"

namespace pullback::cli {
namespace {

const std::vector<std::string> kStages = {"ast",   "ssa",  "adjoint", "normal",
                                          "loops", "llvm", "asm",     "cost"};

struct ExplainOptions {
  KernelOptions kernel;
  ArgumentTexts arguments;
  PlaceOptions place;
  std::vector<std::string> stages;
  std::string arch;
  bool json = false;
};

// The arguments, where there are any.
StatusOr<std::optional<client::Inputs>> ReadInputs(const ExplainOptions& options,
                                                   const client::KernelSpec& spec,
                                                   Session* session) {
  std::optional<client::Inputs> inputs;
  if (options.arguments.empty()) return inputs;
  PB_ASSIGN_OR_RETURN(const ArgumentJson json, ReadArguments(options.arguments));
  PB_ASSIGN_OR_RETURN(const client::Compiled kernel, session->Compile(spec));
  PB_ASSIGN_OR_RETURN(inputs, ConvertArguments(json, kernel.signature, spec.transform));
  return inputs;
}

StatusOr<Json> Explain(const ExplainOptions& options, const std::vector<std::string>& stages) {
  PB_ASSIGN_OR_RETURN(const client::KernelSpec spec, ReadSpec(options.kernel));
  PB_ASSIGN_OR_RETURN(const auto session, Open(options.place));
  PB_ASSIGN_OR_RETURN(const auto inputs, ReadInputs(options, spec, session.get()));
  Json texts = Json::Object();
  for (const std::string& stage : stages) {
    PB_ASSIGN_OR_RETURN(std::string text,
                        session->Explain(spec, stage, inputs ? &*inputs : nullptr));
    texts.Add(stage, Json::String(std::move(text)));
  }
  return texts;
}

void PrintText(const Json& texts) {
  for (size_t i = 0; i < texts.keys.size(); ++i) {
    const std::string& text = texts.items[i].text;
    if (texts.keys.size() > 1) std::printf("==== %s ====\n", texts.keys[i].c_str());
    std::printf("%s%s", text.c_str(), text.ends_with('\n') ? "" : "\n");
  }
}

int RunExplain(const ExplainOptions& options) {
  const bool all = options.stages.empty() || options.stages == std::vector<std::string>{"all"};
  std::vector<std::string> stages = all ? kStages : options.stages;
  if (all && options.kernel.tier == "baseline") std::erase(stages, "llvm");  // it has none
  if (!options.arch.empty())
    std::replace(stages.begin(), stages.end(), std::string("ptx"), "ptx:" + options.arch);
  const auto texts = Explain(options, stages);
  if (!texts.ok()) return Fail(texts.status(), options.kernel.file, options.json);
  if (!options.json) {
    PrintText(*texts);
    return kExitOk;
  }
  Json json = Json::Object();
  json.Add("stages", *texts);
  std::printf("%s\n", Dump(json).c_str());
  return kExitOk;
}

}  // namespace

void AddExplain(CLI::App* app, Action* action) {
  auto* const command =
      app->add_subcommand("explain", "Shows the stages a program goes through, as text");
  auto options = std::make_shared<ExplainOptions>();
  AddKernelOptions(command, &options->kernel);
  std::vector<std::string> names = kStages;
  names.insert(names.end(), {"ptx", "rules", "sparsity", "tensor-ssa", "all"});
  command
      ->add_option("--stage", options->stages,
                   "ast, ssa, adjoint, normal, loops, llvm, asm, cost (operation counts), several "
                   "as a,b, or all; default all. By name only: ptx (kernels for a GPU, needs "
                   "none), rules (how often each rewrite rule "
                   "was applied), tensor-ssa (one op a statement), of matrices sparsity (patterns)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember(names).description(""))
      ->type_name("NAMES");
  command
      ->add_option(
          "--arch", options->arch,
          "Of ptx: the GPU's architecture, sm_75 to sm_90a; default: the device's, or sm_90")
      ->type_name("ARCH");
  AddArgumentOptions(command, &options->arguments);
  AddPlaceOptions(command, &options->place);
  AddJsonFlag(command, &options->json);
  command->footer(
      "With arguments and --local, cost counts the operations of that run, and sparsity\nthe seeds "
      "and elements of a sparse matrix.");
  command->callback([options, action] { *action = [options] { return RunExplain(*options); }; });
}

}  // namespace pullback::cli
