#include "jit/llvm/facts.h"

#include <algorithm>

namespace pullback::jit {
namespace {

using Kind = loops::Node::Kind;

constexpr int64_t kUnpolledWork = 16384;
constexpr int64_t kCallWeight = 64;
constexpr int64_t kMostBoundsOut = 256;

int64_t Saturated(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX / 4 : std::min(product, INT64_MAX / 4);
}

}  // namespace

Facts::Facts(const loops::Function& f)
    : uses_(f.regs.size()), few_(f.regs.size(), true), constants_(f.regs.size()) {
  for (const loops::Block& block : f.blocks) {
    ForEachNode(block.nodes, [&](const loops::Node& node) {
      if (node.kind == Kind::kLoad || node.kind == Kind::kStore) uses_[node.args[0].id].data = true;
      if (node.kind == Kind::kDim) uses_[node.args[0].id].dims[node.bits] = true;
      if (node.kind == Kind::kScalar && node.op == ir::Op::Const &&
          f.TypeOf(node.results[0]) == ir::Type::I64()) {
        constants_[node.results[0].id] = static_cast<int64_t>(node.bits);
      }
    });
  }
  for (const loops::Block& block : f.blocks) Weigh(block.nodes);
  for (const loops::Block& block : f.blocks) MarkLanes(block.nodes, true);
}

void Facts::MarkLanes(const std::vector<loops::Node>& nodes, bool written_out) {
  for (const loops::Node& node : nodes) {
    if (node.kind == Kind::kLaneAdd && !written_out) few_[node.args[0].id] = false;
    MarkLanes(node.body, written_out && (node.kind != Kind::kFor || WrittenOut(node)));
    MarkLanes(node.other, written_out);
  }
}

std::optional<int64_t> Facts::Trips(const loops::Node& loop) const {
  const auto& lo = constants_[loop.args[0].id];
  const auto& hi = constants_[loop.args[1].id];
  int64_t trips = 0;
  if (!lo || !hi) return std::nullopt;
  if (*hi <= *lo) return 0;
  return __builtin_sub_overflow(*hi, *lo, &trips) ? INT64_MAX : trips;
}

bool Facts::WrittenOut(const loops::Node& loop) const {
  const auto trips = Trips(loop);
  if (!trips || *trips >= 8) return false;
  bool lanes = false;
  ForEachNode(loop.body, [&](const loops::Node& n) { lanes |= n.kind == Kind::kLaneAdd; });
  return lanes && Saturated(*trips, BodyWeight(loop)) <= kMostBoundsOut;
}

// Innermost loops first, so that each is weighed once.
int64_t Facts::Weigh(const std::vector<loops::Node>& nodes) {
  int64_t weight = 1;
  for (const loops::Node& node : nodes) {
    switch (node.kind) {
      case Kind::kCall:
      case Kind::kAlloc:
      case Kind::kList:
      case Kind::kUnique: weight += kCallWeight; break;
      case Kind::kFor:
        weights_[&node] = Weigh(node.body);
        weight += Polled(node) ? kCallWeight : Saturated(*Trips(node), BodyWeight(node));
        break;
      case Kind::kContract: weight += kCallWeight + Weigh(node.body); break;
      case Kind::kIf: weight += std::max(Weigh(node.body), Weigh(node.other)); break;
      default: weight += 1;
    }
    weight = std::min(weight, INT64_MAX / 4);
  }
  return weight;
}

bool Facts::Polled(const loops::Node& loop) const {
  const auto trips = Trips(loop);
  return !trips || Saturated(*trips, BodyWeight(loop)) > kUnpolledWork;
}

bool Facts::AlwaysPolls(const std::vector<loops::Node>& nodes) const {
  return std::any_of(nodes.begin(), nodes.end(), [&](const loops::Node& node) {
    return node.kind == Kind::kFor && Polled(node);
  });
}

}  // namespace pullback::jit
