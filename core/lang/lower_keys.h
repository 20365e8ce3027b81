// Keys: arguments of relations that are read from data or computed from indices. Which expressions are keys, and
// the instructions that make one.
#pragma once

#include <cstdint>
#include <unordered_set>
#include <vector>

#include "core/lang/lower_context.h"

namespace pullback::lang {

// --- lower_key_forms.cc
// An element x[…] of an array that has a name is surely in range.
bool IsInside(const Context& c, const Expr& e);
// Numbers, names, elements of arrays that have names, arithmetic, comparisons, casts, branches and calls of scalar
// functions: what is evaluated once for each point of the indices that it speaks of. It may trap. Names may have no
// value yet.
bool LooksLikeKey(Context& c, const Expr& e);
// The same, and what it calls gives a value: it traps only at elements and divisions, where that can be asked.
bool IsCheckable(Context& c, const Expr& e);
// The same, and it cannot trap wherever it is evaluated.
bool IsKey(Context& c, const Expr& e);
// A call of the function, whose parameters and result are scalars, gives a value soon: no loops, no recursion, nothing
// that traps.
bool SurelyReturns(ModuleContext& m, uint32_t function);

// --- lower_key_chain.cc
// The instructions of bodies that make a value, in order.
struct KeyChain {
  std::vector<ir::Inst> insts;
  Value value;
};
// nullopt: one of them may not be evaluated once more. `guarded`: those that may trap keep their guards, and so does
// the last.
std::optional<KeyChain> ChainOf(Context& c, Value v, bool guarded);
// Whether one of them may trap, where indices that are read are in their ranges.
bool MayTrap(Context& c, const KeyChain& chain);
// Whether one may where they are not: a tuple may have any.
bool IsBeyond(Context& c, const KeyChain& chain);
// Makes the key -1, which is in no tuple, where one of them would trap. Gives where none would: those under a guard
// would not where it is false.
Value KeepInside(Context& c, KeyChain& chain);
// An argument that would trap at a point, as a key: whatever the relation could tell goes with the point. (Data may
// have this value, too; it is in no tuple.)
inline constexpr int64_t kOpenKey = INT64_MIN;
// Makes the key kOpenKey where one of them would trap, elsewhere -1 where the last one's guard does not hold. False:
// whether one would cannot be asked.
bool KeepOpen(Context& c, KeyChain& chain);
// The same of a condition: kOpenKey where it holds, or would trap, elsewhere 0.
bool OpenWhere(Context& c, KeyChain& chain);
// Makes the key -1 where `reached` or the last one's guard does not hold; nothing traps there.
void TrapOnlyWhere(Context& c, KeyChain& chain, const std::vector<Constraint>& reached);
// Fresh names for what they define.
void Rename(Context& c, KeyChain& chain);
// The values in the block, by a statement of one point: only bodies have guards.
std::vector<Value> AtOnePoint(Context& c, const std::vector<ir::Inst>& insts,
                              const std::vector<Value>& values);

// Block mode: what IsCheckable, evaluated without a trap. Where there would be one, it is not `good` (kNoValue:
// there is none).
struct CheckedKey {
  Affine form;
  Value good;
};
CheckedKey LowerCheckedKey(Context& c, const Expr& e);

}  // namespace pullback::lang
