#include "core/tensor/turn_values.h"

#include <algorithm>

#include "core/ir/block_loops.h"
#include "core/ir/dominance.h"

namespace pullback::tensor {

TurnValues::TurnValues(const ir::Function& f)
    : around_(ir::LoopsAround(f, ir::Dominators(f))), block_of_(f.values.size(), ir::kNoBlock) {
  for (uint32_t b = 0; b < f.blocks.size(); ++b) {
    for (const ir::Value v : f.blocks[b].params) block_of_[v.id] = b;
    for (const ir::Inst& inst : f.blocks[b].insts) {
      for (const ir::Value v : inst.results) block_of_[v.id] = b;
    }
  }
}

bool TurnValues::Takes(const ir::Affine& row, uint32_t block) const {
  const std::set<uint32_t>& around = around_[block];
  return std::any_of(row.terms.begin(), row.terms.end(), [&](const ir::Affine::Term& t) {
    const uint32_t from = block_of_[t.value.id];
    return from != ir::kNoBlock &&
           !std::includes(around.begin(), around.end(), around_[from].begin(), around_[from].end());
  });
}

std::set<ir::Value> TurnValues::ArraysTaken(const ir::Function& f) const {
  std::set<ir::Value> taken;
  const auto read_by_turns = [&](const ir::Inst& read) {
    return read.op == ir::Op::Index && block_of_[read.args[0].id] != ir::kNoBlock &&
           Takes(read.subs[0], block_of_[read.args[0].id]);
  };
  const auto makes_rows_of = [&](const ir::Inst& inst, const ir::Inst& read) {
    for (size_t k = 0; read.op == ir::Op::Index && k < inst.results.size(); ++k) {
      const ir::EachResult& r = inst.each->results[k];
      const ir::Value row = r.out.empty() ? ir::kNoValue : r.out[0].AsValue();
      if (row.valid() && taken.contains(inst.results[k]) && read.subs[0].Coeff(row) != 0)
        return true;
    }
    return false;
  };
  const auto visit = [&](const ir::Inst& inst) {
    if (read_by_turns(inst)) taken.insert(inst.args[0]);
    for (size_t k = 0; inst.each && k < inst.each->body.size(); ++k) {
      const ir::Inst& read = inst.each->body[k];
      if (read_by_turns(read) || makes_rows_of(inst, read)) taken.insert(read.args[0]);
    }
  };
  // From the end, so that who reads comes before what it reads: mostly once is enough.
  for (size_t before = SIZE_MAX; before != taken.size();) {
    before = taken.size();
    for (auto b = f.blocks.rbegin(); b != f.blocks.rend(); ++b)
      std::for_each(b->insts.rbegin(), b->insts.rend(), visit);
  }
  return taken;
}

}  // namespace pullback::tensor
