// Programs with lists, trees, boxes and functions as data.
#include "tests/support/programs.h"

#include "tests/support/derivatives.h"
#include "tests/support/relations.h"

namespace pullback::testing {
namespace {

std::vector<ProgramCase> Lists() {
  return {
      {"27 push to an empty list",
       "fn f(x: f64) -> f64 { var v: list f64 = list()\n v = push(v, x)\n return v[0] }",
       "f",
       {Tensor::F64(3)},
       {{1}}},
      {"a stack",
       "fn f(x: f64, n: i64) -> f64 {\n"
       "  var s: list f64 = list()\n  var y = 1.0\n"
       "  for i < n { y = y * x\n s = push(s, y) }\n"
       "  var r = 0.0\n"
       "  while len(s) > 0 { var v = 0.0\n s, v = pop(s)\n r = r * x + v }\n"
       "  return r }",
       "f",
       {Tensor::F64(1.25), Tensor::I64(3)},
       {{17.89453125}}},
      {"a list of arrays changed in place",
       "fn f(x: [n]f64, k: i64) -> f64 {\n"
       "  var xs = list(x, 2.0 * x)\n"
       "  for i < k { xs[1][i] += xs[0][i] * xs[1][0]\n xs[0][i] = xs[1][i] * 0.5 }\n"
       "  return sum(xs[0]) + xs[1][0] * xs[1][1] }",
       "f",
       {Vec({0.5, 1.5, 2.0}), Tensor::I64(2)},
       {}},
      {"a tree",
       R"(struct Node { value: f64, weights: [n]f64, kids: list Node }
fn grow(x: f64, w: [n]f64, depth: i64) -> Node {
  var kids: list Node = list()
  for i < depth { kids = push(kids, grow(x * w[i], w, depth - 1)) }
  return Node(value: x, weights: w * x, kids: kids)
}
fn total(t: Node) -> f64 {
  var s = t.value * t.value + sum(t.weights)
  for i < len(t.kids) { s += total(t.kids[i]) * 0.5 }
  return s
}
fn f(x: f64, w: [n]f64) -> f64 {
  var t = grow(x, w, 3)
  t.kids[1].kids[0].value *= x
  t.kids[0].weights[1] = x * w[2]
  return total(t)
})",
       "f",
       {Tensor::F64(0.75), Vec({0.5, 1.25, 2.0})},
       {}},
      {"the gradient by a tree, and again",
       R"(struct Node { v: f64, kids: list Node }
fn total(t: Node) -> f64 {
  var s = sin(t.v)
  for i < len(t.kids) { s += t.v * total(t.kids[i]) }
  return s
}
fn f(x: f64) -> f64 {
  let t = Node(x, list(Node(2.0 * x, list()), Node(1.0, list(Node(x, list())))))
  let g = grad(total)(t)
  return g.v * g.kids[0].v + g.kids[1].kids[0].v + f64(len(g.kids))
})",
       "f",
       {Tensor::F64(0.5)},
       {}},
      {"lists of tuples and lists, copied",
       R"(fn f(x: f64, n: i64) -> f64 {
  var g = repeat(list((x, 1), (x * x, 2)), n)
  let before = g
  g[0][1].0 = 3.0 * x
  g[1] = push(g[1], (x, 3))
  return g[0][1].0 * before[0][1].0 + last(g[1]).0 + f64(len(g[1]) + g[0][1].1)
})",
       "f",
       {Tensor::F64(1.5), Tensor::I64(2)},
       {{3 * 3 * 1.5 * 1.5 + 1}}},
  };
}

std::vector<ProgramCase> Boxes() {
  return {
      {"25 one array in two places, and captured",
       "fn apply(h: fn(f64) -> f64, x: f64) -> f64 { return h(x) }\n"
       "fn g(a: [n]f64, b: [n]f64) -> f64 {\n"
       "  var c = a\n"
       "  let h = |t| { c[0] = t * b[0]\n c[0] + a[0] }\n"
       "  return apply(h, b[1]) + c[0] + sum i < n { a[i] * b[i] } }\n"
       "fn f(x: [n]f64) -> f64 { return g(x, x) }",
       "f",
       {Vec({2, 3})},
       {{4 + 6 + 1, 6 + 4}}},
      {"26 a captured variable, multiplied twice",
       "fn f(x: f64, y: f64) -> f64 {\n"
       "  var b = x\n"
       "  let g = |z| { b = b * z\n b }\n"
       "  let u = g(y)\n"
       "  return g(y) }",
       "f",
       {Tensor::F64(2), Tensor::F64(3)},
       {{9}, {12}}},
      {"26 a box, multiplied twice",
       "fn g(b: box f64, z: f64) { set(b, get(b) * z) }\n"
       "fn f(x: f64, y: f64) -> f64 { let b = box(x)\n g(b, y)\n g(b, y)\n return get(b) }",
       "f",
       {Tensor::F64(2), Tensor::F64(3)},
       {{9}, {12}}},
      {"a cons that is written to",
       "struct Cons { head: box f64, tail: list Cons }\n"
       "fn f(x: f64) -> f64 {\n"
       "  let inner = Cons(box(x * x), list())\n  let c = Cons(box(x), list(inner))\n"
       "  set(c.tail[0].head, get(c.head) * get(inner.head))\n"
       "  set(c.head, get(c.head) + get(inner.head))\n"
       "  return get(c.head) * get(c.tail[0].head) }",
       "f",
       {Tensor::F64(1.5)},
       {{59.0625}}},
      {"33 the inner level dies on return",
       "fn f(x0: f64) -> f64 {\n  var x = x0\n  let g = |y: f64| { x = x * y\n x }\n"
       "  let once = jvp(g, 1.0, 1.0)\n  return grad(g)(1.0) }",
       "f",
       {Tensor::F64(1)},
       {{1}}},
      {"29 a captured array",
       "fn each(g: fn(f64) -> f64, x: [n]f64) -> f64 { return sum i < n { g(x[i]) } }\n"
       "fn f(x: [n]f64, y: [m]f64) -> f64 { return each(|t| t * t + y[0], x) }",
       "f",
       {Vec({1, 2, 3}), Vec({5, 7})},
       {{2, 4, 6}, {3, 0}}},
      {"a counter shared by lambdas in a loop",
       "fn f(x: [n]f64) -> f64 {\n"
       "  var seen = zeros(n)\n  var count = 0\n  var total = 1.0\n"
       "  let see = |t| { seen[count] += t * t\n count += 1\n total *= t\n total }\n"
       "  var s = 0.0\n"
       "  for i < n { if x[i] > 0.0 { s += see(x[i]) * f64(i + 1) } }\n"
       "  return s + sum i < n { seen[i] * x[i] } }",
       "f",
       {Vec({1.5, -2, 3, 0.5})},
       {}},
  };
}

std::vector<ProgramCase> Parts() {
  return {
      {"a stack in a box",
       "fn put(b: box list f64, x: f64) { set(b, push(get(b), x)) }\n"
       "fn take(b: box list f64) -> f64 { let (rest, x) = pop(get(b))\n set(b, rest)\n return x }\n"
       "fn f(x: f64) -> f64 {\n"
       "  let b: box list f64 = box(list())\n"
       "  put(b, x)\n put(b, x * x)\n put(b, 3.0)\n"
       "  let top = take(b)\n"
       "  return top * take(b) + take(b) * x }",
       "f",
       {Tensor::F64(1.5)},
       {{3 * 2 * 1.5 + 2 * 1.5}}},
      {"21 a gather by an array of indices",
       "fn f(x: [n]f64, k: [m]i64) -> f64 { return sum(x[k] * x[k]) * 0.5 + sum(exp.(x)[k][1:]) }",
       "f",
       {Vec({0.5, 1, 1.5}), IntVector({0, 1, 2, 2})},
       {}},
      {"parts of arrays that are assigned",
       "fn f(x: [n]f64, k: [m]i64) -> f64 {\n"
       "  var a = zeros(3, n)\n"
       "  a[0] = x * x\n a[1, 1:] = x[:n - 1]\n a[:, 0] += 2.0\n"
       "  a[2, k] += x[:m] * a[0, 1]\n a[k[0], ::2] = 0.25\n"
       "  return sum(a * a) }",
       "f",
       {Vec({0.5, 1, 1.5, -2}), IntVector({1, 2, 1})},
       {}},
      {"concatenation and reshaping",
       "fn f(x: [n]f64) -> f64 {\n"
       "  let a = reshape(concat(x, x * x), 2, n)\n"
       "  let b = flatten(concat(a, a @ a.T * [1.0, 2.0, 3.0][:2] @ a))\n"
       "  return sum(b * b) }",
       "f",
       {Vec({0.5, 1, -1.5})},
       {}},
  };
}

std::vector<ProgramCase> Functions() {
  return {
      {"functions in a list, a struct and a variable",
       R"(struct Layer { w: [_]f64, act: fn(f64) -> f64 }
fn run(net: list Layer, x: f64) -> f64 {
  var y = x
  for i < len(net) {
    let l = net[i]
    let z = sum j < len(l.w) { l.w[j] * y }
    let act = l.act
    y = act(z)
  }
  return y
}
fn f(w: [n]f64, x: f64, k: i64) -> f64 {
  var net = list(Layer(w, tanh), Layer(2.0 * w, |t| t * x))
  var g: fn(f64) -> f64 = |t| t
  for i < k { let h = g
    g = |t| h(t) * w[i] + x }
  net[0].act = if k > 1 { sin } else { cos }
  return run(net, x) + g(x)
})",
       "f",
       {Vec({0.5, 1.25, 2.0}), Tensor::F64(0.75), Tensor::I64(2)},
       {}},
      {"chosen by a branch",
       "fn pick(k: i64, a: f64) -> fn(f64) -> f64 {\n"
       "  if k == 0 { return square }\n"
       "  if k == 1 { return |x| a * x }\n"
       "  let g = pick(k - 1, a * a)\n"
       "  return |x| g(x) + a }\n"
       "fn f(x: f64, a: f64) -> f64 { return pick(0, a)(x) + pick(1, a)(x) + pick(3, a)(x) }",
       "f",
       {Tensor::F64(2), Tensor::F64(3)},
       {{4 + 3 + 81}, {2 + 4 * 27 * 2 + 1 + 6}}},
      {"recursion with a closure that grows",
       "fn go(g: fn(f64) -> f64, n: i64, x: f64) -> f64 {\n"
       "  if n == 0 { return g(x) }\n"
       "  return go(|t| g(t) * t + 1.0, n - 1, x) }\n"
       "fn f(x: f64, a: f64) -> f64 { return go(|t| t * a, 6, x) }",
       "f",
       {Tensor::F64(0.5), Tensor::F64(3)},
       {}},
      {"a function value whose code differentiates a caller of function values",
       "fn h(x: f64) -> f64 {\n"
       "  var g: fn(f64) -> f64 = |t| t * t * x\n"
       "  if x > 2.0 { g = sin }\n"
       "  return g(x) }\n"
       "fn f(x: f64) -> f64 {\n"
       "  let l: list fn(f64) -> f64 = list(|t| grad(h)(t) * x, |t| 2.0 * t)\n"
       "  return l[0](x) * l[1](x) }",
       "f",
       {Tensor::F64(0.5)},
       {{3}}},
      {"a function value whose code differentiates another one",
       "fn f(x: f64, k: i64) -> f64 {\n"
       "  var g: fn(f64) -> f64 = |t| t * t * t * x\n"
       "  if k > 5 { g = sin }\n"
       "  let inner = g\n"
       "  let l: list fn(f64) -> f64 = list(|t| t * hessian(grad(inner))(x), tanh)\n"
       "  var v = x\n"
       "  for i < k { v = l[i % 2](v) }\n"
       "  return v }",
       "f",
       {Tensor::F64(0.5), Tensor::I64(3)},
       {}},
      {"a list of no functions",
       "fn f(x: f64, k: i64) -> f64 {\n"
       "  let fs: list fn(f64) -> f64 = list()\n"
       "  var y = x * x\n"
       "  for i < k { y = fs[i](y) }\n"
       "  return y }",
       "f",
       {Tensor::F64(2), Tensor::I64(0)},
       {{4}}},
      {"a list of functions that share a variable, one of them run again",
       "fn f(x: f64, k: i64) -> f64 {\n"
       "  var s = x\n"
       "  let l: list fn(f64) -> f64 = list(|t| t * checkpoint(|u: f64| u * s)(t), tanh)\n"
       "  var v = -x\n"
       "  for i < k + 1 { v = l[i % 2](v) }\n"
       "  s *= x\n"
       "  return v + s }",
       "f",
       {Tensor::F64(0.5), Tensor::I64(3)},
       {}},
      {"functions in a list share a variable",
       "fn f(x: f64) -> f64 {\n"
       "  var y = x\n"
       "  let fs: list fn(f64) -> f64 = list(|t| { y *= t\n y }, |t| { y += t\n y })\n"
       "  var s = 0.0\n"
       "  for i < 4 { s += fs[i % 2](x) }\n"
       "  return s + y }",
       "f",
       {Tensor::F64(1.5)},
       {}},
  };
}

}  // namespace

const std::vector<ProgramCase>& DataPrograms() {
  static const std::vector<ProgramCase> programs = [] {
    std::vector<ProgramCase> all;
    for (const auto& part : {Lists(), Boxes(), Functions(), Parts()})
      all.insert(all.end(), part.begin(), part.end());
    all.insert(all.end(), StructArrayPrograms().begin(), StructArrayPrograms().end());
    return all;
  }();
  return programs;
}

}  // namespace pullback::testing
