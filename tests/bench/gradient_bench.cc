// What a gradient costs beside its primal, in compiled code called directly.
//
//   bench_gradient [--table] [--growth] [--max-n N] [--rounds R] [--json FILE]
//
// --table: the rows of Zygote's Table 2 (Innes 2018), beside gradients written by hand in C, all in
// one run by turns; every gradient is first compared with the hand-written one. Then gradients by one or
// two scalars in both modes, and what a push and its pop take.
// --growth: gradient over primal, and bytes, for loops of n = 10^3 … 10^6 steps, relations of n pairs,
// recursion to 10^5, by reverse mode (vjp); the exponent is fitted to the gradient's time, and to its bytes:
// 1 is linear.
// Both when neither is named.
#include <pthread.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "core/base/relation.h"
#include "jit/llvm/llvm_backend.h"
#include "tests/bench/by_hand.h"
#include "tests/bench/exponent.h"
#include "tests/bench/few_scalars.h"
#include "tests/bench/kernel_runner.h"
#include "tests/bench/noise.h"

namespace pullback::bench {
namespace {

constexpr char kPrograms[] = R"(
fn sincos(x: f64) -> f64 { return sin(cos(x)) }

fn loop(x: f64, n: i64) -> f64 {
  var r = 1.0
  var k = n
  while k > 0 { k = k - 1; r = r * x }
  return r
}

fn lse(x: [n]f64) -> f64 { return logsumexp(x) }

fn cross_entropy(z: [m]f64, label: i64) -> f64 { return logsumexp(z) - z[label] }

fn logistic(w: [m, n]f64, b: [m]f64, x: [n]f64, label: i64) -> f64 {
  let p = w @ x
  return cross_entropy(gen i < m { p[i] + b[i] }, label)
}

fn mlp(w1: [h, n]f64, b1: [h]f64, w2: [m, h]f64, b2: [m]f64, x: [n]f64, label: i64) -> f64 {
  let p = w1 @ x
  let a = gen i < h { 1.0 / (1.0 + exp(-(p[i] + b1[i]))) }
  let q = w2 @ a
  return cross_entropy(gen i < m { q[i] + b2[i] }, label)
}

fn evalpoly(c: [n]f64, x: f64) -> f64 {
  var r = 0.0
  for k < n { r = r * x + c[n - 1 - k] }
  return r
}

fn indexed(x: [n]f64, s0: f64) -> f64 {
  var s = s0
  for i < n { s = sin(s) * x[i] }
  return s
}

fn updating(x: [n]f64) -> f64 {
  var a = x
  for i in 1..n { a[i] = sin(a[i]) * a[i - 1] }
  return a[n - 1]
}

# A helper gets the whole array at each step and reads one element of it.
fn pick(a: [n]f64, i: i64) -> f64 { if i < 0 { return pick(a, i + n) } return sin(a[i]) }
fn helped(x: [n]f64) -> f64 {
  var a = x
  for i in 1..n { a[i] = pick(a, i) * a[i - 1] }
  return a[n - 1]
}

# Read as a whole three times, updated at each step.
fn rarely(x: [n]f64) -> f64 {
  var a = x
  var s = 0.0
  for i in 1..n {
    a[i] = sin(a[i]) * a[i - 1]
    if i % (n / 3) == 0 { s = s + sum j < n { a[j] * a[j] } }
  }
  return s + a[n - 1]
}

# Reads a window of what it updates.
fn window(x: [n]f64) -> f64 {
  var a = x
  for i in 4..n { a[i] = 0.125 * (sum j < 4 { a[i - j] * a[i - j] }) + 0.5 }
  return a[n - 1]
}

# Reads a row of an array at each step, a window of a size that the run knows, and a window of what it updates.
fn by_rows(w: [d]f64, x: [n, d]f64) -> f64 {
  var s = 0.0
  for i < n { s = sin(s + sum j < d { w[j] * x[i, j] }) }
  return s
}
fn sliding(x: [n]f64, m: i64) -> f64 {
  var s = 0.0
  for i < n - m { s = sin(s + sum j < m { x[i + j] }) }
  return s
}
fn filling(x: [n]f64, m: i64) -> f64 {
  var a = x
  for i in m..n { a[i] = 0.125 * (sum j in 1..m { a[i - j] * a[i - j] }) + 0.5 }
  return a[n - 1]
}

fn recursive(x: f64, n: i64) -> f64 { if n <= 0 { return 1.0 } return sin(x * recursive(x, n - 1)) }

fn building(x: f64, n: i64) -> f64 {
  var xs: list f64 = list()
  var v = x
  for i < n {
    v = sin(v + 1.0)
    xs = push(xs, v * x)
  }
  var s = 0.0
  for i < len(xs) { s = s + xs[i] * xs[i] }
  return s
}

fn changing(x: f64, n: i64) -> f64 {
  var xs = repeat(x, n)
  for i in 1..n { xs[i] = sin(xs[i]) * xs[i - 1] + x }
  return xs[n - 1]
}

struct Row { a: [3]f64, w: f64 }
fn rows(x: f64, n: i64) -> f64 {
  var xs: list Row = list()
  for i < n { xs = push(xs, Row([x, sin(x), 0.5], x)) }
  for i in 1..n {
    xs[i].a[0] = sin(xs[i - 1].a[0] + xs[i].a[1])
    xs[i].w = xs[i].w * xs[i].a[2] + xs[i - 1].w * 0.5
  }
  return xs[n - 1].a[0] + xs[n - 1].w
}

fn along(xs: list f64, i: i64) -> f64 {
  if i >= len(xs) { return 0.0 }
  return sin(xs[i]) + along(xs, i + 1)
}
fn listed(x: f64, n: i64) -> f64 { return along(repeat(x, n), 0) }

# A helper gets the whole list at each step and reads one element of it.
fn choose(xs: list f64, i: i64) -> f64 { if i < 0 { return choose(xs, i + len(xs)) } return sin(xs[i]) }
fn asking(x: f64, n: i64) -> f64 {
  var xs = repeat(x, n)
  for i in 1..n { xs[i] = choose(xs, i) * xs[i - 1] + x }
  return xs[n - 1]
}

# Over the pairs of a relation.
fn energy(edge: rel[m, m], x: [m]f64) -> f64 {
  return sum i < m, j < m { [edge(i, j)] * (x[i] - x[j]) * (x[i] - x[j]) }
}
fn flow(edge: rel[m, m], x: [m]f64) -> f64 {
  let y = gen i < m { sum j < m { [edge(i, j)] * (x[i] - x[j]) } }
  return sum i < m { y[i] * y[i] }
}

fn total(x: [m]f64, n: i64) -> f64 { if n <= 0 { return 0.0 } return sin(x[n - 1]) + total(x, n - 1) }
)";

struct Options {
  bool table = false, growth = false;
  int64_t max_n = 1000000;
  int rounds = 15;
  std::string json;
};

// --- Table 2

struct Row {
  std::string name;
  double zygote = 0;                // its gradient over its primal
  double primal = 0, gradient = 0;  // seconds
  double hand_primal = 0, hand_gradient = 0;
  double ratio = 0, hand_ratio = 0, to_hand = 0;
  int64_t primal_bytes = 0, bytes = 0;
};

struct Case {
  std::string name, entry;
  double zygote;
  std::vector<std::string> wrt;
  std::vector<Data> args;
  std::function<double()> primal;
  std::function<double()> gradient;            // fills `expected`
  std::vector<std::vector<double>*> expected;  // by wrt
};

void CheckAgree(const std::string& name, const std::vector<std::vector<double>>& got, double value,
                const std::vector<std::vector<double>*>& expected) {
  const auto differ = [](double a, double b) {
    return !(std::abs(a - b) <= 1e-9 * std::max({1.0, std::abs(a), std::abs(b)}));
  };
  bool bad = got.size() != expected.size() + 1 || differ(got[0][0], value);
  for (size_t k = 0; !bad && k < expected.size(); ++k) {
    bad = got[k + 1].size() != expected[k]->size();
    for (size_t i = 0; !bad && i < expected[k]->size(); ++i)
      bad = differ(got[k + 1][i], (*expected[k])[i]);
  }
  if (bad) throw std::runtime_error(name + ": not the gradient written by hand");
}

Row Measure(jit::Engine& engine, const Case& c, int rounds) {
  BenchKernel primal(engine, kPrograms, c.entry, jit::Transform::kValue, {}, c.args);
  BenchKernel gradient(engine, kPrograms, c.entry, jit::Transform::kValueAndGrad, c.wrt, c.args);
  const double value = c.gradient();
  CheckAgree(c.name, gradient.Results(), value, c.expected);
  double sink = 0;
  const auto times = [&](const std::function<double()>& f) {
    return [&sink, f](int64_t n) {
      for (int64_t i = 0; i < n; ++i) sink += f();
      by_hand::Keep(&sink);
    };
  };
  Race race;
  race.Add([&](int64_t n) { primal.Run(n); });
  race.Add([&](int64_t n) { gradient.Run(n); });
  race.Add(times(c.primal));
  race.Add(times(c.gradient));
  race.Run(rounds, 0.004);
  Row row{c.name, c.zygote};
  row.primal = race.Time(0);
  row.gradient = race.Time(1);
  row.hand_primal = race.Time(2);
  row.hand_gradient = race.Time(3);
  row.ratio = race.Ratio(1, 0);
  row.hand_ratio = race.Ratio(3, 2);
  row.to_hand = race.Ratio(1, 3);
  row.primal_bytes = primal.PeakBytes();
  row.bytes = gradient.PeakBytes();
  return row;
}

std::vector<Row> Table(jit::Engine& engine, int rounds) {
  using namespace by_hand;
  constexpr int64_t kPixels = 784, kHidden = 32, kClasses = 10, kLong = 1000, kLabel = 3;
  const auto pixels = Noise(kPixels, 0, 1);
  const auto w = Noise(kClasses * kPixels, -0.1, 0.1), b = Noise(kClasses, -0.1, 0.1);
  const auto w1 = Noise(kHidden * kPixels, -0.1, 0.1), b1 = Noise(kHidden, -0.1, 0.1);
  const auto w2 = Noise(kClasses * kHidden, -0.5, 0.5);
  const auto xs = Noise(kLong, -1, 1);
  const double x = 0.7, base = 1.0001;
  std::vector<double> d1(1), dx(kLong), tape(kLong), dw(w.size()), db(kClasses), dw1(w1.size()),
      db1(kHidden), dw2(w2.size()), db2(kClasses);
  const Case cases[] = {
      {"sincos",
       "sincos",
       1.30,
       {"x"},
       {Data::Scalar(x)},
       [&] { return SinCos(x); },
       [&] { return SinCosGrad(x, d1.data()); },
       {&d1}},
      {"loop",
       "loop",
       7.07,
       {"x"},
       {Data::Scalar(base), Data::Integer(kLong)},
       [&] { return Power(base, kLong); },
       [&] { return PowerGrad(base, kLong, tape.data(), d1.data()); },
       {&d1}},
      {"logsumexp",
       "lse",
       1.31,
       {"x"},
       {Data::Array({kLong}, xs)},
       [&] { return LogSumExp(xs.data(), kLong); },
       [&] { return LogSumExpGrad(xs.data(), kLong, dx.data()); },
       {&dx}},
      {"logistic regression",
       "logistic",
       3.77,
       {"w", "b"},
       {Data::Array({kClasses, kPixels}, w), Data::Array({kClasses}, b),
        Data::Array({kPixels}, pixels), Data::Integer(kLabel)},
       [&] { return Logistic(w.data(), b.data(), pixels.data(), kLabel, kClasses, kPixels); },
       [&] {
         return LogisticGrad(w.data(), b.data(), pixels.data(), kLabel, kClasses, kPixels,
                             dw.data(), db.data());
       },
       {&dw, &db}},
      {"2-layer MNIST MLP",
       "mlp",
       7.47,
       {"w1", "b1", "w2", "b2"},
       {Data::Array({kHidden, kPixels}, w1), Data::Array({kHidden}, b1),
        Data::Array({kClasses, kHidden}, w2), Data::Array({kClasses}, b),
        Data::Array({kPixels}, pixels), Data::Integer(kLabel)},
       [&] {
         return Mlp(w1.data(), b1.data(), w2.data(), b.data(), pixels.data(), kLabel, kPixels,
                    kHidden, kClasses);
       },
       [&] {
         return MlpGrad(w1.data(), b1.data(), w2.data(), b.data(), pixels.data(), kLabel, kPixels,
                        kHidden, kClasses, dw1.data(), db1.data(), dw2.data(), db2.data());
       },
       {&dw1, &db1, &dw2, &db2}},
  };
  std::printf("%-20s %10s %10s %7s %7s   %10s %10s %7s %8s %10s\n", "", "primal ns", "grad ns",
              "ratio", "Zygote", "C primal", "C grad", "ratio", "ours/C", "bytes");
  std::vector<Row> rows;
  for (const Case& c : cases) {
    rows.push_back(Measure(engine, c, rounds));
    const Row& r = rows.back();
    std::printf("%-20s %10.1f %10.1f %7.2f %7.2f   %10.1f %10.1f %7.2f %8.2f %10lld\n",
                r.name.c_str(), 1e9 * r.primal, 1e9 * r.gradient, r.ratio, r.zygote,
                1e9 * r.hand_primal, 1e9 * r.hand_gradient, r.hand_ratio, r.to_hand,
                static_cast<long long>(r.bytes));
    std::fflush(stdout);
  }
  return rows;
}

// --- growth

struct Point {
  int64_t n = 0;
  double primal = 0, gradient = 0, ratio = 0;
  int64_t primal_bytes = 0, bytes = 0;
};
struct Growth {
  std::string name;
  std::vector<Point> points;
  double time_exponent = 0, ratio_exponent = 0, byte_exponent = 0;
};

double GrowthOf(const std::vector<Point>& points, const std::function<double(const Point&)>& what) {
  std::vector<double> n, y;
  for (const Point& p : points) {
    n.push_back(static_cast<double>(p.n));
    y.push_back(what(p));
  }
  return Exponent(n, y);
}

struct GrowthCase {
  std::string name, entry;
  std::vector<std::string> wrt;
  std::function<std::vector<Data>(int64_t)> args;
  int64_t max_n = 1000000;
};
constexpr int64_t kDeepest = 100000;  // the default limit of recursion

// A relation of n random pairs among n / 10 indices, and a number for each index.
std::vector<Data> Graph(int64_t n) {
  const int64_t nodes = n / 10;
  std::vector<std::vector<int64_t>> pairs(2);
  const auto ends = Noise(static_cast<size_t>(2 * n), 0, static_cast<double>(nodes));
  for (size_t k = 0; k < ends.size(); ++k) pairs[k % 2].push_back(static_cast<int64_t>(ends[k]));
  std::vector<Data> args;
  for (const Tensor& t : RelationArrays(RelationFromCoo({nodes, nodes}, pairs))) {
    std::vector<double> words(t.data.size() / sizeof(double));  // the bits of integers
    if (!words.empty()) std::memcpy(words.data(), t.data.data(), t.data.size());
    args.push_back(Data::Array(t.shape, std::move(words)));
  }
  args.push_back(Data::Array({nodes}, Noise(static_cast<size_t>(nodes), -1, 1)));
  return args;
}

std::vector<Growth> GrowthTable(jit::Engine& engine, const Options& options) {
  constexpr double kQuarterTurn = 1.5707963267948966;  // sin is 1: products neither grow nor vanish
  const auto turns = [&](int64_t n) {
    return std::vector{Data::Array({n}, std::vector<double>(static_cast<size_t>(n), kQuarterTurn))};
  };
  const auto steps = [](int64_t n) { return std::vector{Data::Scalar(0.3), Data::Integer(n)}; };
  const GrowthCase cases[] = {
      {"evalpoly",
       "evalpoly",
       {"c", "x"},
       [](int64_t n) {
         return std::vector{Data::Array({n}, Noise(static_cast<size_t>(n), -1, 1)),
                            Data::Scalar(0.999)};
       }},
      {"indexed loop",
       "indexed",
       {"x", "s0"},
       [](int64_t n) {
         return std::vector{Data::Array({n}, Noise(static_cast<size_t>(n), 1.1, 1.5)),
                            Data::Scalar(1)};
       }},
      {"element updates", "updating", {"x"}, turns},
      {"updates, helper reads", "helped", {"x"}, turns},
      {"updates, rare total", "rarely", {"x"}, turns},
      {"updates, window",
       "window",
       {"x"},
       [](int64_t n) {
         return std::vector{Data::Array({n}, Noise(static_cast<size_t>(n), 0.5, 1))};
       }},
      {"rows of a matrix",
       "by_rows",
       {"w", "x"},
       [](int64_t n) {
         return std::vector{Data::Array({8}, Noise(8, -1, 1)),
                            Data::Array({n, 8}, Noise(static_cast<size_t>(8 * n), -1, 1))};
       }},
      {"windows",
       "sliding",
       {"x"},
       [](int64_t n) {
         return std::vector{Data::Array({n}, Noise(static_cast<size_t>(n), -1, 1)),
                            Data::Integer(16)};
       }},
      {"updates, windows",
       "filling",
       {"x"},
       [](int64_t n) {
         return std::vector{Data::Array({n}, Noise(static_cast<size_t>(n), 0.2, 0.4)),
                            Data::Integer(16)};
       }},
      {"recursion",
       "recursive",
       {"x"},
       [](int64_t n) { return std::vector{Data::Scalar(1.3), Data::Integer(n)}; },
       kDeepest},
      {"list building", "building", {"x"}, steps},
      {"list updates", "changing", {"x"}, steps},
      {"structs in a list", "rows", {"x"}, steps},
      {"recursion, list", "listed", {"x"}, steps, kDeepest},
      {"list, helper reads", "asking", {"x"}, steps},
      {"relation, energy", "energy", {"x"}, Graph},
      {"relation, flow", "flow", {"x"}, Graph},
      {"recursion, array",
       "total",
       {"x"},
       [](int64_t n) {
         return std::vector{Data::Array({n}, Noise(static_cast<size_t>(n), 0.5, 1)),
                            Data::Integer(n)};
       },
       kDeepest},
  };
  std::vector<Growth> all;
  std::printf("\n%-22s %9s %12s %12s %7s %14s %10s\n", "", "n", "primal ns/n", "grad ns/n", "ratio",
              "grad bytes/n", "exponents");
  for (const GrowthCase& c : cases) {
    Growth g{c.name, {}};
    const int64_t max_n = std::min(options.max_n, c.max_n);
    for (int64_t n = 1000; n <= max_n; n *= 10) {
      BenchKernel primal(engine, kPrograms, c.entry, jit::Transform::kValue, {}, c.args(n));
      std::vector<Data> seeded = c.args(n);
      seeded.push_back(Data::Scalar(1));
      BenchKernel gradient(engine, kPrograms, c.entry, jit::Transform::kVjp, c.wrt, seeded);
      Point p{n};
      p.primal_bytes = primal.PeakBytes();
      p.bytes = gradient.PeakBytes();
      Race race;
      race.Add([&](int64_t times) { primal.Run(times); });
      race.Add([&](int64_t times) { gradient.Run(times); });
      race.Run(n > 10000 ? 5 : options.rounds, 0.002);
      p.primal = race.Time(0);
      p.gradient = race.Time(1);
      p.ratio = race.Ratio(1, 0);
      g.points.push_back(p);
      const auto steps = static_cast<double>(n);
      std::printf("%-22s %9lld %12.2f %12.2f %7.2f %14.2f", n == 1000 ? c.name.c_str() : "",
                  static_cast<long long>(n), 1e9 * p.primal / steps, 1e9 * p.gradient / steps,
                  p.ratio, static_cast<double>(p.bytes) / steps);
      if (n * 10 <= max_n) std::printf("\n");
      std::fflush(stdout);
    }
    g.time_exponent = GrowthOf(g.points, [](const Point& p) { return p.gradient; });
    g.ratio_exponent = GrowthOf(g.points, [](const Point& p) { return p.ratio; });
    g.byte_exponent =
        GrowthOf(g.points, [](const Point& p) { return static_cast<double>(p.bytes) + 1; });
    const double primal = GrowthOf(g.points, [](const Point& p) { return p.primal; });
    std::printf("  time %.3f (primal %.3f, ratio %.3f) bytes %.3f\n", g.time_exponent, primal,
                g.ratio_exponent, g.byte_exponent);
    all.push_back(std::move(g));
  }
  return all;
}

// --- output

void WriteJson(const std::string& path, const std::vector<Row>& rows,
               const std::vector<Growth>& growth) {
  std::FILE* f = std::fopen(path.c_str(), "w");
  if (f == nullptr) throw std::runtime_error("cannot write " + path);
  std::fprintf(f, "{\"table\": [");
  for (size_t k = 0; k < rows.size(); ++k) {
    const Row& r = rows[k];
    std::fprintf(f,
                 "%s\n  {\"name\": \"%s\", \"primal_seconds\": %g, \"gradient_seconds\": %g, "
                 "\"ratio\": %.3f, \"zygote_ratio\": %.2f, \"hand_primal_seconds\": %g, "
                 "\"hand_gradient_seconds\": %g, \"hand_ratio\": %.3f, \"to_hand\": %.3f, "
                 "\"primal_bytes\": %lld, \"gradient_bytes\": %lld}",
                 k == 0 ? "" : ",", r.name.c_str(), r.primal, r.gradient, r.ratio, r.zygote,
                 r.hand_primal, r.hand_gradient, r.hand_ratio, r.to_hand,
                 static_cast<long long>(r.primal_bytes), static_cast<long long>(r.bytes));
  }
  std::fprintf(f, "],\n \"growth\": [");
  for (size_t k = 0; k < growth.size(); ++k) {
    const Growth& g = growth[k];
    std::fprintf(f,
                 "%s\n  {\"name\": \"%s\", \"time_exponent\": %.3f, \"ratio_exponent\": %.3f, "
                 "\"byte_exponent\": %.3f, \"points\": [",
                 k == 0 ? "" : ",", g.name.c_str(), g.time_exponent, g.ratio_exponent,
                 g.byte_exponent);
    for (size_t i = 0; i < g.points.size(); ++i) {
      const Point& p = g.points[i];
      std::fprintf(f,
                   "%s\n    {\"n\": %lld, \"primal_seconds\": %g, \"gradient_seconds\": %g, "
                   "\"ratio\": %.3f, \"primal_bytes\": %lld, \"gradient_bytes\": %lld}",
                   i == 0 ? "" : ",", static_cast<long long>(p.n), p.primal, p.gradient, p.ratio,
                   static_cast<long long>(p.primal_bytes), static_cast<long long>(p.bytes));
    }
    std::fprintf(f, "]}");
  }
  std::fprintf(f, "]}\n");
  std::fclose(f);
}

Options ReadOptions(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    const auto value = [&]() -> std::string {
      if (i + 1 == argc) throw std::runtime_error(name + " needs a value");
      return argv[++i];
    };
    if (name == "--table") {
      o.table = true;
    } else if (name == "--growth") {
      o.growth = true;
    } else if (name == "--max-n") {
      o.max_n = std::stoll(value());
    } else if (name == "--rounds") {
      o.rounds = std::stoi(value());
    } else if (name == "--json") {
      o.json = value();
    } else {
      throw std::runtime_error("unknown option " + name);
    }
  }
  if (!o.table && !o.growth) o.table = o.growth = true;
  return o;
}

struct Job {
  Options options;
  int exit_code = 0;
};

void* RunJob(void* at) {
  Job& job = *static_cast<Job*>(at);
  try {
    auto backend = jit::MakeLlvmBackend();
    if (!backend.ok()) throw std::runtime_error(backend.status().message());
    jit::Engine engine({}, *backend);
    std::vector<Row> rows;
    std::vector<Growth> growth;
    if (job.options.table) {
      rows = Table(engine, job.options.rounds);
      FewScalars(engine, job.options.rounds);
      StackOperations(engine, job.options.rounds);
    }
    if (job.options.growth) growth = GrowthTable(engine, job.options);
    if (!job.options.json.empty()) WriteJson(job.options.json, rows, growth);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "bench_gradient: %s\n", e.what());
    job.exit_code = 1;
  }
  return nullptr;
}

}  // namespace
}  // namespace pullback::bench

// Recursion of a million levels needs a stack that only a thread of our own can have.
int main(int argc, char** argv) {
  using namespace pullback::bench;
  Job job;
  try {
    job.options = ReadOptions(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "bench_gradient: %s\n", e.what());
    return 2;
  }
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, size_t{1} << 30);
  pthread_t thread;
  if (pthread_create(&thread, &attributes, RunJob, &job) != 0) return 1;
  pthread_join(thread, nullptr);
  return job.exit_code;
}
