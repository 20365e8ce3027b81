// The HM-LSTM cell update of Revels et al. (2018) and its derivatives by c, f, i and g: mixed mode against reverse
// mode with select, and both against C by hand. Every contender gives the value and the four cotangents, for a
// cotangent of the value that is given; n x n of f32, z and zb of n zeros and ones, along the last axis (neighbours
// take different arms) or as a column (a row takes one arm).
//   bench_hmlstm [rounds] [cell | arity]
// arity: functions of 1 to 10 arrays with three arms, chosen for each element (divergent) or each row (uniform).
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "core/base/math.h"
#include "jit/llvm/llvm_backend.h"
#include "jit/runtime/support.h"
#include "tests/bench/float_kernel.h"
#include "tests/bench/noise.h"
#include "tests/support/arity_text.h"

namespace pullback::bench {
namespace {

constexpr const char* kProgram = R"(
fn squash(x: f32) -> f32 { return 1.0 / (1.0 + exp(-x)) }
fn cell(c: f32, f: f32, i: f32, g: f32, z: f32, zb: f32) -> f32 {
  if z == 1.0 { return squash(i) * tanh(g) }
  if zb == 1.0 { return squash(f) * c + squash(i) * tanh(g) }
  return c
}
fn last(c: [n, n]f32, f: [n, n]f32, i: [n, n]f32, g: [n, n]f32, z: [n]f32, zb: [n]f32) -> [n, n]f32 {
  return cell.(c, f, i, g, z, zb)
}
fn column_(c: [n, n]f32, f: [n, n]f32, i: [n, n]f32, g: [n, n]f32, z: [n]f32, zb: [n]f32) -> [n, n]f32 {
  return cell.(c, f, i, g, column(z), column(zb))
}
fn select_last(c: [n, n]f32, f: [n, n]f32, i: [n, n]f32, g: [n, n]f32, z: [n]f32, zb: [n]f32) -> [n, n]f32 {
  return gen r < n, k < n {
    let si = 1.0 / (1.0 + exp(-i[r, k]))
    let fresh = si * tanh(g[r, k])
    select(z[k] == 1.0, fresh, select(zb[k] == 1.0, c[r, k] / (1.0 + exp(-f[r, k])) + fresh, c[r, k]))
  }
}
fn select_column_(c: [n, n]f32, f: [n, n]f32, i: [n, n]f32, g: [n, n]f32, z: [n]f32, zb: [n]f32) -> [n, n]f32 {
  return gen r < n, k < n {
    let si = 1.0 / (1.0 + exp(-i[r, k]))
    let fresh = si * tanh(g[r, k])
    select(z[r] == 1.0, fresh, select(zb[r] == 1.0, c[r, k] / (1.0 + exp(-f[r, k])) + fresh, c[r, k]))
  }
}
)";

// What a contender by hand reads and writes.
struct Cell {
  int64_t n;
  bool column;
  const float *c, *f, *i, *g, *z, *zb, *y_bar;
  float *y, *c_bar, *f_bar, *i_bar, *g_bar;
};

#define HMLSTM_WIDTH 16
#define HMLSTM_TARGET gnu::target("avx512f,avx512vl,avx512dq,avx512bw,fma")
#define HMLSTM_NAME wide
#include "tests/bench/hmlstm_by_hand.h"
#undef HMLSTM_WIDTH
#undef HMLSTM_TARGET
#undef HMLSTM_NAME
#define HMLSTM_WIDTH 8
#define HMLSTM_TARGET gnu::target("avx2,fma")
#define HMLSTM_NAME narrow
#include "tests/bench/hmlstm_by_hand.h"
#undef HMLSTM_WIDTH
#undef HMLSTM_TARGET
#undef HMLSTM_NAME

const void* VectorFunction(const std::string& name, int width) {
  for (const jit::VectorMath* f = jit::VectorMathBegin(); f != jit::VectorMathEnd(); ++f) {
    if (f->name == name && !f->f64 && f->width == width) return f->address;
  }
  throw std::runtime_error("no vector " + name);
}

template <typename Math>
Math MathOf(int width) {
  Math m;
  const void *e = VectorFunction("exp", width), *t = VectorFunction("tanh", width);
  std::memcpy(&m.exp, &e, sizeof e);
  std::memcpy(&m.tanh, &t, sizeof t);
  return m;
}

bool IsWide() { return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"); }

template <bool kMixed>
void RunVectors(const Cell& d) {
  static const auto wide_math = MathOf<wide::Math>(16);
  static const auto narrow_math = MathOf<narrow::Math>(8);
  if (IsWide()) {
    wide::Run<kMixed>(d, wide_math);
  } else {
    narrow::Run<kMixed>(d, narrow_math);
  }
}

// The mixed algorithm as one writes it down: element by element, a branch for each.
[[gnu::noinline]] void RunBranches(const Cell& d) {
  using Fn = float (*)(float);
  static const Fn exp = reinterpret_cast<Fn>(const_cast<void*>(FindMath("exp")->f32));
  static const Fn tanh = reinterpret_cast<Fn>(const_cast<void*>(FindMath("tanh")->f32));
  const auto squash = [](float x) { return 1.0f / (1.0f + exp(-x)); };
  for (int64_t r = 0; r < d.n; ++r) {
    for (int64_t k = 0; k < d.n; ++k) {
      const int64_t at = r * d.n + k;
      const float z = d.z[d.column ? r : k], zb = d.zb[d.column ? r : k], c = d.c[at];
      float y = c, pc = 1, pf = 0, pi = 0, pg = 0;
      if (z == 1.0f || zb == 1.0f) {
        const float si = squash(d.i[at]), tg = tanh(d.g[at]);
        y = si * tg;
        pi = tg * (si * (1 - si));
        pg = si * (1 - tg * tg);
        if (z == 1.0f) {
          pc = 0;
        } else {
          const float sf = squash(d.f[at]);
          y += sf * c;
          pc = sf;
          pf = c * (sf * (1 - sf));
        }
      }
      const float bar = d.y_bar[at];
      d.y[at] = y;
      d.c_bar[at] = bar == 0 ? 0 : bar * pc;
      d.f_bar[at] = bar == 0 ? 0 : bar * pf;
      d.i_bar[at] = bar == 0 ? 0 : bar * pi;
      d.g_bar[at] = bar == 0 ? 0 : bar * pg;
    }
  }
}

Floats FloatNoise(int64_t n, double lo, double hi, bool round = false) {
  Floats out;
  for (double v : Noise(n, lo, hi)) out.push_back(static_cast<float>(round ? v >= 0.5 : v));
  return out;
}

void CheckNear(const char* what, const float* got, const float* want, size_t n) {
  for (size_t k = 0; k < n; ++k) {
    if (std::abs(got[k] - want[k]) <= 2e-6f * (1 + std::abs(want[k]))) continue;
    std::fprintf(stderr, "%s: element %zu is %g, not %g\n", what, k, static_cast<double>(got[k]),
                 static_cast<double>(want[k]));
    std::exit(1);
  }
}

void Case(jit::Engine& engine, int64_t n, bool column, int rounds) {
  const auto size = static_cast<size_t>(n * n);
  const Floats c = FloatNoise(n * n, -1, 1), f = FloatNoise(n * n + 1, -3, 3),
               i = FloatNoise(n * n + 2, -3, 3), g = FloatNoise(n * n + 3, -2, 2),
               bar = FloatNoise(n * n + 4, -1, 1);
  Floats z = FloatNoise(n, 0, 1, true), zb = FloatNoise(n + 64, 0, 1, true);
  zb.erase(zb.begin(), zb.begin() + 64);
  std::vector<Floats> out(5, Floats(size));
  const Cell by_hand{n,
                     column,
                     c.data(),
                     f.data(),
                     i.data(),
                     g.data(),
                     z.data(),
                     zb.data(),
                     bar.data(),
                     out[0].data(),
                     out[1].data(),
                     out[2].data(),
                     out[3].data(),
                     out[4].data()};
  const std::vector<int64_t> square = {n, n}, line = {n};
  const std::vector<std::pair<std::vector<int64_t>, const Floats*>> args = {
      {square, &c}, {square, &f}, {square, &i},  {square, &g},
      {line, &z},   {line, &zb},  {square, &bar}};
  const std::string layout = column ? "column_" : "last";
  const auto vjp = [](const std::string& entry) {
    return jit::KernelRequest{kProgram, entry, jit::Transform::kVjp, {"c", "f", "i", "g"}, {}};
  };
  FloatKernel cached(engine, vjp(layout), ad::Mixed::kCached, args);
  FloatKernel recomputed(engine, vjp(layout), ad::Mixed::kRecomputed, args);
  FloatKernel selected(engine, vjp("select_" + layout), ad::Mixed::kAuto, args);
  const auto times = [](auto run) {
    return [run](int64_t n_times) {
      for (int64_t k = 0; k < n_times; ++k) run();
    };
  };
  RunBranches(by_hand);
  const std::vector<Floats> expected = out;
  const auto check_c = [&](const char* what) {
    for (size_t k = 0; k < 5; ++k) CheckNear(what, out[k].data(), expected[k].data(), size);
  };
  RunVectors<false>(by_hand), check_c("C, select");
  RunVectors<true>(by_hand), check_c("C, mixed");
  for (FloatKernel* kernel : {&cached, &recomputed, &selected}) {
    kernel->Run(1);
    for (size_t k = 0; k < 5; ++k)
      CheckNear("compiled", kernel->Result(k), expected[k].data(), size);
  }
  Race race;
  race.Add([&](int64_t t) { cached.Run(t); });
  race.Add([&](int64_t t) { recomputed.Run(t); });
  race.Add([&](int64_t t) { selected.Run(t); });
  race.Add(times([&] { RunVectors<false>(by_hand); }));
  race.Add(times([&] { RunVectors<true>(by_hand); }));
  race.Add(times([&] { RunBranches(by_hand); }));
  race.Run(rounds, 0.05);
  const auto ms = [&](size_t k) { return 1e3 * race.Time(k); };
  std::printf(
      "| %lld | %s | %.2f | %.2f | %.2f | %.2f | %.2f | %.2f | %.2f | %.2f | %.2f | %.2f |\n",
      static_cast<long long>(n), column ? "column" : "last axis", ms(0), ms(1), ms(2), ms(3), ms(4),
      ms(5), race.Ratio(2, 0), race.Ratio(2, 3), race.Ratio(0, 4), race.Ratio(0, 5));
  std::fflush(stdout);
}

// Value and all cotangents of a function of so many arrays, 1024 x 1024.
void Arity(jit::Engine& engine, int arity, int rounds) {
  constexpr int64_t kSize = 1024;
  const std::vector<int64_t> square = {kSize, kSize};
  std::vector<Floats> arrays;
  for (int k = 0; k <= arity; ++k) arrays.push_back(FloatNoise(kSize * kSize + k, -1, 1));
  const Floats rows = FloatNoise(kSize, 0, 1), elements = FloatNoise(kSize * kSize, 0, 1);
  Race race;
  std::vector<std::unique_ptr<FloatKernel>> kernels;
  for (bool uniform : {true, false}) {
    jit::KernelRequest request{
        testing::ArityText(arity, uniform, "f32"), "f", jit::Transform::kVjp, {}, {}};
    std::vector<std::pair<std::vector<int64_t>, const Floats*>> args;
    for (int k = 0; k < arity; ++k) {
      request.wrt.push_back("a" + std::to_string(k));
      args.emplace_back(square, &arrays[static_cast<size_t>(k)]);
    }
    if (uniform) {
      args.emplace_back(std::vector<int64_t>{kSize}, &rows);
    } else {
      args.emplace_back(square, &elements);
    }
    args.emplace_back(square, &arrays.back());
    for (ad::Mixed mixed : {ad::Mixed::kCached, ad::Mixed::kRecomputed})
      kernels.push_back(std::make_unique<FloatKernel>(engine, request, mixed, args));
  }
  for (auto& kernel : kernels) race.Add([&kernel](int64_t t) { kernel->Run(t); });
  race.Run(rounds, 0.03);
  std::printf("| %d | %.2f | %.2f | %.2f | %.2f | %.2f |\n", arity, 1e3 * race.Time(0),
              1e3 * race.Time(1), 1e3 * race.Time(2), 1e3 * race.Time(3), race.Ratio(2, 0));
  std::fflush(stdout);
}

int Main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 9;
  auto llvm = jit::MakeLlvmBackend();
  if (!llvm.ok()) throw std::runtime_error(llvm.status().message());
  jit::Engine engine(jit::EngineOptions(), std::move(*llvm));
  const std::string what = argc > 2 ? argv[2] : "";
  if (what != "arity") {
    std::printf(
        "ms, medians of %d rounds; C by hand with the same math functions, %d elements at a "
        "time\n\n"
        "| n | z | a: mixed, cached | a: mixed, recomputed | b: reverse with select | c: C, select "
        "| "
        "d: C, mixed | C, branches | b / a | b / c | a / d | a / branches |\n"
        "|---|---|---|---|---|---|---|---|---|---|---|---|\n",
        rounds, IsWide() ? 16 : 8);
    for (int64_t n : {512, 1024, 2048}) {
      for (bool column : {false, true}) Case(engine, n, column, rounds);
    }
  }
  if (what == "cell") return 0;
  std::printf(
      "\n| arity | uniform: cached | recomputed | divergent: cached | recomputed | "
      "divergent / uniform |\n|---|---|---|---|---|---|\n");
  for (int arity = 1; arity <= 10; ++arity) Arity(engine, arity, rounds);
  return 0;
}

}  // namespace
}  // namespace pullback::bench

int main(int argc, char** argv) { return pullback::bench::Main(argc, argv); }
