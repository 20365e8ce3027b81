#include "proto/values.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "core/base/lists.h"
#include "core/base/relation.h"

namespace pullback::wire {
namespace {

constexpr uint32_t kMaxRank = 8;

// DType's numbers are the protocol's.
static_assert(static_cast<int>(DType::kF64) == v1::DTYPE_F64);
static_assert(static_cast<int>(DType::kF32) == v1::DTYPE_F32);
static_assert(static_cast<int>(DType::kI64) == v1::DTYPE_I64);
static_assert(static_cast<int>(DType::kBool) == v1::DTYPE_BOOL);

// Bytes of a tensor; none where a product of extents overflows, even beside an extent of 0.
std::optional<uint64_t> ByteCount(const TensorView& tensor) {
  constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();
  uint64_t bytes = DTypeSize(tensor.dtype);
  bool empty = false;
  for (int64_t extent : tensor.shape) {
    if (extent == 0) {
      empty = true;
    } else if (bytes > kMost / static_cast<uint64_t>(extent)) {
      return std::nullopt;
    } else {
      bytes *= static_cast<uint64_t>(extent);
    }
  }
  return empty ? 0 : bytes;
}

std::optional<Fault> View(const v1::Tensor& message, TensorView* tensor) {
  if (message.dtype() < v1::DTYPE_F64 || message.dtype() > v1::DTYPE_BOOL) {
    return Fault{".dtype", "no such dtype: " + std::to_string(message.dtype())};
  }
  tensor->dtype = static_cast<DType>(message.dtype());
  tensor->shape = {message.shape().data(), static_cast<size_t>(message.shape_size())};
  for (int64_t extent : tensor->shape) {
    if (extent < 0) return Fault{".shape", "negative extent " + std::to_string(extent)};
  }
  const auto bytes = ByteCount(*tensor);
  if (!bytes) return Fault{".shape", "the extents' product is too large"};
  const std::string& data = message.data();
  if (data.size() != *bytes) {
    return Fault{".data", "expected " + std::to_string(*bytes) +
                              " bytes for this dtype and shape, got " +
                              std::to_string(data.size())};
  }
  const bool is_bool = tensor->dtype == DType::kBool;
  if (is_bool && std::any_of(data.begin(), data.end(), [](char c) { return (c & ~1) != 0; })) {
    return Fault{".data", "a bool is a byte of 0 or 1"};
  }
  tensor->data = {reinterpret_cast<const uint8_t*>(data.data()), data.size()};
  return std::nullopt;
}

std::optional<Fault> DecodeTuple(const v1::Tuple& message, ApiValue* value) {
  value->is_tuple = true;
  value->elements.resize(static_cast<size_t>(message.elements_size()));
  for (int i = 0; i < message.elements_size(); ++i) {
    auto fault = DecodeValue(message.elements(i), &value->elements[static_cast<size_t>(i)]);
    if (!fault) continue;
    fault->path.insert(0, ".tuple.elements[" + std::to_string(i) + "]");
    return fault;
  }
  return std::nullopt;
}

// 64-bit little-endian integers, as this machine's are.
std::optional<Fault> DecodeIntegers(const std::string& path, const std::string& bytes,
                                    std::vector<int64_t>* integers) {
  if (bytes.size() % sizeof(int64_t) != 0) return Fault{path, "not whole 64-bit integers"};
  integers->resize(bytes.size() / sizeof(int64_t));
  if (!bytes.empty()) std::memcpy(integers->data(), bytes.data(), bytes.size());
  return std::nullopt;
}

std::optional<Fault> DecodeExtents(const std::string& bytes, std::vector<int64_t>* extents) {
  return DecodeIntegers(".extents", bytes, extents);
}

std::optional<Fault> DecodeRows(const std::vector<int64_t>& sizes, const v1::RelationRows& message,
                                ApiValue* value) {
  std::vector<int64_t> starts, columns;
  if (auto fault = DecodeIntegers(".rows.starts", message.starts(), &starts)) return fault;
  if (auto fault = DecodeIntegers(".rows.columns", message.columns(), &columns)) return fault;
  StatusOr<ApiValue> relation = RelationFromCsr(sizes, starts, columns);
  if (!relation.ok()) return Fault{".rows", relation.status().message()};
  *value = *std::move(relation);
  return std::nullopt;
}

// What it says of indices is checked where its type is known.
std::optional<Fault> DecodeRelation(const v1::Relation& message, ApiValue* value) {
  const std::vector<int64_t> sizes(message.sizes().begin(), message.sizes().end());
  if (message.has_rows()) return DecodeRows(sizes, message.rows(), value);
  if (!message.has_coordinates()) return Fault{"", "neither coordinates nor rows"};
  const v1::RelationCoordinates& coordinates = message.coordinates();
  std::vector<std::vector<int64_t>> indices(static_cast<size_t>(coordinates.indices_size()));
  for (int i = 0; i < coordinates.indices_size(); ++i) {
    const std::string path = ".coordinates.indices[" + std::to_string(i) + "]";
    auto fault = DecodeIntegers(path, coordinates.indices(i), &indices[static_cast<size_t>(i)]);
    if (fault) return fault;
  }
  *value = RelationFromCoo(sizes, indices);
  return std::nullopt;
}

std::optional<Fault> DecodeColumn(const v1::ListColumn& message, ListColumn* column) {
  if (message.has_list()) {
    column->kind = ListColumn::Kind::kList;
    column->record = message.list();
  } else if (message.dtype() != v1::DTYPE_UNSPECIFIED) {
    if (message.dtype() < v1::DTYPE_F64 || message.dtype() > v1::DTYPE_BOOL) {
      return Fault{".dtype", "no such dtype: " + std::to_string(message.dtype())};
    }
    if (message.rank() > kMaxRank) return Fault{".rank", "a rank is from 0 to 8"};
    column->kind = ListColumn::Kind::kTensor;
    column->dtype = static_cast<DType>(message.dtype());
    column->rank = static_cast<int>(message.rank());
    column->data.assign(message.data().begin(), message.data().end());
  }
  return DecodeExtents(message.extents(), &column->extents);
}

// As large as the message is, whatever it says.
std::optional<Fault> DecodeList(const v1::List& message, ApiValue* value) {
  auto list = std::make_shared<ListData>();
  list->length = message.length();
  for (int r = 0; r < message.records_size(); ++r) {
    const v1::ListRecord& record = message.records(r);
    ListRecord& columns = list->records.emplace_back();
    for (int c = 0; c < record.columns_size(); ++c) {
      auto fault = DecodeColumn(record.columns(c), &columns.emplace_back());
      if (!fault) continue;
      const std::string place =
          ".records[" + std::to_string(r) + "].columns[" + std::to_string(c) + "]";
      fault->path.insert(0, place);
      return fault;
    }
  }
  if (std::string fault = FaultOf(*list); !fault.empty()) return Fault{"", std::move(fault)};
  value->list = std::move(list);
  return std::nullopt;
}

void EncodeList(const ListData& list, v1::List* message) {
  message->set_length(list.length);
  for (const ListRecord& record : list.records) {
    v1::ListRecord* columns = message->add_records();
    for (const ListColumn& column : record) {
      v1::ListColumn* out = columns->add_columns();
      if (column.kind == ListColumn::Kind::kNone) continue;
      if (column.kind == ListColumn::Kind::kList) {
        out->set_list(column.record);
      } else {
        out->set_dtype(static_cast<v1::DType>(column.dtype));
        out->set_rank(static_cast<uint32_t>(column.rank));
        out->set_data(column.data.data(), column.data.size());
      }
      out->set_extents(column.extents.data(), column.extents.size() * sizeof(int64_t));
    }
  }
}

}  // namespace

std::optional<Fault> DecodeValue(const v1::Value& message, ApiValue* value) {
  switch (message.kind_case()) {
    case v1::Value::kTuple: return DecodeTuple(message.tuple(), value);
    case v1::Value::kTensor: {
      TensorView view;
      if (auto fault = ViewTensor(message, &view)) return fault;
      value->tensor = view.Copy();
      return std::nullopt;
    }
    case v1::Value::kList: {
      auto fault = DecodeList(message.list(), value);
      if (fault) fault->path.insert(0, ".list");
      return fault;
    }
    case v1::Value::kRelation: {
      auto fault = DecodeRelation(message.relation(), value);
      if (fault) fault->path.insert(0, ".relation");
      return fault;
    }
    case v1::Value::KIND_NOT_SET: break;
  }
  return Fault{"", "neither a tensor nor a tuple nor a list nor a relation"};
}

std::optional<Fault> ViewTensor(const v1::Value& message, TensorView* tensor) {
  auto fault = View(message.tensor(), tensor);
  if (fault) fault->path.insert(0, ".tensor");
  return fault;
}

void EncodeValue(const ApiValue& value, v1::Value* message) {
  if (value.list) return EncodeList(*value.list, message->mutable_list());
  if (value.is_tuple) {
    auto* elements = message->mutable_tuple()->mutable_elements();
    elements->Reserve(static_cast<int>(value.elements.size()));
    for (const ApiValue& element : value.elements) EncodeValue(element, elements->Add());
    return;
  }
  const Tensor& t = value.tensor;
  std::string* const data = BeginTensor(t.dtype, t.shape, message->mutable_tensor());
  data->assign(reinterpret_cast<const char*>(t.data.data()), t.data.size());
}

std::string* BeginTensor(DType dtype, std::span<const int64_t> shape, v1::Tensor* message) {
  message->set_dtype(static_cast<v1::DType>(dtype));
  if (!shape.empty()) message->mutable_shape()->Assign(shape.begin(), shape.end());
  message->mutable_data()->clear();
  return message->mutable_data();
}

void EncodeType(const ApiType& type, v1::Type* message) {
  if (type.declared >= 0) return message->set_declared(static_cast<uint32_t>(type.declared));
  if (type.is_list) {
    return EncodeType(type.elements.at(0), message->mutable_list()->mutable_element());
  }
  if (IsRelation(type)) {
    for (const std::string& dim : type.dims) message->mutable_relation()->add_dims(dim);
    return;
  }
  if (type.is_tuple) {
    v1::TupleType* tuple = message->mutable_tuple();
    for (const ApiType& element : type.elements) EncodeType(element, tuple->add_elements());
    tuple->set_struct_name(type.struct_name);
    for (const std::string& name : type.field_names) tuple->add_field_names(name);
    for (const std::string& dim : type.array_dims) tuple->add_array_dims(dim);
    return;
  }
  v1::TensorType* tensor = message->mutable_tensor();
  tensor->set_dtype(static_cast<v1::DType>(type.dtype));
  for (const std::string& dim : type.dims) tensor->add_dims(dim);
}

ApiType DecodeType(const v1::Type& message,
                   const google::protobuf::RepeatedPtrField<v1::Type>& structs) {
  ApiType type;
  if (message.kind_case() == v1::Type::kDeclared) {
    const uint32_t index = message.declared();
    type.is_tuple = true;
    if (index < static_cast<uint32_t>(structs.size())) {
      type.declared = static_cast<int32_t>(index);
      type.struct_name = structs[type.declared].tuple().struct_name();
    }
    return type;
  }
  if (message.has_relation()) {
    const auto& dims = message.relation().dims();
    return RelationApiType({dims.begin(), dims.end()});
  }
  if (message.has_list()) {
    type.is_list = true;
    type.elements.push_back(DecodeType(message.list().element(), structs));
    return type;
  }
  type.is_tuple = message.has_tuple();
  for (const v1::Type& element : message.tuple().elements()) {
    type.elements.push_back(DecodeType(element, structs));
  }
  const auto& array_dims = message.tuple().array_dims();
  type.array_dims.assign(array_dims.begin(), array_dims.end());
  // Whoever reads a struct relies on a name for each field.
  const v1::TupleType& tuple = message.tuple();
  if (!tuple.struct_name().empty() && tuple.field_names_size() == tuple.elements_size()) {
    type.struct_name = tuple.struct_name();
    type.field_names.assign(tuple.field_names().begin(), tuple.field_names().end());
  }
  if (message.has_tensor()) {
    type.dtype = static_cast<DType>(message.tensor().dtype());
    type.dims.assign(message.tensor().dims().begin(), message.tensor().dims().end());
  }
  return type;
}

}  // namespace pullback::wire
