// What the checker writes into the tree of a correct program.
#include <catch2/catch.hpp>

#include "core/lang/builtins.h"
#include "core/lang/walk.h"
#include "tests/core/lang/check_support.h"

namespace pullback::lang {
namespace {

// The value of the function's last statement, a let or a return.
const Expr& LastValue(const Program& program, size_t function = 0) {
  return *program.functions[function]->body.stmts.back()->value;
}

std::string LiteralText(const Expr& e) {
  if (e.kind == Expr::Kind::kIverson) return "[]";
  if (e.kind == Expr::Kind::kInt) return std::to_string(e.int_value);
  return std::to_string(e.float_value).substr(0, 3);
}

// The type of an expression over x: f64, y: f32, k: i64, v: [n]f64, b: bool, then the types of its
// literals and brackets.
std::string Infer(const std::string& expression) {
  Program program = Checked(
      "fn f(x: f64, y: f32, k: i64, v: [n]f64, b: bool) {\n; let r = " + expression + "\n}\n");
  const ExprPtr& value = program.functions[0]->body.stmts[0]->value;
  std::string text = ToString(value->type);
  ForEachExpr(value, [&](const Expr& e) {
    bool literal = e.kind == Expr::Kind::kInt || e.kind == Expr::Kind::kFloat ||
                   e.kind == Expr::Kind::kIverson;
    if (literal) text += ", " + LiteralText(e) + " " + ToString(e.type);
  });
  return text;
}

std::string Locals(const Function& f) {
  static constexpr const char* kKinds[] = {"param", "size", "let", "var", "binder"};
  std::string text;
  for (const Local& l : f.locals) {
    text += (text.empty() ? "" : ", ") + std::string(kKinds[static_cast<int>(l.kind)]) + " " +
            l.name + ": " + ToString(l.type);
  }
  return text;
}

TEST_CASE("Check: literals take the type of what they stand beside") {
  CHECK(Infer("2 * x") == "f64, 2 f64");
  CHECK(Infer("x - -1") == "f64, 1 f64");
  CHECK(Infer("2.5 * y") == "f32, 2.5 f32");
  CHECK(Infer("2 * 3 * y") == "f32, 2 f32, 3 f32");
  CHECK(Infer("k * 2") == "i64, 2 i64");
  CHECK(Infer("1 + 2.5") == "f64, 1 f64, 2.5 f64");
  CHECK(Infer("0 < x") == "bool, 0 f64");
  CHECK(Infer("0 < 1 < y") == "bool, 0 i64, 1 i64, 1 f32");
  CHECK(Infer("2f32 * y") == "f32, 2.0 f32");
  CHECK(Infer("1 / 2 + k") == "i64, 1 i64, 2 i64");
  CHECK(Infer("1.0 / 2.0 + y") == "f32, 1.0 f32, 2.0 f32");
  CHECK(Infer("[1, 2.5]") == "[*]f64, 1 f64, 2.5 f64");
  CHECK(Infer("[y, 1, 2.5]") == "[*]f32, 1 f32, 2.5 f32");
  CHECK(Infer("[1, 2] + v") == "[*]f64, 1 f64, 2 f64");
  CHECK(Infer("v + 1") == "[*]f64, 1 f64");
  CHECK(Infer("if b { 1 } else { x }") == "f64, 1 f64");
  CHECK(Infer("if b { 1 } else { 2.0 }") == "f64, 1 f64, 2.0 f64");
  CHECK(Infer("(gen i < 3 { 0 }) + v") == "[*]f64, 3 i64, 0 f64");
  CHECK(Infer("sum i < k { 1 }") == "i64, 1 i64");
  CHECK(Infer("max(x, 0)") == "f64, 0 f64");
  CHECK(Infer("max.(v, 0)") == "[*]f64, 0 f64");
  CHECK(Infer("max(k, 0)") == "i64, 0 i64");
  CHECK(Infer("sqrt(2)") == "f64, 2 f64");
  CHECK(Infer("select(b, 0, y)") == "f32, 0 f32");
  CHECK(Infer("f64(2)") == "f64, 2 i64");
}

TEST_CASE("Check: literals take the type that is asked for") {
  Program program = Checked(R"(fn g(x: f32, t: (f32, [2]f32)) -> (f32, i64) { return (1, 2) }
fn f() -> f64 {
  let a: f32 = 1
  var b: (f32, [2]f64) = (1.5, [1, 2])
  let c = g(1, (2, [3, 4]))
  let d: (f32, f32) = if a > 0 { (1, 2) } else { (3.5, 4) }
  return 0
})");
  CHECK(Locals(*program.functions[1]) ==
        "let a: f32, var b: (f32, [*]f64), let c: (f32, i64), let d: (f32, f32)");
  CHECK(ToString(LastValue(program, 1).type) == "f64");
  CHECK(ToString(LastValue(program, 0).type) == "(f32, i64)");
}

TEST_CASE("Check: powers") {
  CHECK(Infer("x ** 2") == "f64, 2 f64");
  CHECK(Infer("2 ** x") == "f64, 2 f64");
  CHECK(Infer("2.0 ** k") == "f64, 2.0 f64");
  Program program = Checked("fn f(x: f32, k: i64) -> f32 { return x ** k }");
  const Expr& cast = *LastValue(program).operands[1];
  REQUIRE(cast.kind == Expr::Kind::kCast);
  CHECK(cast.elem == DType::kF32);
  CHECK(cast.type == Type::Scalar(DType::kF32));
  CHECK(cast.ordinal != 0);
}

TEST_CASE("Check: brackets") {
  CHECK(Infer("[b]") == "i64, [] i64");
  CHECK(Infer("[b] * x") == "f64, [] f64");
  CHECK(Infer("-([b] * [k > 1]) * y") == "f32, [] f32, [] f32, 1 i64");
  CHECK(Infer("2 * [b] * k") == "i64, 2 i64, [] i64");
  CHECK(Infer("[b] * 2.5 * y") == "f32, [] f32, 2.5 f32");
  CHECK(Infer("[b] * v") == "[*]f64, [] f64");
  CHECK(Infer("[x]") == "[*]f64");
  CHECK(Infer("[v]") == "[*, *]f64");
  CHECK(Infer("[b,]") == "[*]bool");
  CHECK(Infer("[v > 0]") == "[*, *]bool, 0 f64");
}

TEST_CASE("Check: types of array expressions") {
  CHECK(Infer("v[0]") == "f64, 0 i64");
  CHECK(Infer("v[1:]") == "[*]f64, 1 i64");
  CHECK(Infer("column(v)") == "[*, *]f64");
  CHECK(Infer("column(v)[0]") == "[*]f64, 0 i64");
  CHECK(Infer("column(v).T") == "[*, *]f64");
  CHECK(Infer("column(v) + v") == "[*, *]f64");
  CHECK(Infer("v @ v") == "f64");
  CHECK(Infer("column(v) @ column(v).T") == "[*, *]f64");
  CHECK(Infer("column(v).T @ v") == "[*]f64");
  CHECK(Infer("not (v > x and b)") == "[*]bool");
  CHECK(Infer("i64(v)") == "[*]i64");
  CHECK(Infer("zeros(2, k, len(v))") == "[*, *, *]f64, 2 i64");
  CHECK(Infer("gen i < n, j in k..n { (v[i], x).0 }") == "[*, *]f64");
  CHECK(Infer("gen i < n { v }") == "[*, *]f64");
  CHECK(Infer("sum i < n { v }") == "[*]f64");
  CHECK(Infer("sum i < n, j < i { v[j] }") == "f64");
  CHECK(Infer("max i < n { i }") == "i64");
}

TEST_CASE("Check: locals stand in order: parameters, sizes, the rest") {
  Program program = Checked(R"(fn f(a: [n, m]f64, k: i64, t: ([p]bool, f32)) -> f64 {
  let (x, y) = (1, 2.0)
  for i < n { var z = a[i] }
  return sum i < m { y }
})");
  CHECK(Locals(*program.functions[0]) ==
        "param a: [*, *]f64, param k: i64, param t: ([*]bool, f32), size n: i64, size m: i64, "
        "size p: i64, let x: i64, let y: f64, binder i: i64, var z: [*]f64, binder i: i64");
  CHECK(program.functions[0]->size_locals == std::vector<uint32_t>{3, 4, 5});
}

TEST_CASE("Check: a row is an index with the other axes whole") {
  Program program = Checked("fn f(a: [n, m, p]f64) -> [m, p]f64 { return a[0] }");
  const Expr& index = LastValue(program);
  REQUIRE(index.subscripts.size() == 3);
  CHECK(!index.subscripts[0].is_slice);
  CHECK(index.subscripts[2].is_slice);
  CHECK(!index.subscripts[2].lo);
}

TEST_CASE("Check: a reduction of an array is a comprehension over its axes") {
  Program program = Checked("fn f(a: [n, m]f64) -> f64 { return max(2.0 * a) }");
  const Function& f = *program.functions[0];
  const Expr& e = LastValue(program);
  REQUIRE(e.kind == Expr::Kind::kComprehension);
  CHECK(e.comprehension == Comprehension::kMax);
  REQUIRE(e.operands.size() == 1);
  CHECK(f.locals[e.local].type == Type::Array(DType::kF64, 2));
  REQUIRE(e.binders.size() == 2);
  const Expr& bound = *e.binders[1].hi;
  CHECK(bound.builtin == static_cast<int>(Builtin::Dim));
  CHECK(bound.operands[0]->local == e.local);
  CHECK(bound.operands[1]->int_value == 1);
  const Expr& element = *e.body.result;
  REQUIRE(element.kind == Expr::Kind::kIndex);
  CHECK(element.operands[0]->local == e.local);
  CHECK(element.subscripts[1].index->local == e.binders[1].local);
  CHECK(ToString(e.type) == "f64");
}

TEST_CASE("Check: calls for every element") {
  CHECK(Infer("sin.(v)") == "[*]f64");
  CHECK(Infer("hypot.(column(v), v)") == "[*, *]f64");
  CHECK(Infer("select.(v > 0, v, 1)") == "[*]f64, 0 f64, 1 f64");
  Program program = Checked(R"(fn both(a: f64, k: i64) -> (f64, i64) { return (a, k) }
fn f(x: [n]f64) -> ([n]f64, [n]i64) { return both.(x, 1) }
fn g(x: f64) -> (f64, i64) { return both.(x, 1) })");
  CHECK(ToString(LastValue(program, 1).type) == "([*]f64, [*]i64)");
  CHECK(LastValue(program, 2).kind == Expr::Kind::kCall);  // of scalars alone: an ordinary call
}

TEST_CASE("Check: the user's functions hide the built-in ones and the prelude's") {
  Program program = Checked(R"(fn square(x: i64) -> i64 { return x }
fn sin(x: i64) -> i64 { return x }
fn sum(x: i64) -> i64 { return x }
fn f(x: [n]f64) -> f64 { return f64(sum(sin(square(2)))) + variance(x) })");
  const Expr* call = LastValue(program, 3).operands[0]->operands[0].get();
  for (uint32_t callee : {2u, 1u, 0u}) {
    CHECK(call->callee == callee);
    CHECK(call->builtin == -1);
    call = call->operands[0].get();
  }
}

TEST_CASE("Check: the prelude's functions follow the user's, transitively and once") {
  Program program = Checked(R"(fn mean(x: [n]f64) -> f64 { return 0.0 }
fn f(x: [n]f64) -> f64 { return stddev(x) + variance(x) + stddev(x) + mean(x) + tanh(x[0]) })");
  std::string names;
  for (const auto& f : program.functions) names += f->name + (f->from_prelude ? "' " : " ");
  CHECK(names == "mean f stddev' variance' mean' ");
  CHECK(program.user_functions == 2);
  bool found = false;  // the prelude calls its own `mean`
  ForEachExpr(program.functions[3]->body, [&](const Expr& e) {
    if (e.kind != Expr::Kind::kCall || e.name != "mean") return;
    found = true;
    CHECK(e.callee == 4);
  });
  CHECK(found);
}

TEST_CASE("Check: correct programs") {
  CHECK(Messages(R"(
fn even(n: i64) -> bool { if n == 0 { return true }  return odd(n - 1) }
fn odd(n: i64) -> bool { if n == 0 { return false } else { return even(n - 1) } }
fn forever(x: f64) -> f64 { while true { if x > 1.0 { return x } else { continue } } }
fn inner(x: f64) -> f64 { while true { while true { break } } }
fn dead(x: f64) -> f64 { return 3 * x; let y = x; return y }
fn shadow(x: f64) -> f64 { let x = 2 * x; if x > 0.0 { let x = true }  return x }
fn swap(x: f64) -> f64 { var a, b = 1.0, x; a, b = b, a; return a + b }
fn pair(x: f64) -> (f64, f64) { return (x, x) }
fn from_call(x: f64) -> f64 { var a, b = pair(x); a, b = pair(a); return a + b }
fn local_loop(x: f64) -> [3]f64 {
  return gen i < 3 {
    var s = 0.0
    for j < i { if j == 1 { break }  s += x }
    s
  }
}
fn nothing(x: f64) { if x > 0.0 { return } }
fn flags(b: [n]bool) -> [n]bool { return not b and gen i < n { i % 2 == 0 } }
fn prod(x: f64) -> f64 { var sum = x; sum = sum + sum; return sum }
)") == "");
}

}  // namespace
}  // namespace pullback::lang
