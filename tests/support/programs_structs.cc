// Programs with arrays of tuples and structs.
#include "tests/support/programs.h"

#include "tests/support/derivatives.h"
#include "tests/support/relations.h"

namespace pullback::testing {
namespace {

std::vector<ProgramCase> Made() {
  return {
      {"an array of points and its norms",
       R"(struct Point { x: f64, y: f64 }
fn norm(p: Point) -> f64 { return sqrt(p.x * p.x + p.y * p.y) }
fn f(a: [n]f64, b: [n]f64) -> f64 {
  let ps = gen i < n { Point(x: sin(a[i]), y: a[i] * b[i]) }
  return sum i < n { norm(ps[i]) * ps[n - 1 - i].x }
})",
       "f",
       {Vec({0.5, 1.25, 2.0}), Vec({1.5, -0.5, 0.75})},
       {}},
      {"elements updated in a loop, and read by others",
       R"(struct Body { x: [2]f64, v: [2]f64, m: f64 }
fn f(a: [n]f64, t: f64) -> f64 {
  var s = gen i < n { Body([a[i], 0.5 * a[i]], [0.0, t], 1.0 + a[i] * a[i]) }
  for k < 3 {
    for i < n {
      for j < n {
        if i != j { s[i].v[0] += t * s[j].m * (s[j].x[0] - s[i].x[0]) }
      }
      s[i].x = s[i].x + t * s[i].v
    }
    s[k % n] = s[0] with m = s[k % n].m * t
    s.v[0, 0:1] = sin(s[n - 1].v[1])
  }
  return sum i < n { s[i].m * s[i].x[0] * s[i].v[1] + s[i].x[1] }
})",
       "f",
       {Vec({0.5, 1.25, -0.75}), Tensor::F64(0.3)},
       {}},
      {"elements by index, with parts that are arrays, of ints and bools",
       R"(struct Camera { r: [3]f64, f: f64, on: bool, k: i64 }
fn see(c: Camera, x: [3]f64) -> f64 {
  return if c.on { c.f * sin(sum j < 3 { c.r[j] * x[j] }) } else { x[c.k] * c.r[0] }
}
fn f(a: [n]f64, x: [m, 3]f64, of: [m]i64) -> f64 {
  let cs = gen i < n {
    Camera(r: gen j < 3 { a[i] * f64(j + 1) }, f: cos(a[i]), on: i % 2 == 0, k: i)
  }
  return sum o < m { see(cs[of[o]], x[o]) }
})",
       "f",
       {Vec({0.5, 1.25}),
        Tensor::Of<double>(DType::kF64, {3, 3}, {1, 2, 3, 0.5, 1, 2, 0.25, 1, -1}),
        IntVector({1, 0, 1})},
       {}},
      {"bodies with loops, of several shapes",
       R"(fn f(a: [n]f64) -> f64 {
  let ps = gen i < n {
    var s = a[i]
    for j < i { s = tanh(s * a[j] + 1.0) }
    (s, gen j < n { s * a[j] }, i)
  }
  return sum i < n { ps[i].0 * ps[n - 1].1[i] * f64(ps[i].2 + 1) }
})",
       "f",
       {Vec({0.5, 1.25, 2.0})},
       {}},
  };
}

std::vector<ProgramCase> Used() {
  return {
      {"reduced by part",
       R"(fn f(a: [n]f64) -> f64 {
  let (s, m, r) = sum i < n { (a[i] * a[i], sin(a[i]), [a[i], 2.0 * a[i]]) }
  let (p, q) = prod i < n { (a[i], 1.0 + a[i]) }
  return s * m + r[0] * r[1] + p * q
})",
       "f",
       {Vec({0.5, 1.25, 2.0})},
       {}},
      {"gradients by arrays of structs are such arrays",
       R"(struct Point { x: f64, y: f64, tag: i64 }
fn energy(ps: [n]Point) -> f64 {
  return sum i < n, j < n { [i < j] * (ps[i].x - ps[j].x) ** 2 * ps[i].y * f64(ps[j].tag) }
}
fn f(a: [n]f64) -> f64 {
  let ps = gen i < n { Point(a[i], a[i] * a[i], i + 1) }
  let g = grad(energy)(ps)
  let t = jvp(|q: [n]Point| gen i < n { (q[i].x * q[i].y, q[i].x) }, ps, g)
  let (v, back) = vjp(|q: [n]Point| gen i < n { Point(sin(q[i].x), q[i].y, 0) }, ps)
  let h = back(v)
  return sum i < n { g[i].x * h[i].y + t[i].0 * h[i].x + t[i].1 }
})",
       "f",
       {Vec({0.5, 1.25, 0.75})},
       {}},
      {"in lists, structs, boxes, branches and templates",
       R"(struct Point { x: f64, y: f64 }
struct Line { ends: [2]Point, w: f64 }
fn last<T>(a: [n]T) -> T { return a[n - 1] }
fn f(a: [n]f64, t: f64) -> f64 {
  let lines = gen i < n - 1 {
    Line([Point(a[i], t), Point(a[i + 1], a[i] * t)], a[i])
  }
  var seen = list(lines.ends[0], lines[n - 2].ends)
  seen[1][0].x *= t
  let b = box(lines)
  set(b, gen i < n - 1 { lines[i] with w = a[i] * t })
  var s = 0.0
  for l in get(b) { s += l.w * l.ends[1].y - last(l.ends).x }
  let pick = if t > 0.0 { seen[0] } else { seen[1] }
  return s + pick[1].y * seen[1][0].x
})",
       "f",
       {Vec({0.5, 1.25, 2.0}), Tensor::F64(0.75)},
       {}},
      {"parts of the array moved and gathered",
       R"(fn f(a: [n]f64, k: [m]i64) -> f64 {
  var ps = gen i < n { (a[i], sin(a[i])) }
  ps[1:] = ps[:n - 1]
  ps[k] = gen j < m { (a[j] * 2.0, 3.0) }
  let qs = ps[k]
  return sum j < m { qs[j].0 * qs[j].1 } + sum(ps.1)
})",
       "f",
       {Vec({0.5, 1.25, 2.0, -0.5}), IntVector({2, 0})},
       {}},
  };
}

}  // namespace

const std::vector<ProgramCase>& StructArrayPrograms() {
  static const std::vector<ProgramCase> programs = [] {
    std::vector<ProgramCase> all = Made();
    for (const ProgramCase& p : Used()) all.push_back(p);
    return all;
  }();
  return programs;
}

}  // namespace pullback::testing
