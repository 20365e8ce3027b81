// Copies of a statement's body, made instruction by instruction as they are asked for, inside the
// statement that a builder is building.
#pragma once

#include <functional>
#include <unordered_map>

#include "core/ad/statement.h"

namespace pullback::ad {

class BodyCopy {
 public:
  // Begins the new statement: same extents, same constraints. The indices from number `reverse_from` on
  // run backwards: index i of the old statement is n - 1 - i of the new one.
  static constexpr size_t kForwards = SIZE_MAX;
  BodyCopy(ir::Builder& b, const Surroundings& around, const ir::Each& each,
           size_t reverse_from = kForwards);

  // The value of `v` (of the body, an index variable, or from outside) in the new statement.
  ir::Value Get(ir::Value v);
  ir::Affine Get(const ir::Affine& a);
  std::vector<ir::Affine> Get(ir::AffineSpan subs);
  ir::Value GetOrNone(ir::Value v) { return v.valid() ? Get(v) : v; }
  bool IsBody(ir::Value v) const { return def_.count(v.id) != 0; }
  const ir::Inst& Def(ir::Value v) const { return *def_.at(v.id); }
  // Values that the primal statement stored element by element, and that cost a call to compute, are
  // read back from its results instead of being computed again.
  void ReadBack(const ir::Inst& inst);
  // Copies an instruction's results from elsewhere (a call that also gives partials).
  void Set(ir::Value v, ir::Value copy) { copy_[v.id] = copy; }
  // `copy` is asked before a call is copied: true, and it has Set the call's results.
  void CopyCallsBy(std::function<bool(const ir::Inst& call)> copy) { copy_call_ = std::move(copy); }
  // The element of an array over the whole space at the statement's point.
  ir::Value AtPoint(ir::Value array, ir::Value guard);
  // Runs `make` with the copy of `guard` on every instruction it appends.
  template <typename Fn>
  auto Under(ir::Value guard, Fn&& make) {
    const ir::Value copied = GetOrNone(guard);
    const ir::Value before = b_.guard();
    b_.SetGuard(copied);
    auto made = make();
    b_.SetGuard(before);
    return made;
  }

 private:
  ir::Value Copy(const ir::Inst& inst, ir::Value wanted);
  ir::Value Stored(const ir::EachResult& r, ir::Value array);
  ir::Value Kept(const ir::Inst& inst, ir::Value wanted);

  struct StoredResult {
    const ir::EachResult* result;
    ir::Value array;
  };

  ir::Builder& b_;
  const Surroundings& around_;
  const ir::Each& each_;
  std::unordered_map<uint32_t, const ir::Inst*> def_;
  std::unordered_map<uint32_t, ir::Value> copy_;
  std::unordered_map<uint32_t, ir::Affine> reversed_;  // old index, in terms of the new one
  std::unordered_map<uint32_t, StoredResult> stored_;
  std::function<bool(const ir::Inst&)> copy_call_;
};

}  // namespace pullback::ad
