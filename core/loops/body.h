// The body of a tensor statement: each instruction is evaluated in the outermost loop that knows its
// operands, and instructions with the same guard share one If.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <set>
#include <vector>

#include "core/loops/accesses.h"
#include "core/loops/divisions.h"

namespace pullback::loops {

class Body {
 public:
  Body(const AccessContext& c, const Divisions& divisions) : c_(c), divisions_(divisions) {}

  // Decides where everything goes. `results`: the statement's results take part like instructions.
  void Plan();
  // Whether some read or divisor is checked before the loops, and those checks.
  bool HasChecksBefore() const;
  // Whether something may trap in the loops.
  bool TrapsInNest() const;
  void EmitChecksBefore();
  // After the nest.
  void LearnChecks() const;
  // Everything that is evaluated where `level` loops are open. `emit_result` is called for each
  // result, where its value and guard are known and the guard is true.
  using EmitResult = std::function<void(size_t result)>;
  void EmitLevel(int level, const EmitResult& emit_result);

 private:
  struct Item {
    const ir::Inst* inst = nullptr;  // nullptr: a result
    size_t result = 0;
    ir::Value guard;
    std::vector<ir::Value> uses;  // values of the body
    Access access;                // of an Index
  };
  using Items = std::list<const Item*>;

  Item MakeItem(const ir::Inst& inst) const;
  Item MakeItem(size_t result) const;
  void AddItem(Item item, int level);
  int LevelOf(ir::Value v) const;
  int LevelOf(Item& item);
  std::vector<ir::Affine> ExtentForms(ir::Value array) const;
  // Moves out of `items` those that are wanted and use nothing that an item left behind defines.
  static Items Take(Items& items, const std::function<bool(const Item&)>& wanted);

  void Emit(Items items, ir::Value guard, const EmitResult& emit_result);
  // Emits and takes out what is not guarded beyond `guard`.
  void EmitReady(Items& items, ir::Value guard, const EmitResult& emit_result);
  // Emits and takes out what the first one's guard can cover.
  void EmitGroup(Items& items, ir::Value guard, const EmitResult& emit_result);
  std::vector<ir::Value> Escaping(const Items& group) const;
  void EmitInst(const Item& item, bool guarded);
  void EmitIndex(const Item& item, Reg into);

  const AccessContext& c_;
  const Divisions& divisions_;
  std::map<ir::Value, int> levels_;       // of the body's values
  std::map<ir::Value, int> uses_;         // items that use it
  std::vector<std::vector<Item>> items_;  // per level
  int depth_ = 0;                         // open Ifs
};

}  // namespace pullback::loops
