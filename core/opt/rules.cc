#include "core/opt/rules.h"

#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <numeric>

namespace pullback::opt {

using By = Rule::AppliedBy;

constinit const Rule kRules[] = {
#define PATTERN(family, id, name, domain, left, right) \
  {Family::k##family, name, left, right, By::kDriver, Domain::k##domain},
#define PATTERN_ONCE(family, id, name, domain, left, right) \
  {Family::k##family, name, left, right, By::kDriver, Domain::k##domain, true},
#define PASS(family, id, name, left, right, where) \
  {Family::k##family, name, left, right, By::kPass, Domain::kAny, false, where},
#define NEVER(family, id, name, left, right, why) \
  {Family::k##family, name, left, right, By::kNobody, Domain::kAny, false, why},
#include "core/opt/rules.def"
};

std::span<const Rule> Rules() { return kRules; }

const char* FamilyName(Family family) {
  static constexpr const char* kNames[kFamilyCount] = {"8a", "8b", "8c", "8d", "8e", "8f", "8g"};
  return kNames[static_cast<int>(family)];
}

RuleId FindRule(std::string_view name) {
  for (size_t k = 0; k < std::size(kRules); ++k) {
    if (kRules[k].name == name) return static_cast<RuleId>(k);
  }
  std::fprintf(stderr, "no rewrite rule '%.*s'\n", static_cast<int>(name.size()), name.data());
  std::abort();
}

uint64_t RuleCounts::Total() const {
  return std::accumulate(fired.begin(), fired.end(), uint64_t{0});
}

std::string ToString(const RuleCounts& counts) {
  std::string text;
  for (size_t k = 0; k < std::size(kRules); ++k) {
    if (counts.fired[k] == 0) continue;
    const Rule& rule = kRules[k];
    char line[80];
    std::snprintf(line, sizeof line, "%s  %-26s %8llu", FamilyName(rule.family), rule.name,
                  static_cast<unsigned long long>(counts.fired[k]));
    text += std::string(line) + "  " + rule.left + " -> " + rule.right + '\n';
  }
  return text;
}

}  // namespace pullback::opt
