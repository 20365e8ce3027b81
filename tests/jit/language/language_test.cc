// Random programs over the whole language, on all cores. PULLBACK_PROGRAMS sets how many; with
// PULLBACK_SECONDS they go on for so long; PULLBACK_SEED is the first seed. One in
// PULLBACK_COMPILE_EACH (0: none) is compiled as well, and so is one with a construct that was not yet.
// PULLBACK_PRINT only prints the first program. With PULLBACK_ONE_FAILURE the first failure ends the run.
// docs/benchmarks.md says how to run it for hours.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iomanip>
#include <iostream>
#include <mutex>
#include <set>
#include <thread>

#include "tests/jit/language/engines.h"
#include "tests/jit/llvm_support.h"
#include "tests/support/language_check.h"
#include "tests/support/language_program.h"
#include "tests/support/language_shrink.h"
#include "tests/support/settings.h"

namespace pullback::testing {
namespace {

using Clock = std::chrono::steady_clock;

// How many programs of each construct were checked in each mode.
class Table {
 public:
  void Add(const LanguageProgram& p, const std::vector<std::string>& modes) {
    for (const auto& [construct, count] : p.constructs) {
      auto& row = rows_[construct];
      for (const std::string& mode : std::set<std::string>(modes.begin(), modes.end())) ++row[mode];
    }
  }
  // Whether some construct of the program was never checked in this mode.
  bool Lacks(const LanguageProgram& p, const std::string& mode) {
    return std::any_of(p.constructs.begin(), p.constructs.end(),
                       [&](const auto& c) { return At(c.first, mode) == 0; });
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

struct Settings {
  uint32_t first = Setting("PULLBACK_SEED", 0);
  uint32_t seconds = Setting("PULLBACK_SECONDS", 0);
  uint32_t count = seconds > 0 ? UINT32_MAX - first : Setting("PULLBACK_PROGRAMS", 400);
  bool one = Setting("PULLBACK_ONE_FAILURE", 0) != 0;
  uint32_t compile_each = Setting("PULLBACK_COMPILE_EACH", 40);
  Clock::time_point start = Clock::now();
  Clock::time_point until =
      start + (seconds > 0 ? std::chrono::seconds(seconds) : std::chrono::hours(24));
};

struct State {
  std::mutex mutex;
  std::atomic<uint32_t> next{0};
  std::atomic<bool> failed{false};
  Table table;
  std::vector<std::string> failures;
  std::map<std::string, int> skipped;
  int programs = 0, compiled = 0;
  std::pair<double, uint32_t> slowest;  // seconds, seed
};

LanguageOutcome CheckProgram(const LanguageProgram& p, uint32_t seed, bool compiled) {
  uint32_t nth = seed;
  return CheckLanguageProgram(p, seed, [&](const ir::Module& final, const auto& args) {
    std::vector<int> levels{jit::kTierZero};  // of every program: it costs little
    if (compiled) levels.push_back(2);
    if (compiled && nth++ % 3 == 0) levels.push_back(0);
    return EnginesDiffer(final, args, levels);
  });
}

// The failure, and what is left of the program when it is made small.
std::string Report(const LanguageProgram& p, uint32_t seed, bool compiled,
                   const std::string& failure) {
  const std::string where = "seed " + std::to_string(seed) + ": " + failure + "\n";
  if (Setting("PULLBACK_SHRINK", 1) == 0) return where;
  const std::string same = FailureClass(failure);
  const std::string small = Shrink(p.text, [&](const std::string& text) {
    LanguageProgram other = p;
    other.text = text;
    return FailureClass(CheckProgram(other, seed, compiled).failure) == same;
  });
  return where + small;
}

// A process that is about to die says at which programs it was.
thread_local uint32_t now_at = UINT32_MAX;

void SayWhere(int signal) {
  char text[64];
  const int size = std::snprintf(text, sizeof(text), "signal %d at seed %u\n", signal, now_at);
  if (size > 0 && write(STDERR_FILENO, text, static_cast<size_t>(size)) < 0) _exit(1);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void Work(State& state, const Settings& settings) {
  while (Clock::now() < settings.until && !(settings.one && state.failed)) {
    const uint32_t seed = state.next++;
    if (seed - settings.first >= settings.count) return;
    now_at = seed;
    const LanguageProgram p = GenerateLanguageProgram(seed);
    // Whatever the generator makes of every fourth seed, and the like.
    bool compiled =
        settings.compile_each > 0 && (seed * 2654435761u >> 12) % settings.compile_each == 0;
    if (settings.compile_each > 0) {
      const std::lock_guard lock(state.mutex);
      compiled |= state.table.Lacks(p, "compiled");
    }
    const Clock::time_point begin = Clock::now();
    LanguageOutcome outcome = CheckProgram(p, seed, compiled);
    std::string report;
    if (!outcome.failure.empty()) {
      report = Report(p, seed, compiled, outcome.failure);
      // As it comes: a run of hours may not reach its end.
      std::cerr << report << std::endl;
      state.failed = true;
    }
    const std::chrono::duration<double> took = Clock::now() - begin;
    const std::lock_guard lock(state.mutex);
    ++state.programs;
    state.slowest = std::max(state.slowest, {took.count(), seed});
    state.compiled += compiled ? 1 : 0;
    outcome.checked.emplace_back("value");
    if (compiled) outcome.checked.emplace_back("compiled");
    state.table.Add(p, outcome.checked);
    if (!outcome.skipped.empty()) ++state.skipped[outcome.skipped];
    if (!report.empty()) state.failures.push_back(std::move(report));
  }
}

TEST_CASE("generated programs over the whole language") {
  const Settings settings;
  if (std::getenv("PULLBACK_PRINT")) {
    std::cout << GenerateLanguageProgram(settings.first).text;
    return;
  }
  State state;
  state.next = settings.first;
  for (const int signal : {SIGABRT, SIGSEGV, SIGFPE, SIGILL}) std::signal(signal, SayWhere);
  std::vector<std::thread> workers;
  for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i)
    workers.emplace_back([&] { Work(state, settings); });
  for (std::thread& worker : workers) worker.join();
  const std::chrono::duration<double> all = Clock::now() - settings.start;

  state.table.Print({"value", "engines", "jvp", "vjp", "differences", "hvp", "matrix",
                     "unoptimised", "compiled", "plain loops", "recomputed"});
  int skipped = 0;
  for (const auto& [why, times] : state.skipped) {
    std::cout << "without differences, " << why << ": " << times << "\n";
    skipped += times;
  }
  std::cout << state.programs << " programs from seed " << settings.first << " in " << all.count()
            << " s, " << state.compiled << " of them compiled, " << skipped
            << " without differences, " << state.failures.size() << " failures; the slowest, seed "
            << state.slowest.second << ", took " << state.slowest.first << " s" << std::endl;
  std::sort(state.failures.begin(), state.failures.end(),
            [](const auto& a, const auto& b) { return a.size() < b.size(); });
  for (const std::string& failure : state.failures) FAIL_CHECK(failure);
  CHECK(skipped * 4 <= state.programs);
  if (state.programs < 2000) return;
  for (const char* how : {"", ", while", ", left early", ", return"})
    CHECK(state.table.At("loop with snapshots" + std::string(how), "plain loops") > 0);
  for (const std::string& construct : LanguageConstructs()) {
    INFO(construct);
    const bool stops = construct.starts_with("stop_gradient");  // differences do not know of it
    for (const char* mode : {"engines", "jvp", "vjp", stops ? "vjp" : "differences"})
      CHECK(state.table.At(construct, mode) > 0);
    CHECK(state.table.At(construct, "compiled") > 0);
  }
}

}  // namespace
}  // namespace pullback::testing
