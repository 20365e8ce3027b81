#include "jit/list_types.h"

#include "jit/leaves.h"
#include "jit/runtime/context.h"

namespace pullback::jit {
namespace {

// Arrays come first in a record, then lists, then scalars; each in the order of the leaves.
ListType::Record LayOut(const ListPlan::Record& record) {
  const auto kind = [](const ListPlan::Leaf& leaf) {
    return leaf.type->is_list ? 1 : leaf.type->dims.empty() ? 2 : 0;
  };
  int64_t first[3] = {};
  for (const ListPlan::Leaf& leaf : record.leaves) {
    for (int k = kind(leaf) + 1; k < 3; ++k) ++first[k];
  }
  const auto width = static_cast<int64_t>(record.leaves.size());
  ListType::Record out{RecordLayout::Of(first[1], first[2] - first[1], width), {}};
  for (const ListPlan::Leaf& leaf : record.leaves) out.places.push_back(first[kind(leaf)]++);
  return out;
}

bool IsLeaf(const ApiType& leaf, ir::Type type) {
  return leaf.is_list ? type.IsList() : type == ToIrType(leaf);
}

}  // namespace

ListTypes::ListTypes(const lang::Signature& signature) {
  const auto add = [&](const ApiType& type) {
    ForEachLeaf(type, [&](const ApiType& leaf) {
      if (!leaf.is_list) return;
      ListType made{PlanOf(leaf, signature.structs), {}};
      for (const ListPlan::Record& r : made.plan.records) made.records.push_back(LayOut(r));
      types_.emplace(&leaf, std::move(made));
    });
  };
  for (const lang::Parameter& p : signature.params) add(p.type);
  add(signature.result);
}

size_t ListTypes::bytes() const {
  size_t bytes = sizeof(*this);
  for (const auto& [leaf, type] : types_) {
    for (const ListPlan::Record& r : type.plan.records) {
      bytes += sizeof(r) + r.leaves.size() * (sizeof(ListPlan::Leaf) + sizeof(int64_t));
    }
  }
  return bytes;
}

bool IsListOf(const ListPlan& plan, const ir::Module& module, ir::Type list) {
  if (!list.IsList()) return false;
  std::vector<int64_t> paired(plan.records.size(), -1);  // the IR's record, by the plan's
  paired[0] = list.record;
  std::vector<uint32_t> todo{0};
  for (size_t at = 0; at < todo.size(); ++at) {
    const ListPlan::Record& record = plan.records[todo[at]];
    const auto& fields = module.records[static_cast<size_t>(paired[todo[at]])].fields;
    if (fields.size() != record.leaves.size()) return false;
    for (size_t k = 0; k < fields.size(); ++k) {
      const ListPlan::Leaf& leaf = record.leaves[k];
      if (!IsLeaf(*leaf.type, fields[k])) return false;
      if (!leaf.type->is_list) continue;
      int64_t& pair = paired[leaf.record];
      if (pair < 0) todo.push_back(leaf.record);
      if (pair >= 0 && pair != fields[k].record) return false;
      pair = fields[k].record;
    }
  }
  return true;
}

}  // namespace pullback::jit
