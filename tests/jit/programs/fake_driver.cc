#include "tests/jit/programs/fake_driver.h"

#include <elf.h>

#include <cstdlib>
#include <cstring>
#include <set>
#include <string>

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
  void* data = reinterpret_cast<void*>(address);
  if (current->memory.erase(data) == 0) return 1;
  std::free(data);
  --TheFakeDriver().live_allocations;
  return Call();
}
Result CopyIn(DeviceAddress to, const void* from, size_t bytes) {
  ++TheFakeDriver().to_device;
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return Call();
}
Result CopyOut(void* to, DeviceAddress from, size_t bytes) {
  ++TheFakeDriver().to_host;
  std::memcpy(to, reinterpret_cast<void*>(from), bytes);
  return Call();
}
Result CopyThere(DeviceAddress to, DeviceAddress from, size_t bytes) {
  std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes);
  return Call();
}
Result Set(DeviceAddress to, unsigned char value, size_t bytes) {
  std::memset(reinterpret_cast<void*>(to), value, bytes);
  return Call();
}

Result Launch(Function f, unsigned grid, unsigned, unsigned, unsigned block, unsigned, unsigned,
              unsigned, Stream, void** params, void**) {
  FakeDriver& d = TheFakeDriver();
  if (const Result r = Call(); r != kSuccess) return r;
  ++d.launches;
  const uint64_t threads = uint64_t{grid} * block;
  for (uint64_t k = 0; k < threads; ++k) {
    const uint64_t t = d.backwards ? threads - 1 - k : k;
    const uint64_t args[] = {f->kernel, t / block, t % block,
                             block,     grid,      reinterpret_cast<uint64_t>(params)};
    f->module->code->entry()(nullptr, args, nullptr);
  }
  return kSuccess;
}
Result ErrorString(Result, const char** text) {
  *text = "a fault of the tests";
  return kSuccess;
}

}  // namespace

FakeDriver& TheFakeDriver() {
  static FakeDriver driver;
  return driver;
}

const std::shared_ptr<jit::DeviceCompiler>& DeviceCompilerForTests() {
  static const std::shared_ptr<jit::DeviceCompiler> compiler = jit::MakeDeviceCompiler().value();
  return compiler;
}

std::shared_ptr<jit::DeviceBackend> FakeCudaBackend(const jit::cuda::Limits& limits) {
  const Driver driver{
      Init,           GetCount,   Get,        GetName,      GetAttribute, CreateContext,
      DestroyContext, SetCurrent, LoadModule, UnloadModule, GetFunction,  Allocate,
      Free,           CopyIn,     CopyOut,    CopyThere,    Set,          Launch,
      ErrorString};
  return jit::MakeCudaBackend(DeviceCompilerForTests(), {driver, jit::kHostArch, limits});
}

}  // namespace pullback::testing
