#include "jit/run_history.h"

#include <catch2/catch.hpp>

namespace pullback::jit {
namespace {

using std::chrono::microseconds;

void CountShort(RunHistory& history, int64_t runs) {
  for (int64_t i = 0; i < runs; ++i) history.CountShort(10);
}

// Short runs until it is trusted, at most so many.
int64_t RunsUntilTrust(RunHistory& history, int64_t most = 1 << 20) {
  int64_t runs = 0;
  for (; !history.ExpectsShort(10) && runs < most; ++runs) history.CountShort(10);
  return runs;
}

// Every period-th run of a kernel takes `time`, the others are short. Of the time of those that were expected to be
// short how much was held for each short run: as a server counts, that stops what takes more than 200 us.
double HeldPerShortRun(int64_t period, microseconds time) {
  constexpr int64_t kRuns = 1000000;
  RunHistory history;
  microseconds held{0};
  for (int64_t i = 1; i <= kRuns; ++i) {
    const bool expected = history.ExpectsShort(10);
    if (i % period != 0) {
      history.CountShort(10);
    } else if (!expected) {
      history.CountLong(10);
    } else if (time > microseconds(200)) {
      held += microseconds(1200);
      history.CountMistake();
    } else {
      held += time;
      history.CountUnproven(time);
    }
  }
  return static_cast<double>(held.count()) / kRuns;
}

TEST_CASE("run history: trust comes after short runs, and goes with a long one") {
  RunHistory history;
  CHECK_FALSE(history.ExpectsShort(0));
  CHECK(RunsUntilTrust(history) == RunHistory::kTrusted);
  history.CountShort(10);
  CHECK(history.ExpectsShort(10));
  history.CountLong(10);
  CHECK_FALSE(history.ExpectsShort(10));
  CHECK(RunsUntilTrust(history) == RunHistory::kTrusted);
}

TEST_CASE("run history: it says nothing of requests larger than those that were short") {
  RunHistory history;
  RunsUntilTrust(history);
  CHECK_FALSE(history.ExpectsShort(11));
  history.CountShort(11);
  CHECK(history.ExpectsShort(11));
  CHECK(history.ExpectsShort(3));
}

TEST_CASE(
    "run history: with credit a long run stops requests of its size until one is short again") {
  RunHistory history;
  CountShort(history, 1000);
  history.CountLong(8);
  CHECK(history.ExpectsShort(7));
  CHECK_FALSE(history.ExpectsShort(8));
  CHECK_FALSE(history.ExpectsShort(10));
  history.CountShort(10);
  CHECK(history.ExpectsShort(10));
}

TEST_CASE("run history: what was expected to be short and took longer is paid by its time") {
  RunHistory history;
  CountShort(history, RunHistory::kTrusted + 4 * RunHistory::kCostOfUnproven);
  history.CountUnproven(microseconds(51));  // two units
  CHECK(history.ExpectsShort(10));
  history.CountUnproven(microseconds(100));
  CHECK(history.ExpectsShort(10));
  history.CountUnproven(microseconds(6000));
  CHECK(RunsUntilTrust(history) == 120 * RunHistory::kCostOfUnproven);
}

TEST_CASE("run history: one long run in a hundred does not end trust, one in twenty does") {
  const auto trusted = [](int period) {
    RunHistory history;
    int count = 0;
    for (int i = 1; i <= 100 * period; ++i) {
      count += history.ExpectsShort(10) ? 1 : 0;
      i % period == 0 ? history.CountLong(10) : history.CountShort(10);
    }
    return count / 100;
  };
  CHECK(trusted(100) >= 97);
  CHECK(trusted(20) <= 20 - RunHistory::kTrusted);
}

TEST_CASE(
    "run history: a kernel holds threads for a few microseconds per short run, however it "
    "behaves") {
  for (const int64_t period : {2, 9, 20, 65, 100, 300, 1000, 3000}) {
    for (const int64_t time : {51, 100, 190, 100000}) {
      INFO("every " << period << "th run takes " << time << " us");
      CHECK(HeldPerShortRun(period, microseconds(time)) <= 6.5);
    }
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
  CountShort(history, RunHistory::kCostOfMistake);
  history.CountMistake();
  CHECK(RunsUntilTrust(history) == 1);
}

TEST_CASE("run history: what was no mistake costs nothing") {
  RunHistory history;
  RunsUntilTrust(history);
  history.CountMistake();
  history.TakeMistakeBack();
  CHECK(RunsUntilTrust(history) == 1);
}

TEST_CASE("run history: credit and debt have a bound") {
  RunHistory history;
  CountShort(history, 10 * RunHistory::kMostCredit);
  for (int i = 0; i < 16; ++i) {
    CHECK(RunsUntilTrust(history) <= 1);
    history.CountMistake();
  }
  for (int i = 0; i < 100; ++i) history.CountMistake();
  CHECK(RunsUntilTrust(history) == RunHistory::kMostCredit + RunHistory::kTrusted);
}

}  // namespace
}  // namespace pullback::jit
