#include "tests/core/loops/testing.h"

#include <catch2/catch.hpp>

#include "core/eval/interpreter.h"
#include "core/eval/scalar_ops.h"
#include "core/ir/parser.h"
#include "core/ir/printer.h"
#include "core/ir/verifier.h"
#include "core/loops/lower.h"

namespace pullback::loops {
namespace {

constexpr ScalarOps kOps = {eval::EvalScalar, eval::EvalCast};

void CanonicaliseNans(Tensor& t) {
  const size_t size = DTypeSize(t.dtype);
  for (int64_t i = 0; i < t.ElementCount(); ++i) {
    uint64_t bits = 0;
    uint8_t* at = t.data.data() + static_cast<size_t>(i) * size;
    std::memcpy(&bits, at, size);
    bits = eval::CanonicalNan(t.dtype, bits);
    std::memcpy(at, &bits, size);
  }
}

std::string Describe(const Tensor& t) {
  std::string out = DTypeName(t.dtype);
  out += "[";
  for (int64_t d : t.shape) out += std::to_string(d) + " ";
  out += "]";
  for (int64_t i = 0; i < t.ElementCount(); ++i) {
    out += " ";
    switch (t.dtype) {
      case DType::kF64: out += std::to_string(t.At<double>(i)); break;
      case DType::kF32: out += std::to_string(t.At<float>(i)); break;
      case DType::kI64: out += std::to_string(t.At<int64_t>(i)); break;
      case DType::kBool: out += t.At<uint8_t>(i) != 0 ? "true" : "false"; break;
    }
  }
  return out;
}

std::string Describe(ir::TrapKind kind, uint32_t loc, int64_t a, int64_t b) {
  return std::string(ir::TrapKindName(kind)) + " !" + std::to_string(loc) + " " +
         std::to_string(a) + " " + std::to_string(b);
}

std::string Describe(const eval::Result& r) {
  if (r.trap) return Describe(r.trap->kind, r.trap->loc, r.trap->a, r.trap->b);
  std::string out;
  for (const Tensor& t : r.values) out += Describe(t) + "\n";
  return out;
}

std::string Describe(const Outcome& r) {
  if (r.trap) return Describe(r.trap->kind, r.trap->loc, r.trap->a, r.trap->b);
  std::string out;
  for (const Tensor& t : r.values) out += Describe(t) + "\n";
  return out;
}

bool SameBits(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].dtype != b[i].dtype || a[i].shape != b[i].shape || a[i].data != b[i].data)
      return false;
  }
  return true;
}

}  // namespace

const ScalarOps& OpsForTests() { return kOps; }

ir::Module ParseIr(const std::string& text) {
  StatusOr<ir::Module> module = ir::ParseModule(text);
  INFO(module.status().ToString());
  REQUIRE(module.ok());
  const Status valid = ir::Verify(*module);
  INFO(valid.ToString());
  REQUIRE(valid.ok());
  return std::move(*module);
}

std::string PrintLoops(const std::string& text, const LowerOptions& options) {
  StatusOr<Module> loops = LowerToLoops(ParseIr(text), options);
  INFO(loops.status().ToString());
  REQUIRE(loops.ok());
  return Print(*loops);
}

Outcome RunBoth(const ir::Module& module, const std::vector<Tensor>& args, Traps traps,
                const LowerOptions& options) {
  if (!options.contractions && !options.columns && !options.segments && !options.rows) {
    RunBoth(module, args, traps, {false, true});
    RunBoth(module, args, traps, {false, false, true});
    RunBoth(module, args, traps, kRows);
  }
  StatusOr<Module> loops = LowerToLoops(module, options);
  INFO(loops.status().ToString());
  REQUIRE(loops.ok());
  const StatusOr<eval::Result> expected = eval::Run(module, args);
  INFO(expected.status().ToString());
  REQUIRE(expected.ok());
  StatusOr<Outcome> got = Interpret(*loops, args, kOps);
  INFO(ir::Print(module) << "\n" << Print(*loops) << got.status().ToString());
  REQUIRE(got.ok());
  for (Tensor& t : got->values) CanonicaliseNans(t);
  if (traps == Traps::kAny && got->trap && expected->trap) return std::move(*got);
  CHECK(Describe(*got) == Describe(*expected));
  CHECK(SameBits(got->values, expected->values));
  return std::move(*got);
}

Outcome RunBoth(const std::string& text, const std::vector<Tensor>& args) {
  return RunBoth(ParseIr(text), args);
}

Tensor Vector(const std::vector<double>& values) {
  return Tensor::Of(DType::kF64, {static_cast<int64_t>(values.size())}, values);
}

Tensor Ints(const std::vector<int64_t>& values) {
  return Tensor::Of(DType::kI64, {static_cast<int64_t>(values.size())}, values);
}

Tensor Matrix(int64_t rows, int64_t columns, const std::vector<double>& values) {
  return Tensor::Of(DType::kF64, {rows, columns}, values);
}

Tensor Ramp(std::vector<int64_t> shape) {
  Tensor t{DType::kF64, std::move(shape), {}};
  std::vector<double> values;
  for (int64_t i = 0; i < t.ElementCount(); ++i) {
    values.push_back((i % 2 == 0 ? 0.1 : -0.1) * static_cast<double>(i + 1));
  }
  return Tensor::Of(DType::kF64, t.shape, values);
}

}  // namespace pullback::loops
