// Whole modules: guards of recursion and of the native stack, and the entry that the runtime calls.
//
// A frame may use at most FrameLimit bytes (compiling fails otherwise), and every function that
// calls another, or that may use more than kUnchecked bytes, checks on entry that so much is left
// above the context's stack limit, and asks for more otherwise. Below that limit the runtime keeps a
// reserve, enough for the functions that do not check and for its own. Functions in a cycle of calls
// count the depth and poll, too.
#include <llvm/ADT/SCCIterator.h>
#include <llvm/Analysis/CallGraph.h>

#include <algorithm>

#include "jit/llvm/emit.h"
#include "jit/runtime/stack.h"

namespace pullback::jit {

using llvm::Value;

static_assert(kTrapNegativeSize == static_cast<int32_t>(ir::TrapKind::kNegativeSize));
static_assert(kTrapDepth == static_cast<int32_t>(ir::TrapKind::kDepth));
static_assert(kTrapMemory == static_cast<int32_t>(ir::TrapKind::kMemory));
static_assert(kTrapStopped == static_cast<int32_t>(ir::TrapKind::kStopped));

namespace {

constexpr int64_t kUnchecked = int64_t{64} << 10;
// Of a register of the loops: eight doubles that wait on the stack, and what is computed of them on the way. With 16 vector
// registers (AVX2) loops over relations were seen to take 169 bytes.
constexpr int64_t kFrameOfRegister = 256;

class Guard {
 public:
  Guard(ModuleEmitter& m, llvm::Function& f, int64_t frame)
      : m_(m), f_(f), b_(f.getEntryBlock().getTerminator()), frame_(frame) {}

  void CheckStack() {
    Value* here = b_.CreateIntrinsic(llvm::Intrinsic::frameaddress, {m_.ptr}, {b_.getInt32(0)});
    Value* limit = Load(m_.i64, offsetof(RunContext, stack_limit));
    Value* left = b_.CreateSub(b_.CreatePtrToInt(here, m_.i64), limit);
    Value* frame = b_.getInt64(static_cast<uint64_t>(frame_));
    const auto go_on = GoOn();
    auto* grow = llvm::BasicBlock::Create(m_.context, "grow", &f_);
    auto* enough = llvm::BasicBlock::Create(m_.context, "enough", &f_);
    b_.CreateCondBr(b_.CreateICmpSLT(left, frame), grow, enough, m_.unlikely);
    b_.SetInsertPoint(grow);
    b_.CreateCall(m_.Callee(Runtime::kStackGrow), {f_.getArg(0), here, frame});
    b_.CreateBr(enough);
    b_.SetInsertPoint(enough);
    b_.SetInsertPoint(b_.CreateBr(go_on));
  }

  void CountDepth() {
    Value* depth = b_.CreateAdd(Load(m_.i32, offsetof(RunContext, depth)), b_.getInt32(1));
    Store(b_, depth);
    Add(b_.CreateICmpSGT(depth, Load(m_.i32, offsetof(RunContext, max_depth))));
    Add(IsStopped(b_));
    llvm::SmallVector<llvm::ReturnInst*, 4> returns;
    for (llvm::BasicBlock& block : f_) {
      if (auto* ret = llvm::dyn_cast<llvm::ReturnInst>(block.getTerminator()))
        returns.push_back(ret);
    }
    for (llvm::ReturnInst* ret : returns) CountReturn(ret);
  }

  // Ends the run where a condition holds.
  void Finish() {
    if (bad_ == nullptr) return;
    llvm::BasicBlock* go_on = GoOn();
    b_.CreateCondBr(bad_, Refused(), go_on, m_.unlikely);
  }

 private:
  llvm::BasicBlock* Refused() {
    if (refused_ == nullptr) {
      refused_ = llvm::BasicBlock::Create(m_.context, "refused", &f_);
      llvm::IRBuilder<> at(refused_);
      at.CreateCall(m_.Callee(Runtime::kStopped), {f_.getArg(0)});
      at.CreateUnreachable();
    }
    return refused_;
  }
  // On the way back from a deep recursion nothing else may poll.
  void CountReturn(llvm::ReturnInst* ret) {
    llvm::BasicBlock* before = ret->getParent();
    llvm::BasicBlock* after = before->splitBasicBlock(ret, "leave");
    before->getTerminator()->eraseFromParent();
    llvm::IRBuilder<> at(before);
    auto* now = at.CreateLoad(m_.i32, Address(at, offsetof(RunContext, depth)));
    Store(at, at.CreateSub(m_.Tag(now, Memory::kContext), at.getInt32(1)));
    Value* stopped = IsStopped(at);
    at.CreateCondBr(stopped, Refused(), after, m_.unlikely);
  }
  Value* IsStopped(llvm::IRBuilder<>& b) {
    auto* stop = b.CreateLoad(m_.i32, Address(b, offsetof(RunContext, stop)));
    m_.Tag(stop, Memory::kContext)->setAtomic(llvm::AtomicOrdering::Monotonic);
    return b.CreateIsNotNull(stop);
  }
  // Removes the branch at which code is put; where it went.
  llvm::BasicBlock* GoOn() {
    auto* branch = llvm::cast<llvm::BranchInst>(&*b_.GetInsertPoint());
    llvm::BasicBlock* block = branch->getParent();
    llvm::BasicBlock* target = branch->getSuccessor(0);
    branch->eraseFromParent();
    b_.SetInsertPoint(block);
    return target;
  }
  Value* Address(llvm::IRBuilder<>& b, size_t offset) {
    return b.CreatePtrAdd(f_.getArg(0), b.getInt64(offset));
  }
  llvm::LoadInst* Load(llvm::Type* type, size_t offset) {
    return m_.Tag(b_.CreateLoad(type, Address(b_, offset)), Memory::kContext);
  }
  void Store(llvm::IRBuilder<>& b, Value* depth) {
    m_.Tag(b.CreateStore(depth, Address(b, offsetof(RunContext, depth))), Memory::kContext);
  }
  void Add(Value* condition) { bad_ = bad_ == nullptr ? condition : b_.CreateOr(bad_, condition); }

  ModuleEmitter& m_;
  llvm::Function& f_;
  llvm::IRBuilder<> b_;
  int64_t frame_;
  Value* bad_ = nullptr;
  llvm::BasicBlock* refused_ = nullptr;
};

bool CallsOthers(const loops::Function& f) {
  return std::any_of(f.blocks.begin(), f.blocks.end(), [](const loops::Block& block) {
    bool calls = false;
    ForEachNode(block.nodes,
                [&](const loops::Node& n) { calls |= n.kind == loops::Node::Kind::kCall; });
    return calls;
  });
}

void AddGuards(ModuleEmitter& m) {
  const int64_t frame = FrameLimit(m.source);
  llvm::SmallPtrSet<llvm::Function*, 8> recursive;
  llvm::CallGraph graph(m.module);
  for (auto scc = llvm::scc_begin(&graph); !scc.isAtEnd(); ++scc) {
    if (!scc.hasCycle()) continue;
    for (const llvm::CallGraphNode* node : *scc) recursive.insert(node->getFunction());
  }
  for (size_t i = 0; i < m.functions.size(); ++i) {
    llvm::Function* f = m.functions[i];
    if (f == nullptr || f->isDeclaration()) continue;
    Guard guard(m, *f, frame);
    if (frame > kUnchecked || CallsOthers(*m.source.functions[i])) guard.CheckStack();
    if (recursive.contains(f)) guard.CountDepth();
    guard.Finish();
  }
}

// The slot of a result. A scalar is the one NaN that leaves a run; those in arrays and lists are looked at when
// they are copied out.
Value* ToResult(ModuleEmitter& m, llvm::IRBuilder<>& b, ir::Type t, Value* v) {
  if (t.IsArray() || t.IsList()) return b.CreatePtrToInt(v, m.i64);
  if (t.IsFloat()) {
    v = b.CreateSelect(b.CreateFCmpUNO(v, v), llvm::ConstantFP::getNaN(v->getType()), v);
    v = b.CreateBitCast(v, t.elem == DType::kF64 ? m.i64 : m.i32);
  }
  return b.CreateZExt(v, m.i64);
}

void EmitEntry(ModuleEmitter& m, const std::string& symbol) {
  const loops::Function& source = *m.source.functions[m.source.entry];
  auto* type =
      llvm::FunctionType::get(llvm::Type::getVoidTy(m.context), {m.ptr, m.ptr, m.ptr}, false);
  auto* f = llvm::Function::Create(type, llvm::Function::ExternalLinkage, symbol, m.module);
  f->addFnAttr(llvm::Attribute::NoUnwind);
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(m.context, "entry", f));
  llvm::Value* ctx = f->getArg(0);
  const auto slot = [&](unsigned arg, uint64_t i) {
    return b.CreatePtrAdd(f->getArg(arg), b.getInt64(8 * i));
  };
  llvm::SmallVector<Value*, 8> args{ctx};
  const auto& params = source.blocks[0].params;
  for (size_t i = 0; i < params.size(); ++i) {
    args.push_back(FromSlot(b, m, source.TypeOf(params[i]), b.CreateLoad(m.i64, slot(1, i))));
  }
  Value* result = b.CreateCall(m.functions[m.source.entry], args);
  for (unsigned i = 0; i < source.results.size(); ++i) {
    Value* v = source.results.size() == 1 ? result : b.CreateExtractValue(result, i);
    b.CreateStore(ToResult(m, b, source.results[i], v), slot(2, i));
  }
  b.CreateRetVoid();
}

}  // namespace

int64_t FrameLimit(const loops::Module& source) {
  int64_t registers = 0;
  for (const auto& f : source.functions) registers += static_cast<int64_t>(f->regs.size());
  return std::min(kUnchecked / 2 + kFrameOfRegister * registers, Stack::kMostFrame);
}

void EmitModule(ModuleEmitter& m, const std::string& entry_symbol) {
  for (const uint32_t f : loops::ReachedFunctions(m.source)) FunctionEmitter(m, f).Emit();
  EmitEntry(m, entry_symbol);  // before the guards: the call graph is walked from it
  AddGuards(m);
  m.Finish();
}

}  // namespace pullback::jit
