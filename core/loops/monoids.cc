#include "core/loops/monoids.h"

#include <bit>
#include <limits>

namespace pullback::loops {

using ir::Op;

uint64_t IdentityOf(ir::Monoid m, DType t) {
  const bool is_int = t == DType::kI64;
  const auto real = [&](double v) {
    return t == DType::kF32 ? std::bit_cast<uint32_t>(static_cast<float>(v))
                            : std::bit_cast<uint64_t>(v);
  };
  const double inf = std::numeric_limits<double>::infinity();
  switch (m) {
    case ir::Monoid::kGen:
    case ir::Monoid::kSum: return 0;
    case ir::Monoid::kProd: return is_int ? 1 : real(1.0);
    case ir::Monoid::kMax: return is_int ? uint64_t{1} << 63 : real(-inf);
    case ir::Monoid::kMin: return is_int ? ~(uint64_t{1} << 63) : real(inf);
  }
  return 0;
}

Op OpOf(ir::Monoid m) {
  switch (m) {
    case ir::Monoid::kProd: return Op::Mul;
    case ir::Monoid::kMax: return Op::Max;
    case ir::Monoid::kMin: return Op::Min;
    default: return Op::Add;
  }
}

}  // namespace pullback::loops
