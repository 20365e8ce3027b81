#include "client/cli/relations.h"

#include "client/cli/tensors.h"
#include "core/base/relation.h"

namespace pullback::cli {
namespace {

using Kind = Json::Kind;

Status Invalid(const char* reason, std::string message) {
  return {Code::kInvalidArgument, reason, std::move(message)};
}

StatusOr<std::vector<int64_t>> Integers(const Json& json, const std::string& what) {
  ApiType type;
  type.dtype = DType::kI64;
  type.dims = {"_"};
  PB_ASSIGN_OR_RETURN(const Tensor t, ToTensor(json, type, what));
  std::vector<int64_t> integers;
  for (int64_t i = 0; i < t.ElementCount(); ++i) integers.push_back(t.At<int64_t>(i));
  return integers;
}

}  // namespace

StatusOr<ApiValue> ToRelation(const Json& json, const ApiType& type, const std::string& what) {
  const Json* shape = json.is(Kind::kObject) ? json.Find("shape") : nullptr;
  const Json* coo = json.is(Kind::kObject) ? json.Find("coo") : nullptr;
  const Json* csr = json.is(Kind::kObject) ? json.Find("csr") : nullptr;
  const Json* lists = coo != nullptr ? coo : csr;
  const size_t arity = type.dims.size();
  const size_t count = coo != nullptr ? arity : 2;
  const bool known = json.is(Kind::kObject) && json.keys.size() == 2;
  if (shape == nullptr || lists == nullptr || !known || !lists->is(Kind::kArray) ||
      lists->items.size() != count) {
    const std::string rows = arity == 2 ? R"( or {"shape", "csr": [row starts, columns]})" : "";
    return Invalid("TYPE_MISMATCH", what + ": expected " + type.ToString() +
                                        R"( as {"shape", "coo": [)" + std::to_string(arity) +
                                        (arity == 1 ? " list" : " lists") + " of indices]}" + rows);
  }
  PB_ASSIGN_OR_RETURN(const std::vector<int64_t> sizes, Integers(*shape, what + ".shape"));
  const std::string name = what + (coo != nullptr ? ".coo" : ".csr");
  std::vector<std::vector<int64_t>> indices;
  for (size_t i = 0; i < lists->items.size(); ++i) {
    PB_ASSIGN_OR_RETURN(indices.emplace_back(),
                        Integers(lists->items[i], name + "[" + std::to_string(i) + "]"));
  }
  if (coo != nullptr) return RelationFromCoo(sizes, indices);
  StatusOr<ApiValue> relation = RelationFromCsr(sizes, indices[0], indices[1]);
  if (relation.ok()) return relation;
  return Invalid("INVALID_VALUE", name + ": " + relation.status().message());
}

}  // namespace pullback::cli
