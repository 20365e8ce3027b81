#include "jit/llvm/pair_sin_cos.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

namespace pullback::jit {
namespace {

struct Part {
  bool f64;
  unsigned index;  // in what sincos returns
};

std::optional<Part> PartOf(const llvm::Instruction& inst) {
  const auto* call = llvm::dyn_cast<llvm::CallInst>(&inst);
  if (call == nullptr || call->getCalledFunction() == nullptr) return std::nullopt;
  const llvm::StringRef name = call->getCalledFunction()->getName();
  if (name == "pb_sin_f64") return Part{true, 0};
  if (name == "pb_cos_f64") return Part{true, 1};
  if (name == "pb_sin_f32") return Part{false, 0};
  if (name == "pb_cos_f32") return Part{false, 1};
  return std::nullopt;
}

// Two doubles come back in two registers, two floats in one.
llvm::FunctionCallee SinCos(llvm::Module& m, const llvm::Function& like, bool f64) {
  const char* name = f64 ? "pb_sincos_f64" : "pb_sincos_f32";
  if (llvm::Function* f = m.getFunction(name)) return f;
  llvm::Type* type = like.getReturnType();
  llvm::Type* both = f64 ? static_cast<llvm::Type*>(llvm::StructType::get(type, type))
                         : llvm::FixedVectorType::get(type, 2);
  auto* f = llvm::Function::Create(llvm::FunctionType::get(both, {type}, false),
                                   llvm::Function::ExternalLinkage, name, m);
  f->setAttributes(like.getAttributes());
  f->removeFnAttr("vector-function-abi-variant");
  return f;
}

}  // namespace

llvm::PreservedAnalyses PairSinCosPass::run(llvm::Function& f, llvm::FunctionAnalysisManager&) {
  llvm::SmallVector<std::pair<llvm::CallInst*, Part>, 8> calls;
  for (llvm::Instruction& inst : llvm::instructions(f)) {
    if (const auto part = PartOf(inst))
      calls.emplace_back(llvm::cast<llvm::CallInst>(&inst), *part);
  }
  for (const auto& [call, part] : calls) {
    llvm::IRBuilder<> b(call);
    llvm::Value* both = b.CreateCall(SinCos(*f.getParent(), *call->getCalledFunction(), part.f64),
                                     {call->getArgOperand(0)});
    call->replaceAllUsesWith(part.f64 ? b.CreateExtractValue(both, part.index)
                                      : b.CreateExtractElement(both, part.index));
    call->eraseFromParent();
  }
  return calls.empty() ? llvm::PreservedAnalyses::all() : llvm::PreservedAnalyses::none();
}

}  // namespace pullback::jit
