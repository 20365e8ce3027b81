// What checks and branches say of integers at a place inside a loop of blocks, such as that a turn has one before it:
// `if i > 0 { … e[i - 1] … }`.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "core/ir/dominance.h"
#include "core/opt/block_loops.h"

namespace pullback::opt {

// Of integers that are made by sums: in terms of what these are sums of.
ir::Affine FormOf(ir::Value v, const DefinitionBlocks& defs);
ir::Affine FormOf(const ir::Affine& a, const DefinitionBlocks& defs);
// Whether it is a sum of extents of arrays and numbers, so that it wraps nowhere.
bool IsOfDims(const ir::Affine& form, const DefinitionBlocks& defs);

// Whether it is surely no negative number, and has not wrapped: a sum of extents of arrays, of quotients of such and of numbers; or a
// maximum of some number that is not negative.
bool IsNotNegative(const ir::Affine& form, const DefinitionBlocks& defs);

// What so many times `bound`, where a loop ends, is no more than, if it makes turns at all, in extents of arrays: of n / 2, two times, n.
std::optional<ir::Affine> TimesBound(ir::Value bound, int64_t times, const DefinitionBlocks& defs);
// By how much an extent is larger than another integer; nothing: by no small number that is known.
std::optional<int64_t> RowsBeyond(ir::Value rows, ir::Value bound, const DefinitionBlocks& defs);

// Forms of integers that wrap nowhere.
struct TurnFacts {
  std::vector<ir::Affine> at_least_0;
  std::vector<ir::Affine> not_0;
};
// Whether a value that is no extent may be in such a form.
using IsTame = absl::FunctionRef<bool(ir::Value)>;

// What is so where the condition holds, or does not.
void Learn(const ir::Function& f, ir::Value condition, bool holds, IsTame is_tame,
           const DefinitionBlocks& defs, TurnFacts& facts);
// What is so in front of the block's instruction `place`, as checks say and the branches of the loop that lead there.
TurnFacts FactsAt(const ir::Function& f, const BlockLoop& loop, uint32_t block, size_t place,
                  IsTame is_tame, const ir::Dominators& dominators, const DefinitionBlocks& defs);
// A number that the form is no less than, by sums of few facts; nothing: these give none.
std::optional<int64_t> LeastOf(const ir::Affine& form, const std::vector<ir::Affine>& at_least_0);

}  // namespace pullback::opt
