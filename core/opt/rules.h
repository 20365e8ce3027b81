// The rewrite rules as data (Figure 8 of dF~, Shaikhha et al.): what is replaced by what, under which condition.
// A rule with a pattern is applied by the driver of core/opt/rewrite.h; one without is a pass, which counts what
// it does under the rule's name. docs/dftilde.md has the table with where each of them lives.
#pragma once

#include <absl/container/flat_hash_set.h>

#include <cstdint>
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

// Patterns and replacements are terms: an op of the IR over terms, a variable (a, b, c: any value, the same one
// wherever it stands), a number, true or false. Operands of ops that commute are tried in both orders. `build`
// is any value whose extents are known, `extent` the one that is asked for.
struct Rule {
  Family family;
  const char* name;
  Domain domain = Domain::kAny;
  const char* pattern = nullptr;
  const char* replacement = nullptr;
  bool once =
      false;  // nested terms of the pattern have no other use: otherwise the work would grow
};
std::span<const Rule> Rules();
size_t FindRule(std::string_view name);  // stops the program where there is none

// How often each rule was applied, by its place in Rules().
struct RuleCounts {
  std::vector<uint64_t> fired = std::vector<uint64_t>(Rules().size());
  void Add(std::string_view rule, uint64_t times = 1) { fired[FindRule(rule)] += times; }
};
// A line for each rule that was applied: family, name, how often, what it says.
std::string ToString(const RuleCounts& counts);

// Fingerprints of functions that Simplify, with these options, has found nothing to do in.
using SettledFunctions = absl::flat_hash_set<uint64_t>;

struct RewriteOptions {
  bool fast_math = false;
  uint32_t families = ~0U;    // bit k: the k-th of Family
  uint64_t fuel = 1'000'000;  // rewrites in one function at most
  RuleCounts* counts = nullptr;
  SettledFunctions* settled =
      nullptr;  // if there is one, Simplify leaves them alone, and adds to them

  bool Has(Family f) const { return (families >> static_cast<int>(f) & 1) != 0; }
  void Count(std::string_view rule, uint64_t times = 1) const {
    if (counts && times != 0) counts->Add(rule, times);
  }
};

}  // namespace pullback::opt
