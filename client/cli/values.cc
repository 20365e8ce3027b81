#include "client/cli/values.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "client/cli/relations.h"
#include "client/cli/tensors.h"
#include "core/base/lists.h"
#include "core/base/relation.h"

namespace pullback::cli {
namespace {

using Kind = Json::Kind;
using Column = ListColumn::Kind;

bool IsStruct(const ApiType& type) { return !type.struct_name.empty(); }

// What stands in an object for a field, by the field's place.
StatusOr<std::vector<const Json*>> Fields(const Json& json, const ApiType& type,
                                          const std::string& what) {
  const std::vector<std::string>& names = type.field_names;
  for (const std::string& key : json.keys) {
    if (std::find(names.begin(), names.end(), key) != names.end()) continue;
    std::string all;
    for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
    return Mismatch(what, type.ToString() + " has no field '" + key + "'; it has: " + all);
  }
  std::vector<const Json*> parts;
  for (size_t i = 0; i < names.size(); ++i) {
    parts.push_back(json.Find(names[i]));
    if (parts.back() != nullptr) continue;
    return Mismatch(
        what, "the field '" + names[i] + "' is missing; it is " + type.elements[i].ToString());
  }
  return parts;
}

// The JSON of each element of a tuple or struct.
StatusOr<std::vector<const Json*>> Parts(const Json& json, const ApiType& type,
                                         const std::string& what) {
  if (IsStruct(type) && json.is(Kind::kObject)) return Fields(json, type, what);
  if (!json.is(Kind::kArray) || json.items.size() != type.elements.size()) {
    const std::string object = IsStruct(type) ? " as an object, or" : "";
    return Mismatch(what, "expected " + type.ToString() + object + " as a list of " +
                              std::to_string(type.elements.size()) + ", got " + KindName(json));
  }
  std::vector<const Json*> parts;
  for (const Json& item : json.items) parts.push_back(&item);
  return parts;
}

// The keys of an array of tuples or structs are its arrays: a tuple's are numbers.
std::vector<std::string> ArrayNames(const ApiType& type) {
  if (IsStruct(type)) return type.field_names;
  std::vector<std::string> names;
  for (size_t i = 0; i < type.elements.size(); ++i) names.push_back(std::to_string(i));
  return names;
}

// What is an element's part i for each element of lists nested `depth` deep, as such lists.
StatusOr<Json> ElementParts(const Json& json, const ApiType& element, size_t i, size_t depth,
                            const std::string& what) {
  if (depth == 0) {
    PB_ASSIGN_OR_RETURN(const std::vector<const Json*> parts, Parts(json, element, what));
    return *parts[i];
  }
  if (!json.is(Kind::kArray)) {
    return Mismatch(what, "expected a list of " + element.ToString() + ", got " + KindName(json));
  }
  Json column = Json::Array();
  for (size_t k = 0; k < json.items.size(); ++k) {
    PB_ASSIGN_OR_RETURN(Json item, ElementParts(json.items[k], element, i, depth - 1,
                                                what + "[" + std::to_string(k) + "]"));
    column.Add(std::move(item));
  }
  return column;
}

// The JSON of each array of an array of tuples or structs: from an object of them, or from the list of the
// elements.
StatusOr<std::vector<Json>> Arrays(const Json& json, const ApiType& type, bool derivative,
                                   const ApiStructs& structs, const std::string& what) {
  ApiType named = type;
  named.field_names = ArrayNames(type);
  std::vector<Json> arrays;
  if (json.is(Kind::kObject)) {
    PB_ASSIGN_OR_RETURN(const std::vector<const Json*> parts, Fields(json, named, what));
    for (const Json* part : parts) arrays.push_back(*part);
    return arrays;
  }
  if (!json.is(Kind::kArray)) {
    return Mismatch(what, "expected " + type.ToString() +
                              " as a list of elements or as an object "
                              "of arrays, got " +
                              KindName(json));
  }
  const size_t depth = type.array_dims.size();
  ApiType element = type;
  element.array_dims.clear();
  for (size_t i = 0; i < type.elements.size(); ++i) {
    const bool none = derivative && !HoldsFloats(type.elements[i], structs);
    PB_ASSIGN_OR_RETURN(Json column, ElementParts(json, element, i, depth, what));
    arrays.push_back(none ? Json() : std::move(column));
  }
  return arrays;
}

std::string PartName(const ApiType& type, size_t i) {
  return "." + (IsStruct(type) ? type.field_names[i] : std::to_string(i));
}

class Reader {
 public:
  Reader(const ApiStructs& structs, bool derivative) : structs_(structs), derivative_(derivative) {}

  StatusOr<ApiValue> Read(const Json& json, const ApiType& type, const std::string& what) const {
    ApiValue value;
    if (IsRelation(type)) {
      if (!derivative_) return ToRelation(json, type, what);
      value.is_tuple = true;
      PB_RETURN_IF_ERROR(CheckNull(json, type, what));
    } else if (!type.array_dims.empty()) {
      PB_ASSIGN_OR_RETURN(const std::vector<Json> arrays,
                          Arrays(json, type, derivative_, structs_, what));
      value.is_tuple = true;
      for (size_t i = 0; i < arrays.size(); ++i) {
        PB_ASSIGN_OR_RETURN(ApiValue array,
                            Read(arrays[i], type.elements[i], what + PartName(type, i)));
        value.elements.push_back(std::move(array));
      }
    } else if (type.is_tuple) {
      PB_ASSIGN_OR_RETURN(const std::vector<const Json*> parts, Parts(json, type, what));
      value.is_tuple = true;
      for (size_t i = 0; i < parts.size(); ++i) {
        PB_ASSIGN_OR_RETURN(ApiValue element,
                            Read(*parts[i], type.elements[i], what + PartName(type, i)));
        value.elements.push_back(std::move(element));
      }
    } else if (derivative_ && !HoldsFloats(type, structs_)) {
      value.is_tuple = true;
      PB_RETURN_IF_ERROR(CheckNull(json, type, what));
    } else if (type.is_list) {
      const ListPlan plan = PlanOf(type, structs_);
      auto list = std::make_shared<ListData>(EmptyList(plan, derivative_));
      PB_RETURN_IF_ERROR(CheckList(json, plan, 0, what));
      list->length = static_cast<int64_t>(json.items.size());
      PB_RETURN_IF_ERROR(AppendElements(json, plan, 0, what, *list));
      value.list = std::move(list);
    } else {
      PB_ASSIGN_OR_RETURN(value.tensor, ToTensor(json, type, what));
    }
    return value;
  }

 private:
  // What an element has for each of its leaves.
  struct Leaf {
    const Json* json;
    std::string what;
  };

  static Status CheckNull(const Json& json, const ApiType& type, const std::string& what) {
    if (json.is(Kind::kNull) || (json.is(Kind::kArray) && json.items.empty())) return {};
    return Mismatch(what, type.ToString() + " has no derivative: write null");
  }

  static Status CheckList(const Json& json, const ListPlan& plan, uint32_t record,
                          const std::string& what) {
    if (json.is(Kind::kArray)) return {};
    return Mismatch(what, "expected list " + plan.records[record].element->ToString() + ", got " +
                              KindName(json));
  }

  // `made` owns what stands in no text.
  Status FindLeaves(const Json& json, const ApiType& type, const std::string& what,
                    std::vector<Leaf>& out, std::deque<Json>& made) const {
    const ApiType& t = Resolve(type, structs_);
    if (!t.is_tuple) {
      out.push_back({&json, what});
      return {};
    }
    if (!t.array_dims.empty()) {
      PB_ASSIGN_OR_RETURN(std::vector<Json> arrays, Arrays(json, t, derivative_, structs_, what));
      for (size_t i = 0; i < arrays.size(); ++i) {
        made.push_back(std::move(arrays[i]));
        PB_RETURN_IF_ERROR(
            FindLeaves(made.back(), t.elements[i], what + PartName(t, i), out, made));
      }
      return {};
    }
    PB_ASSIGN_OR_RETURN(const std::vector<const Json*> parts, Parts(json, t, what));
    for (size_t i = 0; i < parts.size(); ++i) {
      PB_RETURN_IF_ERROR(FindLeaves(*parts[i], t.elements[i], what + PartName(t, i), out, made));
    }
    return {};
  }

  // All of one list's elements, then the lists within them: the order of ListData.
  Status AppendElements(const Json& json, const ListPlan& plan, uint32_t record,
                        const std::string& what, ListData& list) const {
    const ListPlan::Record& type = plan.records[record];
    std::vector<std::pair<Leaf, uint32_t>> inner;
    for (size_t i = 0; i < json.items.size(); ++i) {
      std::vector<Leaf> leaves;
      std::deque<Json> made;
      const std::string item = what + "[" + std::to_string(i) + "]";
      PB_RETURN_IF_ERROR(FindLeaves(json.items[i], *type.element, item, leaves, made));
      for (size_t k = 0; k < leaves.size(); ++k) {
        ListColumn& column = list.records[record][k];
        PB_RETURN_IF_ERROR(AppendLeaf(leaves[k], plan, type.leaves[k], column));
        if (column.kind == Column::kList) {
          inner.emplace_back(std::move(leaves[k]), type.leaves[k].record);
        }
      }
    }
    for (const auto& [leaf, of] : inner) {
      PB_RETURN_IF_ERROR(AppendElements(*leaf.json, plan, of, leaf.what, list));
    }
    return {};
  }

  static Status AppendLeaf(const Leaf& leaf, const ListPlan& plan, const ListPlan::Leaf& type,
                           ListColumn& column) {
    if (column.kind == Column::kNone) return CheckNull(*leaf.json, *type.type, leaf.what);
    if (column.kind == Column::kList) {
      PB_RETURN_IF_ERROR(CheckList(*leaf.json, plan, type.record, leaf.what));
      column.extents.push_back(static_cast<int64_t>(leaf.json->items.size()));
      return {};
    }
    PB_ASSIGN_OR_RETURN(const Tensor t, ToTensor(*leaf.json, *type.type, leaf.what));
    column.extents.insert(column.extents.end(), t.shape.begin(), t.shape.end());
    column.data.insert(column.data.end(), t.data.begin(), t.data.end());
    return {};
  }

  const ApiStructs& structs_;
  const bool derivative_;
};

class Writer {
 public:
  explicit Writer(const ApiStructs& structs) : structs_(structs) {}

  // A derivative has an empty tuple where there are no floats.
  Json Write(const ApiValue& value, const ApiType& type) const {
    if (IsRelation(type)) return {};  // has no derivative, and is no result
    if (type.is_tuple) {
      size_t next = 0;
      return Compose(type,
                     [&](const ApiType& part) { return Write(value.elements.at(next++), part); });
    }
    if (value.list) return WriteList(*value.list, type);
    return value.is_tuple ? Json() : FromTensor(value.tensor);
  }

 private:
  // The JSON of a tuple or struct; part(type) is called for each element in order.
  template <typename Part>
  static Json Compose(const ApiType& type, Part&& part) {
    const bool array = !type.array_dims.empty();
    Json json = IsStruct(type) || array ? Json::Object() : Json::Array();
    json.keys = array ? ArrayNames(type) : type.field_names;
    for (const ApiType& element : type.elements) json.Add(part(element));
    return json;
  }

  Json WriteList(const ListData& list, const ApiType& type) const {
    ListReader reader(list);
    return WriteRows(list, reader, reader.Root(), type.elements[0]);
  }

  Json WriteRows(const ListData& list, ListReader& reader, const ListReader::Rows& rows,
                 const ApiType& element) const {
    Json json = Json::Array();
    for (int64_t i = 0; i < rows.count; ++i) {
      size_t column = 0;
      json.Add(WriteElement(list, reader, rows.record, rows.first + i, element, &column));
    }
    return json;
  }

  Json WriteElement(const ListData& list, ListReader& reader, uint32_t record, int64_t row,
                    const ApiType& type, size_t* column) const {
    const ApiType& t = Resolve(type, structs_);
    if (t.is_tuple) {
      return Compose(t, [&](const ApiType& part) {
        return WriteElement(list, reader, record, row, part, column);
      });
    }
    const size_t k = (*column)++;
    switch (list.records[record][k].kind) {
      case Column::kNone: return {};
      case Column::kTensor: return FromTensor(reader.At(record, k, row));
      case Column::kList: break;
    }
    return WriteRows(list, reader, reader.Inner(record, k, row), t.elements[0]);
  }

  const ApiStructs& structs_;
};

}  // namespace

StatusOr<ApiValue> ToValue(const Json& json, const ApiType& type, const ApiStructs& structs,
                           const std::string& what) {
  return Reader(structs, false).Read(json, type, what);
}

StatusOr<ApiValue> ToDerivative(const Json& json, const ApiType& type, const ApiStructs& structs,
                                const std::string& what) {
  return Reader(structs, true).Read(json, type, what);
}

Json FromValue(const ApiValue& value, const ApiType& type, const ApiStructs& structs) {
  return Writer(structs).Write(value, type);
}

}  // namespace pullback::cli
