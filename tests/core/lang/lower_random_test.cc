// Random programs: what lowering makes of them, run by the interpreter, against the tree.
#include <cmath>
#include <cstdlib>

#include "tests/core/lang/lower_support.h"
#include "tests/core/lang/tree_eval.h"
#include "tests/core/lang/typed_program.h"

namespace pullback::lang {
namespace {

constexpr int64_t kShapes[][2] = {{2, 3}, {3, 2}, {1, 1}, {2, 2}, {3, 1}, {0, 2}, {2, 0}, {1, 3}};

std::vector<Tensor> Arguments(uint64_t shape, uint64_t seed) {
  const int64_t n = kShapes[shape][0], m = kShapes[shape][1];
  uint64_t state = seed * 0x9E3779B97F4A7C15u + 1;
  const auto number = [&] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(static_cast<int64_t>(state >> 33) % 5 - 2);
  };
  std::vector<double> x, y, a;
  std::vector<int64_t> k;
  for (int64_t i = 0; i < n; ++i) {
    x.push_back(number());
    k.push_back(std::abs(static_cast<int64_t>(number())) % n);
  }
  for (int64_t i = 0; i < m; ++i) y.push_back(number());
  for (int64_t i = 0; i < n * m; ++i) a.push_back(number());
  return {Vec(x),    Vec(y),        Mat(n, m, a),
          IntVec(k), F64(number()), I64(static_cast<int64_t>(number()))};
}

// Numbers too large to be exact compare as equal.
bool Same(const Tensor& got, const Tensor& want) {
  constexpr double kExact = 1e15;
  if (got.shape != want.shape) return false;
  const std::vector<double> a = Doubles(got), b = Doubles(want);
  for (size_t i = 0; i < a.size(); ++i) {
    const bool inexact = !(std::abs(a[i]) < kExact) || !(std::abs(b[i]) < kExact);
    if (a[i] != b[i] && !inexact) return false;
  }
  return true;
}

struct Tally {
  int ran = 0;
  int trapped = 0;
};

void CompareOne(const Program& program, const ir::Module& module, const std::vector<Tensor>& args,
                Tally& tally) {
  const TreeResult want = RunTree(program, "f", args);
  eval::Limits limits;
  limits.max_steps = 50'000'000;
  const StatusOr<eval::Result> got = eval::Run(module, args, limits);
  REQUIRE(got.ok());
  ++tally.ran;
  if (want.trap) {  // a trap in what nobody needs may have gone
    ++tally.trapped;
    return;
  }
  REQUIRE_FALSE(got->trap.has_value());
  REQUIRE(got->values.size() == 1);
  REQUIRE(Same(got->values[0], want.values[0]));
}

void CompareSeed(uint64_t seed, Tally& tally) {
  const std::string text = TypedProgram(seed);
  INFO("seed " << seed << "\n" << text);
  StatusOr<Program> program = Parse(text);
  INFO(program.status().ToString());
  REQUIRE(program.ok());
  const Status checked = Check(*program);
  INFO(checked.ToString());
  REQUIRE(checked.ok());
  const StatusOr<ir::Module> module = Lower(*program, "f");
  INFO(module.status().ToString());
  REQUIRE(module.ok());
  const std::string ir = ir::Print(*module);
  INFO(ir);
  const Status verified = ir::Verify(*module);
  INFO(verified.ToString());
  REQUIRE(verified.ok());
  for (uint64_t shape = 0; shape < std::size(kShapes); ++shape) {
    INFO("shape " << shape);
    CompareOne(*program, *module, Arguments(shape, seed), tally);
  }
}

TEST_CASE("lowering: random programs mean what their trees mean", "[lower][random]") {
  const char* first = std::getenv("PULLBACK_FIRST_SEED");
  const char* count = std::getenv("PULLBACK_SEEDS");
  const uint64_t begin = first ? std::strtoull(first, nullptr, 10) : 0;
  const uint64_t end = begin + (count ? std::strtoull(count, nullptr, 10) : 1000);
  Tally tally;
  for (uint64_t seed = begin; seed < end; ++seed) CompareSeed(seed, tally);
  CHECK(tally.trapped < tally.ran / 2);
}

}  // namespace
}  // namespace pullback::lang
