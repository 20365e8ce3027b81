// What ended a run, as a Status that speaks of the text that was sent.
#pragma once

#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/ir/ir.h"
#include "core/lang/lang.h"

namespace pullback::jit {

// Places of a text by ordinal, and the text for excerpts.
struct Places {
  const std::vector<lang::Place>& places;
  const std::string& text;
};

struct Trap {
  ir::TrapKind kind;
  uint32_t loc;  // ordinal; 0: none
  int64_t a;     // details, see ir::TrapKind
  int64_t b;
};

// Codes and reasons as Engine::Run, with a diagnostic at the place where there is one.
Status TrapStatus(const Trap& trap, const Places& places);

// A status of the pipeline, which names a place as an ordinal: a trailing " !12" of the message becomes
// a diagnostic. Others are given back as they are.
Status PlaceStatus(const Status& status, const Places& places);

}  // namespace pullback::jit
