#include "jit/kernel.h"

#include <algorithm>

#include "jit/leaves.h"

namespace pullback::jit {
namespace {

using Slots = std::vector<Slot>;

void AppendLeaves(const ApiType& type, Slots& out) {
  ForEachLeaf(type, [&](const ApiType& leaf) {
    out.push_back({ToIrType(leaf), leaf.is_list ? &leaf : nullptr});
  });
}

void AppendActive(const ApiType& type, const ApiStructs& structs, Slots& out) {
  ForEachLeaf(type, [&](const ApiType& leaf) {
    if (IsActive(leaf, structs)) AppendLeaves(leaf, out);
  });
}

// The leaves with derivatives of the parameters of wrt, in the order of the parameters: the derived
// module knows no other order.
void AppendWrt(const lang::Signature& signature, const Derivation& derivation, Slots& out) {
  std::vector<uint32_t> positions = derivation.wrt;
  std::sort(positions.begin(), positions.end());
  for (uint32_t p : positions) AppendActive(signature.params[p].type, signature.structs, out);
}

// The seeds it took, its shape, a coordinate for each axis, and the elements.
void AppendSparse(int rank, DType element, Slots& out) {
  out.push_back({ir::Type::I64(), nullptr});
  for (int k = 0; k < 1 + rank; ++k) out.push_back({ir::Type::Array(DType::kI64, 1), nullptr});
  out.push_back({ir::Type::Array(element, 1), nullptr});
}

// A block for every pair: the axes of both, the column's element type.
void AppendBlocks(const Slots& rows, const Slots& columns, bool sparse, Slots& out) {
  for (const Slot& row : rows) {
    for (const Slot& column : columns) {
      const int rank = row.type.rank + column.type.rank;
      const bool scalar = rank == 0;
      if (sparse) {
        AppendSparse(rank, column.type.elem, out);
        continue;
      }
      out.push_back({scalar ? column.type : ir::Type::Array(column.type.elem, rank), nullptr});
    }
  }
}

std::vector<ir::Type> TypesOf(const Slots& slots) {
  std::vector<ir::Type> types;
  for (const Slot& slot : slots) types.push_back(slot.type);
  return types;
}

}  // namespace

SlotLayout MakeSlots(const lang::Signature& signature, const Derivation& derivation) {
  SlotLayout layout;
  for (const lang::Parameter& p : signature.params) AppendLeaves(p.type, layout.params);
  AppendLeaves(signature.result, layout.values);
  switch (derivation.transform) {
    case Transform::kValue: break;
    case Transform::kVjp:
      AppendActive(signature.result, signature.structs, layout.seeds);
      [[fallthrough]];
    case Transform::kValueAndGrad: AppendWrt(signature, derivation, layout.derivatives); break;
    case Transform::kJvp:
      AppendWrt(signature, derivation, layout.seeds);
      AppendActive(signature.result, signature.structs, layout.derivatives);
      break;
    case Transform::kHvp:
      AppendWrt(signature, derivation, layout.seeds);
      layout.derivatives = layout.seeds;
      break;
    case Transform::kJacobian:
    case Transform::kHessian: {
      Slots rows, columns;
      AppendWrt(signature, derivation, columns);
      if (derivation.transform == Transform::kHessian) rows = columns;
      if (derivation.transform == Transform::kJacobian) {
        AppendActive(signature.result, signature.structs, rows);
      }
      AppendBlocks(rows, columns, derivation.sparse, layout.derivatives);
      break;
    }
  }
  return layout;
}

Layout MakeLayout(const SlotLayout& slots) {
  return {TypesOf(slots.params),
          TypesOf(slots.seeds),
          TypesOf(slots.values),
          TypesOf(slots.derivatives),
          {}};
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
