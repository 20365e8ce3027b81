// How a run or a kernel ends before its time: traps, and polls of the words that say so.
#include "jit/device_code.h"
#include "jit/llvm/emit.h"

namespace pullback::jit {

using llvm::Value;

void FunctionEmitter::Branch(Value* unlikely_condition, llvm::BasicBlock* yes,
                             llvm::BasicBlock* no) {
  b_.CreateCondBr(unlikely_condition, yes, no, m_.unlikely);
}

// What a function gives then does not matter.
void FunctionEmitter::LeaveKernel(llvm::IRBuilder<>& b) const {
  llvm::Type* type = f_->getReturnType();
  type->isVoidTy() ? b.CreateRetVoid() : b.CreateRet(llvm::Constant::getNullValue(type));
}

// On a device it only says that there was one (core/loops/offload.h).
void FunctionEmitter::Trap(ir::TrapKind kind, uint32_t loc, Value* a, Value* b) {
  if (m_.on_device) {
    b_.CreateStore(b_.getInt32(1), ctx_);
    return LeaveKernel(b_);
  }
  b_.CreateCall(m_.Callee(Runtime::kTrap),
                {ctx_, b_.getInt32(static_cast<uint32_t>(kind)), b_.getInt32(loc), a, b});
  b_.CreateUnreachable();
}

llvm::BasicBlock* FunctionEmitter::StoppedBlock() {
  if (stopped_ == nullptr) {
    stopped_ = NewBlock("stopped");
    llvm::IRBuilder<> at(stopped_);
    if (m_.on_device) {
      LeaveKernel(at);
      return stopped_;
    }
    at.CreateCall(m_.Callee(Runtime::kStopped), {ctx_});
    at.CreateUnreachable();
  }
  return stopped_;
}

Value* FunctionEmitter::LoadStop() {
  if (m_.on_device) {
    return b_.CreateAlignedLoad(m_.i32, Field(ctx_, kStopOffset), llvm::Align(4),
                                /*isVolatile=*/true);
  }
  auto* stop =
      b_.CreateAlignedLoad(m_.i32, Field(ctx_, offsetof(RunContext, stop)), llvm::Align(4));
  stop->setAtomic(llvm::AtomicOrdering::Monotonic);
  return m_.Tag(stop, Memory::kContext);
}

void FunctionEmitter::StopIf(Value* condition) {
  llvm::BasicBlock* go_on = NewBlock("polled");
  Branch(condition, StoppedBlock(), go_on);
  b_.SetInsertPoint(go_on);
}

// On a device polls are rare, since they are slow, and look at both words at once: where a callee has trapped, the
// loops of its callers go on with what it left, and might never end.
void FunctionEmitter::PollTurn() {
  if (!m_.on_device) return Poll();
  if (turns_ == nullptr) {
    turns_ = Alloca(m_.i32, "turns");
    llvm::IRBuilder<>(entry_).CreateStore(b_.getInt32(0), turns_);
  }
  Value* turn = b_.CreateAdd(b_.CreateLoad(m_.i32, turns_), b_.getInt32(1));
  b_.CreateStore(turn, turns_);
  llvm::BasicBlock* poll = NewBlock("poll");
  llvm::BasicBlock* go_on = NewBlock("turn");
  Value* rest = b_.CreateURem(turn, b_.getInt32(kTurnsBetweenPollsOnDevice));
  Branch(b_.CreateIsNull(rest), poll, go_on);
  b_.SetInsertPoint(poll);
  Value* words = b_.CreateAlignedLoad(m_.i64, ctx_, llvm::Align(8), /*isVolatile=*/true);
  StopIf(b_.CreateIsNotNull(words));
  b_.CreateBr(go_on);
  b_.SetInsertPoint(go_on);
}

}  // namespace pullback::jit
