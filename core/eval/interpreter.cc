#include "core/eval/interpreter.h"

#include "core/eval/machine.h"
#include "core/eval/scalar_ops.h"

namespace pullback::eval {
namespace {

Status BadArgument(size_t i, const std::string& what) {
  return Status(Code::kInternal, "BAD_ARGUMENTS", "argument " + std::to_string(i) + " " + what);
}

Status CheckTensor(size_t i, const Tensor& t, ir::Type wanted) {
  const size_t rank = wanted.IsArray() ? wanted.rank : 0;
  if (wanted.IsTape() || wanted.HasRecord() || t.list || t.dtype != wanted.elem ||
      t.shape.size() != rank) {
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

// A tensor in, its slot out; lists with all they hold.
StatusOr<Slot> LoadArgument(Machine& machine, const ir::Module& m, size_t i, const Tensor& t,
                            ir::Type type, int nesting = 0) {
  if (!type.IsList()) {
    PB_RETURN_IF_ERROR(CheckTensor(i, t, type));
    return type.IsScalar() ? Slot(ScalarBits(t)) : machine.NewArray(t);
  }
  if (!t.list || nesting >= kMaxListNesting) return BadArgument(i, "is not " + ToString(type, m));
  ListRef list = machine.NewList(type);
  for (const std::vector<Tensor>& record : t.list->records) {
    if (record.size() != list->width) return BadArgument(i, "has an element of other fields");
    for (size_t k = 0; k < record.size(); ++k) {
      PB_ASSIGN_OR_RETURN(Slot s,
                          LoadArgument(machine, m, i, record[k], m.FieldsOf(type)[k], nesting + 1));
      list->slots.push_back(std::move(s));
    }
    ++list->size;
  }
  list->Count();
  return Slot(std::move(list));
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

StatusOr<std::vector<Slot>> LoadArguments(Machine& machine, const ir::Module& m,
                                          const ir::Function& f, const std::vector<Tensor>& args) {
  if (f.blocks.empty() || args.size() != f.params().size()) {
    return Status(Code::kInternal, "BAD_ARGUMENTS", "wrong number of arguments");
  }
  std::vector<Slot> slots;
  for (size_t i = 0; i < args.size(); ++i) {
    const ir::Type type = f.TypeOf(f.params()[i]);
    PB_ASSIGN_OR_RETURN(Slot slot, LoadArgument(machine, m, i, args[i], type));
    slots.push_back(std::move(slot));
  }
  return slots;
}

StatusOr<Tensor> ListResultOf(const List& list, const ir::Module& m, ir::Type type, int nesting);

StatusOr<Tensor> LeafOf(const Slot& slot, const ir::Module& m, ir::Type type, int nesting) {
  if (!type.IsList()) return ResultOf(slot, type);
  return ListResultOf(*std::get<ListRef>(slot), m, type, nesting);
}

StatusOr<Tensor> ListResultOf(const List& list, const ir::Module& m, ir::Type type, int nesting) {
  if (nesting >= kMaxListNesting) {
    return Status(Code::kResourceExhausted, "VALUE_TOO_DEEP", "a result nests too many lists");
  }
  auto out = std::make_shared<ListValue>();
  for (int64_t i = 0; i < list.size; ++i) {
    std::vector<Tensor>& record = out->records.emplace_back();
    for (size_t k = 0; k < list.width; ++k) {
      const Slot& slot = list.slots[static_cast<size_t>(i) * list.width + k];
      PB_ASSIGN_OR_RETURN(Tensor leaf, LeafOf(slot, m, m.FieldsOf(type)[k], nesting + 1));
      record.push_back(std::move(leaf));
    }
  }
  Tensor t;
  t.list = std::move(out);
  return t;
}

}  // namespace

StatusOr<Result> RunFunction(const ir::Module& module, uint32_t function,
                             const std::vector<Tensor>& args, const Limits& limits) {
  if (function >= module.functions.size()) {
    return Status(Code::kInternal, "BAD_ARGUMENTS", "there is no such function");
  }
  const ir::Function& f = module.Get(function);
  for (ir::Type t : f.results) {
    if (t.IsTape() || t.IsBox()) {
      return Status(Code::kInternal, "BAD_ARGUMENTS", "a tape or box cannot be a result");
    }
  }
  Machine machine(module, limits);
  PB_ASSIGN_OR_RETURN(std::vector<Slot> slots, LoadArguments(machine, module, f, args));
  machine.Run(function, std::move(slots));
  PB_RETURN_IF_ERROR(machine.status());
  Result result;
  result.cost = machine.cost();
  result.trap = machine.trap();
  for (size_t i = 0; i < machine.results().size(); ++i) {
    PB_ASSIGN_OR_RETURN(Tensor leaf, LeafOf(machine.results()[i], module, f.results[i], 0));
    result.values.push_back(std::move(leaf));
  }
  return result;
}

StatusOr<Result> Run(const ir::Module& module, const std::vector<Tensor>& args,
                     const Limits& limits) {
  return RunFunction(module, module.entry, args, limits);
}

}  // namespace pullback::eval
