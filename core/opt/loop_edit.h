// Changes of whole loops (core/opt/block_loops.h).
#pragma once

#include <optional>
#include <vector>

#include "core/opt/block_loops.h"

namespace pullback::opt {

// The text of the header, with what its parameters are, at the end of the block `into`.
void CopyHeader(ir::Function& f, const BlockLoop& loop, ir::ValueSpan args, uint32_t into,
                Copier& names);
// Copies of the blocks inside, without the header, whose jumps back go to `next` with all arguments but
// `dropped`; gives the copy of the block that a turn begins with.
uint32_t CopyBody(ir::Function& f, const BlockLoop& loop, uint32_t next,
                  std::optional<size_t> dropped, Copier& names);

// The loop is not reached any more:
void SkipLoop(ir::Function& f, BlockLoop& loop, LoopRound& round);  // its test is false at once
void BypassLoop(ir::Function& f, BlockLoop& loop);  // nothing that it computes is read behind it

// The test is true at once: one turn in front of the loop.
void PeelLoop(ir::Function& f, BlockLoop& loop);

}  // namespace pullback::opt
