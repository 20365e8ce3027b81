// What the tests of lowering share: text -> IR -> numbers.
#pragma once

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "core/eval/interpreter.h"
#include "core/ir/printer.h"
#include "core/ir/verifier.h"
#include "core/lang/lang.h"

namespace pullback::lang {

inline ir::Module LowerText(const std::string& text, const std::string& entry = "f") {
  StatusOr<Program> program = Parse(text);
  INFO(program.status().ToString());
  REQUIRE(program.ok());
  const Status checked = Check(*program);
  INFO(checked.ToString());
  REQUIRE(checked.ok());
  StatusOr<ir::Module> module = Lower(*program, entry);
  INFO(module.status().ToString());
  REQUIRE(module.ok());
  const Status verified = ir::Verify(*module);
  INFO(verified.ToString() << ir::Print(*module));
  REQUIRE(verified.ok());
  return std::move(module).value();
}

inline std::string Ir(const std::string& text, const std::string& entry = "f") {
  return ir::Print(LowerText(text, entry));
}

inline size_t Count(const std::string& text, const std::string& part) {
  size_t n = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}
inline bool Has(const std::string& text, const std::string& part) { return Count(text, part) > 0; }

// --- arguments and results

inline Tensor Vec(const std::vector<double>& v) {
  return Tensor::Of(DType::kF64, {static_cast<int64_t>(v.size())}, v);
}
inline Tensor IntVec(const std::vector<int64_t>& v) {
  return Tensor::Of(DType::kI64, {static_cast<int64_t>(v.size())}, v);
}
inline Tensor Mat(int64_t rows, int64_t columns, const std::vector<double>& v) {
  return Tensor::Of(DType::kF64, {rows, columns}, v);
}
inline Tensor F64(double v) { return Tensor::F64(v); }
inline Tensor I64(int64_t v) { return Tensor::I64(v); }

inline eval::Result RunText(const std::string& text, const std::vector<Tensor>& args,
                            const std::string& entry = "f") {
  const ir::Module module = LowerText(text, entry);
  StatusOr<eval::Result> result = eval::Run(module, args);
  INFO(result.status().ToString() << ir::Print(module));
  REQUIRE(result.ok());
  return std::move(result).value();
}

// The results; a trap fails the test.
inline std::vector<Tensor> Values(const std::string& text, const std::vector<Tensor>& args,
                                  const std::string& entry = "f") {
  const eval::Result r = RunText(text, args, entry);
  REQUIRE_FALSE(r.trap);
  return r.values;
}

inline std::vector<double> Doubles(const Tensor& t) {
  std::vector<double> out;
  for (int64_t i = 0; i < t.ElementCount(); ++i) {
    switch (t.dtype) {
      case DType::kF64: out.push_back(t.At<double>(i)); break;
      case DType::kF32: out.push_back(t.At<float>(i)); break;
      case DType::kI64: out.push_back(static_cast<double>(t.At<int64_t>(i))); break;
      case DType::kBool: out.push_back(t.At<uint8_t>(i)); break;
    }
  }
  return out;
}

// The elements of the first result.
inline std::vector<double> Elements(const std::string& text, const std::vector<Tensor>& args,
                                    const std::string& entry = "f") {
  return Doubles(Values(text, args, entry).at(0));
}

inline double NumberOf(const std::string& text, const std::vector<Tensor>& args,
                       const std::string& entry = "f") {
  const std::vector<Tensor> values = Values(text, args, entry);
  REQUIRE(values.size() == 1);
  REQUIRE(values[0].shape.empty());
  return Doubles(values[0])[0];
}

// The trap that a program must end with: its kind and details, and the source text of its place.
struct TrapPlace {
  ir::TrapKind kind;
  int64_t a = 0, b = 0;
  std::string source;
  bool operator==(const TrapPlace&) const = default;
};

inline std::string SourceOf(const std::string& text, const std::string& entry, uint32_t loc) {
  StatusOr<Program> program = Parse(text);
  REQUIRE(Check(*program).ok());
  const StatusOr<Canonical> canonical = Canonicalise(*program, entry);
  REQUIRE(canonical.ok());
  REQUIRE(loc < canonical->places.size());
  const Span span = canonical->places[loc].span;
  return text.substr(span.begin, span.end - span.begin);
}

inline TrapPlace TrapOf(const std::string& text, const std::vector<Tensor>& args,
                        const std::string& entry = "f") {
  const eval::Result r = RunText(text, args, entry);
  REQUIRE(r.trap);
  return {r.trap->kind, r.trap->a, r.trap->b, SourceOf(text, entry, r.trap->loc)};
}

}  // namespace pullback::lang

namespace Catch {
template <>
struct StringMaker<pullback::lang::TrapPlace> {
  static std::string convert(const pullback::lang::TrapPlace& p) {
    return std::to_string(static_cast<int>(p.kind)) + "(" + std::to_string(p.a) + ", " +
           std::to_string(p.b) + ") at '" + p.source + "'";
  }
};
}  // namespace Catch
