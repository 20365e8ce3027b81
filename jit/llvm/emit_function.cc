// Functions, blocks, edges, calls, checks.
#include <llvm/IR/PatternMatch.h>

#include <algorithm>

#include "core/base/status.h"
#include "jit/llvm/emit.h"

namespace pullback::jit {

using Kind = loops::Node::Kind;
using llvm::Value;

namespace {

// The declaration: (context, parameters...) -> nothing, one result, or a struct of results.
llvm::Function* DeclareFunction(ModuleEmitter& m, uint32_t index) {
  const loops::Function& source = *m.source.functions[index];
  llvm::SmallVector<llvm::Type*, 8> params{m.ptr};
  for (const loops::Reg p : source.blocks[0].params) params.push_back(m.TypeOf(source.TypeOf(p)));
  llvm::SmallVector<llvm::Type*, 4> results;
  for (const ir::Type t : source.results) results.push_back(m.TypeOf(t));
  llvm::Type* result = results.empty()       ? llvm::Type::getVoidTy(m.context)
                       : results.size() == 1 ? results[0]
                                             : llvm::StructType::get(m.context, results);
  auto* f = llvm::Function::Create(llvm::FunctionType::get(result, params, false),
                                   llvm::Function::InternalLinkage, "f" + std::to_string(index),
                                   m.module);
  f->addFnAttr(llvm::Attribute::NoUnwind);
  f->addParamAttr(0, llvm::Attribute::NonNull);
  return f;
}

llvm::Function* Declared(ModuleEmitter& m, uint32_t index) {
  if (m.functions.size() <= index) m.functions.resize(m.source.functions.size());
  llvm::Function*& slot = m.functions[index];
  if (slot == nullptr) slot = DeclareFunction(m, index);
  return slot;
}

}  // namespace

FunctionEmitter::FunctionEmitter(ModuleEmitter& m, uint32_t index)
    : m_(m),
      source_(*m.source.functions[index]),
      f_(Declared(m, index)),
      b_(m.context),
      facts_(source_),
      hook_(m.HookFor(index)),
      ctx_(f_->getArg(0)),
      entry_(llvm::BasicBlock::Create(m.context, "entry", f_)),
      regs_(source_.regs.size()) {}

FunctionEmitter::FunctionEmitter(ModuleEmitter& m, const loops::Function& source, llvm::Function* f,
                                 llvm::Value* ctx, NodeHook* hook)
    : m_(m),
      source_(source),
      f_(f),
      b_(m.context),
      facts_(source_),
      hook_(hook),
      ctx_(ctx),
      entry_(llvm::BasicBlock::Create(m.context, "entry", f_)),
      regs_(source_.regs.size()) {}

void FunctionEmitter::BeginBody() {
  blocks_ = {NewBlock("body")};
  b_.SetInsertPoint(blocks_[0]);
}

void FunctionEmitter::EndBody() {
  b_.CreateRetVoid();
  b_.SetInsertPoint(entry_);
  b_.CreateBr(blocks_[0]);
}

void FunctionEmitter::Emit() {
  OrderBlocks();
  blocks_.resize(source_.blocks.size());
  phis_.resize(source_.blocks.size());
  for (const uint32_t block : order_) blocks_[block] = NewBlock("block");
  for (const uint32_t block : order_) {
    if (block == 0) continue;
    b_.SetInsertPoint(blocks_[block]);
    for (const Reg p : source_.blocks[block].params) {
      for (llvm::Type* type : PartTypes(p)) phis_[block].push_back(b_.CreatePHI(type, 2));
    }
  }
  for (const uint32_t block : order_) EmitBlock(block);
  b_.SetInsertPoint(entry_);
  b_.CreateBr(blocks_[0]);
}

void FunctionEmitter::OrderBlocks() {
  order_ = loops::BlockOrder(source_);
  position_.resize(source_.blocks.size());
  for (uint32_t i = 0; i < order_.size(); ++i) position_[order_[i]] = i;
  for (const uint32_t block : order_) {
    for (const ir::Edge& edge : source_.blocks[block].term.edges) {
      in_cycle_ = in_cycle_ || position_[edge.block] <= position_[block];
    }
  }
}

llvm::BasicBlock* FunctionEmitter::NewBlock(const char* name) {
  return llvm::BasicBlock::Create(m_.context, name, f_);
}

llvm::AllocaInst* FunctionEmitter::Alloca(llvm::Type* type, const char* name) {
  llvm::IRBuilder<> at(entry_);
  return at.CreateAlloca(type, nullptr, name);
}

Value* FunctionEmitter::Get(Reg r) const {
  Value* v = regs_[r.id].value;
  PB_CHECK(v != nullptr);
  return v;
}

void FunctionEmitter::EmitBlock(uint32_t block) {
  b_.SetInsertPoint(blocks_[block]);
  const auto& params = source_.blocks[block].params;
  if (block == 0) {
    for (size_t i = 0; i < params.size(); ++i) {
      SetIncoming(params[i], f_->getArg(static_cast<unsigned>(i) + 1));
    }
  } else {
    llvm::ArrayRef<llvm::PHINode*> phis = phis_[block];
    for (const Reg p : params) {
      const size_t n = PartTypes(p).size();
      const Parts parts(phis.begin(), phis.begin() + n);
      SetParts(p, parts);
      phis = phis.drop_front(n);
    }
  }
  EmitNodes(source_.blocks[block].nodes);
  EmitTerminator(block);
}

// An edge that goes back in the order closes a cycle of the block graph; every cycle has one.
void FunctionEmitter::EmitEdge(uint32_t from, const ir::Edge& edge) {
  if (position_[edge.block] <= position_[from]) PollTurn();
  size_t phi = 0;
  for (const Reg arg : edge.args) {
    for (Value* part : PartsOf(arg))
      phis_[edge.block][phi++]->addIncoming(part, b_.GetInsertBlock());
  }
  b_.CreateBr(blocks_[edge.block]);
}

void FunctionEmitter::EmitTerminator(uint32_t block) {
  const ir::Terminator& term = source_.blocks[block].term;
  switch (term.kind) {
    case ir::Terminator::Kind::kJump: EmitEdge(block, term.edges[0]); return;
    case ir::Terminator::Kind::kReturn: EmitReturn(term.results); return;
    case ir::Terminator::Kind::kBranch: break;
    case ir::Terminator::Kind::kNone: PB_CHECK(false);
  }
  llvm::BasicBlock* yes = NewBlock("yes");
  llvm::BasicBlock* no = NewBlock("no");
  b_.CreateCondBr(Get(term.cond), yes, no);
  b_.SetInsertPoint(yes);
  EmitEdge(block, term.edges[0]);
  b_.SetInsertPoint(no);
  EmitEdge(block, term.edges[1]);
}

void FunctionEmitter::EmitReturn(ir::ValueSpan results) {
  if (results.empty()) {
    b_.CreateRetVoid();
  } else if (results.size() == 1) {
    b_.CreateRet(Outgoing(results[0]));
  } else {
    Value* all = llvm::PoisonValue::get(f_->getReturnType());
    for (unsigned i = 0; i < results.size(); ++i) {
      all = b_.CreateInsertValue(all, Outgoing(results[i]), i);
    }
    b_.CreateRet(all);
  }
}

void FunctionEmitter::EmitCall(const Node& node) {
  llvm::SmallVector<Value*, 8> args{ctx_};
  for (const Reg arg : node.args) args.push_back(Outgoing(arg));
  Value* result = b_.CreateCall(Declared(m_, node.callee), args);
  for (unsigned i = 0; i < node.results.size(); ++i) {
    SetIncoming(node.results[i],
                node.results.size() == 1 ? result : b_.CreateExtractValue(result, i));
  }
}

void FunctionEmitter::EmitCheck(const Node& node) {
  llvm::BasicBlock* bad = NewBlock("trap");
  llvm::BasicBlock* good = NewBlock("checked");
  Branch(b_.CreateNot(Get(node.args[0])), bad, good);
  b_.SetInsertPoint(bad);
  const auto detail = [&](size_t i) -> Value* {
    return node.args.size() > i ? Get(node.args[i]) : b_.getInt64(0);
  };
  Trap(static_cast<ir::TrapKind>(node.bits), node.loc, detail(1), detail(2));
  b_.SetInsertPoint(good);
}

void FunctionEmitter::EmitScalar(const Node& node) {
  const Reg result = node.results[0];
  if (node.op == ir::Op::Const) return Set(result, EmitConst(m_, Elem(result), node.bits));
  PB_CHECK(HasScalarRow(node.op));
  llvm::SmallVector<Value*, 3> args;
  for (const Reg arg : node.args) args.push_back(Get(arg));
  Value* v = EmitOp({m_, b_, args, Elem(node.args[0]), Elem(result), node.op});
  Set(result, v);
  if (in_cycle_ && nest_depth_ == 0) PreferBranch(v);
}

// A strong multiply is select(w == 0, 0, w * p). Carried from turn to turn of a loop it waits for the
// comparison; as a branch, which is hardly ever taken, it does not.
void FunctionEmitter::PreferBranch(Value* v) {
  auto* select = llvm::dyn_cast<llvm::SelectInst>(v);
  if (select == nullptr) return;
  auto* compare = llvm::dyn_cast<llvm::FCmpInst>(select->getCondition());
  if (compare == nullptr || compare->getPredicate() != llvm::CmpInst::FCMP_OEQ) return;
  if (!llvm::PatternMatch::match(compare->getOperand(1), llvm::PatternMatch::m_AnyZeroFP())) return;
  if (!llvm::PatternMatch::match(select->getTrueValue(), llvm::PatternMatch::m_AnyZeroFP())) return;
  select->setMetadata(llvm::LLVMContext::MD_prof, m_.unlikely);
}

void FunctionEmitter::EmitNodes(const std::vector<Node>& nodes) {
  for (const Node& node : nodes) EmitNode(node);
}

void FunctionEmitter::EmitNode(const Node& node) {
  if (hook_ == nullptr || !hook_->Emit(*this, node)) EmitPlainNode(node);
}

void FunctionEmitter::EmitPlainNode(const Node& node) {
  switch (node.kind) {
    case Kind::kScalar: return EmitScalar(node);
    case Kind::kDim: return Set(node.results[0], Dim(node.args[0], node.bits));
    case Kind::kLoad: return Set(node.results[0], LoadElement(node.args[0], Get(node.args[1])));
    case Kind::kStore: return StoreElement(node.args[0], Get(node.args[1]), Get(node.args[2]));
    case Kind::kAlloc: return EmitAlloc(node);
    case Kind::kRetain: return EmitRetain(node);
    case Kind::kRelease: return EmitRelease(node);
    case Kind::kUnique: return EmitUnique(node);
    case Kind::kFor: return EmitFor(node);
    case Kind::kIf: return EmitIf(node);
    case Kind::kLanesNew: return EmitLanesNew(node);
    case Kind::kLaneAdd: return EmitLaneAdd(node);
    case Kind::kLanesTotal: return EmitLanesTotal(node);
    case Kind::kCheck: return EmitCheck(node);
    case Kind::kCall: return EmitCall(node);
    case Kind::kTapeNew: return EmitTapeNew(node);
    case Kind::kPush: return EmitPush(node);
    case Kind::kPop: return EmitPop(node);
    case Kind::kContract: return EmitContract(node);
    case Kind::kList: return EmitList(node);
  }
}

FunctionEmitter::Parts FunctionEmitter::PartsOf(Reg r) const {
  const RegState& state = regs_[r.id];
  if (!TypeOf(r).IsTape()) return {Get(r)};
  return {Get(r), state.size, state.slots, state.capacity};
}

llvm::SmallVector<llvm::Type*, 4> FunctionEmitter::PartTypes(Reg r) const {
  if (!TypeOf(r).IsTape()) return {m_.TypeOf(TypeOf(r))};
  return {m_.ptr, m_.i64, m_.ptr, m_.i64};
}

void FunctionEmitter::SetParts(Reg r, llvm::ArrayRef<Value*> parts) {
  if (!TypeOf(r).IsTape()) return SetIncoming(r, parts[0]);
  RegState& state = regs_[r.id];
  state.value = parts[0];
  state.size = parts[1];
  state.slots = parts[2];
  state.capacity = parts[3];
}

void FunctionEmitter::SetIncoming(Reg r, Value* v) {
  const ir::Type type = TypeOf(r);
  if (type.IsTape()) return SetTape(r, v);
  if (type.IsArray()) return SetArray(r, v);
  Set(r, v);
}

Value* FunctionEmitter::Outgoing(Reg r) {
  if (TypeOf(r).IsTape()) WriteBackTape(r);
  return Get(r);
}

}  // namespace pullback::jit
