#include "server/convert.h"

#include <utility>

#include "proto/values.h"
#include "server/errors.h"

namespace pullback::server {
namespace {

using NamedValues = google::protobuf::RepeatedPtrField<v1::NamedValue>;

// Transform's numbers are the protocol's.
static_assert(static_cast<int>(jit::Transform::kValue) == v1::TRANSFORM_VALUE);
static_assert(static_cast<int>(jit::Transform::kValueAndGrad) == v1::TRANSFORM_VALUE_AND_GRAD);
static_assert(static_cast<int>(jit::Transform::kVjp) == v1::TRANSFORM_VJP);
static_assert(static_cast<int>(jit::Transform::kJvp) == v1::TRANSFORM_JVP);
static_assert(static_cast<int>(jit::Transform::kHvp) == v1::TRANSFORM_HVP);
static_assert(static_cast<int>(jit::Transform::kJacobian) == v1::TRANSFORM_JACOBIAN);
static_assert(static_cast<int>(jit::Transform::kHessian) == v1::TRANSFORM_HESSIAN);

// Where values of a list belong: by name, or by position.
struct Slots {
  const char* list;  // "arguments", "seeds"
  std::vector<const std::string*> names;

  std::string Path(int i) const { return std::string(list) + "[" + std::to_string(i) + "]"; }
};

std::string Quoted(const Slots& slots) {
  std::string text;
  for (const std::string* name : slots.names) text += (text.empty() ? "'" : ", '") + *name + "'";
  return text.empty() ? "none" : text;
}

Status DecodeInto(const Slots& slots, const v1::NamedValue& item, int i, ApiValue* slot) {
  auto fault = wire::DecodeValue(item.value(), slot);
  return fault ? FieldFault(slots.Path(i) + ".value", *fault) : Status();
}

StatusOr<size_t> FindSlot(const Slots& slots, const v1::NamedValue& item, int i) {
  if (item.name().empty()) {
    return FieldFault(slots.Path(i) + ".name", "either all have names or none has",
                      "MISSING_ARGUMENT");
  }
  for (size_t slot = 0; slot < slots.names.size(); ++slot) {
    if (*slots.names[slot] == item.name()) return slot;
  }
  return FieldFault(slots.Path(i) + ".name",
                    "there is no '" + item.name() + "'; there are " + Quoted(slots),
                    "UNKNOWN_ARGUMENT");
}

StatusOr<std::vector<ApiValue>> ByPosition(const Slots& slots, const NamedValues& items) {
  std::vector<ApiValue> values(static_cast<size_t>(items.size()));
  if (values.size() != slots.names.size()) {
    const bool fewer = values.size() < slots.names.size();
    return FieldFault(slots.list,
                      "expected " + std::to_string(slots.names.size()) + " (" + Quoted(slots) +
                          "), got " + std::to_string(values.size()),
                      fewer ? "MISSING_ARGUMENT" : "UNKNOWN_ARGUMENT");
  }
  for (int i = 0; i < items.size(); ++i) {
    PB_RETURN_IF_ERROR(DecodeInto(slots, items[i], i, &values[static_cast<size_t>(i)]));
  }
  return values;
}

StatusOr<std::vector<ApiValue>> ByName(const Slots& slots, const NamedValues& items) {
  std::vector<ApiValue> values(slots.names.size());
  std::vector<bool> given(slots.names.size());
  for (int i = 0; i < items.size(); ++i) {
    PB_ASSIGN_OR_RETURN(const size_t slot, FindSlot(slots, items[i], i));
    if (given[slot]) {
      return FieldFault(slots.Path(i) + ".name", "'" + items[i].name() + "' is given twice",
                        "DUPLICATE_ARGUMENT");
    }
    given[slot] = true;
    PB_RETURN_IF_ERROR(DecodeInto(slots, items[i], i, &values[slot]));
  }
  for (size_t slot = 0; slot < given.size(); ++slot) {
    if (given[slot]) continue;
    return FieldFault(slots.list, "'" + *slots.names[slot] + "' is missing", "MISSING_ARGUMENT");
  }
  return values;
}

StatusOr<std::vector<ApiValue>> ToValues(const Slots& slots, const NamedValues& items) {
  const bool named = !items.empty() && !items[0].name().empty();
  if (named) return ByName(slots, items);
  for (int i = 1; i < items.size(); ++i) {
    if (items[i].name().empty()) continue;
    return FieldFault(slots.Path(i) + ".name", "either all have names or none has",
                      "UNKNOWN_ARGUMENT");
  }
  return ByPosition(slots, items);
}

// Whether the seeds stand for the parameters of wrt: how many there are is the engine's to check, which
// knows the transform.
StatusOr<std::vector<ApiValue>> ToSeeds(const NamedValues& items, const jit::TextView& view) {
  Slots slots{"seeds", {}};
  if (items.empty()) return std::vector<ApiValue>{};
  if (!items[0].name().empty()) {
    for (const std::string& name : view.wrt) slots.names.push_back(&name);
    return ByName(slots, items);
  }
  static const std::string kUnnamed;
  slots.names.assign(static_cast<size_t>(items.size()), &kUnnamed);
  return ToValues(slots, items);
}

}  // namespace

StatusOr<jit::KernelRequest> ToKernelRequest(const v1::KernelSpec& spec, ProgramTexts* texts) {
  if (spec.program().form_case() == v1::Program::FORM_NOT_SET) {
    return FieldFault("spec.program", "there is no program");
  }
  if (spec.entry().empty()) return FieldFault("spec.entry", "there is no entry function's name");
  if (spec.transform() < v1::TRANSFORM_VALUE || spec.transform() > v1::TRANSFORM_HESSIAN) {
    return FieldFault("spec.transform", "no such transform: " + std::to_string(spec.transform()));
  }
  const v1::CompileOptions& options = spec.options();
  if (options.has_opt_level() && options.opt_level() != 0 && options.opt_level() != 2) {
    return FieldFault("spec.options.opt_level", "0 or 2");
  }
  if (!v1::Tier_IsValid(options.tier())) {
    return FieldFault("spec.options.tier", "no such tier: " + std::to_string(options.tier()));
  }
  if (!v1::Mixed_IsValid(options.mixed())) {
    return FieldFault("spec.options.mixed", "no such mode: " + std::to_string(options.mixed()));
  }
  if (!v1::Contractions_IsValid(options.contractions())) {
    return FieldFault("spec.options.contractions",
                      "no such choice: " + std::to_string(options.contractions()));
  }
  if (!v1::ExecutionTarget_IsValid(options.target())) {
    return FieldFault("spec.options.target", "no such target: " + std::to_string(options.target()));
  }
  jit::KernelRequest request;
  PB_ASSIGN_OR_RETURN(request.program, texts->TextOf(spec.program()));
  request.written = spec.program().has_tables();
  request.entry = spec.entry();
  request.transform = static_cast<jit::Transform>(spec.transform());
  request.wrt.assign(spec.wrt().begin(), spec.wrt().end());
  request.sparse = spec.sparse();
  request.options.optimise = !options.no_optimise();
  if (options.has_opt_level()) request.options.opt_level = options.opt_level();
  request.options.tier = static_cast<jit::Tier>(options.tier());
  request.options.mixed = static_cast<ad::Mixed>(options.mixed());
  if (options.contractions() == v1::CONTRACTIONS_BLAS) {
    request.options.contractions = jit::Contractions::kBlas;
  }
  if (options.target() != v1::EXECUTION_TARGET_UNSPECIFIED) {
    request.options.target = static_cast<jit::Target>(options.target());
  }
  return request;
}

StatusOr<jit::Inputs> ToInputs(const v1::EvaluateRequest& request, const jit::TextView& view) {
  Slots slots{"arguments", {}};
  for (const lang::Parameter& p : view.signature.params) slots.names.push_back(&p.name);
  jit::Inputs inputs;
  PB_ASSIGN_OR_RETURN(inputs.args, ToValues(slots, request.arguments()));
  PB_ASSIGN_OR_RETURN(inputs.seeds, ToSeeds(request.seeds(), view));
  return inputs;
}

void ToMessage(const jit::TextView& view, v1::Signature* message) {
  message->set_entry(view.signature.entry);
  for (const lang::Parameter& p : view.signature.params) {
    v1::Parameter* parameter = message->add_parameters();
    parameter->set_name(p.name);
    wire::EncodeType(p.type, parameter->mutable_type());
  }
  wire::EncodeType(view.signature.result, message->mutable_result());
  for (const std::string& name : view.wrt) message->add_wrt(name);
  for (const ApiType& type : view.signature.structs) wire::EncodeType(type, message->add_structs());
}

void ToMessage(const std::vector<jit::Timing>& timings, v1::Timings* message) {
  for (const jit::Timing& timing : timings) {
    v1::StageTime* stage = message->add_stages();
    stage->set_stage(timing.stage);
    stage->set_seconds(timing.seconds);
  }
}

void ToMessage(const jit::Outputs& outputs, const jit::TextView& view,
               v1::EvaluateResponse* message) {
  wire::EncodeValue(outputs.value, message->mutable_value());
  // The tangent of the result belongs to no parameter. Beside a single wrt only the transform, which the
  // client knows, tells it from a gradient.
  const bool named = outputs.derivatives.size() == view.wrt.size();
  for (size_t i = 0; i < outputs.derivatives.size(); ++i) {
    v1::NamedValue* derivative = message->add_derivatives();
    if (named) derivative->set_name(view.wrt[i]);
    wire::EncodeValue(outputs.derivatives[i], derivative->mutable_value());
  }
  message->mutable_timings()->set_execute_seconds(outputs.execute_seconds);
  message->set_peak_bytes(outputs.peak_bytes);
  message->set_tier(static_cast<v1::Tier>(outputs.tier));
  message->set_target(static_cast<v1::ExecutionTarget>(outputs.target));
  message->set_contractions(outputs.contractions);
  message->set_contracted_by(outputs.contracted_by);
}

}  // namespace pullback::server
