// What calls the bodies of kernels: for NVPTX a kernel around each, which reads the special registers; for
// the host one entry for all, which runs one thread.
#include <llvm/IR/IntrinsicsNVPTX.h>

#include "jit/llvm/kernel.h"

namespace pullback::jit {

using llvm::Value;

namespace {

Value* SpecialRegister(llvm::IRBuilder<>& b, llvm::Intrinsic::ID id) {
  return b.CreateZExt(b.CreateIntrinsic(id, {}, {}), b.getInt64Ty());
}

Value* NoAddress(const ModuleEmitter& m) { return llvm::ConstantPointerNull::get(m.ptr); }

// As large as the launch says.
Value* SharedMemory(ModuleEmitter& m, llvm::IRBuilder<>& b) {
  constexpr unsigned kSharedSpace = 3;
  llvm::GlobalVariable* memory = m.module.getGlobalVariable("shared");
  if (memory == nullptr) {
    memory = new llvm::GlobalVariable(m.module, llvm::ArrayType::get(m.i8, 0), false,
                                      llvm::GlobalValue::ExternalLinkage, nullptr, "shared",
                                      nullptr, llvm::GlobalValue::NotThreadLocal, kSharedSpace);
    memory->setAlignment(llvm::Align(16));
  }
  return b.CreateAddrSpaceCast(memory, m.ptr);
}

}  // namespace

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
                                        SpecialRegister(b, I::nvvm_read_ptx_sreg_nctaid_x),
                                        about.shared_bytes > 0 ? SharedMemory(m, b) : NoAddress(m),
                                        NoAddress(m)};
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

}  // namespace pullback::jit
