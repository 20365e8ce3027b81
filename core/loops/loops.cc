#include "core/loops/loops.h"

namespace pullback::loops {

Reg Function::NewReg(ir::Type t, std::string name) {
  regs.push_back({t, false, std::move(name)});
  return Reg{static_cast<uint32_t>(regs.size() - 1)};
}

}  // namespace pullback::loops
