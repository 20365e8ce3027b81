// Contractions given to OpenBLAS: what of them it takes, and what comes out.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include "jit/runtime/contract.h"
#include "jit/runtime/support.h"
#include "tests/jit/runtime_support.h"

namespace pullback::jit {
namespace {

constexpr LeastWork kAll{1, 1};

Contraction Of(std::vector<ContractIndex> indices) {
  Contraction c;
  c.count = indices.size();
  std::copy(indices.begin(), indices.end(), c.indices.begin());
  return c;
}

const Blas& TheBlas() {
  static const Blas* const blas = LoadBlas().value();
  return *blas;
}

// to[i, j] = sum over k of a[i, k] b[k, j], by the steps of each index.
std::vector<ContractIndex> Matrices(int64_t n, int64_t m, int64_t k) {
  return {{n, {m, k, 0}}, {m, {1, 0, 1}}, {k, {0, 1, m}}};
}

TEST_CASE("Contractions: matrix products in row-major order") {
  const auto plain = PlanMatrixProduct(Of(Matrices(3, 5, 4)), kAll);
  REQUIRE(plain);
  CHECK_FALSE(plain->exchanged);
  CHECK((plain->rows == 3 && plain->columns == 5 && plain->inner == 4));
  CHECK((plain->a.line == 4 && plain->b.line == 5 && plain->to.line == 5));
  CHECK_FALSE((plain->a.transposed || plain->b.transposed));
  const auto transposed =
      PlanMatrixProduct(Of({{3, {5, 1, 0}}, {5, {1, 0, 4}}, {4, {0, 3, 1}}}), kAll);
  REQUIRE(transposed);
  CHECK((transposed->a.transposed && transposed->a.line == 3));
  CHECK((transposed->b.transposed && transposed->b.line == 4));
  // The result lies transposed: its transpose is the product of the second by the first.
  const auto exchanged =
      PlanMatrixProduct(Of({{3, {1, 4, 0}}, {5, {3, 0, 1}}, {4, {0, 1, 5}}}), kAll);
  REQUIRE(exchanged);
  CHECK(exchanged->exchanged);
  CHECK((exchanged->rows == 5 && exchanged->columns == 3 && exchanged->to.line == 3));
}

TEST_CASE("Contractions: axes that lie one in the other are one, others are taken in turn") {
  const auto merged = PlanMatrixProduct(
      Of({{2, {15, 12, 0}}, {3, {5, 4, 0}}, {5, {1, 0, 1}}, {4, {0, 1, 5}}}), kAll);
  REQUIRE(merged);
  CHECK((merged->rows == 6 && merged->outer_count == 0));
  const auto batch = PlanMatrixProduct(
      Of({{2, {15, 12, 20}}, {3, {5, 4, 0}}, {5, {1, 0, 1}}, {4, {0, 1, 5}}}), kAll);
  REQUIRE(batch);
  CHECK((batch->rows == 3 && batch->outer_count == 1 && batch->outer[0].extent == 2));
  CHECK(PlanMatrixProduct(Of({{1, {7, 7, 7}}, {3, {1, 4, 0}}, {4, {0, 1, 1}}}), kAll)->is_vector());
}

TEST_CASE("Contractions: what no library takes, or is too small") {
  CHECK_FALSE(PlanMatrixProduct(Of(Matrices(3, 5, 4)), {61, 61}));
  CHECK(PlanMatrixProduct(Of(Matrices(3, 5, 4)), {60, 60}));
  CHECK_FALSE(PlanMatrixProduct(Of({{3, {1, 4, 0}}, {4, {0, 1, 1}}}), {1, 13}));
  CHECK_FALSE(PlanMatrixProduct(Of(Matrices(3, 5, 0)), kAll));
  CHECK_FALSE(PlanMatrixProduct(Of(Matrices(0, 5, 4)), kAll));
  CHECK_FALSE(PlanMatrixProduct(Of({{3, {5, 4, 0}}, {5, {1, 0, 1}}}), kAll));  // nothing is summed
  CHECK_FALSE(PlanMatrixProduct(Of({{9, {0, 1, 1}}}), kAll));                  // a scalar
  // Windows and steps that a library's lines cannot be, and lines beyond its integers.
  CHECK_FALSE(PlanMatrixProduct(Of({{3, {1, 1, 0}}, {4, {0, 1, 1}}}), kAll));
  CHECK_FALSE(PlanMatrixProduct(Of({{3, {1, -4, 0}}, {4, {0, 1, 1}}}), kAll));
  CHECK_FALSE(PlanMatrixProduct(Of({{3, {1, 8, 0}}, {4, {0, 2, 1}}}), kAll));
  CHECK_FALSE(PlanMatrixProduct(Of({{3, {1, int64_t{1} << 31, 0}}, {4, {0, 1, 1}}}), kAll));
}

// A contraction with arrays of its own.
template <typename T>
struct Case {
  Contraction c;
  std::vector<T> data[3];
  Array arrays[3]{};

  Case(std::vector<ContractIndex> indices, bool adds, uint32_t seed) : c(Of(std::move(indices))) {
    c.f64 = sizeof(T) == 8;
    c.adds = adds;
    std::mt19937 random(seed);
    std::uniform_real_distribution<T> number(-1, 1);
    for (size_t k = 0; k < 3; ++k) {
      int64_t last = 0;
      for (size_t i = 0; i < c.count; ++i) {
        last += (c.indices[i].extent - 1) * c.indices[i].step[k];
      }
      data[k].resize(static_cast<size_t>(std::max<int64_t>(last, 0)) + 1);
      for (T& v : data[k]) v = number(random);
    }
  }
  std::vector<int64_t> Words() const {
    std::vector<int64_t> words(c.offset.begin(), c.offset.end());
    for (size_t i = 0; i < c.count; ++i) {
      words.push_back(c.indices[i].extent);
      words.insert(words.end(), c.indices[i].step.begin(), c.indices[i].step.end());
    }
    return words;
  }
  int32_t Run(RunContext* context) {
    const std::vector<int64_t> words = Words();
    int32_t taken = -1;
    for (size_t k = 0; k < 3; ++k) arrays[k].data = data[k].data();
    const int64_t* told = words.data();
    const int32_t form = ContractForm(c.count, c.f64, c.adds);
    RunBody(context, [&, told](RunContext* run) {
      taken = pb_contract(run, &arrays[0], &arrays[1], &arrays[2], told, form);
    });
    return taken;
  }
  // By definition.
  std::vector<double> Expected() const {
    std::vector<double> to(data[0].begin(), data[0].end());
    std::vector<bool> begun(to.size(), c.adds);
    std::vector<int64_t> at(c.count, 0);
    for (;;) {
      int64_t offset[3] = {};
      for (size_t i = 0; i < c.count; ++i) {
        for (size_t k = 0; k < 3; ++k) offset[k] += at[i] * c.indices[i].step[k];
      }
      const auto element = static_cast<size_t>(offset[0]);
      if (!begun[element]) to[element] = 0;
      begun[element] = true;
      to[element] += static_cast<double>(data[1][static_cast<size_t>(offset[1])]) *
                     static_cast<double>(data[2][static_cast<size_t>(offset[2])]);
      size_t i = c.count;
      while (i > 0 && ++at[i - 1] == c.indices[i - 1].extent) at[--i] = 0;
      if (i == 0) return to;
    }
  }
};

RunContext& Eager(RunContext& context) {
  static Blas eager = TheBlas();
  eager.least = kAll;
  context.blas = &eager;
  return context;
}

template <typename T>
void CheckCase(const std::vector<ContractIndex>& indices, bool adds, uint32_t seed) {
  Case<T> test(indices, adds, seed);
  const std::vector<double> expected = test.Expected();
  RunContext context;
  REQUIRE(test.Run(&Eager(context)) == 1);
  CHECK(context.contractions == 1);
  for (size_t i = 0; i < expected.size(); ++i) {
    CHECK(static_cast<double>(test.data[0][i]) ==
          Approx(expected[i]).margin(sizeof(T) == 8 ? 1e-11 : 1e-3));
  }
  // The same bits wherever the operands lie.
  Case<T> moved(indices, adds, seed);
  for (size_t k = 0; k < 3; ++k) {
    moved.data[k].insert(moved.data[k].begin(), k + 1, T{0});
    moved.c.offset[k] = static_cast<int64_t>(k) + 1;
  }
  REQUIRE(moved.Run(&context) == 1);
  CHECK(std::memcmp(moved.data[0].data() + 1, test.data[0].data(),
                    test.data[0].size() * sizeof(T)) == 0);
}

TEST_CASE("Contractions: OpenBLAS computes what they say, in every arrangement") {
  uint32_t seed = 0;
  for (const bool adds : {false, true}) {
    for (const auto& [n, m, k] : {std::array<int64_t, 3>{3, 5, 4}, {33, 17, 70}, {2, 600, 530}}) {
      for (const int arrangement : {0, 1, 2, 3, 4, 5, 6, 7}) {
        const bool a = (arrangement & 1) != 0, b = (arrangement & 2) != 0,
                   to = (arrangement & 4) != 0;
        const std::vector<ContractIndex> matrices = {{n, {to ? 1 : m, a ? 1 : k, 0}},
                                                     {m, {to ? n : 1, 0, b ? k : 1}},
                                                     {k, {0, a ? n : 1, b ? 1 : m}}};
        CheckCase<double>(matrices, adds, ++seed);
        CheckCase<float>(matrices, adds, ++seed);
        if (to) continue;
        const std::vector<ContractIndex> vectors = {{n, {b ? 3 : 1, a ? 1 : k, 0}},
                                                    {k, {0, a ? n : 1, b ? 2 : 1}}};
        CheckCase<double>(vectors, adds, ++seed);
        CheckCase<float>(vectors, adds, ++seed);
        // The vector first.
        CheckCase<double>({{n, {1, 0, a ? 1 : k}}, {k, {0, 1, a ? n : 1}}}, adds, ++seed);
      }
    }
    // A batch; two axes that are summed over and do not lie in one another: each product but the first adds.
    CheckCase<double>({{4, {15, 12, 20}}, {3, {5, 4, 0}}, {5, {1, 0, 1}}, {4, {0, 1, 5}}}, adds,
                      ++seed);
    CheckCase<double>({{3, {5, 4, 0}}, {5, {1, 0, 1}}, {4, {0, 1, 5}}, {2, {0, 12, 50}}}, adds,
                      ++seed);
  }
}

TEST_CASE("Contractions: NaN and infinity are multiplied, what is stored over is not read") {
  const double inf = INFINITY;
  for (const int64_t columns : {2, 1}) {
    std::vector<ContractIndex> indices = {{2, {columns, 2, 0}}, {2, {0, 1, columns}}};
    if (columns == 2) indices.push_back({2, {1, 0, 1}});
    Case<double> test(indices, false, 1);
    test.data[1] = {0, 1, 2, 3};
    test.data[2] = columns == 2 ? std::vector<double>{inf, 1, 1, 1} : std::vector<double>{inf, 1};
    std::fill(test.data[0].begin(), test.data[0].end(), NAN);
    RunContext context;
    REQUIRE(test.Run(&Eager(context)) == 1);
    CHECK(std::isnan(test.data[0][0]));  // 0 * inf
    if (columns == 2) CHECK(test.data[0][1] == 1);
    CHECK(test.data[0][static_cast<size_t>(columns)] == inf);
  }
}

TEST_CASE("Contractions: operands may be one array") {
  Case<double> test({{40, {40, 30, 0}}, {40, {1, 0, 30}}, {30, {0, 1, 1}}}, false, 5);
  test.data[2] = test.data[1];
  const std::vector<double> expected = test.Expected();
  test.data[2].clear();
  RunContext context;
  const std::vector<int64_t> words = test.Words();
  for (size_t k = 0; k < 2; ++k) test.arrays[k].data = test.data[k].data();
  Eager(context);
  const int64_t* told = words.data();
  int32_t taken = 0;
  RunBody(&context, [&, told](RunContext* run) {
    taken = pb_contract(run, &test.arrays[0], &test.arrays[1], &test.arrays[1], told,
                        ContractForm(3, true, false));
  });
  REQUIRE(taken == 1);
  for (size_t i = 0; i < expected.size(); ++i)
    CHECK(test.data[0][i] == Approx(expected[i]).margin(1e-12));
}

TEST_CASE("Contractions: without a library, or with little to do, they are left to the loops") {
  Case<double> test(Matrices(8, 8, 8), false, 1);
  const std::vector<double> before = test.data[0];
  RunContext context;
  CHECK(test.Run(&context) == 0);
  context.blas = &TheBlas();
  CHECK(test.Run(&context) == 0);
  CHECK(context.contractions == 0);
  CHECK(test.data[0] == before);
  Case<double> larger(Matrices(16, 16, 16), false, 1);
  CHECK(larger.Run(&context) == 1);
}

TEST_CASE("Contractions: a run that is stopped ends between the pieces of a product") {
  // Some seconds of work.
  Case<double> test(Matrices(3000, 3000, 3000), false, 1);
  RunContext context;
  context.blas = &TheBlas();
  std::thread stopper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    context.stop = 1;
  });
  CHECK(test.Run(&context) == -1);
  stopper.join();
  CHECK(context.trap_kind == kTrapStopped);

  CHECK(context.contractions == 0);
}

TEST_CASE("Contractions: a library that is not there, or not what it should be, is NO_BLAS") {
  for (const char* name : {"libpullback_has_no_such_blas.so", "libm.so.6"}) {
    const auto blas = LoadBlas(name);
    REQUIRE_FALSE(blas.ok());
    CHECK(blas.status().code() == Code::kFailedPrecondition);
    CHECK(blas.status().reason() == "NO_BLAS");
  }
  CHECK(LoadBlas("libm.so.6").status().message().find("cblas_dgemm") != std::string::npos);
  CHECK(LoadBlas().value() == LoadBlas().value());
  CHECK(TheBlas().name.find("OpenBLAS ") == 0);
}

// In a process of its own, which may map `bytes` more than it has.
template <typename Fn>
int WithRoomFor(size_t bytes, Fn&& fn) {
  const pid_t child = fork();
  if (child == 0) {
    size_t pages = 0;
    FILE* const statm = std::fopen("/proc/self/statm", "r");
    if (statm == nullptr || std::fscanf(statm, "%zu", &pages) != 1) _exit(100);
    const rlim_t most = pages * static_cast<size_t>(sysconf(_SC_PAGESIZE)) + bytes;
    const rlimit limit{most, most};
    if (setrlimit(RLIMIT_AS, &limit) != 0) _exit(101);
    _exit(fn());
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  return WEXITSTATUS(status);
}

TEST_CASE("Contractions: no call is made where the library would wait for memory for ever") {
  TheBlas();
  // As many at once as there is room for, each looked at when it is the first of its number. This process may have
  // made some before.
  constexpr int kMost = 40;
  const auto taken = [](std::array<std::optional<BlasBuffer>, kMost>& buffers) {
    int good = 0;
    for (std::optional<BlasBuffer>& buffer : buffers) good += buffer.emplace().ok() ? 1 : 0;
    return good;
  };
  CHECK(WithRoomFor(size_t{256} << 20, [&] {
          std::array<std::optional<BlasBuffer>, kMost> buffers;
          return taken(buffers);
        }) == kMost);
  const int trap = WithRoomFor(size_t{64} << 20, [&] {
    std::array<std::optional<BlasBuffer>, kMost> buffers;
    if (taken(buffers) == kMost) return 0;
    RunContext context;
    context.bytes_budget = int64_t{1} << 30;
    context.blas = &TheBlas();
    Case<double> product(Matrices(64, 64, 64), false, 1);
    product.Run(&context);
    return static_cast<int>(context.trap_kind);
  });
  CHECK(trap == kTrapMemory);
}

}  // namespace
}  // namespace pullback::jit
