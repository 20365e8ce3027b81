// The body of a tensor statement: each instruction is evaluated in the outermost loop that knows its
// operands, and instructions with the same guard share one If. So are integers that are read, and the checks of subscripts
// that data say, where the loops inside run at all:
//
//   for p in 0..m { for i in 0..h {            for p in 0..m { if h > 0 { j = idx[p]; check j < n }
//     j = idx[p]; check j < n                    for i in 0..h { … x[j, i] … }
//     … x[j, i] … } }                          }
#pragma once

#include <deque>
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
  // Before everything else of the nest.
  void Begin();
  // Whether v is known where `level` loops are open.
  bool IsKnownAt(ir::Value v, int level) const { return LevelOf(v) <= level; }
  // Loops inside those of `level` are entered where the guard is true only.
  void HoldInside(ir::Value guard, int level) {
    held_ = guard;
    held_level_ = level;
  }
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
    std::optional<size_t> axis;   // of the Index whose check this is
    bool traps = false;           // where it is evaluated
  };
  using Items = std::list<const Item*>;

  Item MakeItem(const ir::Inst& inst) const;
  Item MakeItem(size_t result) const;
  void AddItem(Item item, int level);
  void AddIndex(Item item);
  void CheckOutside(Item& read);
  int LevelOf(ir::Value v) const;
  int LevelOf(const ir::Affine& a) const;
  int LevelOf(const Item& item) const;
  int LevelOfTrap(int known);
  ir::Value SomeInside(int level);
  std::vector<ir::Affine> ExtentForms(ir::Value array) const;
  // Moves out of `items` those that are wanted and use nothing that an item left behind defines; what may trap not beyond
  // what may.
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
  std::map<ir::Value, int> levels_;      // of the body's values
  std::map<ir::Value, int> uses_;        // items that use it
  std::deque<Item> all_;                 // in order
  std::vector<Items> items_;             // of them, per level
  std::map<int, ir::Value> some_;        // by level: whether the loops inside have turns
  std::map<ir::Value, Reg> conditions_;  // these, computed
  int trap_level_ = 0;                   // of what may trap so far: in the order of the text
  int depth_ = 0;                        // open Ifs
  ir::Value held_;                       // HoldInside
  int held_level_ = 0;
};

}  // namespace pullback::loops
