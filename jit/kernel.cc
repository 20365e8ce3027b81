#include "jit/kernel.h"

#include <algorithm>

#include "jit/leaves.h"

namespace pullback::jit {
namespace {

ir::Type ToIrType(const ApiType& leaf) {
  const int rank = static_cast<int>(leaf.dims.size());
  return rank == 0 ? ir::Type::Scalar(leaf.dtype) : ir::Type::Array(leaf.dtype, rank);
}

void AppendLeaves(const ApiType& type, std::vector<ir::Type>& out) {
  ForEachLeaf(type, [&](const ApiType& leaf) { out.push_back(ToIrType(leaf)); });
}

void AppendFloatLeaves(const ApiType& type, std::vector<ir::Type>& out) {
  ForEachLeaf(type, [&](const ApiType& leaf) {
    if (IsFloat(leaf.dtype)) out.push_back(ToIrType(leaf));
  });
}

// The float leaves of the parameters of wrt, in the order of the parameters: the derived module knows
// no other order.
void AppendWrtLeaves(const lang::Signature& signature, const Derivation& derivation,
                     std::vector<ir::Type>& out) {
  std::vector<uint32_t> positions = derivation.wrt;
  std::sort(positions.begin(), positions.end());
  for (uint32_t p : positions) AppendFloatLeaves(signature.params[p].type, out);
}

// A block for every pair: the axes of both, the column's element type.
void AppendBlocks(const std::vector<ir::Type>& rows, const std::vector<ir::Type>& columns,
                  std::vector<ir::Type>& out) {
  for (const ir::Type& row : rows) {
    for (const ir::Type& column : columns) {
      const int rank = row.rank + column.rank;
      out.push_back(rank == 0 ? column : ir::Type::Array(column.elem, rank));
    }
  }
}

}  // namespace

Layout MakeLayout(const lang::Signature& signature, const Derivation& derivation) {
  Layout layout;
  for (const lang::Parameter& p : signature.params) AppendLeaves(p.type, layout.params);
  AppendLeaves(signature.result, layout.values);
  switch (derivation.transform) {
    case Transform::kValue: break;
    case Transform::kVjp: AppendFloatLeaves(signature.result, layout.seeds); [[fallthrough]];
    case Transform::kValueAndGrad:
      AppendWrtLeaves(signature, derivation, layout.derivatives);
      break;
    case Transform::kJvp:
      AppendWrtLeaves(signature, derivation, layout.seeds);
      AppendFloatLeaves(signature.result, layout.derivatives);
      break;
    case Transform::kHvp:
      AppendWrtLeaves(signature, derivation, layout.seeds);
      layout.derivatives = layout.seeds;
      break;
    case Transform::kJacobian:
    case Transform::kHessian: {
      std::vector<ir::Type> rows, columns;
      AppendWrtLeaves(signature, derivation, columns);
      if (derivation.transform == Transform::kHessian) rows = columns;
      if (derivation.transform == Transform::kJacobian) AppendFloatLeaves(signature.result, rows);
      AppendBlocks(rows, columns, layout.derivatives);
      break;
    }
  }
  return layout;
}

std::vector<bool> WrtLeaves(const lang::Signature& signature, const Derivation& derivation) {
  std::vector<bool> leaves;
  for (uint32_t p = 0; p < signature.params.size(); ++p) {
    const bool active = std::count(derivation.wrt.begin(), derivation.wrt.end(), p) != 0;
    leaves.insert(leaves.end(), LeafCount(signature.params[p].type), active);
  }
  return leaves;
}

size_t Kernel::bytes() const {
  const size_t slots = layout_.arguments() + layout_.results();
  return sizeof(Kernel) + code_->bytes() + slots * sizeof(ir::Type);
}

}  // namespace pullback::jit
