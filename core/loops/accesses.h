// How the subscripts of a tensor statement are kept in range: proven, checked by an earlier statement, checked once
// before the loops, checked in outer ones, or checked at each point.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "core/ir/ir.h"
#include "core/loops/bounds.h"
#include "core/loops/lowering.h"
#include "core/loops/space.h"

namespace pullback::loops {

// kOutside: at each point of the outer loops that know the subscript.
enum class AxisCheck : uint8_t { kProven, kChecked, kBefore, kOutside, kHere };

struct Access {
  std::vector<AxisCheck> axes;
  // By axis: what kChecked relies on, and what the others make. Without one where nobody asked earlier statements.
  std::vector<Proof> proofs;
  // Loops that must be open for the proofs to hold (and for nothing else).
  int level = 0;

  bool IsProven() const;
};

// What the decisions depend on.
struct AccessContext {
  Lowering& l;
  const ir::Each& each;
  const Space& space;
  const Bounds& bounds;
  const std::set<ir::Value>& body_values;
  // Divisors are not 0: why `bounds` takes what is left of a division for an index.
  const std::vector<Proof>& remainders;
};

// 0 <= subs < extents (affine forms of each axis), with `facts` known. `always`: the access is made
// at every point that holds.
Access PlanAccess(const AccessContext& c, ir::AffineSpan subs, ir::AffineSpan extents,
                  const std::vector<Known>& facts, bool always);

// What an earlier statement has proven, in registers.
std::optional<Proof> ProofOf(const AccessContext& c, const CheckedAccesses::Axis& axis);
// What this one will prove by a check of its own.
Proof NewProof(const AccessContext& c);

// Asks earlier statements about the axes that need a check, for an access under `guard` in the innermost loop.
void UseEarlierChecks(const AccessContext& c, Access& access, ir::AffineSpan subs,
                      ir::AffineSpan extents, ir::Value guard);
// After the nest: later statements may rely on its checks.
void LearnChecks(const AccessContext& c, const Access& access, ir::AffineSpan subs,
                 ir::AffineSpan extents, ir::Value guard);
// What it relies on: its own checks and earlier ones. `guard`: of the access.
Emitter::About AboutAccess(const AccessContext& c, const Access& access, ir::AffineSpan subs,
                           ir::Value guard);

// Emits the checks of axes that are kBefore, in a place where the box is known to hold a point.
void CheckBefore(const AccessContext& c, const Access& access, ir::AffineSpan subs,
                 const std::vector<Reg>& extents, uint32_t loc);
// Emits that of one axis.
void CheckAxis(const AccessContext& c, const Access& access, size_t axis, ir::AffineSpan subs,
               const std::vector<Reg>& extents, uint32_t loc);
// Emits those that are kHere.
void CheckHere(const AccessContext& c, const Access& access, ir::AffineSpan subs,
               const std::vector<Reg>& extents, uint32_t loc);

}  // namespace pullback::loops
