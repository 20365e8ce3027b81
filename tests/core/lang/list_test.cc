// Lists and boxes: text, types, lowering to records.
#include "tests/core/lang/check_support.h"
#include "tests/core/lang/lower_support.h"
#include "tests/core/lang/tree_eval.h"

namespace pullback::lang {
namespace {

// What lowering makes of a program, run, and what its tree gives: they must be one.
std::vector<double> Both(const std::string& text, const std::vector<Tensor>& args) {
  const std::vector<Tensor> values = Values(text, args);
  const TreeResult tree = RunTree(Checked(text), "f", args);
  REQUIRE(!tree.trap);
  REQUIRE(values.size() == 1);
  REQUIRE(tree.values.size() == 1);
  CHECK(Doubles(tree.values[0]) == Doubles(values[0]));
  return Doubles(values[0]);
}
double Same(const std::string& text, const std::vector<Tensor>& args) {
  return Both(text, args).at(0);
}
std::vector<double> SameElements(const std::string& text, const std::vector<Tensor>& args) {
  return Both(text, args);
}

TEST_CASE("lists: made, read, changed, grown and shrunk, by value") {
  CHECK(Same("fn f(x: f64) -> f64 {\n"
             "  var xs = list(x, 2.0, 3)\n"
             "  let ys = xs\n"
             "  xs[1] = 10.0\n"
             "  xs[0] += 1.0\n"
             "  xs = push(xs, 100.0)\n"
             "  return xs[0] + xs[1] + last(xs) + ys[1] + 1000.0 * f64(len(xs)) + f64(len(ys)) }",
             {F64(5)}) == 6 + 10 + 100 + 2 + 4000 + 3);
  CHECK(Same("fn f(x: f64) -> f64 {\n"
             "  var xs: list f64 = list()\n"
             "  for i < 4 { xs = push(xs, x * f64(i)) }\n"
             "  var s = 0.0\n"
             "  while len(xs) > 0 { var v = 0.0\n xs, v = pop(xs)\n s = 10.0 * s + v }\n"
             "  return s }",
             {F64(1)}) == 3210);
  CHECK(Same("fn f(x: f64) -> f64 { let xs = repeat((x, 2), 3)\n"
             " let (ys, last) = pop(xs)\n return last.0 * f64(last.1 + len(ys)) }",
             {F64(5)}) == 20);
}

TEST_CASE("lists: of arrays, tuples, structs and lists, changed in part") {
  CHECK(SameElements("fn f(x: [n]f64) -> [n]f64 {\n"
                     "  var xs = list(x, 2.0 * x)\n"
                     "  xs[1][0] = 7.0\n"
                     "  xs[1][0] += 0.5\n"
                     "  xs[0][1] = xs[1][1] + x[0]\n"
                     "  return xs[0] + xs[1] + x }",
                     {Vec({1, 2})}) == std::vector<double>{1 + 7.5 + 1, 5 + 4 + 2});
  const std::string nested = R"(
    struct P { x: f64, r: [2]f64, tags: list i64 }
    fn f(a: f64) -> f64 {
      var ps = repeat(P(a, [a, a], list(1, 2)), 2)
      var q = (ps, 1.0)
      ps[1].x = 10.0
      ps[0].r[1] -= 1.0
      ps[1].tags[0] = 5
      ps[1].tags = push(ps[1].tags, 6)
      q.0[0].r = [100.0, 200.0]
      let w = q.0[0] with tags[1] = 50 with r[0] = 3.0
      return ps[1].x + ps[0].r[1] + ps[0].r[0] + f64(ps[1].tags[0] + ps[0].tags[0]) +
        f64(len(ps[1].tags) + last(ps[1].tags)) + q.0[0].r[1] + q.0[1].x +
        f64(w.tags[1] + q.0[0].tags[1]) + w.r[0]
    })";
  CHECK(Same(nested, {F64(3)}) == 10 + 2 + 3 + 6 + 9 + 200 + 3 + 52 + 3);
  CHECK(Same("fn f(x: f64) -> f64 { var g = list(list(x), list(), list(1.0, 2.0))\n"
             " g[1] = push(g[1], 5.0)\n g[2][1] += x\n"
             " return g[0][0] + g[1][0] + g[2][1] + f64(len(g[2])) }",
             {F64(4)}) == 4 + 5 + 6 + 2);
}

TEST_CASE("lists: trees, through recursive functions") {
  const std::string text = R"(
    struct Node { value: f64, kids: list Node }
    fn leaf(x: f64) -> Node { return Node(x, list()) }
    fn grow(x: f64, depth: i64) -> Node {
      if depth == 0 { return leaf(x) }
      var kids: list Node = list()
      for i < depth { kids = push(kids, grow(x * f64(i + 1), depth - 1)) }
      return Node(value: x, kids: kids)
    }
    fn total(t: Node) -> f64 {
      var s = t.value
      for i < len(t.kids) { s += total(t.kids[i]) }
      return s
    }
    fn f(x: f64) -> f64 {
      var t = grow(x, 3)
      let before = total(t)
      t.kids[1].kids[0].value = 1000.0
      return total(t) - before
    })";
  CHECK(Same(text, {F64(1)}) == 1000 - 2);
}

TEST_CASE("lists: in parameters, results, loops and branches of the IR") {
  const std::string text = R"(
    fn both(xs: list f64, n: i64) -> (list f64, i64) {
      var ys = xs
      for i < n { if i % 2 == 0 { ys = push(ys, f64(i)) } else { ys[0] += f64(i) } }
      return if n > 10 { (xs, 0) } else { (ys, len(ys)) }
    }
    fn f(n: i64) -> f64 { let (ys, k) = both(list(1.0), n)
      return ys[0] + last(ys) + f64(k) })";
  CHECK(Same(text, {I64(5)}) == 5 + 4 + 4);
  CHECK(Same(text, {I64(11)}) == 1 + 1 + 0);
}

TEST_CASE("lists: in comprehensions") {
  CHECK(
      SameElements("fn f(x: [n]f64) -> [n]f64 {\n"
                   "  var xs: list [_]f64 = list()\n"
                   "  for i < n { xs = push(xs, gen j < i + 1 { x[i] * f64(j) }) }\n"
                   "  return gen i < len(xs) { sum j < len(xs[i]) { xs[i][j] } + f64(len(xs)) } }",
                   {Vec({1, 2, 3})}) == std::vector<double>{3, 5, 12});
  CHECK(Same("fn f(x: [n]f64) -> f64 { let xs = list(x)\n let y = gen i < len(xs) { x[i] }\n"
             " return sum i < len(x) { x[i] * f64(len(xs)) } + y[0] }",
             {Vec({1, 2})}) == 4);
}

TEST_CASE("lists: a loop that changes an element of an array in a list copies nothing") {
  const std::string ir =
      Ir("fn f(x: [n]f64, k: i64) -> f64 { var xs = list(x, x)\n"
         " for i < k { xs[1][i] += 1.0 }\n return xs[1][0] }");
  CHECK(Has(ir, "list_take"));
  CHECK(Has(ir, "add_at"));
  CHECK(Has(ir, "record of_f64 { value: [*]f64 }"));
}

TEST_CASE("lists: traps name their place") {
  CHECK(TrapOf("fn f(i: i64) -> f64 { let xs = list(1.0, 2.0)\n return xs[i] }", {I64(2)}) ==
        TrapPlace{ir::TrapKind::kIndex, 2, 2, "xs[i]"});
  CHECK(TrapOf("fn f(i: i64) -> f64 { var xs = list(1.0, 2.0)\n xs[i] = 0.0\n return xs[0] }",
               {I64(-1)}) == TrapPlace{ir::TrapKind::kIndex, -1, 2, "xs[i]"});
  CHECK(TrapOf("fn f(i: i64) -> f64 { var xs = list([1.0, 2.0], [3.0, 4.0])\n xs[1][i] = 0.0\n"
               " return xs[0][0] }",
               {I64(3)}) == TrapPlace{ir::TrapKind::kIndex, 3, 2, "xs[1][i]"});
  CHECK(TrapOf("fn f(i: i64) -> f64 { let xs = repeat(1.0, i)\n return last(xs) }", {I64(0)})
            .source == "last(xs)");
  CHECK(TrapOf("fn f(i: i64) -> f64 { let xs = repeat(1.0, i)\n return xs[0] }", {I64(-3)}) ==
        TrapPlace{ir::TrapKind::kNegativeSize, -3, 0, "repeat(1.0, i)"});
  CHECK(TrapOf("struct S { r: [2]f64 }\nfn f(x: [n]f64) -> f64 { var s = list(S([1.0, 2.0]))\n"
               " s[0].r = x\n return s[0].r[0] }",
               {Vec({1, 2, 3})})
            .kind == ir::TrapKind::kSizeMismatch);
}

TEST_CASE("lists: what does not fit is refused at its place") {
  CHECK(Messages(R"(fn g(xs: list f64) -> i64 { return len(xs) }
fn f(x: f64, n: i64) -> f64 {
  let a = list()
  let b = list(x, true)
  let c = list(x, list(x))
  let d = push(x, x)
  let e = push(list(x), n)
  let h = pop(x)
  let i = repeat(x, x)
  let j = list(x)[0, 1] + list(x)[0:1] + list(x)[x]
  var xs = list(x)
  xs[0, 1] = x
  xs[0] = n
  xs[0][0] = x
  push(xs, x)
  let k = g(list(1, 2)) + g(list(n)) + g(list())
  let l = list(x) + list(x)
  let m = last(list())
  xs = x
  var a = [x, x]
  a[0][1] = x
  return g(x)
}
)") == R"(3:11 the type of the empty list's elements is not known; write it: let a: list f64 = …
4:19 the elements of this list differ: the first is f64, this one bool
5:19 the elements of this list differ: the first is f64, this one list f64
6:11 'push' takes a list, got f64
7:25 this list holds f64, but the value is i64
8:11 'pop' takes a list, got f64
9:21 the number of copies must be an i64, got f64; write i64(x)
10:11 a list takes one index, not 2
10:50 an index must be an i64, got f64; write i64(x)
12:3 a list takes one index, not 2
13:11 an element of 'xs' is f64, but the value is i64
14:3 too many subscripts: 'xs[…]' is f64 and takes none, got 1
15:3 the value of this expression is not used; 'push' gives a new list, which must be assigned
16:29 argument 'xs' of 'g' must be list f64, got list i64
17:11 '+' needs numbers, got list f64 and list f64
18:11 'last' takes a list, got an empty list
19:8 'xs' is list f64, but the value is f64
21:3 write all indices in one pair of brackets: x[i, j] = …
22:12 argument 'xs' of 'g' must be list f64, got f64
)");
}

TEST_CASE("lists: templates take and give them") {
  CHECK(Same("fn map_list<T, U>(f: fn(T) -> U, xs: list T) -> list U {\n"
             "  var ys: list U = list()\n"
             "  for i < len(xs) { ys = push(ys, f(xs[i])) }\n  return ys\n}\n"
             "fn f(x: f64) -> f64 { let ys = map_list(|t| i64(t * x), list(1.0, 2.5))\n"
             " return f64(ys[0] + ys[1]) }",
             {F64(2)}) == 7);
}

TEST_CASE("lists: the canonical form tells empty lists apart, and knows no names") {
  const auto canonical = [](const std::string& text) {
    const Program p = Checked(text);
    return Canonicalise(p, "f")->text;
  };
  const std::string a = "fn f() -> i64 { let xs: list f64 = list()\n return len(push(xs, 1.0)) }";
  const std::string b = "fn f() -> i64 { let y: list f64 = list(); return len(push(y, 1)) }";
  CHECK(canonical(a) == canonical(b));
  CHECK(canonical("fn g(x: list i64) -> i64 { return 0 }\nfn f() -> i64 { return g(list()) }") !=
        canonical("fn g(x: list f64) -> i64 { return 0 }\nfn f() -> i64 { return g(list()) }"));
}

TEST_CASE("lists and boxes are formatted") {
  const std::string text = R"(struct Node { value: f64, kids: list Node, seen: box i64 }

fn f(xs: list [_]f64, b: box (f64, i64)) -> list list f64 {
  var ys = list(list(1.0), list())
  ys[0][1] = 2.0
  set(b, (1.0, 2))
  ys = push(ys, list(get(b).0))
  return ys
}
)";
  const StatusOr<Program> program = Parse(text);
  REQUIRE(program.ok());
  CHECK(Format(*program) == text);
}

TEST_CASE("boxes: all who hold one see what was put there last") {
  CHECK(Same("fn bump(b: box f64, by: f64) { set(b, get(b) * by) }\n"
             "fn f(x: f64, y: f64) -> f64 { let b = box(x)\n let c = b\n bump(b, y)\n bump(c, y)\n"
             " return get(b) }",
             {F64(2), F64(3)}) == 18);
  CHECK(
      Same(
          "struct Cell { v: box (f64, [_]f64) }\n"
          "fn f(x: f64) -> f64 { let cells = repeat(Cell(box((x, [x, x]))), 3)\n"
          " set(cells[0].v, (7.0, [1.0, 2.0]))\n return get(cells[2].v).0 + get(cells[1].v).1[1] }",
          {F64(2)}) == 9);
}

TEST_CASE("boxes: what does not fit is refused") {
  CHECK(Messages("fn f(x: f64) -> f64 {\n  let b = box(x)\n  set(b, true)\n  set(x, x)\n"
                 "  let c = get(x) + b\n  let d = set(b, x)\n  return x\n}\n") ==
        R"(3:10 this box holds f64, but the value is bool
4:3 'set' takes a box, got f64
5:11 'get' takes a box, got f64
6:11 'set' has no value: it stands alone, as a statement
)");
}

TEST_CASE("calls that stand alone are of functions without a value") {
  CHECK(
      Messages("fn g(x: f64) -> f64 { return x }\nfn f(x: f64) -> f64 {\n  g(x)\n  sin(x)\n}\n") ==
      "2:4 not every path of 'f' returns a value\n"
      "3:3 the value of this expression is not used\n"
      "4:3 the value of this expression is not used; 'return' makes it the result\n");
}

}  // namespace
}  // namespace pullback::lang
