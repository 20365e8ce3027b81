// A proof, for each function that reverse mode makes, that what it pops has the type that it names.
#pragma once

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/ir/dominance.h"
#include "core/ir/ir.h"

namespace pullback::ad {

// A forward half, and where each of its blocks is reversed.
struct TapeHalves {
  struct Block {
    ir::Value tape;  // as it is at the block's start
    ir::Value
        tag;  // the parameter that says by which edge the block was entered; invalid: none does
    uint32_t reverse_block =
        ir::kNoBlock;  // whose first parameter is the tape; kNoBlock: it is passed by
  };
  const ir::Function* forward = nullptr;
  const ir::Function* reverse = nullptr;  // may be the same function
  std::vector<Block> blocks;              // of the forward half: the first blocks of `forward`
  std::set<std::pair<uint32_t, uint32_t>> calls;  // of callees: forward half, reverse half
  std::set<uint32_t> balanced;                    // callees that give the tape back as it was
  bool is_balanced = false;  // both halves are one function, which is to be such a callee
};

// OK: on every way from where a block is reversed to where one that leads to it is, the tape is popped of what the
// block pushed, last first, types equal, and given to the reverse half of each callee whose forward half pushed on
// it. There is a way for each block that leads to it, and where a tag says which one it was, that tag takes it.
//
// So the tape is typed by where control is: going back the way it came, it holds at the reverse of a block what it
// held in that block, by induction over the blocks on the way and over the calls. INTERNAL otherwise.
Status CheckTape(const TapeHalves& halves);

}  // namespace pullback::ad
