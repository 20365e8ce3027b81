// The one wrapper around every pass: times it, verifies what it made, shows it.
#pragma once

#include <string>
#include <vector>

#include "core/pipeline/pipeline.h"

namespace pullback::pipeline {

class PassRunner {
 public:
  PassRunner(std::vector<PassTiming>* timings, const Observer& observer)
      : timings_(timings), observer_(observer) {}

  // Runs pass(module), a callable that gives a Status. A module that does not verify afterwards is
  // INTERNAL and its message names the pass.
  Status Run(const std::string& name, ir::Module& module,
             const std::function<Status(ir::Module&)>& pass);

 private:
  std::vector<PassTiming>* timings_;
  const Observer& observer_;
};

}  // namespace pullback::pipeline
