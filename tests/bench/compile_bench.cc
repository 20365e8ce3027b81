// How long the passes take as programs grow: each doubling of the statements should double the time.
//
//   bench_compile [--max-statements N]     (10,000)
//
// Two programs of N tensor statements, each reading arrays made before: contractions with elementwise
// statements between them, and their value and gradient. A line for each pass that takes 5 % or more of the
// largest, with seconds and the exponent fitted over the sizes: 1 is linear. The best of three runs each.
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

namespace pullback::bench {
namespace {

using Seconds = std::map<std::string, double>;  // by pass

std::string Program(int statements) {
  std::string text = "fn f(x: [n]f64, w: [n, n]f64) -> f64 {\n  let a0 = x\n";
  for (int k = 1; k <= statements; ++k) {
    const std::string last = "a" + std::to_string(k - 1),
                      older = "a" + std::to_string(std::max(0, k - 3));
    text += "  let a" + std::to_string(k) + " = gen i < n { ";
    text += k % 2 == 0 ? "sum j < n { w[i, j] * " + last + "[j] } + " + older + "[i] }\n"
                       : "sin(" + last + "[i]) * " + older + "[i] }\n";
  }
  return text + "  return sum i < n { a" + std::to_string(statements) + "[i] }\n}\n";
}

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
  auto staged = pipeline::Derive(ssa, transform, {true, true}, {}, &timings);
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

void Print(const char* title, const std::vector<int>& sizes, std::vector<Seconds>& rows) {
  std::printf("%s\n%-24s", title, "statements");
  for (int n : sizes) std::printf("%10d", n);
  std::printf("  exponent\n");
  std::vector<std::pair<double, std::string>> passes;
  for (const auto& [pass, s] : rows.back()) {
    if (s >= 0.05 * rows.back()["all"]) passes.emplace_back(s, pass);
  }
  std::sort(passes.rbegin(), passes.rend());
  for (const auto& [last, pass] : passes) {
    const std::vector<double> n(sizes.begin(), sizes.end());
    std::vector<double> y;
    for (Seconds& row : rows) y.push_back(row[pass]);
    std::printf("%-24s", pass.c_str());
    for (double s : y) std::printf("%10.4f", s);
    std::printf("  %.2f\n", Exponent(n, y));
  }
  std::printf("\n");
}

int Main(int argc, char** argv) {
  int most = 10000;
  if (argc == 3 && std::strcmp(argv[1], "--max-statements") == 0) {
    most = std::atoi(argv[2]);
  } else if (argc != 1) {
    std::fprintf(stderr, "usage: bench_compile [--max-statements N]\n");
    return 2;
  }
  std::vector<int> sizes;
  for (int n = most; n >= 300 && sizes.size() < 6; n /= 2) sizes.insert(sizes.begin(), n);
  for (const auto transform : {pipeline::Transform::kValue, pipeline::Transform::kValueAndGrad}) {
    std::vector<Seconds> rows;
    for (int n : sizes) rows.push_back(BestOfThree(Program(n), transform));
    Print(pipeline::TransformName(transform), sizes, rows);
  }
  return 0;
}

}  // namespace
}  // namespace pullback::bench

int main(int argc, char** argv) { return pullback::bench::Main(argc, argv); }
