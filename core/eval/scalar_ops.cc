#include "core/eval/scalar_ops.h"

#include <limits>

#include "core/base/status.h"
#include "core/eval/scalar_functions.h"

namespace pullback::eval {
namespace {

using ir::Op;
using ir::TypeRule;

using namespace scalar;  // NOLINT: the table below names every one of them

// --- the table

using Fn = uint64_t (*)(const uint64_t*);

template <typename F, typename T>
uint64_t Apply1(const uint64_t* a) {
  return To(F::template Of<T>(From<T>(a[0])));
}
template <typename F, typename T>
uint64_t Apply2(const uint64_t* a) {
  return To(F::template Of<T>(From<T>(a[0]), From<T>(a[1])));
}
uint64_t Choose(const uint64_t* a) { return a[0] != 0 ? a[1] : a[2]; }

struct Row {
  Op op;
  Fn f64 = nullptr, f32 = nullptr, i64 = nullptr, boolean = nullptr;
};

template <typename F>
constexpr Row Float1(Op op) {
  return {op, Apply1<F, double>, Apply1<F, float>, nullptr, nullptr};
}
template <typename F>
constexpr Row Float2(Op op) {
  return {op, Apply2<F, double>, Apply2<F, float>, nullptr, nullptr};
}
template <typename F>
constexpr Row Num1(Op op) {
  return {op, Apply1<F, double>, Apply1<F, float>, Apply1<F, int64_t>, nullptr};
}
template <typename F>
constexpr Row Num2(Op op) {
  return {op, Apply2<F, double>, Apply2<F, float>, Apply2<F, int64_t>, nullptr};
}
template <typename F>
constexpr Row Compare(Op op) {
  return {op, Apply2<F, double>, Apply2<F, float>, Apply2<F, int64_t>, Apply2<F, bool>};
}
template <Op op>
constexpr Row Math1() {
  return Float1<Math<op>>(op);
}
template <Op op>
constexpr Row Math2() {
  return Float2<Math<op>>(op);
}

constexpr Row kRows[] = {
    Num2<Add>(Op::Add),
    Num2<Sub>(Op::Sub),
    Num2<Mul>(Op::Mul),
    Num2<Div>(Op::Div),
    Num2<Rem>(Op::Rem),
    Num1<Neg>(Op::Neg),
    Float2<SMul>(Op::SMul),
    Num1<Abs>(Op::Abs),
    Num1<Sign>(Op::Sign),
    Num2<Min>(Op::Min),
    Num2<Max>(Op::Max),
    Float1<Floor>(Op::Floor),
    Float1<Ceil>(Op::Ceil),
    Float1<Round>(Op::Round),
    Float1<Trunc>(Op::Trunc),
    Float1<Sqrt>(Op::Sqrt),
    Math1<Op::Cbrt>(),
    Math1<Op::Exp>(),
    Math1<Op::Exp2>(),
    Math1<Op::Expm1>(),
    Math1<Op::Log>(),
    Math1<Op::Log2>(),
    Math1<Op::Log10>(),
    Math1<Op::Log1p>(),
    Math1<Op::Sin>(),
    Math1<Op::Cos>(),
    Math1<Op::Tan>(),
    Math1<Op::Asin>(),
    Math1<Op::Acos>(),
    Math1<Op::Atan>(),
    Math1<Op::Sinh>(),
    Math1<Op::Cosh>(),
    Math1<Op::Tanh>(),
    Math1<Op::Asinh>(),
    Math1<Op::Acosh>(),
    Math1<Op::Atanh>(),
    Math1<Op::Erf>(),
    Math2<Op::Pow>(),
    Math2<Op::Atan2>(),
    Math2<Op::Hypot>(),
    Compare<Eq>(Op::Eq),
    Compare<Ne>(Op::Ne),
    Compare<Lt>(Op::Lt),
    Compare<Le>(Op::Le),
    Compare<Gt>(Op::Gt),
    Compare<Ge>(Op::Ge),
    {Op::And, nullptr, nullptr, nullptr, Apply2<And, bool>},
    {Op::Or, nullptr, nullptr, nullptr, Apply2<Or, bool>},
    {Op::Not, nullptr, nullptr, nullptr, Apply1<Not, bool>},
    {Op::Select, Choose, Choose, Choose, Choose},
};

constexpr TypeRule kScalarRules[] = {
#define OP(name, mnemonic, arity, rule, flags) TypeRule::rule,
#include "core/ir/ops.def"
#undef OP
};

struct ScalarTable {
  Row rows[ir::kOpCount];
};

constexpr ScalarTable MakeScalarTable() {
  ScalarTable t{};
  for (const Row& row : kRows) t.rows[static_cast<int>(row.op)] = row;
  return t;
}
constexpr ScalarTable kScalarTable = MakeScalarTable();

constexpr bool Fits(const Row& row, TypeRule rule) {
  const bool floats = row.f64 && row.f32;
  switch (rule) {
    case TypeRule::Float:
    case TypeRule::ToBoolF: return floats;
    case TypeRule::Num: return floats && row.i64;
    case TypeRule::Int: return row.i64;
    case TypeRule::Bool: return row.boolean;
    case TypeRule::Cmp:
    case TypeRule::Select: return floats && row.i64 && row.boolean;
    case TypeRule::Cast:
    case TypeRule::Own: return true;  // not here: EvalCast, machine_ops.cc
  }
  return false;
}

constexpr bool EveryScalarOpHasARow() {
  for (int i = 0; i < ir::kOpCount; ++i) {
    if (!Fits(kScalarTable.rows[i], kScalarRules[i])) return false;
  }
  return true;
}
static_assert(EveryScalarOpHasARow(),
              "a scalar op of ops.def has no row in kRows, or an incomplete one");

// --- casts

int64_t Saturate(double v) {
  if (v != v) return 0;
  if (v >= 0x1p63) return std::numeric_limits<int64_t>::max();
  if (v < -0x1p63) return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(v);
}

template <typename T>
uint64_t CastFrom(T v, DType to) {
  switch (to) {
    case DType::kF64: return To(static_cast<double>(v));
    case DType::kF32: return To(static_cast<float>(v));
    case DType::kI64:
      if constexpr (std::is_floating_point_v<T>) return To(Saturate(v));
      return To(static_cast<int64_t>(v));
    case DType::kBool: return To(v != T{0});
  }
  return 0;
}

}  // namespace

uint64_t EvalScalar(Op op, DType operand, const uint64_t* args) {
  const Row& row = kScalarTable.rows[static_cast<int>(op)];
  Fn fn = nullptr;
  switch (operand) {
    case DType::kF64: fn = row.f64; break;
    case DType::kF32: fn = row.f32; break;
    case DType::kI64: fn = row.i64; break;
    case DType::kBool: fn = row.boolean; break;
  }
  PB_CHECK(fn);
  return fn(args);
}

uint64_t EvalCast(DType from, DType to, uint64_t v) {
  switch (from) {
    case DType::kF64: return CastFrom(From<double>(v), to);
    case DType::kF32: return CastFrom(From<float>(v), to);
    case DType::kI64: return CastFrom(From<int64_t>(v), to);
    case DType::kBool: return CastFrom(From<bool>(v), to);
  }
  return 0;
}

bool DividesByZero(Op op, DType operand, const uint64_t* args) {
  return (op == Op::Div || op == Op::Rem) && operand == DType::kI64 && args[1] == 0;
}

uint64_t CanonicalNan(DType t, uint64_t v) {
  if (t == DType::kF64 && std::isnan(From<double>(v))) return 0x7ff8000000000000;
  if (t == DType::kF32 && std::isnan(From<float>(v))) return 0x7fc00000;
  return v;
}

}  // namespace pullback::eval
