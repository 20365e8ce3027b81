// What a device back end needs of a compiler, and what the compiler gives it. The compiler is jit/llvm's, the
// device's driver jit/cuda's: neither sees the other.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "jit/backend.h"

namespace pullback::jit {

// Terms joined in the order of the loops (core/loops/offload.h) are four kernels, one after the other, all with
// the parameters of the first and then those of OrderedParam:
//   count   a thread for each segment: counts its terms by bucket, and stores nothing else
//   place   a thread for each bucket: counts become the segments' places in it, and totals
//   make    a thread for each segment: files the terms under their places
//   join    threads that own elements: each walks a bucket's terms
struct OrderedKernels {
  uint32_t buckets = 0;
  uint32_t joiners = 0;  // threads of the last
};
inline constexpr uint32_t kOrderedSteps = 4;
// Of the points of the loops that are cut into segments those in [begin, end); counts[segment][bucket];
// starts[bucket], its end the next bucket's: of `place` the totals; elements and terms of the filed.
enum class OrderedParam : uint8_t { kBegin, kEnd, kSegments, kCounts, kStarts, kElements, kTerms };
inline constexpr size_t kOrderedParams = 7;

// So many bytes behind that word is another: where it is set threads leave early, and nothing that kernels have written
// may be used.
inline constexpr size_t kStopOffset = 4;

struct DeviceKernel {
  // In the order of parameters and of pb_launch's slots. Every parameter is 8 bytes: the bits of a scalar, or
  // the address on the device of an array's elements or of lanes.
  enum class Param : uint8_t { kScalar, kRead, kWrite, kLanes };
  std::string name;
  std::string about;          // for people: what becomes of which loops
  uint32_t block = 256;       // threads
  uint32_t shared_bytes = 0;  // of a block; where it is not 0, its threads meet at barriers
  // May set the first word that its first parameter points at: a check has failed.
  bool checks = false;
  std::vector<Param> params;  // after that word
  OrderedKernels ordered;     // of the first of the four
};

// Where the image of the kernels is to run: "sm_75" … "sm_90a", or this host, for tests: an object whose
// entry, of type KernelEntry, runs one thread: args are the kernel's number, blockIdx, threadIdx, blockDim,
// gridDim, the address of the block's shared memory, a HostBarrier, then the address of the array of its
// parameters' addresses.
using HostBarrier =
    int32_t (*)(int32_t value);  // comes back when all threads of the block have come, with any's
inline constexpr const char* kHostArch = "host";

struct DeviceCode {
  ObjectCode host;    // launches the kernels by their numbers
  std::string image;  // PTX, or an object
  std::vector<DeviceKernel> kernels;
  std::vector<std::string> refusals;  // loops that stay on the host, and why
  uint32_t refused_at = 0;            // the first place of one, an ordinal; 0: none is known
};

class DeviceCompiler {
 public:
  virtual ~DeviceCompiler() = default;
  virtual std::string version()
      const = 0;  // of emitted code and of the device's math: part of the key
  virtual std::string target() const = 0;  // the host's
  // INVALID_ARGUMENT, UNKNOWN_ARCH; UNIMPLEMENTED, NOT_ON_DEVICE, naming an op that the device's math lacks.
  virtual StatusOr<DeviceCode> Compile(const loops::Module& module, const BackendOptions& options,
                                       const std::string& arch) = 0;
  virtual StatusOr<std::unique_ptr<LoadedCode>> LoadHost(const ObjectCode& object) = 0;
};

}  // namespace pullback::jit
