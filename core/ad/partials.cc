#include "core/ad/partials.h"

#include <array>
#include <numbers>

#include "core/base/status.h"

namespace pullback::ad {
namespace {

using ir::Op;
using ir::Value;

// Arithmetic on values while a partial is written down.
struct Expr {
  ir::Builder* b;
  Value v;
};
Expr Const(const Expr& like, double c) {
  return {like.b, like.b->Float(like.b->TypeOf(like.v).elem, c)};
}
Expr Apply(Op op, const Expr& x) { return {x.b, x.b->Make(op, {x.v})}; }
Expr Apply(Op op, const Expr& x, const Expr& y) { return {x.b, x.b->Make(op, {x.v, y.v})}; }
Expr operator+(const Expr& x, const Expr& y) { return Apply(Op::Add, x, y); }
Expr operator-(const Expr& x, const Expr& y) { return Apply(Op::Sub, x, y); }
Expr operator*(const Expr& x, const Expr& y) { return Apply(Op::Mul, x, y); }
Expr operator/(const Expr& x, const Expr& y) { return Apply(Op::Div, x, y); }
Expr operator-(const Expr& x) { return Apply(Op::Neg, x); }
Expr operator+(double c, const Expr& y) { return Const(y, c) + y; }
Expr operator-(const Expr& x, double c) { return x - Const(x, c); }
Expr operator-(double c, const Expr& y) { return Const(y, c) - y; }
Expr operator*(double c, const Expr& y) { return Const(y, c) * y; }
Expr operator/(double c, const Expr& y) { return Const(y, c) / y; }
Expr Where(const Expr& cond, const Expr& x, const Expr& y) {
  return {x.b, x.b->Make(Op::Select, {cond.v, x.v, y.v})};
}
Expr IsZero(const Expr& x) { return Apply(Op::Eq, x, Const(x, 0)); }
// e, but 0 where x is 0.
Expr ZeroAtZero(const Expr& x, const Expr& e) { return Where(IsZero(x), Const(e, 0), e); }
Expr Strong(const Expr& w, const Expr& p) { return Apply(Op::SMul, w, p); }

// The operands and the result, asked for only when used.
struct At {
  const Site& s;
  Expr x(int k) const { return {&s.b, s.primal(s.inst.args[static_cast<size_t>(k)])}; }
  Expr x() const { return x(0); }
  Expr y() const { return {&s.b, s.primal(s.inst.results[0])}; }
};

Partial Is(const Expr& e) { return {Partial::Kind::kValue, e.v}; }
constexpr Partial kOne{Partial::Kind::kOne, {}};
constexpr Partial kMinusOne{Partial::Kind::kMinusOne, {}};

// 1 where the first operand was chosen by min or max, else 0; `chosen` compares first with second.
Partial Chosen(const At& a, Op chosen, int k) {
  const Expr first = a.x(0);
  const Expr is_nan = Apply(Op::Ne, first, first);
  const Expr by_order = Apply(chosen, first, a.x(1));
  const Expr takes_first{first.b, first.b->Make(Op::Or, {by_order.v, is_nan.v})};
  const Expr one = Const(first, 1), zero = Const(first, 0);
  return Is(k == 0 ? Where(takes_first, one, zero) : Where(takes_first, zero, one));
}

Partial PowBy(const At& a, int k) {
  if (k == 0) return Is(Strong(a.x(1), Apply(Op::Pow, a.x(0), a.x(1) - 1.0)));
  const Expr base = a.x(0);
  const Expr positive = Apply(Op::Gt, base, Const(base, 0));
  return Is(Where(positive, Strong(a.y(), Apply(Op::Log, base)), Const(base, 0)));
}

Partial Atan2By(const At& a, int k) {
  const Expr y = a.x(0), x = a.x(1);
  const Expr square = y * y + x * x;
  return Is(ZeroAtZero(square, (k == 0 ? x : -y) / square));
}

struct Row {
  Op op;
  Rule rule;
  Partial (*partial)(const At& a, int k);
};
constexpr Row Constant(Op op) { return {op, Rule::kConstant, nullptr}; }
constexpr Row Structural(Op op) { return {op, Rule::kStructural, nullptr}; }
#define PARTIAL(op, ...)                                                           \
  Row {                                                                            \
    Op::op, Rule::kPartials,                                                       \
        [](const At& a, [[maybe_unused]] int k) -> Partial { return __VA_ARGS__; } \
  }

constexpr Row kRows[] = {
    PARTIAL(Add, (static_cast<void>(a), kOne)),
    PARTIAL(Sub, (static_cast<void>(a), k == 0 ? kOne : kMinusOne)),
    PARTIAL(Mul, Is(a.x(1 - k))),
    PARTIAL(SMul, Is(a.x(1 - k))),
    PARTIAL(Div, k == 0 ? Is(1.0 / a.x(1)) : Is(-(a.y() / a.x(1)))),
    PARTIAL(Rem, k == 0 ? kOne : Is(-Apply(Op::Trunc, a.x(0) / a.x(1)))),
    PARTIAL(Neg, (static_cast<void>(a), kMinusOne)),
    PARTIAL(Abs, Is(Apply(Op::Sign, a.x()))),
    PARTIAL(Min, Chosen(a, Op::Le, k)),
    PARTIAL(Max, Chosen(a, Op::Ge, k)),
    PARTIAL(Sqrt, Is(ZeroAtZero(a.y(), 0.5 / a.y()))),
    PARTIAL(Cbrt, Is(ZeroAtZero(a.y(), 1.0 / (3.0 * (a.y() * a.y()))))),
    PARTIAL(Exp, Is(a.y())),
    PARTIAL(Exp2, Is(std::numbers::ln2* a.y())),
    PARTIAL(Expm1, Is(1.0 + a.y())),
    PARTIAL(Log, Is(1.0 / a.x())),
    PARTIAL(Log2, Is(1.0 / (std::numbers::ln2 * a.x()))),
    PARTIAL(Log10, Is(1.0 / (std::numbers::ln10 * a.x()))),
    PARTIAL(Log1p, Is(1.0 / (1.0 + a.x()))),
    PARTIAL(Sin, Is(Apply(Op::Cos, a.x()))),
    PARTIAL(Cos, Is(-Apply(Op::Sin, a.x()))),
    PARTIAL(Tan, Is(1.0 + a.y() * a.y())),
    PARTIAL(Asin, Is(1.0 / Apply(Op::Sqrt, 1.0 - a.x() * a.x()))),
    PARTIAL(Acos, Is(-(1.0 / Apply(Op::Sqrt, 1.0 - a.x() * a.x())))),
    PARTIAL(Atan, Is(1.0 / (1.0 + a.x() * a.x()))),
    PARTIAL(Sinh, Is(Apply(Op::Cosh, a.x()))),
    PARTIAL(Cosh, Is(Apply(Op::Sinh, a.x()))),
    PARTIAL(Tanh, Is(1.0 - a.y() * a.y())),
    PARTIAL(Asinh, Is(1.0 / Apply(Op::Sqrt, 1.0 + a.x() * a.x()))),
    PARTIAL(Acosh, Is(1.0 / (Apply(Op::Sqrt, a.x() - 1.0) * Apply(Op::Sqrt, 1.0 + a.x())))),
    PARTIAL(Atanh, Is(1.0 / (1.0 - a.x() * a.x()))),
    PARTIAL(Erf, Is((2.0 * std::numbers::inv_sqrtpi) * Apply(Op::Exp, -(a.x() * a.x())))),
    PARTIAL(Pow, PowBy(a, k)),
    PARTIAL(Atan2, Atan2By(a, k)),
    PARTIAL(Hypot, Is(ZeroAtZero(a.y(), a.x(k) / a.y()))),
    Constant(Op::Sign),
    Constant(Op::Floor),
    Constant(Op::Ceil),
    Constant(Op::Round),
    Constant(Op::Trunc),
    Constant(Op::Eq),
    Constant(Op::Ne),
    Constant(Op::Lt),
    Constant(Op::Le),
    Constant(Op::Gt),
    Constant(Op::Ge),
    Constant(Op::And),
    Constant(Op::Or),
    Constant(Op::Not),
    Constant(Op::Const),
    Constant(Op::AffineOf),
    Constant(Op::Holds),
    Constant(Op::Dim),
    Constant(Op::Zeros),
    Constant(Op::Check),
    Constant(Op::ListNew),
    Constant(Op::ListLen),
    Structural(Op::Select),
    Structural(Op::Cast),
    Structural(Op::Index),
    Structural(Op::Update),
    Structural(Op::AddAt),
    Structural(Op::AddArrays),
    Structural(Op::Each),
    Structural(Op::Call),
    Structural(Op::Fit),
    Structural(Op::ListOf),
    Structural(Op::ListGet),
    Structural(Op::ListSet),
    Structural(Op::ListTake),
    Structural(Op::ListPush),
    Structural(Op::ListPop),
    Structural(Op::BoxNew),
    Structural(Op::BoxGet),
    Structural(Op::BoxSet),
    Structural(Op::TapeNew),
    Structural(Op::Push),
    Structural(Op::Pop),
    Structural(Op::Jvp),
    Structural(Op::Vjp),
    Constant(Op::StopGradient),
};
#undef PARTIAL

constexpr bool EveryOpHasOneRow() {
  std::array<int, ir::kOpCount> rows{};
  for (const Row& r : kRows) ++rows[static_cast<size_t>(r.op)];
  for (int n : rows) {
    if (n != 1) return false;
  }
  return true;
}
static_assert(EveryOpHasOneRow(), "an op of ops.def has no row, or two, in core/ad/partials.cc");

constexpr std::array<const Row*, ir::kOpCount> Table() {
  std::array<const Row*, ir::kOpCount> t{};
  for (const Row& r : kRows) t[static_cast<size_t>(r.op)] = &r;
  return t;
}
constexpr auto kTable = Table();

}  // namespace

Rule RuleOf(Op op) { return kTable[static_cast<size_t>(op)]->rule; }

Partial PartialOf(const Site& site, int k) {
  const Row& row = *kTable[static_cast<size_t>(site.inst.op)];
  PB_CHECK(row.rule == Rule::kPartials);
  return row.partial(At{site}, k);
}

Value Times(ir::Builder& b, Value w, const Partial& p) {
  if (!w.valid() || p.kind == Partial::Kind::kZero) return ir::kNoValue;
  if (p.kind == Partial::Kind::kOne) return w;
  if (p.kind == Partial::Kind::kMinusOne) return b.Make(Op::Neg, {w});
  return b.Make(Op::SMul, {w, p.value});
}

}  // namespace pullback::ad
