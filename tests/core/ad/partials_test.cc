// Every partial of the table, in both float types, at several points: against differences of the op
// itself. A partial that is off by a thousandth is noticed.
#include <catch2/catch.hpp>
#include <cmath>
#include <map>

#include "core/ad/partials.h"
#include "tests/support/derivatives.h"

namespace pullback::testing {
namespace {

using ir::Op;

using Points = std::vector<std::vector<double>>;

// Where an op is smooth; one entry per op with partials.
const std::map<Op, Points>& SmoothPoints() {
  static const Points any = {{0.7}, {-1.3}, {2.1}};
  static const Points positive = {{0.3}, {1.7}, {5.2}};
  static const Points inside = {{0.3}, {-0.6}, {0.85}};
  static const Points pairs = {{0.7, 1.9}, {-1.3, 0.4}, {2.1, -0.8}};
  static const std::map<Op, Points> points = {
      {Op::Add, pairs},
      {Op::Sub, pairs},
      {Op::Mul, pairs},
      {Op::SMul, pairs},
      {Op::Div, pairs},
      {Op::Rem, {{7.3, 2.0}, {-7.3, 2.1}, {5.5, -1.7}}},
      {Op::Neg, any},
      {Op::Abs, any},
      {Op::Min, pairs},
      {Op::Max, pairs},
      {Op::Sqrt, positive},
      {Op::Cbrt, any},
      {Op::Exp, any},
      {Op::Exp2, any},
      {Op::Expm1, any},
      {Op::Log, positive},
      {Op::Log2, positive},
      {Op::Log10, positive},
      {Op::Log1p, positive},
      {Op::Sin, any},
      {Op::Cos, any},
      {Op::Tan, inside},
      {Op::Asin, inside},
      {Op::Acos, inside},
      {Op::Atan, any},
      {Op::Sinh, any},
      {Op::Cosh, any},
      {Op::Tanh, any},
      {Op::Asinh, any},
      {Op::Acosh, {{1.2}, {2.5}, {7.0}}},
      {Op::Atanh, inside},
      {Op::Erf, any},
      {Op::Pow, {{0.7, 1.9}, {2.2, -0.4}, {1.1, 3.0}}},
      {Op::Atan2, pairs},
      {Op::Hypot, pairs},
  };
  return points;
}

ir::Module Single(Op op, DType t) {
  ir::Module m;
  m.entry = m.AddFunction("f");
  ir::Builder b(m, m.Get(m.entry));
  b.NewBlock();
  std::vector<ir::Value> args;
  for (int k = 0; k < ir::Info(op).arity; ++k) args.push_back(b.AddParam(0, ir::Type::Scalar(t)));
  m.Get(m.entry).results = {ir::Type::Scalar(t)};
  b.Return({b.Make(op, args)});
  return m;
}

std::vector<Tensor> Args(const std::vector<double>& x, DType t) {
  std::vector<Tensor> out;
  for (double v : x)
    out.push_back(t == DType::kF32 ? Tensor::F32(static_cast<float>(v)) : Tensor::F64(v));
  return out;
}

double Difference(Op op, std::vector<double> x, size_t k) {
  const ir::Module m = Single(op, DType::kF64);
  const double h = 1e-6;
  x[k] += h;
  const double up = Scalar(RunOk(m, Args(x, DType::kF64))[0]);
  x[k] -= 2 * h;
  return (up - Scalar(RunOk(m, Args(x, DType::kF64))[0])) / (2 * h);
}

bool Agrees(double partial, double difference, double tolerance) {
  return std::abs(partial - difference) <= tolerance * (1e-2 + std::abs(difference));
}

TEST_CASE("every op with partials has points, and only those") {
  for (int k = 0; k < ir::kOpCount; ++k) {
    const auto op = static_cast<Op>(k);
    INFO(ir::Info(op).mnemonic);
    CHECK((ad::RuleOf(op) == ad::Rule::kPartials) == (SmoothPoints().count(op) == 1));
  }
}

TEST_CASE("every partial agrees with differences, and a broken one would not") {
  for (const auto& [op, points] : SmoothPoints()) {
    for (size_t k = 0; k < points[0].size(); ++k) {
      INFO(ir::Info(op).mnemonic << " by operand " << k);
      bool sharp = false;
      for (const std::vector<double>& x : points) {
        const double expected = Difference(op, x, k);
        const double f64 = Scalar(Gradients(Single(op, DType::kF64), Args(x, DType::kF64))[k]);
        const double f32 = Scalar(Gradients(Single(op, DType::kF32), Args(x, DType::kF32))[k]);
        INFO("at " << x[0] << ": " << f64 << ", " << f32 << " against " << expected);
        CHECK(Agrees(f64, expected, 1e-7));
        CHECK(Agrees(f32, expected, 1e-4));
        sharp |= !Agrees(1.001 * f64, expected, 1e-7) && !Agrees(-f64, expected, 1e-7);
      }
      CHECK((sharp || Difference(op, points[0], k) == 0));
    }
  }
}

TEST_CASE("conventions at corners") {
  const auto at = [](Op op, std::vector<double> x) {
    std::vector<double> out;
    for (const Tensor& t : Gradients(Single(op, DType::kF64), Args(x, DType::kF64)))
      out.push_back(Scalar(t));
    return out;
  };
  using V = std::vector<double>;
  CHECK(at(Op::Abs, {0}) == V{0});
  CHECK(at(Op::Max, {2, 2}) == V{1, 0});
  CHECK(at(Op::Min, {2, 2}) == V{1, 0});
  CHECK(at(Op::Sqrt, {0}) == V{0});
  CHECK(at(Op::Cbrt, {0}) == V{0});
  CHECK(at(Op::Hypot, {0, 0}) == V{0, 0});
  CHECK(at(Op::Atan2, {0, 0}) == V{0, 0});
  CHECK(at(Op::Pow, {0, 0}) == V{0, 0});
  CHECK(at(Op::Pow, {0, 1}) == V{1, 0});
  CHECK(at(Op::Pow, {-2, 3})[0] == 12);
  CHECK(at(Op::Pow, {4, 0}) == V{0, std::log(4.0)});
  CHECK(at(Op::Rem, {7, 2}) == V{1, -3});
  CHECK(at(Op::Floor, {1.5}) == V{0});
}

}  // namespace
}  // namespace pullback::testing
