#include "tests/support/fake_driver.h"

#include <elf.h>
#include <ucontext.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "jit/llvm/device_compiler.h"

namespace pullback::jit::cuda {

// What the handles of the driver stand for.
struct ContextTag {
  bool broken = false;
  std::set<void*> memory;  // goes with it
};
struct FunctionTag {
  ModuleTag* module;
  uint64_t kernel;
};
struct ModuleTag {
  std::unique_ptr<LoadedCode> code;
  std::vector<std::unique_ptr<FunctionTag>> functions;
};

}  // namespace pullback::jit::cuda

namespace pullback::testing {
namespace {

using namespace jit::cuda;  // NOLINT

ContextTag* current = nullptr;

// Every call but the end of a context comes through here.
Result Call() {
  FakeDriver& d = TheFakeDriver();
  const int64_t number = d.calls++;
  if (number == d.fail_at) {
    if (current != nullptr && d.fail_with != kOutOfMemory) current->broken = true;
    return d.fail_with;
  }
  return current != nullptr && current->broken ? d.fail_with : kSuccess;
}

// A launch that has not ended; what has to come after it waits.
std::thread running;
std::atomic<bool> busy{false};
void Wait() {
  if (running.joinable()) running.join();
}

Result Init(unsigned) { return Call(); }
Result GetCount(int* count) {
  *count = TheFakeDriver().devices;
  return Call();
}
Result Get(DeviceNumber* device, int ordinal) {
  *device = ordinal;
  return Call();
}
Result GetName(char* name, int size, DeviceNumber) {
  std::strncpy(name, "a device of the tests", static_cast<size_t>(size));
  return Call();
}
Result GetAttribute(int* value, int attribute, DeviceNumber) {
  *value = attribute == kComputeCapabilityMajor ? 9 : 0;
  return Call();
}
Result CreateContext(Context* context, unsigned, DeviceNumber) {
  current = nullptr;
  if (const Result r = Call(); r != kSuccess) return r;
  *context = new ContextTag;
  ++TheFakeDriver().contexts;
  return kSuccess;
}
Result DestroyContext(Context context) {
  if (current == context) current = nullptr;
  for (void* data : context->memory) {
    std::free(data);
    --TheFakeDriver().live_allocations;
  }
  delete context;
  --TheFakeDriver().contexts;
  return kSuccess;
}
Result SetCurrent(Context context) {
  current = context;
  return context != nullptr && context->broken ? TheFakeDriver().fail_with : kSuccess;
}

// The end of a relocatable object is that of its table of sections.
size_t SizeOf(const void* image) {
  Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof header);
  return header.e_shoff + size_t{header.e_shnum} * header.e_shentsize;
}

Result LoadModule(Module* module, const void* image) {
  if (const Result r = Call(); r != kSuccess) return r;
  auto code = DeviceCompilerForTests()->LoadHost(
      {std::string(static_cast<const char*>(image), SizeOf(image)), "pb_kernel"});
  if (!code.ok()) return 218;
  *module = new ModuleTag{std::move(*code), {}};
  return kSuccess;
}
Result UnloadModule(Module module) {
  delete module;
  return Call();
}
Result GetFunction(Function* function, Module module, const char* name) {
  module->functions.push_back(
      std::make_unique<FunctionTag>(FunctionTag{module, std::strtoull(name + 1, nullptr, 10)}));
  *function = module->functions.back().get();
  return Call();
}

Result Allocate(DeviceAddress* address, size_t bytes) {
  if (const Result r = Call(); r != kSuccess) return r;
  void* data = std::malloc(bytes);
  std::memset(data, 0xCB, bytes);
  *address = reinterpret_cast<DeviceAddress>(data);
  current->memory.insert(data);
  ++TheFakeDriver().live_allocations;
  return kSuccess;
}
Result Free(DeviceAddress address) {
  Wait();
  void* data = reinterpret_cast<void*>(address);
  if (current->memory.erase(data) == 0) return 1;
  std::free(data);
  --TheFakeDriver().live_allocations;
  return Call();
}
Result CopyIn(DeviceAddress to, const void* from, size_t bytes) {
  Wait();
  ++TheFakeDriver().to_device;
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return Call();
}
Result CopyOut(void* to, DeviceAddress from, size_t bytes) {
  Wait();
  ++TheFakeDriver().to_host;
  std::memcpy(to, reinterpret_cast<void*>(from), bytes);
  return Call();
}
// On a stream beside the launches.
Result CopyBeside(DeviceAddress to, const void* from, size_t bytes, Stream) {
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return Call();
}
Result CreateStream(Stream* stream, unsigned) {
  static char a_stream;
  *stream = reinterpret_cast<Stream>(&a_stream);
  return Call();
}
Result DestroyStream(Stream) { return Call(); }
Result QueryStream(Stream) {
  if (busy) return kNotReady;
  Wait();
  return Call();
}
Result CopyThere(DeviceAddress to, DeviceAddress from, size_t bytes) {
  Wait();
  std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes);
  return Call();
}
Result Set(DeviceAddress to, unsigned char value, size_t bytes) {
  Wait();
  std::memset(reinterpret_cast<void*>(to), value, bytes);
  return Call();
}

// The threads of a block take turns at its barriers, each on a stack of its own.
class FibreBlock {
 public:
  static constexpr size_t kStack = 256 << 10;

  static int32_t Barrier(int32_t value) {
    FibreBlock& block = *running;
    block.any_ |= value;
    const size_t k = block.current_;
    swapcontext(&block.fibres_[k].context, &block.scheduler_);
    return block.result_;
  }

  // thread(k) for each thread of the block; `backwards`: the last first, between any two barriers.
  void Run(size_t threads, bool backwards, const std::function<void(size_t)>& thread) {
    running = this;
    thread_ = &thread;
    while (fibres_.size() < threads) fibres_.emplace_back();
    for (size_t k = 0; k < threads; ++k) Begin(k);
    for (size_t left = threads; left > 0;) {
      any_ = 0;
      size_t ended = 0;
      for (size_t i = 0; i < threads; ++i) {
        current_ = backwards ? threads - 1 - i : i;
        swapcontext(&scheduler_, &fibres_[current_].context);
        ended += fibres_[current_].ended ? 1 : 0;
      }
      // All of them come to a barrier, or none.
      if (ended != 0 && ended != threads) std::abort();
      left -= ended;
      result_ = any_;
    }
  }

 private:
  struct Fibre {
    ucontext_t context{};
    std::unique_ptr<char[]> stack = std::make_unique<char[]>(kStack);
    bool ended = false;
  };

  void Begin(size_t k) {
    Fibre& fibre = fibres_[k];
    fibre.ended = false;
    getcontext(&fibre.context);
    fibre.context.uc_stack.ss_sp = fibre.stack.get();
    fibre.context.uc_stack.ss_size = kStack;
    fibre.context.uc_link = &scheduler_;
    makecontext(&fibre.context, &FibreBlock::Enter, 0);
  }
  static void Enter() {
    FibreBlock& block = *running;
    const size_t k = block.current_;
    (*block.thread_)(k);
    block.fibres_[k].ended = true;
  }

  static FibreBlock* running;
  std::deque<Fibre> fibres_;
  ucontext_t scheduler_{};
  const std::function<void(size_t)>* thread_ = nullptr;
  size_t current_ = 0;
  int32_t any_ = 0, result_ = 0;
};
FibreBlock* FibreBlock::running = nullptr;

// The shared memory of a block holds nothing when it begins.
void RunBlocks(FunctionTag* f, unsigned grid, unsigned block, unsigned shared_bytes,
               void** params) {
  static FibreBlock fibres;
  const bool backwards = TheFakeDriver().backwards;
  std::vector<uint64_t> shared(shared_bytes / sizeof(uint64_t) + 1);
  for (uint64_t i = 0; i < grid; ++i) {
    const uint64_t b = backwards ? grid - 1 - i : i;
    std::fill(shared.begin(), shared.end(), 0xCBCBCBCBCBCBCBCB);
    const auto run = [&](uint64_t t) {
      const uint64_t args[] = {f->kernel,
                               b,
                               t,
                               block,
                               grid,
                               reinterpret_cast<uint64_t>(shared.data()),
                               reinterpret_cast<uint64_t>(&FibreBlock::Barrier),
                               reinterpret_cast<uint64_t>(params)};
      f->module->code->entry()(nullptr, args, nullptr);
    };
    if (shared_bytes > 0) {
      fibres.Run(block, backwards, run);
      continue;
    }
    for (uint64_t t = 0; t < block; ++t) run(backwards ? block - 1 - t : t);
  }
}

Result Launch(Function f, unsigned grid, unsigned, unsigned, unsigned block, unsigned, unsigned,
              unsigned shared_bytes, Stream, void** params, void**) {
  FakeDriver& d = TheFakeDriver();
  if (const Result r = Call(); r != kSuccess) return r;
  ++d.launches;
  d.tiled += shared_bytes > 0 ? 1 : 0;
  Wait();
  if (!d.asynchronous) {
    RunBlocks(f, grid, block, shared_bytes, params);
    return kSuccess;
  }
  busy = true;
  // A copy of the values, as a driver makes one.
  std::vector<uint64_t> values;
  for (void** p = params; *p != nullptr; ++p) values.push_back(*static_cast<uint64_t*>(*p));
  running = std::thread([=]() mutable {
    std::vector<void*> addresses;
    for (uint64_t& v : values) addresses.push_back(&v);
    RunBlocks(f, grid, block, shared_bytes, addresses.data());
    busy = false;
  });
  return kSuccess;
}
Result ErrorString(Result, const char** text) {
  *text = "a fault of the tests";
  return kSuccess;
}

}  // namespace

void FakeDriver::Reset() {
  Wait();
  *this = FakeDriver();
}

FakeDriver& TheFakeDriver() {
  static FakeDriver driver;
  return driver;
}

const std::shared_ptr<jit::DeviceCompiler>& DeviceCompilerForTests() {
  static const std::shared_ptr<jit::DeviceCompiler> compiler = jit::MakeDeviceCompiler().value();
  return compiler;
}

std::shared_ptr<jit::DeviceBackend> FakeCudaBackend(const jit::cuda::Limits& limits) {
  const Driver driver{Init,          GetCount,       Get,          GetName,       GetAttribute,
                      CreateContext, DestroyContext, SetCurrent,   LoadModule,    UnloadModule,
                      GetFunction,   Allocate,       Free,         CopyIn,        CopyOut,
                      CopyThere,     CopyBeside,     CreateStream, DestroyStream, QueryStream,
                      Set,           Launch,         ErrorString};
  return jit::MakeCudaBackend(DeviceCompilerForTests(), {driver, jit::kHostArch, limits});
}

}  // namespace pullback::testing
