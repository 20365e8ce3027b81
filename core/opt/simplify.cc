#include "core/opt/simplify.h"

#include <functional>

namespace pullback::opt {
namespace {

constexpr int kMaxRounds = 6;

}  // namespace

Status Simplify(ir::Module& module, const RewriteOptions& options) {
  for (auto& f : module.functions) {
    for (int round = 0; round < kMaxRounds; ++round) {
      bool changed = SimplifyControlFlow(*f);
      changed |= PropagateConditions(*f);
      changed |= FoldConstants(*f, options);
      changed |= EliminateCommonSubexpressions(*f);
      changed |= EliminateDeadCode(*f);
      if (!changed) break;
    }
  }
  DropUnreachedFunctions(module);
  return {};
}

Status FuseStatements(ir::Module& module, bool only_free, const RewriteOptions& options) {
  for (auto& f : module.functions) {
    const auto fuse = [&] {
      for (int round = 0; round < kMaxRounds && FuseReads(*f, only_free); ++round) {
        EliminateDeadCode(*f);
      }
    };
    fuse();
    if (only_free) continue;
    if (MergeIntoProducers(*f)) fuse();
    if (MergeReaders(*f)) fuse();
  }
  return Simplify(module, options);
}

void DropUnreachedFunctions(ir::Module& module) {
  constexpr uint32_t kUnseen = UINT32_MAX;
  std::vector<uint32_t> number(module.functions.size(), kUnseen);
  std::vector<uint32_t> order = {module.entry};
  number[module.entry] = 0;
  for (size_t k = 0; k < order.size(); ++k) {
    ir::ForEachCallee(module.Get(order[k]), [&](uint32_t callee) {
      if (number[callee] != kUnseen) return;
      number[callee] = static_cast<uint32_t>(order.size());
      order.push_back(callee);
    });
  }
  std::vector<std::unique_ptr<ir::Function>> kept;
  for (uint32_t old : order) {
    ir::ForEachCallee(module.Get(old), [&](uint32_t& callee) { callee = number[callee]; });
    kept.push_back(std::move(module.functions[old]));
  }
  module.functions = std::move(kept);
  module.entry = 0;
}

}  // namespace pullback::opt
