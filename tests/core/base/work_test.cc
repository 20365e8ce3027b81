#include "core/base/work.h"

#include <catch2/catch.hpp>

namespace pullback {
namespace {

const Status kNobody(Code::kCancelled, "CANCELLED", "nobody waits");
const Status kTooMuch(Code::kInvalidArgument, "TOO_MUCH", "too much");

Status SpendALot() {
  for (int k = 0; k < 100; ++k) Spend(1000);
  return {};
}

Status MakeValues(size_t count) {
  for (size_t k = 0; k < count; ++k) SpendValue();
  return {};
}

TEST_CASE("work: without a scope it goes on") {
  CHECK(Work::Ask().ok());
  CHECK(SpendALot().ok());
  CHECK(MakeValues(100000).ok());
}

TEST_CASE("work: ends where the answer changes, and is asked now and then") {
  int questions = 0;
  bool came_back = false;
  const Status s = WhileWanted([&] { return ++questions < 3 ? Status() : kNobody; },
                               [&] {
                                 const Status spent = SpendALot();
                                 came_back = true;
                                 return spent;
                               });
  CHECK_FALSE(came_back);
  CHECK(s.reason() == "CANCELLED");
  CHECK(questions == 3);
  CHECK(Work::Ask().ok());  // the scope is over
  CHECK(WhileWanted([] { return Status(); }, SpendALot).ok());
}

TEST_CASE("work: inside other work both are asked") {
  const Status s = WhileWanted([] { return kNobody; },
                               [] { return WhileWanted([] { return Status(); }, SpendALot); });
  CHECK(s.reason() == "CANCELLED");
}

TEST_CASE("work: huge steps are one question, not an overflow") {
  int questions = 0;
  const Work work([&] {
    ++questions;
    return Status();
  });
  for (int k = 0; k < 5; ++k) Spend(SIZE_MAX);
  CHECK(questions == 5);
}

TEST_CASE("work: a check that fails ends it, and nothing else") {
  const auto fails = [] {
    PB_CHECK(1 + 1 == 3);
    return Status();
  };
  const Status s = WhileWanted([] { return Status(); }, fails);
  CHECK(s.code() == Code::kInternal);
  CHECK(s.reason() == "CHECK_FAILED");
  CHECK(s.message().find("1 + 1 == 3") != std::string::npos);
}

TEST_CASE("work: where nothing may be thrown") {
  CHECK_FALSE(Work::MayThrow());
  const Work work([] { return Status(); });
  CHECK(Work::MayThrow());
  {
    const NoThrow no_throw;
    CHECK_FALSE(Work::MayThrow());
  }
  CHECK(Work::MayThrow());
}

TEST_CASE("growth: ends with the first value too many") {
  const auto end = [] { return kTooMuch; };
  const auto make = [&](size_t count) {
    return WhileWanted([] { return Status(); },
                       [&] {
                         const Growth growth(10, end);
                         return MakeValues(count);
                       });
  };
  CHECK(make(10).ok());
  CHECK(make(11).reason() == "TOO_MUCH");
  CHECK(MakeValues(100).ok());
}

TEST_CASE("growth: inside other growth it counts for itself") {
  const Growth around(5, [] { return kTooMuch; });
  CHECK(MakeValues(3).ok());
  {
    const Growth inside(100, [] { return kNobody; });
    CHECK(MakeValues(50).ok());
  }
  CHECK(MakeValues(2).ok());
  CHECK_THROWS_AS(MakeValues(1), WorkEnded);
}

}  // namespace
}  // namespace pullback
