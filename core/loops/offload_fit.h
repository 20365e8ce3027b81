// What of a function a kernel can run at all (offload.h).
#pragma once

#include <map>
#include <string>

#include "core/loops/loops.h"

namespace pullback::loops {

// Each function is looked at once, however many calls lead to it. `module` must outlive it.
class DeviceFit {
 public:
  explicit DeviceFit(const Module& module) : module_(module) {}

  // What is not for a kernel; empty: nothing.
  std::string Unfit(const Node& n) { return Unfit(n, 0); }
  // Whether a kernel may call it.
  bool IsFit(uint32_t function) { return Of(function, 0).fit; }
  bool MayTrap(const Node& n);

 private:
  struct Facts {
    bool fit = false, traps = true;  // so far as nothing is known: of recursion
  };
  std::string Unfit(const Node& n, int depth);
  Facts Of(uint32_t function, int depth);

  const Module& module_;
  std::map<uint32_t, Facts> known_;
};

}  // namespace pullback::loops
