#include "core/ad/float_flow.h"

#include <algorithm>
#include <set>

namespace pullback::ad {

using ir::Inst;
using ir::Value;

FloatFlow::FloatFlow(const ir::Module& module, const ir::Function& f, const std::vector<Inst>& code)
    : module_(module),
      f_(f),
      code_(code),
      made_by_(f.values.size(), kNoInst),
      read_by_(f.values.size()) {
  for (uint32_t k = 0; k < code.size(); ++k) {
    for (Value v : code[k].results) made_by_[v.id] = k;
    ir::ForEachOperand(code[k], [&](Value v) {
      std::vector<uint32_t>& readers = read_by_[v.id];
      if (readers.empty() || readers.back() != k) readers.push_back(k);
    });
  }
}

bool FloatFlow::Contains(const std::vector<Value>& sorted, Value v) {
  return std::binary_search(sorted.begin(), sorted.end(), v);
}

// `from` and what depends on it, by number.
const std::vector<Value>& FloatFlow::After(Value from) {
  const auto [it, fresh] = after_.try_emplace(from);
  if (!fresh) return it->second;
  std::set<Value> seen = {from};
  std::vector<Value> work = {from};
  while (!work.empty()) {
    const Value v = work.back();
    work.pop_back();
    for (uint32_t k : read_by_[v.id]) {
      if (code_[k].op == ir::Op::StopGradient) continue;
      for (Value result : code_[k].results) {
        if (ir::CarriesTangent(module_, f_.TypeOf(result)) && seen.insert(result).second)
          work.push_back(result);
      }
    }
  }
  it->second.assign(seen.begin(), seen.end());
  return it->second;
}

FloatFlow::Slice FloatFlow::Between(const std::vector<Value>& to, Value from) {
  const std::vector<Value>& after = After(from);
  std::vector<Value> work;
  for (Value v : to) {
    if (Contains(after, v)) work.push_back(v);
  }
  std::set<Value> values(work.begin(), work.end());
  std::set<uint32_t> insts;
  while (!work.empty()) {
    const uint32_t k = made_by_[work.back().id];
    work.pop_back();
    if (k == kNoInst || !insts.insert(k).second) continue;
    ir::ForEachOperand(code_[k], [&](Value v) {
      if (Contains(after, v) && values.insert(v).second) work.push_back(v);
    });
  }
  return {{insts.begin(), insts.end()}, {values.begin(), values.end()}};
}

}  // namespace pullback::ad
