// How long the passes take as programs grow: each doubling of the statements should double the time.
//
//   bench_compile [--family NAME|all] [--max-statements N]     (contractions, 10,000)
//   bench_compile --once value|value_and_grad [--family NAME] [--max-statements N]
//
// Programs of N statements of a family (tests/support/program_families.cc), their value and their gradient by the first
// parameter. A line for each pass that takes 5 % or more of the largest (of all families only the line of all
// passes), with seconds and the exponent fitted over the sizes: 1 is linear. The best of three runs each. --once runs
// the passes a single time, over N statements, and prints nothing: compile_counts.py counts its instructions.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "core/lang/lang.h"
#include "core/loops/lower.h"
#include "core/pipeline/pipeline.h"
#include "tests/bench/exponent.h"
#include "tests/support/program_families.h"

namespace pullback::bench {
namespace {

using Seconds = std::map<std::string, double>;  // by pass
constexpr pipeline::Transform kTransforms[] = {pipeline::Transform::kValue,
                                               pipeline::Transform::kValueAndGrad};

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

[[noreturn]] void Fail(const Status& s) {
  std::fprintf(stderr, "bench_compile: %s\n", s.ToString().c_str());
  std::exit(1);
}

template <typename Fn>
auto Timed(Seconds& seconds, const char* name, Fn&& fn) {
  const double begin = Now();
  auto made = fn();
  if (!made.ok()) Fail(made.status());
  seconds[name] += Now() - begin;
  return std::move(*made);
}

Seconds Run(const std::string& text, pipeline::Transform transform) {
  Seconds seconds;
  lang::Limits limits;
  limits.max_source_bytes = text.size();
  lang::Program program = Timed(seconds, "parse", [&] { return lang::Parse(text, limits); });
  const double begin = Now();
  if (const Status s = lang::Check(program, limits); !s.ok()) Fail(s);
  seconds["check"] = Now() - begin;
  const ir::Module ssa = Timed(seconds, "lower", [&] { return lang::Lower(program, "f", limits); });
  std::vector<pipeline::PassTiming> timings;
  const std::vector<bool> wrt(ssa.Get(ssa.entry).params().size(), true);
  auto staged = pipeline::Derive(ssa, transform, wrt, {}, &timings);
  if (!staged.ok()) Fail(staged.status());
  for (const pipeline::PassTiming& t : timings) seconds[t.pass] += t.seconds;
  Timed(seconds, "loops", [&] { return loops::LowerToLoops(staged->final); });
  for (const auto& [pass, s] : Seconds(seconds)) seconds["all"] += s;
  return seconds;
}

Seconds BestOfThree(const std::string& text, pipeline::Transform transform) {
  Seconds best = Run(text, transform);
  for (int round = 1; round < 3; ++round) {
    Seconds next = Run(text, transform);
    if (next["all"] < best["all"]) best = std::move(next);
  }
  return best;
}

void PrintLine(const std::string& title, const std::vector<int>& sizes, std::vector<Seconds>& rows,
               const std::string& pass) {
  const std::vector<double> n(sizes.begin(), sizes.end());
  std::vector<double> y;
  for (Seconds& row : rows) y.push_back(row[pass]);
  std::printf("%-24s", title.c_str());
  for (double s : y) std::printf("%10.4f", s);
  std::printf("  %.2f\n", Exponent(n, y));
  std::fflush(stdout);
}

void PrintSizes(const std::vector<int>& sizes) {
  std::printf("%-24s", "statements");
  for (int n : sizes) std::printf("%10d", n);
  std::printf("  exponent\n");
}

void PrintPasses(const std::vector<int>& sizes, std::vector<Seconds>& rows) {
  std::vector<std::pair<double, std::string>> passes;
  for (const auto& [pass, s] : rows.back()) {
    if (s >= 0.05 * rows.back()["all"]) passes.emplace_back(s, pass);
  }
  std::sort(passes.rbegin(), passes.rend());
  for (const auto& [last, pass] : passes) PrintLine(pass, sizes, rows, pass);
  std::printf("\n");
}

std::vector<Seconds> Measure(const testing::ProgramFamily& family, pipeline::Transform transform,
                             const std::vector<int>& sizes) {
  std::vector<Seconds> rows;
  for (int n : sizes) rows.push_back(BestOfThree(family.text(n), transform));
  return rows;
}

void MeasureAll(const std::vector<int>& sizes) {
  PrintSizes(sizes);
  for (const testing::ProgramFamily& family : testing::ProgramFamilies()) {
    for (const auto transform : kTransforms) {
      std::vector<Seconds> rows = Measure(family, transform, sizes);
      const bool value = transform == pipeline::Transform::kValue;
      PrintLine(std::string(family.name) + (value ? "" : ", gradient"), sizes, rows, "all");
    }
  }
}

void MeasurePasses(const testing::ProgramFamily& family, const std::vector<int>& sizes) {
  std::printf("%s\n\n", family.statements);
  for (const auto transform : kTransforms) {
    std::printf("%s\n", pipeline::TransformName(transform));
    PrintSizes(sizes);
    std::vector<Seconds> rows = Measure(family, transform, sizes);
    PrintPasses(sizes, rows);
  }
}

struct Options {
  std::string family = "contractions";
  std::string once;  // a transform
  int most = 10000;
};

int Usage() {
  std::fprintf(stderr,
               "usage: bench_compile [--family NAME|all] [--max-statements N] [--once "
               "value|value_and_grad]\n"
               "families:");
  for (const testing::ProgramFamily& family : testing::ProgramFamilies())
    std::fprintf(stderr, " %s", family.name);
  std::fprintf(stderr, "\n");
  return 2;
}

bool Parse(int argc, char** argv, Options& options) {
  for (int k = 1; k + 1 < argc; k += 2) {
    if (std::strcmp(argv[k], "--max-statements") == 0) {
      options.most = std::atoi(argv[k + 1]);
    } else if (std::strcmp(argv[k], "--family") == 0) {
      options.family = argv[k + 1];
    } else if (std::strcmp(argv[k], "--once") == 0) {
      options.once = argv[k + 1];
    } else {
      return false;
    }
  }
  return argc % 2 == 1;
}

int RunOnce(const testing::ProgramFamily& family, const Options& options) {
  for (const auto transform : kTransforms) {
    if (pipeline::TransformName(transform) != options.once) continue;
    Run(family.text(options.most), transform);
    return 0;
  }
  return Usage();
}

int Main(int argc, char** argv) {
  Options options;
  if (!Parse(argc, argv, options)) return Usage();
  std::vector<int> sizes;
  for (int n = options.most; n >= 300 && sizes.size() < 6; n /= 2) sizes.insert(sizes.begin(), n);
  if (options.family == "all" && options.once.empty()) {
    MeasureAll(sizes);
    return 0;
  }
  for (const testing::ProgramFamily& family : testing::ProgramFamilies()) {
    if (family.name != options.family) continue;
    if (!options.once.empty()) return RunOnce(family, options);
    MeasurePasses(family, sizes);
    return 0;
  }
  return Usage();
}

}  // namespace
}  // namespace pullback::bench

int main(int argc, char** argv) { return pullback::bench::Main(argc, argv); }
