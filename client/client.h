// The C++ client of a Pullback server: plain structs in, plain structs out, no protobuf in sight (unless a program is
// to be sent as messages).
//
// A Client is thread-safe and cheap to share; every call blocks its thread until the answer, an error or
// the timeout. Errors are Status as the server means them: code, reason (ErrorInfo) and diagnostics with
// their places in the program. The library sends again on its own in two cases only: a program whose
// kernel the server has dropped, and one whose error has places of another text with the same kernel.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/base/tensor.h"

namespace pullback::v1 {
class ProgramTables;  // pullback/v1/program_tables.pb.h
}

namespace pullback::client {

enum class Transform : uint8_t {
  kValue = 1,
  kValueAndGrad = 2,
  kVjp = 3,
  kJvp = 4,
  kHvp = 5,
  kJacobian = 6,
  kHessian = 7
};

// Who makes the machine code; all give the same bits. kAuto: tier 0 first, LLVM where it is worth it.
enum class Tier { kAuto = 0, kBaseline = 1, kLlvm = 2 };

// Where the partials of a scalar function that is applied to every element of arrays are evaluated: by cost, in
// the forward pass, in the reverse pass. All give the same bits.
enum class Mixed { kAuto = 0, kCached = 1, kRecomputed = 2 };
// Where the code runs. kCuda: a CUDA device, or FAILED_PRECONDITION, NO_DEVICE. kAuto: a device where there is
// one and something of the program can run on it, else the CPU.
enum class Target { kCpu = 1, kCuda = 2, kAuto = 3 };

// Who computes dense contractions: loops, in one order of sums everywhere, or a BLAS library in its own
// (FAILED_PRECONDITION, NO_BLAS, where the CPU has none).
enum class Contractions { kExact = 1, kBlas = 2 };

// What to compile. Equal specs share one kernel.
struct KernelSpec {
  std::string program;  // text
  // The program as messages instead, where this is set; it must not change meanwhile. Places in errors are then those
  // of its canonical text, and say so.
  std::shared_ptr<const v1::ProgramTables> tables;
  std::string entry;
  Transform transform = Transform::kValue;
  std::vector<std::string> wrt;  // empty: every parameter that holds floats
  bool optimise = true;
  int opt_level = -1;  // -1: the server's
  Tier tier = Tier::kAuto;
  Mixed mixed = Mixed::kAuto;
  Target target = Target::kCpu;
  Contractions contractions = Contractions::kExact;
  // JACOBIAN, HESSIAN: blocks as lists of elements; SparseFromTuple (core/base/sparse.h) reads them.
  bool sparse = false;
};

struct Parameter {
  std::string name;
  ApiType type;
};

struct Signature {
  std::string entry;
  std::vector<Parameter> parameters;
  ApiType result;
  std::vector<std::string> wrt;  // in the order of derivatives
  ApiStructs structs;            // that lists in these types name
};

struct StageTime {
  std::string stage;
  double seconds = 0;
};

struct Timings {
  double queue_seconds = 0;
  double total_seconds = 0;
  double execute_seconds = 0;
  std::vector<StageTime> stages;
};

struct Compiled {
  std::string kernel_id;
  // Which calls by kernel_id carry for balancers: hex SHA-256 of the text; of messages, of their canonical text.
  std::string program_hash;
  Signature signature;
  std::vector<Diagnostic> diagnostics;
  bool cache_hit = false;
  Timings timings;
};

// An empty name: by position.
struct NamedValue {
  std::string name;
  ApiValue value;
};
NamedValue Arg(std::string name, Tensor tensor);
NamedValue Arg(std::string name, ApiValue value);

struct Inputs {
  std::vector<NamedValue> arguments;  // all with names, or none
  std::vector<NamedValue> seeds;  // VJP: the cotangent of the result; JVP, HVP: a tangent per wrt
  int64_t memory_bytes = 0;       // 0: the server's
  int32_t max_depth = 0;          // 0: the server's
};

struct Evaluation {
  ApiValue value;
  std::vector<NamedValue> derivatives;
  std::string kernel_id;
  bool cache_hit = false;
  Timings timings;
  int64_t peak_bytes = 0;
  Tier tier = Tier::kAuto;       // that answered; kAuto: the server does not say
  Target target = Target::kCpu;  // that answered
  int64_t contractions = 0;      // that a library computed
  std::string contracted_by;     // which one, with its version; empty: none
};

struct StageText {
  std::string stage;
  std::string text;
};

struct ServerInfo {
  std::string version;
  std::string build_id;
  std::string backend, target, backend_version;
  int64_t max_message_bytes = 0, max_source_bytes = 0, memory_bytes = 0, queue = 0;
  int32_t max_nesting = 0, max_depth = 0, threads = 0, compile_threads = 0;
  double default_deadline_seconds = 0, max_deadline_seconds = 0;
  int64_t running = 0, queued = 0;
  int64_t kernels = 0, cache_bytes = 0, cache_hits = 0, cache_misses = 0, cache_evictions = 0;
  int64_t tier_switches = 0, failed_tier_switches = 0;
  int64_t disk_entries = 0, disk_bytes = 0, disk_hits = 0, disk_misses = 0, disk_damaged = 0,
          disk_evictions = 0, disk_failed_writes = 0;
  double uptime_seconds = 0;
};

// Ends a call from another thread: it comes back as CANCELLED and the server stops working on it. For
// one call at a time; once cancelled, it cancels whatever it is given to.
class CancelToken {
 public:
  void Cancel();

 private:
  friend class ScopedCancel;
  std::mutex mutex_;
  bool cancelled_ = false;
  void* call_ = nullptr;  // the gRPC context of the call that runs
};

struct CallOptions {
  std::optional<std::chrono::milliseconds> timeout;  // none: the server's default
  std::string request_id;                            // empty: the server makes one
  CancelToken* cancel = nullptr;                     // not used by streams
  // x-pullback-program-hash of a stream, for balancers: Compiled::program_hash of what it will mostly
  // ask for. Other calls know theirs.
  std::string program_hash;
};

// How a server is spoken to. Files are PEM, and read when connecting.
struct Security {
  bool tls = false;                 // implied by each of these files
  std::string ca_file;              // whom to trust; empty: the system's authorities
  std::string cert_file, key_file;  // for a server that wants its clients' certificates
  // Sent with every call. Without TLS whoever is in between can read it.
  std::string token;
  std::string
      token_file;  // its first line that is neither empty nor a # comment, where token is empty
};

struct ConnectOptions {
  Security security;
  // How long Connect waits for the server; 0: it returns at once, and the first call connects.
  std::chrono::milliseconds wait{5000};
  int64_t max_message_bytes = int64_t{1} << 30;  // of an answer
  bool own_connection = false;  // do not share the connection of other clients of this process
};

class EvaluateStream;

class Client {
 public:
  // target: "host:port" or any gRPC name. UNAVAILABLE when nobody answers in time (a failed
  // TLS handshake, too); INVALID_ARGUMENT, SECURITY_FILE, for files that cannot be read.
  static StatusOr<std::unique_ptr<Client>> Connect(const std::string& target,
                                                   const ConnectOptions& options = {});
  ~Client();

  StatusOr<Compiled> Compile(const KernelSpec& spec, const CallOptions& call = {});

  // Compiles where needed and runs. The client remembers kernel ids, so the text travels once; again
  // where the run ended with an error at a place, and the kernel came from another text (same code, other
  // layout or names): the error then speaks of this one.
  StatusOr<Evaluation> Evaluate(const KernelSpec& spec, const Inputs& inputs,
                                const CallOptions& call = {});
  // Runs what Compile gave. FAILED_PRECONDITION, KERNEL_NOT_RESIDENT when the server dropped it. Errors
  // name places of the first text that made the kernel, which may be another.
  StatusOr<Evaluation> Evaluate(const Compiled& kernel, const Inputs& inputs,
                                const CallOptions& call = {});

  // Stages as text: ast ssa adjoint normal loops llvm asm cost; none given: all.
  StatusOr<std::vector<StageText>> Explain(const KernelSpec& spec,
                                           const std::vector<std::string>& stages = {},
                                           const CallOptions& call = {});
  StatusOr<ServerInfo> Info(const CallOptions& call = {});

  // Must end before the client does.
  std::unique_ptr<EvaluateStream> OpenStream(const CallOptions& call = {});

 private:
  struct Impl;
  explicit Client(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Many evaluations over one stream, answered in any order. One thread may send while another receives.
class EvaluateStream {
 public:
  struct Answer {
    uint64_t id = 0;
    StatusOr<Evaluation> result;
  };
  // Cancels what is still running.
  ~EvaluateStream();

  // False when the stream has ended: Finish tells why. timeout: of this item.
  bool Send(uint64_t id, const KernelSpec& spec, const Inputs& inputs,
            std::optional<std::chrono::milliseconds> timeout = {});
  bool Send(uint64_t id, const Compiled& kernel, const Inputs& inputs,
            std::optional<std::chrono::milliseconds> timeout = {});
  // No more items; answers still come.
  void CloseSend();
  // The next answer; none at the end of the stream.
  std::optional<Answer> Receive();
  // How the stream ended; after Receive gave none.
  Status Finish();

 private:
  friend class Client;
  struct Impl;
  explicit EvaluateStream(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace pullback::client
