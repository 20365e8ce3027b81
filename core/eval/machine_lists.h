// Handlers of lists and boxes. Internal to core/eval.
#pragma once

#include "core/eval/machine.h"

namespace pullback::eval {

struct ListHandlers {
  static void New(Machine& m, Frame& f, const ir::Inst& inst);
  static void Of(Machine& m, Frame& f, const ir::Inst& inst);
  static void Len(Machine& m, Frame& f, const ir::Inst& inst);
  static void Get(Machine& m, Frame& f, const ir::Inst& inst);
  static void Set(Machine& m, Frame& f, const ir::Inst& inst);
  static void Take(Machine& m, Frame& f, const ir::Inst& inst);
  static void Push(Machine& m, Frame& f, const ir::Inst& inst);
  static void Pop(Machine& m, Frame& f, const ir::Inst& inst);
  static void BoxNew(Machine& m, Frame& f, const ir::Inst& inst);
  static void BoxGet(Machine& m, Frame& f, const ir::Inst& inst);
  static void BoxSet(Machine& m, Frame& f, const ir::Inst& inst);
};

}  // namespace pullback::eval
