// Batching of single instructions over new axes: what batch.h does to straight-line code and batch_blocks.h
// to whole functions.
#pragma once

#include <map>
#include <vector>

#include "core/ad/batch.h"
#include "core/ir/builder.h"

namespace pullback::ad {

// Where arrays get the new axes. At the back an element of the program's own is a row of all seeds: what is
// alike for them is computed once a row, and control flow that goes from element to element runs along rows.
enum class Axes { kFront, kBack };

class BatchedLists;

// Copies instructions of `from` to the builder's place, with the axes on what reads something that has them.
class InstBatcher {
 public:
  // lists: of one axis at the back; without it lists have no form.
  InstBatcher(ir::Builder& b, const ir::Function& from, Axes axes, std::vector<ir::Value> extents,
              BatchedLists* lists = nullptr)
      : b_(b), from_(from), axes_(axes), extents_(std::move(extents)), lists_(lists) {}

  void Bind(ir::Value v, Batched to) { to_[v] = to; }
  bool IsBatched(ir::Value v) const;
  const Batched& At(ir::Value v) const { return to_.at(v); }
  ir::Value Get(ir::Value v) const { return to_.at(v).value; }
  ir::Affine Get(ir::Affine a) const;
  ir::Type TypeOf(ir::Value v, bool batched) const;
  ir::Type OwnType(ir::Value v) const { return from_.TypeOf(v); }

  // False where it has no form for all points at once.
  bool Visit(const ir::Inst& inst);
  // The instruction as it is, reading what stands for its operands.
  void Copy(const ir::Inst& inst);

  // The value at every point, where it has none of the axes.
  ir::Value Spread(ir::Value v);
  // A statement over the new axes that makes a scalar for each point.
  std::vector<ir::Value> BeginPoints();
  ir::Value EndPoints(const std::vector<ir::Value>& k, ir::Value value);
  // A scalar at the point of the statement that is being built.
  ir::Value Here(ir::Value v, const std::vector<ir::Value>& k);
  // Subscripts of an array with the axes: its own, and those of the point.
  std::vector<ir::Affine> WithPoint(std::vector<ir::Affine> own,
                                    const std::vector<ir::Value>& k) const;

  // Arrays with the new axes that were stored.
  std::vector<ir::Value>& made() { return made_; }

 private:
  size_t Count() const { return extents_.size(); }
  void Define(ir::Inst& copy, ir::ValueSpan results, bool batched);
  void FreshBody(ir::Each& each);
  bool VisitPoint(const ir::Inst& inst, ir::AffineSpan subs);
  void VisitAddArrays(const ir::Inst& inst);
  bool VisitEach(const ir::Inst& inst);
  std::map<ir::Value, bool> BatchedBody(const ir::Each& each) const;
  void CopyBatched(const ir::Inst& inst);
  size_t PlaceOfAxes(const ir::Each& each, const ir::EachResult& r) const;
  void AddAxes(ir::Each& each, const std::vector<ir::Value>& k, const std::vector<bool>& batched);
  ir::Value ReadAt(ir::Value v, ir::AffineSpan at, std::vector<ir::Inst>& reads);

  ir::Builder& b_;
  const ir::Function& from_;
  const Axes axes_;
  const std::vector<ir::Value> extents_;
  BatchedLists* const lists_;
  std::map<ir::Value, Batched> to_;
  std::vector<ir::Value> made_;
};

std::vector<ir::Affine> SubscriptsOf(const std::vector<ir::Value>& indices);

}  // namespace pullback::ad
