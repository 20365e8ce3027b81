// Random programs over the whole language. PULLBACK_PROGRAMS sets how many; with PULLBACK_SECONDS they
// go on for so long; PULLBACK_SEED is the first seed.
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <iomanip>
#include <iostream>
#include <mutex>
#include <set>
#include <thread>

#include "tests/jit/programs/compiled.h"
#include "tests/support/derivatives.h"
#include "tests/support/language_check.h"
#include "tests/support/language_program.h"

namespace pullback::testing {
namespace {

using Clock = std::chrono::steady_clock;
using pipeline::Transform;

uint32_t Setting(const char* name, uint32_t otherwise) {
  const char* text = std::getenv(name);
  return text ? static_cast<uint32_t>(std::strtoul(text, nullptr, 10)) : otherwise;
}

// One in so many is compiled as well.
constexpr uint32_t kCompileEach = 40;

// How many programs of each construct were checked in each mode.
class Table {
 public:
  void Add(const LanguageProgram& p, const std::vector<std::string>& modes) {
    for (const auto& [construct, count] : p.constructs) {
      auto& row = rows_[construct];
      for (const std::string& mode : std::set<std::string>(modes.begin(), modes.end())) ++row[mode];
    }
  }
  int At(const std::string& construct, const std::string& mode) { return rows_[construct][mode]; }
  void Print(const std::vector<std::string>& modes) {
    std::cout << std::left << std::setw(46) << "programs with";
    for (const std::string& mode : modes) std::cout << std::right << std::setw(13) << mode;
    for (auto& [construct, row] : rows_) {
      std::cout << "\n" << std::left << std::setw(46) << construct;
      for (const std::string& mode : modes) std::cout << std::right << std::setw(13) << row[mode];
    }
    std::cout << "\n";
  }

 private:
  std::map<std::string, std::map<std::string, int>> rows_;
};

struct State {
  std::mutex mutex;
  std::atomic<uint32_t> next{0};
  Table table;
  std::vector<std::string> failures;
  std::map<std::string, int> skipped;
  int programs = 0;
};

void Work(State& state, uint32_t end, Clock::time_point until) {
  while (Clock::now() < until) {
    const uint32_t seed = state.next++;
    if (seed >= end) return;
    const LanguageProgram p = GenerateLanguageProgram(seed);
    LanguageOutcome outcome = CheckLanguageProgram(p, seed);
    const std::lock_guard lock(state.mutex);
    ++state.programs;
    outcome.checked.emplace_back("value");
    state.table.Add(p, outcome.checked);
    if (!outcome.skipped.empty()) ++state.skipped[outcome.skipped];
    if (!outcome.failure.empty()) {
      state.failures.push_back("seed " + std::to_string(seed) + ": " + outcome.failure + "\n" +
                               p.text);
    }
  }
}

// Interpreter and compiled code, O2 and O0, on the final IR of each mode: the same bits.
void CheckCompiled(const LanguageProgram& p) {
  const ir::Module ssa = LowerText(p.text, p.entry);
  std::vector<Tensor> forward = p.args, reverse = p.args;
  for (const Tensor& x : p.args) {
    if (x.dtype == DType::kF64) forward.push_back(x);
  }
  for (const Tensor& y : RunOk(Derived(ssa, Transform::kValue), p.args)) {
    if (y.dtype == DType::kF64) reverse.push_back(y);
  }
  CheckBitwise(Derived(ssa, Transform::kValue), p.args);
  CheckBitwise(Derived(ssa, Transform::kJvp), forward);
  CheckBitwise(Derived(ssa, Transform::kVjp), reverse);
}

TEST_CASE("generated programs over the whole language") {
  const uint32_t first = Setting("PULLBACK_SEED", 0);
  const uint32_t seconds = Setting("PULLBACK_SECONDS", 0);
  const uint32_t count = seconds > 0 ? UINT32_MAX - first : Setting("PULLBACK_PROGRAMS", 800);
  const Clock::time_point start = Clock::now();
  const auto until = start + std::chrono::hours(seconds > 0 ? 0 : 24) +
                     std::chrono::milliseconds(seconds * 700ull);
  State state;
  state.next = first;
  std::vector<std::thread> workers;
  for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i)
    workers.emplace_back([&] { Work(state, first + count, until); });
  for (std::thread& worker : workers) worker.join();
  const std::chrono::duration<double> interpreted = Clock::now() - start;

  uint32_t compiled = 0;
  for (uint32_t seed = first; seed < first + static_cast<uint32_t>(state.programs);
       seed += kCompileEach) {
    if (seconds > 0 && Clock::now() - start > std::chrono::seconds(seconds)) break;
    const LanguageProgram p = GenerateLanguageProgram(seed);
    INFO("seed " << seed << "\n" << p.text);
    CheckCompiled(p);
    state.table.Add(p, {"compiled"});
    ++compiled;
  }
  const std::chrono::duration<double> all = Clock::now() - start;

  state.table.Print({"value", "jvp", "vjp", "differences", "hvp", "unoptimised", "compiled"});
  int skipped = 0;
  for (const auto& [why, times] : state.skipped) {
    std::cout << "without differences, " << why << ": " << times << "\n";
    skipped += times;
  }
  std::cout << state.programs << " programs in " << interpreted.count() << " s, " << compiled
            << " compiled in " << (all - interpreted).count() << " s, " << skipped
            << " without differences\n";
  std::sort(state.failures.begin(), state.failures.end(),
            [](const auto& a, const auto& b) { return a.size() < b.size(); });
  for (const std::string& failure : state.failures) FAIL_CHECK(failure);
  CHECK(skipped * 4 <= state.programs);
  if (state.programs < 800) return;
  for (const std::string& construct : LanguageConstructs()) {
    INFO(construct);
    for (const char* mode : {"jvp", "vjp", "differences"})
      CHECK(state.table.At(construct, mode) > 0);
  }
}

}  // namespace
}  // namespace pullback::testing
