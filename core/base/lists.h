// Lists as values of the API: by columns, so that a million elements are a few arrays, however they
// nest; and what the types of an API say about them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/tensor.h"

namespace pullback {

// One leaf of all elements of a list.
struct ListColumn {
  enum class Kind : uint8_t {
    kNone,    // in derivatives: what holds no floats
    kTensor,  // scalars, or arrays of one rank
    kList,    // lists, of elements in `record`
  } kind = Kind::kNone;
  DType dtype = DType::kF64;
  int rank = 0;
  uint32_t record = 0;
  std::vector<int64_t> extents;  // of each element: its `rank` extents, or the length of its list
  std::vector<uint8_t> data;     // kTensor: of all elements, one after the other
};
using ListRecord = std::vector<ListColumn>;

// A list with all lists within it. The elements of one list stand together, in the columns of its
// record. Lists follow each other depth first: after a list come those within its first element, leaf by
// leaf, each with what is within it; then those within the second.
struct ListData {
  int64_t length = 0;               // of the list itself, whose elements are in records[0]
  std::vector<ListRecord> records;  // none: an empty list
};

// Reads sound data list by list: they have to be taken in their order.
class ListReader {
 public:
  // The elements of one list: rows of a record, from `first` on.
  struct Rows {
    uint32_t record = 0;
    int64_t first = 0;
    int64_t count = 0;
  };

  explicit ListReader(const ListData& data);
  Rows Root() { return Take(0, data_.length); }
  // The list in that column, of kind kList, of that row.
  Rows Inner(uint32_t record, size_t column, int64_t row);
  // What is in that column, of kind kTensor.
  Tensor At(uint32_t record, size_t column, int64_t row) const;

 private:
  Rows Take(uint32_t record, int64_t count);

  const ListData& data_;
  std::vector<int64_t> next_;                            // by record
  std::vector<std::vector<std::vector<size_t>>> begin_;  // of arrays: bytes, by record, column, row
};

// What is wrong with the columns: they disagree on how many elements there are, their order is no tree
// of lists, or it nests more than kMaxListNesting lists. Empty: sound, and safe to walk.
std::string FaultOf(const ListData& data);

// The fields of a struct that is named inside a list; other types are themselves.
const ApiType& Resolve(const ApiType& type, const ApiStructs& structs);
// Whether values of the type carry derivatives, through lists as well.
bool HoldsFloats(const ApiType& type, const ApiStructs& structs);

// A list type, taken apart. It points into the types it is made of.
struct ListPlan {
  struct Leaf {
    std::string name;     // within the element: "r", "lens.f", "0"; "" where it is the element
    const ApiType* type;  // of a tensor or list
    uint32_t record = 0;  // of a list: of its elements
    std::vector<int64_t> extents;  // of an array: as the type says; -1: any
    bool floats = false;           // carries derivatives
    // Of an array of structs: the first `shared` extents are those of the leaf `like`.
    size_t like = 0;
    size_t shared = 0;
  };
  struct Record {
    const ApiType* element;  // resolved
    std::vector<Leaf> leaves;
    bool HasLists() const;
  };
  std::vector<Record> records;  // records[0]: elements of the list itself
};
ListPlan PlanOf(const ApiType& list, const ApiStructs& structs);

// What keeps sound data from being a value of the type, or with `floats` a derivative of one; empty: it
// is one.
std::string Mismatch(const ListPlan& plan, const ListData& data, bool floats);
// What differs in lengths and extents between a derivative and what it belongs to, both of the type;
// empty: nothing.
std::string ShapeMismatch(const ListPlan& plan, const ListData& derivative, const ListData& of);

// Columns for elements of the plan, yet without any.
ListData EmptyList(const ListPlan& plan, bool floats);

}  // namespace pullback
