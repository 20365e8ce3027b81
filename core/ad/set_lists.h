// Sets of columns beside lists (set_pattern.h): a list as long, of the sets of each field that carries a tangent.
// As among tangents a list without elements is one of empty sets, of any length, and so is an array.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "core/ad/list_functions.h"

namespace pullback::ad {

class SetLists {
 public:
  explicit SetLists(ir::Module& module) : module_(module), functions_(module) {}

  // What is beside a value that carries a tangent: [elements, width]i64, a tape beside a tape, a list beside a list.
  ir::Type TypeOf(ir::Type t);

  static bool Follows(ir::Op op);
  // The sets of the results of an instruction on lists, in order; kNoValue of what has none, or empty ones.
  // `to` gives a value where the code is built, where the instruction is already, `sets` its sets or kNoValue.
  std::vector<ir::Value> Push(ir::Builder& b, const ir::Inst& inst, ir::Value width,
                              const std::function<ir::Value(ir::Value)>& to,
                              const std::function<ir::Value(ir::Value)>& sets);

 private:
  ir::Module& module_;
  ListFunctions functions_;
  std::map<uint32_t, uint32_t> records_;  // to that of the sets
};

}  // namespace pullback::ad
