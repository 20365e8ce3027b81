#include "core/lang/lower_trial.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/lang/lower_array.h"
#include "core/lang/lower_comprehension.h"
#include "core/lang/lower_sizes.h"

namespace pullback::lang {
namespace {

std::vector<ir::Inst>& InstsOf(Context& c) { return c.function.blocks[c.b.block()].insts; }

}  // namespace

SizeTrial::SizeTrial(Context& c)
    : c_(c),
      first_new_(c.ValueCount()),
      first_(InstsOf(c).size()),
      dims_only_(std::exchange(c.dims_only, true)),
      mark_(c) {
  c.OpenFrame();
}

void SizeTrial::End() {
  if (std::exchange(ended_, true)) return;
  std::vector<ir::Inst>& insts = InstsOf(c_);
  made_.assign(std::make_move_iterator(insts.begin() + static_cast<std::ptrdiff_t>(first_)),
               std::make_move_iterator(insts.end()));
  mark_.Rollback();
  c_.dims_only = dims_only_;
}

bool SizeTrial::KnowsBefore(ir::AffineSpan sizes) const {
  return std::all_of(sizes.begin(), sizes.end(), [&](const Affine& d) {
    return std::none_of(d.terms.begin(), d.terms.end(),
                        [&](const Affine::Term& t) { return t.value.id >= first_new_; });
  });
}

bool SizeTrial::PutBack(std::vector<Affine>& sizes) {
  std::unordered_set<uint32_t> needed;
  const auto need = [&](Value v) {
    if (IsNew(v)) needed.insert(v.id);
  };
  for (const Affine& d : sizes) ir::ForEachOperand(d, need);
  std::vector<size_t> wanted;
  for (size_t i = made_.size(); i-- > 0 && !needed.empty();) {
    const auto& results = made_[i].results;
    const bool defines = std::any_of(results.begin(), results.end(),
                                     [&](Value v) { return needed.erase(v.id) != 0; });
    if (!defines) continue;
    if (!CannotTrap(c_, made_[i])) return false;
    ir::ForEachOperand(std::as_const(made_[i]), need);
    wanted.push_back(i);
  }
  if (!needed.empty()) return false;
  {
    AtBlock block(c_);
    for (size_t k = wanted.size(); k-- > 0;) {
      for (Value v : made_[wanted[k]].results) kept_.insert(v.id);
      c_.b.Append(std::move(made_[wanted[k]]));
    }
  }
  for (Affine& d : sizes) {
    if (!KnowsBefore({d}) || !IsNonNegative(c_, d)) d = NotNegative(c_, d);
  }
  return true;
}

LeafDims SizesBeforehand(Context& c, const std::function<std::optional<Leaves>()>& lower) {
  const bool attempting = std::exchange(c.attempting, true);  // what functions hold is bounded
  const size_t work = std::exchange(c.work, 0);
  SizeTrial trial(c);
  const bool bracketed = std::exchange(c.bracketed, true);
  const bool beforehand = std::exchange(c.beforehand, true);
  const std::optional<Leaves> leaves = lower();
  std::vector<std::vector<Affine>> sizes;
  for (const Leaf& leaf : leaves.value_or(Leaves())) {
    sizes.push_back(IsArrayLeaf(c, leaf) ? ExtentsOf(c, leaf) : std::vector<Affine>());
  }
  c.bracketed = bracketed;
  c.beforehand = beforehand;
  trial.End();
  c.attempting = attempting;
  c.work = work;
  LeafDims dims(sizes.size());
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (trial.PutBack(sizes[i])) dims[i] = sizes[i];
  }
  return dims;
}

}  // namespace pullback::lang
