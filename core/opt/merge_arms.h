// What several arms of a body compute alike is computed once, where any of them is taken.
#pragma once

#include <set>
#include <vector>

#include "core/ir/ir.h"
#include "core/opt/rename.h"

namespace pullback::opt {

// Text that was put in place of calls: what it defines, and of that what its arms do.
struct ArmText {
  std::set<ir::Value> values;
  std::set<ir::Value>
      arms;  // that text reads them where their guards are true, or selects by these
};

// A value of an arm that nothing but such text reads may be computed under a weaker guard. Values that go are set
// in `renaming`, which is to be applied to the function. True: changed.
bool MergeArms(ir::Function& f, ir::Each& each, ArmText text, Renaming& renaming);

}  // namespace pullback::opt
