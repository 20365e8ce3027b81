// Objects: what is loaded, what is refused, what is given back.
#include <atomic>
#include <random>
#include <thread>

#include "tests/jit/load_support.h"

namespace pullback::jit {
namespace {

using loops::Module;

ObjectCode ObjectOf(const Module& module, int level = 2) {
  return LlvmForTests().Compile(module, {level}).value();
}

std::string LoadReason(const ObjectCode& object) {
  const auto loaded = LlvmForTests().Load(object);
  return loaded.ok() ? "" : loaded.status().reason();
}

// Replaces bytes of the same length.
ObjectCode Patched(ObjectCode object, const std::string& from, const std::string& to) {
  REQUIRE(from.size() == to.size());
  const size_t at = object.bytes.find(from);
  REQUIRE(at != std::string::npos);
  object.bytes.replace(at, from.size(), to);
  return object;
}

// An object with one section of this name and flags instead of .text; made by hand, so that it can
// be wrong in one way only.
ObjectCode WithSectionFlags(ObjectCode object, uint64_t set) {
  // ELF64: e_shoff at 0x28, e_shentsize at 0x3a, e_shnum at 0x3c; sh_flags at 8 of each header.
  uint64_t offset = 0;
  uint16_t size = 0, count = 0;
  std::memcpy(&offset, &object.bytes[0x28], 8);
  std::memcpy(&size, &object.bytes[0x3a], 2);
  std::memcpy(&count, &object.bytes[0x3c], 2);
  for (uint16_t i = 1; i < count; ++i) {
    uint64_t flags = 0;
    char* at = &object.bytes[offset + uint64_t{size} * i + 8];
    std::memcpy(&flags, at, 8);
    if ((flags & 4) == 0) continue;  // SHF_EXECINSTR
    flags |= set;
    std::memcpy(at, &flags, 8);
  }
  return object;
}

TEST_CASE("A backend names itself and its target", "[llvm]") {
  Backend& backend = LlvmForTests();
  CHECK(backend.name() == "llvm");
  CHECK(backend.target().starts_with("x86_64 +"));
  CHECK(backend.target().find(" +fma") != std::string::npos);
  CHECK(backend.target().find("tune") == std::string::npos);
  CHECK(backend.version().starts_with("llvm-19."));
  CHECK(MakeLlvmBackend().value()->target() == backend.target());
}

TEST_CASE("The same loops give the same object", "[llvm]") {
  CHECK(ObjectOf(SinSumModule()).bytes == ObjectOf(SinSumModule()).bytes);
  CHECK(ObjectOf(SinModule(1)).bytes != ObjectOf(SinModule(2)).bytes);
}

TEST_CASE("One object may be loaded many times at once", "[llvm]") {
  const ObjectCode object = ObjectOf(SinModule(3));
  auto one = LlvmForTests().Load(object).value();
  auto two = LlvmForTests().Load(object).value();
  CHECK(one->entry() != two->entry());
  CHECK(one->bytes() >= 4096);
  one.reset();
  RunContext c;
  const uint64_t x = std::bit_cast<uint64_t>(0.5);
  uint64_t y = 0;
  REQUIRE(RunKernel(two->entry(), &c, &x, &y));
  CHECK(std::bit_cast<double>(y) == Approx(std::sin(0.5) * 3).epsilon(1e-15));
}

TEST_CASE("Code outlives its backend", "[llvm]") {
  auto backend = MakeLlvmBackend().value();
  auto code = backend->Load(backend->Compile(SinModule(1), {2}).value()).value();
  backend.reset();
  RunContext c;
  const uint64_t x = 0;
  uint64_t y = 1;
  REQUIRE(RunKernel(code->entry(), &c, &x, &y));
  CHECK(y == 0);
}

TEST_CASE("Foreign objects are refused", "[llvm]") {
  const ObjectCode good = ObjectOf(SinModule(3));
  CHECK(LoadReason(good).empty());
  CHECK(LoadReason(Patched(good, "pb_sincos_f64", "pb_sincos_f99")) == "OBJECT_REJECTED");
  CHECK(LoadReason(Patched(good, "pb_sincos_f64", std::string("system\0\0\0\0\0\0\0", 13))) ==
        "OBJECT_REJECTED");
  CHECK(LoadReason(Patched(good, "pb_sincos_f64", std::string("malloc\0\0\0\0\0\0\0", 13))) ==
        "OBJECT_REJECTED");
  CHECK(LoadReason(Patched(good, "pb_kernel", "pb_karnel")) == "OBJECT_REJECTED");
  CHECK(LoadReason({good.bytes, "other_entry"}) == "OBJECT_REJECTED");
  CHECK(LoadReason(Patched(good, ".text", ".tixt")) == "OBJECT_REJECTED");
  CHECK(LoadReason(WithSectionFlags(good, 1)) == "OBJECT_REJECTED");  // SHF_WRITE
  CHECK(LoadReason({"", "pb_kernel"}) == "OBJECT_REJECTED");
  CHECK(LoadReason({"not an object", "pb_kernel"}) == "OBJECT_REJECTED");
  CHECK(LoadReason({std::string(5000, '\0'), "pb_kernel"}) == "OBJECT_REJECTED");
}

// A cut or damaged file is refused, or is an object as good as any: nothing crashes and the backend
// goes on. (Entries of a cache carry a MAC as well; this is the second line.)
TEST_CASE("Truncated and damaged objects do no harm", "[llvm]") {
  const ObjectCode good = ObjectOf(SinSumModule());
  for (size_t size = 0; size < good.bytes.size(); size += 13) {
    CHECK(LoadReason({good.bytes.substr(0, size), good.entry_symbol}) == "OBJECT_REJECTED");
  }
  std::mt19937_64 random(7);
  for (int i = 0; i < 500; ++i) {
    ObjectCode bad = good;
    bad.bytes[random() % bad.bytes.size()] ^= static_cast<char>(1 << random() % 8);
    const std::string reason = LoadReason(bad);
    CHECK((reason.empty() || reason == "OBJECT_REJECTED"));
  }
  CHECK(LoadReason(good).empty());
}

TEST_CASE("No page is writable and executable", "[llvm]") {
  LlvmForTests();
  std::atomic<bool> done{false};
  std::atomic<int> seen{0};
  std::thread watch([&] {
    while (!done) seen += ReadMaps().write_and_execute;
  });
  std::vector<std::unique_ptr<LoadedCode>> kept;
  for (int i = 0; i < 20; ++i) {
    kept.push_back(LlvmForTests().Load(ObjectOf(SinModule(i), 0)).value());
  }
  CHECK(ReadMaps().executable_anonymous >= 20 * 4096);
  CHECK(ReadMaps().write_and_execute == 0);
  done = true;
  watch.join();
  CHECK(seen == 0);
}

TEST_CASE("Unloading gives all memory back", "[llvm]") {
  const ObjectCode object = ObjectOf(SinSumModule());
  LlvmForTests().Load(object).value().reset();
  const int64_t before = ReadMaps().executable_anonymous;
  {
    std::vector<std::unique_ptr<LoadedCode>> kept;
    size_t bytes = 0;
    for (int i = 0; i < 200; ++i) {
      kept.push_back(LlvmForTests().Load(object).value());
      bytes += kept.back()->bytes();
    }
    const int64_t grown = ReadMaps().executable_anonymous - before;
    CHECK(grown >= 200 * 4096);
    CHECK(static_cast<int64_t>(bytes) >= grown);
    CHECK(static_cast<int64_t>(bytes) <= 4 * grown);
  }
  CHECK(ReadMaps().executable_anonymous == before);
}

TEST_CASE("Threads compile, load and unload at the same time", "[llvm]") {
  std::atomic<int> good{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 5; ++i) {
        const auto object = LlvmForTests().Compile(SinModule(t * 10 + i), {i % 2 == 0 ? 2 : 0});
        const auto code = LlvmForTests().Load(object.value());
        RunContext c;
        const uint64_t x = std::bit_cast<uint64_t>(1.25);
        uint64_t y = 0;
        if (!RunKernel((*code)->entry(), &c, &x, &y)) continue;
        const double wanted = std::sin(1.25) * (t * 10 + i);
        good += std::abs(std::bit_cast<double>(y) - wanted) <= 1e-14 * (1 + wanted);
      }
    });
  }
  for (std::thread& t : threads) t.join();
  CHECK(good == 20);
}

TEST_CASE("A frame that takes too much of the stack is refused", "[llvm]") {
  CHECK(LlvmForTests().Compile(ManyValues(10000), {0}).ok());
  CHECK(LlvmForTests().Compile(ManyValues(400000), {0}).status().reason() == "FRAME_TOO_LARGE");
}

// Its code moves the stack pointer before it asks for more stack.
TEST_CASE("A frame that is larger than what is open at first runs", "[llvm]") {
  constexpr int kValues = 190000;
  const auto object = LlvmForTests().Compile(ManyValues(kValues), {0});
  REQUIRE(object.ok());
  const auto code = LlvmForTests().Load(*object);
  REQUIRE(code.ok());
  RunContext c;
  const double half = 0.5;
  const uint64_t x = std::bit_cast<uint64_t>(half);
  uint64_t y = 0;
  REQUIRE(RunKernel((*code)->entry(), &c, &x, &y));
  double wanted = half;
  for (int k = kValues; k >= 0; --k) wanted *= half * (k + 1);
  CHECK(std::bit_cast<double>(y) == wanted);
}

TEST_CASE("Deep nests of loops compile in time, deeper ones are refused", "[llvm]") {
  for (const int depth : {30, 201}) {
    const auto object = LlvmForTests().Compile(DeepNest(depth), {2});
    CHECK((object.ok() ? "" : object.status().reason()) == (depth > 200 ? "NESTED_TOO_DEEP" : ""));
  }
}

TEST_CASE("Stages are shown", "[llvm]") {
  Backend& backend = LlvmForTests();
  const auto text = backend.Dump(SinSumModule(), {2}, "llvm");
  REQUIRE(text.ok());
  CHECK(text->find("define void @pb_kernel") != std::string::npos);
  for (const char* flag : {" fast ", " nsz ", " reassoc ", " contract ", " nsw ", "inbounds"}) {
    CHECK(backend.Dump(SinSumModule(), {0}, "llvm").value().find(flag) == std::string::npos);
  }
  const auto assembly = backend.Dump(SinSumModule(), {2}, "asm");
  REQUIRE(assembly.ok());
  CHECK(assembly->find("pb_kernel:") != std::string::npos);
  CHECK(assembly->find("vfmadd") == std::string::npos);
  CHECK(backend.Dump(SinSumModule(), {2}, "ptx").status().reason() == "UNKNOWN_STAGE");
}

}  // namespace
}  // namespace pullback::jit
