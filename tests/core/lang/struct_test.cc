// Structs: text, types, canonical form, lowering.
#include <catch2/catch.hpp>

#include "tests/core/lang/check_support.h"
#include "tests/core/lang/lower_support.h"

namespace pullback::lang {
namespace {

constexpr char kCamera[] = R"(struct Camera { r: [3]f64, f: f64, k: (f64, i64) }

fn f(x: [3]f64, t: f64) -> f64 {
  var c = Camera(x, t, (2.0, 3))
  c.f = c.f * 2.0
  c.r[1] += 10.0
  c.k.0 = 5.0
  let d = c with r[0] = 100.0 with f = c.f + 1.0
  return d.r[0] + c.r[0] + d.r[1] + d.f * c.k.0 + f64(d.k.1)
}
)";

std::string CanonicalOf(const std::string& text) {
  const Program p = Checked(text);
  StatusOr<Canonical> c = Canonicalise(p, "f");
  REQUIRE(c.ok());
  return c->text;
}

}  // namespace

TEST_CASE("structs: constructed, read, updated in part") {
  // t = 3: c.f = 6, c.r = (1, 12, 3), k.0 = 5; d.r = (100, 12, 3), d.f = 7.
  CHECK(Doubles(Values(kCamera, {Vec({1, 2, 3}), F64(3)})[0])[0] == 100 + 1 + 12 + 35 + 3);
}

TEST_CASE("structs: in parameters, results, tuples, loops and branches") {
  const std::string text = R"(
    struct P { x: f64, v: f64 }
    struct Pair { a: P, b: P, w: [n]f64 }
    fn step(p: P, dt: f64) -> P { return P(x: p.x + dt * p.v, v: p.v) }
    fn swap(q: Pair) -> (Pair, i64) { return (Pair(w: q.w, b: q.a, a: q.b), len(q.w)) }
    fn f(q: Pair, n: i64) -> Pair {
      var r = q
      for i < n {
        r.a = step(r.a, 0.5)
        if i % 2 == 0 { r.b.x += r.a.x } else { r.w[0] = r.b.x }
      }
      let (s, k) = swap(r)
      return if k > 100 { r } else { s }
    })";
  const std::vector<Tensor> out =
      Values(text, {F64(1), F64(2), F64(10), F64(0), Vec({7, 8}), I64(2)});
  REQUIRE(out.size() == 5);  // a: (12, 0), b: (3, 2), w
  CHECK(Doubles(out[0])[0] == 12);
  CHECK(Doubles(out[2])[0] == 3);
  CHECK(Doubles(out[3])[0] == 2);
  CHECK(Doubles(out[4]) == std::vector<double>{12, 8});
}

TEST_CASE("structs: sizes written as numbers are checked, names stand for any size") {
  const std::string text = R"(
    struct S { a: [3]f64, b: [n]f64, c: [n]f64 }
    fn f(x: [k]f64) -> f64 { let s = S(x, x, zeros(7))
      return sum(s.a) + sum(s.b) + sum(s.c) })";
  CHECK(Doubles(Values(text, {Vec({1, 2, 3})})[0])[0] == 12);
  CHECK(RunText(text, {Vec({1, 2})}).trap);
  const std::string update = R"(
    struct S { a: [3]f64 }
    fn f(s: S, x: [k]f64) -> [3]f64 { var t = s
      t.a = x
      return t.a })";
  CHECK(Doubles(Values(update, {Vec({1, 2, 3}), Vec({4, 5, 6})})[0])[2] == 6);
  CHECK(RunText(update, {Vec({1, 2, 3}), Vec({4})}).trap);
  CHECK(RunText(update, {Vec({1, 2}), Vec({4, 5, 6})}).trap);
}

TEST_CASE("structs: errors name their place") {
  CHECK(Messages(R"(struct A { a: f64, a: f64 }
struct A { b: B }
struct C { c: (f64, D) }
struct D { d: C }
struct E { n: [m + 1]f64, x: Nix }
struct F { f: F }
fn f(x: f64) -> f64 { return x }
)") == R"(1:20 'A' has two fields named 'a'
2:8 there is already a struct named 'A'
2:15 unknown type 'B'
4:15 'D' cannot hold 'C', which holds it: a struct recurs through a list only (list C)
5:16 a size in a struct is a whole number or a name
5:30 unknown type 'Nix'
6:15 'F' cannot hold itself: a struct recurs through a list only (list F)
)");
  CHECK(Messages("struct C { a: f64 }\nfn C(x: double) -> f64 { return x }\n") ==
        "2:4 there is already a struct named 'C'\n2:9 unknown type 'double'; here it is 'f64'\n");
  CHECK(Messages(R"(struct A { a: f64, bee: [2]f64 }
fn f(s: A, x: f64) -> f64 {
  let p = A(1.0)
  let q = A(a: x, be: [x, x])
  let r = A(a: x, a: x)
  let t = A([x, x], [x, x, x])
  let u = s.c + s.0 + x.a
  let w = s with a = true
  s.a = 1.0
  var v = s
  v.bee = 1.0
  v.a.b = 1.0
  v.bee[0, 1] = 1.0
  return f(a: s, x: x) + A.(x)
}
)") == R"(3:11 'A' has 2 fields, got 1
4:23 'A' has no field 'be'
5:22 the field 'a' is given twice
6:13 the field 'a' of 'A' is f64, but the value is [2]f64
6:21 the field 'bee' of 'A' has size 3 on axis 0, but 2 is declared
7:11 'A' has no field 'c'
7:17 there is no field .0 in A
7:23 there is no field .a in f64
8:22 this place in A is f64, but the value is bool
9:3 's' may not be assigned: it is a parameter; copy it with 'var'
11:11 'v.bee' is [*]f64, but the value is f64
12:3 there is no field .b in f64
13:3 too many subscripts: 'v.bee' is [*]f64 and takes 1, got 2
14:10 only the fields of a struct are given by name; 'f' is no struct
14:26 'A' is a struct, not a function of scalars
)");
}

TEST_CASE("structs: texts that do not parse") {
  const auto first = [](const std::string& text) { return Parse(text).status().message(); };
  CHECK(Has(first("struct S { } fn f() { }"), "a struct has at least one field"));
  CHECK(Has(first("struct S { T: f64 } fn f() { }"), "cannot be named 'T'"));
  CHECK(Has(first("struct { a: f64 } fn f() { }"), "expected a name after 'struct'"));
  CHECK(Has(first("struct S { a } fn f() { }"), "expected ':' and a type after the field's name"));
  CHECK(Has(first("fn f() { let x = s with 1 = 2 }"), "expected a field's name after 'with'"));
  CHECK(Has(first("fn f() { let x = S(a: 1, 2) }"), "give a name to every field, or to none"));
}

TEST_CASE("structs: nesting has bounds") {
  std::string wide = "struct S0 { a: f64, b: f64 }\n", deep = "struct S0 { a: f64 }\n";
  for (int i = 1; i < 3000; ++i) {
    const std::string n = std::to_string(i), p = std::to_string(i - 1);
    if (i < 50) wide += "struct S" + n + " { a: S" + p + ", b: S" + p + " }\n";
    deep += "struct S" + n + " { a: S" + p + " }\n";
  }
  CHECK(CheckText(wide + "fn f() { }").reason() == "TYPE_TOO_LARGE");
  CHECK(CheckText(deep + "fn f() { }").reason() == "NESTING_TOO_DEEP");
}

TEST_CASE("structs: the canonical form knows no names") {
  const std::string renamed = R"(
fn f(a: [3]f64, b: f64) -> f64 {
  var q = Cam(b: b, c: (2.0, 3), a: a)
  q.b = q.b * 2.0; q.a[1] += 10.0; q.c.0 = 5.0
  let e = (q with a[0] = 100.0) with b = q.b + 1.0
  return e.a[0] + q.a[0] + e.a[1] + e.b * q.c.0 + f64(e.c.1)
}
struct Cam { a: [3]f64, b: f64, c: (f64, i64) }
struct Unused { z: f64 })";
  CHECK(CanonicalOf(kCamera) == CanonicalOf(renamed));
  const std::string one = "fn f(s: S) -> f64 { return s.a }";
  CHECK(CanonicalOf("struct S { a: f64, b: f64 } " + one) !=
        CanonicalOf("struct S { b: f64, a: f64 } " + one));
  CHECK(CanonicalOf("struct S { a: f64, b: [2]f64 } " + one) !=
        CanonicalOf("struct S { a: f64, b: [3]f64 } " + one));
  CHECK(CanonicalOf("struct S { a: f64, b: [k]f64 } " + one) ==
        CanonicalOf("struct S { a: f64, b: [_]f64 } " + one));
}

TEST_CASE("structs: the formatter keeps them, their places and comments") {
  const std::string text = R"(# before
struct P{x:f64,v:f64}
struct Q {  # behind
  # first
  a: P,  # of a

  w: [n, 2]f64  # of w
}
fn f(q: Q) -> Q {
  var r=Q(a:q.a with x=1.0 with v = (if true {2.0} else {3.0}),w:q.w)
  r.a.x=-1.0
  r.w[0,1]+=2.0
  return r
}
)";
  StatusOr<Program> p = Parse(text);
  REQUIRE(p.ok());
  const std::string formatted = Format(*p);
  CHECK(formatted == R"(# before
struct P { x: f64, v: f64 }

struct Q {  # behind
  # first
  a: P,  # of a

  w: [n, 2]f64,  # of w
}

fn f(q: Q) -> Q {
  var r = Q(a: q.a with x = 1.0 with v = (if true { 2.0 } else { 3.0 }), w: q.w)
  r.a.x = -1.0
  r.w[0, 1] += 2.0
  return r
}
)");
  StatusOr<Program> again = Parse(formatted);
  REQUIRE(again.ok());
  CHECK(Format(*again) == formatted);
}

TEST_CASE("structs: the signature has the fields' names") {
  const Program p = Checked(
      "struct P { x: f64, v: [n]f64 } fn f(p: P, n: i64) -> (P, f64) "
      "{ return (p, p.x) }");
  StatusOr<Signature> s = GetSignature(p, "f");
  REQUIRE(s.ok());
  const ApiType& t = s->params[0].type;
  CHECK(t.is_tuple);
  CHECK(t.struct_name == "P");
  CHECK(t.field_names == std::vector<std::string>{"x", "v"});
  CHECK(t.elements[1].dims == std::vector<std::string>{"n"});
  CHECK(s->result.elements[0].struct_name == "P");
  const Tensor x = F64(1), v = Vec({1, 2}), n = I64(5);
  CHECK(CheckArguments(p, "f", {&x, &v, &n}).ok());
  const Status bad = CheckArguments(p, "f", {&x, &x, &n});
  CHECK(Has(bad.message(), "'p.v'"));
}

}  // namespace pullback::lang
