// A statement that makes, for all turns of loops around a place at once, what one turn makes there.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/ir/builder.h"
#include "core/opt/turn_values.h"

namespace pullback::opt {

class TurnStatement {
 public:
  TurnStatement(ir::Module& m, ir::Function& f, const TurnValues& values,
                std::vector<ir::Inst>& out)
      : values_(values), builder_(m, f) {
    builder_.RedirectTo(&out);
  }

  ir::Builder& builder() { return builder_; }
  // What holds wherever something is computed; from then on.
  void SetBase(ir::Value guard) {
    base_ = guard;
    guards_.clear();
  }
  // At the point; kNoValue: always. Nothing: it has no form.
  std::optional<ir::Value> GuardOf(const TurnCondition* condition);
  std::vector<ir::Value> Begin(ir::ValueSpan extents) { return builder_.BeginEach(extents); }
  // What stands for a value of a turn.
  void Bind(ir::Value v, ir::Affine form) { forms_[v.id] = std::move(form); }
  // An index or a counter that is less than the extent.
  void Bind(ir::Value v, ir::Affine form, ir::Value extent) {
    Bind(v, std::move(form));
    extents_[v.id] = extent;
  }
  // A loop's counter, at so many turns.
  void Bind(const CountedNest* nest, const ir::Affine& index, const ir::Affine& first,
            ir::Value extent) {
    Bind(nest->counter, index + first, extent);
    if (first != ir::Affine::Const(0)) extents_.erase(nest->counter.id);
    turns_[nest] = index;
  }
  // Only points where it is no less than 0, or is 0; false: it is of what points compute.
  bool Where(const ir::Affine& e, bool equality = false);
  // A number of a turn, at the point; kNoValue: it has no form.
  ir::Value Get(ir::Value v);
  std::optional<ir::Affine> Get(const ir::Affine& a);
  std::optional<ir::Affines> Get(ir::AffineSpan subs);
  // Element of an array that turns make, at every point.
  ir::Value Read(const TurnArray& array, ir::AffineSpan own);
  // The indices of arrays that turns of these loops have each their own of.
  // The same, made again where that is cheap.
  ir::Value ReadOrMake(const TurnArray& array, ir::AffineSpan own);
  std::optional<ir::Affines> Indices(const NestPath& around);
  // An instruction of a turn's statement or of its own; false: it has no form.
  bool Copy(const ir::Inst& inst);

 private:
  // With these indices.
  ir::Value MakeAgain(const CheapArray& array, ir::AffineSpan indices);
  ir::Value Make(ir::Value v);
  ir::Value MakeEither(ir::Value v);
  // An operation that the builder appends where the condition holds.
  ir::Value And(ir::Value a, ir::Value b);
  bool CopyRead(const ir::Inst& inst, ir::Inst& copy);
  ir::Value MakeElement(const CheapArray& array, ir::AffineSpan at);

  const TurnValues& values_;
  ir::Builder builder_;
  ir::Value base_;
  std::map<const TurnCondition*, ir::Value> guards_;
  absl::flat_hash_map<uint32_t, ir::Affine> forms_;  // integers
  absl::flat_hash_map<uint32_t, ir::Value> extents_;
  std::map<const CountedNest*, ir::Affine> turns_;
  absl::flat_hash_map<uint32_t, ir::Value> values_at_;
};

}  // namespace pullback::opt
