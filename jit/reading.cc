#include "jit/reading.h"

#include <algorithm>

#include "jit/leaves.h"
#include "jit/list_types.h"
#include "jit/size_plan.h"

namespace pullback::jit {
namespace {

Status Invalid(const char* reason, std::string message) {
  return {Code::kInvalidArgument, reason, std::move(message)};
}

std::string ParameterNames(const lang::Signature& signature) {
  std::string names;
  for (const lang::Parameter& p : signature.params) names += (names.empty() ? "" : ", ") + p.name;
  return names.empty() ? "none" : names;
}

StatusOr<uint32_t> FindParameter(const lang::Signature& signature, const std::string& name) {
  for (uint32_t i = 0; i < signature.params.size(); ++i) {
    if (signature.params[i].name == name) return i;
  }
  return Invalid("UNKNOWN_ARGUMENT", "wrt: '" + signature.entry + "' has no parameter '" + name +
                                         "'; it has: " + ParameterNames(signature));
}

std::vector<uint32_t> AllWithFloats(const lang::Signature& signature) {
  std::vector<uint32_t> positions;
  for (uint32_t i = 0; i < signature.params.size(); ++i) {
    if (HoldsFloats(signature.params[i].type, signature.structs)) positions.push_back(i);
  }
  return positions;
}

StatusOr<std::vector<uint32_t>> ResolveWrt(const KernelRequest& request,
                                           const lang::Signature& signature) {
  std::vector<uint32_t> positions;
  if (request.transform == Transform::kValue) return positions;
  if (request.wrt.empty()) positions = AllWithFloats(signature);
  for (const std::string& name : request.wrt) {
    PB_ASSIGN_OR_RETURN(const uint32_t position, FindParameter(signature, name));
    if (std::count(positions.begin(), positions.end(), position) != 0) {
      return Invalid("DUPLICATE_ARGUMENT", "wrt: '" + name + "' is named twice");
    }
    if (!HoldsFloats(signature.params[position].type, signature.structs)) {
      return Invalid("NOT_DIFFERENTIABLE", "wrt: '" + name + "' holds no floats: it is " +
                                               signature.params[position].type.ToString());
    }
    positions.push_back(position);
  }
  if (!positions.empty()) return positions;
  return Invalid("NOT_DIFFERENTIABLE", "'" + signature.entry + "' takes no floats");
}

StatusOr<Reading> Read(const KernelRequest& request, const lang::Limits& limits,
                       Progress& progress) {
  Reading r;
  r.text = request.program;
  r.written = request.written;
  r.entry = request.entry;
  PB_ASSIGN_OR_RETURN(r.program, lang::Parse(request.program, limits));
  PB_RETURN_IF_ERROR(progress.Lap("parse"));
  PB_RETURN_IF_ERROR(lang::Check(r.program, limits));
  PB_RETURN_IF_ERROR(progress.Lap("check"));
  PB_ASSIGN_OR_RETURN(r.signature, lang::GetSignature(r.program, request.entry));
  PB_ASSIGN_OR_RETURN(r.derivation.wrt, ResolveWrt(request, r.signature));
  r.derivation.transform = request.transform;
  r.derivation.sparse = request.sparse;
  if (request.sparse && request.transform != Transform::kJacobian &&
      request.transform != Transform::kHessian) {
    return Invalid("INVALID_OPTION", "sparse is for jacobian and hessian, not for " +
                                         std::string(TransformName(request.transform)));
  }
  PB_ASSIGN_OR_RETURN(r.canonical, lang::Canonicalise(r.program, request.entry));
  PB_RETURN_IF_ERROR(progress.Lap("key"));
  return r;
}

}  // namespace

StatusOr<Reading> ReadProgram(const KernelRequest& request, const lang::Limits& limits,
                              Progress& progress) {
  return WhileWanted(progress.limits(), [&] { return Read(request, limits, progress); });
}

std::shared_ptr<const TextView> MakeView(Reading reading) {
  auto view = std::make_shared<TextView>();
  for (uint32_t position : reading.derivation.wrt) {
    view->wrt.push_back(reading.signature.params[position].name);
  }
  view->sizes = std::make_shared<const SizePlan>(std::move(reading.program), reading.entry);
  view->signature = std::move(reading.signature);
  view->lists = std::make_shared<const ListTypes>(view->signature);
  const std::vector<lang::Parameter>& params = view->signature.params;
  view->relations = std::any_of(params.begin(), params.end(),
                                [](const auto& p) { return HoldsRelation(p.type); });
  view->tensors =
      std::all_of(params.begin(), params.end(), [](const auto& p) { return IsTensor(p.type); }) &&
      IsTensor(view->signature.result);
  view->places = std::move(reading.canonical.places);
  view->text = std::move(reading.text);
  view->written = reading.written;
  return view;
}

size_t ViewBytes(const TextView& view) {
  size_t bytes = sizeof(TextView) + view.text.capacity() + view.sizes->bytes();
  for (const lang::Place& place : view.places) bytes += sizeof(place) + place.function.capacity();
  for (const lang::Parameter& p : view.signature.params) {
    bytes += sizeof(p) + LeafCount(p.type) * sizeof(ApiType);
  }
  for (const ApiType& structure : view.signature.structs) {
    bytes += LeafCount(structure) * sizeof(ApiType);
  }
  return bytes + LeafCount(view.signature.result) * sizeof(ApiType) + view.lists->bytes();
}

}  // namespace pullback::jit
