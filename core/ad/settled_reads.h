// Tables that loops fill, element by element, and read: c[i, j] = f(c[i - 1, j], c[i, j - 1]). Where no later turn stores to
// an element that was read, the table still has it when the loops are over: the reverse half reads it there, and the
// tape keeps none.
//
// Of loops left through their header alone, outside of all others, and an array that they carry whose versions have one
// successor each. Which stores are elsewhere: later_stores.h.
#pragma once

#include <map>

#include "core/ad/counters.h"

namespace pullback::ad {

class SettledReads {
 public:
  SettledReads(const ir::Function& f, const ReverseFlow& flow, const Definitions& defs,
               const Counters& counters);

  // Of an `index` of f: the parameter of a header, which dominates the exit and is in no loop of another, whose last value
  // has the element that was read. kNoValue: none is known.
  ir::Value TableOf(const ir::Inst& read) const {
    const auto it = tables_.find(&read);
    return it == tables_.end() ? ir::Value() : it->second;
  }

 private:
  std::map<const ir::Inst*, ir::Value> tables_;
};

}  // namespace pullback::ad
