// A compiled entry over arrays of f32, called from C++ with nothing in between.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/bench/kernel_runner.h"

namespace pullback::bench {

using Floats = std::vector<float>;

// A vjp that is called with nothing in between, over arrays of f32.
class FloatKernel {
 public:
  FloatKernel(jit::Engine& engine, jit::KernelRequest request, ad::Mixed mixed,
              const std::vector<std::pair<std::vector<int64_t>, const Floats*>>& args) {
    request.options.tier = jit::Tier::kLlvm;
    request.options.mixed = mixed;
    auto handle = engine.Compile(request);
    if (!handle.ok()) throw std::runtime_error(handle.status().message());
    handle_ = *handle;
    headers_.resize(args.size());
    for (size_t k = 0; k < args.size(); ++k) {
      jit::Array& a = headers_[k];
      a = {};
      a.refs = jit::kPinned;
      a.data = const_cast<float*>(args[k].second->data());
      std::copy(args[k].first.begin(), args[k].first.end(), a.dims);
      a.bytes = static_cast<int64_t>(4 * args[k].second->size());
      slots_.push_back(reinterpret_cast<uint64_t>(&a));
    }
    results_.resize(handle_.kernel->layout().results());
    context_.max_depth = 1 << 20;
    context_.bytes_budget = int64_t{1} << 34;
  }

  void Run(int64_t times) {
    times_ = times;
    current_ = this;
    if (!jit::RunKernel(&Repeat, &context_, slots_.data(), results_.data()))
      throw std::runtime_error("a trap");
  }
  // The value and the cotangents by c, f, i, g.
  const float* Result(size_t k) const {
    return static_cast<const float*>(reinterpret_cast<const jit::Array*>(results_[k])->data);
  }

 private:
  static void Repeat(jit::RunContext* c, const uint64_t* args, uint64_t* results) {
    FloatKernel& k = *current_;
    const jit::KernelEntry entry = k.handle_.kernel->code().current()->loaded->entry();
    for (int64_t t = 0; t < k.times_; ++t) {
      if (c->arrays != nullptr) jit::ResetContext(c);
      entry(c, args, results);
    }
  }

  inline static thread_local FloatKernel* current_ = nullptr;
  std::vector<jit::Array> headers_;
  std::vector<uint64_t> slots_, results_;
  jit::RunContext context_;
  jit::Handle handle_;
  int64_t times_ = 1;
};

}  // namespace pullback::bench
