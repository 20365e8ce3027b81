// Any bytes as a value from the wire: what decodes has as many bytes as its shape asks for, lists can be
// walked to their ends, and it goes back and forth unchanged. Any bytes as a program's tables: tables.h.
#include <algorithm>

#include <google/protobuf/stubs/logging.h>

#include "core/base/lists.h"
#include "proto/values.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/tables.h"

namespace pullback::fuzz {
namespace {

bool Same(const ListColumn& a, const ListColumn& b) {
  return a.kind == b.kind && a.dtype == b.dtype && a.rank == b.rank && a.record == b.record &&
         a.extents == b.extents && a.data == b.data;
}

bool Same(const ListData& a, const ListData& b) {
  return a.length == b.length &&
         std::equal(a.records.begin(), a.records.end(), b.records.begin(), b.records.end(),
                    [](const ListRecord& x, const ListRecord& y) {
                      return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                                        [](const auto& c, const auto& d) { return Same(c, d); });
                    });
}

bool Same(const ApiValue& a, const ApiValue& b) {
  if ((a.list == nullptr) != (b.list == nullptr)) return false;
  if (a.list) return Same(*a.list, *b.list);
  if (a.is_tuple != b.is_tuple) return false;
  if (a.is_tuple) {
    return std::equal(a.elements.begin(), a.elements.end(), b.elements.begin(), b.elements.end(),
                      [](const ApiValue& x, const ApiValue& y) { return Same(x, y); });
  }
  return a.tensor.dtype == b.tensor.dtype && a.tensor.shape == b.tensor.shape &&
         a.tensor.data == b.tensor.data;
}

// Every element is read, and read once: there are as many as the columns hold.
int64_t Walk(const ListData& list, ListReader& reader, const ListReader::Rows& rows) {
  int64_t count = rows.count;
  for (int64_t i = rows.first; i < rows.first + rows.count; ++i) {
    const ListRecord& columns = list.records[rows.record];
    for (size_t k = 0; k < columns.size(); ++k) {
      if (columns[k].kind == ListColumn::Kind::kTensor) {
        const Tensor t = reader.At(rows.record, k, i);
        Require(t.shape.size() == static_cast<size_t>(columns[k].rank), "an element has its rank");
      } else if (columns[k].kind == ListColumn::Kind::kList) {
        count += Walk(list, reader, reader.Inner(rows.record, k, i));
      }
    }
  }
  return count;
}

void CheckList(const ListData& list) {
  ListReader reader(list);
  int64_t lengths = list.length;
  for (const ListRecord& record : list.records) {
    for (const ListColumn& column : record) {
      if (column.kind != ListColumn::Kind::kList) continue;
      for (int64_t length : column.extents) lengths += length;
    }
  }
  Require(Walk(list, reader, reader.Root()) == lengths, "all elements are in a list");
}

void CheckTensors(const ApiValue& value) {
  if (value.list) return CheckList(*value.list);
  for (const ApiValue& e : value.elements) CheckTensors(e);
  if (value.is_tuple) return;
  const Tensor& t = value.tensor;
  size_t count = 1;
  for (int64_t extent : t.shape) count *= static_cast<size_t>(extent);
  Require(t.data.size() == count * DTypeSize(t.dtype), "data and shape agree");
}

void CheckValue(const v1::Value& message) {
  ApiValue value;
  if (wire::DecodeValue(message, &value)) return;
  CheckTensors(value);
  v1::Value encoded;
  wire::EncodeValue(value, &encoded);
  ApiValue again;
  Require(!wire::DecodeValue(encoded, &again), "what was encoded decodes");
  Require(Same(value, again), "a value goes back and forth unchanged");
}

void CheckType(const v1::Type& message) {
  v1::Type encoded, twice;
  google::protobuf::RepeatedPtrField<v1::Type> structs;
  *structs.Add() = message;
  wire::EncodeType(wire::DecodeType(message, structs), &encoded);
  wire::EncodeType(wire::DecodeType(encoded, structs), &twice);
  Require(encoded.SerializeAsString() == twice.SerializeAsString(),
          "a type goes back and forth unchanged");
}

void CheckProgram(const v1::ProgramTables& tables) {
  lang::Limits limits;
  limits.max_source_bytes = 1 << 16;
  limits.max_ir_insts = 20000;
  const std::string fault = CheckTables(tables, limits);
  Require(fault.empty(), fault, tables.DebugString());
}

}  // namespace
}  // namespace pullback::fuzz

// Protocol Buffers logs every string that is not UTF-8.
extern "C" int LLVMFuzzerInitialize(int*, char***) {
  google::protobuf::SetLogHandler(nullptr);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const int n = static_cast<int>(size);
  pullback::v1::Value value;
  if (value.ParseFromArray(data, n)) pullback::fuzz::CheckValue(value);
  pullback::v1::Type type;
  if (type.ParseFromArray(data, n)) pullback::fuzz::CheckType(type);
  pullback::v1::ProgramTables tables;
  if (tables.ParseFromArray(data, n)) pullback::fuzz::CheckProgram(tables);
  return 0;
}
