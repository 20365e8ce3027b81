// Compiles, loads and runs loops through the back ends.
#pragma once

#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "core/base/tensor.h"
#include "core/eval/scalar_ops.h"
#include "core/loops/interpret.h"
#include "jit/baseline/baseline_backend.h"
#include "jit/canonical_nan.h"
#include "jit/llvm/llvm_backend.h"
#include "tests/jit/loops_builder.h"

namespace pullback::jit {

inline Backend& LlvmForTests() {
  static const std::shared_ptr<Backend> backend = MakeLlvmBackend().value();
  return *backend;
}

// The tiers by number: LLVM at its level of optimisation, and tier 0, whose every instruction is checked.
inline constexpr int kTierZero = -1;
inline Backend& BackendForTests(int level) {
  if (level != kTierZero) return LlvmForTests();
  static const std::shared_ptr<Backend> backend = MakeBaselineBackend({.validate = true}).value();
  return *backend;
}
inline BackendOptions OptionsForTests(int level) { return {level == kTierZero ? 0 : level}; }
inline std::string TierName(int level) {
  return level == kTierZero ? "tier 0" : "LLVM, O" + std::to_string(level);
}

// Arguments and results as kernels take and give them.
inline uint64_t SlotOf(Tensor& t, Array* array) {
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
inline Tensor FromSlot(ir::Type type, uint64_t slot) {
  Tensor t;
  t.dtype = type.elem;
  if (type.IsArray()) {
    const auto* array = reinterpret_cast<const Array*>(slot);
    t.shape.assign(array->dims, array->dims + type.rank);
    const auto* data = static_cast<const uint8_t*>(array->data);
    t.data.assign(data, data + array->bytes);
    CanonicaliseNans(t.dtype, t.data.data(), t.data.size());  // as whoever copies results does
  } else {
    const auto* bytes = reinterpret_cast<const uint8_t*>(&slot);
    t.data.assign(bytes, bytes + DTypeSize(type.elem));
  }
  return t;
}

// A kernel, and the context it runs in: limits may be set between runs.
class TestKernel {
 public:
  explicit TestKernel(const loops::Module& module, int tier = 2) {
    const auto object = BackendForTests(tier).Compile(module, OptionsForTests(tier));
    if (!object.ok()) FAIL(object.status().ToString());
    auto code = BackendForTests(tier).Load(*object);
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
    for (size_t i = 0; i < args.size(); ++i) slots[i] = SlotOf(keep[i], &arrays[i]);
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
  std::unique_ptr<LoadedCode> code_;
  std::vector<ir::Type> results_;
};

inline Tensor Canonical(Tensor t) {
  const size_t size = DTypeSize(t.dtype);
  for (size_t at = 0; at < t.data.size(); at += size) {
    uint64_t bits = 0;
    std::memcpy(&bits, t.data.data() + at, size);
    bits = eval::CanonicalNan(t.dtype, bits);
    std::memcpy(t.data.data() + at, &bits, size);
  }
  return t;
}

// Runs the loops in their interpreter and compiled in every tier: the same bits or the same trap,
// and nothing left but the results.
inline void CheckSame(const loops::Module& module, const std::vector<std::vector<Tensor>>& inputs) {
  std::vector<std::unique_ptr<TestKernel>> kernels;
  for (const int level : {kTierZero, 0, 2})
    kernels.push_back(std::make_unique<TestKernel>(module, level));
  for (const std::vector<Tensor>& args : inputs) {
    const auto expected = loops::Interpret(module, args, {eval::EvalScalar, eval::EvalCast});
    if (!expected.ok()) FAIL(expected.status().ToString());
    for (const auto& kernel : kernels) {
      const std::vector<Tensor> values = kernel->Run(args);
      const auto& trap = expected->trap;
      const RunContext& c = kernel->context;
      REQUIRE(c.trap_kind == (trap ? static_cast<int>(trap->kind) : 0));
      if (trap && trap->kind != ir::TrapKind::kDepth) {
        CHECK(c.trap_loc == trap->loc);
        CHECK(c.trap_a == trap->a);
        CHECK(c.trap_b == trap->b);
      }
      REQUIRE(values.size() == expected->values.size());
      for (size_t i = 0; i < values.size(); ++i) {
        const Tensor wanted = Canonical(expected->values[i]);
        CHECK(values[i].dtype == wanted.dtype);
        CHECK(values[i].shape == wanted.shape);
        CHECK(values[i].data == wanted.data);
      }
    }
  }
}

// Values where arithmetic goes wrong first.
inline std::vector<Tensor> TrickyValues(DType t) {
  std::vector<Tensor> values;
  const double inf = std::numeric_limits<double>::infinity();
  switch (t) {
    case DType::kF64:
      for (const double v : {0.0,
                             -0.0,
                             1.0,
                             -1.0,
                             0.5,
                             -0.5,
                             1.5,
                             -1.5,
                             2.5,
                             0.49999999999999994,
                             1e-310,
                             -5e-324,
                             4503599627370495.5,
                             4503599627370497.0,
                             9.3e18,
                             -9.3e18,
                             9223372036854775807.0,
                             1e308,
                             -1e308,
                             3.7,
                             -700.25,
                             710.0,
                             1e22,
                             0.1,
                             inf,
                             -inf,
                             std::nan("")}) {
        values.push_back(Tensor::F64(v));
      }
      values.push_back(Tensor::F64(std::bit_cast<double>(uint64_t{0xfff8000000000123})));
      values.push_back(Tensor::F64(std::bit_cast<double>(uint64_t{0x7ff0000000000001})));
      break;
    case DType::kF32:
      for (const double v :
           {0.0,    -0.0,  1.0,  -1.0, 0.5,    -2.5, 0.49999997, 1e-40, -1.4e-45, 8388609.0,
            9.3e18, -1e30, 3e38, 88.8, -104.0, 0.1,  3.7,        inf,   -inf,     std::nan("")}) {
        values.push_back(Tensor::F32(static_cast<float>(v)));
      }
      break;
    case DType::kI64:
      for (const int64_t v :
           {int64_t{0}, int64_t{1}, int64_t{-1}, int64_t{2}, int64_t{-7}, int64_t{10},
            int64_t{1} << 53, (int64_t{1} << 53) + 1, int64_t{1} << 62, INT64_MAX, INT64_MIN,
            INT64_MIN + 1, int64_t{0x7fffff4000000001}}) {
        values.push_back(Tensor::I64(v));
      }
      break;
    case DType::kBool: values = {Tensor::Bool(false), Tensor::Bool(true)};
  }
  return values;
}

}  // namespace pullback::jit
