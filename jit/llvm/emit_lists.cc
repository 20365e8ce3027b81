// Lists: calls of the runtime, with one record at a time handed over in memory.
#include "core/base/status.h"
#include "jit/llvm/emit.h"

namespace pullback::jit {

using ir::Op;
using llvm::Value;

namespace {

// Where each field of a record lies: arrays, then lists, then scalars.
struct Layout {
  int64_t word = 0;
  llvm::SmallVector<size_t, 8> place;
};

template <typename TypeOf>
Layout LayoutOf(llvm::ArrayRef<loops::Reg> fields, TypeOf&& type_of) {
  const auto rank = [&](loops::Reg r) {
    const ir::Type t = type_of(r);
    return t.IsArray() ? 0 : t.IsList() ? 1 : 2;
  };
  size_t first[3] = {};  // of each kind
  for (const loops::Reg r : fields) {
    for (int k = rank(r) + 1; k < 3; ++k) ++first[k];
  }
  Layout layout;
  PB_CHECK(fields.size() < size_t{1} << RecordLayout::kBits);
  layout.word =
      RecordLayout::Of(static_cast<int64_t>(first[1]), static_cast<int64_t>(first[2] - first[1]),
                       static_cast<int64_t>(fields.size()));
  for (const loops::Reg r : fields) layout.place.push_back(first[rank(r)]++);
  return layout;
}

}  // namespace

Value* FunctionEmitter::Record(size_t words) {
  llvm::AllocaInst*& record = records_[words];
  if (record == nullptr) record = Alloca(llvm::ArrayType::get(m_.i64, words), "record");
  return record;
}

Value* FunctionEmitter::StoreRecord(llvm::ArrayRef<Reg> fields) {
  const Layout layout = LayoutOf(fields, [&](Reg r) { return TypeOf(r); });
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
    StoreField(v, record, 8 * layout.place[k], Memory::kStack);
  }
  return record;
}

void FunctionEmitter::LoadRecord(Value* record, llvm::ArrayRef<Reg> fields) {
  const Layout layout = LayoutOf(fields, [&](Reg r) { return TypeOf(r); });
  for (size_t k = 0; k < fields.size(); ++k) {
    Value* v = LoadField(m_.i64, record, 8 * layout.place[k], Memory::kStack);
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
    return b_.getInt64(
        static_cast<uint64_t>(LayoutOf(fields, [&](Reg r) { return TypeOf(r); }).word));
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
