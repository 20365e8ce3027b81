// Results of tensor statements whose elements are single points.
#pragma once

#include "core/ir/ir.h"

namespace pullback::opt {

// The index variable that a subscript is, up to what is added from outside; kNoValue: it is no such form.
ir::Value IndexOf(const ir::Each& each, const ir::Affine& a);

// A `gen` each of whose elements is at most one point of the statement: every subscript is an index, and
// every index is one, some more than once (a diagonal).
bool IsPointwise(const ir::Each& each, const ir::EachResult& r);

}  // namespace pullback::opt
