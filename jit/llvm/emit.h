// Loops to LLVM IR. One FunctionEmitter writes one function; its parts are in emit_function.cc
// (blocks, calls), emit_memory.cc (arrays, tapes), emit_loops.cc (loops, branches, lanes),
// emit_polls.cc (polls, traps) and wide_loop.cc and wide_body.cc (loops that go several iterations at a time).
//
// - Registers become SSA values. The header fields of an array that are read through a register are
//   loaded once, where the register is defined: they never change while it holds its reference.
// - A tape lives in four values (handle, size, slots, capacity), so that a push is a compare, a
//   store and an increment. The size is written back before anything else may look at the tape.
// - Lanes live in an alloca of one vector that is only read and written whole, so that it becomes a
//   register; few lanes at known offsets live in eight scalars.
// - No fast-math flag, nsw, nuw or inbounds is ever written, and no loop is marked mustprogress.
#pragma once

#include <llvm/ADT/DenseMap.h>

#include "jit/llvm/emit_scalar.h"
#include "jit/llvm/facts.h"
#include "jit/records.h"

namespace pullback::jit {

class FunctionEmitter;

inline constexpr int64_t kTurnsBetweenPollsOnDevice = 64;  // of loops around loops, and of blocks

// Looks at every node before it is written; see offload.h.
class NodeHook {
 public:
  virtual ~NodeHook() = default;
  // True when it has written the node.
  virtual bool Emit(FunctionEmitter& e, const loops::Node& node) = 0;
};

class FunctionEmitter {
 public:
  FunctionEmitter(ModuleEmitter& m, uint32_t index);
  // Nodes of `source` in a function of its own, from BeginBody to EndBody, which closes its last block.
  FunctionEmitter(ModuleEmitter& m, const loops::Function& source, llvm::Function* f,
                  llvm::Value* ctx, NodeHook* hook);
  void Emit();
  void BeginBody();
  void EndBody();

  // --- for the parts of the emitter
  using Reg = loops::Reg;
  using Node = loops::Node;

  llvm::Value* Get(Reg r) const;  // a scalar, or the handle of an array or tape
  void Set(Reg r, llvm::Value* v) { regs_[r.id].value = v; }
  ir::Type TypeOf(Reg r) const { return source_.TypeOf(r); }
  DType Elem(Reg r) const { return TypeOf(r).elem; }
  llvm::IRBuilder<>& b() { return b_; }
  ModuleEmitter& m() { return m_; }
  const loops::Function& source() const { return source_; }
  const Facts& facts() const { return facts_; }
  llvm::BasicBlock* NewBlock(const char* name);
  void EmitNodes(const std::vector<Node>& nodes);
  void EmitNode(const Node& node);
  void EmitPlainNode(const Node& node);  // past the hook
  llvm::AllocaInst* Alloca(llvm::Type* type, const char* name);
  llvm::Value* ctx() const { return ctx_; }
  const loops::Module& source_module() const { return m_.source; }
  // An array whose elements lie at `data`, and an extent of it.
  void SetData(Reg array, llvm::Value* data) { regs_[array.id].data = data; }
  void SetDim(Reg array, uint64_t axis, llvm::Value* v) { regs_[array.id].dims[axis] = v; }
  // One lane's value as a register holds it.
  llvm::Value* LoadLane(Reg lanes, uint64_t lane);
  void StoreLane(Reg lanes, uint64_t lane, llvm::Value* v);

  // emit_memory.cc
  llvm::Value* Data(Reg array) const { return regs_[array.id].data; }
  llvm::Value* Element(Reg array, llvm::Value* offset);  // address
  llvm::Value* LoadElement(Reg array, llvm::Value* offset);
  void StoreElement(Reg array, llvm::Value* offset, llvm::Value* v);
  llvm::Value* Dim(Reg array, uint64_t axis) const { return regs_[array.id].dims[axis]; }
  // Marks an access to an array's data: its kind of memory, and what it cannot overlap.
  template <typename I>
  I* TagData(I* access, Reg array) {
    TagAliases(access, array);
    return m_.Tag(access, DataMemory(Elem(array)));
  }
  llvm::Value* FromMemory(DType t, llvm::Value* v);  // i8 to i1; vectors too
  llvm::Value* ToMemory(DType t, llvm::Value* v);

  // emit_polls.cc
  // Ends the run when RunContext::stop is set, on a device the thread when its word is (device_code.h). Leaves
  // the builder in a new block.
  void Poll() { StopIf(b_.CreateIsNotNull(LoadStop())); }
  void PollTurn();  // where blocks go round
  llvm::Value* LoadStop();
  void StopIf(llvm::Value* condition);
  llvm::BasicBlock* StoppedBlock();
  void Branch(llvm::Value* unlikely_condition, llvm::BasicBlock* yes, llvm::BasicBlock* no);
  void Trap(ir::TrapKind kind, uint32_t loc, llvm::Value* a, llvm::Value* b);  // ends the block
  // emit_loops.cc
  // Calls body(i) with the builder inside a loop over i in [lo, hi), `step` apart; hi - lo is a
  // multiple of step, and not 0. Polls every `poll_every` turns when > 0.
  void CountedLoop(llvm::Value* lo, llvm::Value* hi, int64_t step, int64_t poll_every,
                   llvm::function_ref<void(llvm::Value*)> body);
  int64_t PollEvery(const Node& loop) const;  // iterations; 0: no polls between iterations
  llvm::Value* LoadLanes(Reg lanes);
  void StoreLanes(Reg lanes, llvm::Value* vector);

 private:
  struct RegState {
    llvm::Value* value = nullptr;  // scalar; handle
    llvm::Value* data = nullptr;   // arrays
    llvm::Value* dims[kMaxRank] = {};
    llvm::Value* size = nullptr;  // tapes
    llvm::Value* slots = nullptr;
    llvm::Value* capacity = nullptr;
    llvm::SmallVector<llvm::AllocaInst*, 1> lanes;  // one vector, or eight scalars
  };
  using Parts = llvm::SmallVector<llvm::Value*, 4>;

  // emit_function.cc
  void OrderBlocks();
  void EmitBlock(uint32_t block);
  void EmitEdge(uint32_t from, const ir::Edge& edge);
  void EmitTerminator(uint32_t block);
  void EmitReturn(ir::ValueSpan results);
  void EmitCall(const Node& node);
  void EmitCheck(const Node& node);
  void EmitScalar(const Node& node);
  void PreferBranch(llvm::Value* v);
  // The values that make up a register, as block arguments and branch results carry them.
  Parts PartsOf(Reg r) const;
  llvm::SmallVector<llvm::Type*, 4> PartTypes(Reg r) const;
  void SetParts(Reg r, llvm::ArrayRef<llvm::Value*> parts);
  void SetIncoming(Reg r, llvm::Value* v);  // a parameter or the result of a call
  llvm::Value* Outgoing(Reg r);             // an argument or result: tapes are written back

  // emit_memory.cc
  void SetArray(Reg r, llvm::Value* handle);
  void EmitAlloc(const Node& node);
  void EmitRetain(const Node& node);
  void EmitRelease(const Node& node);
  void EmitUnique(const Node& node);
  void EmitTapeNew(const Node& node);
  void EmitPush(const Node& node);
  void EmitPop(const Node& node);
  // emit_contract.cc
  void EmitContract(const Node& node);
  // emit_lists.cc
  void EmitList(const Node& node);
  void EmitFit(const Node& node);
  RecordPlan Plan(llvm::ArrayRef<Reg> fields) const;
  llvm::Value* Record(size_t words);  // room for one record on the stack
  llvm::Value* StoreRecord(llvm::ArrayRef<Reg> fields);
  void LoadRecord(llvm::Value* record, llvm::ArrayRef<Reg> fields);
  void SetTape(Reg r, llvm::Value* handle);  // loads the fields
  void WriteBackTape(Reg r);
  llvm::Value* Field(llvm::Value* base, size_t offset);
  llvm::Value* LoadField(llvm::Type* type, llvm::Value* base, size_t offset, Memory kind);
  void StoreField(llvm::Value* v, llvm::Value* base, size_t offset, Memory kind);
  void AddToRefs(llvm::Value* refs, llvm::Value* handle, int64_t n);
  void TagAliases(llvm::Instruction* access, Reg array);
  // While a nest of loops is written, the arrays stored into inside it overlap no other.
  void EnterNest(const Node& loop);
  void LeaveNest();

  // emit_loops.cc
  void EmitFor(const Node& node);
  void EmitIf(const Node& node);
  void EmitLanesNew(const Node& node);
  void EmitLaneAdd(const Node& node);
  void EmitLanesTotal(const Node& node);
  void WriteOut(const Node& node, int64_t trips);
  void LeaveKernel(llvm::IRBuilder<>& b) const;
  void MarkVectorised(llvm::BranchInst* back) const;

  ModuleEmitter& m_;
  const loops::Function& source_;
  llvm::Function* f_;
  llvm::IRBuilder<> b_;
  Facts facts_;
  NodeHook* hook_ = nullptr;
  llvm::Value* ctx_;
  llvm::BasicBlock* entry_;  // allocas only
  llvm::BasicBlock* stopped_ = nullptr;
  llvm::AllocaInst* extents_ = nullptr;                // of pb_alloc's dims
  llvm::AllocaInst* turns_ = nullptr;                  // of blocks that go round on a device
  llvm::DenseMap<size_t, llvm::AllocaInst*> records_;  // by words
  std::vector<RegState> regs_;
  std::vector<llvm::BasicBlock*> blocks_;          // nullptr: unreachable
  std::vector<std::vector<llvm::PHINode*>> phis_;  // of blocks_, all parts of all parameters
  std::vector<uint32_t> order_;                    // reverse postorder
  std::vector<uint32_t> position_;                 // in order_
  bool in_cycle_ = false;                          // the blocks go round somewhere
  int nest_depth_ = 0;
  llvm::DenseMap<uint32_t, llvm::MDNode*> own_scope_;     // by array stored into in this nest
  llvm::DenseMap<uint32_t, llvm::MDNode*> other_scopes_;  // by array: scopes of all the others
  llvm::MDNode* all_scopes_ = nullptr;
};

// A value as the 64 bits of a slot, and back.
llvm::Value* ToSlot(llvm::IRBuilder<>& b, const ModuleEmitter& m, ir::Type t, llvm::Value* v);
llvm::Value* FromSlot(llvm::IRBuilder<>& b, const ModuleEmitter& m, ir::Type t, llvm::Value* slot);

// Whether the loop can be written several iterations at a time (see wide.h); writes it.
bool CanBeWide(const FunctionEmitter& e, const loops::Node& loop);
void EmitWide(FunctionEmitter& e, const loops::Node& loop);

// Writes all of m.source: its functions, internal, with guards of the native stack and the depth of
// recursion, and the entry of type KernelEntry with this name.
void EmitModule(ModuleEmitter& m, const std::string& entry_symbol);

// Bytes that a function may use of the stack; see emit_entry.cc. Frames beyond it are refused.
int64_t FrameLimit(const loops::Module& source);

}  // namespace pullback::jit
