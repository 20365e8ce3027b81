// Lists: calls of the runtime, with one record at a time handed over in memory.
#include "core/base/status.h"
#include "jit/llvm/emit.h"

namespace pullback::jit {

using ir::Op;
using llvm::Value;

RecordPlan FunctionEmitter::Plan(llvm::ArrayRef<Reg> fields) const {
  std::vector<ir::Type> types;
  for (const Reg r : fields) types.push_back(TypeOf(r));
  return PlanRecord(types);
}

Value* FunctionEmitter::Record(size_t words) {
  llvm::AllocaInst*& record = records_[words];
  if (record == nullptr) record = Alloca(llvm::ArrayType::get(m_.i64, words), "record");
  return record;
}

Value* FunctionEmitter::StoreRecord(llvm::ArrayRef<Reg> fields) {
  const RecordPlan plan = Plan(fields);
  Value* record = Record(fields.size());
  for (size_t k = 0; k < fields.size(); ++k) {
    Value* v = Get(fields[k]);
    const ir::Type t = TypeOf(fields[k]);
    if (!t.IsScalar()) {
      v = b_.CreatePtrToInt(v, m_.i64);
    } else if (t.IsFloat()) {
      v = b_.CreateZExt(b_.CreateBitCast(v, t.elem == DType::kF64 ? m_.i64 : m_.i32), m_.i64);
    } else {
      v = b_.CreateZExt(v, m_.i64);
    }
    StoreField(v, record, 8 * plan.place[k], Memory::kStack);
  }
  return record;
}

void FunctionEmitter::LoadRecord(Value* record, llvm::ArrayRef<Reg> fields) {
  const RecordPlan plan = Plan(fields);
  for (size_t k = 0; k < fields.size(); ++k) {
    Value* v = LoadField(m_.i64, record, 8 * plan.place[k], Memory::kStack);
    const ir::Type t = TypeOf(fields[k]);
    if (!t.IsScalar()) {
      v = b_.CreateIntToPtr(v, m_.ptr);
    } else if (t.elem == DType::kF64) {
      v = b_.CreateBitCast(v, m_.TypeOf(t.elem));
    } else if (t.elem == DType::kF32) {
      v = b_.CreateBitCast(b_.CreateTrunc(v, m_.i32), m_.TypeOf(t.elem));
    } else if (t.elem == DType::kBool) {
      v = b_.CreateIsNotNull(v);
    }
    SetIncoming(fields[k], v);
  }
}

void FunctionEmitter::EmitFit(const Node& node) {
  const size_t rank = node.args.size() - 1;
  Value* extents = Record(kMaxRank);
  for (size_t axis = 0; axis < rank; ++axis) {
    StoreField(Get(node.args[1 + axis]), extents, 8 * axis, Memory::kStack);
  }
  SetArray(node.results[0],
           b_.CreateCall(m_.Callee(Runtime::kFit),
                         {ctx_, b_.getInt32(node.loc), Get(node.args[0]),
                          b_.getInt64(DTypeSize(Elem(node.args[0]))), b_.getInt64(rank), extents}));
}

void FunctionEmitter::EmitList(const Node& node) {
  const llvm::ArrayRef<Reg> args = node.args;
  const llvm::ArrayRef<Reg> results = node.results;
  Value* loc = b_.getInt32(node.loc);
  const auto layout = [&](llvm::ArrayRef<Reg> fields) {
    return b_.getInt64(static_cast<uint64_t>(Plan(fields).word));
  };
  const auto set = [&](Runtime f, llvm::ArrayRef<Value*> operands) {
    Set(results[0], b_.CreateCall(m_.Callee(f), operands));
  };
  switch (node.op) {
    case Op::Fit: return EmitFit(node);
    case Op::ListNew: return set(Runtime::kListNew, {ctx_});
    case Op::ListLen:
      return Set(results[0],
                 LoadField(m_.i64, Get(args[0]), offsetof(List, size), Memory::kHeader));
    case Op::ListOf:
      return set(Runtime::kListOf, {ctx_, loc, Get(args[0]), layout(args.drop_front()),
                                    StoreRecord(args.drop_front())});
    case Op::ListGet: {
      Value* record = Record(results.size());
      b_.CreateCall(m_.Callee(Runtime::kListGet), {ctx_, Get(args[0]), Get(args[1]), record});
      return LoadRecord(record, results);
    }
    case Op::ListSet:
      return set(Runtime::kListSet,
                 {ctx_, loc, Get(args[0]), Get(args[1]), StoreRecord(args.drop_front(2))});
    case Op::ListPush:
      return set(Runtime::kListPush, {ctx_, loc, Get(args[0]), layout(args.drop_front()),
                                      StoreRecord(args.drop_front())});
    case Op::ListTake: {
      Value* record = Record(results.size() - 1);
      set(Runtime::kListTake, {ctx_, loc, Get(args[0]), Get(args[1]), record});
      return LoadRecord(record, results.drop_front());
    }
    case Op::ListPop: {
      Value* record = Record(results.size() - 1);
      set(Runtime::kListPop, {ctx_, loc, Get(args[0]), record});
      return LoadRecord(record, results.drop_front());
    }
    default: PB_CHECK(!"no op of lists");
  }
}

}  // namespace pullback::jit
