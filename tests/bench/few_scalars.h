// Gradients by one or two scalars in both modes, and what a push and its pop take.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "tests/bench/kernel_runner.h"

namespace pullback::bench {

constexpr char kFewScalars[] = R"(
fn power(x: f64, n: i64) -> f64 { var r = 1.0
  for i < n { r = r * x }
  return r }
fn affine(x: f64, y: f64, n: i64) -> f64 { var s = x
  for i < n { s = s * x + y }
  return s }
fn sines(x: f64, n: i64) -> f64 { var s = x
  for i < n { s = sin(s) * x + exp(-s) }
  return s }
fn two_sines(x: f64, y: f64, n: i64) -> f64 { var s = x
  for i < n { s = sin(s) * x + exp(-s) * y }
  return s }
fn recursion(x: f64, n: i64) -> f64 { if n <= 0 { return 1.0 } return sin(x * recursion(x, n - 1)) }
fn list_updates(x: f64, n: i64) -> f64 { var xs = repeat(x, n)
  for i in 1..n { xs[i] = sin(xs[i]) * xs[i - 1] + x }
  return xs[n - 1] }
fn array_steps(x: f64, n: i64) -> f64 { var v = gen i < 100 { x * f64(i) }
  for i < n { v = sin.(v * x) + 0.5 }
  return sum(v) }
)";

inline void FewScalars(jit::Engine& engine, int rounds) {
  const Data x = Data::Scalar(0.7), y = Data::Scalar(0.4), n = Data::Integer(1000);
  const struct {
    const char* entry;
    std::vector<std::string> wrt;
    std::vector<Data> args;
  } cases[] = {{"power", {"x"}, {Data::Scalar(1.0001), n}},
               {"affine", {"x", "y"}, {x, y, n}},
               {"sines", {"x"}, {x, n}},
               {"two_sines", {"x", "y"}, {x, y, n}},
               {"recursion", {"x"}, {x, n}},
               {"list_updates", {"x"}, {x, n}},
               {"array_steps", {"x"}, {x, n}}};
  std::printf("\n%-20s %10s %10s %10s %12s\n", "few scalars, n=1000", "as made", "reverse", "bytes",
              "bytes, rev.");
  for (const auto& c : cases) {
    std::vector<Data> seeded = c.args;
    seeded.push_back(Data::Scalar(1));
    BenchKernel primal(engine, kFewScalars, c.entry, jit::Transform::kValue, {}, c.args);
    BenchKernel made(engine, kFewScalars, c.entry, jit::Transform::kValueAndGrad, c.wrt, c.args);
    BenchKernel reverse(engine, kFewScalars, c.entry, jit::Transform::kVjp, c.wrt, seeded);
    Race race;
    race.Add([&](int64_t times) { primal.Run(times); });
    race.Add([&](int64_t times) { made.Run(times); });
    race.Add([&](int64_t times) { reverse.Run(times); });
    race.Run(rounds, 0.004);
    std::printf("%-20s %10.2f %10.2f %10lld %12lld\n", c.entry, race.Ratio(1, 0), race.Ratio(2, 0),
                static_cast<long long>(made.PeakBytes()),
                static_cast<long long>(reverse.PeakBytes()));
  }
}

// The gradient of a power pushes one value a turn and pops it: at most what it takes beyond its primal.
inline void StackOperations(jit::Engine& engine, int rounds) {
  std::printf("\n");
  for (const int64_t n : {int64_t{1000}, int64_t{1000000}}) {
    const std::vector<Data> args = {Data::Scalar(1.0000001), Data::Integer(n)};
    std::vector<Data> seeded = args;
    seeded.push_back(Data::Scalar(1));
    BenchKernel primal(engine, kFewScalars, "power", jit::Transform::kValue, {}, args);
    BenchKernel gradient(engine, kFewScalars, "power", jit::Transform::kVjp, {"x"}, seeded);
    Race race;
    race.Add([&](int64_t times) { primal.Run(times); });
    race.Add([&](int64_t times) { gradient.Run(times); });
    race.Run(rounds, 0.004);
    std::printf("push and pop, a stack of %lld: at most %.2f ns\n", static_cast<long long>(n),
                1e9 * (race.Time(1) - race.Time(0)) / static_cast<double>(n));
  }
}

}  // namespace pullback::bench
