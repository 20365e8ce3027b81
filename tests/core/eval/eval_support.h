// Running IR text in tests.
#pragma once

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "core/eval/interpreter.h"
#include "core/ir/parser.h"
#include "core/ir/verifier.h"

namespace pullback::eval {

inline ir::Module Parse(const std::string& text) {
  auto m = ir::ParseModule(text);
  INFO(m.status().ToString());
  REQUIRE(m.ok());
  const Status s = ir::Verify(*m);
  INFO(s.ToString());
  REQUIRE(s.ok());
  return std::move(m).value();
}

inline Result RunText(const std::string& text, const std::vector<Tensor>& args = {},
                      const Limits& limits = {}) {
  auto r = Run(Parse(text), args, limits);
  INFO(r.status().ToString());
  REQUIRE(r.ok());
  return std::move(r).value();
}

// The one trap that the text must end with.
inline Trap TrapOf(const std::string& text, const std::vector<Tensor>& args = {},
                   const Limits& limits = {}) {
  const Result r = RunText(text, args, limits);
  REQUIRE(r.trap);
  CHECK(r.values.empty());
  return *r.trap;
}

inline Tensor Vec(const std::vector<double>& v) {
  return Tensor::Of(DType::kF64, {static_cast<int64_t>(v.size())}, v);
}

inline std::vector<double> Doubles(const Tensor& t) {
  REQUIRE(t.dtype == DType::kF64);
  std::vector<double> out;
  for (int64_t i = 0; i < t.ElementCount(); ++i) out.push_back(t.At<double>(i));
  return out;
}

}  // namespace pullback::eval
