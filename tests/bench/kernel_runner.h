// Compiled entries called from C++ with nothing in between, and clocks for them: the benchmarks
// measure generated code, not the engine around it.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "jit/engine.h"
#include "jit/kernel.h"
#include "jit/runtime/context.h"

namespace pullback::bench {

// An argument or a result: a scalar (dims empty) or an array of f64.
struct Data {
  std::vector<int64_t> dims;
  std::vector<double> values;
  bool integer = false;  // a scalar i64 in values[0]

  static Data Scalar(double v) { return {{}, {v}}; }
  static Data Integer(int64_t v) { return {{}, {static_cast<double>(v)}, true}; }
  static Data Array(std::vector<int64_t> dims, std::vector<double> values) {
    return {std::move(dims), std::move(values)};
  }
};

class BenchKernel {
 public:
  BenchKernel(jit::Engine& engine, const std::string& program, const std::string& entry,
              jit::Transform transform, std::vector<std::string> wrt, std::vector<Data> args,
              const jit::CompileOptions& options = {})
      : args_(std::move(args)) {
    auto handle = engine.Compile({program, entry, transform, std::move(wrt), options});
    if (!handle.ok()) throw std::runtime_error(handle.status().message());
    handle_ = *handle;
    context_.blas = handle_.kernel->blas();
    headers_.resize(args_.size());
    for (size_t k = 0; k < args_.size(); ++k) slots_.push_back(SlotOf(args_[k], &headers_[k]));
    results_.resize(handle_.kernel->layout().results());
    context_.max_depth = 1 << 30;
    context_.bytes_budget = int64_t{1} << 34;
  }

  // Runs the entry `times` times.
  void Run(int64_t times) {
    times_ = times;
    current_ = this;
    if (!jit::RunKernel(&Repeat, &context_, slots_.data(), results_.data()))
      throw std::runtime_error("trap of kind " + std::to_string(context_.trap_kind));
  }

  // The most that was in use at a time, the stack by pages touched: a run is charged for its stack in
  // steps of twice as much, the first of which is free.
  int64_t PeakBytes() {
    stack_.low = nullptr;
    Run(1);  // the stack is as large as it has to be from here on
    stack_ = {context_.stack_limit, 0, 0};
    jit::ResetContext(&context_);
    context_.peak_bytes = 0;
    Run(1);
    stack_.low = nullptr;
    return context_.peak_bytes - stack_.charged + stack_.touched;
  }

  // What the last run gave: scalars as one number.
  std::vector<std::vector<double>> Results() {
    Run(1);
    const jit::Layout& layout = handle_.kernel->layout();
    std::vector<ir::Type> types = layout.values;
    types.insert(types.end(), layout.derivatives.begin(), layout.derivatives.end());
    std::vector<std::vector<double>> out;
    for (size_t k = 0; k < types.size(); ++k) {
      if (types[k].IsArray()) {
        const auto* a = reinterpret_cast<const jit::Array*>(results_[k]);
        const auto* data = static_cast<const double*>(a->data);
        out.emplace_back(data, data + a->bytes / 8);
      } else {
        double v = 0;
        std::memcpy(&v, &results_[k], 8);
        out.push_back({v});
      }
    }
    return out;
  }

 private:
  static uint64_t SlotOf(Data& d, jit::Array* header) {
    uint64_t slot = 0;
    if (d.dims.empty()) {
      if (d.integer) return static_cast<uint64_t>(static_cast<int64_t>(d.values[0]));
      std::memcpy(&slot, d.values.data(), 8);
      return slot;
    }
    *header = {};
    header->refs = jit::kPinned;
    header->data = d.values.data();
    std::copy(d.dims.begin(), d.dims.end(), header->dims);
    header->bytes = static_cast<int64_t>(8 * d.values.size());
    return reinterpret_cast<uint64_t>(header);
  }

  // One jump buffer and one float environment for all of them, as in a batch.
  static void Repeat(jit::RunContext* c, const uint64_t* args, uint64_t* results) {
    BenchKernel& k = *current_;
    const jit::KernelEntry entry = k.handle_.kernel->code().current()->loaded->entry();
    for (int64_t i = 0; i < k.times_; ++i) {
      if (c->arrays != nullptr) jit::ResetContext(c);
      if (k.stack_.low != nullptr) {
        k.RunAndSeeStack(entry, c, args, results);
      } else {
        entry(c, args, results);
      }
    }
  }

  void RunAndSeeStack(jit::KernelEntry entry, jit::RunContext* c, const uint64_t* args,
                      uint64_t* results) {
    constexpr uintptr_t kPage = 4096;
    const uintptr_t here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0)) / kPage - 1;
    const uintptr_t low = reinterpret_cast<uintptr_t>(stack_.low) / kPage + 1;
    void* pages = reinterpret_cast<void*>(low * kPage);
    const char* limit = c->stack_limit;
    if (::madvise(pages, (here - low) * kPage, MADV_DONTNEED) != 0)
      throw std::runtime_error("pages of the stack cannot be dropped");
    entry(c, args, results);
    std::vector<unsigned char> resident(here - low);
    if (::mincore(pages, resident.size() * kPage, resident.data()) != 0)
      throw std::runtime_error("pages of the stack cannot be counted");
    for (unsigned char p : resident) stack_.touched += p & 1 ? kPage : 0;
    stack_.charged = limit - c->stack_limit;
  }

  // Of a run that is watched: down to where its stack goes.
  struct WatchedStack {
    const char* low = nullptr;
    int64_t charged = 0, touched = 0;
  };

  inline static thread_local BenchKernel* current_ = nullptr;
  std::vector<Data> args_;
  std::vector<jit::Array> headers_;
  std::vector<uint64_t> slots_, results_;
  jit::RunContext context_;
  jit::Handle handle_;
  int64_t times_ = 1;
  WatchedStack stack_;
};

// Contenders are run by turns, so that what slows the machine slows all: seconds a call, medians.
class Race {
 public:
  using Batch = std::function<void(int64_t times)>;

  void Add(Batch batch) { batches_.push_back(std::move(batch)); }

  // `round`: seconds that one turn of one contender should take.
  void Run(int rounds, double round) {
    for (Batch& b : batches_) counts_.push_back(CountFor(b, round));
    times_.resize(batches_.size());
    for (int r = 0; r < rounds; ++r) {
      for (size_t k = 0; k < batches_.size(); ++k)
        times_[k].push_back(Seconds(batches_[k], counts_[k]) / static_cast<double>(counts_[k]));
    }
  }

  double Time(size_t k) const { return Median(times_[k]); }
  // The median over the rounds of contender a's time over b's.
  double Ratio(size_t a, size_t b) const {
    std::vector<double> ratios;
    for (size_t r = 0; r < times_[a].size(); ++r) ratios.push_back(times_[a][r] / times_[b][r]);
    return Median(ratios);
  }

 private:
  static double Seconds(const Batch& b, int64_t times) {
    const auto start = std::chrono::steady_clock::now();
    b(times);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  static int64_t CountFor(const Batch& b, double round) {
    b(1);
    for (int64_t n = 1;; n *= 4) {
      const double t = Seconds(b, n);
      if (t > round / 4)
        return std::max<int64_t>(1, std::llround(static_cast<double>(n) * round / t));
    }
  }
  static double Median(std::vector<double> v) {
    const auto middle = v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2);
    std::nth_element(v.begin(), middle, v.end());
    return *middle;
  }

  std::vector<Batch> batches_;
  std::vector<int64_t> counts_;
  std::vector<std::vector<double>> times_;
};

}  // namespace pullback::bench
