#include "core/tensor/sum_statements.h"

#include <utility>

#include "core/ir/statements.h"

namespace pullback::tensor {

using ir::EachResult;
using ir::Inst;
using ir::Op;
using ir::Value;

SumStatements::SumStatements(ir::Function& f, std::vector<Inst>& insts, const ShapeTest& wanted) {
  std::map<Value, ir::Values> shapes;
  for (Inst& inst : insts) {
    for (size_t k = 0; inst.each && k < inst.results.size(); ++k) {
      const EachResult& r = inst.each->results[k];
      if (r.out.size() > 1) shapes[inst.results[k]] = r.shape;
    }
    if (inst.op != Op::AddArrays) continue;
    const auto a = shapes.find(inst.args[0]), b = shapes.find(inst.args[1]);
    if (a == shapes.end() || b == shapes.end() || a->second != b->second) continue;
    shapes[inst.results[0]] = a->second;
    if (!wanted(a->second)) continue;
    Inst statement = ir::SumAsStatement(f, inst, a->second);
    sums_.emplace(inst.results[0], std::exchange(inst, std::move(statement)));
  }
}

void SumStatements::PutBack(std::vector<Inst>& insts, const StatementTest& stays) {
  for (Inst& inst : insts) {
    const auto it = inst.results.empty() ? sums_.end() : sums_.find(inst.results[0]);
    if (it != sums_.end() && !stays(inst)) inst = std::move(it->second);
  }
}

}  // namespace pullback::tensor
