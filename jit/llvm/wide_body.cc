#include "core/base/status.h"
#include "jit/llvm/wide.h"

namespace pullback::jit {

using Kind = loops::Node::Kind;
using ir::Op;
using llvm::Value;

namespace {

bool IsInt(Value* v, uint64_t n) {
  auto* known = llvm::dyn_cast<llvm::ConstantInt>(v);
  return known != nullptr && known->getValue() == n;
}

// A few cheap operations are evaluated for all lanes rather than branched around.
bool IsCheap(const std::vector<loops::Node>& nodes) {
  return nodes.size() <= 8 && llvm::all_of(nodes, [](const loops::Node& node) {
           if (node.kind == Kind::kLaneAdd) return true;
           return node.kind == Kind::kScalar && (ir::Info(node.op).flags & ir::kLibm) == 0;
         });
}

}  // namespace

WideBody::WideBody(FunctionEmitter& e, const Node& loop, int width, Value* index, Value* mask,
                   llvm::PHINode* replay)
    : e_(e), b_(e.b()), width_(width), index_(index), mask_(mask), replay_(replay) {
  values_[loop.results[0].id] = {index, b_.getInt64(1), nullptr};
}

void WideBody::Emit(const std::vector<Node>& nodes) {
  for (const Node& node : nodes) EmitNode(node);
}

llvm::Constant* WideBody::Numbers(llvm::IRBuilder<>& b, int width) {
  llvm::SmallVector<llvm::Constant*, 16> numbers;
  for (int k = 0; k < width; ++k) numbers.push_back(b.getInt64(static_cast<uint64_t>(k)));
  return llvm::ConstantVector::get(numbers);
}

WideBody::Wide& WideBody::Get(Reg r) {
  const auto found = values_.find(r.id);
  if (found != values_.end()) return found->second;
  return values_[r.id] = {e_.Get(r), nullptr, nullptr};
}
void WideBody::Set(Reg r, Wide w) {
  if (w.step != nullptr && IsInt(w.step, 0)) w.step = nullptr;
  values_[r.id] = w;
}

Value* WideBody::Splat(Value* v) { return b_.CreateVectorSplat(static_cast<unsigned>(width_), v); }

Value* WideBody::Vector(Reg r) {
  const Wide w = Get(r);
  if (w.vec != nullptr) return w.vec;
  Value* vec = Splat(w.base);
  if (w.step != nullptr) {
    vec = b_.CreateAdd(vec, b_.CreateMul(Numbers(b_, width_), Splat(w.step)));
  }
  // Kept only where this place dominates later uses.
  if (depth_ == 0) Get(r).vec = vec;
  return vec;
}

// Offset of one lane.
Value* WideBody::LaneOf(Reg r, uint64_t k) {
  const Wide w = Get(r);
  if (w.base == nullptr) return b_.CreateExtractElement(w.vec, k);
  if (w.step == nullptr) return w.base;
  return b_.CreateAdd(w.base, b_.CreateMul(w.step, b_.getInt64(k)));
}

void WideBody::EmitNode(const Node& node) {
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
std::optional<WideBody::Wide> WideBody::Linear(const Node& node) {
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

void WideBody::EmitScalar(const Node& node) {
  const Reg result = node.results[0];
  const DType t = e_.Elem(result);
  if (node.op == Op::Const) return Set(result, {EmitConst(e_.m(), t, node.bits)});
  if (const auto linear = Linear(node)) return Set(result, *linear);
  const bool uniform = llvm::all_of(node.args, [&](Reg arg) { return Get(arg).IsUniform(); });
  llvm::SmallVector<Value*, 3> args;
  for (const Reg arg : node.args) args.push_back(uniform ? Get(arg).base : Vector(arg));
  Value* v = EmitOp({e_.m(), b_, args, e_.Elem(node.args[0]), t, node.op, uniform ? 0 : width_});
  Set(result, uniform ? Wide{v} : Wide{nullptr, nullptr, v});
}

bool WideBody::StepsByOne(Reg offset) {
  const Wide w = Get(offset);
  return w.base != nullptr && w.step != nullptr && IsInt(w.step, 1);
}

// The addresses of the eight elements.
Value* WideBody::Elements(Reg array, Reg offset) { return e_.Element(array, Vector(offset)); }

void WideBody::EmitLoad(const Node& node) {
  const Reg array = node.args[0];
  const Reg offset = node.args[1];
  const DType t = e_.Elem(array);
  const llvm::Align align(DTypeSize(t));
  llvm::Type* data = e_.m().DataType(t);
  if (Get(offset).IsUniform()) {  // at least one lane is there: the address is good
    auto* load = b_.CreateAlignedLoad(data, e_.Element(array, Get(offset).base), align);
    return Set(node.results[0], {e_.FromMemory(t, e_.TagData(load, array))});
  }
  Set(node.results[0], {nullptr, nullptr, e_.FromMemory(t, LoadVector(array, offset))});
}

Value* WideBody::LoadVector(Reg array, Reg offset) {
  const DType t = e_.Elem(array);
  const llvm::Align align(DTypeSize(t));
  llvm::Type* data = e_.m().DataType(t);
  auto* type = llvm::FixedVectorType::get(data, static_cast<unsigned>(width_));
  Value* zero = llvm::Constant::getNullValue(type);
  if (StepsByOne(offset)) {
    Value* at = e_.Element(array, Get(offset).base);
    if (mask_ == nullptr) return e_.TagData(b_.CreateAlignedLoad(type, at, align), array);
    return e_.TagData(b_.CreateMaskedLoad(type, at, align, mask_, zero), array);
  }
  if (mask_ != nullptr) {
    Value* at = Elements(array, offset);
    return e_.TagData(b_.CreateMaskedGather(type, at, align, mask_, zero), array);
  }
  Value* loaded = llvm::PoisonValue::get(type);
  for (uint64_t k = 0; k < static_cast<uint64_t>(width_); ++k) {
    auto* one = b_.CreateAlignedLoad(data, e_.Element(array, LaneOf(offset, k)), align);
    loaded = b_.CreateInsertElement(loaded, e_.TagData(one, array), k);
  }
  return loaded;
}

void WideBody::EmitStore(const Node& node) {
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
    for (uint64_t k = 0; k < static_cast<uint64_t>(width_); ++k) {
      e_.TagData(b_.CreateAlignedStore(b_.CreateExtractElement(v, k),
                                       e_.Element(array, LaneOf(offset, k)), align),
                 array);
    }
  }
}

void WideBody::EmitLaneAdd(const Node& node) {
  const DType t = e_.Elem(node.args[0]);
  Value* old = e_.LoadLanes(node.args[0]);
  Value* added =
      EmitCombine({e_.m(), b_, {old, Vector(node.args[2])}, t, t, Op::Add, width_}, node.monoid);
  e_.StoreLanes(node.args[0], mask_ == nullptr ? added : b_.CreateSelect(mask_, added, old));
}

void WideBody::EmitCheck(const Node& node) {
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

// One arm of a branch, and its yields. A uniform condition branches; another narrows the mask,
// and skips the arm where no lane is left.
llvm::SmallVector<Value*, 4> WideBody::EmitArm(const std::vector<Node>& nodes,
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

void WideBody::EmitIf(const Node& node) {
  const Wide known = Get(node.args[0]);
  Value* condition = known.IsUniform() ? known.base : known.vec;
  const auto yes = EmitArm(node.body, node.body_yields, condition);
  const auto no = EmitArm(node.other, node.other_yields, b_.CreateNot(condition));
  for (size_t i = 0; i < node.results.size(); ++i) {
    Set(node.results[i], {nullptr, nullptr, b_.CreateSelect(condition, yes[i], no[i])});
  }
}

}  // namespace pullback::jit
