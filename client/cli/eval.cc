// pullback eval: one call of one function.
#include <cstdio>
#include <utility>

#include "client/cli/commands.h"
#include "client/cli/options.h"
#include "client/cli/report.h"
#include "client/cli/values.h"
#include "core/base/sparse.h"

namespace pullback::cli {
namespace {

struct EvalOptions {
  KernelOptions kernel;
  ArgumentTexts arguments;
  PlaceOptions place;
  int64_t memory_bytes = 0;
  int32_t max_depth = 0;
  bool json = false;
};

struct Answer {
  client::Signature signature;
  bool sparse;
  client::Evaluation evaluation;
};

StatusOr<Answer> Evaluate(const EvalOptions& options) {
  PB_ASSIGN_OR_RETURN(const client::KernelSpec spec, ReadSpec(options.kernel));
  PB_ASSIGN_OR_RETURN(const ArgumentJson json, ReadArguments(options.arguments));
  PB_ASSIGN_OR_RETURN(const auto session, Open(options.place));
  PB_ASSIGN_OR_RETURN(const client::Compiled kernel, session->Compile(spec));
  PB_ASSIGN_OR_RETURN(client::Inputs inputs,
                      ConvertArguments(json, kernel.signature, spec.transform));
  inputs.memory_bytes = options.memory_bytes;
  inputs.max_depth = options.max_depth;
  PB_ASSIGN_OR_RETURN(client::Evaluation evaluation, session->Evaluate(spec, kernel, inputs));
  // Compiling came first: what it found and took is the answer's.
  evaluation.kernel_id = kernel.kernel_id;
  evaluation.cache_hit = kernel.cache_hit;
  evaluation.timings.stages = kernel.timings.stages;
  evaluation.timings.queue_seconds += kernel.timings.queue_seconds;
  evaluation.timings.total_seconds += kernel.timings.total_seconds;
  return Answer{kernel.signature, spec.sparse, std::move(evaluation)};
}

Json TimingsJson(const client::Timings& timings) {
  Json stages = Json::Object();
  for (const client::StageTime& stage : timings.stages) {
    stages.Add(stage.stage, Json::Number(stage.seconds));
  }
  Json json = Json::Object();
  json.Add("queue_seconds", Json::Number(timings.queue_seconds));
  json.Add("total_seconds", Json::Number(timings.total_seconds));
  json.Add("execute_seconds", Json::Number(timings.execute_seconds));
  json.Add("compile_stages", std::move(stages));
  return json;
}

bool IsFloat(const ApiType& leaf) { return leaf.dtype == DType::kF64 || leaf.dtype == DType::kF32; }

// Sparse blocks in place of every float of `columns`.
ApiType SparseType(const ApiType& row, const ApiType& columns) {
  if (!columns.is_tuple) return IsFloat(columns) ? SparseApiType(row, columns) : columns;
  ApiType type = columns;
  for (ApiType& element : type.elements) element = SparseType(row, element);
  return type;
}

// `columns` in place of every float of `rows`: the structure of a matrix of derivatives.
ApiType BlockType(const ApiType& rows, const ApiType& columns, bool sparse) {
  if (!rows.is_tuple) {
    if (!IsFloat(rows)) return rows;
    return sparse ? SparseType(rows, columns) : columns;
  }
  ApiType type = rows;
  for (ApiType& element : type.elements) element = BlockType(element, columns, sparse);
  return type;
}

const ApiType& TypeOf(const std::string& parameter, const client::Signature& signature) {
  for (const client::Parameter& p : signature.parameters) {
    if (p.name == parameter) return p.type;
  }
  return signature.result;
}

// The derivative by one parameter; of a Hessian an object with one for each parameter.
Json ByParameter(const client::NamedValue& d, const Answer& answer, const std::string& transform) {
  const client::Signature& signature = answer.signature;
  const ApiStructs& structs = signature.structs;
  const ApiType& type = TypeOf(d.name, signature);
  if (transform == "jacobian") {
    return FromValue(d.value, BlockType(signature.result, type, answer.sparse), structs);
  }
  if (transform != "hessian") return FromValue(d.value, type, structs);
  Json row = Json::Object();
  for (size_t i = 0; i < signature.wrt.size(); ++i) {
    const ApiType block = BlockType(type, TypeOf(signature.wrt[i], signature), answer.sparse);
    row.Add(signature.wrt[i], FromValue(d.value.elements.at(i), block, structs));
  }
  return row;
}

void PrintAnswerJson(const Answer& answer, const std::string& transform) {
  const client::Evaluation& evaluation = answer.evaluation;
  const ApiType& result = answer.signature.result;
  const ApiStructs& structs = answer.signature.structs;
  Json json = Json::Object();
  json.Add("value", FromValue(evaluation.value, result, structs));
  if (transform == "jvp") {
    json.Add("tangent", FromValue(evaluation.derivatives.at(0).value, result, structs));
  } else if (transform != "value") {
    Json derivatives = Json::Object();
    for (const client::NamedValue& d : evaluation.derivatives) {
      derivatives.Add(d.name, ByParameter(d, answer, transform));
    }
    const bool gradients = transform == "value_and_grad" || transform == "vjp";
    json.Add(gradients ? "gradients" : transform, std::move(derivatives));
  }
  json.Add("kernel_id", Json::String(evaluation.kernel_id));
  json.Add("cache", Json::String(evaluation.cache_hit ? "hit" : "miss"));
  json.Add("timings", TimingsJson(evaluation.timings));
  json.Add("peak_bytes", Json::Integer(evaluation.peak_bytes));
  json.Add("target", Json::String(evaluation.target == client::Target::kCuda ? "cuda" : "cpu"));
  if (evaluation.contractions > 0) {
    json.Add("contractions", Json::Integer(evaluation.contractions));
    json.Add("contracted_by", Json::String(evaluation.contracted_by));
  }
  if (evaluation.tier != client::Tier::kAuto) {
    json.Add("tier", Json::String(evaluation.tier == client::Tier::kLlvm ? "llvm" : "baseline"));
  }
  std::printf("%s\n", Dump(json).c_str());
}

void PrintLine(const std::string& label, const Json& json) {
  std::printf("%s = %s\n", label.c_str(), DumpWrapped(json, label.size() + 3).c_str());
}

void PrintAnswer(const Answer& answer, const std::string& transform) {
  const ApiType& result = answer.signature.result;
  const ApiStructs& structs = answer.signature.structs;
  PrintLine("value", FromValue(answer.evaluation.value, result, structs));
  const bool gradients = transform == "value_and_grad" || transform == "vjp";
  for (const client::NamedValue& d : answer.evaluation.derivatives) {
    if (transform == "jvp") {
      PrintLine("tangent", FromValue(d.value, result, structs));
    } else if (transform != "hessian") {
      PrintLine((gradients ? "gradient" : transform) + " by " + d.name,
                ByParameter(d, answer, transform));
    } else {
      const Json row = ByParameter(d, answer, transform);
      for (size_t i = 0; i < row.keys.size(); ++i)
        PrintLine("hessian by " + d.name + ", " + row.keys[i], row.items[i]);
    }
  }
}

int RunEval(const EvalOptions& options) {
  const auto answer = Evaluate(options);
  if (!answer.ok()) return Fail(answer.status(), options.kernel.file, options.json);
  (options.json ? PrintAnswerJson : PrintAnswer)(*answer, options.kernel.transform);
  return kExitOk;
}

}  // namespace

void AddEval(CLI::App* app, Action* action) {
  auto* const command = app->add_subcommand("eval", "Calls a function; value and derivatives");
  auto options = std::make_shared<EvalOptions>();
  AddKernelOptions(command, &options->kernel);
  AddArgumentOptions(command, &options->arguments);
  AddPlaceOptions(command, &options->place);
  command->add_option("--memory", options->memory_bytes, "Most bytes that the run may hold")
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/false).description(""))
      ->check(Within(1.0, 1e15))
      ->type_name("BYTES");
  command->add_option("--depth", options->max_depth, "Most calls that may be active at once")
      ->check(CLI::Range(1, 1 << 30).description(""))
      ->type_name("N");
  AddJsonFlag(command, &options->json);
  command->callback([options, action] { *action = [options] { return RunEval(*options); }; });
}

}  // namespace pullback::cli
