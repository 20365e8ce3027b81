// A back end whose code is a C++ function of the test's, and short ways to ask the engine.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "jit/backend.h"
#include "jit/engine.h"

namespace pullback::jit {

struct FakeBackend : Backend {
  KernelEntry entry = [](RunContext*, const uint64_t*, uint64_t*) {};
  size_t code_bytes = 1000;
  std::function<Status()> on_compile;  // called in Compile, on its thread
  std::string built = "fake-1";
  std::atomic<int> compiles{0};
  std::shared_ptr<std::atomic<int>> live = std::make_shared<std::atomic<int>>(0);

  std::string name() const override { return "fake"; }
  std::string target() const override { return "none"; }
  std::string version() const override { return built; }
  bool optimises = true;
  bool Optimises(const loops::Module&) const override { return optimises; }
  StatusOr<ObjectCode> Compile(const loops::Module&, const BackendOptions&) override {
    ++compiles;
    if (on_compile) PB_RETURN_IF_ERROR(on_compile());
    return ObjectCode{"object", "entry"};
  }
  StatusOr<std::unique_ptr<LoadedCode>> Load(const ObjectCode&) override {
    struct Code : LoadedCode {
      Code(KernelEntry e, size_t n, std::shared_ptr<std::atomic<int>> l)
          : function(e), size(n), live(std::move(l)) {
        ++*live;
      }
      ~Code() override { --*live; }
      KernelEntry entry() const override { return function; }
      size_t bytes() const override { return size; }
      KernelEntry function;
      size_t size;
      std::shared_ptr<std::atomic<int>> live;
    };
    return std::unique_ptr<LoadedCode>(std::make_unique<Code>(entry, code_bytes, live));
  }
  StatusOr<std::string> Dump(const loops::Module&, const BackendOptions&,
                             const std::string& stage) override {
    return "fake " + stage;
  }
};

inline KernelRequest Ask(const std::string& program, const std::string& entry = "f",
                         Transform transform = Transform::kValue,
                         std::vector<std::string> wrt = {}) {
  return {program, entry, transform, std::move(wrt), {}};
}

// `expr`, or the test fails with what it says.
template <typename T>
T Ok(StatusOr<T> result) {
  if (!result.ok()) throw std::runtime_error(result.status().ToString());
  return std::move(result).value();
}

inline ApiValue Leaf(Tensor t) { return {false, std::move(t), {}}; }
inline ApiValue Tuple(std::vector<ApiValue> elements) { return {true, {}, std::move(elements)}; }
inline ApiValue Vector(const std::vector<double>& v) {
  return Leaf(Tensor::Of<double>(DType::kF64, {static_cast<int64_t>(v.size())}, v));
}
inline ApiValue Scalar(double v) { return Leaf(Tensor::F64(v)); }
inline ApiValue Integer(int64_t v) { return Leaf(Tensor::I64(v)); }

inline std::vector<double> Doubles(const ApiValue& v) {
  std::vector<double> out;
  for (int64_t i = 0; i < v.tensor.ElementCount(); ++i) out.push_back(v.tensor.At<double>(i));
  return out;
}

}  // namespace pullback::jit
