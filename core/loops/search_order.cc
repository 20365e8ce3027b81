#include "core/loops/search_order.h"

#include <algorithm>

#include "core/ir/statements.h"

namespace pullback::loops {
namespace {

using ir::Each;
using ir::EachResult;

// The result whose order the indices take; nullptr: the order stays. Searches along one index, and what stores each element
// once, may run in any order that goes up that index.
const EachResult* FirstSearch(const Each& each) {
  const EachResult* first = nullptr;
  for (const EachResult& r : each.results) {
    if (r.monoid == ir::Monoid::kGen && !r.into.valid()) continue;
    if (!ir::IsArg(r.monoid) || !ir::OnlyIndexReduced(each, r)) return nullptr;
    if (!first) first = &r;
    if (ir::OnlyIndexReduced(each, r) != ir::OnlyIndexReduced(each, *first)) return nullptr;
  }
  return first && !ir::IsPrefixForm(each, *first) ? first : nullptr;
}

// The index that all scans of a statement run over, where that comes in front of others; nothing: it has other results.
std::optional<size_t> ScannedInFront(const Each& each) {
  std::optional<size_t> index;
  for (const EachResult& r : each.results) {
    if (r.monoid == ir::Monoid::kGen && !r.into.valid()) continue;
    const auto scanned = ir::ScannedIndex(each, r);
    if (!scanned || r.inner == 0 || (index && index != scanned)) return std::nullopt;
    index = scanned;
  }
  return index;
}

void ScanInnermost(Each& each, size_t index) {
  ir::Values first;
  for (size_t k = 0; k < each.indices.size(); ++k) {
    if (k != index) first.push_back(each.indices[k].var);
  }
  ir::BringIndicesFirst(each, first);
  for (EachResult& r : each.results) {
    r.outer += r.inner;
    r.inner = 0;
  }
}

}  // namespace

std::optional<ir::Function> SearchInnermost(const ir::Function& f) {
  const bool any = std::any_of(f.blocks.begin(), f.blocks.end(), [](const ir::Block& b) {
    return std::any_of(b.insts.begin(), b.insts.end(), [](const ir::Inst& inst) {
      return inst.each && (FirstSearch(*inst.each) || ScannedInFront(*inst.each));
    });
  });
  if (!any) return std::nullopt;
  ir::Function made = f;
  for (ir::Block& b : made.blocks) {
    for (ir::Inst& inst : b.insts) {
      const auto scanned = inst.each ? ScannedInFront(*inst.each) : std::nullopt;
      if (scanned) ScanInnermost(*inst.each, *scanned);
      const EachResult* search = inst.each ? FirstSearch(*inst.each) : nullptr;
      if (!search) continue;
      ir::Values first;
      for (const ir::Affine& sub : search->out) first.push_back(sub.AsValue());
      ir::BringIndicesFirst(*inst.each, first);
    }
  }
  return made;
}

}  // namespace pullback::loops
