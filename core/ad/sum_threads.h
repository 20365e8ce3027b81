// The values that sums take on their way through blocks: each is one sum with something added.
#pragma once

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "core/ad/adders.h"
#include "core/ad/loop_parts.h"
#include "core/ir/ir.h"

namespace pullback::ad {

class SumThreads {
 public:
  // `first`: the sums as they come in. `part`: of which blocks it is looked at, its header does not count.
  SumThreads(const ir::Function& f, const Adders& adders, const ir::Values& first,
             const Loop& part);

  // The number of the sum that v is a value of; -1: of none.
  int Of(ir::Value v) const { return std::max(Thread(v), kNone); }
  // Whether nothing of these blocks does more with the sum than add to it, choose where control goes on, and ask for its shape.
  bool IsGood(int sum) const { return sum >= 0 && !bad_[static_cast<size_t>(sum)]; }

 private:
  static constexpr int kNone = -1, kMixed = -2;

  template <typename Fn>
  void ForEachBlock(Fn&& fn) const {
    for (uint32_t b : part_.blocks) fn(f_.blocks[b]);
  }
  // The sum, kNone, or kMixed: of several.
  int Thread(ir::Value v) const {
    const auto of = of_.find(v.id);
    return of == of_.end() ? kNone : of->second;
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
  const Loop& part_;
  std::unordered_map<uint32_t, int> of_;  // by value, of those that are some sum's
  std::vector<char> bad_;                 // by sum
  bool changed_ = false;
};

}  // namespace pullback::ad
