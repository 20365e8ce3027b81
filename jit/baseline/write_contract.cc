// Contractions: the runtime is asked to have them taken; else their loops run.
#include "jit/baseline/writer.h"
#include "jit/runtime/contract.h"

namespace pullback::jit {

void FunctionWriter::WriteContract(const Node& node) {
  const size_t words = node.args.size() - loops::kContractArrays;
  for (size_t k = 0; k < words; ++k) {
    values_.Copy(Outgoing(k), node.args[loops::kContractArrays + k]);
  }
  const size_t indices = (words - loops::kContractArrays) / loops::kContractIndexArgs;
  const int32_t form = ContractForm(indices, Elem(node.args[0]) == DType::kF64, node.bits == 1);
  a_.mov(x86::rsi, values_.Slot(node.args[0]));
  a_.mov(x86::rdx, values_.Slot(node.args[1]));
  a_.mov(x86::rcx, values_.Slot(node.args[2]));
  a_.mov(x86::r8, x86::rsp);
  a_.mov(x86::r9d, form);
  CallRuntime("pb_contract");
  const asmjit::Label taken = a_.newLabel();
  a_.test(x86::eax, x86::eax);
  a_.jnz(taken);
  WriteNodes(node.body);
  a_.bind(taken);
  values_.Forget();
}

}  // namespace pullback::jit
