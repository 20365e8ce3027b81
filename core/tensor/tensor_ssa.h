// Tensor SSA (Bernstein et al., section 5): the form that the adjoint rules 6.14-6.29 and the cost theorem
// 6.35 speak of. Each pass takes what the one before leaves; each keeps the program's values bit for bit and
// never raises its ATL cost (core/eval). It is for rules and proofs: contractions come apart into arrays over
// their whole space, so nothing runs in this form.
//
//   %y = each(i < %n, j < %m) {              LiftLets: %a, used twice and free of j, is a statement of its own
//     %a = mul %x[%i], %x[%i]                ToTensorSsa: then one op a statement
//     %t = mul %a, %w[%i, %j]
//   } sum [%i]: %t                           %a = each(i < %n) where (1 <= %m) { mul %x[%i], %x[%i] } gen [%i]
//                                            %t = each(i, j) { mul %a[%i], %w[%i, %j] } gen [%i, %j]
//                                            %y = each(i, j) { %t[%i, %j] } sum [%i]
//
// An *operand* costs nothing: a constant, a read, index arithmetic, a predicate, a cast or choice of such.
// An *op* is any other instruction of a body; calls are the algebra's black boxes.
#pragma once

#include "core/base/status.h"
#include "core/ir/ir.h"

namespace pullback::tensor {

// Each holds what stands before it as well.
enum class NormalForm : uint8_t {
  // Le: an op of a body has one reader there and needs every index of its statement; only then is the body
  // an expression without let. (An index that `where` cannot be solved for counts as needed.)
  kLetsLifted,
  // Oe: a statement has one result, or those of one black box; parameters and results of functions that hold
  // statements are scalars and arrays, so structs are arrays throughout.
  kPairsEliminated,
  // Ge: gens stand outermost and below them one predicate: no guard is under another guard, none is a
  // conjunction of affine ones, and no affine guard is left on a whole statement instead of in `where`.
  kGensPushedOut,
  // S, figure 10: a body is operands and at most one op, whose value a gen stores; every reduction is of an
  // operand (a unary contraction). No statement is a copy of an array.
  kTensorSsa,
  // In addition no two statements of a block are equal up to names, and equal bodies print equally: indices
  // and body values are named in order of occurrence, operands that commute and constraints are sorted.
  kCanonical
};

// INTERNAL, NOT_NORMAL: what breaks the form, and where.
Status VerifyNormalForm(const ir::Module& module, NormalForm form);

// 5.1-5.10. A temporary is computed where its readers need it (rule 5.9): where their predicate and its own
// guard hold, solved for the indices that it does not need (exists j: p).
void LiftLets(ir::Function& f);
// 5.11-5.20. Lowering has made structs of arrays; what is left are statements with several results.
void EliminatePairs(ir::Function& f);
// 5.22-5.24. (5.21, a read of a gen, is opt::FuseReads.)
void PushOutGens(ir::Function& f);
// 5.25-5.34.
void ToTensorSsa(ir::Function& f);
// let X0 = X1.
void RemoveCopies(ir::Function& f);
void NameCanonically(ir::Function& f);
// One statement for equal ones of a block.
void EliminateCommonStatements(ir::Function& f);

}  // namespace pullback::tensor
