#include "core/base/tensor.h"

#include <catch2/catch.hpp>

#include "core/base/sha256.h"

namespace pullback {
namespace {

TEST_CASE("a tensor holds dense row-major data") {
  const Tensor t = Tensor::Of<float>(DType::kF32, {2, 3}, {0, 1, 2, 3, 4, 5});
  CHECK(t.ElementCount() == 6);
  CHECK(t.data.size() == 6 * DTypeSize(DType::kF32));
  CHECK(t.At<float>(4) == 4.0f);
}

TEST_CASE("a scalar has one element and an empty tensor none") {
  CHECK(Tensor::F64(2.5).ElementCount() == 1);
  CHECK(Tensor::Bool(true).At<uint8_t>(0) == 1);
  CHECK(Tensor::Of<double>(DType::kF64, {3, 0}, {}).ElementCount() == 0);
}

TEST_CASE("an API type prints as the language writes it") {
  const ApiType scalar{false, DType::kI64, {}, {}};
  const ApiType array{false, DType::kF32, {"n", "n - m + 1"}, {}};
  const ApiType tuple{true, DType::kF64, {}, {scalar, array}};
  CHECK(tuple.ToString() == "(i64, [n, n - m + 1]f32)");
}

TEST_CASE("SHA-256 of the standard's examples") {
  CHECK(Sha256Hex("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(Sha256Hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace
}  // namespace pullback
