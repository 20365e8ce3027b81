// Contractions by loops in the exact order of sums, and by OpenBLAS, beside loops written by hand in C and the
// library called directly, by turns in one run. Every result is first compared with the one by hand.
//
//   bench_contraction [--rounds R]
//
// Products of square matrices and of a matrix and a vector, transposed and not; the gradient of a network of two
// layers, by hand with the same products.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "jit/llvm/llvm_backend.h"
#include "jit/runtime/blas.h"
#include "tests/bench/kernel_runner.h"
#include "tests/bench/noise.h"

namespace pullback::bench {
namespace {

constexpr const char* kPrograms = R"(
fn product(a: [n, k]f64, b: [k, m]f64) -> [n, m]f64 { return a @ b }
fn times(a: [n, k]f64, x: [k]f64) -> [n]f64 { return a @ x }
fn transposed(a: [n, k]f64, x: [n]f64) -> [k]f64 { return transpose(a) @ x }
fn network(w1: [d, h]f64, w2: [h, o]f64, x: [n, d]f64, y: [n, o]f64) -> f64 {
  let p = tanh.(x @ w1) @ w2
  return sum i < n, j < o { (p[i, j] - y[i, j]) * (p[i, j] - y[i, j]) }
}
)";

// As jit::Blas::Multiply.
struct ByHand {
  void Multiply(bool ta, bool tb, int n, int m, int k, const double* a, int lda, const double* b,
                int ldb, double beta, double* c, int ldc) const {
    for (int i = 0; i < n; ++i) {
      double* row = c + i * ldc;
      if (beta == 0) std::fill_n(row, m, 0.0);
      for (int l = 0; l < k; ++l) {
        const double u = ta ? a[i + l * lda] : a[i * lda + l];
        if (tb) {
          for (int j = 0; j < m; ++j) row[j] += u * b[l + j * ldb];
        } else {
          for (int j = 0; j < m; ++j) row[j] += u * b[l * ldb + j];
        }
      }
    }
  }
};

struct Network {
  int n, d, h, o;
  std::vector<double> w1, w2, x, y, z, p, dz, dw1, dw2;
  double value = 0;

  Network(int rows, int in, int hidden, int out)
      : n(rows),
        d(in),
        h(hidden),
        o(out),
        w1(Noise(d * h, -0.1, 0.1)),
        w2(Noise(h * o, -0.1, 0.1)),
        x(Noise(n * d, -1, 1)),
        y(Noise(n * o, -1, 1)),
        z(static_cast<size_t>(n * h)),
        p(static_cast<size_t>(n * o)),
        dz(z.size()),
        dw1(w1.size()),
        dw2(w2.size()) {}

  template <typename Library>
  void Gradient(const Library& library) {
    library.Multiply(false, false, n, h, d, x.data(), d, w1.data(), h, 0.0, z.data(), h);
    for (double& v : z) v = std::tanh(v);
    library.Multiply(false, false, n, o, h, z.data(), h, w2.data(), o, 0.0, p.data(), o);
    value = 0;
    for (size_t i = 0; i < p.size(); ++i) {
      const double r = p[i] - y[i];
      value += r * r;
      p[i] = 2 * r;
    }
    library.Multiply(false, true, n, h, o, p.data(), o, w2.data(), o, 0.0, dz.data(), h);
    library.Multiply(true, false, h, o, n, z.data(), h, p.data(), o, 0.0, dw2.data(), o);
    for (size_t i = 0; i < dz.size(); ++i) dz[i] *= 1 - z[i] * z[i];
    library.Multiply(true, false, d, h, n, x.data(), d, dz.data(), h, 0.0, dw1.data(), h);
  }
};

void CheckNear(const std::vector<double>& got, const std::vector<double>& want) {
  bool same = got.size() == want.size();
  for (size_t i = 0; same && i < got.size(); ++i) {
    same = std::abs(got[i] - want[i]) <= 1e-8 * std::max(1.0, std::abs(want[i]));
  }
  if (!same) throw std::runtime_error("not the result by hand");
}

struct Case {
  std::string name, entry;
  jit::Transform transform;
  std::vector<std::string> wrt;
  std::vector<Data> args;
  std::function<void()> hand, direct;
  std::function<std::vector<double>()> result;  // of the last one: our last result
};

void Measure(jit::Engine& engine, const Case& c, int rounds) {
  jit::CompileOptions options;
  BenchKernel exact(engine, kPrograms, c.entry, c.transform, c.wrt, c.args, options);
  options.contractions = jit::Contractions::kBlas;
  BenchKernel blas(engine, kPrograms, c.entry, c.transform, c.wrt, c.args, options);
  for (const auto& run : {c.hand, c.direct}) {
    run();
    CheckNear(exact.Results().back(), c.result());
    CheckNear(blas.Results().back(), c.result());
  }
  const auto repeat = [](const std::function<void()>& run) {
    return [&run](int64_t n) {
      for (int64_t i = 0; i < n; ++i) run();
    };
  };
  Race race;
  race.Add([&](int64_t n) { exact.Run(n); });
  race.Add([&](int64_t n) { blas.Run(n); });
  race.Add(repeat(c.hand));
  race.Add(repeat(c.direct));
  race.Run(rounds, 0.02);
  std::printf("%-34s %11.2f %11.2f %11.2f %11.2f   %6.2f %6.2f %6.2f\n", c.name.c_str(),
              1e6 * race.Time(0), 1e6 * race.Time(1), 1e6 * race.Time(2), 1e6 * race.Time(3),
              race.Ratio(0, 1), race.Ratio(2, 1), race.Ratio(1, 3));
  std::fflush(stdout);
}

// n by n matrices, or one and a vector.
void MeasureProducts(jit::Engine& engine, const jit::Blas& library, int n, int rounds) {
  const std::vector<double> a = Noise(n * n, -1, 1), b = Noise(n * n, -1, 1), x = Noise(n, -1, 1);
  std::vector<double> to(a.size()), y(x.size());
  const Data left = Data::Array({n, n}, a), right = Data::Array({n, n}, b), v = Data::Array({n}, x);
  const std::string size = ", n = " + std::to_string(n);
  Measure(engine,
          {"matrices" + size,
           "product",
           jit::Transform::kValue,
           {},
           {left, right},
           [&] {
             ByHand().Multiply(false, false, n, n, n, a.data(), n, b.data(), n, 0.0, to.data(), n);
           },
           [&] {
             library.Multiply(false, false, n, n, n, a.data(), n, b.data(), n, 0.0, to.data(), n);
           },
           [&] { return to; }},
          rounds);
  for (const bool transposed : {false, true}) {
    Measure(engine,
            {(transposed ? "transposed matrix, vector" : "matrix, vector") + size,
             transposed ? "transposed" : "times",
             jit::Transform::kValue,
             {},
             {left, v},
             [&, transposed] {
               ByHand().Multiply(transposed, false, n, 1, n, a.data(), n, x.data(), 1, 0.0,
                                 y.data(), 1);
             },
             [&, transposed] {
               library.MultiplyVector(transposed, n, n, a.data(), n, x.data(), 1, 0.0, y.data(), 1);
             },
             [&] { return y; }},
            rounds);
  }
}

void MeasureNetwork(jit::Engine& engine, const jit::Blas& library, Network w, int rounds) {
  Measure(engine,
          {"network's gradient, n = " + std::to_string(w.n) + ", h = " + std::to_string(w.h),
           "network",
           jit::Transform::kValueAndGrad,
           {"w1", "w2"},
           {Data::Array({w.d, w.h}, w.w1), Data::Array({w.h, w.o}, w.w2),
            Data::Array({w.n, w.d}, w.x), Data::Array({w.n, w.o}, w.y)},
           [&] { w.Gradient(ByHand()); },
           [&] { w.Gradient(library); },
           [&] { return w.dw2; }},
          rounds);
}

int Main(int argc, char** argv) {
  int rounds = 15;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::string(argv[i]) == "--rounds") rounds = std::atoi(argv[i + 1]);
  }
  jit::Engine engine(jit::EngineOptions(), jit::MakeLlvmBackend().value());
  const jit::Blas& library = *jit::LoadBlas().value();
  std::printf("%s\n%-34s %11s %11s %11s %11s   %6s %6s %6s\n", library.name.c_str(),
              "microseconds, and ratios of times", "exact", "blas", "by hand", "directly", "ex/bl",
              "ha/bl", "bl/di");
  for (const int n : {8, 12, 16, 24, 32, 48, 64, 128, 256, 512, 1024}) {
    MeasureProducts(engine, library, n, rounds);
  }
  MeasureNetwork(engine, library, Network(32, 64, 32, 10), rounds);
  MeasureNetwork(engine, library, Network(256, 784, 256, 10), rounds);
  return 0;
}

}  // namespace
}  // namespace pullback::bench

int main(int argc, char** argv) { return pullback::bench::Main(argc, argv); }
