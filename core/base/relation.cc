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

Tensor NewVector(size_t count) {
  return {
      DType::kI64, {static_cast<int64_t>(count)}, std::vector<uint8_t>(count * sizeof(int64_t))};
}

// Buffers are as aligned as what operator new gives.
int64_t* Words(Tensor& t) { return reinterpret_cast<int64_t*>(t.data.data()); }
const int64_t* Words(const Tensor& t) { return reinterpret_cast<const int64_t*>(t.data.data()); }
size_t Count(const Tensor& t) { return t.data.size() / sizeof(int64_t); }

bool IsVector(const ApiValue& v) {
  const Tensor& t = v.tensor;
  return !v.is_tuple && !v.list && t.dtype == DType::kI64 && t.shape.size() == 1 &&
         t.shape[0] >= 0 && t.data.size() % sizeof(int64_t) == 0 &&
         static_cast<uint64_t>(t.shape[0]) == t.data.size() / sizeof(int64_t);
}

// The coordinates, axis by axis, wherever they lie.
using Axes = std::vector<const int64_t*>;

std::string TupleText(const Axes& axes, size_t at) {
  std::string text;
  for (const int64_t* axis : axes) text += (text.empty() ? "" : ", ") + std::to_string(axis[at]);
  return "(" + text + ")";
}

std::string SizesText(const Ints& sizes) {
  std::string text;
  for (int64_t n : sizes) text += (text.empty() ? "" : ", ") + std::to_string(n);
  return "rel[" + text + "]";
}

Ints SizesOf(const ApiValue& value) {
  const Tensor& t = value.elements[0].tensor;
  return {Words(t), Words(t) + Count(t)};
}

Axes AxesOf(const ApiValue& value) {
  Axes axes;
  for (size_t i = 1; i < value.elements.size(); ++i) {
    axes.push_back(Words(value.elements[i].tensor));
  }
  return axes;
}

bool Before(const Axes& axes, size_t a, size_t b) {
  for (const int64_t* axis : axes) {
    if (axis[a] != axis[b]) return axis[a] < axis[b];
  }
  return false;
}

bool AreOrdered(const Axes& axes, size_t count) {
  for (size_t p = 1; p < count; ++p) {
    if (!Before(axes, p - 1, p)) return false;
  }
  return true;
}

// Where the tuples with each index begin; `starts` has size + 1 zeros.
void CountStarts(const int64_t* axis, size_t count, int64_t size, int64_t* starts) {
  for (size_t p = 0; p < count; ++p) ++starts[axis[p] + 1];
  std::partial_sum(starts, starts + size + 1, starts);
}

// The tuples' numbers, sorted by an index; equal ones as they are in `order` (null: as they come).
// `starts` is used up.
void SortBy(const int64_t* axis, const int64_t* order, size_t count, int64_t* starts,
            int64_t* sorted) {
  for (size_t k = 0; k < count; ++k) {
    const int64_t p = order == nullptr ? static_cast<int64_t>(k) : order[k];
    sorted[starts[axis[p]]++] = p;
  }
}

// The numbers of the tuples in lexicographic order, each tuple once.
Ints Ordered(const Axes& axes, const Ints& sizes, size_t count) {
  Ints order, next(count), starts;
  for (size_t axis = axes.size(); axis-- > 0;) {
    starts.assign(static_cast<size_t>(sizes[axis]) + 1, 0);
    CountStarts(axes[axis], count, sizes[axis], starts.data());
    SortBy(axes[axis], order.empty() ? nullptr : order.data(), count, starts.data(), next.data());
    order.resize(count);
    order.swap(next);
  }
  const auto same = [&](int64_t a, int64_t b) {
    return std::all_of(axes.begin(), axes.end(),
                       [&](const int64_t* axis) { return axis[a] == axis[b]; });
  };
  order.erase(std::unique(order.begin(), order.end(), same), order.end());
  return order;
}

class LeafMaker {
 public:
  LeafMaker(const ApiValue& value, const std::vector<bool>& needed)
      : value_(value),
        needed_(needed),
        sizes_(SizesOf(value)),
        axes_(AxesOf(value)),
        count_(Count(value.elements[1].tensor)) {}

  RelationLeaves Make() && {
    const RelationLayout layout{sizes_.size()};
    leaves_.made.reserve(layout.Count() + 1);
    leaves_.made.push_back(NewVector(0));
    leaves_.all.assign(layout.Count(), &leaves_.made[0]);
    Tensor domain{DType::kI64, sizes_, {}};
    domain.shape.push_back(0);
    Add(layout.Domain(), std::move(domain));
    MakeCoordinates(layout);
    for (size_t axis = 0; axis < sizes_.size(); ++axis) MakeOrder(layout, axis);
    return std::move(leaves_);
  }

 private:
  bool Needs(size_t array) const { return needed_.empty() || needed_[array]; }

  Tensor& Add(size_t array, Tensor t) {
    leaves_.made.push_back(std::move(t));
    leaves_.all[array] = &leaves_.made.back();
    return leaves_.made.back();
  }

  void MakeCoordinates(const RelationLayout& layout) {
    if (AreOrdered(axes_, count_)) {
      for (size_t axis = 0; axis < axes_.size(); ++axis) {
        leaves_.all[layout.Coordinate(axis)] = &value_.elements[axis + 1].tensor;
      }
      return;
    }
    const Ints order = Ordered(axes_, sizes_, count_);
    count_ = order.size();
    for (size_t axis = 0; axis < axes_.size(); ++axis) {
      Tensor& sorted = Add(layout.Coordinate(axis), NewVector(count_));
      for (size_t k = 0; k < count_; ++k) Words(sorted)[k] = axes_[axis][order[k]];
      axes_[axis] = Words(sorted);
    }
  }

  void MakeOrder(const RelationLayout& layout, size_t axis) {
    const bool order = axis > 0 && Needs(layout.Order(axis));
    if (!order && !Needs(layout.Start(axis))) return;
    Tensor& starts = Add(layout.Start(axis), NewVector(static_cast<size_t>(sizes_[axis]) + 1));
    CountStarts(axes_[axis], count_, sizes_[axis], Words(starts));
    if (!order) return;
    Tensor used = starts;
    Tensor& sorted = Add(layout.Order(axis), NewVector(count_));
    SortBy(axes_[axis], nullptr, count_, Words(used), Words(sorted));
  }

  const ApiValue& value_;
  const std::vector<bool>& needed_;
  const Ints sizes_;
  Axes axes_;
  size_t count_;
  RelationLeaves leaves_;
};

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
      array.dims.emplace_back("0");
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
  const Ints sizes = SizesOf(value);
  if (sizes.size() != arity) {
    return "expected " + std::to_string(arity) + " sizes, got " + std::to_string(sizes.size());
  }
  for (int64_t n : sizes) {
    if (n < 0 || n > kMaxExtent) return "a size is " + std::to_string(n);
  }
  const size_t count = Count(value.elements[1].tensor);
  if (count > static_cast<size_t>(kMaxTuples)) {
    return std::to_string(count) + " tuples are too many";
  }
  for (size_t axis = 2; axis < value.elements.size(); ++axis) {
    const size_t other = Count(value.elements[axis].tensor);
    if (other == count) continue;
    return "its indices differ in number: " + std::to_string(count) + " and " +
           std::to_string(other);
  }
  const Axes axes = AxesOf(value);
  for (size_t p = 0; p < count; ++p) {
    for (size_t axis = 0; axis < arity; ++axis) {
      if (axes[axis][p] >= 0 && axes[axis][p] < sizes[axis]) continue;
      return "tuple " + std::to_string(p) + ", " + TupleText(axes, p) + ", is outside of " +
             SizesText(sizes);
    }
  }
  return "";
}

int64_t RelationBytes(const ApiValue& value, const std::vector<bool>& needed) {
  const Ints sizes = SizesOf(value);
  const size_t count = Count(value.elements[1].tensor);
  const auto tuples = static_cast<int64_t>(count);
  const RelationLayout layout{sizes.size()};
  const auto needs = [&](size_t array) { return needed.empty() || needed[array]; };
  const bool ordered = AreOrdered(AxesOf(value), count);
  // No more than 4 sizes of at most kMaxExtent.
  int64_t words = ordered ? 0 : tuples * static_cast<int64_t>(sizes.size() + 2);
  if (!ordered) words += *std::max_element(sizes.begin(), sizes.end()) + 1;
  for (size_t axis = 0; axis < sizes.size(); ++axis) {
    const bool order = axis > 0 && needs(layout.Order(axis));
    if (order) words += tuples + sizes[axis] + 1;
    if (order || needs(layout.Start(axis))) words += sizes[axis] + 1;
  }
  return words * static_cast<int64_t>(sizeof(int64_t));
}

RelationLeaves MakeRelationLeaves(const ApiValue& value, const std::vector<bool>& needed) {
  return LeafMaker(value, needed).Make();
}

std::vector<Tensor> RelationArrays(const ApiValue& value) {
  std::vector<Tensor> arrays;
  for (const Tensor* t : MakeRelationLeaves(value).all) arrays.push_back(*t);
  return arrays;
}

}  // namespace pullback
