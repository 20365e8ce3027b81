// Arrays of tuples and structs: types, text, canonical form, errors, lowering.
#include <catch2/catch.hpp>

#include "core/lang/signature.h"
#include "tests/core/lang/check_support.h"
#include "tests/core/lang/lower_support.h"

namespace pullback::lang {
namespace {

const std::string kPoints = R"(struct Point { x: f64, y: f64 }
struct Camera { r: [3]f64, f: f64, k: i64, p: Point }
)";

std::string CanonicalTextOf(const std::string& text) {
  const Program p = Checked(text);
  StatusOr<Canonical> c = Canonicalise(p, "f");
  REQUIRE(c.ok());
  return c->text;
}

double OnlyNumber(const std::string& text, const std::vector<Tensor>& args) {
  return Doubles(Values(text, args)[0])[0];
}

}  // namespace

TEST_CASE("arrays of structs: gen makes one array for each part") {
  const std::string ir = Ir(kPoints + R"(
    fn f(a: [n]f64, b: [n]f64) -> [n]Point { return gen i < n { Point(sin(a[i]), b[i] * a[i]) } })");
  CHECK(Has(ir, "-> ([*]f64, [*]f64)"));
  CHECK(Count(ir, "each(") == 1);
  // The parts' own axes stand behind; those of one shape share a statement.
  const std::string camera = Ir(kPoints + R"(
    fn f(a: [n]f64) -> [n]Camera {
      return gen i < n { Camera(gen k < 3 { a[i] * f64(k) }, a[i], i, Point(1.0, a[i] + 1.0)) }
    })");
  CHECK(Has(camera, "-> ([*,*]f64, [*]f64, [*]i64, [*]f64, [*]f64)"));
  CHECK(Count(camera, "each(") == 2);
}

TEST_CASE("arrays of structs: a field of an element reads that array only") {
  const std::string ir = Ir(kPoints + R"(
    fn f(ps: [n]Camera) -> f64 { return sum i < n { ps[i].p.y * ps[i].r[2] } })");
  CHECK(Count(ir, "index ") == 2);
  CHECK(Has(ir, ", 2]"));
}

TEST_CASE("arrays of structs: elements, parts of elements, columns, parts of the array") {
  const std::string text = kPoints + R"(
    fn norm(p: Point) -> f64 { return p.x * 10.0 + p.y }
    fn f(a: [n]f64) -> (f64, f64, f64, f64, f64, i64) {
      let ps = gen i < n { Point(x: a[i], y: f64(i)) }
      let (x, y) = (ps[1], ps[len(ps) - 1])
      let part = ps[1:]
      let rest = ps[[2, 0]]
      let column = ps.x
      return (norm(x), norm(y), norm(part[0]), norm(rest[1]) + rest[0].x, sum(column) + sum(part.y),
              dim(part, 0))
    })";
  const std::vector<Tensor> out = Values(text, {Vec({1, 2, 3})});
  CHECK(Doubles(out[0])[0] == 21);
  CHECK(Doubles(out[1])[0] == 32);
  CHECK(Doubles(out[2])[0] == 21);
  CHECK(Doubles(out[3])[0] == 13);
  CHECK(Doubles(out[4])[0] == 9);
  CHECK(out[5].At<int64_t>(0) == 2);
}

TEST_CASE("arrays of tuples: literals adapt, elements come apart, values are looped over") {
  const std::string text = R"(
    fn f(x: f64) -> f64 {
      let ps = [(x, 1), (2, 3)]
      let qs = if x > 0.0 { ps } else { [(0.0, 0)] }
      var s = 0.0
      for q in qs { s += q.0 * f64(q.1) }
      let (a, k) = qs[1]
      return s + a * 100.0 + f64(k) * 1000.0
    })";
  CHECK(OnlyNumber(text, {F64(5)}) == 5 + 6 + 200 + 3000);
}

TEST_CASE("arrays of structs: updates") {
  const std::string text = kPoints + R"(
    fn f(a: [n]f64) -> ([n]f64, [n, 3]f64, [n]f64, [n]f64) {
      var q = gen i < n { Camera(gen k < 3 { a[i] }, a[i], i, Point(a[i], 0.0)) }
      for i < n {
        q[i].r[1] = q[i].f + 1.0
        q[i].p.y += a[i]
        q[i].p.y -= 0.5
      }
      q[0].r = [7.0, 8.0, 9.0]
      q[1].r[1:] = 4.0
      q[2] = q[0] with f = 5.0
      q[1].p = Point(x: -1.0, y: -2.0)
      q.f[0:1] = 0.25
      return (q.f, q.r, q.p.x, q.p.y)
    })";
  const std::vector<Tensor> out = Values(text, {Vec({1, 2, 3})});
  CHECK(Doubles(out[0]) == std::vector<double>{0.25, 2, 5});
  CHECK(Doubles(out[1]) == std::vector<double>{7, 8, 9, 2, 4, 4, 7, 8, 9});
  CHECK(Doubles(out[2]) == std::vector<double>{1, -1, 1});
  CHECK(Doubles(out[3]) == std::vector<double>{0.5, -2, 0.5});
  const std::string parts = kPoints + R"(
    fn f(a: [n]f64) -> [n]Point {
      var q = gen i < n { Point(a[i], a[i]) }
      q[1:] = q[:n - 1]
      q[[0, 2]] = Point(9.0, 8.0)
      return q
    })";
  const std::vector<Tensor> moved = Values(parts, {Vec({1, 2, 3, 4})});
  CHECK(Doubles(moved[0]) == std::vector<double>{9, 1, 9, 3});
  CHECK(Doubles(moved[1]) == std::vector<double>{8, 1, 8, 3});
}

TEST_CASE("arrays of structs: the arrays stay equally long") {
  const std::string text = kPoints + R"(
    fn f(a: [n]f64, b: [m]f64) -> f64 {
      var q = gen i < n { Point(a[i], a[i]) }
      q.x = b
      return q[len(q) - 1].x
    })";
  CHECK(OnlyNumber(text, {Vec({1, 2}), Vec({3, 4})}) == 4);
  CHECK(RunText(text, {Vec({1, 2}), Vec({3})}).trap);
  const std::string given = kPoints + "fn f(ps: [n]Point) -> i64 { return n }";
  CHECK(Values(given, {Vec({1, 2}), Vec({3, 4})})[0].At<int64_t>(0) == 2);
  CHECK(RunText(given, {Vec({1, 2}), Vec({3})}).trap);
}

TEST_CASE("arrays of structs: indices out of range trap") {
  for (const char* body :
       {"return ps[k].x", "let p = ps[k]; return p.y", "return sum i < n { ps[k + i].y }",
        "return ps[k].r[0]", "var q = ps; q[k].x = 1.0; return q[0].x",
        "let p = ps[k]; return sum i < n { p.r[0] }", "return sum i < n { g(ps[k + i]) }"}) {
    INFO(body);
    const std::string program =
        "struct P { x: f64, y: f64, r: [2]f64 }\n"
        "fn g(p: P) -> f64 { return p.r[1] * p.x }\n"
        "fn f(ps: [n]P, k: i64) -> f64 { " +
        std::string(body) + " }";
    const Tensor r = Tensor::Of<double>(DType::kF64, {2, 2}, {1, 2, 3, 4});
    CHECK(RunText(program, {Vec({1, 2}), Vec({3, 4}), r, I64(7)}).trap);
    CHECK(RunText(program, {Vec({1, 2}), Vec({3, 4}), r, I64(-1)}).trap);
  }
}

TEST_CASE("arrays of structs: control flow in the body, sizes known only there") {
  const std::string loops = kPoints + R"(
    fn some(n: i64, x: f64) -> list f64 { return repeat(x, n) }
    fn f(a: [n]f64) -> ([n]f64, [n, n]f64, [n]i64) {
      let ps = gen i < n {
        var s = 0.0
        for j < i { s += a[j] }
        let l = some(n, s)
        (s, gen j < len(l) { l[j] + f64(j) }, i * 2)
      }
      return (ps.0, ps.1, ps.2)
    })";
  const std::vector<Tensor> out = Values(loops, {Vec({1, 2, 3})});
  CHECK(Doubles(out[0]) == std::vector<double>{0, 1, 3});
  CHECK(Doubles(out[1]) == std::vector<double>{0, 1, 2, 1, 2, 3, 3, 4, 5});
  CHECK(out[2].At<int64_t>(2) == 4);
}

TEST_CASE("arrays of structs: of two axes, in gens, in functions, templates and structs") {
  const std::string text = kPoints + R"(
    struct Grid { cells: [2, 2]Point, w: f64 }
    fn at<T>(a: [n]T, i: i64) -> T { return a[i] }
    fn weigh(ps: [n]Point, w: f64) -> [n]Point { return gen i < n { Point(ps[i].x * w, ps[i].y) } }
    fn f(a: [n, m]f64) -> f64 {
      let grid = gen i < n, j < m { Point(a[i, j], f64(i * 10 + j)) }
      let rows = gen i < n { weigh(grid[i], 2.0) }
      let g = Grid(cells: rows[0:2, 0:2], w: 0.5)
      let all = [g, g with w = 3.0]
      return at(grid[1], 0).y + at(rows[0], 1).x + all[1].w * all[0].cells[1, 1].x + at(a[0], 0)
    })";
  const Tensor a = Tensor::Of<double>(DType::kF64, {2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK(OnlyNumber(text, {a}) == 10 + 4 + 3 * 10 + 1);
}

TEST_CASE("arrays of structs: captured, with the sizes that they give") {
  const std::string text = kPoints + R"(
    fn weigh(ps: [n]Point, w: f64) -> f64 { return sum i < n { ps[i].x * ps[i].y * w } }
    fn f(a: [n]f64) -> f64 {
      let ps = gen i < n { Point(a[i], 2.0) }
      return inner(ps, a)
    }
    fn inner(ps: [n]Point, a: [n]f64) -> f64 {
      let g = |w: f64| weigh(ps, w) + f64(n)
      let h = |qs: [n]Point| weigh(qs, 3.0) + weigh(ps, 1.0)
      return g(2.0) + h(ps)
    })";
  CHECK(OnlyNumber(text, {Vec({1, 2})}) == 12 + 2 + 18 + 6);
}

TEST_CASE("arrays of structs: reductions are by part, of array parts too") {
  const std::string text = R"(
    fn f(a: [n]f64) -> (f64, i64, [2]f64, f64) {
      let (s, k, r) = sum i < n { (a[i], i, [a[i], 1.0]) }
      let m = max i < n { (a[i], -a[i]) }
      return (s, k, r, m.0 + m.1 * 10.0)
    })";
  const std::vector<Tensor> out = Values(text, {Vec({1, 2, 3})});
  CHECK(Doubles(out[0])[0] == 6);
  CHECK(out[1].At<int64_t>(0) == 3);
  CHECK(Doubles(out[2]) == std::vector<double>{6, 3});
  CHECK(Doubles(out[3])[0] == -7);
}

TEST_CASE("arrays of structs: without elements they keep their sizes") {
  const std::string text = kPoints + R"(
    fn f(n: i64) -> (i64, i64, [n, 3]f64) {
      let q = gen i < n { Camera([1.0, 2.0, 3.0], 1.0, i, Point(0.0, 0.0)) }
      return (len(q), dim(q.r, 1), q.r)
    })";
  const std::vector<Tensor> out = Values(text, {I64(0)});
  CHECK(out[0].At<int64_t>(0) == 0);
  CHECK(out[1].At<int64_t>(0) == 3);
  CHECK(out[2].shape == std::vector<int64_t>{0, 3});
}

TEST_CASE("arrays of structs: texts that do not parse") {
  const auto first = [](const std::string& type) {
    return Parse("fn f(a: " + type + ") -> f64 { return 1.0 }").status().message();
  };
  CHECK(Has(first("[n]([m]f64)"), "the element of an array is a scalar, a struct or a tuple"));
  CHECK(Has(first("[n](list f64)"), "the element of an array is a scalar"));
  CHECK(Has(first("[n]list f64"), "expected an element type"));
  CHECK(Has(first("[n][m]P"), "write all axes in one pair of brackets"));
  CHECK(Parse("fn f(a: [n](f64)) -> f64 { return a[0] }").ok());
}

TEST_CASE("arrays of structs: canonical form and layout") {
  const std::string a =
      "struct P { x: f64 }\nfn f(ps: [n]P) -> [n](P, f64) {\n"
      "  return gen i < n { (ps[i], 1.0) }\n}\n";
  const std::string b =
      "struct Q { y: f64 }\nfn f(q: [m]Q) -> [m](Q, f64) {\n"
      "  return gen j < m { (q[j], 1.0) }\n}\n";
  CHECK(CanonicalTextOf(a) == CanonicalTextOf(b));
  const std::string three =
      "fn f(x: f64) -> f64 { let p: [3](f64, f64) = [(x, x), (x, x), (x, x)]\n"
      " return p[2].1 }";
  std::string two = three;
  two.replace(two.find("[3]"), 3, "[2]");
  CHECK(Has(Messages(two), "declared"));
  const std::string open =
      "fn f(n: i64, m: i64) -> i64 { let p: [n](i64, i64) = gen i < m { (i, i) }\n"
      " return len(p) }";
  std::string other = open;
  other.replace(other.find("[n]"), 3, "[m]");
  CHECK(CanonicalTextOf(open) != CanonicalTextOf(other));
  CHECK(RunText(open, {I64(1), I64(2)}).trap);
  CHECK(Values(other, {I64(1), I64(2)})[0].At<int64_t>(0) == 2);
  const Program p = *Parse("struct P{x:f64}\nfn f(a:[n,2]P,b:[n](P,f64)) -> [n]P {return b.0}");
  CHECK(Has(Format(p), "fn f(a: [n, 2]P, b: [n](P, f64)) -> [n]P { return b.0 }"));
}

TEST_CASE("arrays of structs: signatures are the arrays") {
  const Program p = Checked(kPoints +
                            "fn f(cs: [n]Camera, ps: [n, 2](f64, Point)) -> [n]Point "
                            "{ return cs.p }");
  const StatusOr<Signature> s = GetSignature(p, "f");
  REQUIRE(s.ok());
  const ApiType& cameras = s->params[0].type;
  CHECK(cameras.ToString() == "[n]Camera");
  CHECK(cameras.array_dims == std::vector<std::string>{"n"});
  CHECK(cameras.field_names == std::vector<std::string>{"r", "f", "k", "p"});
  CHECK(cameras.elements[0].ToString() == "[n, 3]f64");
  CHECK(cameras.elements[3].ToString() == "[n]Point");
  CHECK(s->params[1].type.ToString() == "[n, 2](f64, Point)");
  CHECK(s->result.elements[1].ToString() == "[n]f64");
}

TEST_CASE("arrays of structs: errors name their place") {
  CHECK(
      Messages(R"(struct Node { v: f64, kids: list Node }
struct Shot { w: [m]f64, f: f64 }
struct B { x: f64 }
fn f1(a: [n]Node) -> f64 { return 1.0 }
fn f2(a: [n]Shot) -> f64 { return 1.0 }
fn f3(a: [n]Nope) -> f64 { return 1.0 }
fn f4(w: [n]f64) -> f64 {
  let q = gen i < n { Shot(w, 1.0) }
  return 1.0
}
fn f5(b: [n]B) -> f64 {
  var q = b
  q[0:1].x = 1.0
  q[0].z = 2.0
  q[0] = 3.0
  q[0, 1].x = 2.0
  let s = scan sum i < n { (1.0, 2.0) }
  let m = max i < n { (true, 1.0) }
  let t = b.T
  let u = b + b
  let l = [B(1.0), 2.0]
  return b[0, 1].x
}
fn f6(b: [n, n, n, n, n, n, n, n](f64, [n]f64)) -> f64 { return 1.0 }
fn f7(b: [n](f64, list f64)) -> f64 { return 1.0 }
fn f8(b: [n](f64, f64)) -> f64 { return f5(b) + f9([(1.0, 2.0)]) }
fn f9(b: [2](f64, f64)) -> f64 { return b[1].0 }
)") ==
      R"(4:10 the elements of an array are numbers, arrays, tuples and structs, and hold no list, as 'kids' of 'Node' is
5:10 the elements of an array are all of one size, but the size 'm' of 'w' of 'Shot' is open: write a number there
6:10 unknown type 'Nope'; did you mean 'Node'?
8:23 the elements of an array are all of one size, but the size 'm' of 'w' of 'Shot' is open: write a number there
13:3 only one element has fields to assign: write ps[i].x = …, or ps.x[a:b] = … for a part of the array of all x
14:3 'B' has no field 'z'
15:10 an element of 'q' is B, but the value is f64
16:3 too many subscripts: [?]B takes at most 1, got 2
17:11 a scan of 'sum' needs numbers, got (f64, f64): scan each part for itself, or use the prelude's scan
18:23 'max' needs numbers, got (bool, f64)
19:11 only an array can be transposed, not [n]B
20:11 '+' needs numbers, got [*]B and [*]B
21:20 the elements of this array differ: the first is B, this one f64
22:10 too many subscripts: [n]B takes at most 1, got 2
24:10 an array of rank 9 is over the limit of 8
25:10 the elements of an array are numbers, arrays, tuples and structs, and hold no list
26:44 argument 'b' of 'f5' must be [n]B, got [n](f64, f64)
26:52 argument 'b' of 'f9' has size 1 on axis 0, expected 2
)");
  // Types that nobody declared, at any depth.
  CHECK(Messages("fn f(x: [n](f64, P)) -> f64 { return 1.0 }\n") == "1:18 unknown type 'P'\n");
  CHECK(Messages("fn f(x: [n](P, (f64, [3]P))) -> f64 { return 1.0 }\n") ==
        "1:13 unknown type 'P'\n1:22 unknown type 'P'\n");
  CHECK(Messages("struct A { a: [3](f64, P) }\nfn f(x: [n]A) -> f64 { return 1.0 }\n") ==
        "1:24 unknown type 'P'\n");
  CHECK(Messages("struct A { p: P }\nfn f(x: [n]A, y: [n](A, f64)) -> f64 { return x[0].p }\n") ==
        "1:15 unknown type 'P'\n");
  CHECK(Messages("struct A { xs: [3]A, y: f64 }\nfn f(x: f64) -> f64 { return x }\n") ==
        "1:16 'A' cannot hold an array of itself: a struct recurs through a list only\n");
  CHECK(Messages("struct A { x: B }\nstruct B { xs: [3]A }\nfn f(x: f64) -> f64 { return x }\n") ==
        "2:16 'A' cannot hold an array of itself: a struct recurs through a list only\n");
  std::string wide = "struct S0 { a: f64, b: f64 }\n";
  for (int i = 1; i < 200; ++i) {
    const std::string last = "[1]S" + std::to_string(i - 1);
    wide += "struct S" + std::to_string(i) + " { a: " + last + ", b: " + last + " }\n";
  }
  const std::string messages = Messages(wide + "fn f(x: f64) -> f64 { return x }\n");
  CHECK((Has(messages, "more than 64") || Has(messages, "over the limit")));
}

}  // namespace pullback::lang
