// The driver of the rewrite rules with patterns (core/opt/rules.h): tries them at one instruction.
#pragma once

#include <array>
#include <utility>
#include <vector>

#include "core/opt/definitions.h"
#include "core/opt/rename.h"
#include "core/opt/rules.h"
#include "core/opt/terms.h"

namespace pullback::opt {

class Rewriter {
 public:
  Rewriter(ir::Function& f, const Definitions& defs, Renaming& renaming,
           const RewriteOptions& options)
      : f_(f), defs_(defs), renaming_(renaming), options_(options) {}

  enum class Outcome : uint8_t {
    kNone,     // no rule matches
    kChanged,  // the instruction is another one; others may match now
    kRenamed,  // its value is another one's
  };
  // One rule at most. What the new instruction reads and is not there yet goes to `made`.
  Outcome Apply(ir::Inst& inst, std::vector<ir::Inst>& made);

 private:
  using Pair = std::pair<const Term*, ir::Value>;
  // Pairs of terms and values that have to match yet; by value, since matching backtracks.
  struct Pending {
    std::array<Pair, 8> pairs;
    size_t count = 0;
  };

  bool MayMatch(const Term& pattern, const ir::Inst& inst) const;
  bool IsInDomain(Domain domain, const ir::Inst& inst) const;
  bool Matches(const Rule& rule, const Term& pattern, const ir::Inst& inst);
  bool MatchAll(Pending pending);
  bool MatchOperands(const Term& term, ir::ValueSpan args, const Pending& rest);
  bool IsNumber(ir::Value v, double number) const;
  int UsesOf(ir::Value v);
  Outcome Replace(ir::Inst& inst, const Term& by, std::vector<ir::Inst>& made);
  Outcome ReplaceByValue(const ir::Inst& inst, ir::Value v);
  bool IsGuardFromOutside(ir::Value guard, ir::Value v);
  void FindGuards();
  ir::Value Make(const Term& term, const ir::Inst& root, std::vector<ir::Inst>& made);
  std::vector<ir::Value> MakeOperands(const Term& term, const ir::Inst& root,
                                      std::vector<ir::Inst>& made);

  ir::Function& f_;
  const Definitions& defs_;
  Renaming& renaming_;
  const RewriteOptions& options_;
  int left_ = 1'000'000;   // applications: laws that undid one another would not end
  std::vector<int> uses_;  // counted when first asked for
  // Found when first asked for: the guards, and the statement whose body defines a value; 0: none.
  std::vector<bool> is_guard_;
  std::vector<uint32_t> home_;
  // Of the rule that is tried.
  bool once_ = false;
  std::array<ir::Value, kTermVariables> bound_;
  const Definitions::Extents* extents_ = nullptr;
};

// The instruction becomes a constant.
void SetConst(ir::Inst& inst, uint64_t bits);

}  // namespace pullback::opt
