// Arguments against the sizes of an entry.
#include <catch2/catch.hpp>

#include "tests/core/lang/check_support.h"

namespace pullback::lang {
namespace {

Tensor Array(std::vector<int64_t> shape, DType dtype = DType::kF64) {
  Tensor t{dtype, std::move(shape), {}};
  t.data.resize(static_cast<size_t>(t.ElementCount()) * DTypeSize(dtype));
  return t;
}

// "" or the reason and message. `header` is what follows the entry's name.
std::string Check(const std::string& header, const std::vector<Tensor>& arguments) {
  Program program = Checked("fn f" + header + " { while true { } }");
  std::vector<const Tensor*> leaves;
  for (const Tensor& t : arguments) leaves.push_back(&t);
  Status status = CheckArguments(program, "f", leaves);
  if (status.ok()) return "";
  REQUIRE(status.code() == Code::kInvalidArgument);
  return status.reason() + " " + status.message();
}

TEST_CASE("CheckArguments: sizes that fit") {
  CHECK(Check("(x: [n]f64, a: [n, m]f64) -> f64", {Array({3}), Array({3, 5})}) == "");
  CHECK(Check("(x: [n]f64, y: [n + 1]f64, z: [2 * n - 1]f64) -> f64",
              {Array({3}), Array({4}), Array({5})}) == "");
  CHECK(Check("(x: [0]f64, y: [n]f64) -> f64", {Array({0}), Array({0})}) == "");
  CHECK(Check("(k: i64, x: [k, k % 2, k / 2]f64) -> f64", {Tensor::I64(3), Array({3, 1, 1})}) ==
        "");
  CHECK(Check("(x: f64, y: f32, k: i64, b: bool) -> f64",
              {Tensor::F64(1), Tensor::F32(1), Tensor::I64(1), Tensor::Bool(true)}) == "");
  CHECK(Check("() -> f64", {}) == "");
}

TEST_CASE("CheckArguments: the message names the equation and where its sizes come from") {
  CHECK(Check("(x: [n]f64, a: [2, n]f64) -> f64", {Array({3}), Array({2, 4})}) ==
        "SIZE_MISMATCH argument 'a' axis 1: expected n = 3 (from argument 'x' axis 0), got 4");
  CHECK(
      Check("(x: [n]f64, y: [m]f64, a: [n - m + 1]f64) -> f64",
            {Array({3}), Array({2}), Array({4})}) ==
      "SIZE_MISMATCH argument 'a' axis 0: expected n - m + 1 = 2 (n = 3 from argument 'x' axis 0, "
      "m = 2 from argument 'y' axis 0), got 4");
  CHECK(Check("(x: [3]f64) -> f64", {Array({4})}) ==
        "SIZE_MISMATCH argument 'x' axis 0: expected 3, got 4");
  CHECK(Check("(k: i64, x: [k + 1]f64) -> f64", {Tensor::I64(-2), Array({4})}) ==
        "SIZE_MISMATCH argument 'x' axis 0: expected k + 1 = -1 (k = -2 from argument 'k'), got 4");
  CHECK(
      Check("(x: [n]f64, y: [m]f64, z: [n / m]f64) -> f64", {Array({3}), Array({0}), Array({1})}) ==
      "SIZE_MISMATCH argument 'z' axis 0: expected n / m, which divides by zero, (n = 3 from "
      "argument 'x' axis 0, m = 0 from argument 'y' axis 0), got 1");
}

TEST_CASE("CheckArguments: linear sizes are solved") {
  CHECK(Check("(x: [2 * n]f64, y: [n]f64) -> f64", {Array({4}), Array({2})}) == "");
  CHECK(Check("(x: [2 * n]f64) -> [n]f64", {Array({5})}) ==
        "SIZE_MISMATCH argument 'x' axis 0: 2 * n = 5 has no whole solution n");
  CHECK(Check("(x: [n + 1]f64) -> [n]f64", {Array({0})}) ==
        "SIZE_MISMATCH argument 'x' axis 0: n + 1 = 0 gives n = -1, but a size is at least 0");
  CHECK(Check("(x: [5 - n]f64, y: [n]f64) -> f64", {Array({3}), Array({2})}) == "");
  CHECK(Check("(x: [n + 2 * m]f64, y: [m]f64, z: [n]f64) -> f64",
              {Array({7}), Array({2}), Array({4})}) ==
        "SIZE_MISMATCH argument 'x' axis 0: expected n + 2 * m = 8 (n = 4 from argument 'z' axis "
        "0, m = 2 from argument 'y' axis 0), got 7");
  CHECK(Check("(x: [n + 3 * m]f64, y: [m]f64) -> [n]f64", {Array({5}), Array({2})}) ==
        "SIZE_MISMATCH argument 'x' axis 0: n + 3 * m = 5 gives n = -1, but a size is at least 0 "
        "(m = 2 from argument 'y' axis 0)");
}

TEST_CASE("CheckArguments: elements of tuples are leaves") {
  const std::string header = "(p: (f64, ([n]f64, [n]i64)), q: [n]f64) -> f64";
  CHECK(Check(header, {Array({}), Array({2}), Array({2}, DType::kI64), Array({2})}) == "");
  CHECK(Check(header, {Array({}), Array({2}), Array({3}, DType::kI64), Array({2})}) ==
        "SIZE_MISMATCH argument 'p.1.1' axis 0: expected n = 2 (from argument 'p.1.0' axis 0), "
        "got 3");
}

TEST_CASE("CheckArguments: element types, ranks, numbers of arguments") {
  CHECK(Check("(x: [n]f64) -> f64", {Array({2, 3}, DType::kF32)}) ==
        "TYPE_MISMATCH argument 'x': expected [n]f64, got [2, 3]f32");
  CHECK(Check("(x: [n]f64) -> f64", {Array({})}) ==
        "TYPE_MISMATCH argument 'x': expected [n]f64, got f64");
  CHECK(Check("(k: i64) -> f64", {Tensor::F64(1)}) ==
        "TYPE_MISMATCH argument 'k': expected i64, got f64");
  CHECK(Check("(x: f64, t: (f64, f64)) -> f64", {Tensor::F64(1)}) ==
        "TYPE_MISMATCH 'f' takes 3 arguments, got 1");
  CHECK(Check("(x: [n]f64) -> f64", {Tensor{DType::kF64, {-1}, {}}}) ==
        "TYPE_MISMATCH argument 'x' is no whole tensor");
  CHECK(Check("(k: i64) -> f64", {Tensor{DType::kI64, {}, {}}}) ==
        "TYPE_MISMATCH argument 'k' is no whole tensor");
}

TEST_CASE("CheckArguments: sizes wrap rather than overflow") {
  CHECK(Check("(k: i64, x: [k * k]f64) -> f64", {Tensor::I64(int64_t{1} << 32), Array({0})}) == "");
  CHECK(Check("(k: i64, x: [k / -1]f64) -> f64", {Tensor::I64(INT64_MIN), Array({0})}) ==
        "SIZE_MISMATCH argument 'x' axis 0: expected k / -1 = -9223372036854775808 (k = "
        "-9223372036854775808 from argument 'k'), got 0");
  CHECK(Check("(k: i64, x: [n + k]f64) -> [n]f64", {Tensor::I64(INT64_MIN), Array({0})}) ==
        "SIZE_MISMATCH argument 'x' axis 0: n + k = 0 has no whole solution n (k = "
        "-9223372036854775808 from argument 'k')");
}

TEST_CASE("CheckArguments: an unknown entry") {
  Program program = Checked("fn f() -> f64 { return 1.0 }");
  CHECK(CheckArguments(program, "g", {}).reason() == "ENTRY_NOT_FOUND");
}

}  // namespace
}  // namespace pullback::lang
