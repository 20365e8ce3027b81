#include "tests/support/fake_cublas.h"

#include "tests/support/fake_driver.h"

namespace pullback::jit::cuda {

struct BlasHandleTag {};

}  // namespace pullback::jit::cuda

namespace pullback::testing {
namespace {

using namespace jit::cuda;  // NOLINT

constexpr BlasResult kExecutionFailed = 13;

int64_t live_handles = 0;

BlasResult CublasCall() {
  const Result result = TheFakeDriver().Call();
  if (result == kSuccess) return kBlasSuccess;
  return result == kOutOfMemory ? kBlasAllocationFailed : kExecutionFailed;
}

BlasResult GetProperty(int property, int* value) {
  constexpr int kVersion[] = {12, 4, 5};
  *value = kVersion[property];
  return kBlasSuccess;
}
BlasResult Create(BlasHandle* handle) {
  if (const BlasResult r = CublasCall(); r != kBlasSuccess) return r;
  *handle = new BlasHandleTag;
  ++live_handles;
  return kBlasSuccess;
}
BlasResult Destroy(BlasHandle handle) {
  delete handle;
  --live_handles;
  return kBlasSuccess;
}

// By the definition, column-major, in ascending order of the inner axis.
template <typename T>
BlasResult Multiply(BlasHandle, int operation_a, int operation_b, int m, int n, int k,
                    const T* alpha, const T* a, int line_a, long long apart_a, const T* b,
                    int line_b, long long apart_b, const T* beta, T* to, int line_to,
                    long long apart_to, int count) {
  if (line_a < (operation_a == kPlain ? m : k) || line_b < (operation_b == kPlain ? k : n) ||
      line_to < m) {
    return 7;  // CUBLAS_STATUS_INVALID_VALUE
  }
  TheFakeDriver().Settle();
  if (const BlasResult r = CublasCall(); r != kBlasSuccess) return r;
  ++TheFakeDriver().multiplied;
  const auto at = [](const T* x, int line, int operation, int64_t row, int64_t column) {
    return operation == kPlain ? x[row + column * line] : x[column + row * line];
  };
  for (int p = 0; p < count; ++p, a += apart_a, b += apart_b, to += apart_to) {
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        T sum = 0;
        for (int64_t l = 0; l < k; ++l) {
          sum += at(a, line_a, operation_a, i, l) * at(b, line_b, operation_b, l, j);
        }
        T& element = to[i + j * line_to];
        element = *beta == 0 ? *alpha * sum : *alpha * sum + *beta * element;
      }
    }
  }
  return kBlasSuccess;
}

}  // namespace

StatusOr<Cublas> LoadFakeCublas() {
  if (!TheFakeDriver().cublas) return Status(Code::kFailedPrecondition, "NO_BLAS", "not asked for");
  return Cublas{GetProperty, Create, Destroy, Multiply<double>, Multiply<float>};
}

int64_t LiveCublasHandles() { return live_handles; }

}  // namespace pullback::testing
