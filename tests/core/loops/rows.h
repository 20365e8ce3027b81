// What tests of arrays that hold one row have in common.
#pragma once

#include <catch2/catch.hpp>
#include <vector>

#include "core/eval/interpreter.h"
#include "tests/core/loops/testing.h"

namespace pullback::loops {

// What all arrays hold that are made.
inline int64_t ElementsMade(const ir::Module& module, const std::vector<Tensor>& args,
                            const LowerOptions& options) {
  return RunBoth(module, args, Traps::kSame, options).elements;
}

// What nobody could make is no less an error, at the same place, where it is not made.
inline void CheckTooLong(const ir::Module& module, const std::vector<Tensor>& args) {
  const auto loops = LowerToLoops(module, kRows);
  REQUIRE(loops.ok());
  const auto got = Interpret(*loops, args, OpsForTests());
  const auto expected = eval::Run(module, args);
  REQUIRE(got.ok());
  REQUIRE(expected.ok());
  REQUIRE(got->trap.has_value());
  REQUIRE(expected->trap.has_value());
  CHECK(got->trap->kind == ir::TrapKind::kMemory);
  CHECK(expected->trap->kind == ir::TrapKind::kMemory);
  CHECK(got->trap->loc == expected->trap->loc);
}

}  // namespace pullback::loops
