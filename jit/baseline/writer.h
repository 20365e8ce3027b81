// Loops to machine code in one pass. ModuleWriter holds what functions share; a FunctionWriter writes one:
// write_function.cc (blocks, calls, edges), write_memory.cc (arrays, tapes, lists) and write_loops.cc
// (loops, branches, lanes, traps).
//
// Calls inside a module: (context, arguments, results) as a kernel's entry, a word each. What is put into
// memory for somebody else lies at rsp, which stays where the prologue leaves it.
#pragma once

#include <string>
#include <vector>

#include "core/loops/walk.h"
#include "jit/baseline/object.h"
#include "jit/baseline/scalar.h"
#include "jit/baseline/values.h"

namespace pullback::jit {

class ModuleWriter {
 public:
  ModuleWriter(const loops::Module& source, asmjit::CodeHolder& code);
  // RESOURCE_EXHAUSTED, FRAME_TOO_LARGE, for a function that needs more than kMostFrame bytes of stack.
  Status Write();

  static constexpr int64_t kMostFrame = int64_t{1} << 20;

  const loops::Module& source;
  asmjit::x86::Assembler a;
  std::vector<asmjit::Label> functions;  // of those that are reached
  std::vector<BaselineObject::Address> addresses;
  // Bytes by function. Known only when it is written: they are filled in then, unless an earlier writer's
  // are here already, so that a listing shows them.
  std::vector<uint32_t> frames;
  asmjit::Label entry;

  // rax must be free.
  void CallRuntime(const std::string& symbol);
  bool Recursive(uint32_t function) const { return recursive_[function]; }

 private:
  void MarkRecursive(const std::vector<uint32_t>& reached);
  void WriteEntry();

  std::vector<bool> recursive_;
};

class FunctionWriter {
 public:
  FunctionWriter(ModuleWriter& m, uint32_t index);
  Status Write();

 private:
  using Reg = loops::Reg;
  using Node = loops::Node;
  // Where control goes when a run ends: written behind the function.
  struct TrapSite {
    asmjit::Label label;
    uint64_t kind;
    uint32_t loc;
    asmjit::x86::Mem details[2];  // without a base: none
    std::optional<uint64_t> constants[2];
  };

  // write_function.cc
  void WritePrologue();
  void WriteEpilogue();
  void WriteBlock(uint32_t block);
  void WriteEdge(uint32_t from, const ir::Edge& edge);
  void WriteReturn(ir::ValueSpan results);
  void WriteNodes(const std::vector<Node>& nodes);
  void WriteNode(const Node& node);
  void WriteScalarNode(const Node& node);
  void WriteMathCall(const Node& node);
  void WriteCall(const Node& node);
  // The operand in a machine register, of either kind; that of a register about to be defined.
  asmjit::x86::Reg Operand(Reg r);
  asmjit::x86::Reg NewOperand(Reg r);
  asmjit::x86::Reg Temporary(DType t);
  Status PatchFrame();
  void CallRuntime(const char* symbol);

  // write_loops.cc
  void WriteFor(const Node& node);
  void WriteIf(const Node& node);
  void WriteCheck(const Node& node);
  void WriteLanesNew(const Node& node);
  void WriteLaneAdd(const Node& node);
  void WriteLanesTotal(const Node& node);
  asmjit::x86::Mem Lane(Reg lanes, int k);
  void Load(const asmjit::x86::Reg& to, DType t, const asmjit::x86::Mem& from);
  void Store(const asmjit::x86::Mem& to, DType t, const asmjit::x86::Reg& from);
  void Poll();
  void WriteTraps();

  // write_contract.cc
  void WriteContract(const Node& node);

  // write_memory.cc
  void WriteDim(const Node& node);
  void WriteLoad(const Node& node);
  void WriteStore(const Node& node);
  void WriteAlloc(const Node& node);
  void WriteRetain(const Node& node);
  void WriteRelease(const Node& node);
  void WriteUnique(const Node& node);
  void WritePush(const Node& node);
  void WritePop(const Node& node);
  void WriteList(const Node& node);
  void WriteFit(const Node& node);
  // A node whose one result a function of the runtime gives.
  void SetByCall(const Node& node, const char* symbol);
  std::vector<ir::Type> TypesOf(const std::vector<Reg>& regs) const;
  void StoreRecord(const std::vector<Reg>& fields);
  void LoadRecord(const std::vector<Reg>& fields);
  void PassLoc(const asmjit::x86::Gp& to, const Node& node);

  ir::Type TypeOf(Reg r) const { return f_.TypeOf(r); }
  DType Elem(Reg r) const { return f_.TypeOf(r).elem; }
  // A word of what is at rsp; room for it is made.
  asmjit::x86::Mem Outgoing(size_t word);

  ModuleWriter& m_;
  const uint32_t index_;
  const loops::Function& f_;
  asmjit::x86::Assembler& a_;
  const std::vector<uint32_t> order_;
  std::vector<uint32_t> position_;
  const Lifetimes lifetimes_;
  Values values_;
  std::vector<asmjit::Label> labels_;  // by block
  asmjit::Label stopped_;
  std::vector<TrapSite> traps_;
  size_t outgoing_ = 0;      // words at rsp
  uint32_t number_ = 0;      // of the next node
  size_t frame_at_[2] = {};  // of the frame's size in the code
};

}  // namespace pullback::jit
