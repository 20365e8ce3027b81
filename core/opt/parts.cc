#include "core/opt/parts.h"

#include <algorithm>
#include <unordered_set>

namespace pullback::opt {
namespace {

using ir::Each;
using ir::EachResult;
using ir::Inst;
using ir::Op;

bool IsWork(const ir::Function& f, const Inst& inst) {
  return inst.op == Op::Call ||
         (ir::Info(inst.op).rule != ir::TypeRule::Own && f.TypeOf(inst.results[0]).IsFloat());
}

std::vector<size_t> WorkFor(const ir::Function& f, const Each& each, const EachResult& r) {
  std::unordered_set<uint32_t> needed = {r.value.id};
  if (r.guard.valid()) needed.insert(r.guard.id);
  if (r.second.valid()) needed.insert(r.second.id);
  for (const ir::Affine& a : r.out) {
    ir::ForEachOperand(a, [&](ir::Value v) { needed.insert(v.id); });
  }
  std::vector<size_t> work;
  for (size_t k = each.body.size(); k-- > 0;) {
    const Inst& inst = each.body[k];
    const bool needs = std::any_of(inst.results.begin(), inst.results.end(),
                                   [&](ir::Value v) { return needed.count(v.id) != 0; });
    if (!needs) continue;
    ir::ForEachOperand(inst, [&](ir::Value v) { needed.insert(v.id); });
    if (IsWork(f, inst)) work.push_back(k);
  }
  std::reverse(work.begin(), work.end());
  return work;
}

bool Meet(const std::vector<size_t>& a, const std::vector<size_t>& b) {
  return std::find_first_of(a.begin(), a.end(), b.begin(), b.end()) != a.end();
}

}  // namespace

Parts::Parts(const ir::Function& f, const Each& each) {
  for (const EachResult& r : each.results) work_.push_back(WorkFor(f, each, r));
}

std::vector<size_t> Parts::Sharing(size_t result) const {
  std::vector<size_t> group = {result};
  for (size_t k = 0; k < group.size(); ++k) {
    for (size_t other = 0; other < work_.size(); ++other) {
      const bool in = std::find(group.begin(), group.end(), other) != group.end();
      if (!in && Meet(work_[group[k]], work_[other])) group.push_back(other);
    }
  }
  return group;
}

}  // namespace pullback::opt
