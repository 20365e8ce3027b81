// Contractions: the runtime is asked to have them taken; else their loops run.
#include "jit/llvm/emit.h"
#include "jit/runtime/contract.h"

namespace pullback::jit {

static_assert(loops::kMostContractIndices == kMostContractIndices);

void FunctionEmitter::EmitContract(const Node& node) {
  const llvm::ArrayRef<Reg> args = node.args;
  const llvm::ArrayRef<Reg> words = args.drop_front(loops::kContractArrays);
  auto* told = Alloca(llvm::ArrayType::get(m_.i64, words.size()), "contraction");
  for (size_t k = 0; k < words.size(); ++k) {
    StoreField(Get(words[k]), told, 8 * k, Memory::kStack);
  }
  const size_t indices = (words.size() - loops::kContractArrays) / loops::kContractIndexArgs;
  const int32_t form = ContractForm(indices, Elem(args[0]) == DType::kF64, node.bits == 1);
  llvm::Value* taken = b_.CreateCall(m_.Callee(Runtime::kContract),
                                     {ctx_, Get(args[0]), Get(args[1]), Get(args[2]), told,
                                      b_.getInt32(static_cast<uint32_t>(form))});
  llvm::BasicBlock* left = NewBlock("left");
  llvm::BasicBlock* done = NewBlock("contracted");
  b_.CreateCondBr(b_.CreateIsNull(taken), left, done);
  b_.SetInsertPoint(left);
  EmitNodes(node.body);
  b_.CreateBr(done);
  b_.SetInsertPoint(done);
}

}  // namespace pullback::jit
