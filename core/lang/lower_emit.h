// A tensor statement that is closed: it needs nothing of frames around it.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/lang/lower_context.h"

namespace pullback::lang {

struct Finished {
  std::vector<ir::IndexVar> indices;
  std::vector<Constraint> where;
  std::vector<ir::Inst> body;
  std::vector<ir::Inst> reads;  // as of a frame
  std::vector<ir::IndexVar> bound;
  std::vector<std::pair<Value, Value>> adopted;
  std::vector<Constraint> told;
  std::vector<Value> out;  // index variables
  std::vector<Value> values;
  Value guard;
  ir::Monoid monoid = ir::Monoid::kGen;
  Value second;        // of a scan
  uint32_t outer = 0;  // of a scan: the indices that it got from the frames around it
  uint32_t loc = 0;
};

// Appends it to the current block; gives its results.
std::vector<Value> Emit(Context& c, Finished f);

}  // namespace pullback::lang
