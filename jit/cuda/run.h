// One run's arrays on the device, and its launches.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "jit/cuda/code.h"
#include "jit/runtime/contract.h"
#include "jit/runtime/device.h"

namespace pullback::jit::cuda {

class CudaRun : public DeviceRun {
 public:
  CudaRun(RunContext* c, std::shared_ptr<Kernels> kernels, Kernels::Loaded loaded)
      : DeviceRun(c),
        kernels_(std::move(kernels)),
        loaded_(std::move(loaded)),
        driver_(kernels_->device().driver()) {}
  ~CudaRun() override;

  int32_t Launch(uint32_t kernel, int64_t threads, const uint64_t* slots) override;
  int32_t Contract(const Contraction& contraction) override;
  std::string blas() const override { return kernels_->device().blas(); }
  bool Read(Array* a) override;
  bool Write(Array* a) override;
  bool Fresh(Array* a, bool zeroed) override;
  bool Copy(const Array* from, Array* to) override;
  void Free(Array* a) override;
  Status status() const override { return status_; }
  int64_t launches() const override { return launches_; }

 private:
  // A block on the device that the run is charged for; none at address 0.
  struct Memory {
    DeviceAddress address = 0;
    int64_t bytes = 0;
  };
  // Neither here nor there: no element is anywhere yet.
  struct Buffer {
    Memory memory;
    bool on_host = false, on_device = false;
    bool zeroed = false;
  };
  // A kernel's parameters, and what of the host's they stand for.
  struct Params {
    std::vector<uint64_t> values;
    std::vector<std::pair<void*, Memory>> lanes;
  };
  bool Check(Result result, const char* doing);
  Buffer& Of(Array* a);
  bool Take(int64_t bytes, Memory* memory);
  bool Give(Memory* memory);
  bool ToDevice(Array* a, bool written, DeviceAddress* address);
  bool Collect(const DeviceKernel& about, const uint64_t* slots, Params& params);
  bool Start(uint32_t kernel, int64_t threads, Params& params);
  int32_t Finish(bool good, bool failed, Params& params);
  // Terms that are joined in order: chunks of the points, so that the terms of one fit into the scratch.
  struct Chunk {
    int64_t begin, end, segments;
  };
  int32_t LaunchOrdered(uint32_t kernel, int64_t points, const uint64_t* slots);
  bool RunChunk(uint32_t kernel, Chunk& chunk, Params& params, bool* failed);
  bool PlaceTerms(const OrderedKernels& about, int64_t* terms);
  bool Grow(int64_t bytes, OrderedParam scratch);
  bool HasRoomFor(int64_t terms) const;
  int64_t MostSegments(int64_t buckets) const;
  const Memory& Scratch(OrderedParam p) const { return scratch_[static_cast<size_t>(p)]; }
  void SetOrdered(Params& params, OrderedParam p, uint64_t value);
  // run_contract.cc: a part of a product, or of `count` of them.
  struct BlasPiece {
    int64_t row, column, k;        // where it begins
    int64_t rows, columns, inner;  // its extents
    int64_t count;
    bool adds;
  };
  template <typename T>
  bool Multiply(const MatrixProduct& p, const ContractIndex& batch, const BlasPiece& piece,
                const std::array<DeviceAddress, 3>& at);
  bool MultiplyPieces(const Contraction& c, const MatrixProduct& p, const ContractIndex& batch,
                      const ProductAt& from, const std::array<DeviceAddress, 3>& arrays);
  bool CheckBlas(BlasResult result);
  bool PrepareWord();
  // Waits for the kernels that were launched; false where one failed or the run was stopped, which it tells
  // them. Before whatever else would wait for them.
  bool Settle();
  bool TellStop();
  bool TakeFailed(bool* failed);

  const std::shared_ptr<Kernels> kernels_;
  const Kernels::Loaded loaded_;
  const Driver& driver_;
  std::map<Array*, Buffer> buffers_;
  Memory failed_;            // a word that kernels set where a check fails, and one that ends them
  bool running_ = false;     // there may be kernels that have not ended
  bool stopped_ = false;     // they were told to end: what they wrote is nothing
  Stream beside_ = nullptr;  // on which they are told
  std::array<Memory, kOrderedParams> scratch_;  // by the parameters that are addresses
  BlasHandle blas_ = nullptr;                   // the life's
  int64_t launches_ = 0;
  Status status_;
};

}  // namespace pullback::jit::cuda
