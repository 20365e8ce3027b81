// OpenBLAS, looked for when a program first wants it: nothing of it is needed to build Pullback or to start it.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/status.h"

namespace pullback::jit {

// Products of fewer multiplications than that are left to loops, which then are faster (docs/benchmarks.md).
struct LeastWork {
  int64_t matrix, vector;
};

// A table of the library's functions; what is in it runs on the calling thread alone. Matrices are row-major,
// with lines of `line` elements. A matrix that is transposed lies as its transpose. beta 0: the result is not
// read.
struct Blas {
  std::string
      name;  // with version and core type, which its sums depend on: "OpenBLAS 0.3.21 Haswell"
  LeastWork least{16 * 16 * 16, 64 * 64};

  void (*cblas_dgemm)(int order, int transpose_a, int transpose_b, int rows, int columns, int inner,
                      double alpha, const double* a, int line_a, const double* b, int line_b,
                      double beta, double* to, int line_to);
  void (*cblas_sgemm)(int order, int transpose_a, int transpose_b, int rows, int columns, int inner,
                      float alpha, const float* a, int line_a, const float* b, int line_b,
                      float beta, float* to, int line_to);
  void (*cblas_dgemv)(int order, int transpose, int rows, int columns, double alpha,
                      const double* a, int line_a, const double* x, int step_x, double beta,
                      double* y, int step_y);
  void (*cblas_sgemv)(int order, int transpose, int rows, int columns, float alpha, const float* a,
                      int line_a, const float* x, int step_x, float beta, float* y, int step_y);

  // to = a b + beta to, a of rows by inner, b of inner by columns.
  void Multiply(bool transposed_a, bool transposed_b, int rows, int columns, int inner,
                const double* a, int line_a, const double* b, int line_b, double beta, double* to,
                int line_to) const {
    cblas_dgemm(kRowMajor, Transpose(transposed_a), Transpose(transposed_b), rows, columns, inner,
                1, a, line_a, b, line_b, beta, to, line_to);
  }
  void Multiply(bool transposed_a, bool transposed_b, int rows, int columns, int inner,
                const float* a, int line_a, const float* b, int line_b, float beta, float* to,
                int line_to) const {
    cblas_sgemm(kRowMajor, Transpose(transposed_a), Transpose(transposed_b), rows, columns, inner,
                1, a, line_a, b, line_b, beta, to, line_to);
  }
  // y = a x + beta y, a of rows by inner.
  void MultiplyVector(bool transposed, int rows, int inner, const double* a, int line,
                      const double* x, int step_x, double beta, double* y, int step_y) const {
    cblas_dgemv(kRowMajor, Transpose(transposed), transposed ? inner : rows,
                transposed ? rows : inner, 1, a, line, x, step_x, beta, y, step_y);
  }
  void MultiplyVector(bool transposed, int rows, int inner, const float* a, int line,
                      const float* x, int step_x, float beta, float* y, int step_y) const {
    cblas_sgemv(kRowMajor, Transpose(transposed), transposed ? inner : rows,
                transposed ? rows : inner, 1, a, line, x, step_x, beta, y, step_y);
  }

 private:
  static constexpr int kRowMajor = 101;                                 // CBLAS_ORDER
  static constexpr int Transpose(bool yes) { return yes ? 112 : 111; }  // CBLAS_TRANSPOSE
};

// OpenBLAS works in a buffer that it maps, and keeps, for each of its calls that run at once; where it gets none it
// asks again for ever. So a call stands inside one of these, which looks for room when more calls run than ever did.
// Who else maps memory at that moment can still take it.
class BlasBuffer {
 public:
  static constexpr int64_t kBytes = (int64_t{128} << 20) + (int64_t{1} << 20);

  BlasBuffer();
  ~BlasBuffer();
  BlasBuffer(const BlasBuffer&) = delete;
  BlasBuffer& operator=(const BlasBuffer&) = delete;
  // Otherwise there is no room, and no call may be made.
  bool ok() const { return ok_; }

 private:
  bool ok_;
};

inline constexpr const char* kBlasLibrary = "libopenblas.so.0";
// The same table for every call with this name; it stays good for as long as the process lives. Thread-safe.
// FAILED_PRECONDITION, NO_BLAS, where there is none, or it lacks a function.
StatusOr<const Blas*> LoadBlas(const std::string& library = kBlasLibrary);

}  // namespace pullback::jit
