#include "core/base/lists.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

namespace pullback {
namespace {

using Kind = ListColumn::Kind;

constexpr int kMostRank = 8;

bool HasLists(const ListRecord& record) {
  return std::any_of(record.begin(), record.end(),
                     [](const ListColumn& c) { return c.kind == Kind::kList; });
}

// ---- soundness

// Elements of each record; nullopt where they are too many to count, or a column leads nowhere.
std::optional<std::vector<int64_t>> CountElements(const ListData& data) {
  std::vector<int64_t> counts(data.records.size(), 0);
  counts[0] = data.length;
  for (const ListRecord& record : data.records) {
    for (const ListColumn& column : record) {
      if (column.kind != Kind::kList) continue;
      if (column.record >= counts.size()) return std::nullopt;
      for (int64_t length : column.extents) {
        int64_t& count = counts[column.record];
        if (length < 0 || __builtin_add_overflow(count, length, &count)) return std::nullopt;
      }
    }
  }
  return counts;
}

// Bytes of the arrays whose extents these are; nullopt where they are no extents.
std::optional<size_t> ArrayBytes(const ListColumn& column) {
  size_t bytes = 0;
  const auto rank = static_cast<size_t>(column.rank);
  for (size_t i = 0; i < column.extents.size(); i += rank) {
    const auto* const first = column.extents.data() + i;
    const bool empty = std::find(first, first + rank, 0) != first + rank;
    auto elements = static_cast<int64_t>(DTypeSize(column.dtype));
    for (size_t axis = 0; axis < rank; ++axis) {
      if (first[axis] < 0 || first[axis] > kMaxExtent) return std::nullopt;
      if (!empty && __builtin_mul_overflow(elements, first[axis], &elements)) return std::nullopt;
    }
    if (empty) continue;
    bytes += static_cast<size_t>(elements);
    if (bytes > column.data.size()) return std::nullopt;  // long before a sum overflows
  }
  return bytes;
}

std::string FaultOf(const ListColumn& column, int64_t elements) {
  const auto count = static_cast<size_t>(elements);
  if (column.kind == Kind::kNone) {
    return column.extents.empty() && column.data.empty() ? "" : "data of neither a dtype nor lists";
  }
  if (column.kind == Kind::kList) {
    return column.extents.size() == count ? "" : "as many lengths as elements are needed";
  }
  if (column.rank < 0 || column.rank > kMostRank) return "a rank is from 0 to 8";
  const size_t size = DTypeSize(column.dtype);
  if (column.rank == 0) {
    const bool whole = column.data.size() % size == 0 && column.data.size() / size == count;
    if (!column.extents.empty() || !whole) return "the data is not one scalar for each element";
  } else if (const auto rank = static_cast<size_t>(column.rank);
             column.extents.size() % rank != 0 || column.extents.size() / rank != count) {
    return "each element's array needs its extents";
  } else if (ArrayBytes(column) != column.data.size()) {
    return "the data does not fit the extents";
  }
  const bool bools =
      column.dtype != DType::kBool ||
      std::all_of(column.data.begin(), column.data.end(), [](uint8_t b) { return b <= 1; });
  return bools ? "" : "a bool is a byte of 0 or 1";
}

// Walks the lists in their order, which must take every element once.
class OrderCheck {
 public:
  OrderCheck(const ListData& data, const std::vector<int64_t>& counts)
      : data_(data), counts_(counts), next_(counts.size(), 0) {
    for (const ListRecord& record : data.records) has_lists_.push_back(HasLists(record));
  }

  std::string Run() {
    if (!Enter(0, data_.length)) return "the elements are in no order of lists";
    while (!open_.empty()) {
      if (open_.size() >= static_cast<size_t>(kMaxListNesting)) {
        return "lists nest more than " + std::to_string(kMaxListNesting) + " deep";
      }
      if (!Step()) return "the elements are in no order of lists";
    }
    return next_ == counts_ ? "" : "there are elements that are in no list";
  }

 private:
  struct Open {
    uint32_t record;
    int64_t row, end;
    size_t column = 0;
  };

  bool Enter(uint32_t record, int64_t length) {
    int64_t& next = next_[record];
    if (length > counts_[record] - next) return false;
    if (length > 0 && has_lists_[record]) open_.push_back({record, next, next + length});
    next += length;
    return true;
  }

  bool Step() {
    Open& top = open_.back();
    const ListRecord& columns = data_.records[top.record];
    if (top.column == columns.size()) {
      top.column = 0;
      if (++top.row == top.end) open_.pop_back();
      return true;
    }
    const ListColumn& column = columns[top.column++];
    return column.kind != Kind::kList ||
           Enter(column.record, column.extents[static_cast<size_t>(top.row)]);
  }

  const ListData& data_;
  const std::vector<int64_t>& counts_;
  std::vector<int64_t> next_;
  std::vector<bool> has_lists_;
  std::vector<Open> open_;
};

// ---- types

template <typename F>
void ForEachLeaf(const ApiType& type, const ApiStructs& structs, const std::string& name, F&& f) {
  const ApiType& t = Resolve(type, structs);
  if (!t.is_tuple) return f(name, t);
  for (size_t i = 0; i < t.elements.size(); ++i) {
    const std::string part = i < t.field_names.size() ? t.field_names[i] : std::to_string(i);
    ForEachLeaf(t.elements[i], structs, name.empty() ? part : name + "." + part, f);
  }
}

bool IsFloat(DType t) { return t == DType::kF64 || t == DType::kF32; }

std::vector<int64_t> ExtentsOf(const std::vector<std::string>& dims) {
  std::vector<int64_t> extents;
  for (const std::string& dim : dims) {
    int64_t extent = -1;
    const auto [end, error] = std::from_chars(dim.data(), dim.data() + dim.size(), extent);
    const bool number = error == std::errc() && end == dim.data() + dim.size();
    extents.push_back(number ? extent : -1);
  }
  return extents;
}

class Planner {
 public:
  explicit Planner(const ApiStructs& structs) : structs_(structs) {}

  ListPlan Plan(const ApiType& list) {
    RecordOf(list);
    // Records are made as they are met, so that types that recur end.
    for (size_t r = 0; r < plan_.records.size(); ++r) {
      std::vector<ListPlan::Leaf> leaves;
      ForEachLeaf(*plan_.records[r].element, structs_, "",
                  [&](const std::string& name, const ApiType& type) {
                    ListPlan::Leaf leaf{name, &type, 0, ExtentsOf(type.dims),
                                        HoldsFloats(type, structs_)};
                    if (type.is_list) leaf.record = RecordOf(type);
                    leaves.push_back(std::move(leaf));
                  });
      size_t first = 0;
      FindShared(*plan_.records[r].element, first, leaves);
      plan_.records[r].leaves = std::move(leaves);
    }
    return std::move(plan_);
  }

 private:
  // `next` is the first leaf of the type; then the one behind it.
  void FindShared(const ApiType& type, size_t& next, std::vector<ListPlan::Leaf>& leaves) const {
    const ApiType& t = Resolve(type, structs_);
    const size_t first = next;
    if (!t.is_tuple) {
      ++next;
      return;
    }
    for (const ApiType& part : t.elements) FindShared(part, next, leaves);
    for (size_t k = first + 1; k < next && !t.array_dims.empty(); ++k) {
      if (leaves[k].shared > 0) continue;
      leaves[k].like = first;
      leaves[k].shared = t.array_dims.size();
    }
  }

  uint32_t RecordOf(const ApiType& list) {
    const ApiType* const element = &Resolve(list.elements[0], structs_);
    const auto [at, fresh] = known_.emplace(element, static_cast<uint32_t>(plan_.records.size()));
    if (fresh) plan_.records.push_back({element, {}});
    return at->second;
  }

  const ApiStructs& structs_;
  std::map<const ApiType*, uint32_t> known_;
  ListPlan plan_;
};

// ---- data and types

std::string Describe(const ListColumn& column) {
  if (column.kind == Kind::kNone) return "nothing";
  if (column.kind == Kind::kList) return "lists";
  return (column.rank > 0 ? "arrays of rank " + std::to_string(column.rank) + " of " : "") +
         DTypeName(column.dtype);
}

std::string Named(const ListPlan::Leaf& leaf) {
  return leaf.name.empty() ? "elements" : "'" + leaf.name + "' of elements";
}

// Pairs the plan's records with the data's, from the root on: one to one.
class Pairs {
 public:
  explicit Pairs(const ListPlan& plan) : data_(plan.records.size(), -1) { Join(0, 0); }

  // False: the plan's record is another record already, or another plan's record is it.
  bool Join(uint32_t plan, uint32_t data) {
    if (data_[plan] >= 0) return data_[plan] == data;
    if (std::find(data_.begin(), data_.end(), data) != data_.end()) return false;
    data_[plan] = data;
    todo_.push_back(plan);
    return true;
  }
  // The next plan's record to look at; false: none.
  bool Next(uint32_t* plan, uint32_t* data) {
    if (done_ == todo_.size()) return false;
    *plan = todo_[done_++];
    *data = static_cast<uint32_t>(data_[*plan]);
    return true;
  }

 private:
  std::vector<int64_t> data_;  // by plan record
  std::vector<uint32_t> todo_;
  size_t done_ = 0;
};

std::string LeafMismatch(const ListPlan::Leaf& leaf, const ListColumn& column, bool floats) {
  const bool none = floats && !leaf.floats;
  const Kind wanted = none ? Kind::kNone : leaf.type->is_list ? Kind::kList : Kind::kTensor;
  const bool same =
      column.kind == wanted &&
      (wanted != Kind::kTensor || (column.dtype == leaf.type->dtype &&
                                   column.rank == static_cast<int>(leaf.type->dims.size())));
  if (!same) {
    return Named(leaf) + ": expected " + (none ? "nothing" : leaf.type->ToString()) + ", got " +
           Describe(column);
  }
  if (wanted != Kind::kTensor) return "";
  for (size_t axis = 0; axis < leaf.extents.size(); ++axis) {
    if (leaf.extents[axis] < 0) continue;
    for (size_t i = axis; i < column.extents.size(); i += leaf.extents.size()) {
      if (column.extents[i] == leaf.extents[axis]) continue;
      return Named(leaf) + ": expected " + std::to_string(leaf.extents[axis]) + " on axis " +
             std::to_string(axis) + ", got " + std::to_string(column.extents[i]);
    }
  }
  return "";
}

// The arrays of an array of structs are equally long.
std::string SharedMismatch(const ListPlan::Record& plan, const ListRecord& record) {
  for (size_t k = 0; k < record.size(); ++k) {
    const ListPlan::Leaf& leaf = plan.leaves[k];
    const ListColumn &own = record[k], &first = record[leaf.like];
    if (leaf.shared == 0 || own.kind != Kind::kTensor || first.kind != Kind::kTensor) continue;
    const auto own_rank = static_cast<size_t>(own.rank), rank = static_cast<size_t>(first.rank);
    for (size_t i = 0; i * own_rank < own.extents.size(); ++i) {
      for (size_t axis = 0; axis < leaf.shared; ++axis) {
        const int64_t got = own.extents[i * own_rank + axis];
        const int64_t want = first.extents[i * rank + axis];
        if (got == want) continue;
        return Named(leaf) + ": expected " + std::to_string(want) + " on axis " +
               std::to_string(axis) + " as " + Named(plan.leaves[leaf.like]) + " has, got " +
               std::to_string(got);
      }
    }
  }
  return "";
}

}  // namespace

ListReader::ListReader(const ListData& data) : data_(data), next_(data.records.size(), 0) {
  for (const ListRecord& record : data.records) {
    std::vector<std::vector<size_t>>& columns = begin_.emplace_back();
    for (const ListColumn& column : record) {
      std::vector<size_t>& begins = columns.emplace_back();
      const auto rank = static_cast<size_t>(column.rank);
      size_t begin = 0;
      for (size_t i = 0; column.kind == Kind::kTensor && rank > 0 && i < column.extents.size();
           i += rank) {
        begins.push_back(begin);
        int64_t count = 1;
        for (size_t axis = 0; axis < rank; ++axis) count *= column.extents[i + axis];
        begin += static_cast<size_t>(count) * DTypeSize(column.dtype);
      }
      begins.push_back(begin);
    }
  }
}

ListReader::Rows ListReader::Take(uint32_t record, int64_t count) {
  if (count == 0) return {record, 0, 0};  // there may be no records
  const Rows rows{record, next_[record], count};
  next_[record] += count;
  return rows;
}

ListReader::Rows ListReader::Inner(uint32_t record, size_t column, int64_t row) {
  const ListColumn& lists = data_.records[record][column];
  return Take(lists.record, lists.extents[static_cast<size_t>(row)]);
}

Tensor ListReader::At(uint32_t record, size_t column, int64_t row) const {
  const ListColumn& c = data_.records[record][column];
  const auto i = static_cast<size_t>(row);
  Tensor t{c.dtype, {}, {}};
  size_t begin = i * DTypeSize(c.dtype), end = begin + DTypeSize(c.dtype);
  if (c.rank > 0) {
    const auto extents = c.extents.begin() + static_cast<int64_t>(i) * c.rank;
    t.shape.assign(extents, extents + c.rank);
    begin = begin_[record][column][i];
    end = begin_[record][column][i + 1];
  }
  t.data.assign(c.data.begin() + static_cast<int64_t>(begin),
                c.data.begin() + static_cast<int64_t>(end));
  return t;
}

std::string FaultOf(const ListData& data) {
  if (data.records.empty()) return data.length == 0 ? "" : "there are no columns";
  if (data.length < 0) return "a length is negative";
  const auto counts = CountElements(data);
  if (!counts) return "a length is negative, too large, or of no record";
  for (size_t r = 0; r < data.records.size(); ++r) {
    const ListRecord& record = data.records[r];
    const bool counted = std::any_of(record.begin(), record.end(),
                                     [](const ListColumn& c) { return c.kind != Kind::kNone; });
    if (!counted && (*counts)[r] != 0) return "elements without columns";
    for (const ListColumn& column : record) {
      if (std::string fault = FaultOf(column, (*counts)[r]); !fault.empty()) return fault;
    }
  }
  return OrderCheck(data, *counts).Run();
}

const ApiType& Resolve(const ApiType& type, const ApiStructs& structs) {
  return type.declared >= 0 ? structs.at(static_cast<size_t>(type.declared)) : type;
}

bool HoldsFloats(const ApiType& type, const ApiStructs& structs) {
  bool found = false;
  std::vector<const ApiType*> todo{&type}, seen;
  while (!found && !todo.empty()) {
    const ApiType& next = Resolve(*todo.back(), structs);
    todo.pop_back();
    if (std::find(seen.begin(), seen.end(), &next) != seen.end()) continue;
    seen.push_back(&next);
    ForEachLeaf(next, structs, "", [&](const std::string&, const ApiType& leaf) {
      if (leaf.is_list) {
        todo.push_back(&leaf.elements[0]);
      } else {
        found = found || IsFloat(leaf.dtype);
      }
    });
  }
  return found;
}

bool ListPlan::Record::HasLists() const {
  return std::any_of(leaves.begin(), leaves.end(), [](const Leaf& l) { return l.type->is_list; });
}

ListPlan PlanOf(const ApiType& list, const ApiStructs& structs) {
  return Planner(structs).Plan(list);
}

std::string Mismatch(const ListPlan& plan, const ListData& data, bool floats) {
  if (data.records.empty()) return "";
  Pairs pairs(plan);
  uint32_t p = 0, d = 0;
  while (pairs.Next(&p, &d)) {
    const ListPlan::Record& wanted = plan.records[p];
    const ListRecord& record = data.records[d];
    if (record.size() != wanted.leaves.size()) {
      return "expected elements " + wanted.element->ToString() + " with " +
             std::to_string(wanted.leaves.size()) + " leaves, got " + std::to_string(record.size());
    }
    for (size_t k = 0; k < record.size(); ++k) {
      const ListPlan::Leaf& leaf = wanted.leaves[k];
      if (std::string fault = LeafMismatch(leaf, record[k], floats); !fault.empty()) return fault;
      if (record[k].kind == Kind::kList && !pairs.Join(leaf.record, record[k].record)) {
        return Named(leaf) + ": lists of another record";
      }
    }
    if (std::string fault = SharedMismatch(wanted, record); !fault.empty()) return fault;
  }
  return "";
}

std::string ShapeMismatch(const ListPlan& plan, const ListData& derivative, const ListData& of) {
  if (derivative.length != of.length) {
    return "expected a list of " + std::to_string(of.length) + ", got one of " +
           std::to_string(derivative.length);
  }
  if (of.length == 0) return "";
  Pairs left(plan), right(plan);
  uint32_t p = 0, a = 0, b = 0;
  while (left.Next(&p, &a) && right.Next(&p, &b)) {
    for (size_t k = 0; k < plan.records[p].leaves.size(); ++k) {
      const ListPlan::Leaf& leaf = plan.records[p].leaves[k];
      const ListColumn& x = derivative.records[a][k];
      const ListColumn& y = of.records[b][k];
      if (x.kind == Kind::kNone) continue;
      if (x.extents != y.extents) {
        return Named(leaf) + ": the " + (leaf.type->is_list ? "lengths" : "extents") +
               " are not those of what it belongs to";
      }
      if (x.kind != Kind::kList) continue;
      left.Join(leaf.record, x.record);
      right.Join(leaf.record, y.record);
    }
  }
  return "";
}

ListData EmptyList(const ListPlan& plan, bool floats) {
  ListData data;
  for (const ListPlan::Record& record : plan.records) {
    ListRecord& columns = data.records.emplace_back();
    for (const ListPlan::Leaf& leaf : record.leaves) {
      ListColumn& column = columns.emplace_back();
      if (floats && !leaf.floats) continue;
      column.kind = leaf.type->is_list ? Kind::kList : Kind::kTensor;
      column.dtype = leaf.type->dtype;
      column.rank = static_cast<int>(leaf.type->dims.size());
      column.record = leaf.record;
    }
  }
  return data;
}

}  // namespace pullback
