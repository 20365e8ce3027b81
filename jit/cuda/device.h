// A device and the context on it. A context in which something went wrong is never used again: the next run
// gets a new one, and with it its modules anew. Thread-safe.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "jit/cuda/cublas.h"
#include "jit/cuda/driver.h"

namespace pullback::jit::cuda {

class Device {
 public:
  // The first device that the driver has. FAILED_PRECONDITION, NO_DEVICE.
  static StatusOr<std::shared_ptr<Device>> Open(const Driver& driver,
                                                const CublasLoader& load_cublas);
  Device(const Driver& driver, const CublasLoader& load_cublas, DeviceNumber number,
         std::string name, std::string arch)
      : driver_(driver),
        load_cublas_(load_cublas),
        number_(number),
        name_(std::move(name)),
        arch_(std::move(arch)) {}

  const Driver& driver() const { return driver_; }
  const std::string& name() const { return name_; }  // of the model
  const std::string& arch() const { return arch_; }  // "sm_80": what to compile for
  const Cublas* cublas();  // loaded when first asked for; nullptr: it is not here
  // That with its version and the device, both of which its sums depend on.
  std::string blas();
  // What a result says. RESOURCE_EXHAUSTED, DEVICE_MEMORY; INTERNAL, DEVICE_FAULT.
  Status Explain(Result result, const std::string& doing) const;
  Status ExplainBlas(BlasResult result) const;

  // A context; the last who holds it destroys it.
  class Life {
   public:
    Life(const Driver& driver, Context context) : driver_(driver), context_(context) {}
    Life(const Life&) = delete;
    Life& operator=(const Life&) = delete;
    ~Life();
    Context context() const { return context_; }
    // The handle of the library in this context, which this thread has taken up; made when first asked for.
    BlasResult Blas(const Cublas& cublas, BlasHandle* handle);

   private:
    const Driver driver_;
    const Context context_;
    std::mutex mutex_;  // of what follows
    BlasHandle blas_ = nullptr;
    BlasResult (*destroy_)(BlasHandle) = nullptr;
  };
  // The one to use now, taken up by this thread.
  StatusOr<std::shared_ptr<Life>> Current();
  // `life` has failed: nobody gets it any more.
  void Abandon(const std::shared_ptr<Life>& life);

 private:
  const Driver driver_;
  const CublasLoader load_cublas_;
  std::once_flag once_;
  std::optional<Cublas> cublas_;
  const DeviceNumber number_;
  const std::string name_, arch_;
  std::mutex mutex_;
  std::shared_ptr<Life> current_;
};

}  // namespace pullback::jit::cuda
