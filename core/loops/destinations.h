// Rows that are written where they go. A loop that copies the array that a statement makes into a part of
// another,
//
//   b0:  %row = each(k < %n) { … } gen [%k] of (%n): %v
//        jump b1(0, %y)
//   b1(%k, %a):  %more = lt %k, %n
//        br %more, b2, b3
//   b2:  %e = index %row[%k]
//        %b = update %a[%i, %k], %e
//        jump b1(add(%k, 1), %b)
//
// goes, and the statement stores its elements into %y, which is %a from there on. It may read %y: elements
// that the row does not take, and each element where the row takes it.
//
// What is stored is what the copy would store, and traps come in the same order: the row's reads are checked
// before the nest, then the place in %y. So rows are left alone whose bodies call, divide integers, or read
// at subscripts that are data.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "core/ir/ir.h"

namespace pullback::loops {

// Where a statement's result stores its elements: into EachResult::into, whose other elements stay.
struct Destination {
  std::vector<ir::Affine> subs;  // of the element, over what the statement knows
  ir::Value index;  // the index variable in one of them, alone; it runs through `extent`
  ir::Value extent;
  uint32_t loc = 0;  // of the subscript
};
// By the statement's result.
using Destinations = std::map<ir::Value, Destination>;

struct WithDestinations {
  ir::Function function;
  Destinations destinations;
};
// The function without such loops; nullopt: it has none.
std::optional<WithDestinations> PassDestinations(const ir::Function& f);

}  // namespace pullback::loops
