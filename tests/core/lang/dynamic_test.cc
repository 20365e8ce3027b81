// Functions as data: chosen when the program runs, kept in lists, structs and variables.
#include "tests/core/lang/check_support.h"
#include "tests/core/lang/lower_support.h"
#include "tests/core/lang/tree_eval.h"

namespace pullback::lang {
namespace {

// Lowered and run, against the tree.
double Same(const std::string& text, const std::vector<Tensor>& args) {
  const double value = NumberOf(text, args);
  const TreeResult tree = RunTree(Checked(text), "f", args);
  REQUIRE(!tree.trap);
  CHECK(Doubles(tree.values.at(0)).at(0) == value);
  return value;
}

TEST_CASE("dynamic functions: arms of an if give different ones") {
  const std::string text =
      "fn f(c: bool, x: f64) -> f64 {\n"
      "  let g = if c { |t: f64| t * x } else { |t: f64| t + 1.0 }\n"
      "  return g(2.0) + (if c { square } else { cube })(x) }";
  CHECK(Same(text, {Tensor::Bool(true), F64(3)}) == 6 + 9);
  CHECK(Same(text, {Tensor::Bool(false), F64(3)}) == 3 + 27);
}

TEST_CASE("dynamic functions: variables of a function type") {
  CHECK(Same("fn f(x: f64, n: i64) -> f64 {\n"
             "  var g: fn(f64) -> f64 = |t| t\n"
             "  for i < n { let h = g\n g = |t| h(t) * x + f64(i) }\n"
             "  return g(1.0) }",
             {F64(2), I64(3)}) == (1 * 2 * 2 + 1) * 2 + 2);
  CHECK(Same("fn f(x: f64) -> f64 { var g: fn(f64) -> f64 = sin\n if x > 0.0 { g = |t| 2 * t }\n"
             " return g(x) }",
             {F64(3)}) == 6);
}

TEST_CASE("dynamic functions: in lists, structs, tuples and boxes") {
  CHECK(Same("fn f(x: f64) -> f64 {\n"
             "  var fs: list fn(f64) -> f64 = list(square, |t| t * x, cube)\n"
             "  fs = push(fs, |t| 1)\n"
             "  fs[2] = |t| -t\n"
             "  var y = 0.0\n"
             "  for i < len(fs) { y = 10.0 * y + fs[i](x) }\n"
             "  return y }",
             {F64(2)}) == 4000 + 400 - 20 + 1);
  CHECK(Same("struct Layer { w: [_]f64, act: fn(f64) -> f64, k: (fn(f64) -> f64, f64) }\n"
             "fn run(l: Layer, x: f64) -> f64 {\n"
             "  let g = l.k.0\n"
             "  return l.act(sum i < len(l.w) { l.w[i] * x }) + g(l.k.1) }\n"
             "fn f(x: [n]f64, y: f64) -> f64 {\n"
             "  var net = list(Layer(x, square, (|t| t + y, y)), Layer(x, |t| t * x[0], (abs, "
             "-1.0)))\n"
             "  net[1].k.1 = -5.0\n"
             "  return run(net[0], y) + run(net[1], y) }",
             {Vec({1, 2}), F64(3)}) == 81 + 6 + 9 + 5);
  CHECK(Same("fn f(x: f64) -> f64 { let b: box fn(f64) -> f64 = box(square)\n let g = get(b)\n"
             " set(b, |t| t + x)\n let h = get(b)\n return g(x) + h(x) }",
             {F64(3)}) == 15);
}

TEST_CASE("dynamic functions: results of functions, recursion on closures") {
  CHECK(Same("fn pick(k: i64) -> fn(f64) -> f64 {\n"
             "  if k == 0 { return sin }\n  let c = f64(k)\n  return |x| c * x\n}\n"
             "fn f(x: f64) -> f64 { return pick(3)(x) + pick(0)(0.0) }",
             {F64(2)}) == 6);
  CHECK(Same("fn compose(n: i64) -> fn(f64) -> f64 {\n"
             "  if n == 0 { return |x| x }\n"
             "  let g = compose(n - 1)\n"
             "  return |x| 2.0 * g(x) + 1.0\n}\n"
             "fn f(n: i64) -> f64 { return compose(n)(1.0) }",
             {I64(4)}) == 31);
  CHECK(Same("fn go(g: fn(f64) -> f64, n: i64, x: f64) -> f64 {\n"
             "  if n == 0 { return g(x) }\n  return go(|t| g(t) + 1.0, n - 1, x)\n}\n"
             "fn f(n: i64) -> f64 { return go(|t| t * 2.0, n, 3.0) }",
             {I64(40)}) == 46);
}

TEST_CASE("dynamic functions: of arrays, of several parameters, of functions") {
  CHECK(Same("fn f(x: [n]f64) -> f64 {\n"
             "  let fs: list fn([_]f64, i64) -> [_]f64 = list(|v, k| v * f64(k), |v, k| v[k:])\n"
             "  let y = fs[1](fs[0](x, 2), 1)\n"
             "  return y[0] + f64(len(y)) }",
             {Vec({1, 2, 3})}) == 4 + 2);
  CHECK(Same("fn f(x: f64) -> f64 {\n"
             "  let twice: list fn(fn(f64) -> f64) -> f64 = list(|g| g(g(x)), |g| g(x))\n"
             "  return twice[0](square) * twice[1](|t| t + x) }",
             {F64(2)}) == 64);
}

TEST_CASE("dynamic functions: share variables") {
  CHECK(
      Same("fn f(x: f64) -> f64 {\n"
           "  var count = 0\n"
           "  let fs: list fn(f64) -> f64 = list(|t| { count += 1\n t }, |t| { count += 10\n t })\n"
           "  var s = 0.0\n"
           "  for i < 5 { s += fs[i % 2](x) }\n"
           "  return s + f64(count) }",
           {F64(1)}) == 5 + 23);
}

TEST_CASE("dynamic functions: a function that is never another one is called directly") {
  const std::string ir =
      Ir("fn f(x: f64) -> f64 { let g: fn(f64) -> f64 = |t| t * x\n return g(2) }");
  CHECK(!Has(ir, "list"));
}

TEST_CASE("dynamic functions: no code that a program does not name is ever called") {
  const std::string ir = Ir(
      "fn f(c: bool, x: f64) -> f64 { let g = if c { |t: f64| t * x } else { |t: f64| t + 1.0 }\n"
      " return g(2.0) }");
  CHECK(Has(ir, "record function { code: i64, c0: f64 }"));
  CHECK(Has(ir, "fn @dispatch(%f: list<function>, %x0: f64) -> (f64)"));
}

TEST_CASE("dynamic functions: what does not fit is refused") {
  CHECK(Messages("fn f(x: f64, c: bool) -> f64 {\n"
                 "  let a = if c { |t| t } else { |t| t * x }\n"
                 "  let b: fn(f64) -> f64 = |t| c\n"
                 "  var d: fn(f64) -> f64 = |t, u| t\n"
                 "  let e: list fn(f64) -> f64 = list(square, x)\n"
                 "  var g = sin\n"
                 "  g = cos\n"
                 "  let h: list fn(i64) -> i64 = list(sin)\n"
                 "  let i = e[0](c)\n"
                 "  let j = e[0](x, x)\n"
                 "  return x }") ==
        R"(2:11 different functions meet here; write the type: let a: fn(f64) -> f64 = …
3:31 'lambda' must return f64, but this is bool
3:27 in the lambda at 3:27 called with (f64)
4:27 the lambda at 4:27 takes 2 arguments, but a fn(f64) -> f64 is needed
5:45 the elements of this list differ: the first is one of several functions, this one f64
7:7 'g' is a function, but the value is a function; to assign different functions, write its type: var g: fn(f64) -> f64 = …
8:37 'sin' takes floats, got i64; write f64(sin)
8:37 in 'sin' called with (i64)
9:16 this function is a fn(f64) -> f64, but argument 1 is bool
10:11 fn(f64) -> f64 takes 1 argument, got 2
)");
}

TEST_CASE("dynamic functions: one of several that nothing decides, and wrong types beside them") {
  CHECK(Messages("fn f(x: f64) -> f64 { return get(box(|t| t))(x) }") ==
        "1:30 'get' takes a box, got box one of several functions\n");
  CHECK(Messages("fn each(g: fn(f64) -> f64, x: [n]y) -> f64 { return g(x[0]) }\n"
                 "fn g(a: [n]y) -> f64 { return 0.0 }\n"
                 "fn f(x: [n]f64) -> f64 { return g(x) + each(|t| t, x) }") ==
        "1:31 unknown type 'y'\n3:40 in 'each' called with (the lambda at 3:45, [*]f64)\n"
        "2:9 unknown type 'y'\n");
}

TEST_CASE("dynamic functions: the canonical form tells variants apart, and knows no names") {
  const auto canonical = [](const std::string& text) {
    const Program p = Checked(text);
    return Canonicalise(p, "f")->text;
  };
  const std::string a =
      "fn f(c: bool, x: f64) -> f64 { let g = if c { |t: f64| t * x } else { |t: f64| t + 1.0 }\n"
      " return g(2.0) }";
  const std::string b =
      "fn f(d: bool, y: f64) -> f64 {\n  let h = if d { |u: f64| u * y } else { |u: f64| u + 1 }\n"
      "  return h(2)\n}";
  const std::string c =
      "fn f(c: bool, x: f64) -> f64 { let g = if c { |t: f64| t + 1.0 } else { |t: f64| t * x }\n"
      " return g(2.0) }";
  CHECK(canonical(a) == canonical(b));
  CHECK(canonical(a) != canonical(c));
}

TEST_CASE("function types of data are formatted") {
  const std::string text = R"(struct S { f: fn(f64, [_]f64) -> f64 }

fn f(x: f64) -> f64 {
  var g: list fn(f64) -> f64 = list(sin, |t| t * x)
  return g[0](x) + g[1](x)
}
)";
  const StatusOr<Program> program = Parse(text);
  REQUIRE(program.ok());
  CHECK(Format(*program) == text);
}

}  // namespace
}  // namespace pullback::lang
