// Programs with relations whose arguments are data or computed, and with several relations in one condition.
#include "tests/support/relations.h"

namespace pullback::testing {
std::vector<RelationProgram> KeyPrograms() {
  const TestRelation square = RandomRelation({6, 6}, 14, 1), wide = RandomRelation({6, 4}, 9, 2);
  const TestRelation tall = RandomRelation({12, 4}, 20, 3),
                     triple = RandomRelation({4, 5, 3}, 17, 4), set = RandomRelation({6}, 3, 5);
  const Tensor x = PositiveFloats({6}), y = PositiveFloats({4}), five = PositiveFloats({5});
  const Tensor k = IntVector({3, 0, 5, 5, 3}), p = IntVector({4, 4, 0, 2, 1});
  return {
      {"keys of keys",
       R"(fn f(r: rel[n, m], k: [l]i64, p: [l]i64, x: [l]f64, y: [m]f64) -> ([l]f64, [l]f64, f64, [l]f64) {
         return (gen i < l { sum j < m { [r(k[p[i]], j)] * x[i] * y[j] } },
                 gen i < l { x[i] * sin(x[i] + sum j < m { [r(k[p[i]], j) and y[j] > 0.5] * y[j] }) },
                 sum i < l, j < m { [i > 0 and r(k[p[i]], j)] * x[i] * y[j] * y[j] },
                 gen i < l { [x[i] > 0.5] * sum j < m { [i < 4 and r(k[p[i]], j)] * x[i] * y[j] } }) })",
       {wide},
       {k, p, five, y}},
      {"keys of keys: a number",
       R"(fn f(r: rel[n, m], k: [l]i64, p: [l]i64, y: [m]f64) -> f64 {
         return sum j < m { [r(k[p[1]], j)] * y[j] * y[j] } })",
       {wide},
       {k, p, y}},
      {"keys of keys: reductions by neighbours",
       R"(fn f(r: rel[n, m], k: [l]i64, p: [l]i64, x: [l]f64, y: [m]f64) -> ([l]f64, [l]f64, [l]i64, [l]f64) {
         return (gen i < l { max j < m { [r(k[p[i]], j)] * x[i] * (y[j] - 0.9) } },
                 gen i < l { prod j < m { if r(k[p[i]], j) { y[j] * x[i] } else { 1.0 } } },
                 gen i < l { argmin j < m { [r(k[p[i]], j)] * (y[j] - 0.9) } },
                 gen i < l { [and j < m { not r(k[p[i]], j) or y[j] > 0.5 }] * x[i] }) })",
       {wide},
       {k, p, five, y}},
      {"keys of keys, in loops",
       R"(fn f(r: rel[n, m], k: [l]i64, p: [l]i64, x: [l]f64, y: [m]f64) -> f64 {
         var s = 1.0
         for i < l { s = 0.5 * s + sin(s) * sum j < m { [r(k[p[i]], j)] * y[j] * x[i] } }
         for i < l { s = 0.5 * s + sin(s) * max j < m { [r(k[p[i]], j)] * (y[j] - 0.9) * x[i] } }
         return s })",
       {wide},
       {k, p, five, y}},
      {"keys of two indices",
       R"(fn f(r: rel[q, m], x: [n]f64, y: [m]f64) -> ([n, 3]f64, [n]f64, f64, [n]f64) {
         return (gen i < n, l < 3 { sum j < m { [r(i + l, j)] * x[i] * y[j] } },
                 gen i < n { x[i] * exp(sum l < 3, j < m { [r(i + l, j)] * x[l] * x[i] * y[j] }) },
                 sum i < n, l < 2, j < m { [r(2 * i - l + 1, j) and x[l] > 0.4] * x[i] * y[j] },
                 gen i < n { sum l < i, j < m { [r(i + l, j)] * x[l] * y[j] } }) })",
       {tall},
       {x, y}},
      {"keys of two indices: one around, by an element",
       R"(fn f(r: rel[q, m], k: [a, b]i64, x: [a]f64, y: [m]f64, z: [b]f64) -> ([a, b]f64, [a]f64, f64, [b]f64) {
         return (gen i < a, l < b { z[l] * exp(sum j < m { [r(k[i, l], j)] * x[i] * y[j] }) },
                 gen i < a { sum l < b, j < m { [r(k[i, l], j)] * x[i] * y[j] * z[l] } },
                 sum i < a, j < m, l < b { [r(k[i, l] + 1, j) and z[l] > 0.5] * x[i] * y[j] * z[l] },
                 gen l < b { sin(z[l]) * sum i < a { x[i] + sum j < m { [r(k[i, l], j)] * y[j] * z[l] } } }) })",
       {tall},
       {Tensor::Of<int64_t>(DType::kI64, {2, 3}, {3, 0, 10, 7, 3, 1}), PositiveFloats({2}), y,
        PositiveFloats({3})}},
      {"keys of three indices",
       R"(fn f(r: rel[q, m], x: [n]f64, y: [m]f64) -> ([3]f64, [2, 3, 2]f64) {
         return (gen i < 3 { x[i] * sum a < 2, b < 3, j < m { [r(a + 2 * b + i, j)] * x[a] * x[b] * y[j] } },
                 gen a < 2, b < 3, c < 2 { x[a] + sum j < m { [r(a + 2 * b + 3 * c, j)] * x[b] * y[j] } }) })",
       {tall},
       {x, y}},
      {"quotients and extrema as keys",
       R"(fn f(r: rel[n, m], x: [n]f64, y: [m]f64) -> ([n]f64, [n]f64, [n]f64, f64) {
         return (gen i < n { sum j < m { [r(i / 2, j)] * x[i] * y[j] } },
                 gen i < n { let a = max(i - 1, 0); let b = min(i + 1, 3); sum j < m { [r(a, j) and r(i % 3, j)] * x[b] * y[j] } },
                 gen i < n { let a = max(i - 1, 0); max j < m { [r(a, j)] * x[i] * (y[j] - 0.9) } },
                 sum i < n, j < m { [r(5 - i % 4, j)] * x[i] * y[j] }) })",
       {wide},
       {x, y}},
      {"keys of what is told",
       R"(fn f(r: rel[n, l], s: rel[n, m], k: [l]i64, x: [n]f64, y: [m]f64, z: [l]f64) -> (f64, [n]f64, [n]f64, f64) {
         return (sum i < n, a < l, j < m { [r(i, a) and s(k[a], j)] * x[i] * y[j] * z[a] },
                 gen i < n { sum a < l, j < m { [r(i, a) and s(k[a], j)] * x[i] * y[j] * z[a] } },
                 gen i < n { x[i] * sum a < l { [r(i, a)] * z[a] * exp(sum j < m { [s(k[a], j)] * y[j] * x[i] }) } },
                 sum i < n, a in 1..l, j < m { [r(i, a - 1) and s(k[a], j)] * x[i] * y[j] * z[a] }) })",
       {RandomRelation({6, 5}, 11, 6), wide},
       {k, x, y, five}},
      {"keys: casts and branches",
       R"(fn f(r: rel[n, m], k: [l]i64, x: [l]f64, y: [m]f64) -> ([l]f64, [l]f64, f64, [l]f64, [l]f64, [m]f64) {
         return (gen i < l { sum j < m { [r(i64(1.9 * x[i]), j)] * x[i] * y[j] } },
                 gen i < l { x[i] * sin(x[i] + sum j < m { [r(if i > 0 { k[i - 1] } else { 4 }, j) and y[j] > 0.5] * y[j] }) },
                 sum i < l, j < m { [i > 0 and r(i64(floor(x[i] + y[0])), j)] * x[i] * y[j] * y[j] },
                 gen i < l { max j < m { [r(if x[i] > 0.7 and k[i] < 5 { k[i] } else { i }, j)] * x[i] * (y[j] - 0.9) } },
                 gen i < l { [x[i] > 0.5] * sum j < m { [(i < 2 or k[i] > 3) and r(i64(x[i] > 1.0), j)] * x[i] * y[j] } },
                 gen j < m { max i < l { [r(if i < 2 { 3 * i } else { k[i] }, j)] * y[j] * (x[i] - 0.9) } }) })",
       {wide},
       {k, five, y}},
      {"keys: calls",
       R"(fn next(i: i64) -> i64 { if i == 5 { return 0 } return i + 1 }
       fn bin(x: f64) -> i64 { let a = i64(1.9 * x); return min(max(a, 0), 5) }
       fn root(i: i64) -> i64 { var s = 0; while s * s < i { s += 1 } return s }
       fn f(r: rel[n, m], k: [l]i64, x: [l]f64, y: [m]f64) -> ([l]f64, [l]f64, f64, [l]f64, [m]f64, f64) {
         var s = 1.0
         for i < l { s = 0.5 * s + sin(s) * sum j < m { [r(root(i), j)] * y[j] * x[i] } }
         return (gen i < l { sum j < m { [r(next(k[i]), j)] * x[i] * y[j] } },
                 gen i < l { let b = root(k[i]); x[i] * sin(x[i] + sum j < m { [r(b, j) and y[j] > 0.5] * y[j] }) },
                 sum i < l, j < m { [root(i) < 2 and r(bin(x[i]), j)] * x[i] * y[j] * y[j] },
                 gen i < l { prod j < m { if r(next(i), j) { y[j] * x[i] } else { 1.0 } } },
                 gen j < m { max i < l { [r(bin(x[i]), j)] * y[j] * (x[i] - 0.9) } }, s) })",
       {wide},
       {k, five, y}},
      {"keys that may trap behind what is told",
       R"(fn f(r: rel[n, m], s: rel[n, l], t: rel[n, m, l], k: [l]i64, p: [l]i64, x: [l]f64, y: [m]f64) -> ([l]f64, [l]f64, f64, [l]f64, f64, [n]f64, [l]f64) {
         return (gen i < l { sum j < m { [y[j] > 0.5 and r(k[p[i]], j)] * x[i] * y[j] } },
                 gen i < l { x[i] * sin(x[i] + sum j < m { [y[j] > 0.9 * x[i] and i > 0 and r(k[i - 1], j)] * y[j] }) },
                 sum i < l, j < m { [j < 3 and r(k[p[i] - 1], j)] * x[i] * y[j] * y[j] },
                 gen i < l { [x[i] > 0.5] * sum j < m { [y[j] > 0.4 and r(k[p[i] - 1], j)] * x[i] * y[j] } },
                 sum i < n, a < l, j < m { [s(i, a) and r(k[p[a]], j)] * x[a] * y[j] },
                 gen i < n { sum a < l { [s(i, a)] * x[a] * exp(sum j < m { [r(k[p[a]], j)] * y[j] * x[a] }) } },
                 gen i < l { sum j < m, a in 1..l { [y[j] > 0.5 and t(k[p[i]], m - 1 - j, a - 1)] * x[a] * y[j] * x[i] } }) })",
       {wide, RandomRelation({6, 5}, 11, 6), RandomRelation({6, 4, 5}, 40, 8)},
       {k, IntVector({4, 1, 2, 2, 1}), five, y}},
      {"keys that may trap: numbers, signs, sums behind the relation",
       R"(fn f(r: rel[n, m], k: [l]i64, p: [l]i64, x: [l]f64, y: [m]f64) -> (f64, [m]f64, [l]f64, f64) {
         return (sum j < m { [y[j] > 0.5 and r(k[p[1]], j)] * y[j] * y[j] },
                 gen j < m { y[j] * sum i < l { [x[i] > 0.5 and r(k[p[i]], m - 1 - j)] * x[i] * y[j] } },
                 gen i < l { sum j < m { [y[j] > 0.5 and r(k[p[i]], 3 - j)] * y[j] * (sum a < l { [r(k[a], j)] * x[a] }) } },
                 sum i < l, j < m, a < l { [y[j] > 0.5 and r(k[p[i]], j) and a == p[j]] * x[a] * x[i] * y[j] }) })",
       {wide},
       {k, p, five, y}},
      {"keys: arms with lets",
       R"(fn f(r: rel[n, m], k: [l]i64, x: [l]f64, y: [m]f64) -> ([l]f64, [l]f64, [l]f64, [l]f64, [l]f64) {
         return (gen i < l { sum j < m { [r(if i > 0 { let a = k[i - 1]; a } else { 4 }, j)] * x[i] * y[j] } },
                 gen i < l { max j < m { [r(if x[i] > 0.7 { let a = k[i]; a } else { i }, j)] * x[i] * (y[j] - 0.9) } },
                 gen i < l { prod j < m { if r(i, j) { let d = y[j] - x[i]; d * d } else { let one = 1.0; one } } },
                 gen i < l { max j < m { if r(k[i], j) { let d = y[j]; d * x[i] } else { let z = 0.2 * x[i]; z + 0.3 } } },
                 gen i < l { min j < m { if x[i] > 0.7 { let w = 2.0; if r(i, j) { w * y[j] * x[i] } else { w } } else { 0.0 } } }) })",
       {wide},
       {k, five, y}},
      {"keys: two functions of one index",
       R"(fn one(i: i64) -> i64 { return i + 1 }
       fn two(i: i64) -> i64 { return 5 - i }
       fn f(r: rel[n, m], x: [l]f64, y: [m]f64) -> [l]f64 {
         return gen i < l { max j < m { [r(one(i), j) and r(two(i), j)] * x[i] * (y[j] - 0.9) } } })",
       {RandomRelation({6, 4}, 20, 2)},
       {five, y}},
      {"a gathered binder",
       R"(fn f(r: rel[n, m], k: [l]i64, x: [n]f64, y: [l]f64) -> ([n]f64, [n]f64, [n]f64, [n]i64, [n]i64, [n]f64) {
         return (gen i < n { max j < l { [r(i, k[j])] * x[i] * (y[j] - 0.9) } },
                 gen i < n { min j < l { [r(i, k[j]) and y[j] > 0.5] * (y[j] - 0.9) + x[i] } },
                 gen i < n { prod j < l { if r(i, k[j]) { y[j] * x[i] } else { 1.0 } } },
                 gen i < n { argmax j < l { [r(i, k[j])] * (y[j] - 0.9) } },
                 gen i < n { argmin j in 1..l { [r(i, k[j])] * (y[j] - 0.9) } },
                 gen i < n { [and j < l { not r(i, k[j]) or y[j] > 0.5 }] * x[i] }) })",
       {RandomRelation({6, 4}, 12, 2)},
       {IntVector({3, 0, 1, 1, 3}), x, five}},
      {"a gathered binder: columns, computed, several",
       R"(fn f(r: rel[n, m], s: rel[q, m], k: [l]i64, x: [n]f64, y: [m]f64, z: [l]f64) -> ([m]f64, [m]f64, [m]f64, f64) {
         return (gen j < m { max i < l { [r(k[i], j)] * y[j] * (z[i] - 0.9) } },
                 gen j < m { max i < n { [s(2 * i + 1, j)] * y[j] * (x[i] - 0.9) } },
                 gen j < m { prod i in 1..l { if r(k[i] % 4, j) and r(k[i] % 4, j) { z[i] } else { 1.0 } } },
                 max i < l, j < m { [r(k[i], j)] * y[j] * z[i] }) })",
       {RandomRelation({6, 4}, 12, 2), tall},
       {k, x, y, five}},
      {"a gathered binder: sets, triples",
       R"(fn f(r: rel[n], s: rel[a, b, c], k: [l]i64, p: [l]i64, x: [n]f64, y: [b]f64, z: [l]f64) -> ([n]f64, [b]f64, [b]f64) {
         return (gen i < n { max j < l { [r(k[j])] * x[i] * (z[j] - 0.9) } },
                 gen j < b { max i < l { [s(k[i] % 4, j, 1)] * y[j] * (z[i] - 0.9) } },
                 gen j < b { prod i < l { if s(2, p[j], p[i] % 3) { z[i] } else { 1.0 } } }) })",
       {set, triple},
       {k, p, x, five, five}},
      {"a gathered binder by keys that may trap",
       R"(fn f(r: rel[n, m], k: [l]i64, p: [l]i64, x: [n]f64, y: [l]f64) -> ([n]f64, [n]f64, [n]f64, [n]i64, [n]i64, [n]f64) {
         return (gen i < n { max j < l { [j > 0 and r(i, k[j - 1])] * x[i] * (y[j] - 0.9) } },
                 gen i < n { min j < l { [y[j] > 0.5 and r(i, k[p[j]])] * (y[j] - 0.9) + x[i] } },
                 gen i < n { prod j < l { if r(i, k[p[j]]) { y[j] * x[i] } else { 1.0 } } },
                 gen i < n { argmax j < l { [r(i, k[p[j]])] * (y[j] - 0.9) } },
                 gen i < n { argmin j in 1..l { [j < 4 and r(i, k[j + 1])] * (y[j] - 0.9) } },
                 gen i < n { [and j < l { j == 0 or not r(i, k[j - 1]) or y[j] > 0.5 }] * x[i] }) })",
       {RandomRelation({6, 4}, 12, 2)},
       {IntVector({3, 0, 1, 1, 3}), p, x, five}},
      {"a gathered binder by an index around",
       R"(fn f(r: rel[n, m], q: [a, l]i64, x: [n]f64, y: [l]f64) -> ([a, n]f64, f64, [n]f64) {
         return (gen b < a, i < n { max j < l { [r(i, q[b, j])] * x[i] * (y[j] - 0.9) } },
                 sum b < a { y[b] * sum(gen i < n { min j < l { [r(i, q[b, (j + b) % l])] * (y[j] - 0.9) * x[i] } }) },
                 gen i < n { sum b < a { x[i] * max j < l { [r(i, q[b, j])] * (y[j] - 0.9) } } }) })",
       {RandomRelation({6, 4}, 12, 2)},
       {Tensor::Of<int64_t>(DType::kI64, {2, 5}, {3, 0, 1, 1, 3, 2, 2, 0, 3, 1}), x, five}},
      {"a gathered binder in loops",
       R"(fn f(r: rel[n, m], k: [l]i64, x: [n]f64, y: [l]f64) -> f64 {
         var s = 1.0
         for i < n { s = 0.5 * s + sin(s) * max j < l { [r(i, k[j])] * (y[j] - 0.9) * x[i] } }
         var q = k
         for t < 2 {
           for i < n { s += 0.1 * sum a < 1 { x[a] * max j < l { [r(i, q[j])] * (y[j] - 0.9) * x[i] } } }
           q[t] = 2
         }
         return s })",
       {RandomRelation({6, 4}, 12, 2)},
       {IntVector({3, 0, 1, 1, 3}), x, five}},
  };
}

std::vector<RelationProgram> EitherPrograms() {
  const TestRelation square = RandomRelation({6, 6}, 14, 1), other = RandomRelation({6, 6}, 10, 7),
                     third = RandomRelation({6, 6}, 8, 9);
  const Tensor x = PositiveFloats({6}), h = PositiveFloats({6, 3});
  return {
      {"either: sums",
       R"(fn f(r: rel[n, n], s: rel[n, n], x: [n]f64) -> (f64, [n]f64, [n]f64, [n, n]f64) {
         return (sum i < n, j < n { let d = x[i] - 2.0 * x[j]; [r(i, j) or s(j, i)] * d * d },
                 gen i < n { sum j < n { [(r(i, j) or s(i, j)) and x[j] > 0.5] * x[i] * x[j] } },
                 gen i < n { x[i] * exp(sum j < n { [r(i, j) and i < 4 or s(i, j)] * x[i] * x[j] }) },
                 gen i < n, j < n { [r(i, j) or s(i, j)] * x[i] * x[j] }) })",
       {square, other},
       {x}},
      {"either: with a comparison",
       R"(fn f(r: rel[n, n], x: [n]f64) -> (f64, [n]f64, [n]f64, f64) {
         return (sum i < n, j < n { [r(i, j) or i == j] * x[i] * x[j] },
                 gen i < n { sum j < n { [j < 2 or r(j, i)] * x[i] * x[j] } },
                 gen i < n { x[i] + sum j < n { [i == j or r(i, j) or j == i + 1] * x[i] * x[j] } },
                 sum i < n { x[i] * sin(sum j < n { [r(i, j) or i == j and x[i] > 0.5] * x[j] }) }) })",
       {square},
       {x}},
      {"either: conditions on one index",
       R"(fn f(r: rel[n, n], s: rel[n, n], k: [n]i64, x: [n]f64) -> (f64, [n]f64, [n]f64, [n, n]f64, f64, f64, [n]f64, [n]f64) {
         return (sum i < n, j < n { [r(i, j) or x[j] > 0.7] * x[i] * x[j] },
                 gen i < n { sum j < n { [r(i, j) or s(j, i) or x[i] > 0.7] * x[i] * x[j] } },
                 gen i < n { x[i] * exp(0.2 * sum j < n { [r(i, j) or x[i] > 0.7 and j > 2] * x[i] * x[j] }) },
                 gen i < n, j < n { [r(i, j) or x[j] > 0.7] * x[i] * x[j] },
                 sum i < n, j < n { [r(i, j) or k[0] > 2] * x[i] * x[j] },
                 sum i < n { [exists j < n: r(i, j) or k[j] > 4 and x[i] > 0.7] * x[i] },
                 gen i < n { sum j < i { [x[j] > 0.7 or r(i, j)] * x[i] * x[j] } },
                 gen i < n { x[i] * sum j < n { [i > 0 and (r(i, j) or k[i - 1] > 2 and x[j] > 0.5)] * x[j] * x[i] } }) })",
       {square, other},
       {IntVector({3, 0, 5, 5, 1, 2}), x}},
      {"either: conditions on the binder, in other reductions",
       R"(fn f(r: rel[n, n], k: [n]i64, x: [n]f64) -> ([n]f64, [n]f64, [n]i64, [n]f64, [n]f64) {
         return (gen i < n { max j < n { [r(i, j) or x[j] > 0.7] * x[i] * (x[j] - 0.9) } },
                 gen i < n { prod j < n { if k[j] > 4 or r(i, j) { x[j] } else { 1.0 } } },
                 gen i < n { argmax j < n { [r(i, j) or k[k[j]] < 2] * (x[j] - 0.9) } },
                 gen i < n { [and j < n { not (r(i, j) or x[j] > 0.7) or x[j] > x[i] }] * x[i] },
                 gen i < n { min j < n { [r(i, j) or not (x[j] > 0.7)] * x[i] * (x[j] - 0.9) } }) })",
       {square},
       {IntVector({3, 0, 5, 5, 1, 2}), x}},
      {"either: many cases, and keys that branch",
       R"(fn f(r: rel[n, n], s: rel[n, n], t: rel[n, n], k: [n]i64, x: [n]f64) -> (f64, [n]f64, [n]f64) {
         return (sum i < n, j < n { [r(i, j) or s(i, j) or t(j, i) or i == j or r(k[i], j) or s(j, i)] * x[i] * x[j] },
                 gen i < n { sum j < n { [r(if i > 2 { let a = k[i]; a } else { 0 }, j) or s(i, j)] * x[i] * x[j] } },
                 gen i < n { max j < n { [r(i, j) or s(i, j) or t(j, i) or i == j or r(k[i], j) or s(j, i)] * x[i] * (x[j] - 0.9) } }) })",
       {square, other, third},
       {IntVector({3, 0, 5, 5, 1, 2}), x}},
      {"either: three, and two",
       R"(fn f(r: rel[n, n], s: rel[n, n], t: rel[n, n], x: [n]f64) -> (f64, [n]f64) {
         return (sum i < n, j < n { [r(i, j) or s(i, j) or t(j, i)] * x[i] * x[j] },
                 gen i < n { sum j < n, l < n { [(r(i, j) or s(i, j)) and (s(j, l) or t(j, l))] * x[i] * x[l] * x[j] } }) })",
       {square, other, third},
       {x}},
      {"either: whether there is one",
       R"(fn f(r: rel[n, n], s: rel[n, n], x: [n]f64) -> (f64, [n]f64) {
         return (sum i < n { [exists j < n: r(i, j) or s(i, j)] * x[i] },
                 gen i < n { if exists j < n: (r(i, j) or s(j, i)) and x[j] > 0.7 { x[i] } else { x[i] * x[i] } }) })",
       {square, other},
       {x}},
      {"either: rows and guards",
       R"(fn f(r: rel[n, n], s: rel[n, n], k: [n]i64, x: [n]f64, h: [n, 3]f64) -> ([n, 3]f64, [n]f64, f64) {
         return (gen i < n { sum j < n { [r(i, j) or s(i, j)] * x[i] * h[j] } },
                 gen i < n { [i > 1] * sum j < n { [r(i, j) or s(k[i], j)] * x[i - 2] * x[j] } },
                 sum i < n { x[i] * max l < 2 { x[l] * sum j < n { [r(i, j) or s(j, i)] * x[j] } } }) })",
       {square, other},
       {IntVector({3, 0, 5, 5, 1, 2}), x, h}},
      {"either: reductions by neighbours",
       R"(fn f(r: rel[n, n], s: rel[n, n], k: [n]i64, x: [n]f64) -> ([n]f64, [n]f64, [n]i64, [n]f64, [n]f64, [n]f64) {
         return (gen i < n { max j < n { [r(i, j) or s(j, i)] * x[i] * (x[j] - 0.9) } },
                 gen i < n { prod j < n { if r(i, j) or s(i, j) { x[j] + x[i] } else { 1.0 } } },
                 gen i < n { argmin j < n { [r(i, j) or i == j] * (x[j] - 0.9) } },
                 gen i < n { [and j < n { not (r(i, j) or s(k[i], j)) or x[j] > 0.5 }] * x[i] },
                 gen i < n { min j in 1..n { [r(i, j)] * x[j] - [s(i, j - 1)] * x[i] } },
                 gen i < n { max j < n { [r(i, j) or j == n - 1 - i or s(k[j], i)] * x[i] * (x[j] - 0.9) } }) })",
       {square, other},
       {IntVector({3, 0, 5, 5, 1, 2}), x}},
      {"either: ties",
       R"(fn f(r: rel[n, n], s: rel[n, n], x: [n]f64) -> ([n]f64, [n]i64, [n]i64) {
         return (gen i < n { max j < n { [r(i, j) or s(i, j)] * x[i] * min(x[j] - 0.9, 0.0) } },
                 gen i < n { argmax j < n { [r(i, j) or s(i, j)] * min(x[j] - 0.9, 0.0) } },
                 gen i < n { argmin j < n { [r(i, j) or s(j, i)] * max(x[j] - 0.9, 0.0) } }) })",
       {square, other},
       {x}},
  };
}

}  // namespace pullback::testing
