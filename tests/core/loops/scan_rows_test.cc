// Recurrences of vectors: a step of all of them in a turn.
#include <catch2/catch.hpp>

#include "core/pipeline/pipeline.h"
#include "tests/core/loops/rows.h"
#include "tests/support/derivatives.h"

namespace pullback::loops {
namespace {

using pipeline::Transform;

struct Program {
  std::string name;
  std::string text;
  std::vector<std::vector<int64_t>> shapes;  // 0: as many as there are steps
  std::vector<bool> wrt;
  int64_t kept;  // matrices of all states that a gradient keeps
  int64_t value_keeps = 0;
};

constexpr int64_t kStates = 6;

const Program kPrograms[] = {
    {"a layer of states, read by steps",
     "fn f(x: [t, d]f64, a: [h]f64, b: [d, h]f64, c: [h, d]f64, y: [t, d]f64) -> f64 { let u = x @ "
     "b\n let s = gen i < h { scan_linear(gen k < t { a[i] }, u[:, i]) }\n let o = s.T @ c - y\n "
     "return sum(o * o) }",
     {{0, 2}, {kStates}, {2, kStates}, {kStates, 2}, {0, 2}},
     {true, true, true, true, true},
     1},
    {"running maxima",
     "fn f(x: [t, d]f64, b: [d, h]f64) -> f64 { let u = x @ b\n let s = gen i < h { scan max k < t "
     "{ u[k, i] } }\n return sum k < t { sin(sum i < h { s[i, k] * u[k, 0] }) } }",
     {{0, 2}, {2, kStates}},
     {false, true},
     4},
    {"from the end",
     "fn f(x: [t, d]f64, a: [h]f64, b: [d, h]f64) -> f64 { let u = x @ b\n let s = gen i < h { "
     "scan_linear(gen k < t { a[i] }, gen k < t { u[t - 1 - k, i] }) }\n return sum k < t { "
     "sin(sum "
     "i < h { s[i, t - 1 - k] * u[k, i] }) } }",
     {{0, 2}, {kStates}, {2, kStates}},
     {true, true, true},
     2},
    {"rows added up",
     "fn f(x: [t, d]f64, b: [d, h]f64, v: [h]f64, y: [t]f64) -> f64 { let z = tanh.(x @ b)\n let c "
     "= scan sum k < t { z[k] }\n return sum k < t { (dot(tanh.(c[k]), v) - y[k]) ** 2 } }",
     {{0, 2}, {2, kStates}, {kStates}, {0}},
     {true, true, true, true},
     2},
    {"columns added up",
     "fn f(x: [t, d]f64, b: [d, h]f64, v: [h]f64, y: [t]f64) -> f64 { let z = tanh.(x @ b)\n let c "
     "= gen l < h { cumsum(z[:, l]) }\n return sum k < t { ((sum l < h { tanh(c[l, k]) * v[l] }) - "
     "y[k]) ** 2 } }",
     {{0, 2}, {2, kStates}, {kStates}, {0}},
     {true, true, true, true},
     2},
    {"what is behind each row",
     "fn f(x: [t, d]f64, b: [d, h]f64, v: [h]f64, y: [t]f64) -> f64 { let z = tanh.(x @ b)\n let c "
     "= scan sum k < t { z[t - 1 - k] }\n return sum k < t { (dot(tanh.(c[t - 1 - k]), v) - y[k]) "
     "** 2 } }",
     {{0, 2}, {2, kStates}, {kStates}, {0}},
     {true, true, true, true},
     2},
    {"in front and behind",
     "fn f(x: [t, d]f64, b: [d, h]f64, v: [h]f64, y: [t]f64) -> f64 { let z = tanh.(x @ b)\n let a "
     "= exscan sum k < t { z[k] }\n let c = exscan sum k < t { z[t - 1 - k] }\n return sum k < t { "
     "(dot(tanh.(a[k] - c[t - 1 - k]), v) - y[k]) ** 2 } }",
     {{0, 2}, {2, kStates}, {kStates}, {0}},
     {true, true, true, true},
     3,
     2},
    {"means so far of such of activations",
     "fn f(x: [t, d]f64, b: [d, h]f64, w: [h, h]f64, v: [h]f64, y: [t]f64) -> f64 { let z = "
     "tanh.(x @ b)\n let c = scan sum k < t { z[k] }\n let m = gen k < t, l < h { c[k, l] / "
     "f64(k + 1) }\n let z2 = tanh.(m @ w)\n let c2 = scan sum k < t { z2[k] }\n return sum k < t "
     "{ (dot(c2[k], v) / f64(k + 1) - y[k]) ** 2 } }",
     {{0, 2}, {2, kStates}, {kStates, kStates}, {kStates}, {0}},
     {true, true, true, true, true},
     3},
    {"places of the greatest of each step's states",
     "fn f(x: [t, d]f64, b: [d, h]f64, y: [t]f64) -> f64 { let z = exp.(x @ b)\n let c = exscan "
     "sum "
     "k < t { gen l < h { z[k, l] * 0.7 } }\n return sum k < t { logsumexp(gen l < h { c[k, l] }) "
     "* "
     "y[k] } }",
     {{0, 2}, {2, kStates}, {0}},
     {true, true, true},
     2},
    {"rows of each sequence",
     "fn f(x: [1, t, d]f64, b: [d, h]f64, v: [h]f64, y: [1, t]f64) -> f64 { return sum p < 1 { let "
     "z "
     "= tanh.(x[p] @ b)\n let c = scan sum k < t { z[k] }\n sum k < t { (dot(tanh.(c[k]), v) - "
     "y[p, "
     "k]) ** 2 } } }",
     {{1, 0, 2}, {2, kStates}, {kStates}, {1, 0}},
     {true, true, true, true},
     2},
};

std::vector<Tensor> Args(const Program& p, int64_t steps) {
  std::vector<Tensor> args;
  for (std::vector<int64_t> shape : p.shapes) {
    for (int64_t& extent : shape) extent = extent == 0 ? steps : extent;
    args.push_back(Ramp(shape));
  }
  return args;
}

TEST_CASE("scan rows: values hold one state of each, gradients what has to be read again") {
  for (const Program& p : kPrograms) {
    INFO(p.name);
    const ir::Module module = testing::LowerText(p.text, "f");
    testing::CheckDerivatives(module, Args(p, 5), 1e-5, p.wrt);
    const ir::Module value = testing::Derived(module, Transform::kValue, {});
    CHECK(ElementsMade(value, Args(p, 200), kRows) < (p.value_keeps * kStates + 4) * 200);
    const ir::Module gradient = testing::Derived(module, Transform::kValueAndGrad, p.wrt);
    CHECK(ElementsMade(gradient, Args(p, 200), kRows) < (p.kept * kStates + 12) * 200);
    for (const ir::Module* m : {&value, &gradient}) {
      for (const int64_t n : {0, 1, 2, 16, 17, 35}) {
        RunBoth(*m, Args(p, n), Traps::kSame, kRows);
        RunBoth(*m, Args(p, n), Traps::kSame);
      }
    }
  }
}

// What the final IR says runs for each point beside a scan, whatever is around it.
TEST_CASE("scan rows: states of the loop IR are those of the statements") {
  const ir::Module module = testing::ParseIr(R"(
fn @f(%a: [*,*,*]f64, %b: i64) -> ([*,*,*]f64, [*,*,*]f64, [*,*,*]f64) {
b0:
  %l = dim %a, 0
  %n = dim %a, 1
  %m = dim %a, 2
  %p, %s, %q = each(i < %l, j < %n, k < %m) {
    %v = index %a[%i, %j, %k]
    %g = lt %v, 3.0
  } scan_sum 0 beside 1 [%i, %j, %k] of (%l, %n, %m): %v,
    scan_linear 1 beside 1 [%i, %j, %k] of (%l, %n, %m): 0.5, %v if %g,
    scan_max 0 beside 2 [%i, %j, %k] of (%l, %n, %m): %v
  ret %p, %s, %q
})");
  for (const std::vector<int64_t>& shape :
       std::vector<std::vector<int64_t>>{{2, 3, 4}, {0, 3, 4}, {2, 0, 4}, {2, 3, 0}, {1, 1, 1}}) {
    RunBoth(module, {Ramp(shape), Tensor::I64(1)}, Traps::kSame, kRows);
    RunBoth(module, {Ramp(shape), Tensor::I64(1)}, Traps::kSame);
  }
}

}  // namespace
}  // namespace pullback::loops
