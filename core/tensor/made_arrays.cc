#include "core/tensor/made_arrays.h"

namespace pullback::tensor {

using ir::Inst;
using ir::Value;

MadeArrays FindMadeArrays(const std::vector<Inst>& insts, const std::vector<bool>& elsewhere,
                          const std::function<bool(Value, const ir::EachResult&)>& wanted) {
  MadeArrays arrays;
  std::set<Value> whole;  // what something else reads
  for (size_t at = 0; at < insts.size(); ++at) {
    const Inst& inst = insts[at];
    std::map<Value, int> others;
    ir::ForEachOperand(inst, [&](const Value& v) {
      if (arrays.contains(v)) ++others[v];
    });
    if (inst.each) {
      ForEachRead(*inst.each, [&](Value v, ir::AffineSpan) {
        if (const auto it = others.find(v); it != others.end()) --it->second;
      });
    }
    for (const auto& [v, count] : others) {
      arrays.at(v).readers.insert(at);
      if (count > 0) whole.insert(v);
    }
    for (size_t k = 0; inst.each && k < inst.results.size(); ++k) {
      const Value v = inst.results[k];
      const bool here = v.id >= elsewhere.size() || !elsewhere[v.id];
      if (here && wanted(v, inst.each->results[k])) arrays.emplace(v, MadeArray{at, k});
    }
  }
  std::erase_if(arrays,
                [&](const auto& a) { return a.second.readers.empty() || whole.contains(a.first); });
  return arrays;
}

bool IsByTurns(const std::vector<Inst>& insts, Value v, const MadeArray& array, const Turns& turns,
               size_t depth) {
  bool same = ResultOf(insts, array).out[depth].AsValue() == IndexAt(insts[array.maker], depth);
  for (size_t at : array.readers) {
    same &= turns.LoopOf(at) == turns.LoopOf(array.maker);
    ForEachRead(*insts[at].each, [&](Value of, ir::AffineSpan subs) {
      same &= of != v || subs[depth].AsValue() == IndexAt(insts[at], depth);
    });
  }
  return same;
}

}  // namespace pullback::tensor
