#include "jit/arguments.h"

#include <algorithm>
#include <string>

#include "jit/leaves.h"
#include "jit/list_types.h"
#include "jit/size_plan.h"

namespace pullback::jit {
namespace {

// Where a value stands, for messages; a chain on the stack, so that naming costs nothing until then.
struct Path {
  const char* role;  // "argument", "seed"
  const std::string* name = nullptr;
  const Path* outer = nullptr;
  size_t element = 0;
  const ApiType* within = nullptr;  // the tuple or struct that it is an element of

  std::string Elements() const {
    if (outer == nullptr) return "";
    const std::vector<std::string>& fields = within->field_names;
    return outer->Elements() + "." +
           (element < fields.size() ? fields[element] : std::to_string(element));
  }
  std::string Text() const {
    const std::string named = name == nullptr ? "" : " '" + *name + Elements() + "'";
    return role +
           (name == nullptr && outer != nullptr ? " element " + Elements().substr(1) : named);
  }
};

Status Invalid(const char* reason, std::string message) {
  return {Code::kInvalidArgument, reason, std::move(message)};
}

std::string Describe(const TensorView& t) {
  ApiType type;
  type.dtype = t.dtype;
  for (int64_t extent : t.shape) type.dims.push_back(std::to_string(extent));
  return type.ToString();
}

std::string Describe(const ApiValue& value) {
  if (value.list) return "a list of " + std::to_string(value.list->length);
  if (value.is_tuple) return "a tuple of " + std::to_string(value.elements.size());
  return Describe(value.tensor);
}

template <typename Value>
Status TypeMismatch(const Path& path, const std::string& expected, const Value& got) {
  return Invalid("TYPE_MISMATCH",
                 path.Text() + ": expected " + expected + ", got " + Describe(got));
}

// Bytes of a tensor of that shape; nullopt where an extent is negative or they are too many to count.
std::optional<size_t> ByteSize(const TensorView& t) {
  const bool empty = std::count(t.shape.begin(), t.shape.end(), 0) != 0;
  int64_t bytes = static_cast<int64_t>(DTypeSize(t.dtype));
  for (int64_t extent : t.shape) {
    if (extent < 0 || extent > kMaxExtent) return std::nullopt;
    if (!empty && __builtin_mul_overflow(bytes, extent, &bytes)) return std::nullopt;
  }
  return empty ? 0 : static_cast<size_t>(bytes);
}

bool AreBools(std::span<const uint8_t> bytes) {
  uint8_t all = 0;
  for (uint8_t b : bytes) all |= b;
  return all <= 1;
}

Status CheckBytes(const Path& path, const TensorView& t) {
  if (ByteSize(t) != t.data.size()) {
    return Invalid("INVALID_VALUE", path.Text() + ": " + std::to_string(t.data.size()) +
                                        " bytes are no tensor " + Describe(t));
  }
  if (t.dtype == DType::kBool && !AreBools(t.data)) {
    return Invalid("INVALID_VALUE", path.Text() + ": a bool is a byte 0 or 1");
  }
  return {};
}

bool HasType(const ApiType& type, const TensorView& t) {
  return t.dtype == type.dtype && t.shape.size() == type.dims.size();
}

// What of a type takes part: all of it, or its floats (of seeds), the rest being empty tuples.
enum class Part { kAll, kFloats };

// Flattens values into leaves, by their types.
class Collector {
 public:
  // `reads` and `memory_bytes` as of CollectInputs, for parameters.
  Collector(const TextView& view, InputLeaves& leaves, const std::vector<bool>* reads = nullptr,
            int64_t memory_bytes = 0)
      : view_(view), leaves_(leaves), reads_(reads), memory_bytes_(memory_bytes) {}

  Status Collect(const ApiType& type, const ApiValue& value, Part part, const Path& path,
                 std::vector<TensorView>& out) {
    if (IsRelation(type)) return CollectRelation(type, value, part, path, out);
    if (type.is_tuple) return CollectTuple(type, value, part, path, out);
    if (part == Part::kFloats && !IsActive(type, view_.signature.structs)) {
      if (value.is_tuple && value.elements.empty()) return {};
      return TypeMismatch(path, "an empty tuple in place of " + type.ToString(), value);
    }
    if (type.is_list) return CollectList(type, value, part, path, out);
    if (value.is_tuple || value.list || !HasType(type, value.tensor)) {
      return TypeMismatch(path, type.ToString(), value);
    }
    out.emplace_back(value.tensor);
    return CheckBytes(path, value.tensor);
  }
  // Of a type that is a tensor's, and takes part.
  Status Collect(const ApiType& type, const TensorView& t, Part, const Path& path,
                 std::vector<TensorView>& out) {
    if (!HasType(type, t)) return TypeMismatch(path, type.ToString(), t);
    out.push_back(t);
    return CheckBytes(path, t);
  }

 private:
  Status CollectTuple(const ApiType& type, const ApiValue& value, Part part, const Path& path,
                      std::vector<TensorView>& out) {
    if (!value.is_tuple || value.elements.size() != type.elements.size()) {
      return TypeMismatch(path, type.ToString(), value);
    }
    for (size_t i = 0; i < type.elements.size(); ++i) {
      const Path inner{path.role, path.name, &path, i, &type};
      PB_RETURN_IF_ERROR(Collect(type.elements[i], value.elements[i], part, inner, out));
    }
    return type.array_dims.empty() ? Status() : CheckShared(type, value, path);
  }

  // The arrays of an array of structs are equally long. Those within a part are compared there.
  static Status CheckShared(const ApiType& type, const ApiValue& value, const Path& path) {
    const Tensor* first = nullptr;
    const size_t axes = type.array_dims.size();
    for (size_t i = 0; i < type.elements.size(); ++i) {
      const ApiValue* part = &value.elements[i];
      const Path inner{path.role, path.name, &path, i, &type};
      while (part->is_tuple && !part->elements.empty()) part = &part->elements[0];
      if (part->is_tuple || part->list) continue;  // has no derivative
      if (!first) first = &part->tensor;
      for (size_t axis = 0; axis < axes; ++axis) {
        const int64_t want = first->shape[axis], got = part->tensor.shape[axis];
        if (got == want) continue;
        return Invalid("SIZE_MISMATCH", inner.Text() + " axis " + std::to_string(axis) +
                                            ": expected " + std::to_string(want) +
                                            " as the other arrays of " + type.ToString() +
                                            " have, got " + std::to_string(got));
      }
    }
    return {};
  }

  Status CollectRelation(const ApiType& type, const ApiValue& value, Part part, const Path& path,
                         std::vector<TensorView>& out) {
    if (part == Part::kFloats) {
      if (value.is_tuple && value.elements.empty()) return {};
      return TypeMismatch(path, "an empty tuple in place of " + type.ToString(), value);
    }
    if (!value.is_tuple) return TypeMismatch(path, type.ToString(), value);
    const std::string fault = FaultOfRelation(type.dims.size(), value);
    if (!fault.empty()) return Invalid("INVALID_VALUE", path.Text() + ": " + fault);
    std::vector<bool> needed;
    if (!reads_->empty()) {
      const auto first = reads_->begin() + static_cast<std::ptrdiff_t>(out.size());
      needed.assign(first, first + static_cast<std::ptrdiff_t>(type.elements.size()));
    }
    leaves_.relation_bytes += RelationBytes(value, needed);
    if (leaves_.relation_bytes > memory_bytes_) {
      return {Code::kResourceExhausted, "MEMORY_BUDGET",
              path.Text() + ": the relation needs " + std::to_string(leaves_.relation_bytes) +
                  " bytes, over the budget of " + std::to_string(memory_bytes_)};
    }
    leaves_.relations.push_back(MakeRelationLeaves(value, needed));
    for (const Tensor* array : leaves_.relations.back().all) out.emplace_back(*array);
    return {};
  }

  Status CollectList(const ApiType& type, const ApiValue& value, Part part, const Path& path,
                     std::vector<TensorView>& out) {
    // Among the tensors a list is a scalar, which no size is made of.
    static const Tensor kInPlace = Tensor::F64(0);
    if (!value.list) return TypeMismatch(path, type.ToString(), value);
    if (const std::string fault = FaultOf(*value.list); !fault.empty()) {
      return Invalid("INVALID_VALUE", path.Text() + ": " + fault);
    }
    const ListType& list = view_.lists->Of(type);
    const std::string fault = Mismatch(list.plan, *value.list, part == Part::kFloats);
    if (!fault.empty()) return Invalid("TYPE_MISMATCH", path.Text() + ": " + fault);
    leaves_.lists.push_back(
        {leaves_.params.size() + leaves_.seeds.size(), value.list.get(), &list});
    out.emplace_back(kInPlace);
    return {};
  }

  const TextView& view_;
  InputLeaves& leaves_;
  const std::vector<bool>* const reads_;  // null: not needed
  const int64_t memory_bytes_;
};

Status CheckCount(const char* what, size_t expected, size_t got) {
  if (got == expected) return {};
  return Invalid(
      got < expected ? "MISSING_ARGUMENT" : "UNKNOWN_ARGUMENT",
      "expected " + std::to_string(expected) + " " + what + ", got " + std::to_string(got));
}

template <typename In>
Status CollectParams(Collector& collector, const TextView& view, const In& inputs,
                     InputLeaves* leaves) {
  const std::vector<lang::Parameter>& params = view.signature.params;
  if (inputs.args.size() < params.size()) {
    return Invalid("MISSING_ARGUMENT",
                   "argument '" + params[inputs.args.size()].name + "' is missing");
  }
  PB_RETURN_IF_ERROR(CheckCount("arguments", params.size(), inputs.args.size()));
  for (size_t i = 0; i < params.size(); ++i) {
    PB_RETURN_IF_ERROR(collector.Collect(params[i].type, inputs.args[i], Part::kAll,
                                         {"argument", &params[i].name}, leaves->params));
  }
  return view.sizes->Check(leaves->params);
}

Status CheckSeedExtent(const Path& path, const TensorView& seed, size_t axis, int64_t expected) {
  if (seed.shape[axis] == expected) return {};
  return Invalid("SIZE_MISMATCH", path.Text() + " axis " + std::to_string(axis) + ": expected " +
                                      std::to_string(expected) + ", got " +
                                      std::to_string(seed.shape[axis]));
}

// The sizes of a derivative are those of what it belongs to.
Status CheckLike(const TextView& view, const Path& path, const ApiType& type,
                 const ApiValue& derivative, const ApiValue& of) {
  if (IsRelation(type)) return {};
  for (size_t i = 0; i < type.elements.size() && type.is_tuple; ++i) {
    const Path inner{path.role, path.name, &path, i, &type};
    PB_RETURN_IF_ERROR(
        CheckLike(view, inner, type.elements[i], derivative.elements[i], of.elements[i]));
  }
  if (type.is_tuple || !IsActive(type, view.signature.structs)) return {};
  if (type.is_list) {
    const std::string fault = ShapeMismatch(view.lists->Of(type).plan, *derivative.list, *of.list);
    return fault.empty() ? Status() : Invalid("SIZE_MISMATCH", path.Text() + ": " + fault);
  }
  for (size_t axis = 0; axis < type.dims.size(); ++axis) {
    PB_RETURN_IF_ERROR(CheckSeedExtent(path, derivative.tensor, axis, of.tensor.shape[axis]));
  }
  return {};
}

Status CheckLike(const TextView&, const Path& path, const ApiType&, const TensorView& derivative,
                 const TensorView& of) {
  for (size_t axis = 0; axis < of.shape.size(); ++axis) {
    PB_RETURN_IF_ERROR(CheckSeedExtent(path, derivative, axis, of.shape[axis]));
  }
  return {};
}

// One tangent for each parameter of wrt, shaped like it. Kernels take them in the parameters' order.
template <typename In>
Status CollectTangents(Collector& collector, const TextView& view, const Derivation& derivation,
                       const In& inputs, InputLeaves* leaves) {
  const std::vector<uint32_t>& wrt = derivation.wrt;
  PB_RETURN_IF_ERROR(CheckCount("seeds", wrt.size(), inputs.seeds.size()));
  for (size_t i : InSlotOrder(wrt)) {
    const lang::Parameter& p = view.signature.params[wrt[i]];
    const Path path{"seed", &p.name};
    PB_RETURN_IF_ERROR(
        collector.Collect(p.type, inputs.seeds[i], Part::kFloats, path, leaves->seeds));
    PB_RETURN_IF_ERROR(CheckLike(view, path, p.type, inputs.seeds[i], inputs.args[wrt[i]]));
  }
  return {};
}

// The sizes of the result follow from the arguments; one that divides by zero is told by the run, if that does not
// trap (CheckCotangent).
Status CheckCotangentSizes(const TextView& view, const Path& path, const InputLeaves& leaves) {
  const std::vector<SizePlan::Extents> extents = view.sizes->ResultExtents(leaves.params);
  size_t seed = 0, leaf = 0;
  Status fault;
  ForEachLeaf(view.signature.result, [&](const ApiType& type) {
    const SizePlan::Extents& expected = extents[leaf++];
    if (!IsActive(type, view.signature.structs)) return;
    const TensorView& t = leaves.seeds[seed++];
    for (size_t axis = 0; axis < expected.size() && fault.ok(); ++axis) {
      if (expected[axis]) fault = CheckSeedExtent(path, t, axis, *expected[axis]);
    }
  });
  return fault;
}

// One cotangent, shaped like the result.
template <typename In>
Status CollectCotangent(Collector& collector, const TextView& view, const In& inputs,
                        InputLeaves* leaves) {
  PB_RETURN_IF_ERROR(CheckCount("seed (shaped like the result)", 1, inputs.seeds.size()));
  const ApiType& result = view.signature.result;
  const Path path{"seed"};
  PB_RETURN_IF_ERROR(
      collector.Collect(result, inputs.seeds[0], Part::kFloats, path, leaves->seeds));
  const bool scalars = std::all_of(leaves->seeds.begin(), leaves->seeds.end(),
                                   [](const TensorView& t) { return t.shape.empty(); });
  return scalars ? Status() : CheckCotangentSizes(view, path, *leaves);
}

template <typename In>
Status CollectAll(Collector& collector, const TextView& view, const Derivation& derivation,
                  const In& inputs, InputLeaves* leaves) {
  PB_RETURN_IF_ERROR(CollectParams(collector, view, inputs, leaves));
  if (derivation.transform == Transform::kJvp || derivation.transform == Transform::kHvp) {
    return CollectTangents(collector, view, derivation, inputs, leaves);
  }
  if (derivation.transform == Transform::kVjp) {
    return CollectCotangent(collector, view, inputs, leaves);
  }
  return CheckCount("seeds", 0, inputs.seeds.size());
}

void Clear(InputLeaves* leaves) {
  leaves->params.clear();
  leaves->seeds.clear();
  if (!leaves->relations.empty()) leaves->relations.clear();
  leaves->relation_bytes = 0;
  leaves->lists.clear();
}

}  // namespace

Status CheckCotangent(const TextView& view, const ApiValue& seed, const ApiValue& value) {
  return CheckLike(view, {"seed"}, view.signature.result, seed, value);
}

Status CheckCotangent(const TextView& view, const TensorView& seed,
                      std::span<const int64_t> shape) {
  TensorView value;
  value.shape = shape;
  return CheckLike(view, {"seed"}, view.signature.result, seed, value);
}

Status CollectInputs(const TextView& view, const Derivation& derivation, const Inputs& inputs,
                     const std::vector<bool>& reads, int64_t memory_bytes, InputLeaves* leaves) {
  Clear(leaves);
  Collector collector(view, *leaves, &reads, memory_bytes);
  return CollectAll(collector, view, derivation, inputs, leaves);
}

Status CollectInputs(const TextView& view, const Derivation& derivation, const TensorInputs& inputs,
                     InputLeaves* leaves) {
  Clear(leaves);
  Collector collector(view, *leaves);
  return CollectAll(collector, view, derivation, inputs, leaves);
}

}  // namespace pullback::jit
