#include "core/pipeline/pipeline.h"

#include "core/ad/adjoint.h"
#include "core/ad/operators.h"
#include "core/ad/tangent.h"
#include "core/opt/simplify.h"
#include "core/pipeline/pass.h"
#include "core/tensor/normalise.h"

namespace pullback::pipeline {
namespace {

Status BuildDerivative(ir::Module& m, Transform transform, const std::vector<bool>& wrt) {
  PB_RETURN_IF_ERROR(ad::CheckDerivable(m, m.entry));
  StatusOr<uint32_t> made = m.entry;
  if (transform == Transform::kValueAndGrad) {
    made = ad::BuildGradient(m, m.entry, wrt, ad::Seed::kOne);
  } else if (transform == Transform::kVjp) {
    made = ad::BuildGradient(m, m.entry, wrt, ad::Seed::kParams);
  } else if (transform == Transform::kJvp) {
    made = ad::Tangents(m).FilledJvp(m.entry, wrt);
  }
  if (!made.ok()) return made.status();
  m.entry = *made;
  return {};
}

// value_and_grad needs exactly one result, a float scalar.
Status CheckTransform(const ir::Module& m, Transform transform) {
  const std::vector<ir::Type>& results = m.Get(m.entry).results;
  if (transform != Transform::kValueAndGrad) return {};
  if (results.size() == 1 && results[0].IsScalar() && results[0].IsFloat()) return {};
  return {Code::kInvalidArgument, "NOT_SCALAR",
          "value_and_grad needs an entry that returns one f64 or f32; use vjp or jvp for others"};
}

Status InlineAndSimplify(PassRunner& passes, ir::Module& m) {
  const auto simplify = [](ir::Module& x) { return opt::Simplify(x); };
  PB_RETURN_IF_ERROR(passes.Run("simplify", m, simplify));
  PB_RETURN_IF_ERROR(passes.Run("inline", m, [](ir::Module& x) { return opt::InlineCalls(x); }));
  return passes.Run("simplify", m, simplify);
}

}  // namespace

const char* const kPassesVersion = "5";

const char* TransformName(Transform t) {
  switch (t) {
    case Transform::kValue: return "value";
    case Transform::kValueAndGrad: return "value_and_grad";
    case Transform::kVjp: return "vjp";
    case Transform::kJvp: return "jvp";
  }
  return "";
}

StatusOr<Staged> Derive(const ir::Module& ssa, Transform transform, const std::vector<bool>& wrt,
                        const Options& options, std::vector<PassTiming>* timings,
                        const Observer& observer) {
  PB_RETURN_IF_ERROR(CheckTransform(ssa, transform));
  PassRunner passes(timings, observer);
  Staged out;
  ir::Module m = ssa.Clone();
  const auto simplify = [](ir::Module& x) { return opt::Simplify(x); };
  PB_RETURN_IF_ERROR(passes.Run("thread_boxes", m, opt::ThreadBoxes));
  if (options.optimise) PB_RETURN_IF_ERROR(InlineAndSimplify(passes, m));
  while (ad::HasOperators(m)) {  // one nesting level a round
    PB_RETURN_IF_ERROR(passes.Run("derive_operators", m, ad::DeriveInnermost));
    if (options.optimise) PB_RETURN_IF_ERROR(InlineAndSimplify(passes, m));
  }
  if (options.optimise) {
    PB_RETURN_IF_ERROR(
        passes.Run("fuse_free", m, [](ir::Module& x) { return opt::FuseStatements(x, true); }));
  }
  out.ssa = m.Clone();
  if (transform != Transform::kValue) {
    PB_RETURN_IF_ERROR(passes.Run(TransformName(transform), m, [&](ir::Module& x) {
      return BuildDerivative(x, transform, wrt);
    }));
  }
  const bool inline_again = transform != Transform::kValue || opt::HasBarriers(m);
  PB_RETURN_IF_ERROR(passes.Run("remove_markers", m, opt::RemoveMarkers));
  if (options.optimise && inline_again) PB_RETURN_IF_ERROR(InlineAndSimplify(passes, m));
  out.adjoint = m.Clone();
  if (options.optimise) {
    PB_RETURN_IF_ERROR(passes.Run("normalise", m, tensor::NormaliseTensors));
    PB_RETURN_IF_ERROR(passes.Run("simplify", m, simplify));
    PB_RETURN_IF_ERROR(
        passes.Run("fuse", m, [](ir::Module& x) { return opt::FuseStatements(x, false); }));
    PB_RETURN_IF_ERROR(passes.Run("normalise", m, tensor::NormaliseTensors));
    PB_RETURN_IF_ERROR(passes.Run("simplify", m, simplify));
  }
  PB_RETURN_IF_ERROR(passes.Run("lower_strong_multiplies", m, opt::LowerStrongMultiplies));
  if (options.optimise) PB_RETURN_IF_ERROR(passes.Run("simplify", m, simplify));
  out.final = std::move(m);
  return out;
}

}  // namespace pullback::pipeline
