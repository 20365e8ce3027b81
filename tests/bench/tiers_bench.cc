// How long each tier takes from loops to code that can run, for every function of docs/examples and its
// gradient.
//
//   bench_tiers [--rounds N]     (9)
//
// Medians in microseconds; the ratio is LLVM's at O0 over tier 0's. "patience" is what tier 0 may run
// before LLVM takes over (jit/tiers.h), which should be about what O2 takes.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <regex>
#include <string>
#include <vector>

#include "core/lang/lang.h"
#include "core/loops/lower.h"
#include "core/pipeline/pipeline.h"
#include "jit/baseline/baseline_backend.h"
#include "jit/llvm/llvm_backend.h"
#include "jit/tiers.h"
#include "tests/support/paths.h"

namespace pullback::bench {
namespace {

using pipeline::Transform;

constexpr const char* kSinCos = "fn sincos(x: f64) -> f64 { return sin(cos(x)) }\n";

std::optional<loops::Module> LoopsOf(const std::string& text, const std::string& entry,
                                     Transform transform) {
  const lang::Limits limits;
  StatusOr<lang::Program> program = lang::Parse(text, limits);
  if (!program.ok() || !lang::Check(*program, limits).ok()) return std::nullopt;
  StatusOr<ir::Module> ssa = lang::Lower(*program, entry, limits);
  if (!ssa.ok()) return std::nullopt;
  const std::vector<bool> wrt(ssa->Get(ssa->entry).params().size(), true);
  auto staged = pipeline::Derive(*ssa, transform, wrt, {});
  if (!staged.ok()) return std::nullopt;
  StatusOr<loops::Module> module = loops::LowerToLoops(staged->final);
  if (!module.ok()) return std::nullopt;
  return std::move(*module);
}

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

struct Made {
  double microseconds = 0;
  std::unique_ptr<jit::LoadedCode> code;
};

Made Make(jit::Backend& backend, const loops::Module& module, int level, int rounds) {
  std::vector<double> times;
  Made made;
  for (int round = 0; round < rounds; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    auto object = backend.Compile(module, {level});
    if (!object.ok()) std::exit(1);
    made.code = backend.Load(*object).value();
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
    times.push_back(took.count());
  }
  made.microseconds = Median(times);
  return made;
}

int Main(int argc, char** argv) {
  int rounds = 9;
  if (argc == 3 && std::strcmp(argv[1], "--rounds") == 0) {
    rounds = std::atoi(argv[2]);
  } else if (argc != 1) {
    std::fprintf(stderr, "usage: bench_tiers [--rounds N]\n");
    return 2;
  }
  const auto llvm = jit::MakeLlvmBackend().value();
  const auto baseline = jit::MakeBaselineBackend().value();
  std::vector<std::pair<std::string, std::string>> programs = {{"sincos", kSinCos}};
  for (const auto& entry :
       std::filesystem::directory_iterator(testing::SourcePath("docs/examples"))) {
    if (entry.path().extension() == ".pull") {
      programs.emplace_back(
          entry.path().stem().string(),
          testing::ReadSourceFile("docs/examples/" + entry.path().filename().string()));
    }
  }
  std::sort(programs.begin() + 1, programs.end());
  std::printf("| | tier 0 | LLVM O0 | O2 | O0 / tier 0 | patience |\n|---|---|---|---|---|---|\n");
  double least = 1e9;
  const std::regex function("(^|\n)fn (\\w+)\\(");
  for (const auto& [name, text] : programs) {
    for (std::sregex_iterator at(text.begin(), text.end(), function), end; at != end; ++at) {
      const std::string entry = (*at)[2];
      for (const Transform transform : {Transform::kValue, Transform::kValueAndGrad}) {
        const auto module = LoopsOf(text, entry, transform);
        if (!module) continue;  // a gradient of what is no number
        Made zero = Make(*baseline, *module, 0, 5 * rounds);
        const double o0 = Make(*llvm, *module, 0, rounds).microseconds;
        const double o2 = Make(*llvm, *module, 2, std::max(1, rounds / 3)).microseconds;
        const double took = zero.microseconds;
        const jit::TieredCode tiered(jit::Tier::kBaseline, std::move(zero.code),
                                     jit::TieredCode::Later{loops::Module(), 2});
        const std::chrono::duration<double, std::micro> patience = *tiered.patience();
        least = std::min(least, o0 / took);
        std::printf("| %s: %s%s | %.1f | %.0f | %.0f | %.1f | %.0f |\n", name.c_str(),
                    entry.c_str(), transform == Transform::kValue ? "" : ", gradient", took, o0, o2,
                    o0 / took, patience.count());
      }
    }
  }
  std::printf("\nleast ratio %.1f\n", least);
  return 0;
}

}  // namespace
}  // namespace pullback::bench

int main(int argc, char** argv) { return pullback::bench::Main(argc, argv); }
