// Functions that bring derivatives of their own. The rules here are wrong on purpose, so that it shows
// which one was used.
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/support/derivatives.h"

namespace pullback::testing {
namespace {

using pipeline::Transform;

// The square; its vjp rule says 100, its jvp rule 7.
const std::string kVjp100 = "fn @v(%x: f64, %w: f64) -> f64 { b0: ret mul(100.0, %w) }\n";
const std::string kJvp7 =
    "fn @j(%x: f64, %dx: f64) -> (f64, f64) { b0: ret mul(%x, %x), mul(7.0, %dx) }\n";
std::string Square(const std::string& rules) {
  return "fn @f(%x: f64) -> f64 " + rules + " { b0: ret mul(%x, %x) }\n" +
         (rules.find("vjp") == std::string::npos ? "" : kVjp100) +
         (rules.find("jvp") == std::string::npos ? "" : kJvp7);
}

double Grad(const ir::Module& m, std::vector<Tensor> args, bool optimise = true) {
  return Scalar(RunOk(Derived(m, Transform::kValueAndGrad, {}, optimise), args)[1]);
}
double Tangent(const ir::Module& m, double x, double dx, bool optimise = true) {
  return Scalar(
      RunOk(Derived(m, Transform::kJvp, {}, optimise), {Tensor::F64(x), Tensor::F64(dx)})[1]);
}

struct Expected {
  const char* rules;
  double by_vjp, by_jvp;
};
// A mode without a rule takes the other one's.
const Expected kExpected[] = {
    {"vjp @v jvp @j", 100, 7}, {"vjp @v", 100, 100}, {"jvp @j", 7, 7}, {"", 6, 6}};

// `entry`: text of @g(%x), which is 5 @f(%x).
void CheckUsed(const std::string& entry) {
  for (const Expected& e : kExpected) {
    for (bool optimise : {true, false}) {
      INFO("rules: " << e.rules << (optimise ? "" : ", as built"));
      const ir::Module m = ParseIr("entry @g\n" + entry + Square(e.rules));
      CHECK(Grad(m, {Tensor::F64(3)}, optimise) == 5 * e.by_vjp);
      CHECK(Tangent(m, 3, 0.5, optimise) == 2.5 * e.by_jvp);
      CHECK(Scalar(RunOk(Derived(m, Transform::kValue, {}, optimise), {Tensor::F64(3)})[0]) == 45);
    }
  }
}

TEST_CASE("rules: of a called function") {
  CheckUsed("fn @g(%x: f64) -> f64 { b0: %y = call @f(%x)  ret mul(5.0, %y) }\n");
}

TEST_CASE("rules: of a function called by a called function, and in a loop") {
  CheckUsed(
      "fn @g(%x: f64) -> f64 { b0: jump b1(0.0, 0)\n"
      "b1(%s: f64, %k: i64): br lt(%k, 5), b2, b3\n"
      "b2: %y = call @h(%x)  jump b1(add(%s, %y), add(%k, 1))\nb3: ret %s }\n"
      "fn @h(%x: f64) -> f64 { b0: %y = call @f(%x)  ret %y }\n");
}

TEST_CASE("rules: of a function called in a statement's body") {
  CheckUsed(
      "fn @g(%x: f64) -> f64 { b0: %n = add 5, 0\n"
      "%s = each(i < %n) { %y = call @f(%x) } sum []: %y\nret %s }\n");
}

TEST_CASE("rules: of a recursive function's step") {
  CheckUsed(
      "fn @g(%x: f64) -> f64 { b0: %y = call @r(%x, 5)  ret %y }\n"
      "fn @r(%x: f64, %n: i64) -> f64 { b0: br le(%n, 0), b1, b2\nb1: ret 0.0\n"
      "b2: %y = call @f(%x)  %z = call @r(%x, sub(%n, 1))  ret add(%y, %z) }\n");
}

TEST_CASE("rules: of the entry itself") {
  for (const Expected& e : kExpected) {
    for (bool optimise : {true, false}) {
      INFO("rules: " << e.rules << (optimise ? "" : ", as built"));
      const ir::Module m = ParseIr("entry @f\n" + Square(e.rules));
      CHECK(Grad(m, {Tensor::F64(3)}, optimise) == e.by_vjp);
      CHECK(Tangent(m, 3, 0.5, optimise) == 0.5 * e.by_jvp);
      const std::vector<Tensor> pulled =
          RunOk(Derived(m, Transform::kVjp, {}, optimise), {Tensor::F64(3), Tensor::F64(2)});
      CHECK(Scalar(pulled[0]) == 9);
      CHECK(Scalar(pulled[1]) == 2 * e.by_vjp);
    }
  }
}

// exp, whose rules say twice the value: the n-th derivative is 2^n exp.
std::string Exponential(const std::string& rules) {
  return "fn @f(%x: f64) -> f64 " + rules +
         " { b0: ret exp(%x) }\n"
         "fn @v(%x: f64, %w: f64) -> f64 { b0: %y = call @f(%x)  ret mul(mul(2.0, %y), %w) }\n"
         "fn @j(%x: f64, %dx: f64) -> (f64, f64) {\n"
         "b0: %y = call @f(%x)  ret %y, mul(mul(2.0, %y), %dx) }\n";
}

TEST_CASE("rules: derivatives of derivatives go through the rules again") {
  for (const std::string rules : {"vjp @v jvp @j", "vjp @v", "jvp @j"}) {
    for (const std::string inner : {"jvp", "vjp"}) {
      for (const std::string outer : {"jvp", "vjp"}) {
        for (bool optimise : {true, false}) {
          INFO(rules << ": " << outer << " over " << inner << (optimise ? "" : ", as built"));
          const ir::Module m = ParseIr("entry @h\n" + Exponential(rules) +
                                       "fn @g(%x: f64) -> f64 { b0: %y = call @f(%x)  ret %y }\n"
                                       "fn @d(%x: f64) -> f64 { b0: %y, %dx = " +
                                       inner +
                                       " @g wrt(0) (%x, 1.0)  ret %dx }\n"
                                       "fn @h(%x: f64) -> f64 { b0: %y, %dx = " +
                                       outer + " @d wrt(0) (%x, 1.0)  ret %dx }\n");
          const double e = std::exp(0.5);
          CHECK(Scalar(RunOk(Derived(m, Transform::kValue, {}, optimise), {Tensor::F64(0.5)})[0]) ==
                Approx(4 * e));
          CHECK(Grad(m, {Tensor::F64(0.5)}, optimise) == Approx(8 * e));
          CHECK(Tangent(m, 0.5, 1, optimise) == Approx(8 * e));
        }
      }
    }
  }
}

// Arrays and several results, of which one is used: the rules say 10 and 100 where it is 2 and 1.
const std::string kPair =
    "fn @pair(%a: [*]f64, %n: i64, %c: f64) -> ([*]f64, i64, f64) RULES {\n"
    "b0: %m = dim %a, 0\n"
    "%y = each(i < %m) { %u = index %a[%i]  %w = mul 2.0, %u } gen [%i] of (%m): %w\n"
    "ret %y, %n, %c }\n"
    "fn @pv(%a: [*]f64, %n: i64, %c: f64, %ybar: [*]f64, %cbar: f64) -> ([*]f64, f64) {\n"
    "b0: %m = dim %a, 0  %k = dim %ybar, 0  check eq(%k, %m), size_mismatch, %k, %m\n"
    "%abar = each(i < %m) { %u = index %ybar[%i]  %w = mul 10.0, %u } gen [%i] of (%m): %w\n"
    "ret %abar, mul(100.0, %cbar) }\n"
    "fn @pj(%a: [*]f64, %n: i64, %c: f64, %da: [*]f64, %dc: f64)\n"
    "  -> ([*]f64, i64, f64, [*]f64, f64) {\n"
    "b0: %y, %k, %d = call @plain(%a, %n, %c)  %m = dim %da, 0\n"
    "%dy = each(i < %m) { %u = index %da[%i]  %w = mul 10.0, %u } gen [%i] of (%m): %w\n"
    "ret %y, %k, %d, %dy, mul(100.0, %dc) }\n"
    "fn @plain(%a: [*]f64, %n: i64, %c: f64) -> ([*]f64, i64, f64) {\n"
    "b0: %m = dim %a, 0\n"
    "%y = each(i < %m) { %u = index %a[%i]  %w = mul 2.0, %u } gen [%i] of (%m): %w\n"
    "ret %y, %n, %c }\n";

ir::Module Pair(const std::string& rules, const std::string& entry) {
  std::string text = "entry @g\n" + entry + kPair;
  text.replace(text.find("RULES"), 5, rules);
  return ParseIr(text);
}

TEST_CASE("rules: arrays, integers and results that are not used") {
  const std::string read =
      "fn @g(%a: [*]f64, %c: f64) -> f64 { b0: %y, %n, %d = call @pair(%a, 3, %c)\n"
      "%u = index %y[1]  ret mul(%u, USED) }\n";
  for (const std::string rules : {"vjp @pv jvp @pj", "vjp @pv", "jvp @pj"}) {
    for (const std::string used : {"%d", "3.0"}) {
      for (bool optimise : {true, false}) {
        INFO(rules << ", " << used << (optimise ? "" : ", as built"));
        std::string entry = read;
        entry.replace(entry.find("USED"), 4, used);
        const ir::Module m = Pair(rules, entry);
        const std::vector<Tensor> args = {Vec({1, 4, 2}), Tensor::F64(3)};
        const std::vector<Tensor> g =
            RunOk(Derived(m, Transform::kValueAndGrad, {}, optimise), args);
        CHECK(Scalar(g[0]) == 24);
        CHECK(Doubles(g[1]) == std::vector<double>({0, 30, 0}));
        CHECK(Scalar(g[2]) == (used == "%d" ? 800 : 0));
        const std::vector<Tensor> t = RunOk(Derived(m, Transform::kJvp, {}, optimise),
                                            {args[0], args[1], Vec({5, 1, 5}), Tensor::F64(0.5)});
        CHECK(Scalar(t[1]) == 30 + (used == "%d" ? 400 : 0));
      }
    }
  }
}

// By one parameter alone: the rule still takes all tangents, and what it gives for others is dropped.
TEST_CASE("rules: by one parameter of several") {
  const std::string entry =
      "fn @g(%a: [*]f64, %c: f64) -> f64 { b0: %y, %n, %d = call @pair(%a, 3, %c)\n"
      "%u = index %y[1]  ret mul(%u, %d) }\n";
  for (const std::string rules : {"vjp @pv jvp @pj", "vjp @pv", "jvp @pj"}) {
    INFO(rules);
    const ir::Module m = Pair(rules, entry);
    const std::vector<Tensor> args = {Vec({1, 4, 2}), Tensor::F64(3)};
    const std::vector<Tensor> g = RunOk(Derived(m, Transform::kValueAndGrad, {false, true}), args);
    REQUIRE(g.size() == 2);
    CHECK(Scalar(g[1]) == 800);
    const std::vector<Tensor> t =
        RunOk(Derived(m, Transform::kJvp, {false, true}), {args[0], args[1], Tensor::F64(0.5)});
    CHECK(Scalar(t[1]) == 400);
  }
}

// The identity whose cotangent is clipped to [-1, 1]: not linear in the seed, so it must see the seed.
TEST_CASE("rules: a vjp rule sees the cotangent itself") {
  const std::string clip =
      "fn @f(%x: f64) -> f64 vjp @v { b0: ret %x }\n"
      "fn @v(%x: f64, %w: f64) -> f64 { b0: ret max(-1.0, min(1.0, %w)) }\n";
  for (bool optimise : {true, false}) {
    const ir::Module block = ParseIr(
        "entry @g\nfn @g(%x: f64) -> f64 { b0: %y = call @f(%x)  ret mul(mul(%y, %y), 3.0) }\n" +
        clip);
    CHECK(Grad(block, {Tensor::F64(2)}, optimise) == 1);
    CHECK(Grad(block, {Tensor::F64(0.125)}, optimise) == 0.75);
    const ir::Module body = ParseIr(
        "entry @g\nfn @g(%a: [*]f64) -> f64 { b0: %n = dim %a, 0\n"
        "%s = each(i < %n) { %x = index %a[%i]  %y = call @f(%x)  %z = mul %y, %y }\n"
        "  sum []: %z\nret mul(%s, 3.0) }\n" +
        clip);
    const std::vector<Tensor> g =
        RunOk(Derived(body, Transform::kValueAndGrad, {}, optimise), {Vec({2, 0.125, -4, 0})});
    CHECK(Doubles(g[1]) == std::vector<double>({1, 0.75, -1, 0}));
  }
}

TEST_CASE("rules: right ones agree with differences") {
  const std::string logistic =
      "fn @f(%x: f64, %k: f64) -> f64 RULES { b0: ret div(1.0, add(1.0, exp(mul(%k, neg(%x))))) }\n"
      "fn @v(%x: f64, %k: f64, %w: f64) -> (f64, f64) { b0: %y = call @f(%x, %k)\n"
      "  %d = mul mul(%y, sub(1.0, %y)), %w  ret mul(%d, %k), mul(%d, %x) }\n"
      "fn @j(%x: f64, %k: f64, %dx: f64, %dk: f64) -> (f64, f64) { b0: %y = call @f(%x, %k)\n"
      "  %d = mul %y, sub(1.0, %y)\n"
      "  ret %y, mul(%d, add(mul(%k, %dx), mul(%x, %dk))) }\n";
  for (const std::string rules : {"vjp @v jvp @j", "vjp @v", "jvp @j"}) {
    std::string text = logistic;
    text.replace(text.find("RULES"), 5, rules);
    CheckDerivatives(ParseIr("entry @g\nfn @g(%a: [*]f64, %k: f64) -> f64 { b0: %n = dim %a, 0\n"
                             "%s = each(i < %n) { %x = index %a[%i]  %y = call @f(%x, %k) }\n"
                             "  sum []: %y\n%t = call @f(%s, %s)\nret mul(%t, %s) }\n" +
                             text),
                     {Vec({0.3, -1.2, 2}), Tensor::F64(0.8)});
  }
}

TEST_CASE("rules: a rule that differentiates something else, and one that reaches itself") {
  const auto with_rule = [](const std::string& callee) {
    return "entry @g\nfn @g(%x: f64) -> f64 { b0: %y, %d = vjp @f wrt(0) (%x, 1.0)  ret %d }\n"
           "fn @f(%x: f64) -> f64 vjp @v { b0: ret mul(%x, %x) }\n"
           "fn @v(%x: f64, %w: f64) -> f64 { b0: %y, %d = vjp @" +
           callee +
           " wrt(0) (%x, %w) !7 ret %d }\n"
           "fn @cube(%x: f64) -> f64 { b0: ret mul(%x, mul(%x, %x)) }\n";
  };
  CHECK(Scalar(RunOk(Derived(ParseIr(with_rule("cube")), Transform::kValue),
                     {Tensor::F64(2)})[0]) == 12);
  const Status s =
      pipeline::Derive(ParseIr(with_rule("f")), Transform::kValue, {true}, {}).status();
  CHECK(s.reason() == "UNBOUNDED_DERIVATIVE");
  CHECK(s.message().find("!7") != std::string::npos);
}

TEST_CASE("function values that differentiate themselves, deeper with every turn") {
  const Status s = pipeline::Derive(LowerText("fn f(x: f64, k: i64) -> f64 {\n"
                                              "  var g: fn(f64) -> f64 = sin\n"
                                              "  for i < k { let h = g\n g = |t| grad(h)(t) }\n"
                                              "  return g(x) }",
                                              "f"),
                                    Transform::kValue, {true, false}, {})
                       .status();
  CHECK(s.reason() == "UNBOUNDED_DERIVATIVE");
}

TEST_CASE("rules: nothing of a function with a rule is derived") {
  const std::string text =
      "entry @g\nfn @g(%a: [*]f64) -> f64 { b0: %y = call @f(%a)  ret %y }\n"
      "fn @f(%a: [*]f64) -> f64 RULES { b0: %n = dim %a, 0\n"
      "%s = each(i < %n) { %u = index %a[%i] } scan_max 0 [%i] of (%n): %u\n"
      "%r = index %s[2]  ret %r }\n"
      "fn @v(%a: [*]f64, %w: f64) -> [*]f64 { b0: %n = dim %a, 0  %z = zeros %n : f64\n"
      "%b = update %z[0], %w  ret %b }\n";
  const auto with = [&](const std::string& rules) {
    std::string t = text;
    return ParseIr(t.replace(t.find("RULES"), 5, rules));
  };
  CHECK(Doubles(Gradients(with(""), {Vec({1, 5, 2})})[0]) == std::vector<double>({0, 1, 0}));
  CHECK(Doubles(Gradients(with("vjp @v"), {Vec({1, 5, 2})})[0]) == std::vector<double>({1, 0, 0}));
}

}  // namespace
}  // namespace pullback::testing
