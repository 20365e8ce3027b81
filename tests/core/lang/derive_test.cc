// Derivative operators in the language: how they are written, what they become in the IR, and what is
// refused. Their values are checked with the first programs.
#include "tests/core/lang/check_support.h"
#include "tests/core/lang/lower_support.h"

namespace pullback::lang {
namespace {

constexpr char kCube[] = "fn cube(x: f64) -> f64 { return x * x * x }\n";

// The first message; notes say in which instance.
std::string MessageOf(const std::string& expression) {
  const std::string all =
      Messages(kCube + ("fn f(x: f64, v: [n]f64) -> f64 {  return " + expression + " }"));
  return all.substr(0, all.find('\n') + 1);
}

TEST_CASE("operators become instructions of the IR") {
  const std::string text = kCube + std::string(
                                       "fn f(x: f64, v: f64) -> f64 {\n"
                                       " let (y, back) = vjp(cube, x)\n"
                                       " return grad(cube)(x) + jvp(cube, x, v) + back(y) "
                                       "+ stop_gradient(x) + checkpoint(cube)(x) }");
  const std::string ir = Ir(text);
  CHECK(Count(ir, " = vjp @cube wrt(0)") == 2);
  CHECK(Count(ir, " = jvp @cube wrt(0)") == 1);
  CHECK(Count(ir, " = stop_gradient ") == 1);
  CHECK(Count(ir, " = call checkpoint @cube(") == 1);
}

TEST_CASE("captures are arguments that are not differentiated by") {
  CHECK(Has(Ir("fn f(a: f64, x: f64) -> f64 { return grad(|t| t * t * a)(x) }"),
            "vjp @lambda wrt(1) (%"));
}

TEST_CASE("two uses of an operator on one function share an instance") {
  const std::string ir =
      Ir(kCube + std::string("fn f(x: f64) -> f64 { return grad(cube)(x) + grad(cube)(2.0 * x) }"));
  CHECK(Count(ir, "fn @grad") == 1);
}

TEST_CASE("Jacobians have the axes of the result, then the argument's") {
  const std::string g =
      "fn g(x: [n]f64, s: f64) -> ([n]f64, f64) { return (gen i < n { x[i] * s }, s * s) }\n";
  CHECK(Messages(g + "fn f(x: [n]f64, s: f64) -> (([n, n]f64, [n]f64), ([n]f64, f64)) {\n"
                     " return jacobian(g)(x, s) }")
            .empty());
}

// Tuples in the place of structs and arrays of structs, of what holds floats.
TEST_CASE("Jacobians of and by structs and arrays of structs") {
  const std::string s = "struct S { a: [2]f64, id: i64, b: f32 }\nstruct T { x: f64 }\n";
  CHECK(Messages("fn f(x: f64) -> (f64, f64) { return jacobian(|t: (f64, f64)| t.0)((x, x)) }")
            .empty());
  CHECK(Messages(s + "fn g(p: S) -> (T, i64) { return (T(p.a[0]), 1) }\n"
                     "fn f(p: S) -> ([2]f64, f32) { return jacobian(g)(p) }")
            .empty());
  CHECK(Messages(s + "fn g(ps: [n]S, y: f64) -> [n]S { return ps }\n"
                     "fn f(ps: [n]S) -> ((([n, 2, n, 2]f64, [n, 2, n]f32), [n, 2]f64),\n"
                     "                  (([n, n, 2]f64, [n, n]f32), [n]f64)) {\n"
                     "  return jacobian(g)(ps, 1.0) }")
            .empty());
  CHECK(Messages(s + "fn g(ps: [n](f64, T)) -> f64 { return ps[0].0 * ps[0].1.x }\n"
                     "fn f(ps: [n](f64, T))\n"
                     "    -> (([n, n]f64, [n, n]f64), ([n, n]f64, [n, n]f64)) {\n"
                     "  return hessian(g)(ps) }")
            .empty());
  CHECK(Has(Messages("fn f(x: list f64) -> f64 { return jacobian(|t: list f64| t[0])(x) }"),
            "jacobian of f64 by list f64 is not implemented yet"));
}

TEST_CASE("rules stand in the function's header, behind functions of the IR's form") {
  const std::string ir =
      Ir("fn g(x: f64, k: i64) -> f64 with vjp back, jvp forth { return x * f64(k) }\n"
         "fn back(x: f64, k: i64, y: f64) -> f64 { return y * f64(k) }\n"
         "fn forth(x: f64, k: i64, v: f64) -> (f64, f64) { return (x * f64(k), v * f64(k)) }\n"
         "fn f(x: f64) -> f64 { return g(x, 2) }");
  CHECK(Has(ir, "fn @g(%x: f64, %k: i64) -> (f64) vjp @g.vjp jvp @g.jvp {"));
}

TEST_CASE("a gradient that a rule gives must have its argument's size") {
  const std::string text =
      "fn g(x: [n]f64) -> f64 with vjp back { return sum i < n { x[i] } }\n"
      "fn back(x: [n]f64, y: f64) -> [m]f64 { return gen i < 2 { y } }\n";
  CHECK(
      Has(Messages(text + "fn f(x: [n]f64) -> [n]f64 { return grad(g)(x) }"), "unknown size 'm'"));
}

TEST_CASE("operators are names that a program may take") {
  CHECK(NumberOf("fn grad(x: f64) -> f64 { return 2.0 * x }\nfn f(x: f64) -> f64 { let jvp = x\n"
                 " return grad(jvp) }",
                 {F64(3)}) == 6);
}

TEST_CASE("what cannot be differentiated") {
  CHECK(MessageOf("grad(x)(x)") == "2:42 'grad' takes a function, got f64: write grad(f)(x)\n");
  CHECK(MessageOf("jvp(x, x, x)") == "2:42 'jvp' takes a function first, got f64\n");
  CHECK(MessageOf("sum(grad(|t| t * v)(x))") ==
        "2:46 'grad' takes a function that gives one f64 or f32; the lambda at 2:51 gives [*]f64: "
        "use vjp, jvp or jacobian\n");
  CHECK(
      MessageOf("f64(grad(|i| i * i)(2))") ==
      "2:46 'grad' has nothing to differentiate by: no argument of the lambda at 2:51 holds an f64 "
      "or f32; floats are 3.0 and f64(n)\n");
  CHECK(MessageOf("f64(jvp(|t| i64(t), x, x))") ==
        "2:46 'jvp' has nothing to differentiate: the lambda at 2:50 gives i64\n");
  CHECK(MessageOf("jvp(|a, b| a * b, x, x)") ==
        "2:42 the lambda at 2:46 takes 2 arguments: jvp needs them as a tuple, got f64\n");
  CHECK(MessageOf("grad(cube)(x, x)") == "2:42 grad of 'cube' takes 1 argument, got 2\n");
  CHECK(MessageOf("grad(cube, x)") == "2:42 'grad' takes 1 argument, got 2: write grad(f)(x)\n");
  CHECK(MessageOf("jvp(cube, x, v)") ==
        "2:55 argument 'v' of 'jvp' must be f64, got [n]f64; to call it for every element, write "
        "jvp.(…)\n");
  CHECK(
      MessageOf("jvp(|q: fn(f64) -> f64| q(x), |t: f64| t * x, |t: f64| t + x)") ==
      "2:88 argument 'v' of 'jvp' must be a function, got a function; these are two functions, and "
      "each has a type of its own\n");
}

TEST_CASE("rules that do not fit") {
  const auto rule = [](const std::string& with, const std::string& more) {
    return Messages("fn g(x: f64) -> f64 with " + with + " { return x }\n" + more);
  };
  CHECK(rule("vjp h", "fn h(x: f64) -> f64 { return x }") ==
        "1:30 the rule 'h' of 'g' must be fn(f64, f64) -> f64, but takes 1 arguments\n");
  CHECK(rule("vjp h", "fn h(x: f64, y: f32) -> f64 { return x }") ==
        "1:30 the rule 'h' of 'g' must be fn(f64, f64) -> f64, but its argument 'y' is f32\n");
  CHECK(rule("jvp h", "fn h(x: f64, v: f64) -> f64 { return x }") ==
        "1:30 the rule 'h' of 'g' must be fn(f64, f64) -> (f64, f64), but gives f64\n");
  CHECK(rule("vjp nowhere", "") == "1:30 unknown function 'nowhere'\n");
  CHECK(Has(rule("rule h", ""), "1:26 expected 'vjp' or 'jvp' and the name of a function"));
  CHECK(Has(rule("vjp h, vjp h", ""), "'g' has two rules of this mode"));
  CHECK(Messages("fn g(n: i64) -> i64 with vjp g { return n }") ==
        "1:4 'g' has nothing to differentiate, and a rule for it\n");
}

TEST_CASE("the canonical text tells operators and rules apart, and not names") {
  const auto canonical = [](const std::string& text) {
    const Program program = Checked(text);
    return Canonicalise(program, "f")->text;
  };
  const std::string a = canonical("fn f(x: f64) -> f64 { return grad(|t| t * t)(x) }");
  CHECK(a == canonical("fn f(y: f64) -> f64 {\n  return grad(|s| s * s)(y)\n}"));
  CHECK(a != canonical("fn f(x: f64) -> f64 { return jvp(|t| t * t, x, 1.0) }"));
  CHECK(a != canonical("fn f(x: f64) -> f64 { return checkpoint(|t| t * t)(x) }"));
  const std::string g = "fn g(x: f64) -> f64 { return x }\n";
  const std::string h =
      "fn h(x: f64, y: f64) -> f64 { return y }\nfn f(x: f64) -> f64 { return g(x) }";
  CHECK(canonical(g + h) != canonical("fn g(x: f64) -> f64 with vjp h { return x }\n" + h));
}

TEST_CASE("loops with snapshots") {
  const std::string text =
      "fn f(x: f64, n: i64) -> f64 {\n"
      "  var s = x\n"
      "  for i < n checkpoint(n / 2) { s = s * x + f64(i) }\n"
      "  return s\n"
      "}\n";
  const StatusOr<Program> program = Parse(text);
  REQUIRE(program.ok());
  CHECK(Format(*program) == text);
  CHECK(NumberOf(text, {F64(2), I64(3)}) == (2 * 2 * 2 + 1) * 2 + 2);
  CHECK(Count(Ir(text), " checkpoint %") ==
        1);  // the plain loop, and how many states of it are kept
  CHECK(Has(Messages("fn f(x: f64) -> f64 { var s = x\n for i < 3 checkpoint(1) { s = i > 0 }\n"
                     " return s }"),
            "'s' is f64"));
  CHECK(Has(Messages("fn f(x: f64) -> f64 { var s = x\n for i < 3 checkpoint(x) { s = 1.0 }\n"
                     " return s }"),
            "the number of states to keep must be an i64, got f64"));
}

TEST_CASE("loops with snapshots: while, and ways out") {
  const std::string text =
      "fn f(x: f64, n: i64) -> f64 {\n"
      "  var s = x\n"
      "  while s < 100.0 checkpoint(n / 2) {\n"
      "    s = s * x\n"
      "    if s == 16.0 { continue }\n"
      "    for i < n checkpoint(1) {\n"
      "      if s > 60.0 { return s }\n"
      "      if i == 1 { break }\n"
      "    }\n"
      "  }\n"
      "  return s\n"
      "}\n";
  const StatusOr<Program> program = Parse(text);
  REQUIRE(program.ok());
  CHECK(Format(*program) == text);
  CHECK(NumberOf(text, {F64(2), I64(3)}) == 64);
  CHECK(Count(Ir(text), " checkpoint ") == 2);
  // Without a condition the header jumps; what never goes on has no header.
  CHECK(Count(Ir("fn f(x: f64) -> f64 { var s = x\n while true checkpoint(3) { s = s * 2.0\n"
                 " if s > 9.0 { break } }\n return s }"),
              " checkpoint 3") == 1);
  CHECK(NumberOf("fn f(x: f64) -> f64 { while true checkpoint(3) { return x } }", {F64(2)}) == 2);
  const auto canonical = [](const std::string& mark) {
    return Canonicalise(Checked("fn f(x: f64) -> f64 { var s = x\n while s > 1.0 " + mark +
                                " { s = s / 2.0 }\n return s }"),
                        "f")
        ->text;
  };
  CHECK(canonical("checkpoint(1)") != canonical(""));
  CHECK(canonical("checkpoint(1)") != canonical("checkpoint(2)"));
  CHECK(Has(Messages("fn f(x: f64) -> f64 { var s = x\n while s > 1.0 checkpoint(x) { s = 1.0 }\n"
                     " return s }"),
            "the number of states to keep must be an i64, got f64"));
}

TEST_CASE("rules are formatted") {
  const std::string text =
      "fn g(x: f64) -> f64 with vjp h, jvp k { return x }\n"
      "fn h(x: f64, y: f64) -> f64 { return y }\n"
      "fn k(x: f64, v: f64) -> (f64, f64) { return (x, v) }\n";
  const StatusOr<Program> program = Parse(text);
  REQUIRE(program.ok());
  CHECK(Format(*program) == text);
}

TEST_CASE("tangents and seeds must have the sizes of what they belong to") {
  const std::string jvp =
      "fn f(x: [n]f64, v: [m]f64) -> f64 { return sum(jvp(|t| 2.0 * t, x, v)) }";
  CHECK(TrapOf(jvp, {Vec({1, 2}), Vec({1, 2, 3})}).source == "jvp(|t| 2.0 * t, x, v)");
}

}  // namespace
}  // namespace pullback::lang
