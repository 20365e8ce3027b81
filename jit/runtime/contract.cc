#include "jit/runtime/contract.h"

#include <algorithm>
#include <vector>

#include "jit/runtime/blas.h"
#include "jit/runtime/device.h"
#include "jit/runtime/support.h"

namespace pullback::jit {

Contraction ReadContraction(Array* to, Array* a, Array* b, const int64_t* words, int32_t form) {
  Contraction c;
  c.f64 = (form >> 8 & 1) != 0;
  c.adds = (form >> 9 & 1) != 0;
  c.arrays = {to, a, b};
  std::copy_n(words, 3, c.offset.begin());
  c.count = static_cast<size_t>(form & 0xff);
  for (size_t i = 0; i < c.count; ++i) {
    const int64_t* index = words + 3 + 4 * i;
    c.indices[i] = {index[0], {index[1], index[2], index[3]}};
  }
  return c;
}

namespace {

// Merges indices that run through one axis together, and drops those of extent 1.
std::vector<ContractIndex> Simplified(const Contraction& c) {
  std::vector<ContractIndex> indices;
  for (size_t i = 0; i < c.count; ++i) {
    if (c.indices[i].extent != 1) indices.push_back(c.indices[i]);
  }
  const auto continues = [](const ContractIndex& outer, const ContractIndex& inner) {
    for (size_t k = 0; k < 3; ++k) {
      if (outer.step[k] != inner.step[k] * inner.extent) return false;
    }
    return true;
  };
  for (size_t i = 0; i < indices.size();) {
    const auto inner = std::find_if(indices.begin(), indices.end(), [&](const ContractIndex& x) {
      return &x != &indices[i] && continues(indices[i], x);
    });
    if (inner == indices.end()) {
      ++i;
      continue;
    }
    inner->extent *= indices[i].extent;
    indices.erase(indices.begin() + static_cast<ptrdiff_t>(i));
    i = 0;
  }
  return indices;
}

// Chooses an index for each axis of the product.
class ProductPlanner {
 public:
  ProductPlanner(std::vector<ContractIndex> indices, const LeastWork& least)
      : indices_(std::move(indices)), least_(least) {}

  std::optional<MatrixProduct> Plan() {
    for (const bool exchanged : {false, true}) {
      a_ = exchanged ? 2 : 1;
      b_ = exchanged ? 1 : 2;
      for (size_t rows = 0; rows < indices_.size(); ++rows) {
        if (!IsRows(indices_[rows])) continue;
        for (size_t inner = 0; inner < indices_.size(); ++inner) {
          if (!IsInner(indices_[inner])) continue;
          Try(rows, inner, indices_.size());
          for (size_t columns = 0; columns < indices_.size(); ++columns) {
            if (IsColumns(indices_[columns])) Try(rows, inner, columns);
          }
        }
      }
    }
    return best_;
  }

 private:
  static constexpr int64_t kMostLine = INT32_MAX;  // of libraries

  bool IsRows(const ContractIndex& x) const { return x.step[0] != 0 && x.step[b_] == 0; }
  bool IsColumns(const ContractIndex& x) const { return x.step[0] != 0 && x.step[a_] == 0; }
  static bool IsInner(const ContractIndex& x) { return x.step[0] == 0; }

  static bool IsLine(int64_t line, int64_t length) { return line >= length && line <= kMostLine; }

  static std::optional<MatrixProduct::Lines> LinesOf(size_t operand, const ContractIndex& down,
                                                     const ContractIndex& across) {
    const int64_t rows = down.step[operand], columns = across.step[operand];
    if (columns == 1 && IsLine(rows, across.extent)) return MatrixProduct::Lines{false, rows};
    if (rows == 1 && IsLine(columns, down.extent)) return MatrixProduct::Lines{true, columns};
    return std::nullopt;
  }
  static std::optional<MatrixProduct::Lines> VectorOf(size_t operand, const ContractIndex& along) {
    if (!IsLine(along.step[operand], 1)) return std::nullopt;
    return MatrixProduct::Lines{false, along.step[operand]};
  }

  // `columns` beyond the indices: b is a vector.
  void Try(size_t rows, size_t inner, size_t columns) {
    const ContractIndex &r = indices_[rows], &k = indices_[inner];
    const bool vector = columns == indices_.size();
    const ContractIndex c = vector ? ContractIndex{} : indices_[columns];
    const auto a = LinesOf(a_, r, k);
    const auto b = vector ? VectorOf(b_, k) : LinesOf(b_, k, c);
    const auto to = vector ? VectorOf(0, r) : LinesOf(0, r, c);
    if (!a || !b || !to || to->transposed) return;
    MatrixProduct product;
    product.exchanged = a_ == 2;
    product.rows = r.extent;
    product.inner = k.extent;
    product.columns = c.extent;
    product.to = *to;
    product.a = *a;
    product.b = *b;
    if (product.work() < (vector ? least_.vector : least_.matrix)) return;
    if (best_ && best_->work() >= product.work()) return;
    for (size_t i = 0; i < indices_.size(); ++i) {
      if (i != rows && i != inner && i != columns) {
        product.outer[product.outer_count++] = indices_[i];
      }
    }
    best_ = product;
  }

  const std::vector<ContractIndex> indices_;
  const LeastWork least_;
  size_t a_ = 1, b_ = 2;
  std::optional<MatrixProduct> best_;
};

}  // namespace

std::optional<MatrixProduct> PlanMatrixProduct(const Contraction& c, const LeastWork& least) {
  for (size_t i = 0; i < c.count; ++i) {
    if (c.indices[i].extent <= 0) return std::nullopt;
  }
  return ProductPlanner(Simplified(c), least).Plan();
}

bool NextProduct(const MatrixProduct& product, OuterPoint* point) {
  for (size_t i = product.outer_count; i-- > 0;) {
    if (++(*point)[i] < product.outer[i].extent) return true;
    (*point)[i] = 0;
  }
  return false;
}

// The first product for an element stores, those after it add.
ProductAt At(const Contraction& contraction, const MatrixProduct& product,
             const OuterPoint& point) {
  ProductAt at{contraction.offset, contraction.adds};
  for (size_t i = 0; i < product.outer_count; ++i) {
    const ContractIndex& index = product.outer[i];
    for (size_t k = 0; k < 3; ++k) at.offset[k] += point[i] * index.step[k];
    at.adds = at.adds || (index.step[0] == 0 && point[i] > 0);
  }
  return at;
}

namespace {

// Pieces of at most so many rows, columns and steps, in this order: a few milliseconds of work each.
constexpr int64_t kMatrixPiece = 512;
constexpr int64_t kVectorPiece = 2048;

template <typename T>
class Multiplier {
 public:
  Multiplier(RunContext* c, const Contraction& contraction, const MatrixProduct& product)
      : c_(c), contraction_(contraction), p_(product) {}

  void Run() {
    OuterPoint point{};
    do {
      RunOne(At(contraction_, p_, point));
    } while (NextProduct(p_, &point));
  }

 private:
  T* Data(size_t array, const ProductAt& at) const {
    return static_cast<T*>(contraction_.arrays[array]->data) + at.offset[array];
  }
  static int64_t Step(const MatrixProduct::Lines& m, int64_t row, int64_t column) {
    return m.transposed ? row + column * m.line : row * m.line + column;
  }

  // False: the library has no room to work in.
  bool Call(int rows, int columns, int inner, const T* a, const T* b, T beta, T* to) const {
    const BlasBuffer buffer;
    if (!buffer.ok()) return false;
    const int line_a = static_cast<int>(p_.a.line), line_b = static_cast<int>(p_.b.line),
              line_to = static_cast<int>(p_.to.line);
    if (p_.is_vector()) {
      c_->blas->MultiplyVector(p_.a.transposed, rows, inner, a, line_a, b, line_b, beta, to,
                               line_to);
    } else {
      c_->blas->Multiply(p_.a.transposed, p_.b.transposed, rows, columns, inner, a, line_a, b,
                         line_b, beta, to, line_to);
    }
    return true;
  }

  void RunOne(const ProductAt& at) {
    const T* a = Data(p_.exchanged ? 2 : 1, at);
    const T* b = Data(p_.exchanged ? 1 : 2, at);
    T* to = Data(0, at);
    const int64_t piece = p_.is_vector() ? kVectorPiece : kMatrixPiece;
    for (int64_t r = 0; r < p_.rows; r += piece) {
      for (int64_t c = 0; c < p_.columns; c += piece) {
        for (int64_t k = 0; k < p_.inner; k += piece) {
          if (c_->stop.load(std::memory_order_relaxed) != 0) pb_stopped(c_);
          const int rows = static_cast<int>(std::min(piece, p_.rows - r));
          const int columns = static_cast<int>(std::min(piece, p_.columns - c));
          const int inner = static_cast<int>(std::min(piece, p_.inner - k));
          const T beta = at.adds || k > 0 ? 1 : 0;
          if (!Call(rows, columns, inner, a + Step(p_.a, r, k),
                    b + (p_.is_vector() ? k * p_.b.line : Step(p_.b, k, c)), beta,
                    to + (p_.is_vector() ? r * p_.to.line : Step(p_.to, r, c)))) {
            OutOfMemory(c_, 0, BlasBuffer::kBytes);
          }
        }
      }
    }
  }

  RunContext* const c_;
  const Contraction& contraction_;
  const MatrixProduct& p_;
};

bool ContractHere(RunContext* c, const Contraction& contraction) {
  if (c->blas == nullptr) return false;
  const std::optional<MatrixProduct> product = PlanMatrixProduct(contraction, c->blas->least);
  if (!product) return false;
  if (contraction.f64) {
    Multiplier<double>(c, contraction, *product).Run();
  } else {
    Multiplier<float>(c, contraction, *product).Run();
  }
  return true;
}

bool ContractOnDevice(RunContext* c, const Contraction& contraction) {
  const int32_t result = c->device->Contract(contraction);
  if (result < 0) DeviceFailed(c);
  return result != 0;
}

}  // namespace

int32_t pb_contract(RunContext* c, Array* to, Array* a, Array* b, const int64_t* words,
                    int32_t form) {
  const Contraction contraction = ReadContraction(to, a, b, words, form);
  const bool taken =
      c->device != nullptr ? ContractOnDevice(c, contraction) : ContractHere(c, contraction);
  if (taken) ++c->contractions;
  return taken ? 1 : 0;
}

}  // namespace pullback::jit
