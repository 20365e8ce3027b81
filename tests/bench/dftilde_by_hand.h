// The programs of dF~'s Figures 9 to 11 (Shaikhha et al.) in C, with derivatives written by hand as an expert would
// write them, compiled with the benchmark (clang -O2, glibc's math).
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

namespace pullback::by_hand {

// --- Figure 9

[[gnu::noinline]] inline double Dot(const double* a, const double* b, int64_t n) {
  double s = 0;
  for (int64_t i = 0; i < n; ++i) s += a[i] * b[i];
  return s;
}
[[gnu::noinline]] inline double DotGrad(const double* a, const double* b, int64_t n, double* da) {
  std::memcpy(da, b, static_cast<size_t>(n) * sizeof(double));
  return Dot(a, b, n);
}

[[gnu::noinline]] inline double Max(const double* a, int64_t n) {
  double m = -INFINITY;
  for (int64_t i = 0; i < n; ++i) m = a[i] > m ? a[i] : m;
  return m;
}
[[gnu::noinline]] inline double MaxGrad(const double* a, int64_t n, double* da) {
  int64_t at = 0;
  for (int64_t i = 1; i < n; ++i) at = a[i] > a[at] ? i : at;
  std::memset(da, 0, static_cast<size_t>(n) * sizeof(double));
  da[at] = 1;
  return a[at];
}

[[gnu::noinline]] inline void Add(const double* a, const double* b, int64_t n, double* y) {
  for (int64_t i = 0; i < n; ++i) y[i] = a[i] + b[i];
}
// da: n by n.
[[gnu::noinline]] inline void AddJacobian(const double* a, const double* b, int64_t n, double* y,
                                          double* da) {
  Add(a, b, n, y);
  std::memset(da, 0, static_cast<size_t>(n * n) * sizeof(double));
  for (int64_t i = 0; i < n; ++i) da[i * n + i] = 1;
}

[[gnu::noinline]] inline void Scale(const double* a, double s, int64_t n, double* y) {
  for (int64_t i = 0; i < n; ++i) y[i] = a[i] * s;
}
[[gnu::noinline]] inline void ScaleByScalar(const double* a, double s, int64_t n, double* y,
                                            double* ds) {
  Scale(a, s, n, y);
  std::memcpy(ds, a, static_cast<size_t>(n) * sizeof(double));
}

// --- Figure 10: sum of log(u v') + A / (u v'), by v

[[gnu::noinline]] inline double Nnmf(const double* u, const double* v, const double* a, int64_t n,
                                     int64_t m) {
  double d = 0;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < m; ++j) {
      const double w = u[i] * v[j];
      d += std::log(w) + a[i * m + j] / w;
    }
  }
  return d;
}
[[gnu::noinline]] inline double NnmfGrad(const double* u, const double* v, const double* a,
                                         int64_t n, int64_t m, double* dv) {
  double d = 0;
  std::memset(dv, 0, static_cast<size_t>(m) * sizeof(double));
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < m; ++j) {
      const double w = u[i] * v[j], r = 1 / w, q = a[i * m + j] * r;
      d += std::log(w) + q;
      dv[j] += u[i] * (r - q * r);
    }
  }
  return d;
}

// --- Figure 11: a camera (rotation 3, centre 3, focal length, principal point 2, distortion 2) and n points

struct Rotation {
  double m[3][3];      // the matrix
  double by[3][3][3];  // by[k]: its derivative by the k-th number of the rotation
};
inline void Cross(const double w[3], double m[3][3]) {
  const double c[3][3] = {{0, -w[2], w[1]}, {w[2], 0, -w[0]}, {-w[1], w[0], 0}};
  std::memcpy(m, c, sizeof c);
}
// I cos t + [w] sin t + w w' (1 - cos t) with r = t w; at 0, I + [r].
inline Rotation Rotate(const double r[3]) {
  Rotation out{};
  const double sq = r[0] * r[0] + r[1] * r[1] + r[2] * r[2];
  double unit[3][3][3];
  for (int k = 0; k < 3; ++k) {
    const double e[3] = {k == 0 ? 1. : 0., k == 1 ? 1. : 0., k == 2 ? 1. : 0.};
    Cross(e, unit[k]);
  }
  if (sq == 0) {
    Cross(r, out.m);
    for (int i = 0; i < 3; ++i) out.m[i][i] += 1;
    std::memcpy(out.by, unit, sizeof unit);
    return out;
  }
  const double t = std::sqrt(sq), c = std::cos(t), s = std::sin(t);
  const double w[3] = {r[0] / t, r[1] / t, r[2] / t};
  double wx[3][3];
  Cross(w, wx);
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j)
      out.m[i][j] = (i == j ? c : 0) + wx[i][j] * s + w[i] * w[j] * (1 - c);
  }
  for (int k = 0; k < 3; ++k) {
    double dw[3], dwx[3][3];
    for (int i = 0; i < 3; ++i) dw[i] = ((i == k ? 1 : 0) - w[i] * w[k]) / t;
    Cross(dw, dwx);
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 3; ++j) {
        out.by[k][i][j] = (i == j ? -s * w[k] : 0) + dwx[i][j] * s + wx[i][j] * c * w[k] +
                          (dw[i] * w[j] + w[i] * dw[j]) * (1 - c) + w[i] * w[j] * s * w[k];
      }
    }
  }
  return out;
}

// y: n by 2; jacobian: n by 2 by 11.
[[gnu::noinline]] inline void ProjectJacobian(const double* cam, const double* x, int64_t n,
                                              double* y, double* jacobian) {
  const Rotation rotation = Rotate(cam);
  const double f = cam[6], k1 = cam[9], k2 = cam[10];
  for (int64_t at = 0; at < n; ++at) {
    double d[3], p[3], dp[6][3];
    for (int i = 0; i < 3; ++i) d[i] = x[3 * at + i] - cam[3 + i];
    for (int i = 0; i < 3; ++i) {
      p[i] = 0;
      for (int j = 0; j < 3; ++j) p[i] += rotation.m[i][j] * d[j];
      for (int k = 0; k < 3; ++k) {
        dp[k][i] = 0;
        for (int j = 0; j < 3; ++j) dp[k][i] += rotation.by[k][i][j] * d[j];
        dp[3 + k][i] = -rotation.m[i][k];
      }
    }
    const double z = 1 / p[2], e[2] = {p[0] * z, p[1] * z}, sq = e[0] * e[0] + e[1] * e[1];
    const double scale = 1 + k1 * sq + k2 * sq * sq, dscale = 2 * (k1 + 2 * k2 * sq);
    double* const row[2] = {jacobian + 22 * at, jacobian + 22 * at + 11};
    for (int k = 0; k < 6; ++k) {
      const double de[2] = {(dp[k][0] - e[0] * dp[k][2]) * z, (dp[k][1] - e[1] * dp[k][2]) * z};
      const double dl = dscale * (e[0] * de[0] + e[1] * de[1]);
      for (int i = 0; i < 2; ++i) row[i][k] = f * (de[i] * scale + e[i] * dl);
    }
    for (int i = 0; i < 2; ++i) {
      y[2 * at + i] = cam[7 + i] + f * e[i] * scale;
      row[i][6] = e[i] * scale;
      row[i][7] = i == 0 ? 1 : 0;
      row[i][8] = i == 1 ? 1 : 0;
      row[i][9] = f * e[i] * sq;
      row[i][10] = f * e[i] * sq * sq;
    }
  }
}

}  // namespace pullback::by_hand
