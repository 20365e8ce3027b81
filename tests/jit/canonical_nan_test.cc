#include "jit/canonical_nan.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <vector>

namespace pullback::jit {
namespace {

template <typename Bits>
std::vector<Bits> Canonical(DType dtype, const std::vector<Bits>& in, size_t shift) {
  std::vector<uint8_t> bytes(shift + in.size() * sizeof(Bits));
  std::memcpy(bytes.data() + shift, in.data(), in.size() * sizeof(Bits));
  CanonicaliseNans(dtype, bytes.data() + shift, in.size() * sizeof(Bits));
  std::vector<Bits> out(in.size());
  std::memcpy(out.data(), bytes.data() + shift, in.size() * sizeof(Bits));
  return out;
}

TEST_CASE("NaNs become the canonical one, wherever they lie; nothing else changes", "[runtime]") {
  for (const size_t shift : {0, 1, 7}) {
    for (const size_t at : {0, 1, 30, 99}) {
      std::vector<uint64_t> wide(100, 0xfff0000000000000);  // -inf
      wide[(at + 1) % 100] = 0x8000000000000000;            // -0
      std::vector<uint64_t> wanted = wide;
      CHECK(Canonical(DType::kF64, wide, shift) == wide);
      wide[at] = 0xfff8000000000123;
      wanted[at] = 0x7ff8000000000000;
      CHECK(Canonical(DType::kF64, wide, shift) == wanted);
      CHECK(Canonical(DType::kI64, wide, shift) == wide);

      std::vector<uint32_t> narrow(100, 0x7f7fffff);  // the greatest float
      std::vector<uint32_t> expected = narrow;
      narrow[at] = 0x7f800001;  // signalling
      expected[at] = 0x7fc00000;
      CHECK(Canonical(DType::kF32, narrow, shift) == expected);
    }
  }
  CanonicaliseNans(DType::kF64, nullptr, 0);
}

}  // namespace
}  // namespace pullback::jit
