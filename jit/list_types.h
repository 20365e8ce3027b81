// The list types of a signature, and how the runtime lays out their elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "core/base/lists.h"
#include "core/ir/ir.h"
#include "core/lang/lang.h"

namespace pullback::jit {

struct ListType {
  struct Record {
    int64_t layout = 0;           // RecordLayout's word
    std::vector<int64_t> places;  // of each leaf: its word in a record
  };
  ListPlan plan;
  std::vector<Record> records;  // as of the plan
};

class ListTypes {
 public:
  // Points into the signature, which stays where it is.
  explicit ListTypes(const lang::Signature& signature);

  // `leaf` is a list among the leaves of the signature's types.
  const ListType& Of(const ApiType& leaf) const { return types_.at(&leaf); }
  size_t bytes() const;

 private:
  std::unordered_map<const ApiType*, ListType> types_;
};

// Whether a list of the IR has exactly the plan's records.
bool IsListOf(const ListPlan& plan, const ir::Module& module, ir::Type list);

}  // namespace pullback::jit
