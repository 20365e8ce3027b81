// The ordered list of passes: the one place that says what happens when.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/ad/mixed.h"
#include "core/ad/symbolic_pattern.h"
#include "core/base/status.h"
#include "core/ir/ir.h"
#include "core/loops/loops.h"
#include "core/opt/rules.h"

namespace pullback::pipeline {

// What a request asks of the entry function, in terms of its flattened parameters and results.
enum class Transform : uint8_t {
  kValue = 1,
  kValueAndGrad = 2,
  kVjp = 3,
  kJvp = 4,
  kHvp = 5,
  kJacobian = 6,
  kHessian = 7
};
const char* TransformName(Transform t);  // "value_and_grad"

struct Options {
  bool optimise = true;        // false: only what is needed to run
  bool fast_math = false;      // rewrites that IEEE does not allow; part of the key
  bool sparse = false;         // of a jacobian or hessian: blocks as lists of elements
  size_t max_insts = 1000000;  // of the module after each pass
  ad::Mixed mixed =
      ad::Mixed::kAuto;  // where duals of called scalar functions are evaluated; part of the key
  // Which rewrite rules are applied, and how often at most (core/opt/rules.h): for tests, and to find the rewrite that
  // breaks a program. No request sets them, so they are not part of the key.
  uint32_t rule_families = opt::kAllFamilies;
  uint64_t rule_fuel = opt::RuleCounts().fuel;
};

// Wall time of each pass, in order; each is followed by what verifying its module took ("verify").
struct PassTiming {
  std::string pass;
  double seconds;
};

// Called after each pass with its name and the module.
using Observer = std::function<void(const std::string& pass, const ir::Module& module)>;

// The module of the request. Parameters and results of the new entry:
//   value           p…                          -> r…
//   value_and_grad  p…                          -> r, cotangent of every float leaf in wrt
//                   (the result must be one float scalar: INVALID_ARGUMENT, NOT_SCALAR)
//   vjp             p…, cotangent of every float result leaf -> r…, cotangent of every float wrt leaf
//   jvp             p…, tangent of every float wrt leaf      -> r…, tangent of every float result leaf
//   hvp             p…, tangent of every float wrt leaf      -> r, Hessian times tangent by float wrt leaf
//   jacobian        p…  -> r…, for every float result leaf, for every float wrt leaf: its block, with the
//                   axes of the result, then of the parameter, of the parameter's element type
//   hessian         p…  -> r, for every float wrt leaf, for every float wrt leaf: its block
//                   (hvp and hessian: the result must be one float scalar)
// Of a sparse jacobian or hessian each block is several results (core/ad/sparse_jacobian.h): how many seeds
// it took, its shape [axes]i64, for each axis the coordinates [elements]i64, and the elements.
// wrt[i]: whether flattened parameter i is differentiated; a non-float leaf there has no derivative
// and is skipped. INVALID_ARGUMENT, PROGRAM_TOO_LARGE where a pass makes more than max_insts; what the
// Work of this thread (core/base/work.h) was ended by. UNIMPLEMENTED (reason UNIMPLEMENTED, with the place
// as ordinal in the message's trailing "!N") where a derivative is not defined yet.
struct Staged {
  ir::Module ssa;         // as lowered and cleaned up
  ir::Module adjoint;     // derived and cleaned up (of value: the same as ssa)
  ir::Module final;       // normal form, strong multiplies lowered; what loops are made from
  opt::RuleCounts rules;  // how often each rewrite rule was applied on the way
};
StatusOr<Staged> Derive(const ir::Module& ssa, Transform transform, const std::vector<bool>& wrt,
                        const Options& options, std::vector<PassTiming>* timings = nullptr,
                        const Observer& observer = {});

// By block of a jacobian or hessian of Staged::ssa: whether a sparse one finds its pattern when it runs, where
// it gives all elements otherwise.
StatusOr<std::vector<bool>> FoundPatterns(const ir::Module& ssa, Transform transform,
                                          const std::vector<bool>& wrt);

// Likewise the patterns that are known without running anything.
StatusOr<ad::SymbolicPatterns> FindSymbolicPatterns(const ir::Module& ssa, Transform transform,
                                                    const std::vector<bool>& wrt);

// Version of the passes: part of the kernel key; raised whenever a pass changes what it makes.
extern const char* const kPassesVersion;

}  // namespace pullback::pipeline
