#include "core/ad/batch.h"

#include <algorithm>

#include "core/ad/batch_insts.h"

namespace pullback::ad {

bool FitsAxes(const ir::Function& f, size_t axes) {
  return std::none_of(f.values.begin(), f.values.end(),
                      [&](ir::Type t) { return t.IsArray() && t.rank + axes > kMaxArrayRank; });
}

std::optional<std::vector<Batched>> AppendBatched(ir::Builder& b, const ir::Function& f,
                                                  const std::vector<Batched>& args,
                                                  const std::vector<ir::Value>& extents,
                                                  std::vector<ir::Value>& made) {
  if (f.blocks.size() != 1 || !FitsAxes(f, extents.size())) return std::nullopt;
  InstBatcher batcher(b, f, Axes::kFront, extents);
  for (size_t k = 0; k < args.size(); ++k) batcher.Bind(f.params()[k], args[k]);
  for (const ir::Inst& inst : f.blocks[0].insts) {
    b.SetLoc(inst.loc);
    if (!batcher.Visit(inst)) return std::nullopt;
  }
  std::vector<Batched> results;
  for (ir::Value v : f.blocks[0].term.results) results.push_back(batcher.At(v));
  made.insert(made.end(), batcher.made().begin(), batcher.made().end());
  return results;
}

}  // namespace pullback::ad
