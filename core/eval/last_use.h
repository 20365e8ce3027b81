// Where references to arrays, tapes and lists die. The interpreter clears their slots there, so that an
// update finds itself the only owner of an array that nobody reads any more.
#pragma once

#include <vector>

#include "core/ir/ir.h"

namespace pullback::eval {

class LastUses {
 public:
  explicit LastUses(const ir::Function& f);

  using List = std::vector<ir::Value>;
  // Operands that instruction i of block b reads last, and results that nobody reads.
  const List& At(uint32_t b, size_t i) const { return blocks_[b].at_inst[i]; }
  // What an edge of block b's terminator reads last or leaves behind.
  const List& OnEdge(uint32_t b, size_t edge) const { return blocks_[b].on_edge[edge]; }
  // Parameters of block b that nobody reads.
  const List& AtEntry(uint32_t b) const { return blocks_[b].at_entry; }

 private:
  struct BlockUses {
    std::vector<List> at_inst;
    std::vector<List> on_edge;
    List at_entry;
  };
  using Set = std::vector<bool>;  // by number of reference

  bool IsRef(ir::Value v) const { return number_[v.id] != UINT32_MAX; }
  void NumberRefs(const ir::Function& f);
  void Solve(const ir::Function& f);
  Set LiveAtTerminator(const ir::Function& f, uint32_t b) const;
  void Walk(const ir::Block& block, Set& live, BlockUses* uses) const;
  void Record(const ir::Function& f, uint32_t b);

  std::vector<uint32_t> number_;  // of a value that is an array or a tape
  std::vector<ir::Value> refs_;
  std::vector<Set> live_in_;  // without the block's own parameters
  std::vector<BlockUses> blocks_;
};

}  // namespace pullback::eval
