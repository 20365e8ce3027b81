// Arrays and tapes.
#include <llvm/ADT/SetVector.h>
#include <llvm/IR/MDBuilder.h>

#include "jit/llvm/emit.h"

namespace pullback::jit {

using Kind = loops::Node::Kind;
using llvm::Value;

Value* FunctionEmitter::Field(Value* base, size_t offset) {
  return offset == 0 ? base : b_.CreatePtrAdd(base, b_.getInt64(offset));
}

Value* FunctionEmitter::LoadField(llvm::Type* type, Value* base, size_t offset, Memory kind) {
  return m_.Tag(b_.CreateAlignedLoad(type, Field(base, offset), llvm::Align(8)), kind);
}

void FunctionEmitter::StoreField(Value* v, Value* base, size_t offset, Memory kind) {
  m_.Tag(b_.CreateAlignedStore(v, Field(base, offset), llvm::Align(8)), kind);
}

// ------------------------------------------------------------------------------------- arrays --

void FunctionEmitter::SetArray(Reg r, Value* handle) {
  RegState& state = regs_[r.id];
  const Facts::ArrayUse& uses = facts_.Uses(r);
  state.value = handle;
  if (uses.data) state.data = LoadField(m_.ptr, handle, offsetof(Array, data), Memory::kHeader);
  for (size_t axis = 0; axis < kMaxRank; ++axis) {
    if (uses.dims[axis]) {
      state.dims[axis] =
          LoadField(m_.i64, handle, offsetof(Array, dims) + 8 * axis, Memory::kHeader);
    }
  }
}

void FunctionEmitter::EmitAlloc(const Node& node) {
  const Reg r = node.results[0];
  if (extents_ == nullptr) extents_ = Alloca(llvm::ArrayType::get(m_.i64, kMaxRank), "extents");
  for (size_t axis = 0; axis < node.args.size(); ++axis) {
    StoreField(Get(node.args[axis]), extents_, 8 * axis, Memory::kStack);
  }
  Value* handle =
      b_.CreateCall(m_.Callee(Runtime::kAlloc),
                    {ctx_, b_.getInt32(node.loc), b_.getInt64(DTypeSize(Elem(r))),
                     b_.getInt64(node.args.size()), extents_, b_.getInt32(node.bits == 1 ? 1 : 0)});
  SetArray(r, handle);
  for (size_t axis = 0; axis < node.args.size(); ++axis) {
    regs_[r.id].dims[axis] = Get(node.args[axis]);
  }
}

void FunctionEmitter::AddToRefs(Value* refs, Value* handle, int64_t n) {
  StoreField(b_.CreateAdd(refs, b_.getInt64(static_cast<uint64_t>(n))), handle,
             offsetof(Array, refs), Memory::kHeader);
}

void FunctionEmitter::EmitRetain(const Node& node) {
  Value* handle = Get(node.args[0]);
  AddToRefs(LoadField(m_.i64, handle, offsetof(Array, refs), Memory::kHeader), handle, 1);
}

void FunctionEmitter::EmitRelease(const Node& node) {
  Value* handle = Get(node.args[0]);
  if (TypeOf(node.args[0]).IsTape()) {
    WriteBackTape(node.args[0]);
    b_.CreateCall(m_.Callee(Runtime::kTapeFree), {ctx_, handle});
    return;
  }
  Value* refs = LoadField(m_.i64, handle, offsetof(Array, refs), Memory::kHeader);
  llvm::BasicBlock* last = NewBlock("last");
  llvm::BasicBlock* others = NewBlock("others");
  llvm::BasicBlock* released = NewBlock("released");
  b_.CreateCondBr(b_.CreateICmpEQ(refs, b_.getInt64(1)), last, others);
  b_.SetInsertPoint(last);
  const bool list = TypeOf(node.args[0]).IsList();
  b_.CreateCall(m_.Callee(list ? Runtime::kListFree : Runtime::kFree), {ctx_, handle});
  b_.CreateBr(released);
  b_.SetInsertPoint(others);
  AddToRefs(refs, handle, -1);
  b_.CreateBr(released);
  b_.SetInsertPoint(released);
}

void FunctionEmitter::EmitUnique(const Node& node) {
  const Reg from = node.args[0];
  const Reg to = node.results[0];
  Value* handle = Get(from);
  Value* refs = LoadField(m_.i64, handle, offsetof(Array, refs), Memory::kHeader);
  llvm::BasicBlock* before = b_.GetInsertBlock();
  llvm::BasicBlock* shared = NewBlock("shared");
  llvm::BasicBlock* unique = NewBlock("unique");
  Branch(b_.CreateICmpNE(refs, b_.getInt64(1)), shared, unique);
  b_.SetInsertPoint(shared);
  Value* copy = b_.CreateCall(m_.Callee(Runtime::kCopy), {ctx_, b_.getInt32(node.loc), handle,
                                                          b_.getInt64(DTypeSize(Elem(from)))});
  AddToRefs(refs, handle, -1);
  b_.CreateBr(unique);
  b_.SetInsertPoint(unique);
  llvm::PHINode* result = b_.CreatePHI(m_.ptr, 2);
  result->addIncoming(handle, before);
  result->addIncoming(copy, shared);
  SetArray(to, result);
  for (size_t axis = 0; axis < kMaxRank; ++axis) {
    if (Value* extent = regs_[from.id].dims[axis]) regs_[to.id].dims[axis] = extent;
  }
}

Value* FunctionEmitter::Element(Reg array, Value* offset) {
  return b_.CreateGEP(m_.DataType(Elem(array)), Data(array), offset);
}

Value* FunctionEmitter::FromMemory(DType t, Value* v) {
  return t == DType::kBool ? b_.CreateIsNotNull(v) : v;
}

Value* FunctionEmitter::ToMemory(DType t, Value* v) {
  return t == DType::kBool ? b_.CreateZExt(v, v->getType()->getWithNewType(m_.i8)) : v;
}

Value* FunctionEmitter::LoadElement(Reg array, Value* offset) {
  const DType t = Elem(array);
  auto* load =
      b_.CreateAlignedLoad(m_.DataType(t), Element(array, offset), llvm::Align(DTypeSize(t)));
  return FromMemory(t, TagData(load, array));
}

void FunctionEmitter::StoreElement(Reg array, Value* offset, Value* v) {
  const DType t = Elem(array);
  TagData(b_.CreateAlignedStore(ToMemory(t, v), Element(array, offset), llvm::Align(DTypeSize(t))),
          array);
}

// ------------------------------------------------------------------------------------ aliasing --

// A stored array is reachable through no other register that is live (loops.h), so that inside one
// nest of loops its scope is its own. The scopes are declared in front of the nest and not for the
// function: across blocks another register may take the array over.
void FunctionEmitter::EnterNest(const Node& loop) {
  if (nest_depth_++ > 0) return;
  llvm::SetVector<uint32_t> arrays, stored;
  ForEachNode(loop.body, [&](const Node& node) {
    if (node.kind != Kind::kLoad && node.kind != Kind::kStore) return;
    if (Data(node.args[0]) == nullptr) return;  // made inside the nest
    arrays.insert(node.args[0].id);
    if (node.kind == Kind::kStore) stored.insert(node.args[0].id);
  });
  if (stored.empty() || arrays.size() < 2) return;
  llvm::MDBuilder md(m_.context);
  llvm::MDNode* domain = md.createAnonymousAliasScopeDomain("nest");
  llvm::SmallVector<llvm::Metadata*, 8> all;
  for (const uint32_t array : stored) {
    llvm::MDNode* scope = md.createAnonymousAliasScope(domain, "array");
    own_scope_[array] = llvm::MDNode::get(m_.context, {scope});
    b_.CreateNoAliasScopeDeclaration(own_scope_[array]);
    all.push_back(scope);
  }
  all_scopes_ = llvm::MDNode::get(m_.context, all);
  for (size_t i = 0; i < stored.size(); ++i) {
    auto others = all;
    others.erase(others.begin() + static_cast<ptrdiff_t>(i));
    other_scopes_[stored[i]] = llvm::MDNode::get(m_.context, others);
  }
}

void FunctionEmitter::LeaveNest() {
  if (--nest_depth_ > 0) return;
  own_scope_.clear();
  other_scopes_.clear();
  all_scopes_ = nullptr;
}

void FunctionEmitter::TagAliases(llvm::Instruction* access, Reg array) {
  if (all_scopes_ == nullptr) return;
  const auto own = own_scope_.find(array.id);
  if (own == own_scope_.end()) {
    access->setMetadata(llvm::LLVMContext::MD_noalias, all_scopes_);
    return;
  }
  access->setMetadata(llvm::LLVMContext::MD_alias_scope, own->second);
  access->setMetadata(llvm::LLVMContext::MD_noalias, other_scopes_[array.id]);
}

// --------------------------------------------------------------------------------------- tapes --

void FunctionEmitter::SetTape(Reg r, Value* handle) {
  SetParts(r, {handle, LoadField(m_.i64, handle, offsetof(Tape, size), Memory::kTape),
               LoadField(m_.ptr, handle, offsetof(Tape, slots), Memory::kTape),
               LoadField(m_.i64, handle, offsetof(Tape, capacity), Memory::kTape)});
}

void FunctionEmitter::WriteBackTape(Reg r) {
  StoreField(regs_[r.id].size, Get(r), offsetof(Tape, size), Memory::kTape);
}

void FunctionEmitter::EmitTapeNew(const Node& node) {
  SetTape(node.results[0], b_.CreateCall(m_.Callee(Runtime::kTapeNew), {ctx_}));
}

Value* ToSlot(llvm::IRBuilder<>& b, const ModuleEmitter& m, ir::Type t, Value* v) {
  if (!t.IsScalar()) return b.CreatePtrToInt(v, m.i64);
  if (t.elem == DType::kF32) v = b.CreateBitCast(v, m.i32);
  if (t.elem == DType::kF64) return b.CreateBitCast(v, m.i64);
  return b.CreateZExt(v, m.i64);
}

Value* FromSlot(llvm::IRBuilder<>& b, const ModuleEmitter& m, ir::Type t, Value* slot) {
  if (!t.IsScalar()) return b.CreateIntToPtr(slot, m.ptr);
  switch (t.elem) {
    case DType::kF64: return b.CreateBitCast(slot, m.TypeOf(t.elem));
    case DType::kF32: return b.CreateBitCast(b.CreateTrunc(slot, m.i32), m.TypeOf(t.elem));
    case DType::kI64: return slot;
    case DType::kBool: break;
  }
  return b.CreateIsNotNull(slot);
}

void FunctionEmitter::EmitPush(const Node& node) {
  const Reg from = node.args[0];
  const Reg to = node.results[0];
  const RegState tape = regs_[from.id];
  Value* slot = ToSlot(b_, m_, TypeOf(node.args[1]), Get(node.args[1]));
  llvm::BasicBlock* before = b_.GetInsertBlock();
  llvm::BasicBlock* full = NewBlock("full");
  llvm::BasicBlock* push = NewBlock("push");
  Branch(b_.CreateICmpEQ(tape.size, tape.capacity), full, push);
  b_.SetInsertPoint(full);
  WriteBackTape(from);
  b_.CreateCall(m_.Callee(Runtime::kTapeGrow), {ctx_, tape.value});
  Value* grown_slots = LoadField(m_.ptr, tape.value, offsetof(Tape, slots), Memory::kTape);
  Value* grown_capacity = LoadField(m_.i64, tape.value, offsetof(Tape, capacity), Memory::kTape);
  b_.CreateBr(push);
  b_.SetInsertPoint(push);
  llvm::PHINode* slots = b_.CreatePHI(m_.ptr, 2);
  slots->addIncoming(tape.slots, before);
  slots->addIncoming(grown_slots, full);
  llvm::PHINode* capacity = b_.CreatePHI(m_.i64, 2);
  capacity->addIncoming(tape.capacity, before);
  capacity->addIncoming(grown_capacity, full);
  m_.Tag(b_.CreateAlignedStore(slot, b_.CreateGEP(m_.i64, slots, tape.size), llvm::Align(8)),
         Memory::kSlots);
  SetParts(to, {tape.value, b_.CreateAdd(tape.size, b_.getInt64(1)), slots, capacity});
}

void FunctionEmitter::EmitPop(const Node& node) {
  const RegState tape = regs_[node.args[0].id];
  Value* size = b_.CreateSub(tape.size, b_.getInt64(1));
  Value* slot =
      m_.Tag(b_.CreateAlignedLoad(m_.i64, b_.CreateGEP(m_.i64, tape.slots, size), llvm::Align(8)),
             Memory::kSlots);
  SetParts(node.results[0], {tape.value, size, tape.slots, tape.capacity});
  SetIncoming(node.results[1], FromSlot(b_, m_, TypeOf(node.results[1]), slot));
}

}  // namespace pullback::jit
