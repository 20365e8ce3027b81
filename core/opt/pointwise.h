// Results of tensor statements whose elements are single points, and reads at them.
#pragma once

#include "core/ir/ir.h"

namespace pullback::opt {

// The index variable that a subscript is, up to what is added from outside; kNoValue: it is no such form.
ir::Value IndexOf(const ir::Each& each, const ir::Affine& a);

// Whether it names neither an index nor what the body gives.
bool IsOutside(const ir::Each& each, const ir::Affine& a);

// A `gen` each of whose elements is at most one point of the statement: every subscript is an index, and
// every index is one, some more than once (a diagonal); or a subscript is known outside, and
// `where` says that it is in range (a row, one element).
bool IsPointwise(const ir::Each& each, const ir::EachResult& r);

// Whether it puts what it reads at a place that is known outside (core/tensor/place_values.cc), or on a diagonal
// (core/tensor/compact.cc), and does nothing else: free, it becomes part of what reads its array.
bool OnlyPlaces(const ir::Each& each);

// Whether the statement visits an element that it reads there once at most: every index is a subscript, but for its
// sign and what is added from outside.
bool NamesEveryIndex(const ir::Each& each, ir::AffineSpan subs);

// Whether the body calls a function of the math table, which is fast over many numbers at once.
bool CallsMath(const ir::Each& each);

// Whether something that is read along the last index is part of a result's place: then a loop over it puts each number
// elsewhere, and takes one at a time.
bool PlacesByData(const ir::Each& each);

// Whether it makes another matrix turned, x[j, i] to [i, j], where a condition on what is known outside says that something
// reads it: as core/tensor/turn_arrays.cc does, for products that would go down columns.
bool IsTurnedCopy(const ir::Each& each);

}  // namespace pullback::opt
