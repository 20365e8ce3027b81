#include "jit/cuda/run.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

namespace pullback::jit::cuda {
namespace {

constexpr int64_t kMostBlocks = int64_t{1} << 20;  // threads take turns beyond
constexpr size_t kLaneBytes = 8 * 8;

}  // namespace

CudaRun::~CudaRun() {
  if (driver_.cuCtxSetCurrent(loaded_.life->context()) != kSuccess) return;
  Settle();
  if (beside_ != nullptr) Check(driver_.cuStreamDestroy(beside_), "ending a stream");
  for (auto& [array, buffer] : buffers_) Give(&buffer.memory);
  Give(&failed_);
  for (Memory& scratch : scratch_) Give(&scratch);
}

// After any failure but a lack of memory the context is not to be trusted.
bool CudaRun::Check(Result result, const char* doing) {
  if (result == kSuccess) return true;
  if (status_.ok()) status_ = kernels_->device().Explain(result, doing);
  if (result != kOutOfMemory) kernels_->device().Abandon(loaded_.life);
  return false;
}

// Arrays that were not made in this run's code are good on the host.
CudaRun::Buffer& CudaRun::Of(Array* a) {
  const auto [at, fresh] = buffers_.try_emplace(a);
  if (fresh) at->second.on_host = true;
  a->device = &at->second;
  return at->second;
}

bool CudaRun::Take(int64_t bytes, Memory* memory) {
  bytes = std::max<int64_t>(bytes, 8);
  if (!Charge(bytes)) return false;
  DeviceAddress address = 0;
  if (!Check(driver_.cuMemAlloc(&address, static_cast<size_t>(bytes)), "allocating memory")) {
    Discharge(bytes);
    return false;
  }
  *memory = {address, bytes};
  return true;
}

bool CudaRun::Give(Memory* memory) {
  if (memory->address == 0) return true;
  const Memory given = std::exchange(*memory, {});
  Discharge(given.bytes);
  return Check(driver_.cuMemFree(given.address), "freeing memory");
}

bool CudaRun::ToDevice(Array* a, bool written, DeviceAddress* address) {
  Buffer& b = Of(a);
  const auto bytes = static_cast<size_t>(a->bytes);
  if (b.memory.address == 0 && !Take(a->bytes, &b.memory)) return false;
  if (!b.on_device && bytes > 0) {
    if (!Settle()) return false;
    if (b.on_host &&
        !Check(driver_.cuMemcpyHtoD(b.memory.address, a->data, bytes), "copying to the device")) {
      return false;
    }
    if (!b.on_host && b.zeroed &&
        !Check(driver_.cuMemsetD8(b.memory.address, 0, bytes), "clearing memory")) {
      return false;
    }
  }
  b.on_device = true;
  if (written) b.on_host = false;
  *address = b.memory.address;
  return true;
}

bool CudaRun::Read(Array* a) {
  Buffer& b = Of(a);
  const auto bytes = static_cast<size_t>(a->bytes);
  if (b.on_host) return true;
  if (!Settle()) return false;
  if (b.on_device && bytes > 0 &&
      !Check(driver_.cuMemcpyDtoH(a->data, b.memory.address, bytes), "copying back")) {
    return false;
  }
  if (!b.on_device && b.zeroed) std::memset(a->data, 0, bytes);
  b.on_host = true;
  return true;
}

bool CudaRun::Write(Array* a) {
  if (!Read(a)) return false;
  Of(a).on_device = false;
  return true;
}

bool CudaRun::Fresh(Array* a, bool zeroed) {
  Buffer& b = Of(a);
  b.on_host = b.on_device = false;
  b.zeroed = zeroed;
  return true;
}

bool CudaRun::Copy(const Array* from, Array* to) {
  auto* source = const_cast<Array*>(from);
  if (!Of(source).on_device) {
    if (!Read(source)) return false;
    std::memcpy(to->data, from->data, static_cast<size_t>(from->bytes));
    return true;
  }
  Fresh(to, false);
  Buffer& b = Of(to);
  if (!Take(to->bytes, &b.memory)) return false;
  b.on_device = true;
  return to->bytes == 0 || Check(driver_.cuMemcpyDtoD(b.memory.address, Of(source).memory.address,
                                                      static_cast<size_t>(to->bytes)),
                                 "copying on the device");
}

void CudaRun::Free(Array* a) {
  const auto at = buffers_.find(a);
  if (at == buffers_.end()) return;
  if (at->second.memory.address != 0) {
    Settle();
    Give(&at->second.memory);
  }
  buffers_.erase(at);
  a->device = nullptr;
}

// Nothing may follow kernels that were stopped: what they would read was not written.
bool CudaRun::Settle() {
  constexpr int kSpins = 1000;
  for (int turn = 0; running_; ++turn) {
    const Result result = driver_.cuStreamQuery(nullptr);
    if (result != kNotReady) {
      running_ = false;
      if (!Check(result, "a kernel")) return false;
    } else if (MustStop() && !stopped_) {
      stopped_ = true;
      if (!TellStop()) return false;
    } else if (turn > kSpins) {
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  }
  return !stopped_;
}

bool CudaRun::TellStop() {
  static constexpr int32_t kStop = 1;
  return Check(driver_.cuStreamCreate(&beside_, kNonBlocking), "making a stream") &&
         Check(driver_.cuMemcpyHtoDAsync(failed_.address + kStopOffset, &kStop, sizeof kStop,
                                         beside_),
               "copying to the device");
}

bool CudaRun::PrepareWord() {
  return failed_.address != 0 ||
         (Take(8, &failed_) && Check(driver_.cuMemsetD8(failed_.address, 0, 8), "clearing memory"));
}

bool CudaRun::TakeFailed(bool* failed) {
  int32_t word = 0;
  if (!Settle()) return false;
  if (!Check(driver_.cuMemcpyDtoH(&word, failed_.address, sizeof word), "a kernel")) return false;
  *failed = word != 0;
  return word == 0 || Check(driver_.cuMemsetD8(failed_.address, 0, sizeof word), "clearing memory");
}

bool CudaRun::Collect(const DeviceKernel& about, const uint64_t* slots, Params& params) {
  using Param = DeviceKernel::Param;
  params.values.push_back(failed_.address);
  for (size_t i = 0; i < about.params.size(); ++i) {
    const Param kind = about.params[i];
    DeviceAddress value = slots[i];
    if (kind == Param::kRead || kind == Param::kWrite) {
      auto* array = reinterpret_cast<Array*>(slots[i]);
      if (!ToDevice(array, kind == Param::kWrite, &value)) return false;
    } else if (kind == Param::kLanes) {
      auto* host = reinterpret_cast<void*>(slots[i]);
      Memory lanes;
      if (!Take(kLaneBytes, &lanes)) return false;
      value = lanes.address;
      params.lanes.emplace_back(host, lanes);
      if (!Check(driver_.cuMemcpyHtoD(value, host, kLaneBytes), "copying to the device"))
        return false;
    }
    params.values.push_back(value);
  }
  return true;
}

bool CudaRun::Start(uint32_t kernel, int64_t threads, Params& params) {
  const DeviceKernel& about = kernels_->kernels()[kernel];
  const unsigned block = about.block;
  const int64_t blocks = std::min((threads + block - 1) / block, kMostBlocks);
  std::vector<void*> addresses;
  for (uint64_t& value : params.values) addresses.push_back(&value);
  addresses.push_back(nullptr);  // a driver knows how many there are; one of tests need not
  ++launches_;
  running_ = true;
  return Check(
      driver_.cuLaunchKernel(loaded_.functions[kernel], static_cast<unsigned>(blocks), 1, 1, block,
                             1, 1, about.shared_bytes, nullptr, addresses.data(), nullptr),
      "launching a kernel");
}

int32_t CudaRun::Finish(bool good, bool failed, Params& params) {
  if (!params.lanes.empty() && !failed) good = Settle() && good;
  for (auto& [host, lanes] : params.lanes) {
    if (good && !failed) {
      good = Check(driver_.cuMemcpyDtoH(host, lanes.address, kLaneBytes), "a kernel");
    }
    good = Give(&lanes) && good;
  }
  return !good ? -1 : failed ? 1 : 0;
}

int32_t CudaRun::Launch(uint32_t kernel, int64_t threads, const uint64_t* slots) {
  if (threads <= 0) return 0;
  const DeviceKernel& about = kernels_->kernels()[kernel];
  if (about.ordered.buckets > 0) return LaunchOrdered(kernel, threads, slots);
  Params params;
  bool failed = false;
  const bool good = PrepareWord() && Collect(about, slots, params) &&
                    Start(kernel, threads, params) && (!about.checks || TakeFailed(&failed));
  return Finish(good, failed, params);
}

}  // namespace pullback::jit::cuda
