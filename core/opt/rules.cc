#include "core/opt/rules.h"

#include <cstdio>
#include <cstdlib>

namespace pullback::opt {
namespace {

// Floats: what holds for every IEEE value, bit for bit, but for the domains kRing and kFast.
constexpr Rule kRules[] = {
    // (a) out of loops of blocks: core/opt/motion.cc.
    {Family::kLambda, "float_invariant"},
    {Family::kLambda, "float_invariant_statement"},

    // (b)
    {Family::kRing, "add_zero", Domain::kNumber, "add(a, -0)", "a"},
    {Family::kRing, "add_plus_zero", Domain::kFast, "add(a, 0)", "a"},
    {Family::kRing, "sub_zero", Domain::kNumber, "sub(a, 0)", "a"},
    {Family::kRing, "mul_one", Domain::kNumber, "mul(a, 1)", "a"},
    {Family::kRing, "div_one", Domain::kNumber, "div(a, 1)", "a"},
    {Family::kRing, "smul_one", Domain::kFloat, "smul(a, 1)", "a"},
    {Family::kRing, "smul_by_one", Domain::kFloat, "smul(1, a)", "a"},
    {Family::kRing, "mul_zero", Domain::kRing, "mul(a, 0)", "0"},
    {Family::kRing, "smul_zero", Domain::kFloat, "smul(0, a)", "0"},
    {Family::kRing, "smul_minus_zero", Domain::kFloat, "smul(-0, a)", "0"},
    {Family::kRing, "sub_self", Domain::kRing, "sub(a, a)", "0"},
    {Family::kRing, "add_negation", Domain::kRing, "add(a, neg(a))", "0"},
    {Family::kRing, "factor_sum", Domain::kRing, "add(mul(a, b), mul(a, c))", "mul(a, add(b, c))",
     true},
    {Family::kRing, "factor_difference", Domain::kRing, "sub(mul(a, b), mul(a, c))",
     "mul(a, sub(b, c))", true},
    {Family::kRing, "neg_neg", Domain::kNumber, "neg(neg(a))", "a"},
    {Family::kRing, "pow_zero", Domain::kFloat, "pow(a, 0)", "1"},
    {Family::kRing, "pow_one", Domain::kFloat, "pow(a, 1)", "a"},
    {Family::kRing, "pow_two", Domain::kFloat, "pow(a, 2)", "mul(a, a)"},

    // (c) get of build is core/opt/fuse.cc.
    {Family::kFusion, "length_of_build", Domain::kAny, "dim(build)", "extent"},

    // (d)
    {Family::kConditional, "select_true", Domain::kBool, "select(true, a, b)", "a"},
    {Family::kConditional, "select_false", Domain::kBool, "select(false, a, b)", "b"},
    {Family::kConditional, "select_equal_arms", Domain::kBool, "select(a, b, b)", "b"},
    {Family::kConditional, "select_not", Domain::kBool, "select(not(a), b, c)", "select(a, c, b)"},
    {Family::kConditional, "select_condition", Domain::kBool, "select(a, true, false)", "a"},
    // What SolveExists leaves of a quantifier outside of statements.
    {Family::kConditional, "select_as_number", Domain::kNumber, "gt(select(a, 1, 0), 0)", "a"},
    {Family::kConditional, "select_as_negated_number", Domain::kNumber, "gt(select(a, 0, 1), 0)",
     "not(a)"},
    {Family::kConditional, "select_as_number_or_least", Domain::kNumber,
     "gt(select(a, 1, select(b, 0, -9223372036854775808)), 0)", "a"},
    {Family::kConditional, "and_true", Domain::kBool, "and(a, true)", "a"},
    {Family::kConditional, "and_false", Domain::kBool, "and(a, false)", "false"},
    {Family::kConditional, "and_self", Domain::kBool, "and(a, a)", "a"},
    {Family::kConditional, "or_true", Domain::kBool, "or(a, true)", "true"},
    {Family::kConditional, "or_false", Domain::kBool, "or(a, false)", "a"},
    {Family::kConditional, "or_self", Domain::kBool, "or(a, a)", "a"},
    {Family::kConditional, "not_not", Domain::kBool, "not(not(a))", "a"},
    {Family::kConditional, "eq_self", Domain::kDiscrete, "eq(a, a)", "true"},
    {Family::kConditional, "le_self", Domain::kDiscrete, "le(a, a)", "true"},
    {Family::kConditional, "ge_self", Domain::kDiscrete, "ge(a, a)", "true"},
    {Family::kConditional, "ne_self", Domain::kDiscrete, "ne(a, a)", "false"},
    {Family::kConditional, "lt_self", Domain::kDiscrete, "lt(a, a)", "false"},
    {Family::kConditional, "gt_self", Domain::kDiscrete, "gt(a, a)", "false"},

    // (e) of loops of blocks: core/opt/loop_rules.cc.
    {Family::kLoop, "loop_never_entered"},
    {Family::kLoop, "loop_peeled"},
    {Family::kLoop, "loop_without_result"},
    {Family::kLoop, "loop_single_hit"},

    // (g) where a part moves out of a loop: core/opt/fission.cc.
    {Family::kFission, "fission_of_invariants"},
};

}  // namespace

std::span<const Rule> Rules() { return kRules; }

const char* FamilyName(Family family) {
  static constexpr const char* kNames[kFamilyCount] = {"8a", "8b", "8c", "8d", "8e", "8f", "8g"};
  return kNames[static_cast<int>(family)];
}

size_t FindRule(std::string_view name) {
  for (size_t k = 0; k < std::size(kRules); ++k) {
    if (kRules[k].name == name) return k;
  }
  std::fprintf(stderr, "no rewrite rule '%.*s'\n", static_cast<int>(name.size()), name.data());
  std::abort();
}

std::string ToString(const RuleCounts& counts) {
  std::string text;
  for (size_t k = 0; k < std::size(kRules); ++k) {
    if (counts.fired[k] == 0) continue;
    const Rule& rule = kRules[k];
    char line[160];
    std::snprintf(line, sizeof line, "%s  %-26s %8llu", FamilyName(rule.family), rule.name,
                  static_cast<unsigned long long>(counts.fired[k]));
    text += line;
    if (rule.pattern) text += std::string("  ") + rule.pattern + " -> " + rule.replacement;
    text += '\n';
  }
  return text;
}

}  // namespace pullback::opt
