// Any text as IR: no crash; what verifies prints and parses back to the same text, survives the
// clean-up and normal form passes as valid IR, and its loops give the reference's bits.
#include <algorithm>

#include "core/ir/parser.h"
#include "core/ir/verifier.h"
#include "core/opt/simplify.h"
#include "core/tensor/normalise.h"
#include "tests/fuzz/arguments.h"
#include "tests/fuzz/run_both.h"
#include "tests/fuzz/tokens.h"

namespace pullback::fuzz {
namespace {

const std::vector<const char*>& Words() {
  static const std::vector<const char*> words = {
#define OP(name, mnemonic, arity, rule, flags) mnemonic,
#include "core/ir/ops.def"
#undef OP
      "fn",   "entry", "ret", "jump", "br",     "where",   "if",   "gen",  "sum",    "prod",
      "max",  "min",   "and", "of",   "f64",    "f32",     "i64",  "bool", "[*]f64", "[*,*]f64",
      "tape", "%x",    "%n",  "%i",   "%j",     "0",       "1",    "2",    "-1",     "1.0",
      "nan",  "true",  "(",   ")",    "[",      "]",       ",",    ":",    "==",     "<=",
      "<",    "b0",    "b1",  "b2",   "i < %n", "%i + %j", "2*%i", "!1",   "if %g",  "\n"};
  return words;
}

void CheckRoundTrip(const ir::Module& module) {
  const std::string text = ir::Print(module);
  const StatusOr<ir::Module> again = ir::ParseModule(text);
  Require(again.ok(), again.status().ToString(), text);
  const Status valid = ir::Verify(*again);
  Require(valid.ok(), valid.ToString(), text);
  const std::string twice = ir::Print(*again);
  Require(twice == text, "printing again gives the same text", text + "\nagain:\n" + twice);
}

void CheckPasses(ir::Module module) {
  const std::string before = ir::Print(module);
  using Pass = Status (*)(ir::Module&);
  const Pass normalise = [](ir::Module& subject) { return tensor::NormaliseTensors(subject); };
  const Pass simplify = [](ir::Module& subject) { return opt::Simplify(subject); };
  for (const Pass pass : {simplify, normalise, simplify, Pass{opt::LowerStrongMultiplies}}) {
    RequireNotInternal(pass(module), before);
    const Status valid = ir::Verify(module);
    Require(valid.ok(), valid.ToString(), before + ir::Print(module));
  }
}

// Whether it has what is gone before there are loops: boxes, and derivatives that are asked for.
bool IsUnfinished(const std::vector<ir::Inst>& insts) {
  using ir::Op;
  constexpr Op kGone[] = {Op::Jvp, Op::Vjp, Op::BoxNew, Op::BoxGet, Op::BoxSet};
  return std::any_of(insts.begin(), insts.end(), [&](const ir::Inst& inst) {
    return std::find(std::begin(kGone), std::end(kGone), inst.op) != std::end(kGone) ||
           (inst.each && IsUnfinished(inst.each->body));
  });
}

bool IsUnfinished(const ir::Module& module) {
  return std::any_of(module.functions.begin(), module.functions.end(), [](const auto& f) {
    return std::any_of(f->blocks.begin(), f->blocks.end(),
                       [](const ir::Block& b) { return IsUnfinished(b.insts); });
  });
}

void Run(const std::string& text) {
  StatusOr<ir::Module> module = ir::ParseModule(text);
  RequireNotInternal(module.status());
  if (!module.ok() || module->functions.empty() || !ir::Verify(*module).ok()) return;
  CheckRoundTrip(*module);
  CheckPasses(module->Clone());
  if (!TakesValues(*module) || IsUnfinished(*module)) return;
  const std::vector<Tensor> args = ArgumentsOf(*module, text);
  RequireNotInternal(opt::RemoveMarkers(*module), text);
  if (!opt::LowerStrongMultiplies(*module).ok()) return;
  RunBoth(*module, args);
}

}  // namespace
}  // namespace pullback::fuzz

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  return pullback::fuzz::MutateText(data, size, max_size, seed, pullback::fuzz::Words());
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 8192) return 0;
  pullback::fuzz::Run(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
