// The plan of a module: which kernels there are, what they are called with.
#include "jit/llvm/offload.h"

#include <algorithm>

#include "core/loops/walk.h"
#include "jit/llvm/kernel.h"

namespace pullback::jit {

using Form = loops::OffloadKernel::Form;
using Step = Offload::Step;

Offload::Offload(const loops::Module& module) : plans(module.functions.size()) {
  for (const uint32_t f : loops::ReachedFunctions(module)) {
    plans[f] = loops::PlanOffload(module, *module.functions[f]);
    for (const auto& [root, nest] : plans[f].nests) {
      for (const loops::OffloadKernel& kernel : nest.kernels) {
        if (kernel.form != Form::kOrdered) {
          kernels.push_back({f, &nest, &kernel, Step::kOnly});
          continue;
        }
        for (const Step step : {Step::kCount, Step::kPlace, Step::kMake, Step::kJoin}) {
          kernels.push_back({f, &nest, &kernel, step});
        }
      }
    }
  }
}

uint32_t Offload::NumberOf(const loops::OffloadKernel* kernel) const {
  const auto at = std::find_if(kernels.begin(), kernels.end(),
                               [&](const Kernel& k) { return k.kernel == kernel; });
  return static_cast<uint32_t>(at - kernels.begin());
}

namespace {

using Param = DeviceKernel::Param;

std::string About(const loops::Function& f, const Offload::Kernel& k) {
  const auto name = [&](const loops::Node& loop) { return "%" + f.regs[loop.results[0].id].name; };
  std::string text = "@" + f.name + ", loop over " + name(*k.nest->root) + ": ";
  switch (k.step) {
    case Step::kOnly: text += "a thread for each iteration of"; break;
    case Step::kCount: text += "counts terms by"; break;
    case Step::kPlace: return text + "gives the terms places";
    case Step::kMake: text += "makes the terms by"; break;
    case Step::kJoin: return text + "joins the terms in order";
  }
  if (k.step != Step::kOnly) text += " segments of";
  for (const loops::Node* loop : k.kernel->parallel) text += " " + name(*loop);
  if (k.kernel->form == Form::kTiles) {
    text += ", in tiles, over steps of " + name(*k.kernel->tile.step);
  }
  return text;
}

bool Writes(const loops::OffloadKernel& kernel, loops::Reg array) {
  const auto joins = [&](const loops::OrderedTarget& target) { return target.into == array; };
  return std::find(kernel.keeps.begin(), kernel.keeps.end(), array) != kernel.keeps.end() ||
         std::any_of(kernel.ordered.begin(), kernel.ordered.end(), joins);
}

std::vector<Param> ParamsOf(const Offload::Kernel& k) {
  std::vector<Param> params(k.nest->scalars.size() + k.nest->extents.size(), Param::kScalar);
  for (const loops::Reg array : k.nest->arrays) {
    params.push_back(Writes(*k.kernel, array) ? Param::kWrite : Param::kRead);
  }
  for (const loops::OrderedTarget& target : k.kernel->ordered) {
    if (target.lanes) params.push_back(Param::kLanes);
  }
  return params;
}

}  // namespace

std::vector<DeviceKernel> Offload::Describe(const loops::Module& module) const {
  std::vector<DeviceKernel> all;
  for (const Kernel& k : kernels) {
    DeviceKernel d;
    d.name = "k" + std::to_string(all.size());
    d.about = About(*module.functions[k.function], k);
    d.checks = k.nest->checks;
    d.params = ParamsOf(k);
    d.shared_bytes = SharedBytes(*k.kernel);
    d.ordered.buckets = k.kernel->buckets();
    for (const loops::OrderedTarget& target : k.kernel->ordered) {
      d.ordered.joiners += target.threads();
    }
    all.push_back(std::move(d));
  }
  return all;
}

}  // namespace pullback::jit
