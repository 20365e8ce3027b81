// Loops whose iterations are independent, several at a time.
//
// Whole groups of iterations run on vectors, and what is left runs once more under a mask. The width
// of a group is eight, and the terms of lanes have offsets (something invariant) + index, so that a
// group meets each lane once; the lanes are rotated so that position 0 takes the term of the first
// iteration. Terms join their lanes in the order of the definition, absent ones are not added: the
// bits are those of the plain loop. (Loops over f32 without lanes go sixteen at a time.)
//
// Where a check fails in a group, the plain loop is run from that group on, without its effects,
// until it meets the trap: so the trap is the first one in the order of the iterations.
#pragma once

#include "jit/llvm/emit.h"

namespace pullback::jit {

// Writes the body of one loop on vectors.
//
// A register of the body is uniform (one value for the whole group), linear (an i64 base and a
// uniform step) or a vector. An access whose offset steps by one is a vector access; others go lane
// by lane, or are gathers and scatters under a mask.
class WideBody {
 public:
  // `index`: of the group's first iteration. `mask`: the iterations that exist, at least one;
  // nullptr: all. `replay`: takes the index of a group where a check failed.
  WideBody(FunctionEmitter& e, const loops::Node& loop, int width, llvm::Value* index,
           llvm::Value* mask, llvm::PHINode* replay);
  void Emit(const std::vector<loops::Node>& nodes);
  // 0, 1, 2, … as i64.
  static llvm::Constant* Numbers(llvm::IRBuilder<>& b, int width);

 private:
  using Node = loops::Node;
  using Reg = loops::Reg;
  using Value = llvm::Value;

  // Uniform: base. Linear: base and step. Else only vec, which the others may have as well.
  struct Wide {
    Value* base = nullptr;
    Value* step = nullptr;
    Value* vec = nullptr;
    bool IsUniform() const { return base != nullptr && step == nullptr; }
  };

  Wide& Get(Reg r);
  void Set(Reg r, Wide w);
  Value* Splat(Value* v);
  Value* Vector(Reg r);
  Value* LaneOf(Reg r, uint64_t k);        // of an i64
  Value* Elements(Reg array, Reg offset);  // addresses
  bool StepsByOne(Reg offset);
  std::optional<Wide> Linear(const Node& node);

  void EmitNode(const Node& node);
  void EmitScalar(const Node& node);
  void EmitLoad(const Node& node);
  Value* LoadVector(Reg array, Reg offset);
  void EmitStore(const Node& node);
  void EmitLaneAdd(const Node& node);
  void EmitCheck(const Node& node);
  void EmitIf(const Node& node);
  llvm::SmallVector<Value*, 4> EmitArm(const std::vector<Node>& nodes,
                                       const std::vector<Reg>& yields, Value* condition);

  FunctionEmitter& e_;
  llvm::IRBuilder<>& b_;
  int width_;
  Value* index_;
  Value* mask_;
  llvm::PHINode* replay_;
  int depth_ = 0;  // of arms that may be skipped
  llvm::DenseMap<uint32_t, Wide> values_;
};

}  // namespace pullback::jit
