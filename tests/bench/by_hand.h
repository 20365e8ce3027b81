// The programs of Zygote's Table 2 in C, with gradients written by hand: the same algorithms as an
// expert would write them, compiled with this file (clang -O2, glibc's math).
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

namespace pullback::by_hand {

// Results leave through here, so that nothing is optimised away.
inline void Keep(const void* p) { asm volatile("" : : "g"(p) : "memory"); }

[[gnu::noinline]] inline double SinCos(double x) { return std::sin(std::cos(x)); }
[[gnu::noinline]] inline double SinCosGrad(double x, double* dx) {
  const double c = std::cos(x), s = std::sin(x);
  *dx = -std::cos(c) * s;
  return std::sin(c);
}

[[gnu::noinline]] inline double Power(double x, int64_t n) {
  double r = 1;
  for (int64_t k = n; k > 0; --k) r *= x;
  return r;
}
// With a tape, as the reverse of a loop is written.
[[gnu::noinline]] inline double PowerGrad(double x, int64_t n, double* tape, double* dx) {
  double r = 1;
  for (int64_t k = 0; k < n; ++k) {
    tape[k] = r;
    r *= x;
  }
  double r_bar = 1, x_bar = 0;
  for (int64_t k = n; k-- > 0;) {
    x_bar += r_bar * tape[k];
    r_bar *= x;
  }
  *dx = x_bar;
  return r;
}

[[gnu::noinline]] inline double LogSumExp(const double* x, int64_t n) {
  double m = x[0];
  for (int64_t i = 1; i < n; ++i) m = x[i] > m ? x[i] : m;
  double total = 0;
  for (int64_t i = 0; i < n; ++i) total += std::exp(x[i] - m);
  return m + std::log(total);
}
[[gnu::noinline]] inline double LogSumExpGrad(const double* x, int64_t n, double* dx) {
  double m = x[0];
  for (int64_t i = 1; i < n; ++i) m = x[i] > m ? x[i] : m;
  double total = 0;
  for (int64_t i = 0; i < n; ++i) total += dx[i] = std::exp(x[i] - m);
  const double scale = 1 / total;
  for (int64_t i = 0; i < n; ++i) dx[i] *= scale;
  return m + std::log(total);
}

// z = w x + b, w of m rows.
inline void Affine(const double* w, const double* b, const double* x, int64_t m, int64_t n,
                   double* z) {
  for (int64_t i = 0; i < m; ++i) {
    double s = 0;
    for (int64_t j = 0; j < n; ++j) s += w[i * n + j] * x[j];
    z[i] = s + b[i];
  }
}
// Cross-entropy of the label; dz may be null.
inline double CrossEntropy(const double* z, int64_t m, int64_t label, double* dz) {
  double most = z[0], total = 0;
  for (int64_t i = 1; i < m; ++i) most = z[i] > most ? z[i] : most;
  double e[64];
  for (int64_t i = 0; i < m; ++i) total += e[i] = std::exp(z[i] - most);
  for (int64_t i = 0; dz && i < m; ++i) dz[i] = e[i] / total - (i == label ? 1 : 0);
  return most + std::log(total) - z[label];
}
inline void Outer(const double* a, const double* b, int64_t m, int64_t n, double* out) {
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) out[i * n + j] = a[i] * b[j];
}

[[gnu::noinline]] inline double Logistic(const double* w, const double* b, const double* x,
                                         int64_t label, int64_t m, int64_t n) {
  double z[64];
  Affine(w, b, x, m, n, z);
  return CrossEntropy(z, m, label, nullptr);
}
[[gnu::noinline]] inline double LogisticGrad(const double* w, const double* b, const double* x,
                                             int64_t label, int64_t m, int64_t n, double* dw,
                                             double* db) {
  double z[64];
  Affine(w, b, x, m, n, z);
  const double loss = CrossEntropy(z, m, label, db);
  Outer(db, x, m, n, dw);
  return loss;
}

[[gnu::noinline]] inline double Mlp(const double* w1, const double* b1, const double* w2,
                                    const double* b2, const double* x, int64_t label, int64_t n,
                                    int64_t h, int64_t m) {
  double a[64], z[64];
  Affine(w1, b1, x, h, n, a);
  for (int64_t i = 0; i < h; ++i) a[i] = 1 / (1 + std::exp(-a[i]));
  Affine(w2, b2, a, m, h, z);
  return CrossEntropy(z, m, label, nullptr);
}
[[gnu::noinline]] inline double MlpGrad(const double* w1, const double* b1, const double* w2,
                                        const double* b2, const double* x, int64_t label, int64_t n,
                                        int64_t h, int64_t m, double* dw1, double* db1, double* dw2,
                                        double* db2) {
  double a[64], z[64];
  Affine(w1, b1, x, h, n, a);
  for (int64_t i = 0; i < h; ++i) a[i] = 1 / (1 + std::exp(-a[i]));
  Affine(w2, b2, a, m, h, z);
  const double loss = CrossEntropy(z, m, label, db2);
  Outer(db2, a, m, h, dw2);
  for (int64_t j = 0; j < h; ++j) {
    double s = 0;
    for (int64_t i = 0; i < m; ++i) s += w2[i * h + j] * db2[i];
    db1[j] = s * a[j] * (1 - a[j]);
  }
  Outer(db1, x, h, n, dw1);
  return loss;
}

}  // namespace pullback::by_hand
