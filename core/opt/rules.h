// The rules of Figure 8 of dF~ (Shaikhha et al.) as data: what is replaced by what, under which condition, and who
// does it. The driver of core/opt/rewrite.h applies those whose law is a pattern of instructions; passes apply the
// others, and ask Take before each application; some the engine never needs, and their rows say why. So fuel bounds
// the rewrites of a whole compilation, whatever applies them, and a family that is off does nothing.
//
// Outside of fuel stands what no rule of the figure is and what the form of the IR needs: the evaluation of constants,
// the layout of blocks (unreachable ones go, since no pass on loops may see them; a jump to a block of one way in is
// gone), functions that nobody calls, affine forms, what core/tensor does but for pinned indices, and what a program
// must go through to run at all: boxes, operators, strong multiplies, markers. No rule of the table is needed for a
// program to run. docs/dftilde.md has the table.
#pragma once

#include <absl/container/flat_hash_set.h>

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pullback::opt {

// The parts of Figure 8.
enum class Family : uint8_t {
  kLambda,       // 8a: inlining, dead code, common subexpressions, motion
  kRing,         // 8b: + and * form a ring
  kFusion,       // 8c: get and length of build
  kConditional,  // 8d
  kLoop,         // 8e
  kTuple,        // 8f
  kFission,      // 8g
};
inline constexpr int kFamilyCount = 7;
const char* FamilyName(Family family);  // "8a"

// For which types of the rewritten instruction's first operand a rule holds.
enum class Domain : uint8_t {
  kAny,
  kBool,
  kFloat,
  kNumber,    // i64 and floats
  kDiscrete,  // i64 and bool
  kRing,      // i64; floats under fast_math, since IEEE floats are no ring
  kFast,      // floats under fast_math
};

// By its place in Rules().
enum class RuleId : uint8_t {
#define PATTERN(family, id, name, domain, left, right) k##id,
#define PATTERN_ONCE(family, id, name, domain, left, right) k##id,
#define PASS(family, id, name, left, right, where) k##id,
#define NEVER(family, id, name, left, right, why) k##id,
#include "core/opt/rules.def"
};

// left -> right. Patterns are terms: an op of the IR over terms, a variable (a, b, c: any value, the same one wherever
// it stands), a number, true or false. Operands of ops that commute are tried in both orders. `build` is any value
// whose extents are known, `extent` the one that is asked for. Laws of passes are for reading (core/opt/rules.def).
struct Rule {
  enum class AppliedBy : uint8_t { kDriver, kPass, kNobody };

  Family family;
  const char* name;
  const char *left, *right;
  AppliedBy by;
  Domain domain = Domain::kAny;  // of a pattern
  // A pattern's nested terms have no other use: otherwise the work would grow.
  bool once = false;
  const char* note = "";  // kPass: in which file; kNobody: why

  bool IsPattern() const { return by == AppliedBy::kDriver; }
};
extern const Rule kRules[];
std::span<const Rule> Rules();
inline const Rule& Get(RuleId id) { return kRules[static_cast<size_t>(id)]; }
RuleId FindRule(std::string_view name);  // stops the program where there is none

// What a compilation has done by rules and may still do.
struct RuleCounts {
  std::vector<uint64_t> fired = std::vector<uint64_t>(Rules().size());  // by place in Rules()
  uint64_t fuel = std::numeric_limits<uint64_t>::max();                 // rewrites that are left

  uint64_t Of(RuleId id) const { return fired[static_cast<size_t>(id)]; }
  uint64_t Total() const;
};
// A line for each rule that was applied: family, name, how often, what it says.
std::string ToString(const RuleCounts& counts);

// Fingerprints of functions that Simplify, with these options, has found nothing to do in.
using SettledFunctions = absl::flat_hash_set<uint64_t>;

inline constexpr uint32_t kAllFamilies = (1U << kFamilyCount) - 1;

struct RewriteOptions {
  bool fast_math = false;
  uint32_t families = kAllFamilies;  // bit k: the k-th of Family
  RuleCounts* counts = nullptr;      // without one nobody counts, and fuel is without end
  SettledFunctions* settled =
      nullptr;  // if there is one, Simplify leaves them alone, and adds to them

  bool Has(Family f) const { return (families >> static_cast<int>(f) & 1) != 0; }
  uint64_t Fuel() const { return counts ? counts->fuel : std::numeric_limits<uint64_t>::max(); }
  bool May(RuleId id, uint64_t times = 1) const { return Has(Get(id).family) && Fuel() >= times; }
  // Whether the rule may be applied now, so many times or not at all; whoever is told so does it.
  bool Take(RuleId id, uint64_t times = 1) const {
    if (!May(id, times)) return false;
    if (!counts) return true;
    counts->fuel -= times;
    counts->fired[static_cast<size_t>(id)] += times;
    return true;
  }
};

}  // namespace pullback::opt
