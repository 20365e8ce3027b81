// Valid programs through the whole pipeline: every transform of every entry verifies, and the loops of
// the final IR give the reference's bits.
#include <algorithm>

#include "core/lang/lang.h"
#include "core/pipeline/pipeline.h"
#include "tests/fuzz/arguments.h"
#include "tests/fuzz/program_words.h"
#include "tests/fuzz/run_both.h"
#include "tests/fuzz/tokens.h"

namespace pullback::fuzz {
namespace {

using pipeline::Transform;

void CheckTransform(const ir::Module& ssa, Transform transform, bool optimise,
                    const std::string& text) {
  const std::vector<bool> wrt(ssa.Get(ssa.entry).params().size(), true);
  pipeline::Options options;
  options.optimise = optimise;
  const StatusOr<pipeline::Staged> staged = pipeline::Derive(ssa, transform, wrt, options);
  RequireNotInternal(staged.status(), ir::Print(ssa));
  if (staged.ok()) RunBoth(staged->final, ArgumentsOf(staged->final, text));
}

void CheckEntry(const lang::Program& program, const std::string& entry, const std::string& text) {
  lang::Limits limits;
  limits.max_ir_insts = 3000;
  const StatusOr<ir::Module> ssa = lang::Lower(program, entry, limits);
  if (!ssa.ok()) return;
  for (Transform t : {Transform::kValue, Transform::kVjp, Transform::kJvp}) {
    CheckTransform(*ssa, t, true, text);
    CheckTransform(*ssa, t, false, text);
  }
}

void Run(const std::string& text) {
  StatusOr<lang::Program> program = lang::Parse(text);
  if (!program.ok() || !lang::Check(*program).ok()) return;
  const size_t entries = std::min<size_t>(program->user_functions, 2);
  for (size_t f = program->user_functions - entries; f < program->user_functions; ++f)
    CheckEntry(*program, program->functions[f]->name, text);
}

}  // namespace
}  // namespace pullback::fuzz

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  return pullback::fuzz::MutateText(data, size, max_size, seed, pullback::fuzz::ProgramWords());
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 4096) return 0;
  pullback::fuzz::Run(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
