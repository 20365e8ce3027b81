#include "core/loops/offload.h"

#include <algorithm>

#include "core/loops/offload_fit.h"
#include "core/loops/offload_nest.h"
#include "core/loops/walk.h"

namespace pullback::loops {
namespace {

using Kind = Node::Kind;

std::string UnfitNest(DeviceFit& fit, const Node& root) {
  std::string why;
  ForEachNode(root.body, [&](const Node& n) {
    if (why.empty()) why = fit.Unfit(n);
  });
  return why;
}

void PlanNodes(const Module& module, DeviceFit& fit, const Function& f,
               const std::vector<Node>& nodes, OffloadPlan& plan) {
  for (const Node& n : nodes) {
    if (n.kind == Kind::kFor) {
      std::string why = UnfitNest(fit, n);
      if (why.empty()) {
        OffloadNest nest;
        why = PlanNest(module, fit, f, plan, n, &nest);
        if (why.empty()) {
          plan.nests.emplace(&n, std::move(nest));
          continue;
        }
      }
      plan.refusals.push_back({"@" + f.name + ", loop over %" + f.regs[n.results[0].id].name +
                                   ": on the host, because of " + why,
                               n.loc});
    }
    PlanNodes(module, fit, f, n.body, plan);
    PlanNodes(module, fit, f, n.other, plan);
  }
}

}  // namespace

uint32_t OffloadKernel::buckets() const {
  uint32_t sum = 0;
  for (const OrderedTarget& target : ordered) sum += target.buckets();
  return sum;
}

bool IsDeviceFunction(const Module& module, uint32_t function) {
  return DeviceFit(module).IsFit(function);
}

OffloadPlan PlanOffload(const Module& module, const Function& f) {
  OffloadPlan plan;
  for (const Block& block : f.blocks) {
    ForEachNode(block.nodes, [&](const Node& n) {
      if (n.kind == Kind::kScalar && n.op == ir::Op::Const) {
        plan.constants.emplace(n.results[0].id, &n);
      }
    });
  }
  DeviceFit fit(module);
  for (const Block& block : f.blocks) PlanNodes(module, fit, f, block.nodes, plan);
  return plan;
}

}  // namespace pullback::loops
