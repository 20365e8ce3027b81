// What a subscript is by cases: `max(0, i - 1)`, `abs(i + q - 2)`, `if i == 0 { 1 } else { i - 1 }`.
#pragma once

#include <optional>
#include <vector>

#include "core/analysis/body_forms.h"
#include "core/analysis/outer_values.h"
#include "core/ir/ir.h"

namespace pullback::analysis {

// Where all constraints hold. Both are of the statement's indices and of values outside.
struct SubCase {
  std::vector<ir::Constraint> where;
  ir::Affine form;
};

// Of a subscript of what is read under `guard`: at each point some case is there, and of several all have the same value. Nothing:
// data say, an integer may wrap, or they are too many.
std::optional<std::vector<SubCase>> SubCasesOf(const ir::Each& each, const ir::Function& f,
                                               const BodyForms& forms, const OuterValues& outer,
                                               const ir::Affine& sub, ir::Value guard);

}  // namespace pullback::analysis
