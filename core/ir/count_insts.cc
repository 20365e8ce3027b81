#include "core/ir/count_insts.h"

namespace pullback::ir {

size_t CountInsts(const Function& f) {
  size_t count = 0;
  for (const Block& b : f.blocks) {
    count += b.insts.size();
    for (const Inst& inst : b.insts) count += inst.each ? inst.each->body.size() : 0;
  }
  return count;
}

size_t CountInsts(const Module& m) {
  size_t count = 0;
  for (const auto& f : m.functions) count += CountInsts(*f);
  return count;
}

}  // namespace pullback::ir
