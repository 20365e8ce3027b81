// Every scalar op on every type it takes, on values where arithmetic goes wrong first, alone and in
// lanes of eight: the bits of the interpreter.
#include <algorithm>

#include "core/base/math.h"
#include "tests/jit/llvm_support.h"

namespace pullback::jit {
namespace {

using ir::Op;
using ir::Type;
using ir::TypeRule;
using loops::FunctionBuilder;
using loops::Module;
using loops::Reg;

// Operand types that an op accepts, with its result.
struct Use {
  Op op;
  std::vector<DType> operands;
  DType result;
};

void AddUses(Op op, std::vector<Use>& uses) {
  const ir::OpInfo& info = ir::Info(op);
  const auto n = static_cast<size_t>(std::max(info.arity, 0));
  const auto add = [&](DType t, DType result) {
    uses.push_back({op, std::vector<DType>(n, t), result});
  };
  const std::vector<DType> all = {DType::kF64, DType::kF32, DType::kI64, DType::kBool};
  for (const DType t : all) {
    const bool is_float = t == DType::kF64 || t == DType::kF32;
    switch (info.rule) {
      case TypeRule::Float:
        if (is_float) add(t, t);
        break;
      case TypeRule::Num:
        if (t != DType::kBool) add(t, t);
        break;
      case TypeRule::Int:
        if (t == DType::kI64) add(t, t);
        break;
      case TypeRule::Bool:
        if (t == DType::kBool) add(t, t);
        break;
      case TypeRule::ToBoolF:
        if (is_float) add(t, DType::kBool);
        break;
      case TypeRule::Cmp: add(t, DType::kBool); break;
      case TypeRule::Select: uses.push_back({op, {DType::kBool, t, t}, t}); break;
      case TypeRule::Cast:
        for (const DType result : all) add(t, result);
        break;
      case TypeRule::Own: break;
    }
  }
}

std::vector<Use> AllUses() {
  std::vector<Use> uses;
  for (int i = 0; i < ir::kOpCount; ++i) {
    if (static_cast<Op>(i) != Op::SMul) AddUses(static_cast<Op>(i), uses);
  }
  return uses;
}

bool DividesInt(const Use& use) {
  return (use.op == Op::Div || use.op == Op::Rem) && use.operands[0] == DType::kI64;
}

// All combinations of tricky operands that the op may be given.
std::vector<std::vector<Tensor>> Combinations(const Use& use) {
  std::vector<std::vector<Tensor>> all{{}};
  for (size_t i = 0; i < use.operands.size(); ++i) {
    std::vector<std::vector<Tensor>> longer;
    for (const auto& args : all) {
      for (const Tensor& v : TrickyValues(use.operands[i])) {
        if (i == 1 && DividesInt(use) && v.At<int64_t>(0) == 0) continue;
        longer.push_back(args);
        longer.back().push_back(v);
      }
    }
    all = std::move(longer);
  }
  return all;
}

TEST_CASE("Every scalar op has the bits of the interpreter", "[llvm]") {
  const std::vector<Use> uses = AllUses();
  CHECK(uses.size() > 100);
  for (const Use& use : uses) {
    INFO(ir::Info(use.op).mnemonic << " " << DTypeName(use.operands[0]) << " -> "
                                   << DTypeName(use.result));
    Module module;
    std::vector<Type> params;
    for (const DType t : use.operands) params.push_back(Type::Scalar(t));
    FunctionBuilder f(module, params, {Type::Scalar(use.result)});
    std::vector<Reg> args;
    for (size_t i = 0; i < params.size(); ++i) args.push_back(f.param(i));
    f.Return({f.Scalar(use.op, Type::Scalar(use.result), args)});
    CheckSame(module, Combinations(use));
  }
}

// Operands as arrays of all combinations.
std::vector<Tensor> Columns(const Use& use) {
  std::vector<Tensor> columns(use.operands.size());
  const auto rows = Combinations(use);
  for (size_t k = 0; k < columns.size(); ++k) {
    columns[k].dtype = use.operands[k];
    columns[k].shape = {static_cast<int64_t>(rows.size())};
    for (const auto& row : rows) {
      columns[k].data.insert(columns[k].data.end(), row[k].data.begin(), row[k].data.end());
    }
  }
  return columns;
}

// y[i] = op(x[i]...), next to a sum, which makes the loop run in groups of eight.
TEST_CASE("Every scalar op has the same bits in lanes of eight", "[llvm]") {
  for (const Use& use : AllUses()) {
    INFO(ir::Info(use.op).mnemonic << " " << DTypeName(use.operands[0]) << " -> "
                                   << DTypeName(use.result));
    Module module;
    std::vector<Type> params;
    for (const DType t : use.operands) params.push_back(Type::Array(t, 1));
    FunctionBuilder f(module, params, {Type::Array(use.result, 1), Type::I64()});
    const Reg n = f.Dim(f.param(0), 0);
    const Reg y = f.Alloc(use.result, {n}, false);
    const Reg lanes = f.LanesNew(DType::kI64);
    f.For(f.I64(0), n, [&](Reg i) {
      std::vector<Reg> args;
      for (size_t k = 0; k < params.size(); ++k) args.push_back(f.Load(f.param(k), i));
      f.Store(y, i, f.Scalar(use.op, Type::Scalar(use.result), args));
      f.LaneAdd(lanes, i, i);
    });
    for (size_t k = 0; k < params.size(); ++k) f.Release(f.param(k));
    f.Return({y, f.LanesTotal(lanes)});
    CheckSame(module, {Columns(use)});
  }
}

// y[i] = op(x[i]...) alone: in groups of eight or sixteen.
TEST_CASE("Every scalar op has the same bits in vectors of any width", "[llvm]") {
  for (const Use& use : AllUses()) {
    INFO(ir::Info(use.op).mnemonic << " " << DTypeName(use.operands[0]) << " -> "
                                   << DTypeName(use.result));
    Module module;
    std::vector<Type> params;
    for (const DType t : use.operands) params.push_back(Type::Array(t, 1));
    FunctionBuilder f(module, params, {Type::Array(use.result, 1)});
    const Reg n = f.Dim(f.param(0), 0);
    const Reg y = f.Alloc(use.result, {n}, false);
    f.For(f.I64(0), n, [&](Reg i) {
      std::vector<Reg> args;
      for (size_t k = 0; k < params.size(); ++k) args.push_back(f.Load(f.param(k), i));
      f.Store(y, i, f.Scalar(use.op, Type::Scalar(use.result), args));
    });
    for (size_t k = 0; k < params.size(); ++k) f.Release(f.param(k));
    f.Return({y});
    CheckSame(module, {Columns(use)});
  }
}

// What two ops make together is not what an optimiser makes of them: max(abs(x), 0) was 0 of -1.
TEST_CASE("Scalar ops of each other and of constants have the bits of the interpreter", "[llvm]") {
  const Op inner[] = {Op::Neg, Op::Abs, Op::Sqrt, Op::Floor, Op::Sign};
  const Op outer[] = {Op::Add, Op::Sub, Op::Mul, Op::Div, Op::Rem, Op::Max, Op::Min,
                      Op::Lt,  Op::Le,  Op::Gt,  Op::Ge,  Op::Eq,  Op::Ne};
  const double constants[] = {0.0, -0.0, 1.0, -1.0};
  for (const Op in : inner) {
    for (const Op out : outer) {
      INFO(ir::Info(in).mnemonic << ", " << ir::Info(out).mnemonic);
      const bool compares = ir::Info(out).rule == TypeRule::Cmp;
      const Type result = compares ? Type::Bool() : Type::F64();
      Module module;
      FunctionBuilder f(module, {Type::F64()}, std::vector<Type>(9, result));
      const Reg x = f.Scalar(in, Type::F64(), {f.param(0)});
      std::vector<Reg> results = {f.Scalar(out, result, {x, f.param(0)})};
      for (const double c : constants) {
        const Reg constant = f.Const(Type::F64(), std::bit_cast<uint64_t>(c));
        results.push_back(f.Scalar(out, result, {x, constant}));
        results.push_back(f.Scalar(out, result, {constant, x}));
      }
      f.Return(results);
      std::vector<std::vector<Tensor>> args;
      for (const Tensor& v : TrickyValues(DType::kF64)) args.push_back({v});
      for (const double v : {-2.0, -0.5, 0.5, 3.0}) args.push_back({Tensor::F64(v)});
      CheckSame(module, args);
    }
  }
}

}  // namespace
}  // namespace pullback::jit
