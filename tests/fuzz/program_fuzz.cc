// Any text through the front end: no crash, no fault of ours, and formatting is stable.
#include <algorithm>

#include "core/ir/printer.h"
#include "core/ir/verifier.h"
#include "core/lang/lang.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/program_words.h"
#include "tests/fuzz/tokens.h"

namespace pullback::fuzz {
namespace {

lang::Limits SmallLimits() {
  lang::Limits limits;
  limits.max_source_bytes = 1 << 16;
  limits.max_ir_insts = 20000;
  limits.max_array_literal = 4096;
  return limits;
}

void CheckFormat(const lang::Program& program) {
  const std::string once = lang::Format(program);
  const StatusOr<lang::Program> again = lang::Parse(once);
  Require(again.ok(), "formatted text parses: " + again.status().ToString(), once);
  Require(lang::Format(*again) == once, "formatting again changes nothing", once);
}

void CheckEntry(const lang::Program& program, const std::string& entry) {
  RequireNotInternal(lang::GetSignature(program, entry).status());
  RequireNotInternal(lang::Canonicalise(program, entry).status());
  lang::DumpAst(program, entry);
  const StatusOr<ir::Module> module = lang::Lower(program, entry, SmallLimits());
  RequireNotInternal(module.status(), entry);
  if (!module.ok()) return;
  const Status valid = ir::Verify(*module);
  Require(valid.ok(), valid.ToString(), ir::Print(*module));
}

void Run(const std::string& text) {
  StatusOr<lang::Program> program = lang::Parse(text, SmallLimits());
  RequireNotInternal(program.status());
  if (!program.ok()) return;
  CheckFormat(*program);
  const Status checked = lang::Check(*program, SmallLimits());
  RequireNotInternal(checked);
  if (!checked.ok()) return;
  const size_t entries = std::min<size_t>(program->user_functions, 4);
  for (size_t f = 0; f < entries; ++f) CheckEntry(*program, program->functions[f]->name);
}

}  // namespace
}  // namespace pullback::fuzz

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  return pullback::fuzz::MutateText(data, size, max_size, seed, pullback::fuzz::ProgramWords());
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  pullback::fuzz::Run(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
