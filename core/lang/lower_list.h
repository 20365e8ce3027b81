// Lists and boxes: they stand in blocks alone, so that a body that needs them becomes a loop.
#pragma once

#include "core/lang/lower_context.h"

namespace pullback::lang {

// xs[i], where xs is a list.
inline bool IsListElement(const Expr& e) {
  return e.kind == Expr::Kind::kIndex && e.operands[0]->type.kind == Type::Kind::kList;
}
std::optional<Leaves> LowerListElement(Context& c, const Expr& e);
std::optional<Affine> LowerListLength(Context& c, const Expr& list);
// list, repeat, push, pop, last, box, get, set.
std::optional<Leaves> LowerListCall(Context& c, const Expr& e);

// --- lower_dynamic.cc: functions whose code is known at run time, as lists of one record
std::optional<Leaves> LowerDynamic(Context& c, const Expr& e);

// Block mode: fields of a record as a value's leaves, and back.
Leaves LeavesOf(Context& c, const std::vector<Value>& fields);
std::vector<Value> ValuesOf(Context& c, const Leaves& leaves);
// In place of a value that was taken out: an array with all extents 0, the empty list; any other value
// stays.
Value Nothing(Context& c, Value v);

}  // namespace pullback::lang
