// Arrays that nothing changes in place once they are there: another owner costs no copy of them.
#pragma once

#include <vector>

#include "core/base/flat_lists.h"
#include "core/ir/ir.h"

namespace pullback::ad {

class ReadAlone {
 public:
  explicit ReadAlone(const ir::Function& f);

  // Neither it nor what parameters of blocks get of it.
  bool Is(ir::Value array) const;
  // The same of what blocks get of it that `is_inside` does not hold for, whatever those do that it holds for.
  template <typename IsInside>
  bool IsOutside(ir::Value array, IsInside&& is_inside) const {
    for (const Taken& taken : taken_[array.id]) {
      if (is_inside(taken.block)) continue;
      if (!taken.param.valid() || !Is(taken.param)) return false;
    }
    return true;
  }

 private:
  // By an instruction of the block that does more than read it; or handed to the block, as that parameter.
  struct Taken {
    uint32_t block;
    ir::Value param;
  };

  std::vector<std::vector<Taken>> taken_;  // by value
};

}  // namespace pullback::ad
