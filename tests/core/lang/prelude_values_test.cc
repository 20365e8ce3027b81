// What the functions of the prelude compute, by the interpreter; every function has a row.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <set>

#include "tests/core/lang/lower_support.h"

namespace pullback::lang {

extern const char* const kPreludeText;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kLog2 = std::log(2.0);

struct Row {
  const char* call;
  const char* type;
  std::vector<double> want;
};

// Helpers in the program of each row: x = [1, 2, 4], a = [[1, 2, 3], [4, 5, 6]], s = [[1, 2], [3, 4]].
const std::vector<Row>& Rows() {
  static const std::vector<Row> rows = {
      // scalars
      {"pi()", "f64", {M_PI}},
      {"square(-3.0)", "f64", {9}},
      {"cube(-2.0)", "f64", {-8}},
      {"reciprocal(4.0)", "f64", {0.25}},
      {"clamp.([-2.0, 0.5, 3.0], -1.0, 1.0)", "[3]f64", {-1, 0.5, 1}},
      {"lerp(2.0, 6.0, 0.25)", "f64", {3}},
      {"heaviside.([-2.0, 0.0, 3.0])", "[3]f64", {0, 0.5, 1}},
      {"radians(180.0)", "f64", {M_PI}},
      {"degrees(pi())", "f64", {180}},
      {"sigmoid.([0.0, -1000.0, 1000.0, 1.0])", "[4]f64", {0.5, 0, 1, 1 / (1 + std::exp(-1.0))}},
      {"logit(0.75)", "f64", {std::log(3.0)}},
      {"softplus.([0.0, -1000.0, 1000.0])", "[3]f64", {kLog2, 0, 1000}},
      {"log_sigmoid.([0.0, -1000.0, 1000.0])", "[3]f64", {-kLog2, -1000, 0}},
      {"relu.([-2.0, 0.0, 3.0])", "[3]f64", {0, 0, 3}},
      {"leaky_relu.([-2.0, 3.0], 0.1)", "[2]f64", {-0.2, 3}},
      {"elu.([-2.0, 3.0], 0.5)", "[2]f64", {0.5 * std::expm1(-2.0), 3}},
      {"silu.([0.0, 1000.0])", "[2]f64", {0, 1000}},
      {"gelu.([0.0, 1.0, -40.0])", "[3]f64", {0, 0.5 * (1 + std::erf(M_SQRT1_2)), 0}},
      {"logaddexp.([0.0, 1000.0, -1.0], [0.0, 1.0, 2000.0])", "[3]f64", {kLog2, 1000, 2000}},
      {"logaddexp(-1.0 / 0.0, -1.0 / 0.0)", "f64", {-kInf}},
      {"logaddexp.([1.0 / 0.0, -1.0 / 0.0, 3.0], [1.0 / 0.0, 2.0, -1.0 / 0.0])",
       "[3]f64",
       {kInf, 2, 3}},
      {"xlogy.([0.0, 2.0], [0.0, 1.0])", "[2]f64", {0, 0}},
      {"ipow.([2.0, 2.0, -3.0], [0, 10, 3])", "[3]f64", {1, 1024, -27}},
      // vectors
      {"fill(2, 1.5)", "[2]f64", {1.5, 1.5}},
      {"ones(2)", "[2]f64", {1, 1}},
      {"arange(3)", "[3]f64", {0, 1, 2}},
      {"linspace(1.0, 2.0, 5)", "[5]f64", {1, 1.25, 1.5, 1.75, 2}},
      {"linspace(1.0, 2.0, 1)", "[1]f64", {1}},
      {"one_hot(3, 1)", "[3]f64", {0, 1, 0}},
      {"vec_sum(x)", "f64", {7}},
      {"mean(x)", "f64", {7.0 / 3}},
      {"variance(x)", "f64", {14.0 / 9}},
      {"stddev(x)", "f64", {std::sqrt(14.0 / 9)}},
      {"dot(x, x)", "f64", {21}},
      {"norm(x)", "f64", {std::sqrt(21.0)}},
      {"norm2(x)", "f64", {21}},
      {"norm1(-x)", "f64", {7}},
      {"distance(x, [1.0, 5.0, 8.0])", "f64", {5}},
      {"cross([1.0, 0.0, 0.0], x)", "[3]f64", {0, -4, 2}},
      {"reverse(x)", "[3]f64", {4, 2, 1}},
      {"concat(x, [8.0, 9.0])", "[5]f64", {1, 2, 4, 8, 9}},
      {"diff(x)", "[2]f64", {1, 2}},
      {"cumsum(x)", "[3]f64", {1, 3, 7}},
      {"cumprod(x)", "[3]f64", {1, 2, 8}},
      {"argmax([1.0, 3.0, 3.0, 2.0])", "i64", {1}},
      {"argmin([1.0, 3.0, -3.0, -3.0])", "i64", {2}},
      {"argmin(zeros(0))", "i64", {-1}},
      {"all([true, false])", "bool", {0}},
      {"any([true, false])", "bool", {1}},
      {"logsumexp([1000.0, 1000.0])", "f64", {1000 + kLog2}},
      {"logsumexp(zeros(0))", "f64", {-kInf}},
      {"softmax([-1000.0, 1000.0, 1000.0])", "[3]f64", {0, 0.5, 0.5}},
      {"softmax([-1.0 / 0.0, 7.0, 7.0])", "[3]f64", {0, 0.5, 0.5}},
      {"log_softmax([-1000.0, 1000.0, 1000.0])", "[3]f64", {-2000 - kLog2, -kLog2, -kLog2}},
      {"mse(x, [1.0, 2.0, 1.0])", "f64", {3}},
      {"polyval(x, 2.0)", "f64", {21}},
      {"trapezoid([1.0, 3.0, 5.0], x)", "f64", {10}},
      {"roll(x, 1)", "[3]f64", {4, 1, 2}},
      {"roll([1, 2, 3, 4], -5)", "[4]i64", {2, 3, 4, 1}},
      {"pad(x, 1, 2)", "[6]f64", {0, 1, 2, 4, 0, 0}},
      {"tile([1, 2], 3)", "[6]i64", {1, 2, 1, 2, 1, 2}},
      {"gen i < 5 { interp(f64(i), x, [10.0, 20.0, 60.0]) }", "[5]f64", {10, 10, 20, 40, 60}},
      {"interp(3.0, x, x)", "f64", {3}},
      {"convolve(x, [1.0, 10.0])", "[4]f64", {1, 12, 24, 40}},
      {"correlate(x, [1.0, 10.0])", "[2]f64", {21, 42}},
      // matrices
      {"eye(2)", "[2, 2]f64", {1, 0, 0, 1}},
      {"diag([3.0, 4.0])", "[2, 2]f64", {3, 0, 0, 4}},
      {"diagonal(s)", "[2]f64", {1, 4}},
      {"trace(s)", "f64", {5}},
      {"outer([2.0, 3.0], x)", "[2, 3]f64", {2, 4, 8, 3, 6, 12}},
      {"matmul(s, a)", "[2, 3]f64", {9, 12, 15, 19, 26, 33}},
      {"matvec(a, x)", "[2]f64", {17, 38}},
      {"tril(a)", "[2, 3]f64", {1, 0, 0, 4, 5, 0}},
      {"triu(a)", "[2, 3]f64", {1, 2, 3, 0, 5, 6}},
      {"mat_sum(a)", "f64", {21}},
      {"row_sums(a)", "[2]f64", {6, 15}},
      {"column_sums(a)", "[3]f64", {5, 7, 9}},
      {"frobenius(s)", "f64", {std::sqrt(30.0)}},
      {"kron(s, [[1.0, 10.0]])", "[2, 4]f64", {1, 10, 2, 20, 3, 30, 4, 40}},
      {"covariance(s)", "[2, 2]f64", {1, 1, 1, 1}},
      {"bilinear([1.0, 2.0], a, x)", "f64", {93}},
      // sorting and counting
      {"sort([3, 1, 2])", "[3]i64", {1, 2, 3}},
      {"argsort([3.0, 1.0, 2.0, 1.0])", "[4]i64", {1, 3, 2, 0}},
      {"sort_by([1, 2, 3], [0.5f32, 0.25f32, 0.125f32])", "[3]i64", {3, 2, 1}},
      {"sorts_before(1, 1)", "bool", {0}},
      {"merge_runs(x, [1, 0, 2], 1)", "[3]i64", {0, 1, 2}},
      {"searchsorted(x, 2.0)", "i64", {1}},
      {"searchsorted(x, 5.0)", "i64", {3}},
      {"quantile([4.0, 0.0, 2.0], 0.75)", "f64", {3}},
      {"quantile([4.0, 0.0, 2.0], 1.0)", "f64", {4}},
      {"median([4.0, 0.0, 2.0, 1.0])", "f64", {1.5}},
      {"bincount([1, 3, 1], 4)", "[4]i64", {0, 2, 0, 1}},
      {"bincount_weighted([1, 3, 1], x, 4)", "[4]f64", {0, 5, 0, 2}},
      {"histogram([0.0, 0.5, 3.0, 2.9, -1.0, 1.0], 0.0, 3.0, 3)", "[3]i64", {2, 1, 2}},
      // linear systems
      {"solve(s, [5.0, 11.0])", "[2]f64", {1, 2}},
      {"solve([[0.0, 1.0], [2.0, 0.0]], [3.0, 4.0])", "[2]f64", {2, 3}},
      {"solve_matrix(s, s @ a)", "[2, 3]f64", {1, 2, 3, 4, 5, 6}},
      {"solve_matrix_back(eye(2), s, s).1", "[2, 2]f64", {1, 2, 3, 4}},
      {"inv(s)", "[2, 2]f64", {-2, 1, 1.5, -0.5}},
      {"cholesky([[4.0, 9.0], [2.0, 10.0]])", "[2, 2]f64", {2, 0, 1, 3}},
      {"det(s)", "f64", {-2}},
      {"det(zeros(0, 0))", "f64", {1}},
      {"det(outer(x, x))", "f64", {0}},
      {"det([[0.0, 2.0, 0.0], [0.0, 0.0, 3.0], [4.0, 0.0, 0.0]])", "f64", {24}},
      {"det_without_division(s)", "f64", {-2}},
      {"det_without_division([[0.0, 2.0, 1.0], [1.0, 0.0, 3.0], [4.0, 1.0, 1.0]])", "f64", {23}},
      {"det_without_division([[0.0, 2.0, 1.0, 1.0], [1.0, 0.0, 3.0, 0.0], [4.0, 1.0, 1.0, 2.0], "
       "[1.0, "
       "1.0, 1.0, 1.0]])",
       "f64",
       {4}},
      // the names of dF~
      {"vectorMap(x, |t| t > 1.5)", "[3]bool", {0, 1, 1}},
      {"vectorMap2(x, [1, 2, 3], |t, k| t * f64(k))", "[3]f64", {1, 4, 12}},
      {"vectorZip(x, -x).1", "[3]f64", {-1, -2, -4}},
      {"matrixMap(a, |row| vectorSMul(row, 2.0))", "[2, 3]f64", {2, 4, 6, 8, 10, 12}},
      {"matrixMap2(s, s.T, vectorAdd)", "[2, 2]f64", {2, 5, 5, 8}},
      {"matrixZip(s, s.T).1", "[2, 2]f64", {1, 3, 2, 4}},
      {"vectorRange(3)", "[3]i64", {0, 1, 2}},
      {"vectorFill(2, 7.0)", "[2]f64", {7, 7}},
      {"vectorZeros(2)", "[2]f64", {0, 0}},
      {"vectorHot(3, 2)", "[3]f64", {0, 0, 1}},
      {"vectorAdd(x, x)", "[3]f64", {2, 4, 8}},
      {"vectorSub(x, [1.0, 1.0, 1.0])", "[3]f64", {0, 1, 3}},
      {"vectorEMul(x, x)", "[3]f64", {1, 4, 16}},
      {"vectorSMul(x, 3.0)", "[3]f64", {3, 6, 12}},
      {"vectorSum(x)", "f64", {7}},
      {"vectorDot(x, x)", "f64", {21}},
      {"vectorNorm(x)", "f64", {std::sqrt(21.0)}},
      {"vectorCross([1.0, 0.0, 0.0], x)", "[3]f64", {0, -4, 2}},
      {"vectorSlice([5.0, 6.0, 7.0, 8.0], 1, 2)", "[2]f64", {6, 7}},
      {"vectorToMatrix(x)", "[1, 3]f64", {1, 2, 4}},
      {"vectorOutProd([2.0, 3.0], x)", "[2, 3]f64", {2, 4, 8, 3, 6, 12}},
      {"matrixRows(a)", "i64", {2}},
      {"matrixCols(a)", "i64", {3}},
      {"matrixZeros(1, 2)", "[1, 2]f64", {0, 0}},
      {"matrixOnes(1, 2)", "[1, 2]f64", {1, 1}},
      {"matrixFill(2, 1, 3.0)", "[2, 1]f64", {3, 3}},
      {"matrixEye(2)", "[2, 2]f64", {1, 0, 0, 1}},
      {"matrixHot(2, 3, 1, 0)", "[2, 3]f64", {0, 0, 0, 1, 0, 0}},
      {"matrixAdd(s, s)", "[2, 2]f64", {2, 4, 6, 8}},
      {"matrixSub(s, eye(2))", "[2, 2]f64", {0, 2, 3, 3}},
      {"matrixEMul(s, s)", "[2, 2]f64", {1, 4, 9, 16}},
      {"matrixSMul(s, 2.0)", "[2, 2]f64", {2, 4, 6, 8}},
      {"matrixTranspose(a)", "[3, 2]f64", {1, 4, 2, 5, 3, 6}},
      {"matrixMul(s, a)", "[2, 3]f64", {9, 12, 15, 19, 26, 33}},
      {"matrixTrace(s)", "f64", {5}},
      // functions of functions
      {"fold(|s, i| s * 2.0 + f64(i), 1.0, 3)", "f64", {12}},
      {"fold(|s, i| s * 2.0 + f64(i), 1.0, 0)", "f64", {1}},
      {"scan(|s, i| s + x[i], 1.0, 2)[1]", "f64", {4}},
      {"map(|t: f64| t * t, list(1.0, 3.0))[1]", "f64", {9}},
      {"filter(|t: f64| t > 1.5, list(1.0, 3.0, 4.0))[0]", "f64", {3}},
      {"reduce(|s, t: f64| s * t, 2.0, list(1.0, 3.0, 4.0))", "f64", {24}},
  };
  return rows;
}

TEST_CASE("Prelude: values") {
  const std::vector<Tensor> arguments = {Vec({1, 2, 4}), Mat(2, 3, {1, 2, 3, 4, 5, 6}),
                                         Mat(2, 2, {1, 2, 3, 4})};
  for (const Row& row : Rows()) {
    INFO(row.call);
    std::string text = "fn f(x: [3]f64, a: [2, 3]f64, s: [2, 2]f64) -> " + std::string(row.type) +
                       " { return " + row.call + " }";
    std::vector<double> got = Elements(text, arguments);
    REQUIRE(got.size() == row.want.size());
    for (size_t i = 0; i < got.size(); ++i) {
      INFO(i);
      if (std::isinf(row.want[i]))
        CHECK(got[i] == row.want[i]);
      else
        CHECK(got[i] == Approx(row.want[i]).margin(1e-14));
    }
  }
}

TEST_CASE("Prelude: every function has a row of values") {
  std::set<std::string> called;
  for (const Row& row : Rows()) {
    std::string call = row.call;
    called.insert(call.substr(0, call.find_first_of(".(")));
  }
  StatusOr<Program> prelude = Parse(kPreludeText);
  REQUIRE(prelude.ok());
  for (const auto& f : prelude->functions) {
    INFO(f->name);
    if (f->is_template) continue;  // region_test.cc calls them
    CHECK(called.count(f->name) == 1);
  }
}

TEST_CASE("Prelude: NaN goes through") {
  for (const char* name : {"sigmoid", "softplus", "relu", "silu", "gelu", "log_sigmoid"}) {
    INFO(name);
    CHECK(std::isnan(NumberOf("fn f(x: f64) -> f64 { return " + std::string(name) + "(x) }",
                              {F64(std::nan(""))})));
  }
  CHECK(std::isnan(
      NumberOf("fn f(x: [n]f64) -> f64 { return logsumexp(x) }", {Vec({1, std::nan("")})})));
}

}  // namespace
}  // namespace pullback::lang
