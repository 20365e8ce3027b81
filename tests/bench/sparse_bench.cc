// Sparse Jacobians: what they cost beside their primal and beside one tangent, as they grow.
//
//   bench_sparse [rounds]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/base/relation.h"
#include "core/base/sparse.h"
#include "jit/engine.h"
#include "jit/llvm/llvm_backend.h"
#include "tests/bench/timed_case.h"

namespace pullback::bench {
namespace {

constexpr char kPrograms[] = R"(
fn step(x: f64) -> f64 {
  var r = x
  var k = 0
  while k < 20 { r = sin(r) * x; k = k + 1 }
  return r
}
fn tridiagonal(x: [n]f64) -> [n]f64 {
  return gen i < n { step(x[i] + [i > 0] * x[i - 1] + [i + 1 < n] * x[i + 1]) }
}
fn stencil(x: [n]f64) -> [n]f64 {
  return gen i < n { x[i] * x[i] - [i > 0] * x[i - 1] - [i + 1 < n] * x[i + 1] }
}
fn sequential(x: [n]f64) -> [n]f64 {
  var y = x
  for i in 1..n - 1 { y[i] = x[i] * x[i] - x[i - 1] - x[i + 1] }
  return y
}
fn steps(x: [n]f64) -> [n]f64 {
  var u = x
  for t in 0..5 { u = gen i < n { u[i] * u[i] - [i > 0] * u[i - 1] - [i + 1 < n] * u[i + 1] } }
  return u
}
fn listed(x: [n]f64) -> [n]f64 {
  var xs: list f64 = list()
  for i in 0..n { xs = push(xs, x[i] * x[i]) }
  return gen i < n { xs[i] - [i > 0] * xs[max(i - 1, 0)] - [i + 1 < n] * xs[min(i + 1, n - 1)] }
}
fn kept(x: [n]f64) -> [n]f64 with vjp back {
  return gen i < n { x[i] * x[i] - [i > 0] * x[i - 1] - [i + 1 < n] * x[i + 1] }
}
fn back(x: [n]f64, b: [n]f64) -> [n]f64 {
  return gen i < n { 2.0 * x[i] * b[i] - [i > 0] * b[i - 1] - [i + 1 < n] * b[i + 1] }
}
fn ruled(x: [n]f64) -> [n]f64 { return kept(kept(x)) }
fn sums(x: [n]f64) -> [n]f64 { return scan sum i < n { x[i] * x[i] } }
fn sums_twice(x: [n]f64) -> [n]f64 {
  var u = x
  for t in 0..2 { u = scan sum i < n { u[i] * x[i] } }
  return u
}
fn laplacian(edge: rel[n, n], x: [n]f64) -> [n]f64 {
  return gen i < n { sum j < n { [edge(i, j)] * sin(x[j] - x[i]) } }
}
)";

ApiValue Ramp(int64_t n) {
  std::vector<double> values;
  for (int64_t i = 0; i < n; ++i) values.push_back(0.001 * static_cast<double>(i % 1000));
  ApiValue v;
  v.tensor = Tensor::Of(DType::kF64, {n}, values);
  return v;
}

// A ring with a chord from every node.
ApiValue Graph(int64_t n) {
  std::vector<int64_t> from, to;
  for (int64_t i = 0; i < n; ++i) {
    for (const int64_t j : {(i + 1) % n, (i + 17) % n}) {
      from.push_back(i);
      to.push_back(j);
    }
  }
  return RelationFromCoo({n, n}, {from, to});
}

struct Case : TimedCase {
  Case(jit::Engine& engine, const char* entry, jit::Transform transform, bool sparse,
       jit::Inputs inputs)
      : TimedCase(engine, {kPrograms, entry, transform, {}, {}, sparse}, std::move(inputs)) {}
};

void Row(jit::Engine& engine, const char* entry, int64_t n, int rounds) {
  std::vector<ApiValue> args;
  if (std::string(entry) == "laplacian") args.push_back(Graph(n));
  args.push_back(Ramp(n));
  Case primal(engine, entry, jit::Transform::kValue, false, {args, {}});
  Case tangent(engine, entry, jit::Transform::kJvp, false, {args, {Ramp(n)}});
  Case jacobian(engine, entry, jit::Transform::kJacobian, true, {args, {}});
  for (int round = 0; round < rounds; ++round) {
    for (Case* c : {&primal, &tangent, &jacobian}) c->Run();
  }
  const SparseTensor block = *SparseFromTuple(jacobian.last().derivatives[0]);
  const double to_primal = jacobian.seconds() / primal.seconds();
  std::printf("%-12s %8lld %9lld %6lld %10.3f %9.2f %10.2f %12.2f %8.0f\n", entry,
              static_cast<long long>(n), static_cast<long long>(block.elements.ElementCount()),
              static_cast<long long>(block.seeds), 1e3 * jacobian.seconds(), to_primal,
              to_primal / static_cast<double>(block.seeds),
              jacobian.seconds() / tangent.seconds() / static_cast<double>(block.seeds),
              static_cast<double>(jacobian.last().peak_bytes) /
                  static_cast<double>(block.elements.ElementCount()));
}

void Run(int rounds) {
  jit::Engine engine(jit::EngineOptions(), Ok(jit::MakeLlvmBackend()));
  std::printf("%-12s %8s %9s %6s %10s %9s %10s %12s %8s\n", "", "n", "elements", "seeds", "ms",
              "primals", "per seed", "tangents/seed", "bytes");
  for (const char* entry : {"tridiagonal", "stencil", "sequential", "steps", "laplacian"}) {
    for (const int64_t n : {1000, 10000, 100000, 1000000}) Row(engine, entry, n, rounds);
  }
  for (const char* entry : {"listed", "ruled"}) {
    for (const int64_t n : {500, 1000, 10000, 100000}) Row(engine, entry, n, rounds);
  }
  for (const char* entry : {"sums", "sums_twice"}) {
    for (const int64_t n : {500, 1000}) Row(engine, entry, n, rounds);
  }
}

}  // namespace
}  // namespace pullback::bench

int main(int argc, char** argv) {
  pullback::bench::Run(argc > 1 ? std::atoi(argv[1]) : 5);
  return 0;
}
