#include "core/ad/read_alone.h"

#include <set>

namespace pullback::ad {

using ir::Inst;
using ir::Op;
using ir::Value;

ReadAlone::ReadAlone(const ir::Function& f) : taken_(f.values.size()) {
  const auto take = [&](Value v, uint32_t block, Value param) {
    if (f.TypeOf(v).IsArray()) taken_[v.id].push_back({block, param});
  };
  for (uint32_t b = 0; b < f.blocks.size(); ++b) {
    for (const Inst& inst : f.blocks[b].insts) {
      if (inst.op == Op::Index || inst.op == Op::Dim) continue;
      for (Value v : inst.args) take(v, b, {});
      if (!inst.each) continue;
      for (const ir::EachResult& r : inst.each->results) {
        if (r.into.valid()) take(r.into, b, {});
      }
    }
    const ir::Terminator& term = f.blocks[b].term;
    for (Value v : term.results) take(v, b, {});
    for (const ir::Edge& e : term.edges) {
      for (size_t k = 0; k < e.args.size(); ++k)
        take(e.args[k], e.block, f.blocks[e.block].params[k]);
    }
  }
}

bool ReadAlone::Is(Value array) const {
  std::set<Value> seen = {array};
  std::vector<Value> work = {array};
  while (!work.empty()) {
    const Value v = work.back();
    work.pop_back();
    for (const Taken& taken : taken_[v.id]) {
      if (!taken.param.valid()) return false;
      if (seen.insert(taken.param).second) work.push_back(taken.param);
    }
  }
  return true;
}

}  // namespace pullback::ad
