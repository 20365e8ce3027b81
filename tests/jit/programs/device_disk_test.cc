// Kernels of a device in files: an engine that starts again runs no NVPTX.
#include <catch2/catch.hpp>

#include "jit/stored_kernel.h"
#include "tests/jit/engine/cache_folder.h"
#include "tests/jit/programs/device_engine.h"

namespace pullback::jit {
namespace {

using testing::FakeCudaBackend;
using testing::TheFakeDriver;

constexpr const char* kDouble =
    "fn f(x: [n]f64, unread: f64) -> [n]f64 { return gen i < n { 2.0 * x[i] } }";
constexpr const char* kScalar = "fn f(x: [n]f64, unread: f64) -> f64 { return 2.0 * x[1] }";

// A back end that counts what it compiles, under a name of its own.
struct Counted : DeviceBackend {
  std::string name() const override { return inner->name(); }
  std::string target() const override { return target_name.value_or(inner->target()); }
  std::string version() const override { return version_name.value_or(inner->version()); }
  std::string blas() override { return inner->blas(); }
  Status available() override { return inner->available(); }
  StatusOr<ObjectCode> Compile(const loops::Module& m, const BackendOptions& o) override {
    ++compiles;
    return inner->Compile(m, o);
  }
  StatusOr<std::unique_ptr<LoadedCode>> Load(const ObjectCode& o) override {
    return inner->Load(o);
  }
  StatusOr<std::string> Dump(const loops::Module& m, const BackendOptions& o,
                             const std::string& stage) override {
    return inner->Dump(m, o, stage);
  }
  std::shared_ptr<DeviceBackend> inner = FakeCudaBackend();
  std::optional<std::string> target_name, version_name;
  int compiles = 0;
};

// A server's life: an engine with an empty memory, beside the folder.
struct Life {
  Life(const Folder& folder, std::shared_ptr<Counted> device) {
    TheFakeDriver().Reset();
    options.disk = OpenAt(folder);
    options.device = std::move(device);
    engine = std::make_unique<Engine>(options, Llvm());
  }
  StatusOr<Handle> Compile(const char* program = kDouble, Target target = Target::kCuda) {
    KernelRequest request = Ask(program);
    request.options.target = target;
    StatusOr<Handle> handle = engine->Compile(request);
    engine->DrainBackground();
    return handle;
  }
  Outputs Run(const Handle& handle) {
    return Ok(engine->Run(handle, {{Vector(Numbers(50)), Scalar(1)}, {}}));
  }
  EngineOptions options;
  std::unique_ptr<Engine> engine;
};

TEST_CASE("Target: an engine that starts again has the kernels of a device from the disk") {
  const Folder folder;
  const auto device = std::make_shared<Counted>();
  Life first(folder, device);
  const Handle made = Ok(first.Compile());
  const Outputs good = first.Run(made);
  CHECK(device->compiles == 1);
  Life second(folder, device);
  const Handle handle = Ok(second.Compile());
  CHECK(handle.kernel_id == made.kernel_id);
  const Outputs again = second.Run(handle);
  CHECK(device->compiles == 1);
  CHECK(second.options.disk->stats().hits == 1);
  CHECK(again.target == Target::kCuda);
  CHECK(again.launches == good.launches);
  CHECK(again.value.tensor.data == good.value.tensor.data);
  CHECK(TheFakeDriver().live_allocations == 0);
}

TEST_CASE("Target: what was chosen for a request of any target comes from the disk as well") {
  for (const auto& [program, target] :
       {std::pair(kDouble, Target::kCuda), std::pair(kScalar, Target::kCpu)}) {
    INFO(program);
    const Folder folder;
    const auto device = std::make_shared<Counted>();
    std::vector<std::vector<uint8_t>> values;
    for (const bool cold : {true, false}) {
      Life life(folder, device);
      const Outputs outputs = life.Run(Ok(life.Compile(program, Target::kAuto)));
      CHECK(outputs.target == target);
      CHECK(device->compiles == 1);
      CHECK(life.options.disk->stats().hits == (cold ? 0 : 1));
      values.push_back(outputs.value.tensor.data);
    }
    CHECK(values[0] == values[1]);
  }
}

TEST_CASE("Target: kernels of another architecture, or of other math, are not found") {
  const Folder folder;
  const auto device = std::make_shared<Counted>();
  CHECK(device->target().find(kHostArch) == 0);
  CHECK(device->version().find("math-") != std::string::npos);
  Ok(Life(folder, device).Compile());
  const auto other_arch = std::make_shared<Counted>();
  other_arch->target_name = "sm_99" + device->target().substr(std::string(kHostArch).size());
  const auto other_math = std::make_shared<Counted>();
  other_math->version_name = device->version() + "0";
  for (const auto& other : {other_arch, other_math}) {
    Life life(folder, other);
    Ok(life.Compile());
    CHECK(other->compiles == 1);
    CHECK(life.options.disk->stats().hits == 0);
  }
}

TEST_CASE("Target: every truncation and every flipped bit of a kernel's file is a miss") {
  const Folder folder;
  const auto device = std::make_shared<Counted>();
  const std::string id = Ok(Life(folder, device).Compile()).kernel_id;
  const fs::path path = folder.Files().at(0);
  const std::string key = ReadFile(folder.path() + "/mac.key"), file = ReadFile(path);
  REQUIRE(DiskCache::OpenEntry(key, id, file).has_value());
  for (size_t size = 0; size < file.size(); ++size) {
    REQUIRE_FALSE(DiskCache::OpenEntry(key, id, file.substr(0, size)).has_value());
  }
  std::string damaged = file;
  for (size_t bit = 0; bit < 8 * file.size(); ++bit) {
    damaged[bit / 8] ^= static_cast<char>(1 << bit % 8);
    REQUIRE_FALSE(DiskCache::OpenEntry(key, id, damaged).has_value());
    damaged[bit / 8] ^= static_cast<char>(1 << bit % 8);
  }
  // Through the engine: compiled anew, and put again.
  damaged[file.size() / 2] ^= 1;
  for (const std::string& bad : {damaged, file.substr(0, file.size() / 2), std::string()}) {
    WriteFile(path, bad);
    const int before = device->compiles;
    Life life(folder, device);
    CHECK(life.Run(Ok(life.Compile())).target == Target::kCuda);
    CHECK(device->compiles == before + 1);
    CHECK(life.options.disk->stats().damaged == 1);
  }
}

TEST_CASE("Target: kernels that are whole but no good are misses") {
  const Folder folder;
  const auto device = std::make_shared<Counted>();
  const std::string id = Ok(Life(folder, device).Compile()).kernel_id;
  const StoredKernel good = *ReadStoredKernel(*OpenAt(folder)->Get(id));
  CHECK(good.target == Target::kCuda);
  const auto rejected = [&](const StoredKernel& stored) {
    OpenAt(folder)->Put(id, Write(stored));
    const int before = device->compiles;
    Life life(folder, device);
    CHECK(life.Run(Ok(life.Compile())).target == Target::kCuda);
    return device->compiles == before + 1;
  };
  CHECK_FALSE(rejected(good));
  StoredKernel bad = good;
  bad.object.bytes.resize(bad.object.bytes.size() / 2);
  CHECK(rejected(bad));
  bad = good;
  bad.object.bytes = "nonsense";
  CHECK(rejected(bad));
  bad = good;
  bad.reads.push_back(true);
  CHECK(rejected(bad));
  bad = good;
  bad.tier = Tier::kBaseline;  // a device has no tiers
  CHECK(rejected(bad));
  // Every one that is too short is refused before it is loaded.
  for (size_t size = 0; size < good.object.bytes.size(); size += 7) {
    const ObjectCode part{good.object.bytes.substr(0, size), good.object.entry_symbol};
    REQUIRE(device->Load(part).status().reason() == "OBJECT_REJECTED");
  }
}

// The first call loads the module, the second finds its kernel.
TEST_CASE("Target: a device that fails while a kernel is loaded takes none from the disk") {
  const Folder folder;
  const auto device = std::make_shared<Counted>();
  Ok(Life(folder, device).Compile());
  for (const int with : {700, int{cuda::kOutOfMemory}}) {
    for (const int64_t call : {0, 1}) {
      INFO("call " << call << " fails with " << with);
      Life life(folder, device);
      TheFakeDriver().fail_at = call;
      TheFakeDriver().fail_with = with;
      const Status failed = life.Compile().status();
      CHECK(failed.reason() == (with == cuda::kOutOfMemory ? "DEVICE_MEMORY" : "DEVICE_FAULT"));
      TheFakeDriver().fail_at = -1;
      CHECK(life.Run(Ok(life.Compile())).target == Target::kCuda);
      CHECK(life.options.disk->stats().damaged == 0);
      CHECK(device->compiles == 1);
    }
  }
}

}  // namespace
}  // namespace pullback::jit
