// Jacobians and Hessians of functions with loops: many seeds at once against one after the other.
//
//   bench_seeds [rounds]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "jit/engine.h"
#include "jit/llvm/llvm_backend.h"
#include "tests/bench/timed_case.h"

namespace pullback::bench {
namespace {

using jit::Transform;

constexpr char kPrograms[] = R"(
fn sequence(x: [n]f64) -> [n]f64 {
  var y = x
  var s = 0.5
  for i in 1..n {
    s = sin(s * x[i]) + y[i - 1]
    y[i] = s * x[i] + y[i - 1]
  }
  return y
}
fn steps(x: [n]f64) -> [n]f64 {
  var u = x
  for t in 0..20 {
    u = gen i < n {
      if i > 0 && i + 1 < n { u[i] + 0.1 * sin(u[i - 1] - 2.0 * u[i] + u[i + 1]) } else { u[i] }
    }
  }
  return u
}
fn layers(x: [n]f64) -> [n]f64 {
  let a = gen i < n, j < n { 1.0 / (1.0 + f64(i) + f64(j)) }
  var u = x
  for t in 0..4 { u = tanh.(a @ u) }
  return u
}
fn listed(x: [n]f64) -> [n]f64 {
  var l = list(x[0])
  for i in 1..n { l = push(l, x[i] * sin(l[i - 1])) }
  return gen i < n { x[i] * l[i] }
}
struct Node { value: f64, kids: list Node }
fn total(t: Node) -> f64 {
  var s = t.value
  for k in t.kids { s = sin(s + total(k)) }
  return s
}
fn grow(x: [n]f64, i: i64) -> Node {
  var t = Node(x[i], list())
  if 2 * i + 1 < n { t.kids = push(t.kids, grow(x, 2 * i + 1)) }
  if 2 * i + 2 < n { t.kids = push(t.kids, grow(x, 2 * i + 2)) }
  return t
}
fn tree(x: [n]f64) -> f64 { return total(grow(x, 0)) }
fn ends(x: [n]f64) -> [n / 16]f64 {
  let y = steps(x)
  return gen i < n / 16 { y[n - 1 - i] * y[n / 2] }
}
fn last(x: [n]f64) -> f64 {
  let y = sequence(x)
  return y[n - 1] * y[n / 2]
}
fn energy(x: [n]f64) -> f64 {
  let u = steps(x)
  return sum i < n { u[i] * u[i] }
}
)";

ApiValue Ramp(int64_t n) {
  std::vector<double> values;
  for (int64_t i = 0; i < n; ++i) values.push_back(0.3 + 0.01 * static_cast<double>(i % 37));
  ApiValue v;
  v.tensor = Tensor::Of(DType::kF64, {n}, values);
  return v;
}

struct Case : TimedCase {
  Case(jit::Engine& engine, const char* entry, Transform transform, jit::Inputs inputs)
      : TimedCase(engine, {kPrograms, entry, transform, {}, {}}, std::move(inputs)) {}
  int64_t peak_bytes() const { return last().peak_bytes; }
};

// A seed on its own: a tangent, or a Hessian times a vector.
void Row(jit::Engine& engine, const char* entry, bool hessian, int64_t n, int rounds) {
  const std::vector<ApiValue> args = {Ramp(n)};
  Case primal(engine, entry, Transform::kValue, {args, {}});
  Case seed(engine, entry, hessian ? Transform::kHvp : Transform::kJvp, {args, {Ramp(n)}});
  Case all(engine, entry, hessian ? Transform::kHessian : Transform::kJacobian, {args, {}});
  for (int round = 0; round < rounds; ++round) {
    for (Case* c : {&primal, &seed, &all}) c->Run();
  }
  std::printf("%-10s %-9s %5lld %10.3f %9.1f %9.2f %12.1f\n", entry,
              hessian ? "hessian" : "jacobian", static_cast<long long>(n), 1e3 * all.seconds(),
              all.seconds() / primal.seconds(),
              static_cast<double>(n) * seed.seconds() / all.seconds(),
              static_cast<double>(all.peak_bytes()) / static_cast<double>(8 * n * n));
}

void Run(int rounds) {
  jit::Engine engine(jit::EngineOptions(), Ok(jit::MakeLlvmBackend()));
  std::printf("%-10s %-9s %5s %10s %9s %9s %12s\n", "", "", "n", "ms", "primals", "faster",
              "peak/result");
  for (const char* entry : {"sequence", "steps", "layers", "listed", "ends"}) {
    for (const int64_t n : {8, 64, 128, 256, 512}) Row(engine, entry, false, n, rounds);
  }
  for (const char* entry : {"last", "energy", "tree"}) {
    for (const int64_t n : {8, 64, 128, 256, 512}) Row(engine, entry, true, n, rounds);
  }
}

}  // namespace
}  // namespace pullback::bench

int main(int argc, char** argv) {
  pullback::bench::Run(argc > 1 ? std::atoi(argv[1]) : 5);
  return 0;
}
