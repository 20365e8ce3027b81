// Tier 0's objects: what is loaded, what is refused, what is given back.
#include <atomic>
#include <thread>

#include "jit/baseline/object.h"
#include "tests/jit/load_support.h"

namespace pullback::jit {
namespace {

using loops::Module;

Backend& TierZero() { return BackendForTests(kTierZero); }

ObjectCode ObjectOf(const Module& module) { return TierZero().Compile(module, {0}).value(); }

std::string LoadReason(const std::string& bytes) {
  const auto loaded = TierZero().Load({bytes, {}});
  return loaded.ok() ? "" : loaded.status().reason();
}

std::string With(const BaselineObject& object) { return Write(object); }

TEST_CASE("Tier 0 names itself and its target", "[baseline]") {
  CHECK(TierZero().name() == "baseline");
  CHECK(TierZero().target() == "x86-64 +sse4.1");
  CHECK(TierZero().version().starts_with("tier0-"));
}

TEST_CASE("Tier 0: the same loops give the same object", "[baseline]") {
  CHECK(ObjectOf(SinSumModule()).bytes == ObjectOf(SinSumModule()).bytes);
  CHECK(ObjectOf(SinModule(1)).bytes != ObjectOf(SinModule(2)).bytes);
}

TEST_CASE("Tier 0: one object may be loaded many times, and outlives its backend", "[baseline]") {
  auto backend = MakeBaselineBackend().value();
  const ObjectCode object = backend->Compile(SinModule(3), {0}).value();
  auto one = backend->Load(object).value();
  auto two = backend->Load(object).value();
  CHECK(one->entry() != two->entry());
  one.reset();
  backend.reset();
  RunContext c;
  const uint64_t x = std::bit_cast<uint64_t>(0.5);
  uint64_t y = 0;
  REQUIRE(RunKernel(two->entry(), &c, &x, &y));
  CHECK(std::bit_cast<double>(y) == Approx(std::sin(0.5) * 3).epsilon(1e-15));
}

TEST_CASE("Tier 0: an object that is cut off is refused, at every length", "[baseline]") {
  const std::string good = ObjectOf(SinSumModule()).bytes;
  for (size_t size = 0; size < good.size(); ++size) {
    REQUIRE(LoadReason(good.substr(0, size)) == "OBJECT_REJECTED");
  }
  CHECK(LoadReason(good + "x") == "OBJECT_REJECTED");
  CHECK(LoadReason(good).empty());
}

TEST_CASE("Tier 0: foreign objects are refused", "[baseline]") {
  const BaselineObject good = ReadBaselineObject(ObjectOf(SinModule(3)).bytes).value();
  REQUIRE(good.addresses.size() >= 2);
  CHECK(LoadReason(With(good)).empty());
  BaselineObject bad = good;
  for (const char* symbol : {"system", "malloc", "", "pb_sin_f99"}) {
    bad.addresses[0].symbol = symbol;
    CHECK(LoadReason(With(bad)) == "OBJECT_REJECTED");
  }
  bad = good;
  bad.addresses.back().at = static_cast<uint32_t>(good.code.size() - 7);
  CHECK(LoadReason(With(bad)) == "OBJECT_REJECTED");
  bad = good;
  bad.addresses[1].at = bad.addresses[0].at + 4;
  CHECK(LoadReason(With(bad)) == "OBJECT_REJECTED");
  bad = good;
  bad.addresses[0].at = ~uint32_t{0};
  CHECK(LoadReason(With(bad)) == "OBJECT_REJECTED");
  bad = good;
  bad.entry = static_cast<uint32_t>(good.code.size());
  CHECK(LoadReason(With(bad)) == "OBJECT_REJECTED");
  bad = good;
  bad.code.clear();
  CHECK(LoadReason(With(bad)) == "OBJECT_REJECTED");
  CHECK(LoadReason(LlvmForTests().Compile(SinModule(3), {0}).value().bytes) == "OBJECT_REJECTED");
}

TEST_CASE("Tier 0: no page is writable and executable, and memory is used again", "[baseline]") {
  auto backend = MakeBaselineBackend().value();
  const ObjectCode object = backend->Compile(SinSumModule(), {0}).value();
  std::vector<std::unique_ptr<LoadedCode>> kept;
  for (int i = 0; i < 1000; ++i) kept.push_back(backend->Load(object).value());
  CHECK(ReadMaps().write_and_execute == 0);
  const KernelEntry first = kept.front()->entry();
  kept.clear();
  bool again = false;
  for (int i = 0; i < 1000; ++i) {
    kept.push_back(backend->Load(object).value());
    again = again || kept.back()->entry() == first;
  }
  CHECK(again);
}

TEST_CASE("Tier 0: threads compile, load and unload at the same time", "[baseline]") {
  std::atomic<int> good{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        const auto object = TierZero().Compile(SinModule(t * 1000 + i), {0});
        const auto code = TierZero().Load(object.value());
        RunContext c;
        const uint64_t x = std::bit_cast<uint64_t>(1.25);
        uint64_t y = 0;
        if (!RunKernel((*code)->entry(), &c, &x, &y)) continue;
        const double wanted = std::sin(1.25) * (t * 1000 + i);
        good += std::abs(std::bit_cast<double>(y) - wanted) <= 1e-14 * (1 + wanted);
      }
    });
  }
  for (std::thread& t : threads) t.join();
  CHECK(good == 800);
}

TEST_CASE("Tier 0: frames and nests that are too large are refused", "[baseline]") {
  CHECK(TierZero().Compile(ManyValues(100000), {0}).ok());
  CHECK(TierZero().Compile(ManyValues(200000), {0}).status().reason() == "FRAME_TOO_LARGE");
  CHECK(TierZero().Compile(DeepNest(30), {0}).ok());
  CHECK(TierZero().Compile(DeepNest(201), {0}).status().reason() == "NESTED_TOO_DEEP");
}

TEST_CASE("Tier 0: slots are used again, so that long functions have short frames", "[baseline]") {
  Module module;
  loops::FunctionBuilder f(module, {ir::Type::F64()}, {ir::Type::F64()});
  loops::Reg x = f.param(0);
  for (int i = 0; i < 100000; ++i) x = f.Op(ir::Op::Add, {x, f.param(0)});
  f.Return({x});
  const std::string text = TierZero().Dump(module, {0}, "asm").value();
  const size_t at = text.find("sub rsp, ", text.find("sub rsp, ") + 1);
  REQUIRE(at != std::string::npos);
  CHECK(std::stoi(text.substr(at + 9)) <= 64);
}

TEST_CASE("Tier 0: machine code is shown", "[baseline]") {
  const auto text = TierZero().Dump(SinSumModule(), {0}, "asm");
  REQUIRE(text.ok());
  CHECK(text->find("mulsd") != std::string::npos);
  CHECK(TierZero().Dump(SinSumModule(), {0}, "llvm").status().reason() == "UNKNOWN_STAGE");
}

}  // namespace
}  // namespace pullback::jit
