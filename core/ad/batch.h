// Batching over new leading axes (vmap): straight-line code that runs at every point of a box at once,
// because some of what it reads has an element for each point. Statements get the axes as their first
// indices; scalars become arrays of the axes' shape. What reads nothing batched stays as it is.
#pragma once

#include <optional>
#include <vector>

#include "core/ir/builder.h"

namespace pullback::ad {

// A value where code is built, with or without the new axes in front of its own.
struct Batched {
  ir::Value value;
  bool batched = false;
};

inline constexpr size_t kMaxArrayRank = 8;
// Whether every array of f may have so many axes more.
bool FitsAxes(const ir::Function& f, size_t axes);

// Appends the code of `f` at the builder's place; `args` stand for its parameters. Gives its results and
// adds to `made` every array with the new axes that it stores. Nothing where f is more than one block, or
// does to something batched what has no form for all points at once: calls outside of bodies, updates
// of elements, lists, tapes, integers used as subscripts; what was appended is then to be thrown away.
std::optional<std::vector<Batched>> AppendBatched(ir::Builder& b, const ir::Function& f,
                                                  const std::vector<Batched>& args,
                                                  const std::vector<ir::Value>& extents,
                                                  std::vector<ir::Value>& made);

}  // namespace pullback::ad
