// Structured loops, branches, lanes.
#include <llvm/IR/MDBuilder.h>

#include <algorithm>

#include "jit/llvm/emit.h"

namespace pullback::jit {

using Kind = loops::Node::Kind;
using llvm::Value;

namespace {

// Iterations of an innermost loop between two polls, at most; fewer where the body is heavy.
constexpr int64_t kMostBetweenPolls = 16384;
constexpr int64_t kWorkBetweenPolls = 8 * kMostBetweenPolls;

}  // namespace

// --------------------------------------------------------------------------------------- loops --

// Two nested loops where it polls: slices outside, and inside a clean loop that LLVM understands.
void FunctionEmitter::CountedLoop(Value* lo, Value* hi, int64_t step, int64_t poll_every,
                                  llvm::function_ref<void(Value*)> body) {
  llvm::BasicBlock* before = b_.GetInsertBlock();
  llvm::BasicBlock* slice = poll_every > 1 ? NewBlock("slice") : nullptr;
  llvm::BasicBlock* loop = NewBlock("loop");
  llvm::BasicBlock* after = NewBlock("after");
  llvm::PHINode* start = nullptr;
  Value* end = hi;
  b_.CreateBr(slice != nullptr ? slice : loop);
  if (slice != nullptr) {
    b_.SetInsertPoint(slice);
    start = b_.CreatePHI(m_.i64, 2, "start");
    start->addIncoming(lo, before);
    Value* rest = b_.CreateSub(hi, start);  // as unsigned, for bounds far apart
    Value* length = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, rest,
                                             b_.getInt64(static_cast<uint64_t>(poll_every * step)));
    end = b_.CreateAdd(start, length);
    b_.CreateBr(loop);
  }
  b_.SetInsertPoint(loop);
  llvm::PHINode* index = b_.CreatePHI(m_.i64, 2, "i");
  index->addIncoming(slice != nullptr ? start : lo, slice != nullptr ? slice : before);
  body(index);
  if (poll_every == 1) Poll();
  Value* next = b_.CreateAdd(index, b_.getInt64(static_cast<uint64_t>(step)));
  index->addIncoming(next, b_.GetInsertBlock());
  llvm::BasicBlock* sliced = slice != nullptr ? NewBlock("sliced") : after;
  llvm::BranchInst* back = b_.CreateCondBr(b_.CreateICmpEQ(next, end), sliced, loop);
  if (step > 1) MarkVectorised(back);
  if (slice != nullptr) {
    b_.SetInsertPoint(sliced);
    llvm::BasicBlock* more = NewBlock("more");
    b_.CreateCondBr(b_.CreateICmpEQ(end, hi), after, more);
    b_.SetInsertPoint(more);
    Poll();
    start->addIncoming(end, b_.GetInsertBlock());
    b_.CreateBr(slice);
  }
  b_.SetInsertPoint(after);
}

// Tells LLVM that there is nothing to vectorise.
void FunctionEmitter::MarkVectorised(llvm::BranchInst* back) const {
  llvm::Metadata* done[] = {llvm::MDString::get(m_.context, "llvm.loop.isvectorized"),
                            llvm::ConstantAsMetadata::get(llvm::ConstantInt::get(m_.i32, 1))};
  llvm::MDNode* id =
      llvm::MDNode::getDistinct(m_.context, {nullptr, llvm::MDNode::get(m_.context, done)});
  id->replaceOperandWith(0, id);
  back->setMetadata(llvm::LLVMContext::MD_loop, id);
}

// A loop whose body polls at every turn needs none of its own.
int64_t FunctionEmitter::PollEvery(const Node& loop) const {
  if (!facts_.Polled(loop) || (!m_.on_device && facts_.AlwaysPolls(loop.body))) return 0;
  bool inner = false;
  ForEachNode(loop.body, [&](const Node& n) { inner |= n.kind == Kind::kFor && facts_.Polled(n); });
  if (inner) return m_.on_device ? kTurnsBetweenPollsOnDevice : 1;
  const int64_t every = kWorkBetweenPolls / facts_.BodyWeight(loop);
  return std::clamp(every / 64 * 64, int64_t{64}, kMostBetweenPolls);
}

void FunctionEmitter::WriteOut(const Node& node, int64_t trips) {
  Value* lo = Get(node.args[0]);
  for (int64_t k = 0; k < trips; ++k) {
    Set(node.results[0], b_.CreateAdd(lo, b_.getInt64(static_cast<uint64_t>(k))));
    EmitNodes(node.body);
  }
}

// A polled loop polls once even when it is empty, so that whatever encloses it does; on a device, where a poll
// is slow, that polls by itself.
void FunctionEmitter::EmitFor(const Node& node) {
  if (facts_.WrittenOut(node)) return WriteOut(node, *facts_.Trips(node));
  if (facts_.Polled(node) && !m_.on_device) Poll();
  EnterNest(node);
  Value* lo = Get(node.args[0]);
  Value* hi = Get(node.args[1]);
  llvm::BasicBlock* some = NewBlock("some");
  llvm::BasicBlock* done = NewBlock("done");
  b_.CreateCondBr(b_.CreateICmpSLT(lo, hi), some, done);
  b_.SetInsertPoint(some);
  if (!m_.on_device && CanBeWide(*this, node)) {
    EmitWide(*this, node);
  } else {
    CountedLoop(lo, hi, 1, PollEvery(node), [&](Value* index) {
      Set(node.results[0], index);
      EmitNodes(node.body);
    });
  }
  b_.CreateBr(done);
  b_.SetInsertPoint(done);
  LeaveNest();
}

void FunctionEmitter::EmitIf(const Node& node) {
  llvm::BasicBlock* yes = NewBlock("then");
  llvm::BasicBlock* no = NewBlock("else");
  llvm::BasicBlock* join = NewBlock("join");
  b_.CreateCondBr(Get(node.args[0]), yes, no);
  llvm::SmallVector<Value*, 8> yes_parts, no_parts;
  const auto arm = [&](llvm::BasicBlock*& block, const std::vector<Node>& nodes,
                       const std::vector<Reg>& yields, llvm::SmallVectorImpl<Value*>& parts) {
    b_.SetInsertPoint(block);
    EmitNodes(nodes);
    for (const Reg r : yields) llvm::append_range(parts, PartsOf(r));
    block = b_.GetInsertBlock();
    b_.CreateBr(join);
  };
  arm(yes, node.body, node.body_yields, yes_parts);
  arm(no, node.other, node.other_yields, no_parts);
  b_.SetInsertPoint(join);
  llvm::SmallVector<Value*, 8> merged;
  for (size_t i = 0; i < yes_parts.size(); ++i) {
    llvm::PHINode* phi = b_.CreatePHI(yes_parts[i]->getType(), 2);
    phi->addIncoming(yes_parts[i], yes);
    phi->addIncoming(no_parts[i], no);
    merged.push_back(phi);
  }
  llvm::ArrayRef<Value*> parts = merged;
  for (const Reg r : node.results) {
    const size_t n = PartTypes(r).size();
    SetParts(r, parts.take_front(n));
    parts = parts.drop_front(n);
  }
}

// --------------------------------------------------------------------------------------- lanes --

void FunctionEmitter::EmitLanesNew(const Node& node) {
  const Reg r = node.results[0];
  const DType t = Elem(r);
  llvm::Constant* identity = EmitIdentity(m_, t, node.monoid);
  auto& lanes = regs_[r.id].lanes;
  if (!facts_.FewLanes(r)) {
    if (lanes.empty()) lanes.push_back(Alloca(m_.Lanes(t), "lanes"));
    return StoreLanes(r, b_.CreateVectorSplat(kLanes, identity));
  }
  while (lanes.size() < kLanes) lanes.push_back(Alloca(m_.TypeOf(t), "lane"));
  for (llvm::AllocaInst* lane : lanes) b_.CreateStore(identity, lane);
}

Value* FunctionEmitter::LoadLanes(Reg lanes) {
  llvm::AllocaInst* slot = regs_[lanes.id].lanes[0];
  return b_.CreateLoad(slot->getAllocatedType(), slot);
}

void FunctionEmitter::StoreLanes(Reg lanes, Value* vector) {
  b_.CreateStore(vector, regs_[lanes.id].lanes[0]);
}

Value* FunctionEmitter::LoadLane(Reg lanes, uint64_t lane) {
  if (!facts_.FewLanes(lanes)) return b_.CreateExtractElement(LoadLanes(lanes), lane);
  llvm::AllocaInst* slot = regs_[lanes.id].lanes[lane];
  return b_.CreateLoad(slot->getAllocatedType(), slot);
}

void FunctionEmitter::StoreLane(Reg lanes, uint64_t lane, Value* v) {
  if (facts_.FewLanes(lanes)) {
    b_.CreateStore(v, regs_[lanes.id].lanes[lane]);
  } else {
    StoreLanes(lanes, b_.CreateInsertElement(LoadLanes(lanes), v, lane));
  }
}

void FunctionEmitter::EmitLaneAdd(const Node& node) {
  const Reg r = node.args[0];
  const DType t = Elem(r);
  Value* lane = b_.CreateAnd(Get(node.args[1]), b_.getInt64(kLanes - 1));
  Value* term = Get(node.args[2]);
  if (facts_.FewLanes(r)) {
    for (uint64_t k = 0; k < kLanes; ++k) {
      Value* here = b_.CreateICmpEQ(lane, b_.getInt64(k));
      if (auto* known = llvm::dyn_cast<llvm::ConstantInt>(here); known && known->isZero()) continue;
      llvm::AllocaInst* slot = regs_[r.id].lanes[k];
      Value* old = b_.CreateLoad(slot->getAllocatedType(), slot);
      Value* added = EmitCombine({m_, b_, {old, term}, t, t, ir::Op::Add}, node.monoid);
      b_.CreateStore(b_.CreateSelect(here, added, old), slot);
    }
    return;
  }
  llvm::SmallVector<llvm::Constant*, kLanes> numbers;
  for (uint64_t k = 0; k < kLanes; ++k) numbers.push_back(b_.getInt64(k));
  Value* here =
      b_.CreateICmpEQ(b_.CreateVectorSplat(kLanes, lane), llvm::ConstantVector::get(numbers));
  Value* old = LoadLanes(r);
  Value* terms = b_.CreateVectorSplat(kLanes, term);
  Value* added = EmitCombine({m_, b_, {old, terms}, t, t, ir::Op::Add, kLanes}, node.monoid);
  StoreLanes(r, b_.CreateSelect(here, added, old));
}

// ((l0+l4)+(l2+l6)) + ((l1+l5)+(l3+l7)): folds the upper half onto the lower, thrice.
void FunctionEmitter::EmitLanesTotal(const Node& node) {
  const Reg r = node.args[0];
  const DType t = Elem(r);
  llvm::SmallVector<Value*, kLanes> lanes;
  if (facts_.FewLanes(r)) {
    for (llvm::AllocaInst* slot : regs_[r.id].lanes) {
      lanes.push_back(b_.CreateLoad(slot->getAllocatedType(), slot));
    }
  } else {
    Value* vector = LoadLanes(r);
    for (uint64_t k = 0; k < kLanes; ++k) lanes.push_back(b_.CreateExtractElement(vector, k));
  }
  for (size_t half = kLanes / 2; half > 0; half /= 2) {
    for (size_t k = 0; k < half; ++k) {
      lanes[k] = EmitCombine({m_, b_, {lanes[k], lanes[k + half]}, t, t, ir::Op::Add}, node.monoid);
    }
  }
  Set(node.results[0], lanes[0]);
}

}  // namespace pullback::jit
