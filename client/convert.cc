#include "client/convert.h"

#include <utility>

#include "proto/values.h"

namespace pullback::client {
namespace {

Status BadAnswer(const wire::Fault& fault) {
  return Status(Code::kInternal, "BAD_ANSWER", "answer" + fault.path + ": " + fault.what);
}

Timings FromMessage(const v1::Timings& message) {
  Timings timings{message.queue_seconds(), message.total_seconds(), message.execute_seconds(), {}};
  for (const v1::StageTime& stage : message.stages()) {
    timings.stages.push_back({stage.stage(), stage.seconds()});
  }
  return timings;
}

Severity ToSeverity(v1::Severity severity) {
  switch (severity) {
    case v1::SEVERITY_WARNING: return Severity::kWarning;
    case v1::SEVERITY_NOTE: return Severity::kNote;
    default: return Severity::kError;
  }
}

Diagnostic FromMessage(const v1::Diagnostic& message) {
  Diagnostic d;
  d.severity = ToSeverity(message.severity());
  d.span.line = message.line();
  d.span.column = message.column();
  d.message = message.message();
  d.excerpt = message.excerpt();
  return d;
}

Signature FromMessage(const v1::Signature& message) {
  Signature signature;
  signature.entry = message.entry();
  for (const v1::Parameter& p : message.parameters()) {
    signature.parameters.push_back({p.name(), wire::DecodeType(p.type(), message.structs())});
  }
  signature.result = wire::DecodeType(message.result(), message.structs());
  for (const v1::Type& type : message.structs()) {
    signature.structs.push_back(wire::DecodeType(type, message.structs()));
  }
  signature.wrt.assign(message.wrt().begin(), message.wrt().end());
  return signature;
}

using Names = std::vector<std::string>;
using NamedValues = google::protobuf::RepeatedPtrField<v1::NamedValue>;

void AddAll(const std::vector<NamedValue>& values, NamedValues* out) {
  for (const NamedValue& value : values) {
    v1::NamedValue* message = out->Add();
    message->set_name(value.name);
    wire::EncodeValue(value.value, message->mutable_value());
  }
}

// Puts named values into the order of `names` and leaves the names out.
Status AddInOrder(const std::vector<NamedValue>& values, const Names& names, NamedValues* out) {
  if (values.size() != names.size()) {
    return Status(Code::kInvalidArgument, "MISSING_ARGUMENT",
                  "expected " + std::to_string(names.size()) + " values, got " +
                      std::to_string(values.size()));
  }
  for (const std::string& name : names) {
    const NamedValue* found = nullptr;
    for (const NamedValue& value : values) found = value.name == name ? &value : found;
    if (found == nullptr) {
      return Status(Code::kInvalidArgument, "MISSING_ARGUMENT", "'" + name + "' is missing");
    }
    wire::EncodeValue(found->value, out->Add()->mutable_value());
  }
  return {};
}

bool Named(const std::vector<NamedValue>& values) {
  return !values.empty() && !values[0].name.empty();
}

Names ParameterNames(const Signature& signature) {
  Names names;
  for (const Parameter& p : signature.parameters) names.push_back(p.name);
  return names;
}

}  // namespace

void ToMessage(const KernelSpec& spec, v1::KernelSpec* message) {
  if (spec.tables != nullptr) {
    *message->mutable_program()->mutable_tables() = *spec.tables;
  } else {
    message->mutable_program()->set_text(spec.program);
  }
  message->set_entry(spec.entry);
  message->set_transform(static_cast<v1::Transform>(spec.transform));
  for (const std::string& name : spec.wrt) message->add_wrt(name);
  if (spec.sparse) message->set_sparse(true);
  if (!spec.optimise) message->mutable_options()->set_no_optimise(true);
  if (spec.opt_level >= 0) message->mutable_options()->set_opt_level(spec.opt_level);
  if (spec.tier != Tier::kAuto)
    message->mutable_options()->set_tier(static_cast<v1::Tier>(spec.tier));
  if (spec.mixed != Mixed::kAuto)
    message->mutable_options()->set_mixed(static_cast<v1::Mixed>(spec.mixed));
  if (spec.contractions != Contractions::kExact)
    message->mutable_options()->set_contractions(static_cast<v1::Contractions>(spec.contractions));
  if (spec.target != Target::kCpu)
    message->mutable_options()->set_target(static_cast<v1::ExecutionTarget>(spec.target));
}

Status ToMessage(const Inputs& inputs, const Signature* rename, v1::EvaluateRequest* message) {
  if (inputs.memory_bytes != 0) message->mutable_options()->set_memory_bytes(inputs.memory_bytes);
  if (inputs.max_depth != 0) message->mutable_options()->set_max_depth(inputs.max_depth);
  if (rename != nullptr && Named(inputs.arguments)) {
    PB_RETURN_IF_ERROR(
        AddInOrder(inputs.arguments, ParameterNames(*rename), message->mutable_arguments()));
  } else {
    AddAll(inputs.arguments, message->mutable_arguments());
  }
  if (rename != nullptr && Named(inputs.seeds)) {
    return AddInOrder(inputs.seeds, rename->wrt, message->mutable_seeds());
  }
  AddAll(inputs.seeds, message->mutable_seeds());
  return {};
}

StatusOr<Compiled> FromMessage(const v1::CompileResponse& message) {
  Compiled compiled;
  compiled.kernel_id = message.kernel_id();
  compiled.signature = FromMessage(message.signature());
  for (const v1::Diagnostic& d : message.diagnostics()) {
    compiled.diagnostics.push_back(FromMessage(d));
  }
  compiled.cache_hit = message.cache_hit();
  compiled.timings = FromMessage(message.timings());
  return compiled;
}

StatusOr<Evaluation> FromMessage(const v1::EvaluateResponse& message, const Signature* rename) {
  Evaluation evaluation;
  if (auto fault = wire::DecodeValue(message.value(), &evaluation.value)) return BadAnswer(*fault);
  const auto count = static_cast<size_t>(message.derivatives_size());
  for (size_t i = 0; i < count; ++i) {
    const v1::NamedValue& derivative = message.derivatives(static_cast<int>(i));
    const bool renamed = rename != nullptr && rename->wrt.size() == count;
    NamedValue& value = evaluation.derivatives.emplace_back();
    value.name = renamed ? rename->wrt[i] : derivative.name();
    if (auto fault = wire::DecodeValue(derivative.value(), &value.value)) return BadAnswer(*fault);
  }
  evaluation.kernel_id = message.kernel_id();
  evaluation.cache_hit = message.cache_hit();
  evaluation.timings = FromMessage(message.timings());
  evaluation.peak_bytes = message.peak_bytes();
  evaluation.tier = static_cast<Tier>(message.tier());
  if (message.target() == v1::EXECUTION_TARGET_CUDA) evaluation.target = Target::kCuda;
  evaluation.contractions = message.contractions();
  evaluation.contracted_by = message.contracted_by();
  return evaluation;
}

ServerInfo FromMessage(const v1::GetServerInfoResponse& message) {
  ServerInfo info;
  info.version = message.version();
  info.build_id = message.build_id();
  info.backend = message.backend().name();
  info.target = message.backend().target();
  info.backend_version = message.backend().version();
  const v1::ServerLimits& limits = message.limits();
  info.max_message_bytes = limits.max_message_bytes();
  info.max_source_bytes = limits.max_source_bytes();
  info.memory_bytes = limits.memory_bytes();
  info.queue = limits.queue();
  info.max_nesting = limits.max_nesting();
  info.max_depth = limits.max_depth();
  info.threads = limits.threads();
  info.compile_threads = limits.compile_threads();
  info.default_deadline_seconds = limits.default_deadline_seconds();
  info.max_deadline_seconds = limits.max_deadline_seconds();
  info.running = message.load().running();
  info.queued = message.load().queued();
  info.kernels = message.load().kernels();
  info.cache_bytes = message.load().cache_bytes();
  info.cache_hits = message.load().cache_hits();
  info.cache_misses = message.load().cache_misses();
  info.cache_evictions = message.load().cache_evictions();
  info.tier_switches = message.load().tier_switches();
  info.failed_tier_switches = message.load().failed_tier_switches();
  info.disk_entries = message.load().disk_entries();
  info.disk_bytes = message.load().disk_bytes();
  info.disk_hits = message.load().disk_hits();
  info.disk_misses = message.load().disk_misses();
  info.disk_damaged = message.load().disk_damaged();
  info.disk_evictions = message.load().disk_evictions();
  info.disk_failed_writes = message.load().disk_failed_writes();
  info.uptime_seconds = message.uptime_seconds();
  return info;
}

}  // namespace pullback::client
