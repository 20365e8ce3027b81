#include "core/base/relation.h"

#include <algorithm>
#include <numeric>

namespace pullback {
namespace {

using Ints = std::vector<int64_t>;

// Searches for a tuple take at most this many steps (core/lang/lower_relation.cc).
constexpr int64_t kMaxTuples = (int64_t{1} << 31) - 1;

Tensor ToTensor(const Ints& values) {
  return Tensor::Of<int64_t>(DType::kI64, {static_cast<int64_t>(values.size())}, values);
}

Ints ToInts(const Tensor& t) {
  Ints values(t.data.size() / sizeof(int64_t));
  if (!values.empty()) std::memcpy(values.data(), t.data.data(), t.data.size());
  return values;
}

bool IsVector(const ApiValue& v) {
  const Tensor& t = v.tensor;
  return !v.is_tuple && !v.list && t.dtype == DType::kI64 && t.shape.size() == 1 &&
         t.shape[0] >= 0 && t.data.size() % sizeof(int64_t) == 0 &&
         static_cast<uint64_t>(t.shape[0]) == t.data.size() / sizeof(int64_t);
}

std::string TupleText(const std::vector<Ints>& coordinates, size_t at) {
  std::string text;
  for (const Ints& axis : coordinates)
    text += (text.empty() ? "" : ", ") + std::to_string(axis[at]);
  return "(" + text + ")";
}

std::string SizesText(const Ints& sizes) {
  std::string text;
  for (int64_t n : sizes) text += (text.empty() ? "" : ", ") + std::to_string(n);
  return "rel[" + text + "]";
}

std::vector<Ints> CoordinatesOf(const ApiValue& value) {
  std::vector<Ints> coordinates;
  for (size_t i = 1; i < value.elements.size(); ++i) {
    coordinates.push_back(ToInts(value.elements[i].tensor));
  }
  return coordinates;
}

bool Before(const std::vector<Ints>& c, size_t a, size_t b) {
  for (const Ints& axis : c) {
    if (axis[a] != axis[b]) return axis[a] < axis[b];
  }
  return false;
}

Ints StartsOf(const Ints& coordinate, int64_t size) {
  Ints starts(static_cast<size_t>(size) + 1, 0);
  for (int64_t i : coordinate) ++starts[static_cast<size_t>(i) + 1];
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  return starts;
}

// `order`, sorted by the coordinate; equal ones keep their order.
Ints SortedBy(const Ints& coordinate, const Ints& order, Ints starts) {
  Ints sorted(order.size());
  for (int64_t p : order) {
    const size_t key = static_cast<size_t>(coordinate[static_cast<size_t>(p)]);
    sorted[static_cast<size_t>(starts[key]++)] = p;
  }
  return sorted;
}

Ints Identity(size_t n) {
  Ints order(n);
  std::iota(order.begin(), order.end(), int64_t{0});
  return order;
}

// Puts the tuples into lexicographic order and drops those that come twice.
void Normalise(const Ints& sizes, std::vector<Ints>& c) {
  const size_t n = c[0].size();
  size_t ordered = 1;
  while (ordered < n && Before(c, ordered - 1, ordered)) ++ordered;
  if (ordered >= n) return;
  Ints order = Identity(n);
  for (size_t axis = c.size(); axis-- > 0;) {
    order = SortedBy(c[axis], order, StartsOf(c[axis], sizes[axis]));
  }
  const auto same = [&](int64_t a, int64_t b) {
    const size_t x = static_cast<size_t>(a), y = static_cast<size_t>(b);
    return !Before(c, x, y) && !Before(c, y, x);
  };
  order.erase(std::unique(order.begin(), order.end(), same), order.end());
  for (Ints& axis : c) {
    Ints sorted;
    sorted.reserve(order.size());
    for (int64_t p : order) sorted.push_back(axis[static_cast<size_t>(p)]);
    axis = std::move(sorted);
  }
}

}  // namespace

ApiType RelationApiType(std::vector<std::string> sizes) {
  const size_t arity = sizes.size();
  ApiType type;
  type.is_tuple = true;
  type.dims = std::move(sizes);
  const RelationLayout layout{arity};
  for (size_t i = 0; i < layout.Count(); ++i) {
    ApiType array;
    array.dtype = DType::kI64;
    array.dims = {"_"};
    if (i == layout.Domain()) {
      array.dims = type.dims;
      array.dims.push_back("0");
    }
    type.elements.push_back(std::move(array));
  }
  return type;
}

ApiValue RelationFromCoo(const Ints& sizes, const std::vector<Ints>& coordinates) {
  ApiValue value;
  value.is_tuple = true;
  value.elements.resize(1 + coordinates.size());
  value.elements[0].tensor = ToTensor(sizes);
  for (size_t i = 0; i < coordinates.size(); ++i) {
    value.elements[i + 1].tensor = ToTensor(coordinates[i]);
  }
  return value;
}

StatusOr<ApiValue> RelationFromCsr(const Ints& sizes, const Ints& row_starts, const Ints& columns) {
  const auto invalid = [](std::string message) {
    return Status(Code::kInvalidArgument, "INVALID_VALUE", std::move(message));
  };
  if (sizes.size() != 2) return invalid("rows and columns are of a relation between two indices");
  if (row_starts.empty() || static_cast<int64_t>(row_starts.size()) - 1 != sizes[0]) {
    return invalid("a relation " + SizesText(sizes) + " has " + std::to_string(sizes[0]) +
                   " rows, so that there are one more row starts; got " +
                   std::to_string(row_starts.size()));
  }
  if (row_starts.front() != 0 || row_starts.back() != static_cast<int64_t>(columns.size())) {
    return invalid("row starts begin with 0 and end with the number of columns, " +
                   std::to_string(columns.size()) + "; got " + std::to_string(row_starts.front()) +
                   " and " + std::to_string(row_starts.back()));
  }
  for (size_t i = 1; i < row_starts.size(); ++i) {
    if (row_starts[i] >= row_starts[i - 1]) continue;
    return invalid("row starts never decrease, but row " + std::to_string(i) + " starts at " +
                   std::to_string(row_starts[i]) + ", after " + std::to_string(row_starts[i - 1]));
  }
  Ints rows;
  rows.reserve(columns.size());
  for (size_t i = 1; i < row_starts.size(); ++i) {
    rows.insert(rows.end(), static_cast<size_t>(row_starts[i] - row_starts[i - 1]),
                static_cast<int64_t>(i - 1));
  }
  return RelationFromCoo(sizes, {std::move(rows), columns});
}

std::string FaultOfRelation(size_t arity, const ApiValue& value) {
  if (!value.is_tuple || value.elements.size() != arity + 1 ||
      !std::all_of(value.elements.begin(), value.elements.end(), IsVector)) {
    return "a relation between " + std::to_string(arity) + " indices is its sizes and " +
           std::to_string(arity) + " arrays of integers";
  }
  const Ints sizes = ToInts(value.elements[0].tensor);
  if (sizes.size() != arity) {
    return "expected " + std::to_string(arity) + " sizes, got " + std::to_string(sizes.size());
  }
  for (int64_t n : sizes) {
    if (n < 0 || n > kMaxExtent) return "a size is " + std::to_string(n);
  }
  const std::vector<Ints> coordinates = CoordinatesOf(value);
  const size_t count = coordinates[0].size();
  if (count > static_cast<size_t>(kMaxTuples)) {
    return std::to_string(count) + " tuples are too many";
  }
  for (const Ints& axis : coordinates) {
    if (axis.size() == count) continue;
    return "its indices differ in number: " + std::to_string(count) + " and " +
           std::to_string(axis.size());
  }
  for (size_t p = 0; p < count; ++p) {
    for (size_t axis = 0; axis < arity; ++axis) {
      const int64_t i = coordinates[axis][p];
      if (i >= 0 && i < sizes[axis]) continue;
      return "tuple " + std::to_string(p) + ", " + TupleText(coordinates, p) + ", is outside of " +
             SizesText(sizes);
    }
  }
  return "";
}

int64_t RelationBytes(const ApiValue& value) {
  const size_t arity = value.elements.size() - 1;
  const int64_t tuples = value.elements[1].tensor.shape[0];
  int64_t words = tuples * static_cast<int64_t>(4 * arity + 3);
  // No more than 4 sizes of at most kMaxExtent.
  for (int64_t n : ToInts(value.elements[0].tensor)) words += 2 * (n + 1);
  return words * static_cast<int64_t>(sizeof(int64_t));
}

std::vector<Tensor> RelationArrays(const ApiValue& value) {
  const Ints sizes = ToInts(value.elements[0].tensor);
  std::vector<Ints> coordinates = CoordinatesOf(value);
  Normalise(sizes, coordinates);
  const RelationLayout layout{sizes.size()};
  std::vector<Tensor> arrays(layout.Count());
  Tensor& domain = arrays[layout.Domain()];
  domain.dtype = DType::kI64;
  domain.shape = sizes;
  domain.shape.push_back(0);
  for (size_t axis = 0; axis < sizes.size(); ++axis) {
    const Ints starts = StartsOf(coordinates[axis], sizes[axis]);
    arrays[layout.Coordinate(axis)] = ToTensor(coordinates[axis]);
    arrays[layout.Start(axis)] = ToTensor(starts);
    if (axis == 0) continue;
    arrays[layout.Order(axis)] =
        ToTensor(SortedBy(coordinates[axis], Identity(coordinates[axis].size()), starts));
  }
  return arrays;
}

}  // namespace pullback
