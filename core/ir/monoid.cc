#include "core/ir/monoid.h"

#include <limits>

#include "core/base/status.h"
#include "core/ir/literal.h"

namespace pullback::ir {
Op MonoidOp(Monoid m) {
  switch (m) {
    case Monoid::kSum:
    case Monoid::kScanSum: return Op::Add;
    case Monoid::kProd:
    case Monoid::kScanProd: return Op::Mul;
    case Monoid::kMax:
    case Monoid::kScanMax: return Op::Max;
    case Monoid::kMin:
    case Monoid::kScanMin: return Op::Min;
    case Monoid::kGen:
    case Monoid::kArgMax:
    case Monoid::kArgMin:
    case Monoid::kScanLinear: break;
  }
  PB_CHECK(!"joins no terms by one operation");
  return Op::Add;
}

uint64_t MonoidIdentity(Monoid m, DType t) {
  const bool is_int = t == DType::kI64;
  constexpr double kInf = std::numeric_limits<double>::infinity();
  constexpr uint64_t kLeast = uint64_t{1} << 63;  // of i64
  switch (m) {
    case Monoid::kProd:
    case Monoid::kScanProd: return is_int || t == DType::kBool ? 1 : FloatBits(t, 1);
    case Monoid::kMax:
    case Monoid::kScanMax: return is_int ? kLeast : FloatBits(t, -kInf);
    case Monoid::kMin:
    case Monoid::kScanMin: return is_int ? ~kLeast : FloatBits(t, kInf);
    default: return 0;
  }
}

uint64_t ResultIdentity(Monoid m, DType t) {
  if (IsArg(m)) return ~uint64_t{0};
  return IsScan(m) ? 0 : MonoidIdentity(m, t);
}

}  // namespace pullback::ir
