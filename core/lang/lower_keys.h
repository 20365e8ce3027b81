// Keys: arguments of relations that are read from data or computed from indices. Which expressions are keys, and
// the instructions that make one.
#pragma once

#include <unordered_set>
#include <vector>

#include "core/lang/lower_context.h"

namespace pullback::lang {

// An element x[…] of an array that has a name is surely in range.
bool IsInside(const Context& c, const Expr& e);
// Numbers, names and such elements, and + - * / % min max of them: cheap, and cannot trap wherever it is evaluated.
bool IsKey(Context& c, const Expr& e);
// The same, but that elements may be out of range, and divisors 0. Names may have no value yet.
bool LooksLikeKey(Context& c, const Expr& e);

// The instructions of bodies that make a value, in order.
struct KeyChain {
  std::vector<ir::Inst> insts;
  Value value;
};
// nullopt: one of them costs more than a key may. `guarded`: those that may trap keep their guards.
std::optional<KeyChain> ChainOf(Context& c, Value v, bool guarded);
// Whether one of them may trap, where indices that are read are in their ranges.
bool MayTrap(const Context& c, const KeyChain& chain);
// Whether one may where they are not: a tuple may have any.
bool IsBeyond(const Context& c, const KeyChain& chain);
// Makes the key -1, which is in no tuple, where one of them would trap. Gives where none would.
Value KeepInside(Context& c, KeyChain& chain);
// Makes the key -1 where `reached` or a guard does not hold; nothing traps there.
void TrapOnlyWhere(Context& c, KeyChain& chain, const std::vector<Constraint>& reached);
// Fresh names for what they define.
void Rename(Context& c, KeyChain& chain);
// The values in the block, by a statement of one point: only bodies have guards.
std::vector<Value> AtOnePoint(Context& c, const std::vector<ir::Inst>& insts,
                              const std::vector<Value>& values);

// Block mode: what LooksLikeKey, evaluated without a trap. Where there would be one, it is not `good` (kNoValue:
// there is none).
struct CheckedKey {
  Affine form;
  Value good;
};
CheckedKey LowerCheckedKey(Context& c, const Expr& e);

}  // namespace pullback::lang
