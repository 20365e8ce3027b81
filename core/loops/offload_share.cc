#include "core/loops/offload_share.h"

#include <algorithm>

namespace pullback::loops {
namespace {

using Form = OffloadKernel::Form;

// A term is 16 bytes, which are written, and read by those who share a bucket; and it is counted before.
constexpr int64_t kFilingATerm = 64;

bool RunsOver(const OffloadKernel& kernel, const OffloadKernel& all_loops_of) {
  return std::all_of(all_loops_of.parallel.begin(), all_loops_of.parallel.end(), [&](auto* loop) {
    return std::find(kernel.parallel.begin(), kernel.parallel.end(), loop) != kernel.parallel.end();
  });
}

std::vector<Reg> ResultsOf(const OffloadKernel& kernel) {
  std::vector<Reg> results = kernel.keeps;
  for (const OrderedTarget& target : kernel.ordered) results.push_back(target.into);
  return results;
}

int64_t WeightOfBoth(const NestWork& work, const OffloadKernel& a, const OffloadKernel& b) {
  NestWork::Nodes both = work.For(ResultsOf(a));
  const NestWork::Nodes other = work.For(ResultsOf(b));
  for (size_t k = 0; k < both.size(); ++k) both[k] = both[k] && other[k];
  return work.Weight(both);
}

// Whether neither of the two could store the other's results along: each computes the body for itself.
bool IsBeside(const OffloadKernel& grid, const OffloadKernel& other) {
  return &grid != &other && !RunsOver(grid, other) &&
         (other.form == Form::kOrdered || !RunsOver(other, grid));
}

}  // namespace

void ShareWithOrdered(OffloadNest* nest) {
  const auto ordered = std::find_if(nest->kernels.begin(), nest->kernels.end(),
                                    [](const auto& k) { return k.form == Form::kOrdered; });
  if (ordered == nest->kernels.end()) return;
  OffloadKernel kernel = std::move(*ordered);
  nest->kernels.erase(ordered);
  const auto shares = [&](OffloadKernel& grid) {
    if (!RunsOver(grid, kernel)) return false;
    kernel.keeps.insert(kernel.keeps.end(), grid.keeps.begin(), grid.keeps.end());
    return true;
  };
  std::erase_if(nest->kernels, shares);
  nest->kernels.insert(nest->kernels.begin(), std::move(kernel));
}

void FileCostly(const NestWork& work, const std::function<bool(Reg array)>& file,
                OffloadNest* nest) {
  // Which, before the first is filed: of two of a kind both are.
  std::vector<Reg> costly;
  for (const OffloadKernel& grid : nest->kernels) {
    if (grid.form == Form::kOrdered) continue;
    const auto terms = static_cast<int64_t>(grid.keeps.size());
    const bool is = std::any_of(nest->kernels.begin(), nest->kernels.end(), [&](const auto& other) {
      return IsBeside(grid, other) && WeightOfBoth(work, grid, other) >= terms * kFilingATerm;
    });
    if (is) costly.insert(costly.end(), grid.keeps.begin(), grid.keeps.end());
  }
  for (const Reg array : costly) {
    if (!file(array)) continue;
    for (OffloadKernel& kernel : nest->kernels) std::erase(kernel.keeps, array);
  }
  std::erase_if(nest->kernels, [](const OffloadKernel& k) { return ResultsOf(k).empty(); });
}

void StoreAlong(const NestWork& work, OffloadNest* nest) {
  std::vector<OffloadKernel>& kernels = nest->kernels;
  for (size_t wide = 0; wide < kernels.size();) {
    const int64_t all = work.Weight(work.For(ResultsOf(kernels[wide])));
    OffloadKernel* best = nullptr;  // of the most threads
    for (OffloadKernel& narrow : kernels) {
      const bool fits = &narrow != &kernels[wide] && narrow.form == Form::kGrid &&
                        kernels[wide].form == Form::kGrid && RunsOver(kernels[wide], narrow);
      if (!fits || 2 * WeightOfBoth(work, narrow, kernels[wide]) < all) continue;
      if (best == nullptr || narrow.parallel.size() > best->parallel.size()) best = &narrow;
    }
    if (best == nullptr) {
      ++wide;
      continue;
    }
    best->keeps.insert(best->keeps.end(), kernels[wide].keeps.begin(), kernels[wide].keeps.end());
    kernels.erase(kernels.begin() + static_cast<std::ptrdiff_t>(wide));
  }
}

}  // namespace pullback::loops
