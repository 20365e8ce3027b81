// Sparse matrices of integers: what sparse Jacobians call, written in the language itself.
#pragma once

#include "core/ad/sparse_pattern.h"
#include "core/ir/ir.h"

namespace pullback::pipeline {

// Appends the functions to the module. They belong to no place of the program's text.
ad::SparseFunctions AddSparseLibrary(ir::Module& module);

}  // namespace pullback::pipeline
