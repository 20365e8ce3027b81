#include "server/convert.h"

#include <utility>

#include "proto/values.h"
#include "server/errors.h"

namespace pullback::server {
namespace {

// Transform's numbers are the protocol's.
static_assert(static_cast<int>(jit::Transform::kValue) == v1::TRANSFORM_VALUE);
static_assert(static_cast<int>(jit::Transform::kValueAndGrad) == v1::TRANSFORM_VALUE_AND_GRAD);
static_assert(static_cast<int>(jit::Transform::kVjp) == v1::TRANSFORM_VJP);
static_assert(static_cast<int>(jit::Transform::kJvp) == v1::TRANSFORM_JVP);
static_assert(static_cast<int>(jit::Transform::kHvp) == v1::TRANSFORM_HVP);
static_assert(static_cast<int>(jit::Transform::kJacobian) == v1::TRANSFORM_JACOBIAN);
static_assert(static_cast<int>(jit::Transform::kHessian) == v1::TRANSFORM_HESSIAN);

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
  for (const ApiValue& derivative : outputs.derivatives) {
    wire::EncodeValue(derivative, message->add_derivatives()->mutable_value());
  }
  ReportToMessage(outputs, view, message);
}

void ReportToMessage(const jit::RunReport& report, const jit::TextView& view,
                     v1::EvaluateResponse* message) {
  // The tangent of the result belongs to no parameter. Beside a single wrt only the transform, which the
  // client knows, tells it from a gradient.
  const size_t derivatives = static_cast<size_t>(message->derivatives_size());
  for (size_t i = 0; i < derivatives && derivatives == view.wrt.size(); ++i) {
    message->mutable_derivatives(static_cast<int>(i))->set_name(view.wrt[i]);
  }
  message->mutable_timings()->set_execute_seconds(report.execute_seconds);
  message->set_peak_bytes(report.peak_bytes);
  message->set_tier(static_cast<v1::Tier>(report.tier));
  message->set_target(static_cast<v1::ExecutionTarget>(report.target));
  message->set_contractions(report.contractions);
  if (!report.contracted_by.empty()) message->set_contracted_by(report.contracted_by);
}

std::string* ResponseSink::Begin(size_t number, DType dtype, std::span<const int64_t> shape) {
  if (number == 0) {
    return wire::BeginTensor(dtype, shape, message_->mutable_value()->mutable_tensor());
  }
  const int i = static_cast<int>(number) - 1;
  while (message_->derivatives_size() <= i) message_->add_derivatives();
  v1::Value* const value = message_->mutable_derivatives(i)->mutable_value();
  return wire::BeginTensor(dtype, shape, value->mutable_tensor());
}

}  // namespace pullback::server
