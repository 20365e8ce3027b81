// Code for a device, without one: the module of the kernels, compiled for the host and run thread by thread
// with its launch geometry, in both orders of the threads, gives the interpreter's bits; and ptxas, where it
// can be had, assembles what NVPTX makes of the same module.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "core/ir/printer.h"
#include "core/loops/lower.h"
#include "tests/jit/llvm_support.h"
#include "tests/jit/programs/fake_driver.h"
#include "tests/support/derivatives.h"
#include "tests/support/generator.h"
#include "tests/support/programs.h"

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

struct DeviceRunner {
  explicit DeviceRunner(const jit::ObjectCode& object, jit::Backend& backend)
      : code(backend.Load(object).value()) {}

  std::vector<Tensor> Run(const ir::Function& entry, const std::vector<Tensor>& args) {
    std::vector<Tensor> keep = args, results;
    std::vector<jit::Array> arrays(args.size());
    std::vector<uint64_t> slots(args.size() + 1), out(entry.results.size() + 1);
    for (size_t i = 0; i < args.size(); ++i) slots[i] = jit::SlotOf(keep[i], &arrays[i]);
    jit::RunContext context;
    const auto device = code->StartRun().value();
    context.device = device.get();
    if (RunKernel(code->entry(), &context, slots.data(), out.data()) && BringHome(&context)) {
      for (size_t i = 0; i < entry.results.size(); ++i) {
        results.push_back(jit::FromSlot(entry.results[i], out[i]));
      }
    }
    INFO("trap " << context.trap_kind << " at !" << context.trap_loc);
    CHECK(context.trap_kind == 0);
    jit::ResetContext(&context);
    for (size_t i = 0; i < args.size(); ++i) CHECK(keep[i].data == args[i].data);
    launches = device->launches();
    return results;
  }

  std::unique_ptr<jit::LoadedCode> code;
  int64_t launches = 0;
};

void CheckOnDevice(const ir::Module& final, const std::vector<Tensor>& args, Tally& tally) {
  INFO(ir::Print(final));
  const std::vector<Tensor> expected = RunOk(final, args);
  const loops::Module loops = loops::LowerToLoops(final).value();
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

bool HasLists(const ir::Module& final) {
  const ir::Function& entry = final.Get(final.entry);
  bool lists = false;
  for (const ir::Type t : entry.results) lists = lists || t.IsList();
  for (const ir::Value v : entry.params()) lists = lists || entry.TypeOf(v).IsList();
  return lists;
}

// Shapes of code that the plan tells apart.
const std::vector<ProgramCase>& Shapes() {
  const auto numbers = [](std::vector<int64_t> shape) {
    std::vector<double> v;
    int64_t n = 1;
    for (const int64_t d : shape) n *= d;
    for (int64_t i = 0; i < n; ++i) v.push_back(0.25 + static_cast<double>((i * 37) % 19) / 8);
    return Tensor::Of<double>(DType::kF64, std::move(shape), v);
  };
  const Tensor index = Tensor::Of<int64_t>(DType::kI64, {7}, {3, 0, 2, 3, 11, 3, 5});
  static const std::vector<ProgramCase> cases = {
      {"elementwise",
       "fn f(x: [n]f64, y: [n]f64) -> f64 { let z = gen i < n { sin(x[i]) * y[i] }\n"
       "return sum i < n { z[i] * exp(z[i]) } }",
       "f",
       {numbers({301}), numbers({301})},
       {}},
      {"product",
       "fn f(a: [n, p]f64, b: [p, m]f64) -> f64 { return sum(a @ b) }",
       "f",
       {numbers({9, 21}), numbers({21, 5})},
       {}},
      {"product of more than a tile",
       "fn f(a: [n, p]f64, b: [m, p]f64) -> f64 {\n"
       "let c = gen i < n, j < m { sum k < p { a[i, k] * exp(b[j, k]) } }\n"
       "return sum i < n, j < m { c[i, j] * c[i, j] } }",
       "f",
       {numbers({35, 50}), numbers({18, 50})},
       {}},
      {"products of a batch",
       "fn f(a: [c, n, p]f64, b: [c, p, m]f64) -> f64 {\n"
       "let z = gen t < c, i < n, j < m { sum k < p { a[t, i, k] * b[t, k, j] } }\n"
       "return sum t < c, i < n, j < m { z[t, i, j] * z[t, i, j] } }",
       "f",
       {numbers({3, 17, 33}), numbers({3, 33, 5})},
       {}},
      {"product over few steps",
       "fn f(a: [n, 3]f64, b: [m, 3]f64) -> f64 {\n"
       "let c = gen i < n, j < m { sum k < 3 { a[i, k] * b[j, k] } }\n"
       "return sum i < n, j < m { c[i, j] * c[i, j] } }",
       "f",
       {numbers({20, 3}), numbers({17, 3})},
       {}},
      {"distances",
       "fn f(a: [n, p]f64, b: [m, p]f64, w: [p]f64) -> f64 {\n"
       "let c = gen i < n, j < m { max k < p { w[k] * (a[i, k] - b[j, k]) * (a[i, k] - b[j, k]) } "
       "}\n"
       "return sum i < n, j < m { c[i, j] * c[i, j] } }",
       "f",
       {numbers({20, 19}), numbers({17, 19}), numbers({19})},
       {}},
      {"gather",
       "fn f(x: [n]f64, j: [m]i64) -> f64 { return sum i < m { x[j[i]] * x[j[i]] } }",
       "f",
       {numbers({12}), index},
       {}},
      {"triangle",
       "fn f(x: [n, n]f64) -> f64 { return sum i < n, j < n { [j <= i] * tanh(x[i, j]) * x[j, i] } "
       "}",
       "f",
       {numbers({13, 13})},
       {}},
      {"broadcast",
       "fn cell(c: f64, z: f64) -> f64 { if z > 1.0 { return c * tanh(z) }  return exp(c) }\n"
       "fn f(c: [n, n]f64, z: [n]f64) -> f64 { return sum(cell.(c, z)) }",
       "f",
       {numbers({11, 11}), numbers({11})},
       {}},
      {"loop around",
       "fn f(x: [n]f64, k: i64) -> f64 { var y = x\nvar t = 0\nwhile t < k { t = t + 1\n"
       "y = gen i < n { 0.5 * y[i] + cos(x[i]) } }\nreturn sum(y) }",
       "f",
       {numbers({65}), Tensor::I64(5)},
       {}},
      {"scatter",
       "fn f(x: [n]f64, j: [m]i64, w: [m]f64) -> f64 { let g = sum i < m { x[j[i]] * w[i] }\n"
       "return g * g + sum i < n { log(1.0 + x[i] * x[i]) } }",
       "f",
       {numbers({12}), index, numbers({7})},
       {}},
      {"rows of several lengths",
       "fn f(x: [n, n]f64, k: i64) -> f64 {\n"
       "return sum i < n, j < n { [j <= i && i + j > k] * exp(x[i, j]) } }",
       "f",
       {numbers({37, 37}), Tensor::I64(9)},
       {}},
      {"largest",
       "fn f(x: [n, m]f64) -> f64 { return sum(gen i < n { max j < m { x[i, j] } }) }",
       "f",
       {numbers({6, 17})},
       {}},
      {"columns",
       "fn f(x: [n, m]f64) -> f64 { let s = gen j < m { sum i < n { x[i, j] } }\n"
       "return sum j < m { s[j] * s[j] } }",
       "f",
       {numbers({19, 6})},
       {}},
  };
  return cases;
}

std::vector<ProgramCase> Programs() {
  std::vector<ProgramCase> all = Shapes();
  for (const auto* list : {&FirstPrograms(), &DataPrograms()}) {
    all.insert(all.end(), list->begin(), list->end());
  }
  return all;
}

TEST_CASE("On a device: programs give the interpreter's bits") {
  Tally tally;
  for (const ProgramCase& c : Programs()) {
    INFO(c.name);
    const ir::Module ssa = LowerText(c.text, c.entry);
    for (const Transform t : {Transform::kValue, Transform::kValueAndGrad}) {
      const ir::Module final = Derived(ssa, t);
      if (!HasLists(final)) CheckOnDevice(final, c.args, tally);
    }
  }
  CHECK(tally.tiled > 20);
  CHECK(tally.on_device > 2 * static_cast<int64_t>(Shapes().size()) - 3);
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
    WARN("SKIPPED: PULLBACK_PTXAS does not name a ptxas (deploy/test.sh ptxas brings one)");
    return;
  }
  const auto folder = std::filesystem::temp_directory_path() /
                      ("pullback_ptx_" + std::to_string(std::rand()) + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  const std::string file = (folder / "k.ptx").string();
  int64_t assembled = 0;
  for (const ProgramCase& c : Programs()) {
    INFO(c.name);
    const ir::Module final = Derived(LowerText(c.text, c.entry), Transform::kValueAndGrad);
    const loops::Module loops = loops::LowerToLoops(final).value();
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

// To a relative 1e-9: the math is the device's own.
TEST_CASE("On a GPU: programs give the interpreter's results", "[.][gpu]") {
  const auto backend = jit::MakeCudaBackend(DeviceCompilerForTests());
  if (!backend->available().ok()) {
    WARN("SKIPPED: " << backend->available().ToString());
    return;
  }
  for (const ProgramCase& c : Programs()) {
    INFO(c.name);
    const ir::Module final = Derived(LowerText(c.text, c.entry), Transform::kValueAndGrad);
    if (HasLists(final)) continue;
    const auto object = backend->Compile(loops::LowerToLoops(final).value(), {2});
    if (!object.ok()) continue;
    DeviceRunner runner(*object, *backend);
    const std::vector<Tensor> expected = RunOk(final, c.args);
    const std::vector<Tensor> got = runner.Run(final.Get(final.entry), c.args);
    REQUIRE(got.size() == expected.size());
    for (size_t k = 0; k < got.size(); ++k) {
      REQUIRE(got[k].shape == expected[k].shape);
      for (int64_t i = 0; got[k].dtype == DType::kF64 && i < got[k].ElementCount(); ++i) {
        CHECK(got[k].At<double>(i) == Approx(expected[k].At<double>(i)).epsilon(1e-9));
      }
    }
  }
}

}  // namespace
}  // namespace pullback::testing
