// Small programs that break differentiation systems: each was a reported bug in a peer. One list for
// every tier and mode.
#pragma once

#include <string>
#include <vector>

#include "core/base/tensor.h"

namespace pullback::testing {

struct ProgramCase {
  const char* name;
  std::string text;
  const char* entry;
  std::vector<Tensor> args;
  // What value_and_grad gives for every float argument, flattened; empty: only compare modes.
  std::vector<std::vector<double>> gradients;
  // Not differentiable where it is evaluated: conventions decide, differences cannot.
  bool corner = false;
};

const std::vector<ProgramCase>& FirstPrograms();
// Part of these: argmax, and, or, exists, scans.
const std::vector<ProgramCase>& ReductionPrograms();
// Part of these: sorting, linear systems, equations, dF~'s functions of functions;
// loops over values, gathers by several arrays, broadcasts of function values.
const std::vector<ProgramCase>& PreludePrograms();
// Arrays of tuples and structs; some in lists and boxes.
const std::vector<ProgramCase>& StructArrayPrograms();
// Part of these: products of arrays with brackets that guard them.
const std::vector<ProgramCase>& BracketPrograms();
const std::vector<ProgramCase>& WindowPrograms();
// The same for data that is more than arrays: lists, trees, boxes, functions.
const std::vector<ProgramCase>& DataPrograms();

}  // namespace pullback::testing
