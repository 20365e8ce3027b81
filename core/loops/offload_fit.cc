#include "core/loops/offload_fit.h"

#include <algorithm>

#include "core/loops/walk.h"

namespace pullback::loops {

using Kind = Node::Kind;

namespace {

bool IsScalarOnly(const Function& f) {
  const auto scalar = [](ir::Type t) { return t.IsScalar(); };
  return std::all_of(f.results.begin(), f.results.end(), scalar) &&
         std::all_of(f.regs.begin(), f.regs.end(),
                     [&](const RegInfo& r) { return r.type.IsScalar(); });
}

}  // namespace

DeviceFit::Facts DeviceFit::Of(uint32_t function, int depth) {
  constexpr int kDeepest = 16;  // deeper calls, and recursion, are the host's
  if (const auto known = known_.find(function); known != known_.end()) return known->second;
  if (depth > kDeepest) return {};
  known_[function] = {};
  const Function& f = *module_.functions[function];
  Facts facts{IsScalarOnly(f), false};
  for (const Block& block : f.blocks) {
    ForEachNode(block.nodes, [&](const Node& n) {
      facts.fit = facts.fit && Unfit(n, depth + 1).empty();
      facts.traps = facts.traps || n.kind == Kind::kCheck ||
                    (n.kind == Kind::kCall && Of(n.callee, depth + 1).traps);
    });
  }
  return known_[function] = facts;
}

std::string DeviceFit::Unfit(const Node& n, int depth) {
  switch (n.kind) {
    case Kind::kScalar:
    case Kind::kDim:
    case Kind::kLoad:
    case Kind::kStore:
    case Kind::kFor:
    case Kind::kIf:
    case Kind::kLanesNew:
    case Kind::kLaneAdd:
    case Kind::kLanesTotal:
    case Kind::kCheck: return {};
    case Kind::kCall:
      if (Of(n.callee, depth).fit) return {};
      return "a call of @" + module_.functions[n.callee]->name +
             ", which has arrays, lists or calls that go deep";
    case Kind::kAlloc: return "an array made at every turn";
    case Kind::kRetain:
    case Kind::kRelease:
    case Kind::kUnique: return "references to arrays";
    case Kind::kTapeNew:
    case Kind::kPush:
    case Kind::kPop: return "a tape";
    case Kind::kContract: return "a contraction that a library may take";
    case Kind::kList: return "a list";
  }
  return "an unknown node";
}

bool DeviceFit::MayTrap(const Node& n) {
  return n.kind == Kind::kCheck || (n.kind == Kind::kCall && Of(n.callee, 0).traps);
}

}  // namespace pullback::loops
