// Jacobians, Hessians and Hessian-vector products against finite differences and against each other.
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/support/derivatives.h"
#include "tests/support/programs.h"

namespace pullback::testing {
namespace {

using pipeline::Transform;

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
                 const std::vector<Tensor>& blocks) {
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
          CHECK(std::abs(got - expected[r][e]) <= 1e-5 * (1 + std::abs(expected[r][e])));
        }
      }
    }
  }
}

std::vector<Tensor> From(const std::vector<Tensor>& values, size_t first) {
  return {values.begin() + static_cast<long>(first), values.end()};
}

void CheckJacobian(const ir::Module& m, const std::vector<Tensor>& args, bool optimise) {
  const std::vector<Tensor> primal = RunOk(m, args);
  const std::vector<Tensor> out = RunOk(Derived(m, Transform::kJacobian, {}, optimise), args);
  for (size_t k = 0; k < primal.size(); ++k) CHECK(out[k].shape == primal[k].shape);
  CheckBlocks(m, args, primal, FloatsOf(primal), From(out, primal.size()));
}

// The Hessian is the Jacobian of the gradient, and its products are those with a vector.
void CheckHessian(const ir::Module& m, const std::vector<Tensor>& args, bool optimise) {
  const ir::Module gradient = Derived(m, Transform::kValueAndGrad, {}, optimise);
  const std::vector<Tensor> g = RunOk(gradient, args);
  std::vector<size_t> rows;
  for (size_t k = 1; k < g.size(); ++k) rows.push_back(k);
  const std::vector<Tensor> hessian = RunOk(Derived(m, Transform::kHessian, {}, optimise), args);
  CHECK(hessian[0].data == g[0].data);
  CheckBlocks(gradient, args, g, rows, From(hessian, 1));

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

TEST_CASE("jacobian: scalars and arrays on either side, either direction") {
  const struct {
    const char* text;
    std::vector<Tensor> args;
  } cases[] = {
      // Scalars on both sides; more results than parameters; an integer on each side.
      {"fn @f(%x: f64, %y: f64) -> (f64) { b0: ret mul(mul(%x, %x), sin(%y)) }",
       {Tensor::F64(0.7), Tensor::F64(-0.4)}},
      {"fn @f(%x: f64, %n: i64, %y: f64) -> (f64, i64, f64, f64) { b0:\n"
       "ret mul(%x, %y), %n, sin(%x), exp(%y) }",
       {Tensor::F64(0.7), Tensor::I64(3), Tensor::F64(-0.4)}},
      // An array by scalars, and a scalar by arrays.
      {"fn @f(%x: f64, %n: i64) -> [*]f64 { b0:\n"
       "%y = each(i < %n) { %k = affine %i + 1  %c = cast %k : f64  %v = mul %c, %x  %w = sin %v "
       "}\n"
       "  gen [%i] of (%n): %w\nret %y }",
       {Tensor::F64(0.7), Tensor::I64(4)}},
      {"fn @f(%a: [*]f64, %b: [*,*]f64) -> f64 { b0: %n = dim %b, 0  %m = dim %b, 1\n"
       "%s = each(i < %n, j < %m) { %u = index %a[%i]  %v = index %b[%i, %j]  %w = sin %v\n"
       "  %p = mul %u, %w } sum []: %p\nret mul(%s, %s) }",
       {Vec({0.2, -0.5}), Mat(2, 3, {1, 2, 3, -1, 0.5, 0.25})}},
      // Arrays on both sides, beside scalars: fewer columns, then fewer rows.
      {"fn @f(%a: [*]f64, %c: f64) -> ([*,*]f64, f64) { b0: %n = dim %a, 0\n"
       "%y = each(i < %n, j < %n) { %u = index %a[%i]  %v = index %a[%j]  %w = mul %u, sin(%v)\n"
       "  %p = mul %w, %c } gen [%i, %j] of (%n, %n): %p\nret %y, mul(%c, %c) }",
       {Vec({0.2, -0.5, 1.5}), Tensor::F64(1.3)}},
      {"fn @f(%b: [*,*]f64, %c: f64) -> ([*]f64, f64) { b0: %n = dim %b, 0  %m = dim %b, 1\n"
       "%y = each(i < %n, j < %m) { %v = index %b[%i, %j]  %w = sin mul(%v, %c) }\n"
       "  sum [%i] of (%n): %w\nret %y, mul(%c, %c) }",
       {Mat(2, 3, {1, 2, 3, -1, 0.5, 0.25}), Tensor::F64(1.3)}},
      // No elements on one side.
      {"fn @f(%a: [*]f64, %c: f64) -> ([*]f64, f64) { b0: ret %a, mul(%c, %c) }",
       {Vec({}), Tensor::F64(1.3)}},
  };
  for (const auto& c : cases) {
    const ir::Module m = ParseIr(c.text);
    for (bool optimise : {true, false}) {
      INFO(c.text << (optimise ? "" : ", as built"));
      CheckJacobian(m, c.args, optimise);
    }
  }
}

TEST_CASE("jacobian: of the first programs, and Hessians of those that give a float") {
  for (const ProgramCase& c : FirstPrograms()) {
    if (c.corner) continue;
    SECTION(c.name) {
      const ir::Module m = LowerText(c.text, c.entry);
      const std::vector<Tensor> values = RunOk(m, c.args);
      bool f32 = false;
      int64_t elements = 0;
      for (const Tensor& t : c.args) {
        f32 |= t.dtype == DType::kF32;
        elements += t.ElementCount();
      }
      if (f32 || elements > 100) continue;
      for (bool optimise : {true, false}) {
        CheckJacobian(m, c.args, optimise);
        if (values.size() == 1 && values[0].shape.empty() && IsFloat(values[0]))
          CheckHessian(m, c.args, optimise);
      }
    }
  }
}

TEST_CASE("hessian: blocks of scalars, vectors and matrices") {
  const ir::Module m = ParseIr(
      "fn @f(%a: [*]f64, %k: i64, %b: [*,*]f64, %c: f64) -> f64 { b0:\n"
      "%n = dim %b, 0  %m = dim %b, 1\n"
      "%s = each(i < %n, j < %m) { %u = index %a[%i]  %v = index %b[%i, %j]  %w = sin mul(%v, %c)\n"
      "  %p = mul mul(%u, %u), %w } sum []: %p\nret mul(%s, exp(%c)) }");
  const std::vector<Tensor> args = {Vec({0.2, -0.5}), Tensor::I64(3),
                                    Mat(2, 3, {1, 2, 3, -1, 0.5, 0.25}), Tensor::F64(0.3)};
  for (bool optimise : {true, false}) {
    CheckHessian(m, args, optimise);
    const std::vector<Tensor> h = RunOk(Derived(m, Transform::kHessian, {}, optimise), args);
    REQUIRE(h.size() == 10);
    CHECK(h[2].shape == std::vector<int64_t>({2, 2, 3}));     // by a, by b
    CHECK(h[5].shape == std::vector<int64_t>({2, 3, 2, 3}));  // by b twice
    CHECK(h[9].shape.empty());                                // by c twice
  }
  // By some of the parameters.
  const std::vector<Tensor> some =
      RunOk(Derived(m, Transform::kHessian, {true, true, false, true}), args);
  REQUIRE(some.size() == 5);
  CHECK(some[1].shape == std::vector<int64_t>({2, 2}));
}

TEST_CASE("hessian: through loops, recursion, rules and checkpoints") {
  const char* texts[] = {
      "fn @f(%x: f64, %y: f64) -> f64 { b0: jump b1(%x, 0)\n"
      "b1(%r: f64, %k: i64): br lt(%k, 4), b2, b3\n"
      "b2: jump b1(sin(mul(%r, %y)), add(%k, 1))\nb3: ret %r }\n",
      "entry @g\nfn @g(%x: f64, %y: f64) -> f64 { b0: %r = call @f(%x, %y, 3)  ret %r }\n"
      "fn @f(%x: f64, %y: f64, %n: i64) -> f64 { b0: br le(%n, 0), b1, b2\nb1: ret %x\n"
      "b2: %z = call checkpoint @f(%x, %y, sub(%n, 1))  ret sin(add(mul(%z, %y), %x)) }\n",
      "entry @g\nfn @g(%x: f64, %y: f64) -> f64 { b0: %r = call @f(mul(%x, %y))  ret mul(%r, %y) "
      "}\n"
      "fn @f(%x: f64) -> f64 vjp @v { b0: ret exp(%x) }\n"
      "fn @v(%x: f64, %w: f64) -> f64 { b0: %y = call @f(%x)  ret mul(%y, %w) }\n"};
  for (const char* text : texts) {
    INFO(text);
    for (bool optimise : {true, false})
      CheckHessian(ParseIr(text), {Tensor::F64(0.7), Tensor::F64(1.2)}, optimise);
  }
}

// f32 beside f64: a block has the parameter's type.
TEST_CASE("jacobian: element types") {
  const ir::Module m = ParseIr(
      "fn @f(%x: f32, %a: [*]f64) -> ([*]f64, f32) { b0: %n = dim %a, 0  %c = cast %x : f64\n"
      "%y = each(i < %n) { %u = index %a[%i]  %w = mul %u, %c } gen [%i] of (%n): %w\n"
      "ret %y, mul(%x, %x) }");
  for (bool optimise : {true, false}) {
    const std::vector<Tensor> out =
        RunOk(Derived(m, Transform::kJacobian, {}, optimise), {Tensor::F32(3), Vec({1, 2})});
    REQUIRE(out.size() == 6);
    CHECK(out[2].dtype == DType::kF32);
    CHECK(out[2].shape == std::vector<int64_t>({2}));
    CHECK(out[2].At<float>(1) == 2);
    CHECK(out[3].dtype == DType::kF64);
    CHECK(Doubles(out[3]) == std::vector<double>({3, 0, 0, 3}));
    CHECK(out[4].dtype == DType::kF32);
    CHECK(Scalar(out[4]) == 6);
    CHECK(Doubles(out[5]) == std::vector<double>({0, 0}));
  }
}

TEST_CASE("jacobian: as few seeds as there are") {
  const ir::Module wide = ParseIr(
      "fn @f(%a: [*,*]f64) -> [*]f64 { b0: %n = dim %a, 0  %m = dim %a, 1\n"
      "%y = each(i < %n, k < %m) { %u = index %a[%i, %k]  %w = mul %u, %u }\n"
      "  sum [%i] of (%n): %w\nret %y }");
  const ir::Module d = Derived(wide, Transform::kJacobian);
  const auto ops = [&](int64_t n, int64_t m) {
    return eval::Run(d, {Mat(n, m, std::vector<double>(static_cast<size_t>(n * m), 0.5))})
        ->cost.ops;
  };
  // Two rows, a hundred columns: about two pullbacks.
  CHECK(ops(2, 100) < 6 * 200 * 2);
}

Status StatusOf(const std::string& text, Transform transform) {
  const ir::Module m = ParseIr(text);
  return pipeline::Derive(m, transform, std::vector<bool>(m.Get(0).params().size(), true), {})
      .status();
}

TEST_CASE("jacobian: what is refused") {
  const std::string pair = "fn @f(%x: f64) -> (f64, f64) { b0: ret %x, %x }";
  const std::string array = "fn @f(%a: [*]f64) -> [*]f64 { b0: ret %a }";
  const std::string whole = "fn @f(%x: f64) -> i64 { b0: ret 3 }";
  for (const std::string& text : {pair, array, whole}) {
    for (Transform t : {Transform::kHessian, Transform::kHvp}) {
      const Status s = StatusOf(text, t);
      CHECK(s.code() == Code::kInvalidArgument);
      CHECK(s.reason() == "NOT_SCALAR");
      CHECK(s.message().find(pipeline::TransformName(t)) != std::string::npos);
    }
    CHECK(StatusOf(text, Transform::kJacobian).ok());
  }
  const std::string five = "fn @f(%a: [*,*,*,*,*]f64) -> [*,*,*,*,*]f64 { b0: ret %a }";
  CHECK(StatusOf(five, Transform::kJacobian).code() == Code::kUnimplemented);
  const std::string lists =
      "record R { x: f64 }\n"
      "fn @f(%x: f64) -> list<R> { b0: %l = list_new : list<R>  %m = list_push %l, %x  ret %m }";
  CHECK(StatusOf(lists, Transform::kJacobian).code() == Code::kUnimplemented);
}

}  // namespace
}  // namespace pullback::testing
