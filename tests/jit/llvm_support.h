// Compiles, loads and runs loops through the LLVM back end.
#pragma once

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "core/base/tensor.h"
#include "jit/llvm/llvm_backend.h"
#include "tests/jit/loops_builder.h"

namespace pullback::jit {

inline Backend& LlvmForTests() {
  static const std::shared_ptr<Backend> backend = MakeLlvmBackend().value();
  return *backend;
}

// A kernel, and the context it runs in: limits may be set between runs.
class TestKernel {
 public:
  explicit TestKernel(const loops::Module& module, int opt_level = 2) {
    const auto object = LlvmForTests().Compile(module, {opt_level});
    if (!object.ok()) FAIL(object.status().ToString());
    auto code = LlvmForTests().Load(*object);
    if (!code.ok()) FAIL(code.status().ToString());
    code_ = std::move(code).value();
    for (const ir::Type t : module.functions[module.entry]->results) results_.push_back(t);
  }
  ~TestKernel() { ResetContext(&context); }

  // The results, or nothing when it trapped (see context.trap_kind).
  std::vector<Tensor> Run(const std::vector<Tensor>& args) {
    std::vector<Tensor> keep = args;
    std::vector<Array> arrays(args.size());
    std::vector<uint64_t> slots(args.size() + 1), out(results_.size() + 1);
    for (size_t i = 0; i < args.size(); ++i) slots[i] = Slot(keep[i], &arrays[i]);
    std::vector<Tensor> results;
    if (RunKernel(code_->entry(), &context, slots.data(), out.data())) {
      for (size_t i = 0; i < results_.size(); ++i) results.push_back(FromSlot(results_[i], out[i]));
    }
    live_bytes = context.bytes_used;
    ResetContext(&context);
    for (size_t i = 0; i < args.size(); ++i) CHECK(keep[i].data == args[i].data);
    return results;
  }
  bool Trapped(const std::vector<Tensor>& args, ir::TrapKind kind) {
    return Run(args).empty() && context.trap_kind == static_cast<int>(kind);
  }
  const LoadedCode& code() const { return *code_; }

  RunContext context;
  int64_t live_bytes = 0;  // that the last run had not given back at its end

 private:
  static uint64_t Slot(Tensor& t, Array* array) {
    if (t.shape.empty()) {
      uint64_t bits = 0;
      std::memcpy(&bits, t.data.data(), t.data.size());
      return bits;
    }
    array->refs = kPinned;
    array->data = t.data.data();
    std::copy(t.shape.begin(), t.shape.end(), array->dims);
    array->bytes = static_cast<int64_t>(t.data.size());
    return reinterpret_cast<uint64_t>(array);
  }
  static Tensor FromSlot(ir::Type type, uint64_t slot) {
    Tensor t;
    t.dtype = type.elem;
    if (type.IsArray()) {
      const auto* array = reinterpret_cast<const Array*>(slot);
      t.shape.assign(array->dims, array->dims + type.rank);
      const auto* data = static_cast<const uint8_t*>(array->data);
      t.data.assign(data, data + array->bytes);
    } else {
      const auto* bytes = reinterpret_cast<const uint8_t*>(&slot);
      t.data.assign(bytes, bytes + DTypeSize(type.elem));
    }
    return t;
  }

  std::unique_ptr<LoadedCode> code_;
  std::vector<ir::Type> results_;
};

}  // namespace pullback::jit
