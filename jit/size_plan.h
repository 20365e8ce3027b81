// The sizes of an entry's arguments and results, without its program: what a warm call needs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "core/base/status.h"
#include "core/base/tensor_view.h"
#include "core/lang/ast.h"

namespace pullback::jit {

class SizePlan {
 public:
  // `program` is checked and has the entry. Only headers are kept of it.
  SizePlan(lang::Program program, std::string entry);

  // The tensors have the dtypes and ranks of the entry's parameters, flattened. INVALID_ARGUMENT,
  // SIZE_MISMATCH, as lang::CheckArguments, which writes the message: what is here only decides.
  Status Check(std::span<const TensorView> arguments) const;

  // Extents of each leaf of the result as declared; nullopt where a size divides by zero. For
  // arguments that Check accepted.
  using Extents = std::vector<std::optional<int64_t>>;
  std::vector<Extents> ResultExtents(std::span<const TensorView> arguments) const;

  size_t bytes() const { return bytes_; }

 private:
  using Values = absl::InlinedVector<int64_t, 16>;  // by local: parameters, then size variables
  struct Integer {
    uint32_t local;
    uint32_t leaf;
  };

  // False when an equation has no solution in sizes.
  bool Solve(std::span<const TensorView> arguments, Values& values) const;
  bool Agrees(std::span<const TensorView> arguments) const;

  lang::Program program_;
  std::string entry_;
  const lang::Function* function_ = nullptr;
  std::vector<const lang::TypeExpr*> params_;   // leaves
  std::vector<const lang::TypeExpr*> results_;  // leaves
  std::vector<Integer> integers_;               // i64 parameters, of which sizes may be made
  bool has_arrays_ = false;
  size_t bytes_ = 0;
};

}  // namespace pullback::jit
