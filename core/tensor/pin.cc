#include <algorithm>
#include <optional>

#include "core/tensor/normalise.h"
#include "core/tensor/statement_edit.h"

namespace pullback::tensor {
namespace {

struct Pin {
  size_t constraint, index;
};

// The last index that some equality can be solved for.
std::optional<Pin> FindPin(const ir::Each& each) {
  for (size_t c = 0; c < each.where.size(); ++c) {
    if (!each.where[c].equality) continue;
    for (size_t i = each.indices.size(); i-- > 0;) {
      const int64_t coeff = each.where[c].e.Coeff(each.indices[i].var);
      if (coeff == 1 || coeff == -1) return Pin{c, i};
    }
  }
  return std::nullopt;
}

// Prod, max and min stay in prefix form (verifier, invariant 6): their indices are left alone.
bool OnlySums(const ir::Each& each) {
  return std::all_of(each.results.begin(), each.results.end(), [](const ir::EachResult& r) {
    return r.monoid == ir::Monoid::kGen || r.monoid == ir::Monoid::kSum;
  });
}

void Eliminate(ir::Each& each, ir::Function& f) {
  while (const std::optional<Pin> pin = FindPin(each)) {
    const ir::IndexVar index = each.indices[pin->index];
    const ir::Affine e = SolveFor(each.where[pin->constraint].e, index.var);
    each.where.erase(each.where.begin() + static_cast<long>(pin->constraint));
    each.indices.erase(each.indices.begin() + static_cast<long>(pin->index));
    SubstituteIndex(each, f, index.var, e);
    AddRange(each, e, index.extent);
  }
}

}  // namespace

void EliminatePinnedIndices(ir::Function& f) {
  for (ir::Block& b : f.blocks) {
    for (ir::Inst& inst : b.insts) {
      if (inst.each && OnlySums(*inst.each)) Eliminate(*inst.each, f);
    }
  }
}

}  // namespace pullback::tensor
