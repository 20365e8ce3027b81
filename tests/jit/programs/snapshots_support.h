// Loops with snapshots against the plain loops that they are.
#pragma once

#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "core/loops/lower.h"
#include "tests/jit/llvm_support.h"
#include "tests/jit/programs/compiled.h"
#include "tests/support/derivatives.h"

namespace pullback::testing {

inline std::string WithMark(std::string text, const std::string& mark) {
  const std::string what = "CHECKPOINT";
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what))
    text.replace(at, what.size(), mark);
  return text;
}

inline Tensor Wave(int64_t n, double scale) {
  std::vector<double> v;
  for (int64_t i = 0; i < n; ++i) v.push_back(scale * std::sin(static_cast<double>(7 * i + 1)));
  return Vec(v);
}

inline void CheckSame(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  REQUIRE(a.size() == b.size());
  for (size_t k = 0; k < a.size(); ++k) {
    INFO("result " << k);
    CHECK(a[k].shape == b[k].shape);
    CHECK(a[k].data == b[k].data);
  }
}

struct Case {
  const char* name;
  std::string text;  // CHECKPOINT: where snapshots are asked for; c is the entry's last parameter
  std::vector<Tensor> args;
};

inline ir::Module DerivedFrom(const std::string& text, pipeline::Transform t, bool optimise) {
  const ir::Module ssa = LowerText(text, "f");
  std::vector<bool> wrt;
  for (ir::Value v : ssa.Get(ssa.entry).params())
    wrt.push_back(ir::CarriesTangent(ssa, ssa.Get(ssa.entry).TypeOf(v)));
  return Derived(ssa, t, wrt, optimise);
}

// With any number of snapshots what comes out is what comes out of the plain loop; the last of `args` but
// `seeds` is that number.
inline void CheckLikePlain(const std::string& text, pipeline::Transform t, bool optimise,
                           std::vector<Tensor> args, const std::vector<Tensor>& seeds) {
  const size_t at = args.size();
  args.push_back(Tensor::I64(0));
  args.insert(args.end(), seeds.begin(), seeds.end());
  const std::vector<Tensor> plain = RunOk(DerivedFrom(WithMark(text, ""), t, optimise), args);
  const ir::Module snapshots = DerivedFrom(WithMark(text, "checkpoint(c)"), t, optimise);
  for (const int64_t s : {0, 1, 2, 3, 5, 10, 11, 1000}) {
    INFO(s << " snapshots");
    args[at] = Tensor::I64(s);
    CheckSame(RunOk(snapshots, args), plain);
    if (optimise && (s == 1 || s == 3)) CheckBitwise(snapshots, args);
  }
}

// In every mode, optimised and not.
inline void CheckLikePlain(const Case& c) {
  INFO(c.name);
  using pipeline::Transform;
  const bool f32 = c.args.back().dtype == DType::kF32;
  const Tensor seed = f32 ? Tensor::F32(0.75F) : Tensor::F64(0.75);
  for (const bool optimise : {true, false}) {
    INFO((optimise ? "optimised" : "as built"));
    CheckLikePlain(c.text, Transform::kValue, optimise, c.args, {});
    CheckLikePlain(c.text, Transform::kVjp, optimise, c.args, {seed});
    // By a scalar or two both are forward mode.
    CheckLikePlain(c.text, Transform::kValueAndGrad, optimise, c.args, {});
  }
}

struct Ran {
  std::vector<Tensor> values;
  int64_t bytes;
};

// What a gradient by w and p of f(w, p, steps, c) holds falls with c; its bits are the plain loop's. The state
// is an array of 8 n bytes.
inline void CheckMemory(const std::string& text) {
  const ir::Module m =
      Derived(LowerText(text, "f"), pipeline::Transform::kValueAndGrad, {true, true, false, false});
  const auto loops = loops::LowerToLoops(m);
  REQUIRE(loops.ok());
  jit::TestKernel kernel(*loops, 2);
  const int64_t n = 1000, steps = 200;
  const auto run = [&](int64_t snapshots) {
    kernel.context.peak_bytes = 0;
    Ran r{kernel.Run({Wave(n, 1), Tensor::F64(0.9), Tensor::I64(steps), Tensor::I64(snapshots)}),
          0};
    r.bytes = kernel.context.peak_bytes;
    return r;
  };
  const Ran plain = run(0);
  CHECK(plain.bytes > steps * 8 * n);
  for (const int64_t s : {1, 2, 3, 5, 10, 50}) {
    const Ran r = run(s);
    INFO(s << " snapshots: " << r.bytes << " bytes, plain " << plain.bytes);
    CheckSame(r.values, plain.values);
    CHECK(r.bytes < (s + 12) * 8 * n + 100000);
  }
}

}  // namespace pullback::testing
