// jvp and vjp inside programs, nested, in every pair of modes; stop_gradient; what is refused.
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/support/derivatives.h"

namespace pullback::testing {
namespace {

using pipeline::Transform;

// The first derivative of @f at x in one mode, as IR text of a function @d.
std::string First(const std::string& mode) {
  return "fn @d(%x: f64) -> f64 { b0: %y, %dx = " + mode + " @f wrt(0) (%x, 1.0)  ret %dx }\n";
}

// Values of a module whose entry takes one f64 and gives one.
double ValueAt(const std::string& text, double x, bool optimise = true) {
  return Scalar(
      RunOk(Derived(ParseIr(text), Transform::kValue, {}, optimise), {Tensor::F64(x)})[0]);
}

Status StatusOf(const std::string& text) {
  return pipeline::Derive(ParseIr(text), Transform::kValue, {true}, {}).status();
}

const std::string kF =
    "fn @f(%x: f64) -> f64 { b0: br gt(%x, 0.0), b1, b2\n"
    "b1: ret mul(sin(%x), exp(%x))\nb2: ret mul(%x, mul(%x, %x)) }\n";

TEST_CASE("operators: the second derivative, in every pair of modes") {
  for (const std::string inner : {"jvp", "vjp"}) {
    for (const std::string outer : {"jvp", "vjp"}) {
      for (bool optimise : {true, false}) {
        INFO(outer << " over " << inner);
        const std::string text = "entry @g\n" + kF + First(inner) +
                                 "fn @g(%x: f64) -> f64 { b0: %y, %dx = " + outer +
                                 " @d wrt(0) (%x, 1.0)  ret %dx }\n";
        CHECK(ValueAt(text, -2, optimise) == Approx(-12));
        CHECK(ValueAt(text, 0.7, optimise) == Approx(2 * std::cos(0.7) * std::exp(0.7)));
      }
    }
  }
}

TEST_CASE("operators: the gradient by a function has what that captures and holds floats") {
  const std::string text =
      "fn f(x: f64, k: i64) -> f64 { let g = |t| t * x * f64(k)\n"
      " let (dg, dt) = grad(|q, t| q(t) * t)(g, x)\n return dg + dt }";
  for (const bool optimise : {true, false}) {
    const ir::Module value = Derived(LowerText(text, "f"), Transform::kValue, {}, optimise);
    CHECK(Scalar(RunOk(value, {Tensor::F64(2), Tensor::I64(3)})[0]) == 36);
  }
}

TEST_CASE("operators: jvp and vjp by a function with an integer go along what holds floats") {
  const std::string captures = "fn f(x: f64, k: i64) -> f64 { let h = |t: f64| t * x * f64(k)\n";
  const struct {
    std::string text;
    double value;
  } cases[] = {
      {captures + "return jvp(|g: fn(f64) -> f64| g(2.0) * x, h, h) }", 24},
      {captures + "let (v, back) = vjp(|q: fn(f64) -> f64| q(2.0) * q(3.0), h)\n"
                  "return v + back(1.0) }",
       432},
  };
  for (const auto& c : cases) {
    for (const bool optimise : {true, false}) {
      const ir::Module value = Derived(LowerText(c.text, "f"), Transform::kValue, {}, optimise);
      CHECK(Scalar(RunOk(value, {Tensor::F64(2), Tensor::I64(3)})[0]) == c.value);
    }
  }
}

// Second and third derivatives of loops and recursion: each level against differences of the one below.
void CheckLevels(const std::string& f) {
  for (const std::string inner : {"jvp", "vjp"}) {
    for (const std::string outer : {"jvp", "vjp"}) {
      const std::string d = "entry @d\n" + f + First(inner);
      const std::string g = "entry @g\n" + f + First(inner) +
                            "fn @g(%x: f64) -> f64 { b0: %y, %dx = " + outer +
                            " @d wrt(0) (%x, 1.0)  ret %dx }\n";
      const double h = 1e-6;
      for (bool optimise : {true, false}) {
        INFO(outer << " over " << inner << (optimise ? "" : ", as built"));
        const double second = (ValueAt(d, 0.7 + h) - ValueAt(d, 0.7 - h)) / (2 * h);
        CHECK(ValueAt(g, 0.7, optimise) == Approx(second).epsilon(1e-6));
        const double third = (ValueAt(g, 0.7 + h) - ValueAt(g, 0.7 - h)) / (2 * h);
        for (Transform t : {Transform::kValueAndGrad, Transform::kJvp}) {
          std::vector<Tensor> args = {Tensor::F64(0.7)};
          if (t == Transform::kJvp) args.push_back(Tensor::F64(1));
          CHECK(Scalar(RunOk(Derived(ParseIr(g), t, {}, optimise), args)[1]) ==
                Approx(third).epsilon(1e-5));
        }
      }
    }
  }
}

TEST_CASE("operators: derivatives of derivatives of a loop") {
  CheckLevels(
      "fn @f(%x: f64) -> f64 { b0: jump b1(1.0, 3)\n"
      "b1(%r: f64, %k: i64): br gt(%k, 0), b2, b3\n"
      "b2: jump b1(mul(%r, sin(mul(%r, %x))), sub(%k, 1))\nb3: ret %r }\n");
}

TEST_CASE("operators: derivatives of derivatives of a recursion") {
  CheckLevels(
      "fn @f(%x: f64) -> f64 { b0: %y = call @r(%x, 4)  ret %y }\n"
      "fn @r(%x: f64, %n: i64) -> f64 { b0: br le(%n, 1), b1, b2\nb1: ret sin(%x)\n"
      "b2: %a = call @r(%x, sub(%n, 1))  %b = call @r(%x, sub(%n, 2))\n"
      "ret add(mul(%a, %b), %x) }\n");
}

TEST_CASE("operators: a request over an operator, three levels") {
  for (const std::string inner : {"jvp", "vjp"}) {
    const std::string text =
        "entry @g\n" + kF + First(inner) +
        "fn @g(%x: f64) -> f64 { b0: %y, %dx = jvp @d wrt(0) (%x, 1.0)  ret %dx }\n";
    const std::vector<Tensor> third = Gradients(ParseIr(text), {Tensor::F64(0.7)});
    CHECK(Scalar(third[0]) == Approx(2 * (std::cos(0.7) - std::sin(0.7)) * std::exp(0.7)));
  }
}

// x d/dy(x + y): the outer derivative is 1; x d/dy(x y) at 4: 8 (perturbations are not confused).
TEST_CASE("operators: levels are not confused") {
  for (const std::string mode : {"jvp", "vjp"}) {
    const auto outer = [&](const std::string& op) {
      return ParseIr("entry @g\nfn @in(%x: f64, %y: f64) -> f64 { b0: ret " + op + "(%x, %y) }\n" +
                     "fn @g(%x: f64) -> f64 { b0: %v, %d = " + mode +
                     " @in wrt(1) (%x, %x, 1.0)  ret mul(%x, %d) }\n");
    };
    CHECK(Scalar(Gradients(outer("add"), {Tensor::F64(4)})[0]) == 1);
    CHECK(Scalar(Gradients(outer("mul"), {Tensor::F64(4)})[0]) == 8);
  }
}

// x^y at (4, 0): d/dy d/dy = ln(4)^2, d/dx d/dy = 1/4.
TEST_CASE("operators: second derivatives of a power at exponent 0") {
  for (const std::string mode : {"jvp", "vjp"}) {
    const ir::Module m = ParseIr("entry @d\nfn @d(%x: f64, %y: f64) -> f64 { b0: %v, %d = " + mode +
                                 " @p wrt(1) (%x, %y, 1.0)  ret %d }\n"
                                 "fn @p(%x: f64, %y: f64) -> f64 { b0: ret pow(%x, %y) }\n");
    const std::vector<Tensor> g = Gradients(m, {Tensor::F64(4), Tensor::F64(0)});
    CHECK(Scalar(g[0]) == Approx(0.25));
    CHECK(Scalar(g[1]) == Approx(std::log(4) * std::log(4)));
  }
}

TEST_CASE("operators: stop_gradient is a constant to every level") {
  const std::string text =
      "entry @f\nfn @f(%x: f64) -> f64 { b0: %c = stop_gradient %x  ret mul(sin(%x), cos(%c)) }\n";
  CHECK(ValueAt(text, 0.3) == Approx(std::sin(0.3) * std::cos(0.3)));
  CHECK(Scalar(Gradients(ParseIr(text), {Tensor::F64(0.3)})[0]) ==
        Approx(std::cos(0.3) * std::cos(0.3)));
}

TEST_CASE("operators: a level that only recursion bounds is an error with its place") {
  const Status s = StatusOf(
      "entry @d\nfn @d(%x: f64) -> f64 { b0: %y, %dx = vjp @d wrt(0) (%x, 1.0) !7  ret %dx }\n");
  CHECK(s.code() == Code::kInvalidArgument);
  CHECK(s.reason() == "UNBOUNDED_DERIVATIVE");
  CHECK(s.message().find("!7") != std::string::npos);
}

}  // namespace
}  // namespace pullback::testing
