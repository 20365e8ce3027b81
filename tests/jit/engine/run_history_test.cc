#include "jit/run_history.h"

#include <catch2/catch.hpp>

namespace pullback::jit {
namespace {

constexpr bool kShort = true;
constexpr bool kLong = false;

void Count(RunHistory& history, int64_t runs, bool was_short) {
  for (int64_t i = 0; i < runs; ++i) history.Count(10, was_short);
}

// Short runs until it is trusted, at most so many.
int64_t RunsUntilTrust(RunHistory& history, int64_t most = 1 << 20) {
  int64_t runs = 0;
  for (; !history.ExpectsShort(10) && runs < most; ++runs) history.Count(10, kShort);
  return runs;
}

// As a server does: what is not expected to be short is only counted. Every period-th run is long; the number of those
// that were expected to be short, of so many runs.
int64_t Mistakes(int64_t period, int64_t runs) {
  RunHistory history;
  int64_t mistakes = 0;
  for (int64_t i = 1; i <= runs; ++i) {
    const bool was_short = i % period != 0;
    const bool mistaken = !was_short && history.ExpectsShort(10);
    history.Count(10, was_short);
    if (mistaken) history.CountMistake();
    mistakes += mistaken ? 1 : 0;
  }
  return mistakes;
}

TEST_CASE("run history: trust comes after short runs, and goes with a long one") {
  RunHistory history;
  CHECK_FALSE(history.ExpectsShort(0));
  CHECK(RunsUntilTrust(history) == RunHistory::kTrusted);
  history.Count(10, kShort);
  CHECK(history.ExpectsShort(10));
  history.Count(10, kLong);
  CHECK_FALSE(history.ExpectsShort(10));
  CHECK(RunsUntilTrust(history) == RunHistory::kTrusted);
}

TEST_CASE("run history: it says nothing of requests larger than those that were short") {
  RunHistory history;
  RunsUntilTrust(history);
  CHECK_FALSE(history.ExpectsShort(11));
  history.Count(11, kShort);
  CHECK(history.ExpectsShort(11));
  CHECK(history.ExpectsShort(3));
}

TEST_CASE(
    "run history: with credit a long run stops requests of its size until one is short again") {
  RunHistory history;
  Count(history, 1000, kShort);
  history.Count(8, kLong);
  CHECK(history.ExpectsShort(7));
  CHECK_FALSE(history.ExpectsShort(8));
  CHECK_FALSE(history.ExpectsShort(10));
  history.Count(10, kShort);
  CHECK(history.ExpectsShort(10));
}

TEST_CASE("run history: runs that only seemed long cost less, until trust has to be earned again") {
  RunHistory history;
  Count(history, RunHistory::kTrusted + RunHistory::kCostOfUnproven, kShort);
  history.CountUnproven();
  CHECK(history.ExpectsShort(10));
  history.CountUnproven();
  CHECK_FALSE(history.ExpectsShort(10));
  CHECK(RunsUntilTrust(history) == RunHistory::kTrusted);
}

TEST_CASE("run history: one long run in a hundred does not end trust, one in twenty does") {
  const auto trusted = [](int period) {
    RunHistory history;
    int count = 0;
    for (int i = 1; i <= 100 * period; ++i) {
      count += history.ExpectsShort(10) ? 1 : 0;
      history.Count(10, i % period == 0 ? kLong : kShort);
    }
    return count / 100;
  };
  CHECK(trusted(100) >= 97);
  CHECK(trusted(20) <= 20 - RunHistory::kTrusted);
}

TEST_CASE("run history: mistakes are about one in a thousand runs, however a kernel behaves") {
  constexpr int64_t kRuns = 1000000;
  for (const int64_t period : {9, 20, 65, 100, 300, 1000, 3000}) {
    INFO("every " << period << "th run is long");
    CHECK(Mistakes(period, kRuns) <= kRuns / RunHistory::kCostOfMistake);
  }
}

TEST_CASE("run history: a mistake is paid for by credit, else by runs without trust") {
  RunHistory history;
  RunsUntilTrust(history);
  history.CountMistake();
  CHECK(RunsUntilTrust(history) == RunHistory::kCostOfMistake);
  history.CountMistake();
  history.CountMistake();
  CHECK(RunsUntilTrust(history) == 2 * RunHistory::kCostOfMistake);
  // After many short ones only its size has to be shown again.
  Count(history, RunHistory::kCostOfMistake, kShort);
  history.CountMistake();
  CHECK(RunsUntilTrust(history) == 1);
}

TEST_CASE("run history: credit and debt have a bound") {
  RunHistory history;
  Count(history, 10 * RunHistory::kMostCredit, kShort);
  for (int i = 0; i < 16; ++i) {
    CHECK(RunsUntilTrust(history) <= 1);
    history.CountMistake();
  }
  for (int i = 0; i < 100; ++i) history.CountMistake();
  CHECK(RunsUntilTrust(history) == RunHistory::kMostCredit + RunHistory::kTrusted);
}

}  // namespace
}  // namespace pullback::jit
