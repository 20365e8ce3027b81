// Code that is written to learn the sizes of what it gives, and taken back.
#pragma once

#include <unordered_set>
#include <vector>

#include "core/lang/lower_context.h"

namespace pullback::lang {

// While it lives, or until it ends, only sizes matter (Context::dims_only), and what is written goes to a new frame.
class SizeTrial {
 public:
  explicit SizeTrial(Context& c);
  ~SizeTrial() { End(); }
  SizeTrial(const SizeTrial&) = delete;
  SizeTrial& operator=(const SizeTrial&) = delete;

  void End();  // nothing of it stands any more
  // Whether the sizes are made of nothing that it wrote.
  bool KnowsBefore(ir::AffineSpan sizes) const;
  // After its end: appends to the block what the sizes need of it, and makes them no less than 0, since nobody has
  // checked what is known of them. False: some of that may trap, or stands in no block.
  bool PutBack(std::vector<Affine>& sizes);

 private:
  bool IsNew(Value v) const { return v.id >= first_new_ && kept_.count(v.id) == 0; }

  Context& c_;
  const uint32_t first_new_;
  const size_t first_;
  const bool dims_only_;
  bool ended_ = false;
  Mark mark_;
  std::vector<ir::Inst> made_;
  std::unordered_set<uint32_t> kept_;
};

// Block mode: the sizes of all that `lower` gives, none of them negative, without evaluating it. Of a leaf of which
// only the value tells them: nullopt; where `lower` gives nothing there are no leaves.
using LeafDims = std::vector<std::optional<std::vector<Affine>>>;
LeafDims SizesBeforehand(Context& c, const std::function<std::optional<Leaves>()>& lower);

}  // namespace pullback::lang
