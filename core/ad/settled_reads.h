// Tables that loops fill, element by element, and read: c[i, j] = f(c[i - 1, j], c[i, j - 1]). Where no later turn stores to
// an element that was read, the table still has it when the loops are over: the reverse half reads it there, and the
// tape keeps none.
//
// Of loops left through their header alone, and an array that they carry whose versions have one successor each: outside of all others;
// or within others, where the table is read alone behind the loop, so that it can be kept for each turn of these as it is there. Which
// stores are elsewhere: later_stores.h.
#pragma once

#include <map>
#include <set>

#include "core/ad/counters.h"
#include "core/ad/read_alone.h"

namespace pullback::ad {

class SettledReads {
 public:
  SettledReads(const ir::Function& f, const ReverseFlow& flow, const Definitions& defs,
               const Counters& counters, const ReadAlone& read_alone);

  // Of an `index` of f: the parameter of a header whose last value has the element that was read. kNoValue: none is known.
  ir::Value TableOf(const ir::Inst& read) const {
    const auto it = tables_.find(&read);
    return it == tables_.end() ? ir::Value() : it->second;
  }
  // Whether its last value is there when all loops are over.
  bool IsOfOutermost(ir::Value table) const { return of_outermost_.contains(table); }

 private:
  std::map<const ir::Inst*, ir::Value> tables_;
  std::set<ir::Value> of_outermost_;
};

}  // namespace pullback::ad
