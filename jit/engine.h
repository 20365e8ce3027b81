// The engine: programs in, kernels out of a cache, kernels run. Thread-safe. It knows nothing of
// protobuf; nothing above it knows what a block is.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/base/tensor_view.h"
#include "core/lang/lang.h"
#include "core/pipeline/pipeline.h"
#include "jit/backend.h"
#include "jit/runtime/blas.h"

namespace pullback::jit {

using pipeline::Transform;

class DiskCache;  // jit/disk_cache.h

struct EngineOptions {
  size_t cache_bytes = size_t{256} << 20;  // live code, LRU
  size_t alias_bytes = size_t{64} << 20;   // texts seen, LRU
  lang::Limits limits;
  int opt_level = 2;
  // Code that outlives the engine, under the kernels' ids: what LLVM has made, or a forced tier 0,
  // and the kernels of devices.
  std::shared_ptr<DiskCache> disk;
  std::shared_ptr<DeviceBackend> device;  // may be none, and need not have a device
  std::string blas = kBlasLibrary;        // loaded when it is first asked for
  // Called, on any thread, when LLVM refuses what tier 0 has compiled: that kernel stays in tier 0.
  std::function<void(const Status&)> on_failed_promotion;
};

// Who makes the code. All tiers give the same bits.
enum class Tier : uint8_t {
  kAuto,      // tier 0 at first, LLVM in the background where it is worth it
  kBaseline,  // tier 0, for good
  kLlvm,      // LLVM from the start
};

// Where the code runs. Devices compute with math functions of their own: the bits of sin, exp and the like
// may differ from the CPU's in their last places. Everything else is the same, bit for bit.
enum class Target : uint8_t {
  kCpu = 1,
  kCuda = 2,  // a CUDA device, or an error: never anything else
  kAuto =
      3,  // a CUDA device where there is one and something of the program can run on it, else the CPU
};

// Who computes dense contractions (core/loops/contract.h): sums of products of two elements.
enum class Contractions : uint8_t {
  kExact,  // loops, in the order of sums that every tier and target keeps
  kBlas,  // a library where it is worth it, in its own order: OpenBLAS, on a device cuBLAS where there is one
};

struct CompileOptions {
  bool optimise = true;
  int opt_level = -1;       // of LLVM: 0 or 2; -1: the engine's
  Tier tier = Tier::kAuto;  // on the CPU
  Target target = Target::kCpu;
  ad::Mixed mixed = ad::Mixed::kAuto;
  Contractions contractions = Contractions::kExact;
};

struct KernelRequest {
  std::string program;  // text
  std::string entry;
  Transform transform = Transform::kValue;
  std::vector<std::string> wrt;  // names of parameters; empty: every one that has a float leaf
  CompileOptions options;
  bool sparse = false;   // of a jacobian or hessian: blocks as lists of elements (Outputs)
  bool written = false;  // the text was written from messages: who sent those has not seen it
};

struct Timing {
  std::string stage;  // parse, check, lower, derive, loops, codegen, link, execute, …
  double seconds;
};

class SizePlan;
class ListTypes;

// How one text maps to a kernel: names and places of that text. Never changes once made.
struct TextView {
  lang::Signature signature;
  std::vector<std::string> wrt;           // parameters differentiated, in order
  std::vector<lang::Place> places;        // by trap ordinal
  std::string text;                       // for excerpts
  std::shared_ptr<const SizePlan> sizes;  // solves and checks the entry's sizes without the program
  std::shared_ptr<const ListTypes> lists;  // of the signature
  bool written = false;                    // KernelRequest::written
  bool relations = false;                  // whether a parameter is or holds a relation
  bool tensors = false;                    // whether every parameter, and the result, is a tensor
};

class Kernel;  // live code under its key

// What Compile gives: shared by everybody who runs it; keeps its code alive.
struct Handle {
  std::string kernel_id;  // hex SHA-256
  std::shared_ptr<const Kernel> kernel;
  std::shared_ptr<const TextView> view;
  bool cache_hit = false;
  std::vector<Timing> timings;  // of this call: empty stages when hit
};
using HandlePtr = std::shared_ptr<const Handle>;

struct RunLimits {
  std::optional<std::chrono::steady_clock::time_point> deadline;
  // Set from any thread to stop the run (CANCELLED).
  std::shared_ptr<std::atomic<bool>> cancelled;
  int64_t memory_bytes = int64_t{1} << 30;
  int32_t max_depth = 100000;
};

struct Inputs {
  std::vector<ApiValue> args;   // by parameter
  std::vector<ApiValue> seeds;  // vjp: one per result (one value shaped like the result);
                                // jvp, hvp: one per wrt parameter; else empty
};

// The same where all of them are tensors; they are read where they lie.
struct TensorInputs {
  std::span<const TensorView> args;
  std::span<const TensorView> seeds;
};

// Where results go that are tensors: number 0 is the value, the derivatives follow.
class TensorSink {
 public:
  virtual ~TensorSink() = default;
  // An empty string, to which the elements are appended. A run that is begun again asks again for the same.
  virtual std::string* Begin(size_t number, DType dtype, std::span<const int64_t> shape) = 0;
};

// Of a run that came to its end.
struct RunReport {
  double execute_seconds = 0;
  int64_t peak_bytes = 0;
  Tier tier = Tier::kAuto;       // that answered: never kAuto
  Target target = Target::kCpu;  // that answered: kCpu or kCuda
  int64_t launches = 0;          // of kernels on the device
  int64_t contractions = 0;      // that a library has computed
  std::string contracted_by;     // which one: "OpenBLAS 0.3.21 Haswell"; empty: none
};

// A derivative of a tuple keeps the tuple's shape; its non-float leaves are empty tuples.
struct Outputs : RunReport {
  ApiValue value;
  // Gradients by wrt (value_and_grad, vjp), or one tangent of the result (jvp). hvp: by wrt, the
  // Hessian's product. jacobian: by wrt, the result's structure, and in place of each of its floats the
  // parameter's, with the axes of both. hessian: by wrt a tuple, by wrt, of such blocks. A sparse block is a
  // tuple (core/base/sparse.h).
  std::vector<ApiValue> derivatives;
};

// Look-ups of kernels: hits (alias_hits of them by the raw text) and misses. Kernels whose code LLVM's has
// replaced, and those where it could not.
struct EngineStats {
  int64_t kernels = 0, cache_bytes = 0, hits = 0, misses = 0, alias_hits = 0, evictions = 0;
  int64_t promotions = 0, failed_promotions = 0;
};

class Engine {
 public:
  // Without tier 0, kAuto is LLVM.
  Engine(EngineOptions options, std::shared_ptr<Backend> llvm,
         std::shared_ptr<Backend> baseline = nullptr);
  ~Engine();

  // Finds or makes the kernel; one compile per key however many wait (single flight). Errors as
  // lang.h and pipeline.h, and INVALID_ARGUMENT: UNKNOWN_ARGUMENT, DUPLICATE_ARGUMENT (of wrt),
  // NOT_DIFFERENTIABLE (a wrt without a float leaf), INVALID_OPTION (sparse of another transform, too).
  // FAILED_PRECONDITION: NO_TIER for tier 0 where there is none, NO_DEVICE for a device, NO_BLAS for
  // Contractions::kBlas on the CPU; UNIMPLEMENTED,
  // NOT_ON_DEVICE, for a program of which nothing can run on the device that it asks for. A failed compile is not cached.
  // `deadline`/`cancelled` of limits are looked at in and between passes and while waiting. The order of wrt
  // is part of the key, so that a kernel's id says by position what goes in and what comes out.
  StatusOr<Handle> Compile(const KernelRequest& request, const RunLimits& limits = {});

  // FAILED_PRECONDITION, reason KERNEL_NOT_RESIDENT, when it has been evicted or never was. The view
  // is the first text's that made the kernel (its names are the answer's names).
  StatusOr<HandlePtr> Find(const std::string& kernel_id);

  // INVALID_ARGUMENT: TYPE_MISMATCH, SIZE_MISMATCH, MISSING_ARGUMENT, UNKNOWN_ARGUMENT, INVALID_VALUE
  // (bytes that do not fit the shape, a bool that is neither 0 nor 1). Traps:
  // OUT_OF_RANGE INDEX_OUT_OF_RANGE; FAILED_PRECONDITION DIVISION_BY_ZERO, NEGATIVE_SIZE,
  // SIZE_MISMATCH (each with a diagnostic at its place); RESOURCE_EXHAUSTED MEMORY_BUDGET,
  // RECURSION_LIMIT; DEADLINE_EXCEEDED; CANCELLED. Results with NaN hold the canonical NaN. The inputs
  // are read where they lie; what is copied out of the run is charged to its memory budget. A long run
  // may begin in one tier and, begun again, end in another.
  StatusOr<Outputs> Run(const Handle& handle, const Inputs& inputs, const RunLimits& limits = {});
  // The same without a value between: for kernels whose arguments and results are tensors, all of them.
  static bool RunsOnTensors(const Handle& handle);
  StatusOr<RunReport> Run(const Handle& handle, const TensorInputs& inputs, const RunLimits& limits,
                          TensorSink* sink);

  // One stage as text: ast ssa adjoint normal loops llvm asm ptx cost. ptx needs no device; ptx:sm_80 names
  // the architecture. cost: op counts of primal and
  // derivative by the interpreter where `inputs` are given, else static counts.
  // NOT_FOUND, UNKNOWN_STAGE.
  StatusOr<std::string> Explain(const KernelRequest& request, const std::string& stage,
                                const Inputs* inputs = nullptr, const RunLimits& limits = {});

  // Returns once nothing is compiled in the background.
  void DrainBackground();

  EngineStats stats() const;
  const Backend& backend() const;
  std::string build_id() const;  // versions that are part of every key

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace pullback::jit
