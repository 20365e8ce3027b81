// Patterns of functions with derivatives of their own (rules.h): those of the rules, since these say which element
// of a result a derivative has by which element of a parameter, whatever the function computes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/ad/set_lists.h"
#include "core/ad/sparse_pattern.h"

namespace pullback::ad {

// Whether the marked parameters of f, and what depends on them, decide nothing: no comparison or integer is made
// of them, nothing that breaks off a derivative, and no function with rules takes them.
bool OnlyCarries(const ir::Module& module, uint32_t f, const std::vector<bool>& params);

// Writes the code of `target`, (width, params of f…, sets of the active ones…) -> (results of f…, sets of every
// result that carries a tangent…).
class SetsByRule {
 public:
  using CalleeOf = std::function<std::optional<uint32_t>(uint32_t, const std::vector<bool>&)>;

  // active: by parameter of f, which is without a tape.
  SetsByRule(ir::Module& module, uint32_t f, uint32_t target, const std::vector<bool>& active,
             const SparseFunctions& functions, SetLists& lists);

  // The rule whose sets say it, and which of its parameters have some: the tangents of the active ones, or of a
  // function with a vjp rule alone the seeds.
  uint32_t function() const { return rule_; }
  const std::vector<bool>& active() const { return rule_active_; }

  // `followed`: the rule has a function with sets. Else every element of the results has those of all that is
  // active. False where lists of floats are in the way.
  bool Write(bool followed, const CalleeOf& callee_of);

 private:
  bool HasLists() const;
  void Declare();
  std::vector<ir::Value> Zeros(const std::vector<ir::Value>& like);
  void ByTangents(uint32_t sets_function);
  void BySeeds(uint32_t sets_function);
  void Everywhere();
  std::vector<ir::Value> EmptySets(const std::vector<ir::Value>& results);
  ir::Value Elements(ir::Value v);

  ir::Module& module_;
  const uint32_t f_;
  const std::vector<bool> active_;
  const SparseFunctions functions_;
  SetLists& lists_;
  ir::Builder b_;
  bool forward_;
  uint32_t rule_;
  std::vector<bool> rule_active_;
  ir::Value width_;
  std::vector<ir::Value> params_;
  std::vector<ir::Value> sets_;  // by parameter
};

}  // namespace pullback::ad
