// The stages of a program as text.
#pragma once

#include <string>

#include "core/base/status.h"
#include "jit/backend.h"
#include "jit/engine.h"
#include "jit/progress.h"
#include "jit/reading.h"

namespace pullback::jit {

// NOT_FOUND, UNKNOWN_STAGE.
Status CheckStage(const std::string& stage);

// As Engine::Explain: each stage is what the next one consumes when the kernel is made.
StatusOr<std::string> ExplainStage(Reading reading, const Build& build, const lang::Limits& limits,
                                   Backend& backend, const std::string& stage, const Inputs* inputs,
                                   Progress& progress);

}  // namespace pullback::jit
