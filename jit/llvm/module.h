// One LLVM module while loops are written into it: types, what memory is what (TBAA), the runtime's
// and the math functions' declarations.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <memory>
#include <string_view>
#include <vector>

#include "core/loops/loops.h"
#include "jit/runtime/support.h"

namespace pullback::jit {

// Kinds of memory that never overlap.
enum class Memory : uint8_t { kContext, kHeader, kTape, kSlots, kStack, kF64, kF32, kI64, kBool };
inline constexpr size_t kMemoryKinds = 9;
Memory DataMemory(DType t);

// Functions of the runtime, in the order of their declarations in module.cc.
enum class Runtime : uint8_t {
  kTrap,
  kStopped,
  kStackGrow,
  kAlloc,
  kFree,
  kCopy,
  kTapeNew,
  kTapeGrow,
  kTapeFree,
  kListNew,
  kListOf,
  kListGet,
  kListSet,
  kListTake,
  kListPush,
  kListPop,
  kListFree,
  kFit,
  kLaunch,
  kDeviceRead,
  kDeviceWrite,
  kDeviceFresh,
  kContract,
};
inline constexpr size_t kRuntimeFunctions = 23;

inline constexpr int kLanes = 8;

class NodeHook;  // emit.h

class ModuleEmitter {
 public:
  // `vector_bytes`: width of the widest vector registers (0: no vector variants of math functions).
  ModuleEmitter(llvm::Module& module, const loops::Module& source, int vector_bytes);

  llvm::Type* TypeOf(DType t) const;     // of a register: i1 for bool
  llvm::Type* DataType(DType t) const;   // in memory: i8 for bool
  llvm::Type* TypeOf(ir::Type t) const;  // all but scalars are pointers
  llvm::Type* Lanes(DType t) const;      // <8 x TypeOf(t)>
  llvm::FunctionCallee Callee(Runtime f);
  int vector_bytes() const { return vector_bytes_; }

  // A scalar math function; its calls may be vectorised.
  llvm::FunctionCallee Math(std::string_view name, bool f64);
  // The call of a math function on vectors: vector variants of its length or less, or lane by lane.
  llvm::Value* CallMathOnLanes(llvm::IRBuilder<>& b, std::string_view name, bool f64,
                               llvm::ArrayRef<llvm::Value*> args);

  // Marks a load or store as touching only memory of this kind.
  template <typename I>
  I* Tag(I* access, Memory kind) const {
    access->setMetadata(llvm::LLVMContext::MD_tbaa, tbaa_[static_cast<size_t>(kind)]);
    return access;
  }
  // By function of the source; nullptr: none.
  NodeHook* HookFor(uint32_t index) const {
    return index < hooks.size() ? hooks[index].get() : nullptr;
  }
  // Keeps declarations that only attributes mention.
  void Finish();

  llvm::Module& module;
  llvm::LLVMContext& context;
  const loops::Module& source;
  bool on_device = false;  // written for kernels: traps are only noted
  bool for_host = false;   // … which the host runs, thread by thread
  std::vector<std::shared_ptr<NodeHook>> hooks;
  std::vector<llvm::Function*> functions;  // by index in source
  llvm::MDNode* unlikely;                  // branch weights: the first successor is cold
  llvm::IntegerType* i1;
  llvm::IntegerType* i8;
  llvm::IntegerType* i32;
  llvm::IntegerType* i64;
  llvm::PointerType* ptr;

 private:
  const VectorMath* FindVector(std::string_view name, bool f64, int width) const;
  llvm::FunctionCallee Vector(const VectorMath& f);
  llvm::Function* DeclareMath(const char* symbol, llvm::Type* type, int arity);
  void AddVectorVariants(llvm::Function* f, std::string_view name, bool f64);

  int vector_bytes_;
  llvm::AttributeList math_attributes_;
  std::array<llvm::MDNode*, kMemoryKinds> tbaa_{};
  std::array<llvm::Function*, kRuntimeFunctions> runtime_{};
  llvm::SmallVector<llvm::GlobalValue*, 0> keep_;
};

}  // namespace pullback::jit
