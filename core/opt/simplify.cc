#include "core/opt/simplify.h"

#include <functional>

#include "core/ir/fingerprint.h"

namespace pullback::opt {
namespace {

constexpr int kMaxRounds = 6;
constexpr size_t kPasses = 5;

bool RunPass(size_t which, ir::Function& f, const RewriteOptions& options) {
  switch (which) {
    case 0: return SimplifyControlFlow(f, options);
    case 1: {
      const bool checked = CheckSizesEarly(f, options);
      return PropagateConditions(f, options) || checked;
    }
    case 2: return FoldConstants(f, options);
    case 3: return EliminateCommonSubexpressions(f, options);
    default: return EliminateDeadCode(f, options);
  }
}

// True: no pass would change anything any more, since each has had the function as it is now.
bool Simplify(ir::Function& f, const RewriteOptions& options) {
  size_t silent = 0;
  for (size_t k = 0; k < kMaxRounds * kPasses; ++k) {
    silent = RunPass(k % kPasses, f, options) ? 0 : silent + 1;
    if (silent == kPasses) return true;
  }
  return false;
}

}  // namespace

Status Simplify(ir::Module& module, const RewriteOptions& options) {
  for (auto& f : module.functions) {
    if (options.settled && options.settled->contains(ir::Fingerprint(*f))) continue;
    if (Simplify(*f, options) && options.settled) options.settled->insert(ir::Fingerprint(*f));
  }
  DropUnreachedFunctions(module);
  return {};
}

Status FuseStatements(ir::Module& module, bool only_free, const RewriteOptions& options) {
  for (auto& f : module.functions) {
    const auto fuse = [&] {
      for (int round = 0; round < kMaxRounds && FuseReads(*f, only_free, options); ++round) {
        EliminateDeadCode(*f, options);
      }
    };
    if (!only_free && ReadTermsOfSums(*f)) EliminateDeadCode(*f, options);
    fuse();
    if (only_free) continue;
    if (MergeIntoProducers(*f, options)) fuse();
    if (MergeReaders(*f, options)) fuse();
  }
  return Simplify(module, options);
}

void DropUnreachedFunctions(ir::Module& module) {
  if (module.functions.size() == 1) return;
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
