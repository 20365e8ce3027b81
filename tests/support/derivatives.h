// Derivatives of a module checked against each other and against finite differences.
#pragma once

#include <string>
#include <vector>

#include "core/base/tensor.h"
#include "core/eval/interpreter.h"
#include "core/ir/ir.h"
#include "core/pipeline/pipeline.h"

namespace pullback::testing {

// Parse, check and lower; fails the test with the diagnostics otherwise.
ir::Module LowerText(const std::string& program, const std::string& entry);
// Parse and verify IR text; fails the test otherwise.
ir::Module ParseIr(const std::string& text);

// What a run gives; fails the test on an error or a trap.
std::vector<Tensor> RunOk(const ir::Module& module, const std::vector<Tensor>& args);

// The final IR of a transform; fails the test otherwise. Empty wrt: every parameter.
ir::Module Derived(const ir::Module& ssa, pipeline::Transform transform, std::vector<bool> wrt = {},
                   bool optimise = true);

// value_and_grad by the interpreter: gradients only.
std::vector<Tensor> Gradients(const ir::Module& ssa, const std::vector<Tensor>& args,
                              std::vector<bool> wrt = {});

// At `args`, with fixed pseudo-random seeds: vjp and jvp give the primal's values bit for bit (when
// not reordered, within rounding), jvp agrees with central differences, and
// <ybar, J xdot> = <J^T ybar, xdot>; optimised and not. `tolerance` is relative.
void CheckDerivatives(const ir::Module& ssa, const std::vector<Tensor>& args,
                      double tolerance = 1e-5, std::vector<bool> wrt = {});

Tensor Vec(const std::vector<double>& v);
Tensor Mat(int64_t rows, int64_t columns, const std::vector<double>& v);
// The derived IR before normalisation, as `explain --stage adjoint` prints it.
std::string AdjointText(const std::string& program, std::vector<bool> wrt,
                        pipeline::Transform transform = pipeline::Transform::kValueAndGrad);
int CountText(const std::string& text, const std::string& part);
double Scalar(const Tensor& t);  // of a float tensor with one element
std::vector<double> Doubles(const Tensor& t);

}  // namespace pullback::testing
