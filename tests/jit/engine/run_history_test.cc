#include "jit/run_history.h"

#include <catch2/catch.hpp>

namespace pullback::jit {
namespace {

constexpr double kShort = RunHistory::kShortSeconds / 2;
constexpr double kLong = RunHistory::kShortSeconds * 2;

// Short runs until it is trusted, at most so many.
uint32_t RunsUntilTrust(RunHistory& history, uint32_t most = 1 << 20) {
  uint32_t runs = 0;
  while (!history.ExpectsShort(10) && runs < most) {
    history.Count(10, kShort);
    ++runs;
  }
  return runs;
}

TEST_CASE("run history: trust comes after short runs in a row, and goes with a long one") {
  RunHistory history;
  CHECK_FALSE(history.ExpectsShort(0));
  CHECK(RunsUntilTrust(history) == RunHistory::kFirst);
  history.Count(10, kShort);
  CHECK(history.ExpectsShort(10));
  history.Count(10, kLong);
  CHECK_FALSE(history.ExpectsShort(10));
  CHECK(RunsUntilTrust(history) == RunHistory::kFirst);
}

TEST_CASE("run history: it says nothing of requests larger than those that were short") {
  RunHistory history;
  RunsUntilTrust(history);
  CHECK_FALSE(history.ExpectsShort(11));
  history.Count(11, kShort);
  CHECK(history.ExpectsShort(11));
  CHECK(history.ExpectsShort(3));
  history.Count(11, kLong);
  RunsUntilTrust(history);
  CHECK_FALSE(history.ExpectsShort(11));
}

TEST_CASE("run history: each mistake makes trust four times as dear, up to a bound") {
  RunHistory history;
  for (uint32_t needed = RunHistory::kFirst; needed <= RunHistory::kMost; needed *= 4) {
    CHECK(RunsUntilTrust(history) == needed);
    history.CountMistake();
    CHECK_FALSE(history.ExpectsShort(10));
  }
  CHECK(RunsUntilTrust(history) == RunHistory::kMost);
}

TEST_CASE("run history: many short runs halve what mistakes have made dear") {
  RunHistory history;
  history.CountMistake();
  constexpr uint32_t kDear = 4 * RunHistory::kFirst;
  CHECK(RunsUntilTrust(history) == kDear);
  for (uint32_t i = 0; i <= (RunHistory::kForgive - 1) * kDear; ++i) history.Count(10, kShort);
  CHECK(history.ExpectsShort(10));
  history.Count(10, kLong);
  CHECK(RunsUntilTrust(history) == kDear / 2);
  for (uint32_t i = 0; i < 1000000; ++i) history.Count(10, kShort);
  history.Count(10, kLong);
  CHECK(RunsUntilTrust(history) == RunHistory::kFirst);
}

}  // namespace
}  // namespace pullback::jit
