// Values that cross the API: dense row-major tensors, and tuples of them.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace pullback {

enum class DType : uint8_t { kF64 = 1, kF32 = 2, kI64 = 3, kBool = 4 };
const char* DTypeName(DType t);  // "f64"
size_t DTypeSize(DType t);       // bytes: 8 4 8 1

// No axis of any array is longer, not even of one without elements: proofs about subscripts rest on it.
inline constexpr int64_t kMaxExtent = int64_t{1} << 48;

struct ListValue;

// A leaf of a value, as parameters and results of kernels take it: dense, row-major, little-endian. A
// scalar has an empty shape and one element. Or, with `list`, a list, and nothing else counts.
struct Tensor {
  DType dtype = DType::kF64;
  std::vector<int64_t> shape;
  std::vector<uint8_t> data;  // size = element count * DTypeSize
  std::shared_ptr<const ListValue> list = nullptr;

  int64_t ElementCount() const;
  template <typename T>
  T At(int64_t i) const {
    T v;
    std::memcpy(&v, data.data() + static_cast<size_t>(i) * sizeof(T), sizeof(T));
    return v;
  }
  template <typename T>
  static Tensor Of(DType dtype, std::vector<int64_t> shape, const std::vector<T>& values) {
    Tensor t{dtype, std::move(shape), std::vector<uint8_t>(values.size() * sizeof(T))};
    if (!values.empty()) std::memcpy(t.data.data(), values.data(), t.data.size());
    return t;
  }
  static Tensor F64(double v) { return Of<double>(DType::kF64, {}, {v}); }
  static Tensor F32(float v) { return Of<float>(DType::kF32, {}, {v}); }
  static Tensor I64(int64_t v) { return Of<int64_t>(DType::kI64, {}, {v}); }
  static Tensor Bool(bool v) {
    return Of<uint8_t>(DType::kBool, {}, {v ? uint8_t{1} : uint8_t{0}});
  }
};

// Elements in order; each the leaves of the list's element type in order, which may be lists again.
struct ListValue {
  std::vector<std::vector<Tensor>> records;
};
// Lists within lists that may enter or leave a run: beyond it values are refused, since who walks
// them recurs.
inline constexpr int kMaxListNesting = 1000;

// The type of a parameter or result as the API shows it: a tensor leaf, a tuple of types, or a list. A
// struct is a tuple whose elements have names. Inside a list a struct is only named, since it may hold
// lists of itself: its fields are in the signature's structs.
struct ApiType {
  bool is_tuple = false;
  DType dtype = DType::kF64;
  std::vector<std::string> dims;  // size expressions as text, e.g. {"n", "n - m + 1"}
  std::vector<ApiType> elements;  // of a tuple; the one of a list
  std::string struct_name = {};
  std::vector<std::string> field_names = {};  // of a struct: one per element
  bool is_list = false;
  // Of an array of tuples or structs: its sizes. It is the tuple of the arrays of their parts, whose
  // first axes have these sizes.
  std::vector<std::string> array_dims = {};
  int32_t declared = -1;  // of a struct inside a list: its place in the signature's structs
  std::string ElementText() const;
  std::string ToString() const;  // "[n, 3]f64", "(f64, [n]f64)", "Camera", "list f64"
};
// The structs that a signature's lists name.
using ApiStructs = std::vector<ApiType>;

struct ListData;  // core/base/lists.h

// A value of ApiType: a tensor, a tuple of values, or with `list` a list.
struct ApiValue {
  bool is_tuple = false;
  Tensor tensor;
  std::vector<ApiValue> elements;
  std::shared_ptr<const ListData> list = nullptr;
};

}  // namespace pullback
