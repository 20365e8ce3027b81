// Everything about a request that comes from its text alone, before a kernel is looked for.
#pragma once

#include <memory>
#include <string>

#include "core/lang/lang.h"
#include "jit/engine.h"
#include "jit/key.h"
#include "jit/progress.h"

namespace pullback::jit {

struct Reading {
  std::string text;
  bool written = false;
  std::string entry;
  lang::Program program;  // checked
  lang::Canonical canonical;
  lang::Signature signature;
  Derivation derivation;
};

// Stages parse, check, key. Errors as Engine::Compile.
StatusOr<Reading> ReadProgram(const KernelRequest& request, const lang::Limits& limits,
                              Progress& progress);

// What a handle keeps of a text. Consumes the program.
std::shared_ptr<const TextView> MakeView(Reading reading);
// About how much memory it takes.
size_t ViewBytes(const TextView& view);

}  // namespace pullback::jit
