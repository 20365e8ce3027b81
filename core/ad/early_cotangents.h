// Cotangents that are known before the value is: of what goes into the results by additions and known factors alone,
// as the total of a loss does. So what such a value is made of can be reversed where it is computed.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "core/ad/prepare.h"
#include "core/ir/builder.h"

namespace pullback::ad {

class EarlyCotangents {
 public:
  // `f` is prepared (PrepareForReverse) and `flow` is its own; `sums_of(callee)` are how many of the first parameters of a
  // call, and its results, are sums that it only adds to (core/ad/adders.h).
  EarlyCotangents(const ir::Function& f, const ReverseFlow& flow,
                  std::function<size_t(uint32_t)> sums_of);

  // Where a cotangent is asked for: in front of an instruction of a block that a run passes at most once.
  struct Place {
    uint32_t block = 0;
    int inst = 0;  // -1: not even the block's parameters are there
    // By block, or none: a loop of which the block is the header, and is to become such a block. What the loop does with
    // the value is not looked at.
    const std::vector<char>* loop = nullptr;

    bool IsInLoop(uint32_t b) const { return loop != nullptr && (*loop)[b] != 0; }
  };
  // Whether every run passes the block, once.
  bool IsSure(uint32_t block) const {
    return flow_.exit != kNoExit && flow_.dominators.Dominates(block, flow_.exit) &&
           !flow_.InCycle(block);
  }
  // Whether v's is the seeds times what is there at `at`.
  bool IsKnown(ir::Value v, Place at) const;

  // It, by `b`, which stands at that place of the function that runs f: `seed(k)` is that of result k, kNoValue if it has none,
  // and `here` a value of f there. IsKnown holds. kNoValue: none reaches it.
  ir::Value Make(ir::Value v, Place at, ir::Builder& b,
                 const std::function<ir::Value(size_t)>& seed,
                 const std::function<ir::Value(ir::Value)>& here) const;

 private:
  struct Use {
    uint32_t block;
    const ir::Inst* inst;  // null: the terminator
    size_t operand;        // of the instruction; of a return the result; of an edge the argument
    size_t edge = 0;
  };
  struct Step {
    const ir::Inst* inst;
    size_t operand;
  };
  struct Path {
    size_t result = 0;
    std::vector<Step> steps;  // from the value on
  };

  // A search for all paths, which gives up where there are many.
  struct Search {
    Place at;
    Path so_far;
    std::vector<Path> paths;
    int visits = 0;
  };

  void NoteUses();
  void FindFollowing();
  bool Follows(uint32_t block, Place at) const;
  bool FindPaths(ir::Value v, Search& search) const;
  bool FollowInst(const Use& use, Search& search) const;
  bool FollowTerminator(const Use& use, Search& search) const;
  bool HasNoCotangent(const ir::Inst& inst) const;
  bool IsThere(ir::Value v, Place at) const;
  bool CanBeMade(ir::Value v, Place at, int depth) const;
  ir::Value MakeAgain(ir::Value v, Place at, ir::Builder& b,
                      const std::function<ir::Value(ir::Value)>& here) const;

  const ir::Function& f_;
  const ReverseFlow& flow_;
  const std::function<size_t(uint32_t)> sums_of_;
  std::vector<std::vector<Use>> uses_;  // by value
  std::vector<const ir::Inst*> defs_;   // by value
  std::vector<int> ordinal_;  // by value: of the instruction that defines it, -1 of parameters
  // From the exit backwards, where the exit and the entry have changed numbers.
  std::optional<ir::Dominators> backwards_;
};

}  // namespace pullback::ad
