#include "core/eval/interpreter.h"

#include "core/eval/machine.h"
#include "core/eval/scalar_ops.h"

namespace pullback::eval {
namespace {

Status BadArgument(size_t i, const std::string& what) {
  return Status(Code::kInternal, "BAD_ARGUMENTS", "argument " + std::to_string(i) + " " + what);
}

Status CheckArgument(size_t i, const Tensor& t, ir::Type wanted) {
  const size_t rank = wanted.IsArray() ? wanted.rank : 0;
  if (wanted.IsTape() || t.dtype != wanted.elem || t.shape.size() != rank) {
    return BadArgument(i, "is not " + ToString(wanted));
  }
  int64_t bytes = static_cast<int64_t>(DTypeSize(t.dtype));
  for (int64_t n : t.shape) {
    if (n < 0 || __builtin_mul_overflow(bytes, n, &bytes)) return BadArgument(i, "has a bad shape");
  }
  const bool whole = static_cast<uint64_t>(bytes) == t.data.size();
  return whole ? Status() : BadArgument(i, "has data that does not fit its shape");
}

uint64_t ScalarBits(const Tensor& t) {
  uint64_t bits = 0;
  std::memcpy(&bits, t.data.data(), t.data.size());
  return bits;
}

Tensor ScalarTensor(DType type, uint64_t bits) {
  Tensor t{type, {}, std::vector<uint8_t>(DTypeSize(type))};
  std::memcpy(t.data.data(), &bits, t.data.size());
  return t;
}

Tensor ResultOf(const Slot& slot, ir::Type type) {
  if (type.IsScalar()) {
    return ScalarTensor(type.elem, CanonicalNan(type.elem, std::get<uint64_t>(slot)));
  }
  const Array& array = *std::get<ArrayRef>(slot);
  Meter unmetered;
  Array copy(array.tensor, unmetered);
  for (int64_t i = 0; type.IsFloat() && i < copy.Count(); ++i) {
    copy.Store(i, CanonicalNan(type.elem, copy.Load(i)));
  }
  return Tensor{copy.tensor};
}

StatusOr<std::vector<Slot>> LoadArguments(Machine& machine, const ir::Function& f,
                                          const std::vector<Tensor>& args) {
  if (f.blocks.empty() || args.size() != f.params().size()) {
    return Status(Code::kInternal, "BAD_ARGUMENTS", "wrong number of arguments");
  }
  std::vector<Slot> slots;
  for (size_t i = 0; i < args.size(); ++i) {
    const ir::Type type = f.TypeOf(f.params()[i]);
    PB_RETURN_IF_ERROR(CheckArgument(i, args[i], type));
    slots.push_back(type.IsScalar() ? Slot(ScalarBits(args[i])) : machine.NewArray(args[i]));
  }
  return slots;
}

}  // namespace

StatusOr<Result> RunFunction(const ir::Module& module, uint32_t function,
                             const std::vector<Tensor>& args, const Limits& limits) {
  if (function >= module.functions.size()) {
    return Status(Code::kInternal, "BAD_ARGUMENTS", "there is no such function");
  }
  const ir::Function& f = module.Get(function);
  for (ir::Type t : f.results) {
    if (t.IsTape()) return Status(Code::kInternal, "BAD_ARGUMENTS", "a tape cannot be a result");
  }
  Machine machine(module, limits);
  PB_ASSIGN_OR_RETURN(std::vector<Slot> slots, LoadArguments(machine, f, args));
  machine.Run(function, std::move(slots));
  PB_RETURN_IF_ERROR(machine.status());
  Result result;
  result.cost = machine.cost();
  result.trap = machine.trap();
  for (size_t i = 0; i < machine.results().size(); ++i) {
    result.values.push_back(ResultOf(machine.results()[i], f.results[i]));
  }
  return result;
}

StatusOr<Result> Run(const ir::Module& module, const std::vector<Tensor>& args,
                     const Limits& limits) {
  return RunFunction(module, module.entry, args, limits);
}

}  // namespace pullback::eval
