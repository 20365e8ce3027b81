// Structs, and places in values. A struct is its fields, one after the other.
#pragma once

#include "core/lang/lower_context.h"

namespace pullback::lang {

std::optional<Leaves> LowerConstruct(Context& c, const Expr& e);
std::optional<Leaves> LowerWith(Context& c, const Expr& e);

// The part of an array that is assigned, axis by axis: an index, a slice, or an array of indices.
struct PartAxis {
  Affine lo;                 // or the index
  std::optional<Affine> hi;  // none: the axis' end
  int64_t step = 0;          // 0: no slice
  Value indices;
};
using Part = std::vector<PartAxis>;
// Whether the path ends with an element of an array, not of a list.
bool EndsInArray(const Type& base, const std::vector<Access>& path);

// What is put at the end of a path.
struct Change {
  std::vector<Subs> subs;  // by step; none where a step is a field, and of a region
  Part region;             // of the last step, where it is one
  Leaves value;
  bool adds = false;     // to elements of an array
  bool negates = false;  // what it adds
  uint32_t loc = 0;      // canonical ordinal: the place that traps name
};
// The subscripts of a path. Block mode.
Change LowerPath(Context& c, const std::vector<Access>& path);
// Changes the part of a value of type `base` that the path leads to. Sizes that a struct says are
// checked; false: a check that a body cannot make.
bool ChangePlace(Context& c, const Type& base, const std::vector<Access>& path, Leaves& leaves,
                 const Change& change);

// --- lower_region.cc
void ChangeRegion(Context& c, Leaf& array, const Change& change);

}  // namespace pullback::lang
