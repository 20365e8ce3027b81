#include "tests/support/derivatives.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "core/ad/operators.h"
#include "core/ir/parser.h"
#include "core/ir/printer.h"
#include "core/ir/verifier.h"
#include "core/lang/lang.h"
#include "tests/support/values.h"

namespace pullback::testing {

using pipeline::Transform;

ir::Module LowerText(const std::string& program, const std::string& entry) {
  StatusOr<lang::Program> parsed = lang::Parse(program);
  INFO(program);
  INFO(parsed.status().ToString());
  REQUIRE(parsed.ok());
  const Status checked = lang::Check(*parsed);
  INFO(checked.ToString());
  REQUIRE(checked.ok());
  StatusOr<ir::Module> module = lang::Lower(*parsed, entry);
  INFO(module.status().ToString());
  REQUIRE(module.ok());
  const Status valid = ir::Verify(*module);
  INFO(valid.ToString() << "\n" << ir::Print(*module));
  REQUIRE(valid.ok());
  return std::move(module).value();
}

ir::Module ParseIr(const std::string& text) {
  StatusOr<ir::Module> module = ir::ParseModule(text);
  INFO(module.status().ToString());
  REQUIRE(module.ok());
  const Status valid = ir::Verify(*module);
  INFO(valid.ToString());
  REQUIRE(valid.ok());
  return std::move(module).value();
}

std::vector<Tensor> RunOk(const ir::Module& module, const std::vector<Tensor>& args) {
  if (ad::HasOperators(module)) {  // which nothing that runs a module knows
    return RunOk(Derived(module, Transform::kValue, {}, false), args);
  }
  StatusOr<eval::Result> r = eval::Run(module, args);
  INFO(ir::Print(module));
  INFO(r.status().ToString());
  REQUIRE(r.ok());
  if (r->trap) {
    INFO("trap " << static_cast<int>(r->trap->kind) << " at !" << r->trap->loc << ": " << r->trap->a
                 << ", " << r->trap->b);
    REQUIRE(!r->trap);
  }
  return r->values;
}

namespace {

std::vector<bool> AllIfEmpty(const ir::Module& m, std::vector<bool> wrt) {
  if (wrt.empty()) wrt.assign(m.Get(m.entry).params().size(), true);
  return wrt;
}

double Dot(const Tensor& a, const Tensor& b) {
  REQUIRE(SameShape(a, b));
  const std::vector<double> x = FloatsOf(a), y = FloatsOf(b);
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
  return sum;
}

void CheckClose(double a, double b, double tolerance, const std::string& what) {
  INFO(what << ": " << a << " against " << b);
  CHECK(std::abs(a - b) <= tolerance * (1 + std::abs(a) + std::abs(b)));
}

struct Directions {
  std::vector<Tensor> args, dots;  // tangents of the float leaves in wrt, in order
  std::vector<size_t> which;       // their parameters
};

std::vector<Tensor> ArgsNear(const Directions& at, double h) {
  std::vector<Tensor> args = at.args;
  for (size_t k = 0; k < at.which.size(); ++k)
    args[at.which[k]] = Moved(args[at.which[k]], at.dots[k], h);
  return args;
}

void CheckAt(const ir::Module& ssa, const Directions& at, const std::vector<bool>& wrt,
             double tolerance, bool optimise, std::mt19937& rng) {
  const ir::Module plain =
      ad::HasOperators(ssa) ? Derived(ssa, Transform::kValue, wrt, optimise) : ssa.Clone();
  const std::vector<Tensor> primal = RunOk(plain, at.args);
  const ir::Module jvp = Derived(ssa, Transform::kJvp, wrt, optimise);
  std::vector<Tensor> jvp_args = at.args;
  jvp_args.insert(jvp_args.end(), at.dots.begin(), at.dots.end());
  const std::vector<Tensor> pushed = RunOk(jvp, jvp_args);

  const bool f32 = [&] {
    for (const Tensor& t : at.args) {
      if (t.dtype == DType::kF32) return true;
    }
    return false;
  }();
  const double h = f32 ? 1e-3 : 1e-6;
  const double loose = f32 ? 3e-2 : tolerance;
  const std::vector<Tensor> up = RunOk(plain, ArgsNear(at, h)),
                            down = RunOk(plain, ArgsNear(at, -h));

  std::vector<Tensor> vjp_args = at.args;
  double forward_product = 0;
  size_t dot = primal.size();
  for (size_t k = 0; k < primal.size(); ++k) {
    if (!ir::CarriesTangent(ssa, ssa.Get(ssa.entry).results[k])) continue;
    const std::vector<double> y = FloatsOf(primal[k]), same = FloatsOf(pushed[k]),
                              dy = FloatsOf(pushed[dot]);
    const std::vector<double> above = FloatsOf(up[k]), below = FloatsOf(down[k]);
    REQUIRE(same.size() == y.size());
    REQUIRE(dy.size() == y.size());
    for (size_t i = 0; i < y.size(); ++i) {
      CheckClose(same[i], y[i], 1e-12 + (f32 ? 1e-5 : 0), "value of jvp");
      CheckClose(dy[i], (above[i] - below[i]) / (2 * h), loose, "jvp against differences");
    }
    const Tensor bar = RandomLike(primal[k], rng);
    vjp_args.push_back(bar);
    forward_product += Dot(bar, pushed[dot]);
    ++dot;
  }
  const ir::Module vjp = Derived(ssa, Transform::kVjp, wrt, optimise);
  const std::vector<Tensor> pulled = RunOk(vjp, vjp_args);
  INFO(ir::Print(vjp));
  double reverse_product = 0;
  for (size_t k = 0; k < at.dots.size(); ++k)
    reverse_product += Dot(pulled[primal.size() + k], at.dots[k]);
  CheckClose(reverse_product, forward_product, f32 ? 1e-4 : 1e-9,
             "<ybar, J xdot> = <J^T ybar, xdot>");
}

}  // namespace

ir::Module Derived(const ir::Module& ssa, Transform transform, std::vector<bool> wrt,
                   bool optimise) {
  pipeline::Options options;
  options.optimise = optimise;
  StatusOr<pipeline::Staged> staged =
      pipeline::Derive(ssa, transform, AllIfEmpty(ssa, std::move(wrt)), options);
  INFO(ir::Print(ssa));
  INFO(staged.status().ToString());
  REQUIRE(staged.ok());
  return std::move(staged->final);
}

std::vector<Tensor> Gradients(const ir::Module& ssa, const std::vector<Tensor>& args,
                              std::vector<bool> wrt) {
  std::vector<Tensor> out = RunOk(Derived(ssa, Transform::kValueAndGrad, std::move(wrt)), args);
  out.erase(out.begin());
  return out;
}

void CheckDerivatives(const ir::Module& ssa, const std::vector<Tensor>& args, double tolerance,
                      std::vector<bool> wrt) {
  wrt = AllIfEmpty(ssa, std::move(wrt));
  std::mt19937 rng(7);
  Directions at{args, {}, {}};
  for (size_t k = 0; k < args.size(); ++k) {
    const ir::Function& entry = ssa.Get(ssa.entry);
    if (!wrt[k] || !ir::CarriesTangent(ssa, entry.TypeOf(entry.params()[k]))) continue;
    at.dots.push_back(RandomLike(args[k], rng));
    at.which.push_back(k);
  }
  CheckAt(ssa, at, wrt, tolerance, true, rng);
  CheckAt(ssa, at, wrt, tolerance, false, rng);
}

Tensor Vec(const std::vector<double>& v) {
  return Tensor::Of<double>(DType::kF64, {static_cast<int64_t>(v.size())}, v);
}
Tensor Mat(int64_t rows, int64_t columns, const std::vector<double>& v) {
  return Tensor::Of<double>(DType::kF64, {rows, columns}, v);
}
std::string AdjointText(const std::string& program, std::vector<bool> wrt, Transform transform) {
  const auto staged = pipeline::Derive(LowerText(program, "f"), transform, wrt, {});
  REQUIRE(staged.ok());
  return ir::Print(staged->adjoint);
}

int CountText(const std::string& text, const std::string& part) {
  int n = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

double Scalar(const Tensor& t) { return FloatAt(t, 0); }
std::vector<double> Doubles(const Tensor& t) {
  std::vector<double> v;
  for (int64_t i = 0; i < t.ElementCount(); ++i) v.push_back(FloatAt(t, i));
  return v;
}

}  // namespace pullback::testing
