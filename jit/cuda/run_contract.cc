// Contractions by cuBLAS.
#include <algorithm>

#include "jit/cuda/run.h"

namespace pullback::jit::cuda {
namespace {

// Pieces of at most so many rows, columns and steps, and so many multiplications of a batch: tens of milliseconds
// where a device is slow at f64. Between two of them the run can be stopped.
constexpr int64_t kPiece = 2048;
constexpr int64_t kBatchWork = kPiece * kPiece * kPiece;

// Products side by side: the innermost of the outer indices, where each has elements of its own.
struct Batch {
  ContractIndex index;    // extent 1: none
  MatrixProduct product;  // without it
};

Batch TakeBatch(const MatrixProduct& product) {
  Batch batch{{}, product};
  if (product.outer_count == 0) return batch;
  const ContractIndex& last = product.outer[product.outer_count - 1];
  if (last.step[0] == 0) return batch;
  batch.index = last;
  --batch.product.outer_count;
  return batch;
}

}  // namespace

// A row-major matrix is the transpose of the column-major one: to' = b' a'.
template <typename T>
bool CudaRun::Multiply(const MatrixProduct& p, const ContractIndex& batch, const BlasPiece& piece,
                       const std::array<DeviceAddress, 3>& at) {
  const size_t a = p.exchanged ? 2 : 1, b = p.exchanged ? 1 : 2;
  const auto data = [&](size_t array) { return reinterpret_cast<T*>(at[array]); };
  const auto inside = [](const MatrixProduct::Lines& m, int64_t row, int64_t column) {
    return m.transposed ? row + column * m.line : row * m.line + column;
  };
  const auto operation = [](const MatrixProduct::Lines& m) {
    return m.transposed ? kTransposed : kPlain;
  };
  const T one = 1, beta = piece.adds ? 1 : 0;
  const auto call = [&](auto* gemm) {
    return gemm(blas_, operation(p.b), operation(p.a), static_cast<int>(piece.columns),
                static_cast<int>(piece.rows), static_cast<int>(piece.inner), &one,
                data(b) + inside(p.b, piece.k, piece.column), static_cast<int>(p.b.line),
                batch.step[b], data(a) + inside(p.a, piece.row, piece.k),
                static_cast<int>(p.a.line), batch.step[a], &beta,
                data(0) + inside(p.to, piece.row, piece.column), static_cast<int>(p.to.line),
                batch.step[0], static_cast<int>(piece.count));
  };
  const Cublas& cublas = *kernels_->device().cublas();
  running_ = true;
  if constexpr (sizeof(T) == 8)
    return CheckBlas(call(cublas.cublasDgemmStridedBatched));
  else
    return CheckBlas(call(cublas.cublasSgemmStridedBatched));
}

bool CudaRun::CheckBlas(BlasResult result) {
  if (result == kBlasSuccess) return true;
  if (status_.ok()) status_ = kernels_->device().ExplainBlas(result);
  kernels_->device().Abandon(loaded_.life);
  return false;
}

// The pieces of the products of one batch. What is stopped ends before the next.
bool CudaRun::MultiplyPieces(const Contraction& c, const MatrixProduct& p,
                             const ContractIndex& batch, const ProductAt& from,
                             const std::array<DeviceAddress, 3>& arrays) {
  const int64_t bytes = c.f64 ? 8 : 4;
  const int64_t most = std::clamp<int64_t>(kBatchWork / p.work(), 1, INT32_MAX);
  BlasPiece piece;
  for (int64_t first = 0; first < batch.extent; first += most) {
    piece.count = std::min(most, batch.extent - first);
    std::array<DeviceAddress, 3> at{};
    for (size_t k = 0; k < 3; ++k) {
      at[k] =
          arrays[k] + static_cast<DeviceAddress>((from.offset[k] + first * batch.step[k]) * bytes);
    }
    for (piece.row = 0; piece.row < p.rows; piece.row += kPiece) {
      piece.rows = std::min(kPiece, p.rows - piece.row);
      for (piece.column = 0; piece.column < p.columns; piece.column += kPiece) {
        piece.columns = std::min(kPiece, p.columns - piece.column);
        for (piece.k = 0; piece.k < p.inner; piece.k += kPiece) {
          piece.inner = std::min(kPiece, p.inner - piece.k);
          piece.adds = from.adds || piece.k > 0;
          if (!Settle() || MustStop()) return false;
          if (!(c.f64 ? Multiply<double>(p, batch, piece, at)
                      : Multiply<float>(p, batch, piece, at))) {
            return false;
          }
        }
      }
    }
  }
  return true;
}

int32_t CudaRun::Contract(const Contraction& contraction) {
  if (kernels_->device().cublas() == nullptr) return 0;
  const std::optional<MatrixProduct> product = PlanMatrixProduct(contraction, kCublasLeast);
  if (!product) return 0;
  std::array<DeviceAddress, 3> arrays{};
  if (!PrepareWord() || !CheckBlas(loaded_.life->Blas(*kernels_->device().cublas(), &blas_))) {
    return -1;
  }
  for (size_t k = 0; k < 3; ++k) {
    if (!ToDevice(contraction.arrays[k], /*written=*/k == 0, &arrays[k])) return -1;
  }
  const Batch batch = TakeBatch(*product);
  OuterPoint point{};
  do {
    const ProductAt from = At(contraction, batch.product, point);
    if (!MultiplyPieces(contraction, batch.product, batch.index, from, arrays)) return -1;
  } while (NextProduct(batch.product, &point));
  return 1;
}

}  // namespace pullback::jit::cuda
