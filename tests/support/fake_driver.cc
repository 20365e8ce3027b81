#include "tests/support/fake_driver.h"

#include <elf.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "jit/llvm/device_compiler.h"
#include "tests/support/fake_blocks.h"
#include "tests/support/fake_cublas.h"

namespace pullback::jit::cuda {

// What the handles of the driver stand for.
struct FunctionTag {
  ModuleTag* module;
  uint64_t kernel;
};
struct ModuleTag {
  std::unique_ptr<LoadedCode> code;
  std::vector<std::unique_ptr<FunctionTag>> functions;
};
struct ContextTag {
  bool broken = false;
  // What goes with it.
  std::map<void*, size_t> memory;
  std::map<ModuleTag*, std::unique_ptr<ModuleTag>> modules;
};

}  // namespace pullback::jit::cuda

namespace pullback::testing {
namespace {

using namespace jit::cuda;  // NOLINT

ContextTag* current = nullptr;

Result Call() { return TheFakeDriver().Call(); }

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
void Forget(Context context, void* data) {
  FakeDriver& d = TheFakeDriver();
  d.bytes -= static_cast<int64_t>(context->memory.at(data));
  context->memory.erase(data);
  std::free(data);
  --d.live_allocations;
}
Result DestroyContext(Context context) {
  if (current == context) current = nullptr;
  while (!context->memory.empty()) Forget(context, context->memory.begin()->first);
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
  auto loaded = std::make_unique<ModuleTag>(ModuleTag{std::move(*code), {}});
  *module = loaded.get();
  current->modules[*module] = std::move(loaded);
  return kSuccess;
}
Result UnloadModule(Module module) {
  current->modules.erase(module);
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
  current->memory.emplace(data, bytes);
  FakeDriver& d = TheFakeDriver();
  ++d.live_allocations;
  d.bytes += static_cast<int64_t>(bytes);
  d.most_bytes = std::max(d.most_bytes, d.bytes);
  return kSuccess;
}
Result Free(DeviceAddress address) {
  Wait();
  void* data = reinterpret_cast<void*>(address);
  if (current->memory.count(data) == 0) return 1;
  Forget(current, data);
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

void Run(FunctionTag* f, unsigned grid, unsigned block, unsigned shared_bytes, void** params) {
  const bool backwards = TheFakeDriver().backwards;
  RunBlocks({f->module->code->entry(), f->kernel}, {grid, block, shared_bytes}, backwards, params);
}

Result Launch(Function f, unsigned grid, unsigned, unsigned, unsigned block, unsigned, unsigned,
              unsigned shared_bytes, Stream, void** params, void**) {
  FakeDriver& d = TheFakeDriver();
  if (const Result r = Call(); r != kSuccess) return r;
  ++d.launches;
  d.tiled += shared_bytes > 0 ? 1 : 0;
  Wait();
  if (!d.asynchronous) {
    Run(f, grid, block, shared_bytes, params);
    return kSuccess;
  }
  busy = true;
  // A copy of the values, as a driver makes one.
  std::vector<uint64_t> values;
  for (void** p = params; *p != nullptr; ++p) values.push_back(*static_cast<uint64_t*>(*p));
  running = std::thread([=]() mutable {
    std::vector<void*> addresses;
    for (uint64_t& v : values) addresses.push_back(&v);
    Run(f, grid, block, shared_bytes, addresses.data());
    busy = false;
  });
  return kSuccess;
}
Result ErrorString(Result, const char** text) {
  *text = "a fault of the tests";
  return kSuccess;
}

}  // namespace

Result FakeDriver::Call() {
  const int64_t number = calls++;
  if (number == fail_at) {
    if (current != nullptr && fail_with != kOutOfMemory) current->broken = true;
    return fail_with;
  }
  return current != nullptr && current->broken ? fail_with : kSuccess;
}

void FakeDriver::Settle() { Wait(); }

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
  return jit::MakeCudaBackend(DeviceCompilerForTests(),
                              {driver, jit::kHostArch, limits, LoadFakeCublas});
}

}  // namespace pullback::testing
