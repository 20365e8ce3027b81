// Kernels. A kernel's body is one function for every target; it is told its place in the grid:
//   k0.body(blockIdx, threadIdx, blockDim, gridDim, failed, parameters…)
// For NVPTX a kernel around it reads the special registers. For the host one entry calls the bodies.
#include <llvm/IR/IntrinsicsNVPTX.h>

#include <algorithm>

#include "jit/llvm/offload.h"

namespace pullback::jit {

using Kind = loops::Node::Kind;
using Form = loops::OffloadKernel::Form;
using llvm::Value;

namespace {

constexpr unsigned kPlace = 4;  // arguments that say where in the grid

class KernelHook : public NodeHook {
 public:
  KernelHook(const loops::OffloadKernel& kernel, const loops::OffloadNest& nest)
      : kernel_(kernel), nest_(nest) {}

  bool Emit(FunctionEmitter& e, const loops::Node& node) override {
    switch (node.kind) {
      case Kind::kFor: return EmitFor(e, node);
      case Kind::kStore: return EmitStore(e, node);
      case Kind::kLaneAdd: return EmitLaneAdd(e, node);
      default: return false;
    }
  }

  Value* thread = nullptr;                             // in the grid
  llvm::DenseMap<uint32_t, llvm::AllocaInst*> lanes;   // of kLanes: this thread's
  llvm::DenseMap<const loops::Node*, Value*> indices;  // of loops that are threads

 private:
  bool Keeps(loops::Reg r) const {
    return std::find(kernel_.keeps.begin(), kernel_.keeps.end(), r) != kernel_.keeps.end();
  }

  bool EmitFor(FunctionEmitter& e, const loops::Node& node) {
    const auto index = indices.find(&node);
    if (index == indices.end()) return false;
    e.Set(node.results[0], index->second);
    e.EmitNodes(node.body);
    return true;
  }

  bool EmitStore(FunctionEmitter& e, const loops::Node& node) {
    if (!Keeps(node.args[0])) return true;
    if (kernel_.form != Form::kOwners) return false;
    llvm::IRBuilder<>& b = e.b();
    Value* owner = b.CreateAnd(e.Get(node.args[1]), b.getInt64(loops::kOwnerThreads - 1));
    Where(e, b.CreateICmpEQ(owner, thread), [&] { e.EmitPlainNode(node); });
    return true;
  }

  // Of lanes outside the nest; those inside are the thread's own.
  bool EmitLaneAdd(FunctionEmitter& e, const loops::Node& node) {
    const loops::Reg r = node.args[0];
    if (std::find(nest_.lanes.begin(), nest_.lanes.end(), r) == nest_.lanes.end()) return false;
    if (kernel_.form != Form::kLanes) return true;
    llvm::IRBuilder<>& b = e.b();
    Value* lane = b.CreateAnd(e.Get(node.args[1]), b.getInt64(kLanes - 1));
    llvm::AllocaInst* slot = lanes[r.id];
    Where(e, b.CreateICmpEQ(lane, thread), [&] {
      Value* old = b.CreateLoad(slot->getAllocatedType(), slot);
      const DType t = e.Elem(r);
      b.CreateStore(
          EmitCombine({e.m(), b, {old, e.Get(node.args[2])}, t, t, ir::Op::Add}, node.monoid),
          slot);
    });
    return true;
  }

  static void Where(FunctionEmitter& e, Value* condition, llvm::function_ref<void()> body) {
    llvm::BasicBlock* yes = e.NewBlock("mine");
    llvm::BasicBlock* join = e.NewBlock("join");
    e.b().CreateCondBr(condition, yes, join);
    e.b().SetInsertPoint(yes);
    body();
    e.b().CreateBr(join);
    e.b().SetInsertPoint(join);
  }

  const loops::OffloadKernel& kernel_;
  const loops::OffloadNest& nest_;
};

class KernelEmitter {
 public:
  KernelEmitter(ModuleEmitter& m, const Offload& offload, const Offload::Kernel& kernel,
                const DeviceKernel& about)
      : m_(m),
        plan_(offload.plans[kernel.function]),
        nest_(*kernel.nest),
        kernel_(*kernel.kernel),
        about_(about),
        source_(*m.source.functions[kernel.function]),
        f_(Declare()),
        hook_(kernel_, nest_),
        e_(m, source_, f_, f_->getArg(kPlace), &hook_),
        b_(e_.b()) {}

  llvm::Function* Emit() {
    e_.BeginBody();
    SetParameters();
    Value* thread = b_.CreateAdd(b_.CreateMul(f_->getArg(0), f_->getArg(2)), f_->getArg(1));
    hook_.thread = thread;
    switch (kernel_.form) {
      case Form::kGrid: EmitGrid(thread); break;
      case Form::kLanes: EmitLanes(thread); break;
      case Form::kOwners: e_.EmitNode(*nest_.root); break;
    }
    e_.EndBody();
    return f_;
  }

 private:
  llvm::Function* Declare() {
    llvm::SmallVector<llvm::Type*, 16> params(kPlace, m_.i64);
    params.push_back(m_.ptr);
    for (const DeviceKernel::Param p : about_.params) {
      params.push_back(p == DeviceKernel::Param::kScalar ? static_cast<llvm::Type*>(m_.i64)
                                                         : m_.ptr);
    }
    auto* f = llvm::Function::Create(
        llvm::FunctionType::get(llvm::Type::getVoidTy(m_.context), params, false),
        llvm::Function::InternalLinkage, about_.name + ".body", m_.module);
    f->addFnAttr(llvm::Attribute::NoUnwind);
    f->addFnAttr(llvm::Attribute::AlwaysInline);
    return f;
  }

  Value* Next() { return f_->getArg(next_++); }

  void SetParameters() {
    for (const loops::Reg r : nest_.constants) e_.EmitPlainNode(*plan_.constants.at(r.id));
    for (const loops::Reg r : nest_.scalars) e_.Set(r, FromSlot(b_, m_, e_.TypeOf(r), Next()));
    for (const auto& extent : nest_.extents) e_.SetDim(extent.array, extent.axis, Next());
    for (const loops::Reg r : nest_.arrays) {
      llvm::Argument* data = f_->getArg(next_++);
      data->addAttr(
          llvm::Attribute::NoAlias);  // what is stored into is reached in one way (loops.h)
      e_.SetData(r, data);
    }
  }

  // Threads take turns when there are more iterations than threads.
  void EmitGrid(Value* thread) {
    Value* total = b_.getInt64(1);
    std::vector<Value*> trips;
    for (const loops::Node* loop : kernel_.parallel) {
      Value* lo = e_.Get(loop->args[0]);
      Value* hi = e_.Get(loop->args[1]);
      trips.push_back(
          b_.CreateSelect(b_.CreateICmpSLT(lo, hi), b_.CreateSub(hi, lo), b_.getInt64(0)));
      total = b_.CreateMul(total, trips.back());
    }
    Value* stride = b_.CreateMul(f_->getArg(2), f_->getArg(3));
    llvm::BasicBlock* before = b_.GetInsertBlock();
    llvm::BasicBlock* head = e_.NewBlock("turn");
    llvm::BasicBlock* body = e_.NewBlock("point");
    llvm::BasicBlock* done = e_.NewBlock("done");
    b_.CreateBr(head);
    b_.SetInsertPoint(head);
    llvm::PHINode* point = b_.CreatePHI(m_.i64, 2);
    point->addIncoming(thread, before);
    b_.CreateCondBr(b_.CreateICmpULT(point, total), body, done);
    b_.SetInsertPoint(body);
    Value* rest = point;
    for (size_t k = trips.size(); k-- > 0;) {
      const loops::Node* loop = kernel_.parallel[k];
      Value* at = k == 0 ? rest : b_.CreateURem(rest, trips[k]);
      if (k > 0) rest = b_.CreateUDiv(rest, trips[k]);
      hook_.indices[loop] = b_.CreateAdd(e_.Get(loop->args[0]), at);
    }
    e_.EmitNode(*nest_.root);
    point->addIncoming(b_.CreateAdd(point, stride), b_.GetInsertBlock());
    b_.CreateBr(head);
    b_.SetInsertPoint(done);
  }

  void EmitLanes(Value* thread) {
    std::vector<Value*> slots;
    for (const loops::Reg r : kernel_.keeps) {
      slots.push_back(b_.CreateGEP(m_.i64, Next(), thread));
      llvm::AllocaInst* mine = e_.Alloca(m_.TypeOf(e_.Elem(r)), "lane");
      b_.CreateStore(FromSlot(b_, m_, e_.TypeOf(r), b_.CreateLoad(m_.i64, slots.back())), mine);
      hook_.lanes[r.id] = mine;
    }
    e_.EmitNode(*nest_.root);
    for (size_t i = 0; i < slots.size(); ++i) {
      const loops::Reg r = kernel_.keeps[i];
      llvm::AllocaInst* mine = hook_.lanes[r.id];
      b_.CreateStore(ToSlot(b_, m_, e_.TypeOf(r), b_.CreateLoad(mine->getAllocatedType(), mine)),
                     slots[i]);
    }
  }

  ModuleEmitter& m_;
  const loops::OffloadPlan& plan_;
  const loops::OffloadNest& nest_;
  const loops::OffloadKernel& kernel_;
  const DeviceKernel& about_;
  const loops::Function& source_;
  llvm::Function* f_;
  KernelHook hook_;
  FunctionEmitter e_;
  llvm::IRBuilder<>& b_;
  unsigned next_ = kPlace + 1;
};

Value* SpecialRegister(llvm::IRBuilder<>& b, llvm::Intrinsic::ID id) {
  return b.CreateZExt(b.CreateIntrinsic(id, {}, {}), b.getInt64Ty());
}

void EmitNvptxKernel(ModuleEmitter& m, llvm::Function* body, const DeviceKernel& about) {
  namespace I = llvm::Intrinsic;
  const auto params = body->getFunctionType()->params().drop_front(kPlace);
  auto* f = llvm::Function::Create(
      llvm::FunctionType::get(llvm::Type::getVoidTy(m.context), params, false),
      llvm::Function::ExternalLinkage, about.name, m.module);
  f->setCallingConv(llvm::CallingConv::PTX_Kernel);
  llvm::Metadata* mark[] = {llvm::ValueAsMetadata::get(f), llvm::MDString::get(m.context, "kernel"),
                            llvm::ConstantAsMetadata::get(llvm::ConstantInt::get(m.i32, 1))};
  llvm::Metadata* most[] = {
      llvm::ValueAsMetadata::get(f), llvm::MDString::get(m.context, "maxntidx"),
      llvm::ConstantAsMetadata::get(llvm::ConstantInt::get(m.i32, about.block))};
  auto* marks = m.module.getOrInsertNamedMetadata("nvvm.annotations");
  marks->addOperand(llvm::MDNode::get(m.context, mark));
  marks->addOperand(llvm::MDNode::get(m.context, most));
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(m.context, "entry", f));
  llvm::SmallVector<Value*, 16> args = {SpecialRegister(b, I::nvvm_read_ptx_sreg_ctaid_x),
                                        SpecialRegister(b, I::nvvm_read_ptx_sreg_tid_x),
                                        SpecialRegister(b, I::nvvm_read_ptx_sreg_ntid_x),
                                        SpecialRegister(b, I::nvvm_read_ptx_sreg_nctaid_x)};
  for (llvm::Argument& arg : f->args()) args.push_back(&arg);
  b.CreateCall(body, args);
  b.CreateRetVoid();
}

void EmitHostEntry(ModuleEmitter& m, llvm::ArrayRef<llvm::Function*> bodies,
                   const std::string& symbol) {
  auto* f = llvm::Function::Create(
      llvm::FunctionType::get(llvm::Type::getVoidTy(m.context), {m.ptr, m.ptr, m.ptr}, false),
      llvm::Function::ExternalLinkage, symbol, m.module);
  f->addFnAttr(llvm::Attribute::NoUnwind);
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(m.context, "entry", f));
  const auto slot = [&](uint64_t i) {
    return b.CreateLoad(m.i64, b.CreateConstGEP1_64(m.i64, f->getArg(1), i));
  };
  const auto param = [&](uint64_t i) {
    Value* params = b.CreateIntToPtr(slot(kPlace + 1), m.ptr);
    return b.CreateLoad(m.i64, b.CreateLoad(m.ptr, b.CreateConstGEP1_64(m.ptr, params, i)));
  };
  auto* none = llvm::BasicBlock::Create(m.context, "none", f);
  llvm::SwitchInst* which = b.CreateSwitch(slot(0), none, static_cast<unsigned>(bodies.size()));
  for (size_t k = 0; k < bodies.size(); ++k) {
    auto* block = llvm::BasicBlock::Create(m.context, "kernel", f);
    which->addCase(b.getInt64(k), block);
    b.SetInsertPoint(block);
    llvm::SmallVector<Value*, 16> args;
    for (const llvm::Argument& arg : bodies[k]->args()) {
      Value* v = args.size() < kPlace ? slot(args.size() + 1) : param(args.size() - kPlace);
      args.push_back(arg.getType()->isPointerTy() ? b.CreateIntToPtr(v, m.ptr) : v);
    }
    b.CreateCall(bodies[k], args);
    b.CreateRetVoid();
  }
  b.SetInsertPoint(none);
  b.CreateRetVoid();
}

// The functions that kernels call, and what those call.
void EmitCallees(ModuleEmitter& m, const loops::Node& root, std::vector<bool>& written) {
  const auto visit = [&](const loops::Node& n) {
    if (n.kind != Kind::kCall || written[n.callee]) return;
    written[n.callee] = true;
    FunctionEmitter(m, n.callee).Emit();
    const loops::Function& callee = *m.source.functions[n.callee];
    for (const loops::Block& block : callee.blocks) {
      for (const loops::Node& inner : block.nodes) EmitCallees(m, inner, written);
    }
  };
  visit(root);
  loops::ForEachNode(root.body, visit);
  loops::ForEachNode(root.other, visit);
}

}  // namespace

void EmitKernels(ModuleEmitter& m, const Offload& offload, bool host, const std::string& entry) {
  m.on_device = true;
  const std::vector<DeviceKernel> about = offload.Describe(m.source);
  std::vector<llvm::Function*> bodies;
  std::vector<bool> written(m.source.functions.size());
  for (size_t k = 0; k < offload.kernels.size(); ++k) {
    const Offload::Kernel& kernel = offload.kernels[k];
    bodies.push_back(KernelEmitter(m, offload, kernel, about[k]).Emit());
    EmitCallees(m, *kernel.nest->root, written);
    if (!host) EmitNvptxKernel(m, bodies.back(), about[k]);
  }
  if (host) EmitHostEntry(m, bodies, entry);
}

}  // namespace pullback::jit
