#include "core/pipeline/proof.h"

#include <utility>

#include "core/ad/adjoint.h"
#include "core/ad/operators.h"
#include "core/ad/tangent.h"
#include "core/opt/simplify.h"
#include "core/pipeline/pass.h"
#include "core/tensor/normalise.h"
#include "core/tensor/tensor_ssa.h"

namespace pullback::pipeline {
namespace {

using tensor::NormalForm;

struct Step {
  const char* name;
  void (*pass)(ir::Function&);
  NormalForm form;
};

void PushOut(ir::Function& f) {
  opt::FuseReads(f, /*only_free=*/true);
  opt::EliminateDeadCode(f);
  // [i -> a]e may need fewer indices than x[a] did, and one of a pair fewer than both.
  for (int round = 0; round < 2; ++round) {
    tensor::LiftLets(f);
    tensor::EliminatePairs(f);
  }
  tensor::PushOutGens(f);
}

void ToSsa(ir::Function& f) {
  tensor::ToTensorSsa(f);
  tensor::RemoveCopies(f);
}

void Canonicalise(ir::Function& f) {
  tensor::NameCanonically(f);
  tensor::EliminateCommonStatements(f);
  tensor::NameCanonically(f);  // operands may be one now
  opt::EliminateDeadCode(f);
}

constexpr Step kSteps[] = {
    {"lift_lets", tensor::LiftLets, NormalForm::kLetsLifted},
    {"eliminate_pairs", tensor::EliminatePairs, NormalForm::kPairsEliminated},
    {"push_out_gens", PushOut, NormalForm::kGensPushedOut},
    {"tensor_ssa", ToSsa, NormalForm::kTensorSsa},
    {"canonical", Canonicalise, NormalForm::kCanonical},
};

// The algebra has scalars and arrays. A function without statements is none of its business.
Status CheckTypes(const ir::Module& m) {
  for (const auto& f : m.functions) {
    bool statements = false;
    for (const ir::Block& b : f->blocks) {
      for (const ir::Inst& inst : b.insts) statements |= inst.each != nullptr;
    }
    std::vector<ir::Type> types = f->results;
    for (ir::Value v : f->params()) types.push_back(f->TypeOf(v));
    for (const ir::Type& t : types) {
      if (!statements || t.IsScalar() || t.IsArray()) continue;
      return {Code::kUnimplemented, "UNIMPLEMENTED",
              "Tensor SSA of @" + f->name + ", which takes or gives " + ToString(t, m)};
    }
  }
  return {};
}

// Calls between functions of statements are no black boxes.
Status Flatten(PassRunner& passes, ir::Module& m) {
  PB_RETURN_IF_ERROR(passes.Run("thread_boxes", m, opt::ThreadBoxes));
  while (ad::HasOperators(m)) {
    PB_RETURN_IF_ERROR(
        passes.Run("derive_operators", m, [](ir::Module& x) { return ad::DeriveInnermost(x); }));
  }
  PB_RETURN_IF_ERROR(passes.Run("simplify", m, [](ir::Module& x) { return opt::Simplify(x); }));
  PB_RETURN_IF_ERROR(passes.Run("inline", m, [](ir::Module& x) { return opt::InlineCalls(x); }));
  return passes.Run("simplify", m, [](ir::Module& x) { return opt::Simplify(x); });
}

// What is derived, with predicates in lowest terms and without pinned indices; nothing is fused.
StatusOr<ir::Module> CleanUp(ir::Module m) {
  const Observer none;  // outlives the runner
  PassRunner passes(nullptr, none);
  while (ad::HasOperators(m)) {
    PB_RETURN_IF_ERROR(
        passes.Run("derive_operators", m, [](ir::Module& x) { return ad::DeriveInnermost(x); }));
  }
  const auto simplify = [](ir::Module& x) { return opt::Simplify(x); };
  PB_RETURN_IF_ERROR(passes.Run("inline", m, [](ir::Module& x) { return opt::InlineCalls(x); }));
  PB_RETURN_IF_ERROR(passes.Run("simplify", m, simplify));
  PB_RETURN_IF_ERROR(passes.Normalise(m));
  PB_RETURN_IF_ERROR(passes.Run("simplify", m, simplify));
  return m;
}

}  // namespace

StatusOr<ir::Module> NormaliseForProof(const ir::Module& ssa, const Observer& observer) {
  ir::Module m = ssa.Clone();
  PassRunner passes(nullptr, observer);
  PB_RETURN_IF_ERROR(Flatten(passes, m));
  PB_RETURN_IF_ERROR(CheckTypes(m));
  for (const Step& step : kSteps) {
    PB_RETURN_IF_ERROR(passes.Run(step.name, m, [&](ir::Module& x) {
      for (auto& f : x.functions) step.pass(*f);
      Status normal = tensor::VerifyNormalForm(x, step.form);
      if (normal.ok()) return normal;
      return Status(normal.code(), normal.reason(),
                    std::string(step.name) + ": " + normal.message());
    }));
  }
  return m;
}

StatusOr<ir::Module> AdjointForProof(const ir::Module& normal, const std::vector<bool>& wrt) {
  ir::Module m = normal.Clone();
  PB_RETURN_IF_ERROR(ad::CheckDerivable(m, m.entry));
  PB_ASSIGN_OR_RETURN(
      m.entry, ad::BuildGradient(m, m.entry, wrt, ad::Seed::kParams, ad::Mixed::kRecomputed));
  return CleanUp(std::move(m));
}

StatusOr<ir::Module> TangentForProof(const ir::Module& normal, const std::vector<bool>& wrt) {
  ir::Module m = normal.Clone();
  PB_RETURN_IF_ERROR(ad::CheckDerivable(m, m.entry));
  PB_ASSIGN_OR_RETURN(m.entry, ad::Tangents(m).FilledJvp(m.entry, wrt));
  return CleanUp(std::move(m));
}

}  // namespace pullback::pipeline
