#include "core/pipeline/pipeline.h"

#include <algorithm>
#include <utility>

#include "core/ad/adjoint.h"
#include "core/ad/forward_gradient.h"
#include "core/ad/operators.h"
#include "core/ad/seeded_blocks.h"
#include "core/ad/seeded_jacobian.h"
#include "core/ad/sparse_jacobian.h"
#include "core/ad/tangent.h"
#include "core/ir/jacobian.h"
#include "core/opt/simplify.h"
#include "core/pipeline/pass.h"
#include "core/pipeline/seeded_operators.h"
#include "core/pipeline/sparse_library.h"
#include "core/pipeline/steps.h"
#include "core/pipeline/tangent_sizes.h"
#include "core/tensor/normalise.h"

namespace pullback::pipeline {
namespace {

Status BuildDerivative(ir::Module& m, Transform transform, const std::vector<bool>& wrt,
                       ad::Mixed mixed) {
  PB_RETURN_IF_ERROR(ad::CheckDerivable(m, m.entry));
  const uint32_t primal = m.entry;
  StatusOr<uint32_t> made = m.entry;
  if (transform == Transform::kValueAndGrad) {
    made = ad::BuildCheaperGradient(m, m.entry, wrt, ad::Seed::kOne, mixed);
  } else if (transform == Transform::kVjp) {
    made = ad::BuildGradient(m, m.entry, wrt, ad::Seed::kParams, mixed);
  } else if (transform == Transform::kJvp) {
    made = ad::Tangents(m).FilledJvp(m.entry, wrt);
  } else if (transform == Transform::kHvp) {
    made = ir::AddHessianProduct(m, m.entry, wrt);
  } else if (transform == Transform::kJacobian) {
    made = ir::AddJacobian(m, m.entry, wrt);
  } else if (transform == Transform::kHessian) {
    made = ir::AddHessian(m, m.entry, wrt);
  }
  if (!made.ok()) return made.status();
  m.entry = *made;
  if (transform == Transform::kJvp || transform == Transform::kHvp)
    CheckTangentSizes(m, primal, wrt);
  return {};
}

bool IsFloatScalar(const std::vector<ir::Type>& results) {
  return results.size() == 1 && results[0].IsScalar() && results[0].IsFloat();
}

constexpr uint32_t kEntry = 1;  // ordinal of the entry's name

// Blocks and seeds of these transforms are floats and arrays of them.
Status CheckNoLists(const ir::Module& m, Transform transform, const std::vector<ir::Type>& types,
                    const char* side) {
  for (ir::Type t : types) {
    if (!t.HasRecord()) continue;
    return UnimplementedAt(std::string(TransformName(transform)) + side + ToString(t, m) +
                               ": derivatives with lists come from value_and_grad, vjp and jvp",
                           kEntry);
  }
  return {};
}

// The blocks of a matrix of derivatives are arrays: with so many axes.
Status CheckBlocks(Transform transform, const std::vector<ir::Type>& rows,
                   const std::vector<ir::Type>& columns) {
  for (ir::Type r : rows) {
    for (ir::Type c : columns) {
      if (r.rank + c.rank <= ir::kMaxBlockRank) continue;
      const char* rows_of = transform == Transform::kJacobian ? "the result" : "a parameter";
      return UnimplementedAt(std::string(TransformName(transform)) + ": a block of " +
                                 std::to_string(r.rank + c.rank) + " axes, " +
                                 std::to_string(r.rank) + " of " + rows_of + " and " +
                                 std::to_string(c.rank) + " of a parameter; an array has at most " +
                                 std::to_string(ir::kMaxBlockRank),
                             kEntry);
    }
  }
  return {};
}

// What a transform needs of the entry.
Status CheckTransform(const ir::Module& m, Transform transform, const std::vector<bool>& wrt) {
  const ir::Function& f = m.Get(m.entry);
  std::vector<ir::Type> columns;
  for (size_t k = 0; k < f.params().size(); ++k) {
    const ir::Type t = f.TypeOf(f.params()[k]);
    if (wrt[k] && ir::CarriesTangent(m, t)) columns.push_back(t);
  }
  const bool hessian = transform == Transform::kHvp || transform == Transform::kHessian;
  if ((hessian || transform == Transform::kValueAndGrad) && !IsFloatScalar(f.results)) {
    return {Code::kInvalidArgument, "NOT_SCALAR",
            std::string(TransformName(transform)) +
                " needs an entry that returns one f64 or f32; use " +
                (hessian ? "jacobian" : "vjp or jvp") + " for others"};
  }
  if (!hessian && transform != Transform::kJacobian) return {};
  PB_RETURN_IF_ERROR(CheckNoLists(m, transform, columns, " by "));
  if (transform == Transform::kHvp) return {};  // no matrix is made
  std::vector<ir::Type> rows = columns;
  if (transform == Transform::kJacobian) rows = ir::TangentTypes(m, f.results);
  PB_RETURN_IF_ERROR(CheckNoLists(m, transform, rows, " of "));
  return CheckBlocks(transform, rows, columns);
}

// From the derived module on. `derived`: there may be calls to inline. `rounds` of normalising and fusing:
// each eliminates what the one before has uncovered.
Status Finish(PassRunner& passes, ir::Module m, bool derived, bool optimise, int rounds,
              Staged& out) {
  const bool barriers = opt::HasBarriers(m);
  const bool inline_again = derived || barriers;
  if (optimise && barriers) {
    PB_RETURN_IF_ERROR(passes.Simplify(m));
    PB_RETURN_IF_ERROR(passes.Run("loop_tail_calls", m, opt::LoopTailCalls));
  }
  PB_RETURN_IF_ERROR(passes.Run("remove_markers", m, opt::RemoveMarkers));
  if (optimise && inline_again) PB_RETURN_IF_ERROR(InlineAndSimplify(passes, m));
  out.adjoint = std::move(m);
  m = out.adjoint.Clone();  // the passes to come walk over what lies together
  if (optimise) {
    PB_RETURN_IF_ERROR(NormaliseAndFuse(passes, m, rounds));
    // What a value and a matrix of derivatives both need is made for each of them.
    PB_RETURN_IF_ERROR(ShareStatements(passes, m));
    PB_RETURN_IF_ERROR(passes.Run("scan_by_keys", m, [&](ir::Module& x) {
      return tensor::ScanByKeys(x) ? opt::Simplify(x, passes.rules()) : Status();
    }));
    if (derived) PB_RETURN_IF_ERROR(FactorSeeds(passes, m));
    if (derived) PB_RETURN_IF_ERROR(RowsAsMade(passes, m));
    PB_RETURN_IF_ERROR(RaiseReaders(passes, m));
    PB_RETURN_IF_ERROR(CommonRows(passes, m));
    PB_RETURN_IF_ERROR(TurnArrays(passes, m));
    PB_RETURN_IF_ERROR(ShareStatements(passes, m));  // what has come to one order of indices
  }
  PB_RETURN_IF_ERROR(passes.Run("lower_strong_multiplies", m, opt::LowerStrongMultiplies));
  if (optimise) {
    PB_RETURN_IF_ERROR(passes.Run("inline_bodies", m, [&](ir::Module& x) {
      opt::InlineBodies(x, passes.rules());
      return Status();
    }));
    PB_RETURN_IF_ERROR(passes.Simplify(m));
    PB_RETURN_IF_ERROR(KeepFewer(passes, m));
    PB_RETURN_IF_ERROR(ImproveLoops(passes, m, true));
  }
  // Without the others, too: what is added element by element is, in the order of the text.
  PB_RETURN_IF_ERROR(passes.Run("accumulate_in_place", m, [&](ir::Module& x) {
    for (auto& f : x.functions) {
      // Sums that the program writes keep their order.
      if (derived && optimise) tensor::AddUpScatters(*f);
      tensor::AccumulateInPlace(*f);
    }
    return Status();
  }));
  out.final = std::move(m);
  return {};
}

// Which results of f make the rows; of a Hessian, f gives the value and its gradient.
ad::JacobianRows RowsOf(const ir::Function& f, Transform transform) {
  ad::JacobianRows rows{std::vector<bool>(f.results.size(), transform == Transform::kJacobian), {}};
  for (ir::Type t : f.results) rows.differentiated.push_back(t.IsFloat());
  if (transform == Transform::kHessian) {
    rows.given[0] = true;
    rows.differentiated[0] = false;
  }
  return rows;
}

Status BuildGradientOfHessian(PassRunner& passes, ir::Module& m, const std::vector<bool>& wrt) {
  PB_RETURN_IF_ERROR(passes.Run("gradient", m, [&](ir::Module& x) {
    return BuildDerivative(x, Transform::kValueAndGrad, wrt, passes.mixed());
  }));
  return InlineAndSimplify(passes, m);
}

// A Jacobian or a Hessian with blocks as lists of elements.
Status DeriveSparse(PassRunner& passes, ir::Module& m, Transform transform,
                    const std::vector<bool>& wrt) {
  PB_RETURN_IF_ERROR(ad::CheckDerivable(m, m.entry));
  const bool hessian = transform == Transform::kHessian;
  if (hessian) PB_RETURN_IF_ERROR(BuildGradientOfHessian(passes, m, wrt));
  return passes.Run("sparse_jacobian", m, [&](ir::Module& x) {
    const ad::SparseFunctions functions = AddSparseLibrary(x);
    const ad::JacobianRows rows = RowsOf(x.Get(x.entry), transform);
    x.entry = ad::AddSparseJacobian(x, x.entry, wrt, rows, hessian, functions);
    return Status();
  });
}

// A Jacobian or a Hessian with all seeds at once, where the code is straight and every block comes out as
// one statement; false, and `out` as it was, elsewhere.
StatusOr<bool> DeriveSeeded(PassRunner& passes, ir::Module m, Transform transform,
                            const std::vector<bool>& wrt, Staged& out) {
  if (transform == Transform::kHessian) PB_RETURN_IF_ERROR(BuildGradientOfHessian(passes, m, wrt));
  const ad::JacobianRows rows = RowsOf(m.Get(m.entry), transform);
  std::optional<ad::SeededJacobian> made;
  PB_RETURN_IF_ERROR(passes.Bounded([&]() -> Status {
    PB_ASSIGN_OR_RETURN(made, ad::SeedJacobian(m, m.entry, wrt, rows));
    return {};
  }));
  if (!made) return false;
  m.entry = made->function;
  Staged staged;
  PB_RETURN_IF_ERROR(Finish(passes, std::move(m), true, true, kSeededRounds, staged));
  if (!IsCompact(staged.final, made->seeded)) return false;
  out.adjoint = std::move(staged.adjoint);
  out.final = std::move(staged.final);
  return true;
}

// With many seeds at once, chunk by chunk; false, and `out` as it was, where one seed after the other is run.
StatusOr<bool> DeriveInChunks(PassRunner& passes, ir::Module m, Transform transform,
                              const std::vector<bool>& wrt, Staged& out) {
  const bool hessian = transform == Transform::kHessian;
  if (hessian) PB_RETURN_IF_ERROR(BuildGradientOfHessian(passes, m, wrt));
  const ad::JacobianRows rows = RowsOf(m.Get(m.entry), transform);
  std::optional<uint32_t> made;
  PB_RETURN_IF_ERROR(passes.Bounded([&]() -> Status {
    PB_ASSIGN_OR_RETURN(made, ad::SeedInChunks(m, m.entry, wrt, rows, hessian));
    return {};
  }));
  if (!made) return false;
  PB_RETURN_IF_ERROR(passes.Run("seed_in_chunks", m, [&](ir::Module& x) {
    x.entry = *made;
    return Status();
  }));
  PB_RETURN_IF_ERROR(DeriveOperators(passes, m, true));
  PB_RETURN_IF_ERROR(Finish(passes, std::move(m), true, true, 1, out));
  return true;
}

}  // namespace

const char* const kPassesVersion = "168";

const char* TransformName(Transform t) {
  switch (t) {
    case Transform::kValue: return "value";
    case Transform::kValueAndGrad: return "value_and_grad";
    case Transform::kVjp: return "vjp";
    case Transform::kJvp: return "jvp";
    case Transform::kHvp: return "hvp";
    case Transform::kJacobian: return "jacobian";
    case Transform::kHessian: return "hessian";
  }
  return "";
}

StatusOr<Staged> Derive(const ir::Module& ssa, Transform transform, const std::vector<bool>& wrt,
                        const Options& options, std::vector<PassTiming>* timings,
                        const Observer& observer) {
  PB_RETURN_IF_ERROR(CheckTransform(ssa, transform, wrt));
  const bool matrix = transform == Transform::kJacobian || transform == Transform::kHessian;
  PassRunner passes(timings, observer, options);
  Staged out;
  ir::Module m = ssa.Clone();
  PB_RETURN_IF_ERROR(passes.Run("thread_boxes", m, opt::ThreadBoxes));
  if (options.optimise) {
    PB_RETURN_IF_ERROR(SeedOperators(passes, m, transform != Transform::kValue));
    PB_RETURN_IF_ERROR(InlineAndSimplify(passes, m));
    PB_RETURN_IF_ERROR(PrepareLoops(passes, m));
  }
  PB_RETURN_IF_ERROR(DeriveOperators(passes, m, options.optimise));
  if (options.optimise) {
    PB_RETURN_IF_ERROR(SplitConcats(passes, m));
    PB_RETURN_IF_ERROR(passes.Fuse("fuse_free", m, true));
    PB_RETURN_IF_ERROR(MakeLess(passes, m));
    // Patterns of matrices of derivatives are found in what data say alone.
    if (!matrix) PB_RETURN_IF_ERROR(RowsAtPoints(passes, m));
    PB_RETURN_IF_ERROR(TurnArrays(passes, m));
    if (transform != Transform::kValue) PB_RETURN_IF_ERROR(MoveInvariants(passes, m));
    PB_RETURN_IF_ERROR(SinkStatements(passes, m));
    if (!matrix) PB_RETURN_IF_ERROR(BlockTurns(passes, m));
  }
  out.ssa = std::move(m);
  m = out.ssa.Clone();
  const bool sparse = matrix && options.sparse;
  if (matrix && options.optimise && !sparse) {
    const opt::RuleCounts before = passes.counts();
    for (const auto derive : {DeriveSeeded, DeriveInChunks}) {
      PB_ASSIGN_OR_RETURN(const bool done, derive(passes, m.Clone(), transform, wrt, out));
      if (done) {
        out.rules = passes.counts();
        return out;
      }
      passes.counts() = before;
    }
  }
  if (sparse) {
    PB_RETURN_IF_ERROR(DeriveSparse(passes, m, transform, wrt));
  } else if (transform != Transform::kValue) {
    PB_RETURN_IF_ERROR(passes.Run(TransformName(transform), m, [&](ir::Module& x) {
      return BuildDerivative(x, transform, wrt, passes.mixed());
    }));
  }
  if (transform != Transform::kValue) {
    PB_RETURN_IF_ERROR(DeriveOperators(passes, m, options.optimise));
  }
  PB_RETURN_IF_ERROR(
      Finish(passes, std::move(m), transform != Transform::kValue, options.optimise, 1, out));
  out.rules = passes.counts();
  return out;
}

StatusOr<std::vector<bool>> FoundPatterns(const ir::Module& ssa, Transform transform,
                                          const std::vector<bool>& wrt) {
  const Observer none;
  PassRunner passes(nullptr, none);
  ir::Module m = ssa.Clone();
  if (transform == Transform::kHessian) PB_RETURN_IF_ERROR(BuildGradientOfHessian(passes, m, wrt));
  const ad::JacobianRows rows = RowsOf(m.Get(m.entry), transform);
  const uint32_t entry = m.entry;
  const ad::SparseFunctions functions = AddSparseLibrary(m);
  return ad::FoundPatterns(std::move(m), entry, wrt, rows, functions);
}

StatusOr<ad::SymbolicPatterns> FindSymbolicPatterns(const ir::Module& ssa, Transform transform,
                                                    const std::vector<bool>& wrt) {
  const Observer none;
  PassRunner passes(nullptr, none);
  ir::Module m = ssa.Clone();
  if (transform == Transform::kHessian) PB_RETURN_IF_ERROR(BuildGradientOfHessian(passes, m, wrt));
  return ad::FindSymbolicPatterns(m, m.entry, wrt, RowsOf(m.Get(m.entry), transform));
}

}  // namespace pullback::pipeline
