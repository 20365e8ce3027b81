// Expressions. In block mode none of these bails.
#pragma once

#include "core/lang/lower_context.h"

namespace pullback::lang {

// A value of any type; arrays may be computed lazily.
std::optional<Leaves> Lower(Context& c, const Expr& e);
// Block mode: arrays stand in memory.
Leaves LowerStored(Context& c, const Expr& e);
// An expression of scalar type.
MaybeValue LowerScalar(Context& c, const Expr& e);
// An i64 expression as an affine form; what is not affine in it is computed as a value.
std::optional<Affine> LowerInt(Context& c, const Expr& e);
// The same without writing any code: nullopt unless it is affine as it stands.
std::optional<Affine> AffineAsIs(const Context& c, const Expr& e);
// One scalar operation of the source, on operands that are there.
Value Arithmetic(Context& c, BinaryOp op, Value a, Value b);
Value UnaryScalar(Context& c, UnaryOp op, Value v);
Value Literal(Context& c, const Expr& e);
bool IsLiteral(const Expr& e);
Op ScalarOp(int builtin);

// --- lower_calls.cc
std::optional<Leaves> LowerCall(Context& c, const Expr& e);
std::optional<Leaves> LowerStructural(Context& c, const Expr& e);  // select, len, dim, zeros, ...
// Calls a function with these arguments; in a body, inlines it when they are arrays.
std::optional<Leaves> CallFunction(Context& c, uint32_t callee, Leaves args, uint32_t loc);
// Body mode: what `lower` gives in a run of the function's text with these arguments.
std::optional<Leaves> InActivation(Context& c, uint32_t callee, const Leaves& args,
                                   const std::function<std::optional<Leaves>()>& lower);
// Body mode: the function's lets and what it returns, with these arguments.
std::optional<Leaves> InlineCall(Context& c, uint32_t callee, const Leaves& args);
// The function is lets, conditions and results, so that a body may have its text.
bool MayInline(const Function& f);
// All of the function's parameters and results are scalars, so that a body may call it.
bool IsScalarFunction(const Function& f);

// --- lower_call_sizes.cc, under dims_only
// What a call gives, as far as its sizes are known.
Leaves SizesOfCall(Context& c, uint32_t callee, const Leaves& args);
// The same of a derivative, or of a call that is computed again.
std::optional<Leaves> SizesOfDerive(Context& c, const Expr& e);

// --- lower_condition.cc
MaybeValue LowerLogic(Context& c, const Expr& e);  // and, or
std::optional<Leaves> LowerIfExpression(Context& c, const Expr& e);
// Body mode: what `yes` gives where the condition holds, `no` elsewhere, each under that as a guard.
std::optional<Leaves> ChooseByGuard(Context& c, const Expr& condition,
                                    const std::function<std::optional<Leaves>()>& yes,
                                    const std::function<std::optional<Leaves>()>& no);
Leaves LowerBlockValue(Context& c, const Block& block);  // block mode
// Block mode: goes to `if_true` or `if_false` (blocks without parameters).
void LowerBranch(Context& c, const Expr& e, uint32_t if_true, uint32_t if_false);
// Whether evaluating `e` twice or in vain costs next to nothing, and cannot trap.
bool IsTrivial(const Expr& e);
// A scalar expression of arithmetic and comparisons that cannot trap.
bool IsPureScalar(const Expr& e);

// --- lower_returns.cc
// The function is lets and ifs all of whose arms return, some, and a return.
bool ReturnsByConditions(const Function& f);
// Body mode: what such a function gives, of which c.at is a run.
std::optional<Leaves> LowerReturned(Context& c);

// --- lower_chain.cc
// A product with an Iverson bracket among its factors, through unary minus and dividends.
bool IsChain(const Expr& e);
// a / b, which is a chain where a is one: whatever b is, it guards nothing but itself.
bool IsQuotient(const Expr& e);
// What `if p { … } else { 0 }` is where p holds, as under a bracket; nullptr: it is something else.
const Block* OnlyWhere(const Expr& e);
MaybeValue LowerChain(Context& c, const Expr& e);
// The predicates of the factors that are brackets, split at `and`, in order; not those in divisors.
void CollectBrackets(const Context& c, const Expr& e, std::vector<const Expr*>& predicates);
// The operands of `and`s, in order; of an `or`, where one case is chosen, what holds there.
void CollectConjuncts(const Context& c, const Expr& e, std::vector<const Expr*>& predicates);
// Whether all of them hold; each is evaluated only where those before it do.
MaybeValue LowerConjunction(Context& c, const std::vector<const Expr*>& predicates);
// Block mode: where control is when all hold; and `no`, a new block, when not.
void BranchOnAll(Context& c, const std::vector<const Expr*>& predicates, uint32_t no);
// The chain without its brackets; nothing is left: kNoValue.
MaybeValue LowerRest(Context& c, const Expr& e);

// --- guards (body mode)
// Adds a predicate to the guard in force.
bool AddGuard(Context& c, const Expr& predicate);
void AddGuard(Context& c, Value predicate);
// The same of what `lower` gives where the guard in force holds.
bool AddGuardOf(Context& c, const std::function<MaybeValue()>& lower);
// A predicate as a bool: one `holds` where it is affine.
MaybeValue PredicateValue(Context& c, const Expr& predicate);
// The guard as a bool of the innermost frame.
Value GuardValue(Context& c);
// Comparisons of small affine forms joined by `and`, as constraints; nullopt when it is more.
std::optional<std::vector<Constraint>> AffinePredicate(Context& c, const Expr& e);

// What is appended to the innermost frame while this lives is evaluated only where the context's
// guard (whose value must have been made) holds; the guard goes back to `outer` when it dies.
class GuardedRegion {
 public:
  GuardedRegion(Context& c, Guard outer);
  ~GuardedRegion();
  GuardedRegion(const GuardedRegion&) = delete;
  GuardedRegion& operator=(const GuardedRegion&) = delete;

 private:
  Context& c_;
  Guard outer_;
};
// Gives the instructions of open regions their guards.
void ApplyGuards(Context& c);
// `v`, made in a region guarded by `guard`, with 0 where that is false.
Value ZeroElsewhere(Context& c, Value v, Value guard);

}  // namespace pullback::lang
