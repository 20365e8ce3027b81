// dF~'s experiments (Shaikhha et al., Figures 9 to 11): derivatives in compiled code called directly, beside
// derivatives written by hand in C, by turns in one run. Every derivative is first compared with the hand-written
// one.
//
//   bench_dftilde [--rounds R] [--json FILE]
//
// Figure 9: the gradients of dot product and greatest element, the Jacobian of a sum of vectors (n by n) and the
// derivative of a scaled vector by the scalar. Figure 10: non-negative matrix factorisation, the gradient of the
// exponential distribution's likelihood by one factor. Figure 11: the Jacobian of n projected points by the 11
// numbers of a camera, for a turned camera and for one that is not turned at all.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "jit/llvm/llvm_backend.h"
#include "tests/bench/by_hand.h"
#include "tests/bench/dftilde_by_hand.h"
#include "tests/bench/dftilde_programs.h"
#include "tests/bench/kernel_runner.h"
#include "tests/bench/noise.h"

namespace pullback::bench {
namespace {

struct Case {
  std::string figure, name, entry;
  int64_t n;
  jit::Transform transform;
  std::string wrt;
  std::vector<Data> args;
  std::function<std::vector<std::vector<double>>()> expected;  // value, derivative
  std::function<void()> hand;
};

struct Row {
  std::string figure, name;
  int64_t n = 0, bytes = 0;
  double ours = 0, hand = 0, ratio = 0;
};

void CheckAgree(const Case& c, const std::vector<std::vector<double>>& got) {
  const std::vector<std::vector<double>> wanted = c.expected();
  bool same = got.size() == wanted.size();
  for (size_t k = 0; same && k < got.size(); ++k) {
    same = got[k].size() == wanted[k].size();
    for (size_t i = 0; same && i < got[k].size(); ++i) {
      const double a = got[k][i], b = wanted[k][i];
      same = std::abs(a - b) <= 1e-8 * std::max({1.0, std::abs(a), std::abs(b)});
    }
  }
  if (!same) throw std::runtime_error(c.name + ": not the derivative written by hand");
}

Row Measure(jit::Engine& engine, const Case& c, int rounds) {
  BenchKernel ours(engine, kDftildePrograms, c.entry, c.transform, {c.wrt}, c.args);
  CheckAgree(c, ours.Results());
  Race race;
  race.Add([&](int64_t n) { ours.Run(n); });
  race.Add([&](int64_t n) {
    for (int64_t i = 0; i < n; ++i) c.hand();
  });
  race.Run(rounds, 0.01);
  return {c.figure, c.name, c.n, ours.PeakBytes(), race.Time(0), race.Time(1), race.Ratio(0, 1)};
}

// What a hand-written derivative gets and fills.
struct Buffers {
  std::vector<double> a, b, y, d;
  double value = 0;
};

void AddFigure9(std::vector<Case>& cases, int64_t n, Buffers& at) {
  using namespace by_hand;
  at = {Noise(n, -1, 1), Noise(n, 0.5, 2), std::vector<double>(static_cast<size_t>(n)), {}};
  at.d.resize(static_cast<size_t>(n * n));
  const auto a = Data::Array({n}, at.a), b = Data::Array({n}, at.b);
  const auto add = [&](std::string name, std::string entry, jit::Transform transform,
                       std::string wrt, std::vector<Data> args, int64_t size, bool vector,
                       std::function<void()> hand) {
    const auto expected = [&at, hand, size, vector] {
      hand();
      return std::vector{vector ? at.y : std::vector{at.value},
                         std::vector(at.d.begin(), at.d.begin() + size)};
    };
    cases.push_back({"9", std::move(name), std::move(entry), n, transform, std::move(wrt),
                     std::move(args), expected, hand});
  };
  add("dot product, gradient", "dot", jit::Transform::kValueAndGrad, "a", {a, b}, n, false,
      [&at, n] {
        at.value = DotGrad(at.a.data(), at.b.data(), n, at.d.data());
        Keep(at.d.data());
      });
  add("maximum, gradient", "greatest", jit::Transform::kValueAndGrad, "a", {a}, n, false, [&at, n] {
    at.value = MaxGrad(at.a.data(), n, at.d.data());
    Keep(at.d.data());
  });
  add("sum of vectors, Jacobian", "added", jit::Transform::kJacobian, "a", {a, b}, n * n, true,
      [&at, n] {
        AddJacobian(at.a.data(), at.b.data(), n, at.y.data(), at.d.data());
        Keep(at.d.data());
      });
  add("scaled vector, by the scalar", "scaled", jit::Transform::kJacobian, "s",
      {a, Data::Scalar(1.5)}, n, true, [&at, n] {
        ScaleByScalar(at.a.data(), 1.5, n, at.y.data(), at.d.data());
        Keep(at.d.data());
      });
}

void AddFigure10(std::vector<Case>& cases, int64_t n, Buffers& at) {
  at = {Noise(n, 0.5, 2), Noise(n, 0.3, 1), Noise(n * n, 0, 4), {}};
  at.d.resize(static_cast<size_t>(n));
  const auto hand = [&at, n] {
    at.value = by_hand::NnmfGrad(at.a.data(), at.b.data(), at.y.data(), n, n, at.d.data());
    by_hand::Keep(at.d.data());
  };
  const auto expected = [&at, hand] {
    hand();
    return std::vector{std::vector{at.value}, at.d};
  };
  cases.push_back({"10",
                   "NNMF, gradient by a factor",
                   "nnmf",
                   n,
                   jit::Transform::kValueAndGrad,
                   "v",
                   {Data::Array({n}, at.a), Data::Array({n}, at.b), Data::Array({n, n}, at.y)},
                   expected,
                   hand});
}

void AddFigure11(std::vector<Case>& cases, int64_t n, bool turned, Buffers& at) {
  at.a = {0.1, -0.2, 0.3, 0.05, 0.1, -4, 1.2, 0.4, 0.3, 0.01, -0.002};
  if (!turned) at.a[0] = at.a[1] = at.a[2] = 0;
  at.b = Noise(3 * n, -1, 1);
  at.y.resize(static_cast<size_t>(2 * n));
  at.d.resize(static_cast<size_t>(22 * n));
  const auto hand = [&at, n] {
    by_hand::ProjectJacobian(at.a.data(), at.b.data(), n, at.y.data(), at.d.data());
    by_hand::Keep(at.d.data());
  };
  const auto expected = [&at, hand] {
    hand();
    return std::vector{at.y, at.d};
  };
  cases.push_back({"11",
                   turned ? "bundle adjustment, 2n by 11" : "the same at rotation 0",
                   "project",
                   n,
                   jit::Transform::kJacobian,
                   "cam",
                   {Data::Array({11}, at.a), Data::Array({n, 3}, at.b)},
                   expected,
                   hand});
}

std::vector<Row> Table(int rounds) {
  auto backend = jit::MakeLlvmBackend();
  if (!backend.ok()) throw std::runtime_error(backend.status().message());
  jit::Engine engine({}, *backend);
  std::vector<Buffers> buffers(7);
  std::vector<Case> cases;
  AddFigure9(cases, 100, buffers[0]);
  AddFigure9(cases, 1000, buffers[1]);
  AddFigure10(cases, 100, buffers[2]);
  AddFigure10(cases, 1000, buffers[3]);
  AddFigure11(cases, 100, true, buffers[4]);
  AddFigure11(cases, 10000, true, buffers[5]);
  AddFigure11(cases, 10000, false, buffers[6]);
  std::printf("%-7s %-30s %7s %12s %12s %8s %12s\n", "figure", "", "n", "ours us", "C us", "ours/C",
              "bytes");
  std::vector<Row> rows;
  for (const Case& c : cases) {
    rows.push_back(Measure(engine, c, rounds));
    const Row& r = rows.back();
    std::printf("%-7s %-30s %7lld %12.3f %12.3f %8.2f %12lld\n", r.figure.c_str(), r.name.c_str(),
                static_cast<long long>(r.n), 1e6 * r.ours, 1e6 * r.hand, r.ratio,
                static_cast<long long>(r.bytes));
    std::fflush(stdout);
  }
  return rows;
}

void WriteJson(const std::string& path, const std::vector<Row>& rows) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (!file) throw std::runtime_error("cannot write " + path);
  std::fprintf(file, "[");
  for (size_t k = 0; k < rows.size(); ++k) {
    const Row& r = rows[k];
    std::fprintf(file,
                 "%s\n {\"figure\": %s, \"name\": \"%s\", \"n\": %lld, \"seconds\": %.4g, "
                 "\"c_seconds\": %.4g, \"ratio\": %.4g, \"bytes\": %lld}",
                 k ? "," : "", r.figure.c_str(), r.name.c_str(), static_cast<long long>(r.n),
                 r.ours, r.hand, r.ratio, static_cast<long long>(r.bytes));
  }
  std::fprintf(file, "\n]\n");
  std::fclose(file);
}

int Main(int argc, char** argv) {
  int rounds = 15;
  std::string json;
  for (int k = 1; k < argc; ++k) {
    const std::string flag = argv[k];
    if (flag == "--rounds" && k + 1 < argc) {
      rounds = std::atoi(argv[++k]);
    } else if (flag == "--json" && k + 1 < argc) {
      json = argv[++k];
    } else {
      std::fprintf(stderr, "usage: bench_dftilde [--rounds R] [--json FILE]\n");
      return 2;
    }
  }
  try {
    const std::vector<Row> rows = Table(rounds);
    if (!json.empty()) WriteJson(json, rows);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "bench_dftilde: %s\n", e.what());
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace pullback::bench

int main(int argc, char** argv) { return pullback::bench::Main(argc, argv); }
