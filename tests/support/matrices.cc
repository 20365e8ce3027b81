#include "tests/support/matrices.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

#include "tests/support/derivatives.h"

namespace pullback::testing {

using pipeline::Transform;

namespace {

bool IsFloat(const Tensor& t) { return t.dtype == DType::kF64 || t.dtype == DType::kF32; }

void Shift(Tensor& t, int64_t i, double by) {
  const double v = t.At<double>(i) + by;
  std::memcpy(t.data.data() + i * 8, &v, 8);
}

std::vector<size_t> FloatsOf(const std::vector<Tensor>& values) {
  std::vector<size_t> floats;
  for (size_t k = 0; k < values.size(); ++k) {
    if (IsFloat(values[k])) floats.push_back(k);
  }
  return floats;
}

std::vector<int64_t> Joined(std::vector<int64_t> a, const std::vector<int64_t>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// The derivative of `rows` of the module's results by element i of argument p: central differences.
std::vector<std::vector<double>> Column(const ir::Module& m, std::vector<Tensor> args, size_t p,
                                        int64_t i, const std::vector<size_t>& rows) {
  constexpr double h = 1e-6;
  Shift(args[p], i, h);
  const std::vector<Tensor> up = RunOk(m, args);
  Shift(args[p], i, -2 * h);
  const std::vector<Tensor> down = RunOk(m, args);
  std::vector<std::vector<double>> column;
  for (size_t r : rows) {
    std::vector<double>& out = column.emplace_back();
    for (int64_t e = 0; e < up[r].ElementCount(); ++e)
      out.push_back((up[r].At<double>(e) - down[r].At<double>(e)) / (2 * h));
  }
  return column;
}

// `blocks`: for every row, for every float argument. `rows`: results of m.
void CheckBlocks(const ir::Module& m, const std::vector<Tensor>& args,
                 const std::vector<Tensor>& values, const std::vector<size_t>& rows,
                 const std::vector<Tensor>& blocks, double tolerance) {
  const std::vector<size_t> columns = FloatsOf(args);
  REQUIRE(blocks.size() == rows.size() * columns.size());
  for (size_t c = 0; c < columns.size(); ++c) {
    const Tensor& arg = args[columns[c]];
    for (int64_t i = 0; i < arg.ElementCount(); ++i) {
      const auto expected = Column(m, args, columns[c], i, rows);
      for (size_t r = 0; r < rows.size(); ++r) {
        const Tensor& block = blocks[r * columns.size() + c];
        REQUIRE(block.shape == Joined(values[rows[r]].shape, arg.shape));
        for (size_t e = 0; e < expected[r].size(); ++e) {
          INFO("result " << rows[r] << " element " << e << " by argument " << columns[c]
                         << " element " << i);
          const double got = block.At<double>(static_cast<int64_t>(e) * arg.ElementCount() + i);
          CHECK(std::abs(got - expected[r][e]) <= tolerance * (1 + std::abs(expected[r][e])));
        }
      }
    }
  }
}

std::vector<Tensor> From(const std::vector<Tensor>& values, size_t first) {
  return {values.begin() + static_cast<long>(first), values.end()};
}

}  // namespace

void CheckJacobian(const ir::Module& m, const std::vector<Tensor>& args, bool optimise,
                   double tolerance) {
  const std::vector<Tensor> primal = RunOk(m, args);
  const std::vector<Tensor> out = RunOk(Derived(m, Transform::kJacobian, {}, optimise), args);
  for (size_t k = 0; k < primal.size(); ++k) CHECK(out[k].shape == primal[k].shape);
  CheckBlocks(m, args, primal, FloatsOf(primal), From(out, primal.size()), tolerance);
}

void CheckHessian(const ir::Module& m, const std::vector<Tensor>& args, bool optimise,
                  double tolerance) {
  const ir::Module gradient = Derived(m, Transform::kValueAndGrad, {}, optimise);
  const std::vector<Tensor> g = RunOk(gradient, args);
  std::vector<size_t> rows;
  for (size_t k = 1; k < g.size(); ++k) rows.push_back(k);
  const std::vector<Tensor> hessian = RunOk(Derived(m, Transform::kHessian, {}, optimise), args);
  CHECK(hessian[0].data == g[0].data);
  CheckBlocks(gradient, args, g, rows, From(hessian, 1), tolerance);

  const std::vector<size_t> columns = FloatsOf(args);
  std::vector<Tensor> with_dots = args;
  for (size_t p : columns) {
    Tensor& dot = with_dots.emplace_back(args[p]);
    for (int64_t i = 0; i < dot.ElementCount(); ++i)
      Shift(dot, i, 0.3 * static_cast<double>(i) - 0.5);
  }
  const std::vector<Tensor> product = RunOk(Derived(m, Transform::kHvp, {}, optimise), with_dots);
  REQUIRE(product.size() == 1 + columns.size());
  CHECK(product[0].data == g[0].data);
  for (size_t r = 0; r < columns.size(); ++r) {
    CHECK(product[1 + r].shape == args[columns[r]].shape);
    for (int64_t e = 0; e < args[columns[r]].ElementCount(); ++e) {
      double sum = 0;
      for (size_t c = 0; c < columns.size(); ++c) {
        const Tensor& block = hessian[1 + r * columns.size() + c];
        const Tensor& dot = with_dots[args.size() + c];
        const int64_t n = dot.ElementCount();
        for (int64_t i = 0; i < n; ++i) sum += block.At<double>(e * n + i) * dot.At<double>(i);
      }
      CHECK(product[1 + r].At<double>(e) == Approx(sum).epsilon(1e-9).margin(1e-9));
    }
  }
}

bool GivesFloatScalar(const ir::Module& ssa) {
  const std::vector<ir::Type>& results = ssa.Get(ssa.entry).results;
  return results.size() == 1 && results[0].IsScalar() && results[0].IsFloat();
}

}  // namespace pullback::testing
