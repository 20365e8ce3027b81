// Programs to load, and what the process has mapped.
#pragma once

#include <fstream>
#include <functional>
#include <sstream>

#include "tests/jit/llvm_support.h"

namespace pullback::jit {

// x -> sin(x) * k
inline loops::Module SinModule(double k) {
  loops::Module module;
  loops::FunctionBuilder f(module, {ir::Type::F64()}, {ir::Type::F64()});
  f.Return({f.Op(ir::Op::Mul, {f.Op(ir::Op::Sin, {f.param(0)}), f.F64(k)})});
  return module;
}

// The sum of sin over an array: constants, vector calls, loops.
inline loops::Module SinSumModule() {
  loops::Module module;
  loops::FunctionBuilder f(module, {ir::Type::Array(DType::kF64, 1)}, {ir::Type::F64()});
  const loops::Reg lanes = f.LanesNew(DType::kF64);
  f.For(f.I64(0), f.Dim(f.param(0), 0), [&](loops::Reg i) {
    f.LaneAdd(lanes, i,
              f.Op(ir::Op::Mul, {f.Op(ir::Op::Sin, {f.Load(f.param(0), i)}), f.F64(0.3)}));
  });
  f.Release(f.param(0));
  f.Return({f.LanesTotal(lanes)});
  return module;
}

// One function whose values are all alive at its end.
inline loops::Module ManyValues(int count) {
  loops::Module module;
  loops::FunctionBuilder f(module, {ir::Type::F64()}, {ir::Type::F64()});
  std::vector<loops::Reg> values{f.param(0)};
  for (int i = 0; i < count; ++i) values.push_back(f.Op(ir::Op::Add, {values.back(), f.param(0)}));
  loops::Reg sum = values[0];
  for (auto v = values.rbegin(); v != values.rend(); ++v) sum = f.Op(ir::Op::Mul, {sum, *v});
  f.Return({sum});
  return module;
}

// So many loops within each other, of two turns each.
inline loops::Module DeepNest(int depth) {
  loops::Module module;
  loops::FunctionBuilder f(module, {ir::Type::I64()}, {ir::Type::F64()});
  const loops::Reg lanes = f.LanesNew(DType::kF64);
  const loops::Reg zero = f.I64(0), two = f.I64(2);
  const std::function<void(int)> nest = [&](int left) {
    f.For(zero, two, [&](loops::Reg i) {
      if (left > 1) return nest(left - 1);
      f.LaneAdd(lanes, i, f.Scalar(ir::Op::Cast, ir::Type::F64(), {i}));
    });
  };
  nest(depth);
  f.Return({f.LanesTotal(lanes)});
  return module;
}

struct Maps {
  int write_and_execute = 0;
  int64_t executable_anonymous = 0;  // bytes
};

inline Maps ReadMaps() {
  Maps maps;
  std::ifstream file("/proc/self/maps");
  for (std::string line; std::getline(file, line);) {
    std::istringstream in(line);
    std::string range, access, offset, device, inode, name;
    in >> range >> access >> offset >> device >> inode >> name;
    if (access[1] == 'w' && access[2] == 'x') ++maps.write_and_execute;
    if (access[2] == 'x' && name.empty()) {
      const size_t dash = range.find('-');
      maps.executable_anonymous += std::stoll(range.substr(dash + 1), nullptr, 16) -
                                   std::stoll(range.substr(0, dash), nullptr, 16);
    }
  }
  return maps;
}

}  // namespace pullback::jit
