// The values that sums take on their way through blocks: each is one sum with something added.
#pragma once

#include <vector>

#include "core/ad/adders.h"
#include "core/ir/ir.h"

namespace pullback::ad {

class SumThreads {
 public:
  // `first`: the sums as they come in. `contains`: by block, whether it is looked at.
  SumThreads(const ir::Function& f, const Adders& adders, const ir::Values& first,
             const std::vector<char>& contains);

  // The number of the sum that v is a value of; -1: of none.
  int Of(ir::Value v) const { return of_[v.id] < 0 ? kNone : of_[v.id]; }
  // Whether nothing of these blocks does more with the sum than add to it, choose where control goes on, and ask for its shape.
  bool IsGood(int sum) const { return sum >= 0 && !bad_[static_cast<size_t>(sum)]; }

 private:
  static constexpr int kNone = -1, kMixed = -2;

  template <typename Fn>
  void ForEachBlock(Fn&& fn) const {
    for (size_t b = 0; b < f_.blocks.size(); ++b) {
      if (contains_[b]) fn(f_.blocks[b]);
    }
  }
  void Join(ir::Value v, int sum);
  int AddedTo(const ir::Inst& inst) const;
  size_t SumsOf(const ir::Inst& inst) const {
    return inst.op == ir::Op::Call ? adders_.SumsOf(inst.callee) : 0;
  }
  void Spread(const ir::Block& b);
  void Verify(const ir::Block& b);
  void VerifyInst(const ir::Inst& inst);
  void Spoil(int sum);

  const ir::Function& f_;
  const Adders& adders_;
  const std::vector<char>& contains_;
  std::vector<int> of_;    // by value: the sum, kNone, or kMixed: of several
  std::vector<char> bad_;  // by sum
  bool changed_ = false;
};

}  // namespace pullback::ad
