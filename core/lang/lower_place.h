// Structs, and places in values. A struct is its fields, one after the other.
#pragma once

#include "core/lang/lower_context.h"

namespace pullback::lang {

std::optional<Leaves> LowerConstruct(Context& c, const Expr& e);
std::optional<Leaves> LowerWith(Context& c, const Expr& e);

// The subscripts that end a path; none where it ends with a field. Block mode.
Subs LowerPathSubscripts(Context& c, const std::vector<Access>& path);
// The array that the last step's subscripts speak of, among a value's leaves.
Leaf& ArrayAt(const Type& base, const std::vector<Access>& path, Leaves& leaves);
// Replaces the part of a value of type `base` that the fields of `path` lead to. Sizes that a struct
// says are checked (the builder's loc names the place); false: a check that a body cannot make.
bool ReplaceField(Context& c, const Type& base, const std::vector<Access>& path, Leaves& leaves,
                  const Leaves& value);

}  // namespace pullback::lang
