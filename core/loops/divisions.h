// How divisors of integers in a tensor statement are kept from being 0: by a constant, by the loops around, by a check before
// these, by one that an earlier statement made, or by one at each point.
//
//   %v = each(i < %m) { %r = rem %i, %n … }   if %m > 0 { check %n != 0 }  for %i in 0..%m { … rem(%i, %n) … }
#pragma once

#include <map>
#include <vector>

#include "core/loops/accesses.h"

namespace pullback::loops {

class Divisions {
 public:
  explicit Divisions(const AccessContext& c) : c_(c) {}

  // Once the loops are known. What is divided by the extent of an array leaves an index of it: `bounds` learns that, and
  // `remainders` why (AccessContext).
  void Plan(Bounds& bounds, std::vector<Proof>& remainders);
  // Whether `inst` stays in the innermost loop: an outer one may run where nothing has been checked.
  bool StaysInside(const ir::Inst& inst) const { return plans_.contains(&inst); }
  bool HasChecksBefore() const;
  bool ChecksAt(const ir::Inst& inst) const;
  // In a place where the box is known to hold a point.
  void CheckBefore(const ir::Inst& inst) const;
  // With its check, if that is made here.
  void Emit(const ir::Inst& inst, Reg into) const;
  // After the nest: later statements may rely on these checks.
  void LearnChecks() const;

 private:
  enum class Check : uint8_t { kProven, kBefore, kEarlier, kHere };
  struct Division {
    Check check;
    Proof proof;  // relied on if kEarlier, made if kBefore or kHere
  };

  int LevelNotZero(ir::Value divisor, const Bounds& bounds) const;
  bool IsOutside(ir::Value divisor) const;
  Division PlanOf(const ir::Inst& inst) const;
  CheckedAccesses::Axis AxisOf(const ir::Inst& inst) const;

  const AccessContext& c_;
  std::map<const ir::Inst*, Division> plans_;  // of those that might divide by 0
  std::vector<const ir::Inst*> order_;
};

}  // namespace pullback::loops
