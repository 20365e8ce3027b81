// Memory on a device is the run's: charged to its budget, and given back however the run ends.
#include <catch2/catch.hpp>

#include "tests/jit/programs/device_engine.h"

namespace pullback::jit {
namespace {

using testing::TheFakeDriver;

constexpr const char* kSum = "fn f(x: [n]f64) -> f64 { return sum i < n { x[i] * x[i] } }";
RunLimits Budget(int64_t bytes) {
  RunLimits limits;
  limits.memory_bytes = bytes;
  return limits;
}

TEST_CASE("Target: memory on a device is charged to the run") {
  OnDevice t;
  const int64_t n = 5000;
  const Inputs inputs{{Vector(Numbers(n))}, {}};
  const Outputs here = Ok(t.Run(kSum, Target::kCpu, inputs));
  const Outputs there = Ok(t.Run(kSum, Target::kCuda, inputs));
  CHECK(here.peak_bytes < 8 * n);
  // The copy of x, and for each term its lane and itself.
  CHECK(there.peak_bytes >= 8 * n + 16 * n);
  CHECK(there.peak_bytes >= TheFakeDriver().most_bytes);
}

TEST_CASE(
    "Target: a budget without room for a device's memory is MEMORY_BUDGET, and nothing is lost") {
  OnDevice t;
  const Inputs inputs{{Vector(Numbers(5000))}, {}};
  const Outputs good = Ok(t.Run(kSum, Target::kCuda, inputs, Transform::kValueAndGrad));
  int64_t refused = 0, answered = 0;
  for (int64_t bytes = 0; bytes < good.peak_bytes + 20000; bytes += 9973) {
    INFO("budget of " << bytes);
    const auto run = t.Run(kSum, Target::kCuda, inputs, Transform::kValueAndGrad, Budget(bytes));
    CHECK(TheFakeDriver().live_allocations == 0);
    if (run.ok()) {
      ++answered;
      CHECK(run->peak_bytes <= bytes);
      CHECK(run->value.tensor.data == good.value.tensor.data);
      CHECK(run->derivatives[0].tensor.data == good.derivatives[0].tensor.data);
    } else {
      ++refused;
      CHECK(run.status().code() == Code::kResourceExhausted);
      CHECK(run.status().reason() == "MEMORY_BUDGET");
    }
  }
  CHECK(refused > 0);
  CHECK(answered > 3);  // with smaller chunks of terms, too
  CHECK(Ok(t.Run(kSum, Target::kCuda, inputs)).value.tensor.data == good.value.tensor.data);
  CHECK(TheFakeDriver().contexts == 1);  // the device was well all the time
}

TEST_CASE("Target: terms go in smaller chunks where the budget is small") {
  OnDevice t;
  const Inputs inputs{{Vector(Numbers(20000))}, {}};
  const Outputs good = Ok(t.Run(kSum, Target::kCuda, inputs));
  const Outputs small = Ok(t.Run(kSum, Target::kCuda, inputs, Transform::kValue, Budget(250000)));
  CHECK(small.launches > good.launches);
  CHECK(small.value.tensor.data == good.value.tensor.data);
}

TEST_CASE("Target: memory of arrays that are gone is charged no more") {
  const std::string program =
      "fn f(x: [n]f64, k: i64) -> [n]f64 { var y = x\nvar t = 0\n"
      "while t < k { t = t + 1\ny = gen i < n { 0.5 * y[i] + x[i] } }\nreturn y }";
  OnDevice t;
  const auto peak = [&](int64_t steps) {
    const Inputs inputs{{Vector(Numbers(500)), Integer(steps)}, {}};
    return Ok(t.Run(program, Target::kCuda, inputs)).peak_bytes;
  };
  CHECK(peak(200) == peak(20));
}

}  // namespace
}  // namespace pullback::jit
