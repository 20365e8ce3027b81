// Functions made of derivative operators: what a request for a Jacobian, a Hessian or a Hessian-vector
// product runs. They hold `jvp` and `vjp` instructions and loops around them; DeriveOperators does the
// rest, so they nest like any program.
//
// `wrt` says by parameter of f which are differentiated; of those the floats (scalars and arrays) take
// part, and neither they nor f's results may be lists.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/ir/ir.h"

namespace pullback::ir {

inline constexpr int kMaxBlockRank = 8;  // axes of a block: as many as an array may have

// (params of f…) -> (results of f…, a block for every float result and every float parameter in wrt, the
// parameters of the first result first). A block has the axes of the result, then those of the
// parameter, and the parameter's element type; of two scalars it is a scalar.
//
// One-hot seeds run through a loop: tangents where the parameters have at most as many elements as the
// results, cotangents elsewhere. Which, is known here where one side is all scalars, else when it runs.
uint32_t AddJacobian(Module& module, uint32_t f, const std::vector<bool>& wrt);

// Likewise, by tangents only, or by cotangents only.
uint32_t AddForwardJacobian(Module& module, uint32_t f, const std::vector<bool>& wrt);
uint32_t AddReverseJacobian(Module& module, uint32_t f, const std::vector<bool>& wrt);

// What a function of AddJacobian differentiates, where it runs through seeds. Told by its name, which no
// function of a program can have, and by what it holds.
struct JacobianLoop {
  uint32_t function = 0;
  std::vector<bool> wrt;  // of which only floats
};
std::optional<JacobianLoop> FindJacobianLoop(const Module& module, uint32_t f);

// Of f with a single result, a float scalar: (params of f…) -> (result, a block for every pair of float
// parameters in wrt, row-major). Forward over reverse.
uint32_t AddHessian(Module& module, uint32_t f, const std::vector<bool>& wrt);

// Likewise: (params of f…, a tangent for every float parameter in wrt…) -> (result, the Hessian's product
// with the tangents: one for every such parameter).
uint32_t AddHessianProduct(Module& module, uint32_t f, const std::vector<bool>& wrt);

}  // namespace pullback::ir
