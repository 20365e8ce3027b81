// The reference interpreter against the loops of the same IR, bit for bit, within few steps.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "core/eval/interpreter.h"
#include "core/eval/scalar_ops.h"
#include "core/ir/ir.h"
#include "core/ir/printer.h"
#include "core/loops/interpret.h"
#include "core/loops/lower.h"
#include "tests/fuzz/fuzz.h"

namespace pullback::fuzz {

inline void CanonicaliseNans(Tensor& t) {
  const size_t size = DTypeSize(t.dtype);
  for (size_t at = 0; at < t.data.size(); at += size) {
    uint64_t bits = 0;
    std::memcpy(&bits, t.data.data() + at, size);
    bits = eval::CanonicalNan(t.dtype, bits);
    std::memcpy(t.data.data() + at, &bits, size);
  }
}

// What the reference gives; empty values when it trapped or met a limit.
inline eval::Result RunBounded(const ir::Module& module, const std::vector<Tensor>& args) {
  eval::Limits limits;
  limits.max_steps = 20000;
  limits.max_bytes = 1 << 20;
  limits.max_depth = 60;
  StatusOr<eval::Result> r = eval::Run(module, args, limits);
  if (r.ok()) return std::move(*r);
  RequireNotInternal(r.status(), ir::Print(module));
  return {};
}

// `module` has no strong multiplies. Loops may drop traps of unneeded values, so that only what the
// reference finishes is compared.
inline void RunBoth(const ir::Module& module, const std::vector<Tensor>& args) {
  const eval::Result expected = RunBounded(module, args);
  for (const bool rows : {false, true}) {
    const StatusOr<loops::Module> lowered =
        loops::LowerToLoops(module, {false, false, false, rows});
    Require(lowered.ok(), lowered.status().ToString(), ir::Print(module));
    if (expected.values.empty()) continue;
    constexpr loops::ScalarOps kOps = {eval::EvalScalar, eval::EvalCast};
    StatusOr<loops::Outcome> got = loops::Interpret(*lowered, args, kOps);
    const std::string both = ir::Print(module) + loops::Print(*lowered);
    Require(got.ok(), got.status().ToString(), both);
    Require(!got->trap, "loops trap and the reference does not", both);
    for (size_t k = 0; k < expected.values.size(); ++k) {
      CanonicaliseNans(got->values[k]);
      Require(got->values[k].shape == expected.values[k].shape &&
                  got->values[k].data == expected.values[k].data,
              "loops and the reference differ in result " + std::to_string(k), both);
    }
  }
}

}  // namespace pullback::fuzz
