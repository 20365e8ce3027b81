// Code for a device, without one: the module of the kernels, compiled for the host and run thread by thread
// with its launch geometry, in both orders of the threads, gives the interpreter's bits; and ptxas, where it
// can be had, assembles what NVPTX makes of the same module.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <limits>

#include "core/ir/printer.h"
#include "core/loops/lower.h"
#include "tests/jit/programs/device_runner.h"
#include "tests/support/derivatives.h"
#include "tests/support/device_programs.h"
#include "tests/support/fake_driver.h"
#include "tests/support/generator.h"
#include "tests/support/skip.h"

namespace pullback::testing {
namespace {

using pipeline::Transform;

uint32_t ProgramCount(uint32_t otherwise) {
  const char* text = std::getenv("PULLBACK_PROGRAMS");
  return text ? static_cast<uint32_t>(std::strtoul(text, nullptr, 10)) : otherwise;
}

// How much of what was tried ran on the device.
struct Tally {
  int64_t modules = 0, on_device = 0, launches = 0, tiled = 0;
  ~Tally() {
    std::cout << modules << " modules, " << on_device << " of them with kernels, " << launches
              << " launches, " << tiled << " in tiles\n";
  }
};

void CheckOnDevice(const ir::Module& final, const std::vector<Tensor>& args, Tally& tally) {
  INFO(ir::Print(final));
  const std::vector<Tensor> expected = RunOk(final, args);
  const loops::Module loops = loops::LowerToLoops(final, kForDevices).value();
  INFO(loops::Print(loops));
  const auto backend = FakeCudaBackend();
  const auto object = backend->Compile(loops, {2});
  ++tally.modules;
  if (!object.ok()) {
    CHECK(object.status().reason() == "NOT_ON_DEVICE");
    return;
  }
  ++tally.on_device;
  // Little room for terms makes several chunks, and several points of a segment.
  const auto little = FakeCudaBackend({/*terms=*/24, /*segments=*/5});
  for (const bool backwards : {false, true}) {
    INFO("backwards, with little room: " << backwards);
    TheFakeDriver().Reset();
    TheFakeDriver().backwards = backwards;
    DeviceRunner runner(*object, backwards ? *little : *backend);
    const std::vector<Tensor> got = runner.Run(final.Get(final.entry), args);
    tally.launches += runner.launches;
    tally.tiled += TheFakeDriver().tiled;
    REQUIRE(got.size() == expected.size());
    for (size_t k = 0; k < got.size(); ++k) {
      INFO("result " << k);
      CHECK(got[k].shape == expected[k].shape);
      CHECK(jit::Canonical(got[k]).data == jit::Canonical(expected[k]).data);
    }
    CHECK(TheFakeDriver().live_allocations == 0);
  }
}

TEST_CASE("On a device: programs give the interpreter's bits") {
  Tally tally;
  for (const ProgramCase& c : DevicePrograms()) {
    INFO(c.name);
    const ir::Module ssa = LowerText(c.text, c.entry);
    for (const Transform t : {Transform::kValue, Transform::kValueAndGrad}) {
      const ir::Module final = Derived(ssa, t);
      if (!HasLists(final)) CheckOnDevice(final, c.args, tally);
    }
  }
  for (const ExpandedCase& c : ExpandedArguments()) {
    INFO(c.program.name);
    CheckOnDevice(Derived(LowerText(c.program.text, c.program.entry), Transform::kValue),
                  c.program.args, tally);
  }
  CHECK(tally.tiled > 20);
  CHECK(tally.on_device > 2 * static_cast<int64_t>(DeviceShapes().size()) - 3);
}

// What stays on the host of each shape; nothing of most.
TEST_CASE("On a device: scans and argmax of rows, and loops in functions, run in kernels") {
  for (const ProgramCase& c : DeviceShapes()) {
    INFO(c.name);
    const ir::Module final = Derived(LowerText(c.text, c.entry), Transform::kValue);
    const loops::Module loops = loops::LowerToLoops(final, kForDevices).value();
    INFO(loops::Print(loops));
    const auto code = DeviceCompilerForTests()->Compile(loops, {2}, jit::kHostArch).value();
    std::string refusals;
    for (const std::string& why : code.refusals) refusals += why + "\n";
    INFO(refusals);
    // The best of the segments are compared on the host.
    CHECK(code.refusals.size() == (std::string(c.name) == "greatest of all" ? 1 : 0));
  }
}

// Ties, NaNs, infinities, rows of nothing; more terms than segments.
TEST_CASE("On a device: argmax and argmin choose the same element") {
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  const auto rows = [](std::vector<int64_t> shape, const std::vector<double>& v) {
    return Tensor::Of<double>(DType::kF64, std::move(shape), v);
  };
  std::vector<double> many(20011);
  for (size_t i = 0; i < many.size(); ++i) many[i] = static_cast<double>(i * 7919 % 1009);
  std::vector<double> with_nan = many;
  with_nan[12345] = with_nan[17000] = nan;
  const std::string of_rows =
      "fn f(x: [n, m]f64) -> ([n]i64, [n]i64) {\n"
      "return (gen i < n { argmax j < m { x[i, j] } }, gen i < n { argmin j < m { x[i, j] } }) }";
  const std::string of_all =
      "fn f(x: [n]f64) -> (i64, i64, f64) {\n"
      "return (argmax i < n { x[i] }, argmin i < n { x[i] }, max i < n { x[i] }) }";
  // A matrix that nothing holds: places by rows and by columns in one loop.
  const std::string both_ways =
      "fn f(x: [n, m]f64) -> ([n]i64, [n]i64, [n]i64) {\n"
      "let s = gen i < n, j < n { sin(x[i, 0]) * x[j, 1] }\n"
      "return (gen i < n { argmax j < n { s[i, j] } }, gen j < n { argmin i < n { s[i, j] } }, "
      "gen j < n { argmax i < n { s[i, j] } }) }";
  const std::pair<std::string, Tensor> cases[] = {
      {both_ways, rows({4, 2}, {1, 2, 2, nan, 1, -2, 0, 2})},
      {both_ways, rows({3, 2}, {nan, inf, 0.5, 0, -inf, 1})},
      {both_ways, rows({0, 2}, {})},
      {both_ways, rows({130, 2}, std::vector<double>(many.begin(), many.begin() + 260))},
      {of_rows, rows({4, 3}, {1, 2, 2, nan, 1, nan, -inf, -inf, 0, 3, nan, 5})},
      {of_rows, rows({3, 0}, {})},
      {of_rows, rows({0, 3}, {})},
      {of_all, rows({0}, {})},
      {of_all, rows({3}, {-inf, nan, nan})},
      {of_all, rows({4}, {-inf, -inf, -0.0, 0.0})},
      {of_all, rows({20011}, many)},
      {of_all, rows({20011}, with_nan)},
      {"fn f(x: [n]f64) -> (i64, i64) { return argmax i < n, j < n { [i <= j] * (x[j] - x[i]) } }",
       rows({150}, std::vector<double>(many.begin(), many.begin() + 150))},
  };
  Tally tally;
  for (const auto& [text, x] : cases) {
    INFO(text);
    CheckOnDevice(Derived(LowerText(text, "f"), Transform::kValue), {x}, tally);
  }
  CHECK(tally.on_device == 13);
}

TEST_CASE("On a device: generated programs give the interpreter's bits") {
  for (const Kind kind : {Kind::kTensor, Kind::kControlFlow, Kind::kCorners}) {
    Tally tally;
    Coverage coverage;
    for (uint32_t seed = 0; seed < ProgramCount(20); ++seed) {
      const GeneratedProgram p = GenerateProgram(kind, seed, &coverage);
      INFO("seed " << seed << "\n" << p.text);
      const ir::Module ssa = LowerText(p.text, p.entry);
      CheckOnDevice(Derived(ssa, Transform::kValueAndGrad), p.args, tally);
    }
  }
}

// deploy/test.sh brings one.
std::string FindPtxas() {
  if (const char* named = std::getenv("PULLBACK_PTXAS")) return named;
  return {};
}

TEST_CASE("On a device: ptxas takes every kernel, for the oldest and the newest architecture") {
  const std::string ptxas = FindPtxas();
  if (ptxas.empty()) {
    return Skip("PULLBACK_PTXAS does not name a ptxas (deploy/test.sh ptxas brings one)");
  }
  const auto folder = std::filesystem::temp_directory_path() /
                      ("pullback_ptx_" + std::to_string(std::rand()) + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  const std::string file = (folder / "k.ptx").string();
  int64_t assembled = 0;
  for (const ProgramCase& c : DevicePrograms()) {
    INFO(c.name);
    const ir::Module final = Derived(LowerText(c.text, c.entry), Transform::kValueAndGrad);
    const loops::Module loops = loops::LowerToLoops(final, kForDevices).value();
    for (const char* arch : {"sm_75", "sm_90a"}) {
      const auto code = DeviceCompilerForTests()->Compile(loops, {2}, arch);
      REQUIRE(code.ok());
      if (code->kernels.empty()) continue;
      std::ofstream(file) << code->image;
      const std::string command =
          ptxas + " -arch=" + arch + " -o " + (folder / "k.cubin").string() + " " + file;
      INFO(command << "\n" << code->image);
      CHECK(std::system(command.c_str()) == 0);
      ++assembled;
    }
  }
  std::filesystem::remove_all(folder);
  std::cout << assembled << " modules assembled by " << ptxas << "\n";
  CHECK(assembled > 20);
}

}  // namespace
}  // namespace pullback::testing
