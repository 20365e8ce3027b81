// Loops with snapshots against the plain loops that they are.
#pragma once

#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <vector>

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

}  // namespace pullback::testing
