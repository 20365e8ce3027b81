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

}  // namespace

std::optional<ir::Function> SearchInnermost(const ir::Function& f) {
  const bool any = std::any_of(f.blocks.begin(), f.blocks.end(), [](const ir::Block& b) {
    return std::any_of(b.insts.begin(), b.insts.end(), [](const ir::Inst& inst) {
      return inst.each && FirstSearch(*inst.each) != nullptr;
    });
  });
  if (!any) return std::nullopt;
  ir::Function made = f;
  for (ir::Block& b : made.blocks) {
    for (ir::Inst& inst : b.insts) {
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
