#include "core/base/tensor.h"

namespace pullback {

const char* DTypeName(DType t) {
  switch (t) {
    case DType::kF64: return "f64";
    case DType::kF32: return "f32";
    case DType::kI64: return "i64";
    case DType::kBool: return "bool";
  }
  return "?";
}

size_t DTypeSize(DType t) {
  switch (t) {
    case DType::kF64:
    case DType::kI64: return 8;
    case DType::kF32: return 4;
    case DType::kBool: return 1;
  }
  return 0;
}

int64_t Tensor::ElementCount() const {
  int64_t n = 1;
  for (int64_t d : shape) n *= d;
  return n;
}

namespace {

template <typename T, typename Fn>
std::string Join(const std::vector<T>& items, Fn&& text) {
  std::string out;
  for (size_t i = 0; i < items.size(); ++i) out += (i > 0 ? ", " : "") + text(items[i]);
  return out;
}

}  // namespace

// Of an array of structs or tuples: the element.
std::string ApiType::ElementText() const {
  if (!struct_name.empty()) return struct_name;
  return "(" +
         Join(elements,
              [&](const ApiType& part) {
                ApiType own = part;
                std::vector<std::string>& dims = part.is_tuple ? own.array_dims : own.dims;
                const auto outer = static_cast<std::ptrdiff_t>(array_dims.size());
                dims.erase(dims.begin(), dims.begin() + outer);
                return own.array_dims.empty() && part.is_tuple ? own.ElementText() : own.ToString();
              }) +
         ")";
}

std::string ApiType::ToString() const {
  if (!array_dims.empty()) {
    return "[" + Join(array_dims, [](const std::string& d) { return d; }) + "]" + ElementText();
  }
  if (!struct_name.empty()) return struct_name;
  if (is_list) return "list " + elements.at(0).ToString();
  if (is_tuple && !dims.empty()) {  // core/base/relation.h
    return "rel[" + Join(dims, [](const std::string& d) { return d; }) + "]";
  }
  if (is_tuple) {
    return "(" + Join(elements, [](const ApiType& e) { return e.ToString(); }) + ")";
  }
  if (dims.empty()) return DTypeName(dtype);
  return "[" + Join(dims, [](const std::string& d) { return d; }) + "]" + DTypeName(dtype);
}

}  // namespace pullback
