#include "jit/explain.h"

#include <algorithm>

#include "core/ir/printer.h"
#include "core/loops/lower.h"
#include "core/pipeline/proof.h"
#include "jit/cost.h"
#include "jit/make_kernel.h"
#include "jit/sparsity.h"

namespace pullback::jit {
namespace {

constexpr const char* kStages[] = {"ast", "ssa",  "adjoint", "normal",   "loops",     "llvm",
                                   "asm", "cost", "rules",   "sparsity", "tensor-ssa"};

// The program where every statement has one op; of a vjp or value_and_grad, its adjoint as well.
StatusOr<std::string> DescribeTensorSsa(const Reading& reading, const ir::Module& ssa) {
  PB_ASSIGN_OR_RETURN(const ir::Module normal, pipeline::NormaliseForProof(ssa));
  const pipeline::Transform transform = reading.derivation.transform;
  if (transform != pipeline::Transform::kVjp && transform != pipeline::Transform::kValueAndGrad)
    return ir::Print(normal);
  PB_ASSIGN_OR_RETURN(
      const ir::Module adjoint,
      pipeline::AdjointForProof(normal, WrtLeaves(reading.signature, reading.derivation)));
  return ir::Print(normal) + "\n# Its adjoint:\n" + ir::Print(adjoint);
}

// With inputs also how many seeds and elements there are.
StatusOr<std::string> ExplainSparsity(Reading reading, const Build& build,
                                      const lang::Limits& limits, const pipeline::Staged& staged,
                                      const Inputs* inputs, Progress& progress) {
  const Transform transform = reading.derivation.transform;
  const std::vector<bool> wrt = WrtLeaves(reading.signature, reading.derivation);
  PB_ASSIGN_OR_RETURN(std::string text, DescribeSparsity(staged, transform, wrt));
  if (inputs == nullptr) return text;
  Derivation sparse = reading.derivation;
  sparse.sparse = true;
  PB_ASSIGN_OR_RETURN(const pipeline::Staged made,
                      Stage(reading, sparse, build.passes, limits, progress));
  const size_t values = made.ssa.Get(made.ssa.entry).results.size();
  PB_ASSIGN_OR_RETURN(const std::vector<Tensor> results,
                      InterpretFinal(std::move(reading), made, *inputs));
  return DescribeSparsity(staged, transform, wrt, CountBlocks(results, values));
}

}  // namespace

Status CheckStage(const std::string& stage) {
  if (stage == "ptx" || stage.starts_with("ptx:")) return {};
  if (std::find(std::begin(kStages), std::end(kStages), stage) != std::end(kStages)) return {};
  std::string names;
  for (const char* name : kStages) names += (names.empty() ? "" : ", ") + std::string(name);
  names += ", ptx";
  return {Code::kNotFound, "UNKNOWN_STAGE", "no stage '" + stage + "'; there are: " + names};
}

namespace {

StatusOr<std::string> Explain(Reading reading, const Build& build, const lang::Limits& limits,
                              Backend& backend, const std::string& stage, const Inputs* inputs,
                              Progress& progress) {
  if (stage == "ast") return lang::DumpAst(reading.program, reading.entry);
  // The program before it is derived is the same whatever is asked of it, and can be shown where the
  // derivative cannot be built.
  Derivation derivation = stage == "ssa" ? Derivation() : reading.derivation;
  if (stage == "sparsity") derivation.sparse = false;  // a pattern is that of a block as one array
  PB_ASSIGN_OR_RETURN(const pipeline::Staged staged,
                      Stage(reading, derivation, build.passes, limits, progress));
  if (stage == "ssa") return ir::Print(staged.ssa);
  if (stage == "adjoint") return ir::Print(staged.adjoint);
  if (stage == "normal") return ir::Print(staged.final);
  if (stage == "rules") return ToString(staged.rules);
  if (stage == "tensor-ssa") return DescribeTensorSsa(reading, staged.ssa);
  if (stage == "cost") return DescribeCost(std::move(reading), staged, inputs);
  if (stage == "sparsity") {
    return ExplainSparsity(std::move(reading), build, limits, staged, inputs, progress);
  }
  PB_ASSIGN_OR_RETURN(const loops::Module loops,
                      loops::LowerToLoops(staged.final, LowerOptionsOf(build)));
  if (stage == "loops") return loops::Print(loops);
  return backend.Dump(loops, {build.opt_level}, stage);
}

}  // namespace

StatusOr<std::string> ExplainStage(Reading reading, const Build& build, const lang::Limits& limits,
                                   Backend& backend, const std::string& stage, const Inputs* inputs,
                                   Progress& progress) {
  return WhileWanted(progress.limits(), [&] {
    return Explain(std::move(reading), build, limits, backend, stage, inputs, progress);
  });
}

}  // namespace pullback::jit
