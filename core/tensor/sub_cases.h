// What a subscript is by cases: `max(0, i - 1)`, `abs(i + q - 2)`, `if i == 0 { 1 } else { i - 1 }`.
#pragma once

#include <optional>
#include <vector>

#include "core/analysis/outer_values.h"
#include "core/ir/ir.h"
#include "core/tensor/body_forms.h"

namespace pullback::tensor {

// Where all constraints hold. Both are of the statement's indices and of values outside.
struct SubCase {
  std::vector<ir::Constraint> where;
  ir::Affine form;
};

// Of a subscript of what is read under `guard`: at each point some case is there, and of several all have the same value. Nothing:
// data say, an integer may wrap, or they are too many.
std::optional<std::vector<SubCase>> SubCasesOf(const ir::Each& each, const ir::Function& f,
                                               const BodyForms& forms,
                                               const analysis::OuterValues& outer,
                                               const ir::Affine& sub, ir::Value guard);

}  // namespace pullback::tensor
