// cuBLAS, as far as we use it: declared here, found at run time. Nothing of it is needed to build Pullback, to start
// it or to run on a device, where our own kernels take what it would. A table is also what tests put in its place.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "jit/runtime/blas.h"

namespace pullback::jit::cuda {

using BlasResult = int;  // cublasStatus_t
inline constexpr BlasResult kBlasSuccess = 0;
inline constexpr BlasResult kBlasAllocationFailed = 3;
using BlasHandle = struct BlasHandleTag*;  // of the context that was current when it was made
inline constexpr int kPlain = 0, kTransposed = 1;         // cublasOperation_t
inline constexpr int kMajor = 0, kMinor = 1, kPatch = 2;  // libraryPropertyType

// Members are named as the functions are, without the versions of their symbols. Matrices are column-major: `m` by
// `n` the result, `k` the inner axis; there are `count` products, so far apart in each array.
struct Cublas {
  BlasResult (*cublasGetProperty)(int property, int* value);
  BlasResult (*cublasCreate)(BlasHandle* handle);
  BlasResult (*cublasDestroy)(BlasHandle handle);
  BlasResult (*cublasDgemmStridedBatched)(BlasHandle handle, int operation_a, int operation_b,
                                          int m, int n, int k, const double* alpha, const double* a,
                                          int line_a, long long apart_a, const double* b,
                                          int line_b, long long apart_b, const double* beta,
                                          double* to, int line_to, long long apart_to, int count);
  BlasResult (*cublasSgemmStridedBatched)(BlasHandle handle, int operation_a, int operation_b,
                                          int m, int n, int k, const float* alpha, const float* a,
                                          int line_a, long long apart_a, const float* b, int line_b,
                                          long long apart_b, const float* beta, float* to,
                                          int line_to, long long apart_to, int count);
};

// Below that a launch of our own is as good.
inline constexpr LeastWork kCublasLeast{32 * 32 * 32, 256 * 256};

// "cuBLAS 12.4.5".
std::string NameOf(const Cublas& cublas);
// From the first library that is there. FAILED_PRECONDITION, NO_BLAS, where there is none, or it lacks a function.
StatusOr<Cublas> LoadCublas(const std::vector<std::string>& libraries = {
                                "libcublas.so.13", "libcublas.so.12", "libcublas.so.11"});

using CublasLoader = std::function<StatusOr<Cublas>()>;

}  // namespace pullback::jit::cuda
