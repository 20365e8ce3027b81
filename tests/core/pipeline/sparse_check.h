// Sparse Jacobians and Hessians against dense ones, by the interpreter; by the parameter x.
#pragma once

#include <string>
#include <vector>

#include "core/pipeline/pipeline.h"
#include "tests/support/derivatives.h"

namespace pullback::pipeline {

struct SparseProgram {
  const char* name;
  const char* text;
  std::vector<Tensor> args;
  std::vector<int64_t> seeds;  // by block; -1: any number
  Transform transform = Transform::kJacobian;
  int64_t elements = -1;  // of the first block
};

struct CooBlock {
  int64_t seeds;
  std::vector<int64_t> shape;
  std::vector<Tensor> coordinates;
  std::vector<double> values;
};

// Derived by x, and final; its ssa where that is asked for.
ir::Module Derive(const SparseProgram& p, bool sparse, bool optimise, ir::Module* ssa = nullptr);
// `count` blocks among results, from number `first` on.
std::vector<CooBlock> Blocks(const std::vector<Tensor>& results, size_t first, size_t count);
// Row-major; requires that coordinates are in range, in order, and that none comes twice.
std::vector<double> Dense(const CooBlock& b);
// The dense matrix of the unoptimised program, with those seeds and so many elements, optimised or not. Of straight-line
// code just these elements are told before anything runs.
void Check(const SparseProgram& p);

Tensor Ints(const std::vector<int64_t>& v);
Tensor SevenNumbers();

}  // namespace pullback::pipeline
