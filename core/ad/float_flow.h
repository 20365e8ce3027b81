// What depends on what in straight-line code, by way of floats: a derivative is other than 0 only along it. What is
// asked for is followed from instruction to instruction, at the cost of what is found rather than of all the code.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "core/ir/ir.h"

namespace pullback::ad {

class FloatFlow {
 public:
  // `code`: instructions of f, in order; must outlive this, as must the types of their values.
  FloatFlow(const ir::Module& module, const ir::Function& f, const std::vector<ir::Inst>& code);

  // Whether a derivative of `to` by `from` may be other than 0.
  bool Depends(ir::Value to, ir::Value from) { return Contains(After(from), to); }

  struct Slice {
    std::vector<uint32_t> insts;    // their numbers, in order
    std::vector<ir::Value> values;  // of these the results that are meant, by number
    bool Has(ir::Value v) const { return Contains(values, v); }
  };
  // What depends on `from`, and some of `to` on it.
  Slice Between(const std::vector<ir::Value>& to, ir::Value from);

 private:
  static constexpr uint32_t kNoInst = UINT32_MAX;
  static bool Contains(const std::vector<ir::Value>& sorted, ir::Value v);
  const std::vector<ir::Value>& After(ir::Value from);

  const ir::Module& module_;
  const ir::Function& f_;
  const std::vector<ir::Inst>& code_;
  std::vector<uint32_t> made_by_;               // by value: number of the instruction, or kNoInst
  std::vector<std::vector<uint32_t>> read_by_;  // by value
  std::map<ir::Value, std::vector<ir::Value>> after_;
};

}  // namespace pullback::ad
