// Loops that add lanes, eight iterations at a time.
//
// The offsets of the terms are (something invariant) + index, so that eight iterations meet each
// lane once. The lanes are rotated so that position 0 takes the term of the first iteration; then
// whole groups of eight run on vectors, and what is left runs once more under a mask. Terms join
// their lanes in the order of the definition, absent ones are not added: the bits are those of the
// plain loop.
//
// Where a check fails in a group, the plain loop is run from that group on, without its effects,
// until it meets the trap: so the trap is the first one in the order of the iterations.
//
// A register of the body is uniform (one value for all eight), linear (an i64 base and a uniform
// step) or a vector. An access whose offset steps by one is a vector access; others go lane by
// lane, or are gathers and scatters under a mask.
#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/STLExtras.h>

#include <optional>

#include "core/base/status.h"
#include "jit/llvm/emit.h"

namespace pullback::jit {

using Kind = loops::Node::Kind;
using ir::Op;
using llvm::Value;
using loops::Node;
using loops::Reg;

namespace {

using Definitions = llvm::DenseMap<uint32_t, const Node*>;

Definitions DefinitionsOf(const Node& loop) {
  Definitions defs;
  ForEachNode(loop.body, [&](const Node& node) {
    for (const Reg r : node.results) defs[r.id] = &node;
  });
  return defs;
}

// By how much an i64 register grows from one iteration to the next: 0 or 1 or another constant, or
// nothing known. Only what is needed to recognise "invariant + index".
std::optional<int64_t> StepOf(const Node& loop, const Definitions& defs, Reg r, int fuel = 64) {
  if (r == loop.results[0]) return 1;
  const auto def = defs.find(r.id);
  if (def == defs.end()) return 0;
  const Node& node = *def->second;
  if (node.kind != Kind::kScalar || fuel == 0) return std::nullopt;
  if (node.op == Op::Const) return 0;
  if (node.op != Op::Add && node.op != Op::Sub) return std::nullopt;
  const auto x = StepOf(loop, defs, node.args[0], fuel - 1);
  const auto y = StepOf(loop, defs, node.args[1], fuel / 2);
  if (!x || !y) return std::nullopt;
  return node.op == Op::Add ? *x + *y : *x - *y;
}

bool IsWideKind(Kind kind) {
  switch (kind) {
    case Kind::kScalar:
    case Kind::kDim:
    case Kind::kLoad:
    case Kind::kStore:
    case Kind::kIf:
    case Kind::kLaneAdd:
    case Kind::kCheck: return true;
    default: return false;
  }
}

// Writes the body of one loop on vectors.
class WideBody {
 public:
  // `mask`: the iterations that exist, at least one; nullptr: all eight. `replay`: takes the index
  // of a group where a check failed.
  WideBody(FunctionEmitter& e, const Node& loop, Value* index, Value* mask, llvm::PHINode* replay)
      : e_(e), b_(e.b()), index_(index), mask_(mask), replay_(replay) {
    values_[loop.results[0].id] = {index, b_.getInt64(1), nullptr};
  }

  void Emit(const std::vector<Node>& nodes) {
    for (const Node& node : nodes) EmitNode(node);
  }

 private:
  // Uniform: base. Linear: base and step. Else only vec, which the others may have as well.
  struct Wide {
    Value* base = nullptr;
    Value* step = nullptr;
    Value* vec = nullptr;
    bool IsUniform() const { return base != nullptr && step == nullptr; }
  };

  static bool IsInt(Value* v, uint64_t n) {
    auto* known = llvm::dyn_cast<llvm::ConstantInt>(v);
    return known != nullptr && known->getValue() == n;
  }

  Wide& Get(Reg r) {
    const auto found = values_.find(r.id);
    if (found != values_.end()) return found->second;
    return values_[r.id] = {e_.Get(r), nullptr, nullptr};
  }
  void Set(Reg r, Wide w) {
    if (w.step != nullptr && IsInt(w.step, 0)) w.step = nullptr;
    values_[r.id] = w;
  }

  Value* Splat(Value* v) { return b_.CreateVectorSplat(kLanes, v); }

  Value* Vector(Reg r) {
    const Wide w = Get(r);
    if (w.vec != nullptr) return w.vec;
    Value* vec = Splat(w.base);
    if (w.step != nullptr) {
      llvm::SmallVector<llvm::Constant*, kLanes> numbers;
      for (uint64_t k = 0; k < kLanes; ++k) numbers.push_back(b_.getInt64(k));
      vec = b_.CreateAdd(vec, b_.CreateMul(llvm::ConstantVector::get(numbers), Splat(w.step)));
    }
    // Kept only where this place dominates later uses.
    if (depth_ == 0) Get(r).vec = vec;
    return vec;
  }

  // Offset of one lane.
  Value* LaneOf(Reg r, uint64_t k) {
    const Wide w = Get(r);
    if (w.base == nullptr) return b_.CreateExtractElement(w.vec, k);
    if (w.step == nullptr) return w.base;
    return b_.CreateAdd(w.base, b_.CreateMul(w.step, b_.getInt64(k)));
  }

  void EmitNode(const Node& node) {
    switch (node.kind) {
      case Kind::kScalar: return EmitScalar(node);
      case Kind::kDim: return Set(node.results[0], {e_.Dim(node.args[0], node.bits)});
      case Kind::kLoad: return EmitLoad(node);
      case Kind::kStore: return EmitStore(node);
      case Kind::kIf: return EmitIf(node);
      case Kind::kLaneAdd: return EmitLaneAdd(node);
      case Kind::kCheck: return EmitCheck(node);
      default: PB_CHECK(false);
    }
  }

  // Sums, differences and multiples of linear values are linear; all else is uniform or a vector.
  std::optional<Wide> Linear(const Node& node) {
    if (node.op != Op::Add && node.op != Op::Sub && node.op != Op::Mul) return std::nullopt;
    if (e_.Elem(node.results[0]) != DType::kI64) return std::nullopt;
    const Wide x = Get(node.args[0]);
    const Wide y = Get(node.args[1]);
    if (x.base == nullptr || y.base == nullptr) return std::nullopt;
    Value* zero = b_.getInt64(0);
    Value* dx = x.step != nullptr ? x.step : zero;
    Value* dy = y.step != nullptr ? y.step : zero;
    if (node.op == Op::Add) {
      return Wide{b_.CreateAdd(x.base, y.base), b_.CreateAdd(dx, dy)};
    }
    if (node.op == Op::Sub) {
      return Wide{b_.CreateSub(x.base, y.base), b_.CreateSub(dx, dy)};
    }
    if (x.step != nullptr && y.step != nullptr) return std::nullopt;
    Value* step = x.step != nullptr ? b_.CreateMul(dx, y.base) : b_.CreateMul(x.base, dy);
    return Wide{b_.CreateMul(x.base, y.base), step};
  }

  void EmitScalar(const Node& node) {
    const Reg result = node.results[0];
    const DType t = e_.Elem(result);
    if (node.op == Op::Const) return Set(result, {EmitConst(e_.m(), t, node.bits)});
    if (const auto linear = Linear(node)) return Set(result, *linear);
    const bool uniform = llvm::all_of(node.args, [&](Reg arg) { return Get(arg).IsUniform(); });
    llvm::SmallVector<Value*, 3> args;
    for (const Reg arg : node.args) args.push_back(uniform ? Get(arg).base : Vector(arg));
    Value* v = EmitOp({e_.m(), b_, args, e_.Elem(node.args[0]), t, node.op, !uniform});
    Set(result, uniform ? Wide{v} : Wide{nullptr, nullptr, v});
  }

  bool StepsByOne(Reg offset) {
    const Wide w = Get(offset);
    return w.base != nullptr && w.step != nullptr && IsInt(w.step, 1);
  }

  // The addresses of the eight elements.
  Value* Elements(Reg array, Reg offset) { return e_.Element(array, Vector(offset)); }

  void EmitLoad(const Node& node) {
    const Reg array = node.args[0];
    const Reg offset = node.args[1];
    const DType t = e_.Elem(array);
    const llvm::Align align(DTypeSize(t));
    llvm::Type* data = e_.m().DataType(t);
    if (Get(offset).IsUniform()) {  // at least one lane is there: the address is good
      auto* load = b_.CreateAlignedLoad(data, e_.Element(array, Get(offset).base), align);
      return Set(node.results[0], {e_.FromMemory(t, e_.TagData(load, array))});
    }
    auto* type = llvm::FixedVectorType::get(data, kLanes);
    Value* zero = llvm::Constant::getNullValue(type);
    Value* loaded = nullptr;
    if (StepsByOne(offset)) {
      Value* at = e_.Element(array, Get(offset).base);
      loaded = mask_ == nullptr
                   ? static_cast<Value*>(e_.TagData(b_.CreateAlignedLoad(type, at, align), array))
                   : e_.TagData(b_.CreateMaskedLoad(type, at, align, mask_, zero), array);
    } else if (mask_ != nullptr) {
      loaded = e_.TagData(b_.CreateMaskedGather(type, Elements(array, offset), align, mask_, zero),
                          array);
    } else {
      loaded = llvm::PoisonValue::get(type);
      for (uint64_t k = 0; k < kLanes; ++k) {
        auto* one = b_.CreateAlignedLoad(data, e_.Element(array, LaneOf(offset, k)), align);
        loaded = b_.CreateInsertElement(loaded, e_.TagData(one, array), k);
      }
    }
    Set(node.results[0], {nullptr, nullptr, e_.FromMemory(t, loaded)});
  }

  void EmitStore(const Node& node) {
    const Reg array = node.args[0];
    const Reg offset = node.args[1];
    const DType t = e_.Elem(array);
    const llvm::Align align(DTypeSize(t));
    Value* v = e_.ToMemory(t, Vector(node.args[2]));
    if (StepsByOne(offset)) {
      Value* at = e_.Element(array, Get(offset).base);
      if (mask_ == nullptr) {
        e_.TagData(b_.CreateAlignedStore(v, at, align), array);
      } else {
        e_.TagData(b_.CreateMaskedStore(v, at, align, mask_), array);
      }
    } else if (mask_ != nullptr) {
      e_.TagData(b_.CreateMaskedScatter(v, Elements(array, offset), align, mask_), array);
    } else {
      for (uint64_t k = 0; k < kLanes; ++k) {
        e_.TagData(b_.CreateAlignedStore(b_.CreateExtractElement(v, k),
                                         e_.Element(array, LaneOf(offset, k)), align),
                   array);
      }
    }
  }

  void EmitLaneAdd(const Node& node) {
    const DType t = e_.Elem(node.args[0]);
    Value* old = e_.LoadLanes(node.args[0]);
    Value* added =
        EmitCombine({e_.m(), b_, {old, Vector(node.args[2])}, t, t, Op::Add, true}, node.monoid);
    e_.StoreLanes(node.args[0], mask_ == nullptr ? added : b_.CreateSelect(mask_, added, old));
  }

  void EmitCheck(const Node& node) {
    const Wide condition = Get(node.args[0]);
    Value* good = condition.base;
    if (!condition.IsUniform()) {
      good = mask_ == nullptr ? condition.vec : b_.CreateOr(condition.vec, b_.CreateNot(mask_));
      good = b_.CreateAndReduce(good);
    }
    llvm::BasicBlock* go_on = e_.NewBlock("checked");
    replay_->addIncoming(index_, b_.GetInsertBlock());
    e_.Branch(b_.CreateNot(good), replay_->getParent(), go_on);
    b_.SetInsertPoint(go_on);
  }

  // A few cheap operations are evaluated for all lanes rather than branched around.
  static bool IsCheap(const std::vector<Node>& nodes) {
    return nodes.size() <= 8 && llvm::all_of(nodes, [](const Node& node) {
             if (node.kind == Kind::kLaneAdd) return true;
             return node.kind == Kind::kScalar && (ir::Info(node.op).flags & ir::kLibm) == 0;
           });
  }

  // One arm of a branch, and its yields. A uniform condition branches; another narrows the mask,
  // and skips the arm where no lane is left.
  llvm::SmallVector<Value*, 4> EmitArm(const std::vector<Node>& nodes,
                                       const std::vector<Reg>& yields, Value* condition) {
    const bool uniform = !condition->getType()->isVectorTy();
    llvm::SmallVector<Value*, 4> values;
    Value* outer = mask_;
    if (!uniform) mask_ = outer == nullptr ? condition : b_.CreateAnd(outer, condition);
    const auto emit = [&] {
      Emit(nodes);
      for (const Reg r : yields) values.push_back(Vector(r));
    };
    if (!uniform && IsCheap(nodes)) {
      emit();
      mask_ = outer;
      return values;
    }
    llvm::BasicBlock* before = b_.GetInsertBlock();
    llvm::BasicBlock* arm = e_.NewBlock("arm");
    llvm::BasicBlock* join = e_.NewBlock("join");
    b_.CreateCondBr(uniform ? condition : b_.CreateOrReduce(mask_), arm, join);
    b_.SetInsertPoint(arm);
    ++depth_;
    emit();
    --depth_;
    llvm::BasicBlock* end = b_.GetInsertBlock();
    b_.CreateBr(join);
    b_.SetInsertPoint(join);
    for (Value*& v : values) {
      llvm::PHINode* phi = b_.CreatePHI(v->getType(), 2);
      phi->addIncoming(v, end);
      phi->addIncoming(llvm::Constant::getNullValue(v->getType()), before);
      v = phi;
    }
    mask_ = outer;
    return values;
  }

  void EmitIf(const Node& node) {
    const Wide known = Get(node.args[0]);
    Value* condition = known.IsUniform() ? known.base : known.vec;
    const auto yes = EmitArm(node.body, node.body_yields, condition);
    const auto no = EmitArm(node.other, node.other_yields, b_.CreateNot(condition));
    for (size_t i = 0; i < node.results.size(); ++i) {
      Set(node.results[i], {nullptr, nullptr, b_.CreateSelect(condition, yes[i], no[i])});
    }
  }

  FunctionEmitter& e_;
  llvm::IRBuilder<>& b_;
  Value* index_;  // of the first of the eight iterations
  Value* mask_;
  llvm::PHINode* replay_;
  int depth_ = 0;  // of arms that may be skipped
  llvm::DenseMap<uint32_t, Wide> values_;
};

// Lanes that the loop adds to, and their offsets; nothing where two terms of the same lanes have
// different ones, or one is not "invariant + index".
using LaneOffsets = llvm::MapVector<uint32_t, Reg>;

std::optional<LaneOffsets> LaneOffsetsOf(const Node& loop, const Definitions& defs) {
  LaneOffsets offsets;
  bool good = true;
  ForEachNode(loop.body, [&](const Node& node) {
    if (node.kind != Kind::kLaneAdd) return;
    const Reg first = offsets.insert({node.args[0].id, node.args[1]}).first->second;
    good = good && first == node.args[1] && StepOf(loop, defs, node.args[1]) == 1;
  });
  return good ? std::optional(offsets) : std::nullopt;
}

// Stores of eight iterations may go at once when each iteration touches elements of its own (every
// access to the array has one and the same offset, and that moves), or when the body does not read
// the array and stores into it in one place: elsewhere each time, or in order.
bool StoresAreIndependent(const Node& loop, const Definitions& defs) {
  struct Accesses {
    int loads = 0;
    int stores = 0;
    std::optional<Reg> offset;  // of all of them
    bool same = true;
  };
  llvm::DenseMap<uint32_t, Accesses> arrays;
  ForEachNode(loop.body, [&](const Node& node) {
    if (node.kind != Kind::kStore && node.kind != Kind::kLoad) return;
    Accesses& a = arrays[node.args[0].id];
    ++(node.kind == Kind::kStore ? a.stores : a.loads);
    a.same = a.same && a.offset.value_or(node.args[1]) == node.args[1];
    a.offset = node.args[1];
  });
  return llvm::all_of(arrays, [&](const auto& entry) {
    const Accesses& a = entry.second;
    if (a.stores == 0) return true;
    const auto step = StepOf(loop, defs, *a.offset);
    if (step && *step != 0 && a.same) return true;
    return step != 0 && a.loads == 0 && a.stores == 1;
  });
}

// The value of an offset accepted by StepOf, at this index.
Value* ValueAt(FunctionEmitter& e, const Node& loop, const Definitions& defs, Reg r, Value* index) {
  if (r == loop.results[0]) return index;
  const auto def = defs.find(r.id);
  if (def == defs.end()) return e.Get(r);
  const Node& node = *def->second;
  if (node.op == Op::Const) return EmitConst(e.m(), DType::kI64, node.bits);
  Value* x = ValueAt(e, loop, defs, node.args[0], index);
  Value* y = ValueAt(e, loop, defs, node.args[1], index);
  return node.op == Op::Add ? e.b().CreateAdd(x, y) : e.b().CreateSub(x, y);
}

// Position p of the result is position (p + by) mod 8 of v; `back` undoes it.
Value* Rotate(llvm::IRBuilder<>& b, Value* v, Value* by, bool back) {
  if (auto* known = llvm::dyn_cast<llvm::ConstantInt>(by); known && known->isZero()) return v;
  for (int bit = 1; bit < kLanes; bit *= 2) {
    llvm::SmallVector<int, kLanes> from;
    for (int p = 0; p < kLanes; ++p) from.push_back((p + (back ? kLanes - bit : bit)) % kLanes);
    Value* set = b.CreateIsNotNull(b.CreateAnd(by, b.getInt64(static_cast<uint64_t>(bit))));
    v = b.CreateSelect(set, b.CreateShuffleVector(v, from), v);
  }
  return v;
}

// The loop's body without what it stores and adds.
std::vector<Node> WithoutEffects(const std::vector<Node>& nodes) {
  std::vector<Node> kept;
  for (const Node& node : nodes) {
    if (node.kind == Kind::kStore || node.kind == Kind::kLaneAdd) continue;
    kept.push_back(node);
    kept.back().body = WithoutEffects(node.body);
    kept.back().other = WithoutEffects(node.other);
  }
  return kept;
}

// Runs the loop from `start` until it traps.
void EmitReplay(FunctionEmitter& e, const Node& loop, llvm::PHINode* start) {
  llvm::IRBuilder<>& b = e.b();
  b.SetInsertPoint(start->getParent());
  const std::vector<Node> body = WithoutEffects(loop.body);
  e.CountedLoop(start, e.Get(loop.args[1]), 1, 0, [&](Value* index) {
    e.Set(loop.results[0], index);
    e.EmitNodes(body);
  });
  e.Trap(ir::TrapKind::kIndex, 0, b.getInt64(0), b.getInt64(0));  // not reached
}

}  // namespace

bool CanBeWide(const FunctionEmitter& e, const Node& loop) {
  const auto trips = e.facts().Trips(loop);
  if (trips && *trips < kLanes) return false;
  bool good = true;
  ForEachNode(loop.body, [&](const Node& node) {
    good = good && IsWideKind(node.kind) &&
           llvm::all_of(node.results, [&](Reg r) { return e.TypeOf(r).IsScalar(); });
    if (node.kind == Kind::kLaneAdd) good = good && !e.facts().FewLanes(node.args[0]);
  });
  if (!good) return false;
  const Definitions defs = DefinitionsOf(loop);
  if (!StoresAreIndependent(loop, defs)) return false;
  const auto offsets = LaneOffsetsOf(loop, defs);
  return offsets && !offsets->empty();
}

void EmitWide(FunctionEmitter& e, const Node& loop) {
  llvm::IRBuilder<>& b = e.b();
  Value* lo = e.Get(loop.args[0]);
  Value* hi = e.Get(loop.args[1]);
  const Definitions defs = DefinitionsOf(loop);
  const LaneOffsets offsets = *LaneOffsetsOf(loop, defs);
  llvm::SmallVector<Value*, 4> rotations;
  for (const auto& [lanes, offset] : offsets) {
    Value* by = b.CreateAnd(ValueAt(e, loop, defs, offset, lo), b.getInt64(kLanes - 1));
    rotations.push_back(by);
    e.StoreLanes(Reg{lanes}, Rotate(b, e.LoadLanes(Reg{lanes}), by, false));
  }
  llvm::PHINode* replay = nullptr;
  ForEachNode(loop.body, [&](const Node& node) {
    if (node.kind != Kind::kCheck || replay != nullptr) return;
    replay = llvm::IRBuilder<>(e.NewBlock("replay")).CreatePHI(b.getInt64Ty(), 2);
  });

  Value* whole = b.CreateAnd(b.CreateSub(hi, lo), b.getInt64(~uint64_t{kLanes - 1}));
  Value* whole_end = b.CreateAdd(lo, whole);
  llvm::BasicBlock* groups = e.NewBlock("groups");
  llvm::BasicBlock* rest = e.NewBlock("rest");
  llvm::BasicBlock* part = e.NewBlock("part");
  llvm::BasicBlock* summed = e.NewBlock("summed");
  b.CreateCondBr(b.CreateIsNull(whole), rest, groups);
  b.SetInsertPoint(groups);
  e.CountedLoop(lo, whole_end, kLanes, e.PollEvery(loop) / kLanes,
                [&](Value* index) { WideBody(e, loop, index, nullptr, replay).Emit(loop.body); });
  b.CreateBr(rest);

  b.SetInsertPoint(rest);
  b.CreateCondBr(b.CreateICmpEQ(whole_end, hi), summed, part);
  b.SetInsertPoint(part);
  llvm::SmallVector<llvm::Constant*, kLanes> numbers;
  for (uint64_t k = 0; k < kLanes; ++k) numbers.push_back(b.getInt64(k));
  Value* mask = b.CreateICmpULT(llvm::ConstantVector::get(numbers),
                                b.CreateVectorSplat(kLanes, b.CreateSub(hi, whole_end)));
  WideBody(e, loop, whole_end, mask, replay).Emit(loop.body);
  b.CreateBr(summed);

  if (replay != nullptr) EmitReplay(e, loop, replay);
  b.SetInsertPoint(summed);
  size_t k = 0;
  for (const auto& [lanes, offset] : offsets) {
    e.StoreLanes(Reg{lanes}, Rotate(b, e.LoadLanes(Reg{lanes}), rotations[k++], true));
  }
}

}  // namespace pullback::jit
