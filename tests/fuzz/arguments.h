// Small arguments for a module's entry, the same for the same text.
#pragma once

#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "core/base/tensor.h"
#include "core/ir/ir.h"

namespace pullback::fuzz {

inline uint64_t Bits(DType t, std::mt19937_64& rng) {
  constexpr double kFloats[] = {0.0, 1.0, -1.0, 0.5, -0.25, 2.0, 1.5, -3.0};
  const uint64_t r = rng();
  const double v = r % 4 == 0 ? kFloats[(r >> 8) % 8] : static_cast<double>(r >> 11) * 0x1p-52 - 1;
  uint64_t bits = 0;
  switch (t) {
    case DType::kF64: std::memcpy(&bits, &v, 8); return bits;
    case DType::kF32: {
      const auto f = static_cast<float>(v);
      std::memcpy(&bits, &f, 4);
      return bits;
    }
    case DType::kI64: return static_cast<uint64_t>(static_cast<int64_t>(r % 6) - 1);
    case DType::kBool: return r & 1;
  }
  return 0;
}

// Every axis has the same extent, so that sizes that occur twice agree; scalars of type i64 are small.
inline std::vector<Tensor> ArgumentsOf(const ir::Module& module, const std::string& text) {
  std::mt19937_64 rng(std::hash<std::string>()(text));
  const auto extent = static_cast<int64_t>(rng() % 5);
  const ir::Function& f = module.Get(module.entry);
  std::vector<Tensor> args;
  for (ir::Value v : f.params()) {
    const ir::Type type = f.TypeOf(v);
    Tensor t{type.elem, std::vector<int64_t>(type.rank, type.rank > 4 ? 1 : extent), {}};
    const size_t size = DTypeSize(type.elem);
    t.data.resize(static_cast<size_t>(t.ElementCount()) * size);
    for (size_t at = 0; at < t.data.size(); at += size) {
      const uint64_t bits = Bits(type.elem, rng);
      std::memcpy(t.data.data() + at, &bits, size);
    }
    args.push_back(std::move(t));
  }
  return args;
}

// No tape among the parameters: something that can be called from outside.
inline bool TakesValues(const ir::Module& module) {
  const ir::Function& f = module.Get(module.entry);
  for (ir::Value v : f.params()) {
    if (f.TypeOf(v).IsTape()) return false;
  }
  for (const ir::Type& t : f.results) {
    if (t.IsTape()) return false;
  }
  return true;
}

}  // namespace pullback::fuzz
