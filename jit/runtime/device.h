// Arrays that live on a device during a run, as the runtime and generated code see it. Which device, and how
// it is reached, is the back end's (jit/cuda).
//
// An array keeps its block of host memory throughout. While Array::device is set, its elements may be newer on
// the device than there: whoever reads or writes them on the host says so first.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/status.h"
#include "jit/runtime/context.h"

namespace pullback::jit {

struct Contraction;  // jit/runtime/contract.h

// One run. Methods that give a bool give false when the device has failed, or the run was stopped: it must
// end, and its owner knows why.
//
// All memory there is charged to the run's budget, beside the host's: an array that has been on the device is
// charged twice. Where there is no room a method gives false, and the run ends for want of memory.
class DeviceRun {
 public:
  // Kernels end early once the run is to stop; what waits for them then gives false, with status() still good.
  explicit DeviceRun(RunContext* c) : context_(*c) {}
  virtual ~DeviceRun() = default;
  // Runs a kernel with at least so many threads. `slots`: one for each of its parameters: bits of scalars,
  // arrays, addresses of lanes (eight slots). 0: done; 1: a check failed; -1: the device has failed.
  virtual int32_t Launch(uint32_t kernel, int64_t threads, const uint64_t* slots) = 0;
  // A contraction by a library on the device. 1: done; 0: it is left to the loops; -1: the device has failed.
  virtual int32_t Contract(const Contraction& contraction) = 0;
  virtual std::string blas() const = 0;  // that library's name
  virtual bool Read(Array* a) = 0;       // the host's elements are good now
  virtual bool Write(Array* a) = 0;      // and are the only ones
  // A new array: no element is anywhere yet; `zeroed`: all are 0.
  virtual bool Fresh(Array* a, bool zeroed) = 0;
  virtual bool Copy(const Array* from, Array* to) = 0;
  virtual void Free(Array* a) = 0;
  virtual Status status() const = 0;  // what failed, if anything did
  virtual int64_t launches() const = 0;
  int64_t lacking() const { return lacking_; }  // bytes that the budget had no room for; 0: none

 protected:
  bool MustStop() const { return context_.stop.load(std::memory_order_relaxed) != 0; }
  bool Charge(int64_t bytes);  // false: there is no room
  void Discharge(int64_t bytes) { context_.bytes_used -= bytes; }
  int64_t Room() const { return context_.bytes_budget - context_.bytes_used; }

 private:
  RunContext& context_;
  int64_t lacking_ = 0;
};

extern "C" {
// As the methods; they end the run where the device has failed. pb_launch gives 0 or 1.
int32_t pb_launch(RunContext* c, int32_t kernel, int64_t threads, const uint64_t* slots);
void pb_device_read(RunContext* c, Array* a);
void pb_device_write(RunContext* c, Array* a);
void pb_device_fresh(RunContext* c, Array* a, int32_t zeroed);
}

[[noreturn]] void DeviceFailed(RunContext* c);
// Brings everything that the run holds back to the host; false when the device has failed.
bool BringHome(RunContext* c);

}  // namespace pullback::jit
