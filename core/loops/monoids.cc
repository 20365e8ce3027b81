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
    case ir::Monoid::kProd:
    case ir::Monoid::kScanProd: return is_int ? 1 : real(1.0);
    case ir::Monoid::kMax:
    case ir::Monoid::kScanMax: return is_int ? uint64_t{1} << 63 : real(-inf);
    case ir::Monoid::kMin:
    case ir::Monoid::kScanMin: return is_int ? ~(uint64_t{1} << 63) : real(inf);
    default: return 0;
  }
}

uint64_t ResultIdentityOf(ir::Monoid m, DType t) {
  if (ir::IsArg(m)) return ~uint64_t{0};
  return ir::IsScan(m) ? 0 : IdentityOf(m, t);
}

Op OpOf(ir::Monoid m) {
  switch (m) {
    case ir::Monoid::kProd:
    case ir::Monoid::kScanProd: return Op::Mul;
    case ir::Monoid::kMax:
    case ir::Monoid::kScanMax: return Op::Max;
    case ir::Monoid::kMin:
    case ir::Monoid::kScanMin: return Op::Min;
    default: return Op::Add;
  }
}

}  // namespace pullback::loops
