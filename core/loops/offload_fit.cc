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

bool IsFitFunction(const Module& module, uint32_t function, int depth) {
  constexpr int kDeepest = 16;  // deeper calls, and recursion, are the host's
  const Function& f = *module.functions[function];
  if (depth > kDeepest || !IsScalarOnly(f)) return false;
  bool fit = true;
  for (const Block& block : f.blocks) {
    ForEachNode(block.nodes,
                [&](const Node& n) { fit = fit && UnfitNode(module, n, depth + 1).empty(); });
  }
  return fit;
}

std::string UnfitNode(const Module& module, const Node& n, int depth) {
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
      if (IsFitFunction(module, n.callee, depth)) return {};
      return "a call of @" + module.functions[n.callee]->name +
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

bool MayTrap(const Module& module, const Node& n) {
  if (n.kind == Kind::kCheck) return true;
  if (n.kind != Kind::kCall) return false;
  bool may = false;
  for (const Block& block : module.functions[n.callee]->blocks) {
    ForEachNode(block.nodes, [&](const Node& inner) { may = may || MayTrap(module, inner); });
  }
  return may;
}

}  // namespace pullback::loops
