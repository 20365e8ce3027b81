// The programs of dF~'s Figures 9 to 11.
#pragma once

namespace pullback::bench {

inline constexpr char kDftildePrograms[] = R"(
fn dot(a: [n]f64, b: [n]f64) -> f64 { return vectorDot(a, b) }
fn greatest(a: [n]f64) -> f64 { return max i < n { a[i] } }
fn added(a: [n]f64, b: [n]f64) -> [n]f64 { return vectorAdd(a, b) }
fn scaled(a: [n]f64, s: f64) -> [n]f64 { return vectorSMul(a, s) }

fn nnmf(u: [n]f64, v: [m]f64, a: [n, m]f64) -> f64 {
  let w = vectorOutProd(u, v)
  return sum i < n, j < m { log(w[i, j]) + a[i, j] / w[i, j] }
}

# Figure 12, whose vectorNorm is the squared norm. At rotation 0 the rotated point is x + r × x.
fn rodrigues(r0: f64, r1: f64, r2: f64, x0: f64, x1: f64, x2: f64) -> (f64, f64, f64) {
  let sq = r0 * r0 + r1 * r1 + r2 * r2
  if sq == 0.0 {
    return (x0 + r1 * x2 - r2 * x1, x1 + r2 * x0 - r0 * x2, x2 + r0 * x1 - r1 * x0)
  }
  let theta = sqrt(sq)
  let c = cos(theta)
  let s = sin(theta)
  let w0 = r0 / theta
  let w1 = r1 / theta
  let w2 = r2 / theta
  let tmp = (w0 * x0 + w1 * x1 + w2 * x2) * (1.0 - c)
  return (x0 * c + (w1 * x2 - w2 * x1) * s + w0 * tmp, x1 * c + (w2 * x0 - w0 * x2) * s + w1 * tmp,
          x2 * c + (w0 * x1 - w1 * x0) * s + w2 * tmp)
}
fn pixel(r0: f64, r1: f64, r2: f64, c0: f64, c1: f64, c2: f64, f: f64, u: f64, v: f64, k1: f64,
         k2: f64, x0: f64, x1: f64, x2: f64) -> (f64, f64) {
  let (p0, p1, p2) = rodrigues(r0, r1, r2, x0 - c0, x1 - c1, x2 - c2)
  let e0 = p0 / p2
  let e1 = p1 / p2
  let sq = e0 * e0 + e1 * e1
  let scale = 1.0 + k1 * sq + k2 * sq * sq
  return (u + e0 * scale * f, v + e1 * scale * f)
}
fn project(cam: [11]f64, x: [n, 3]f64) -> [n, 2]f64 {
  let (u, v) = pixel.(cam[0], cam[1], cam[2], cam[3], cam[4], cam[5], cam[6], cam[7], cam[8],
                      cam[9], cam[10], x[:, 0], x[:, 1], x[:, 2])
  return gen i < n, j < 2 { if j == 0 { u[i] } else { v[i] } }
}
)";

}  // namespace pullback::bench
