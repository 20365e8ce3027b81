// Structs, and places in values. A struct is its fields, one after the other.
#pragma once

#include "core/lang/lower_context.h"

namespace pullback::lang {

std::optional<Leaves> LowerConstruct(Context& c, const Expr& e);
std::optional<Leaves> LowerWith(Context& c, const Expr& e);

// The subscripts of a path, by step; none where a step is a field. Block mode.
std::vector<Subs> LowerPathSubscripts(Context& c, const std::vector<Access>& path);
// Whether the path ends with an element of an array, not of a list.
bool EndsInArray(const Type& base, const std::vector<Access>& path);

// What is put at the end of a path.
struct Change {
  std::vector<Subs> subs;  // by step
  Leaves value;
  bool adds = false;  // to an array's element
  uint32_t loc = 0;   // canonical ordinal: the place that traps name
};
// Changes the part of a value of type `base` that the path leads to. Sizes that a struct says are
// checked; false: a check that a body cannot make.
bool ChangePlace(Context& c, const Type& base, const std::vector<Access>& path, Leaves& leaves,
                 const Change& change);

}  // namespace pullback::lang
