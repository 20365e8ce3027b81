#include "jit/llvm/module.h"

#include <llvm/IR/MDBuilder.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>

#include "core/base/math.h"
#include "core/base/status.h"

namespace pullback::jit {
namespace {

using llvm::Attribute;

constexpr const char* kMemoryNames[kMemoryKinds] = {"context", "header", "tape", "slots", "stack",
                                                    "f64",     "f32",    "i64",  "bool"};

// What the runtime's functions take and do. p: pointer, w: i64, i: i32, v: nothing.
struct RuntimeRow {
  const char* symbol;
  const char* signature;  // result, then arguments
  bool ends_run;          // never returns
  bool fresh;             // returns memory that nothing else points to, and touches no other data
};
constexpr RuntimeRow kRuntimeRows[kRuntimeFunctions] = {
    {"pb_trap", "vpiiww", true, false},       {"pb_stopped", "vp", true, false},
    {"pb_stack_grow", "vppw", false, false},  {"pb_alloc", "ppiwwpi", false, true},
    {"pb_free", "vpp", false, false},         {"pb_copy", "ppipw", false, false},
    {"pb_tape_new", "pp", false, true},       {"pb_tape_grow", "vpp", false, false},
    {"pb_tape_free", "vpp", false, false},    {"pb_list_new", "pp", false, false},
    {"pb_list_of", "ppiwwp", false, false},   {"pb_list_get", "vppwp", false, false},
    {"pb_list_set", "ppipwp", false, false},  {"pb_list_take", "ppipwp", false, false},
    {"pb_list_push", "ppipwp", false, false}, {"pb_list_pop", "ppipp", false, false},
    {"pb_list_free", "vpp", false, false},    {"pb_fit", "ppipwwp", false, false},
    {"pb_launch", "ipiwp", false, false},     {"pb_device_read", "vpp", false, false},
    {"pb_device_write", "vpp", false, false}, {"pb_device_fresh", "vppi", false, false},
    {"pb_contract", "ipppppi", false, false},
};

llvm::Type* Spelled(const ModuleEmitter& m, char c) {
  switch (c) {
    case 'p': return m.ptr;
    case 'w': return m.i64;
    case 'i': return m.i32;
    default: return llvm::Type::getVoidTy(m.context);
  }
}

llvm::Function* Declare(ModuleEmitter& m, const RuntimeRow& row) {
  llvm::SmallVector<llvm::Type*, 6> params;
  for (const char* c = row.signature + 1; *c != '\0'; ++c) params.push_back(Spelled(m, *c));
  auto* type = llvm::FunctionType::get(Spelled(m, row.signature[0]), params, false);
  auto* f = llvm::Function::Create(type, llvm::Function::ExternalLinkage, row.symbol, m.module);
  f->addFnAttr(Attribute::NoUnwind);
  f->addFnAttr(Attribute::NonLazyBind);
  f->addFnAttr(Attribute::NoCallback);
  if (row.ends_run) {
    f->addFnAttr(Attribute::NoReturn);
    f->addFnAttr(Attribute::Cold);
  }
  if (row.fresh) {
    f->addRetAttr(Attribute::NoAlias);
    f->addRetAttr(Attribute::NonNull);
    f->setMemoryEffects(llvm::MemoryEffects::inaccessibleOrArgMemOnly());
  }
  return f;
}

}  // namespace

Memory DataMemory(DType t) {
  switch (t) {
    case DType::kF64: return Memory::kF64;
    case DType::kF32: return Memory::kF32;
    case DType::kI64: return Memory::kI64;
    case DType::kBool: break;
  }
  return Memory::kBool;
}

ModuleEmitter::ModuleEmitter(llvm::Module& module, const loops::Module& source, int vector_bytes)
    : module(module),
      context(module.getContext()),
      source(source),
      i1(llvm::Type::getInt1Ty(context)),
      i8(llvm::Type::getInt8Ty(context)),
      i32(llvm::Type::getInt32Ty(context)),
      i64(llvm::Type::getInt64Ty(context)),
      ptr(llvm::PointerType::get(context, 0)),
      vector_bytes_(vector_bytes) {
  llvm::MDBuilder md(context);
  unlikely = md.createUnlikelyBranchWeights();
  llvm::MDNode* root = md.createTBAARoot("pullback");
  for (size_t k = 0; k < kMemoryKinds; ++k) {
    llvm::MDNode* type = md.createTBAAScalarTypeNode(kMemoryNames[k], root);
    tbaa_[k] = md.createTBAAStructTagNode(type, type, 0);
  }
  llvm::AttrBuilder math(context);
  math.addMemoryAttr(llvm::MemoryEffects::none());
  for (const auto kind : {Attribute::NoUnwind, Attribute::WillReturn, Attribute::NoCallback,
                          Attribute::NoSync, Attribute::NoFree, Attribute::NonLazyBind}) {
    math.addAttribute(kind);
  }
  math_attributes_ = llvm::AttributeList::get(context, llvm::AttributeList::FunctionIndex, math);
}

llvm::Type* ModuleEmitter::TypeOf(DType t) const {
  switch (t) {
    case DType::kF64: return llvm::Type::getDoubleTy(context);
    case DType::kF32: return llvm::Type::getFloatTy(context);
    case DType::kI64: return i64;
    case DType::kBool: break;
  }
  return i1;
}

llvm::Type* ModuleEmitter::DataType(DType t) const { return t == DType::kBool ? i8 : TypeOf(t); }

llvm::Type* ModuleEmitter::TypeOf(ir::Type t) const {
  return t.IsScalar() ? TypeOf(t.elem) : static_cast<llvm::Type*>(ptr);
}

llvm::Type* ModuleEmitter::Lanes(DType t) const {
  return llvm::FixedVectorType::get(TypeOf(t), kLanes);
}

llvm::FunctionCallee ModuleEmitter::Callee(Runtime f) {
  llvm::Function*& slot = runtime_[static_cast<size_t>(f)];
  if (slot == nullptr) slot = Declare(*this, kRuntimeRows[static_cast<size_t>(f)]);
  return slot;
}

llvm::Function* ModuleEmitter::DeclareMath(const char* symbol, llvm::Type* type, int arity) {
  const llvm::SmallVector<llvm::Type*, 2> params(static_cast<size_t>(arity), type);
  auto* signature = llvm::FunctionType::get(type, params, false);
  auto* f = llvm::Function::Create(signature, llvm::Function::ExternalLinkage, symbol, module);
  f->setAttributes(math_attributes_);
  return f;
}

llvm::FunctionCallee ModuleEmitter::Math(std::string_view name, bool f64) {
  const MathFunction* math = FindMath(name);
  PB_CHECK(math != nullptr);
  const char* symbol = f64 ? math->f64_symbol : math->f32_symbol;
  llvm::Function* f = module.getFunction(symbol);
  if (f == nullptr) {
    f = DeclareMath(symbol, TypeOf(f64 ? DType::kF64 : DType::kF32), math->arity);
    AddVectorVariants(f, name, f64);
  }
  return f;
}

const VectorMath* ModuleEmitter::FindVector(std::string_view name, bool f64, int width) const {
  if (width * (f64 ? 8 : 4) > vector_bytes_) return nullptr;
  for (const VectorMath* f = VectorMathBegin(); f != VectorMathEnd(); ++f) {
    if (f->f64 == f64 && f->width == width && f->name == name) return f;
  }
  return nullptr;
}

llvm::FunctionCallee ModuleEmitter::Vector(const VectorMath& math) {
  llvm::Function* f = module.getFunction(math.symbol);
  if (f == nullptr) {
    llvm::Type* element = TypeOf(math.f64 ? DType::kF64 : DType::kF32);
    f = DeclareMath(math.symbol,
                    llvm::FixedVectorType::get(element, static_cast<unsigned>(math.width)),
                    FindMath(math.name)->arity);
  }
  return f;
}

// Tells the loop vectoriser of LLVM which vector functions stand for `f`.
void ModuleEmitter::AddVectorVariants(llvm::Function* f, std::string_view name, bool f64) {
  std::string variants;
  for (const int width : {2, 4, 8, 16}) {
    const VectorMath* math = FindVector(name, f64, width);
    if (math == nullptr) continue;
    keep_.push_back(llvm::cast<llvm::Function>(Vector(*math).getCallee()));
    variants += (variants.empty() ? "" : ",") + std::string("_ZGV_LLVM_N") + std::to_string(width) +
                std::string(f->arg_size(), 'v') + "_" + f->getName().str() + "(" + math->symbol +
                ")";
  }
  if (!variants.empty()) f->addFnAttr("vector-function-abi-variant", variants);
}

llvm::Value* ModuleEmitter::CallMathOnLanes(llvm::IRBuilder<>& b, std::string_view name, bool f64,
                                            llvm::ArrayRef<llvm::Value*> args) {
  auto* type = llvm::cast<llvm::FixedVectorType>(args[0]->getType());
  const int lanes = static_cast<int>(type->getNumElements());
  int width = lanes;
  while (width > 1 && FindVector(name, f64, width) == nullptr) width /= 2;
  const llvm::FunctionCallee callee =
      width > 1 ? Vector(*FindVector(name, f64, width)) : Math(name, f64);
  if (width == lanes) return b.CreateCall(callee, args);
  auto* part_type =
      llvm::FixedVectorType::get(type->getElementType(), static_cast<unsigned>(width));
  llvm::Value* result = llvm::PoisonValue::get(type);
  for (int at = 0; at < lanes; at += width) {
    llvm::Value* index = b.getInt64(static_cast<uint64_t>(at));
    llvm::SmallVector<llvm::Value*, 2> parts;
    for (llvm::Value* arg : args) {
      parts.push_back(width == 1 ? b.CreateExtractElement(arg, index)
                                 : b.CreateExtractVector(part_type, arg, index));
    }
    llvm::Value* part = b.CreateCall(callee, parts);
    result = width == 1 ? b.CreateInsertElement(result, part, index)
                        : b.CreateInsertVector(type, result, part, index);
  }
  return result;
}

void ModuleEmitter::Finish() {
  if (!keep_.empty()) llvm::appendToCompilerUsed(module, keep_);
}

}  // namespace pullback::jit
