// The one wrapper around every pass: times it, verifies what it made, shows it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/opt/simplify.h"
#include "core/pipeline/pipeline.h"
#include "core/tensor/normalise.h"

namespace pullback::pipeline {

class PassRunner {
 public:
  PassRunner(std::vector<PassTiming>* timings, const Observer& observer,
             const Options& options = {})
      : timings_(timings),
        observer_(observer),
        mixed_(options.mixed),
        max_insts_(options.max_insts) {
    rules_.fast_math = options.fast_math;
    rules_.families = options.rule_families;
    counts_.fuel = options.rule_fuel;
    rules_.counts = &counts_;
    rules_.settled = &settled_;
  }
  // The observer is not copied, so a temporary will not do.
  PassRunner(std::vector<PassTiming>*, Observer&&, const Options& = {}) = delete;
  PassRunner(const PassRunner&) = delete;
  PassRunner& operator=(const PassRunner&) = delete;

  // Runs pass(module), a callable that gives a Status. A module that does not verify afterwards is
  // INTERNAL and its message names the pass. What the pass has not changed is not verified again.
  // INVALID_ARGUMENT, PROGRAM_TOO_LARGE for more than Options::max_insts instructions; what the Work
  // around it was ended by, which is asked inside the pass too.
  Status Run(const std::string& name, ir::Module& module,
             const std::function<Status(ir::Module&)>& pass);
  // What make() gives, which no pass is, as long as it is wanted and makes no more than a pass may.
  Status Bounded(const std::function<Status()>& make) const;
  Status Simplify(ir::Module& module) {
    return Run("simplify", module, [this](ir::Module& m) { return opt::Simplify(m, rules_); });
  }
  Status Normalise(ir::Module& module) {
    return Run("normalise", module,
               [this](ir::Module& m) { return tensor::NormaliseTensors(m, may_pin()); });
  }
  // Whether an index that an equation gives may go: it is counted, and has fuel.
  tensor::MayPin may_pin() const {
    return [this] { return rules_.Take(opt::RuleId::kSumSingleHit); };
  }
  Status Fuse(const std::string& name, ir::Module& module, bool only_free) {
    return Run(name, module,
               [&](ir::Module& m) { return opt::FuseStatements(m, only_free, rules_); });
  }

  const opt::RewriteOptions& rules() const { return rules_; }
  opt::RuleCounts& counts() { return counts_; }  // of all passes so far
  ad::Mixed mixed() const { return mixed_; }

 private:
  Status Verify(const ir::Module& module);

  std::vector<PassTiming>* timings_;
  const Observer& observer_;
  ad::Mixed mixed_;
  size_t max_insts_;
  opt::RuleCounts counts_;
  opt::SettledFunctions settled_;
  opt::RewriteOptions rules_;
  std::optional<uint64_t> verified_;  // fingerprint of the module that was verified last
};

}  // namespace pullback::pipeline
