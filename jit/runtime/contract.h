// Dense contractions given to a library (core/loops/contract.h): which of their indices it takes as the rows,
// columns and inner axis of a matrix product, and in what calls.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "jit/runtime/blas.h"
#include "jit/runtime/context.h"

namespace pullback::jit {

inline constexpr size_t kMostContractIndices = 8;

// An index of a contraction: its extent, and how far one step of it goes in the result and the two operands
// (0: not at all), in elements.
struct ContractIndex {
  int64_t extent = 1;
  std::array<int64_t, 3> step{};
};

struct Contraction {
  bool f64 = true;
  bool adds = false;  // to what the result holds
  std::array<Array*, 3> arrays{};
  std::array<int64_t, 3> offset{};  // of the elements where every index is 0
  std::array<ContractIndex, kMostContractIndices> indices;
  size_t count = 0;
};

// pb_contract's arguments. `words`: the offsets, then extent and steps of each index.
Contraction ReadContraction(Array* to, Array* a, Array* b, const int64_t* words, int32_t form);
constexpr int32_t ContractForm(size_t indices, bool f64, bool adds) {
  return static_cast<int32_t>(indices) | (f64 ? 1 << 8 : 0) | (adds ? 1 << 9 : 0);
}

// The product to = a b of a matrix of `rows` by `inner` with one of `inner` by `columns`, of which there is one
// for each point of `outer`. Element (r, c) of a matrix is r lines and c on, of one that lies transposed c lines
// and r on; the result does not. columns 1: b and the result are vectors, and their lines the steps in them.
struct MatrixProduct {
  struct Lines {
    bool transposed = false;
    int64_t line = 0;
  };
  bool exchanged = false;  // a is the contraction's second operand, and b its first
  int64_t rows = 1, columns = 1, inner = 1;
  Lines to, a, b;
  std::array<ContractIndex, kMostContractIndices> outer;  // steps in the contraction's order
  size_t outer_count = 0;

  bool is_vector() const { return columns == 1; }
  int64_t work() const { return rows * columns * inner; }
};

// The largest product that can be had. nullopt: it has fewer multiplications than is worth a call, or the steps
// are such that no library takes it. It depends on the extents alone.
std::optional<MatrixProduct> PlanMatrixProduct(const Contraction& contraction,
                                               const LeastWork& least);

// Where one of the products begins: offsets as Contraction's; whether it is added to what the result holds.
struct ProductAt {
  std::array<int64_t, 3> offset;
  bool adds;
};
// Goes to the next one, the last index first; false after the last. `point`: zeros for the first.
using OuterPoint = std::array<int64_t, kMostContractIndices>;
bool NextProduct(const MatrixProduct& product, OuterPoint* point);
ProductAt At(const Contraction& contraction, const MatrixProduct& product, const OuterPoint& point);

extern "C" {
// 1: `to` holds the contraction; 0: it is left to the loops. Looks at RunContext::stop between pieces of bounded
// work. A run with a device asks that (DeviceRun::Contract), any other RunContext::blas.
int32_t pb_contract(RunContext* c, Array* to, Array* a, Array* b, const int64_t* words,
                    int32_t form);
}

}  // namespace pullback::jit
