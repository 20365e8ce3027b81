#include "core/tensor/array_reads.h"

#include <algorithm>
#include <cstdlib>
#include <map>

#include "core/tensor/statement_edit.h"

namespace pullback::tensor {

using ir::Inst;
using ir::Op;
using ir::Value;

std::set<Value> ArraysNeededWhole(const ir::Function& f) {
  std::set<Value> whole;
  const auto note = [&](const Value& v) {
    if (f.TypeOf(v).IsArray()) whole.insert(v);
  };
  for (const ir::Block& b : f.blocks) {
    for (const Inst& inst : b.insts) {
      if (!inst.each) {
        ir::ForEachOperand(inst, note);
        continue;
      }
      for (const Inst& body : inst.each->body) {
        if (body.op != Op::Index) ir::ForEachOperand(body, note);
      }
      for (const ir::EachResult& r : inst.each->results) {
        if (r.into.valid()) whole.insert(r.into);
      }
    }
    ir::ForEachTermOperand(b.term, note);
  }
  return whole;
}

std::optional<Value> IndexAlong(const ir::Each& statement, const ir::Affine& sub,
                                const ir::KnownExtents& extents) {
  Value index, within;
  for (const ir::Affine::Term& t : sub.terms) {
    if (FindDef(statement, t.value)) return std::nullopt;
    const std::optional<size_t> place = PlaceOfIndex(statement, t.value);
    if (!place) continue;
    if (extents.IsShort(statement.indices[*place].extent)) {
      within = t.value;
    } else {
      if (index.valid()) return std::nullopt;
      index = t.value;
    }
  }
  return index.valid() ? index : within;
}

std::set<Value> ArraysOfManyRows(const ir::Function& f, size_t axis,
                                 ReadsOfBlocks reads_of_blocks) {
  std::set<Value> many;
  const ir::KnownExtents extents = ir::FindKnownExtents(f);
  const auto note = [&](const Value& v) {
    if (f.TypeOf(v).IsArray()) many.insert(v);
  };
  for (const ir::Block& b : f.blocks) {
    for (const Inst& inst : b.insts) {
      const bool needs_row =
          inst.op == Op::Index && reads_of_blocks == ReadsOfBlocks::kNeedTheirRow;
      if (!inst.each && inst.op != Op::AddArrays && inst.op != Op::Dim && !needs_row)
        ir::ForEachOperand(inst, note);
      std::map<Value, Value> along;  // by array
      for (size_t k = 0; inst.each && k < inst.each->body.size(); ++k) {
        const Inst& read = inst.each->body[k];
        if (read.op != Op::Index) {
          ir::ForEachOperand(read, note);
          continue;
        }
        if (read.subs.size() <= axis) continue;
        const std::optional<Value> index = IndexAlong(*inst.each, read.subs[axis], extents);
        const bool other = !index || (index->valid() &&
                                      along.emplace(read.args[0], *index).first->second != *index);
        if (other) many.insert(read.args[0]);
      }
    }
    ir::ForEachTermOperand(b.term, note);
  }
  return many;
}

ArrayReads::ArrayReads(const ir::Function& f, int least_rank) : f_(f), least_rank_(least_rank) {
  const auto forbid = [&](Value v) { Forbid(v); };
  for (const ir::Block& b : f.blocks) {
    for (const Inst& inst : b.insts) {
      if (inst.each)
        Visit(inst);
      else if (inst.op == Op::Index && f.TypeOf(inst.args[0]).rank >= least_rank)
        of_[inst.args[0].id].in_blocks = true;
      else
        ir::ForEachOperand(inst, forbid);
    }
    ir::ForEachTermOperand(b.term, forbid);
  }
}

void ArrayReads::Forbid(Value v) {
  if (f_.TypeOf(v).rank >= least_rank_) of_[v.id].other = true;
}

void ArrayReads::Visit(const Inst& statement) {
  for (const Inst& inst : statement.each->body) {
    if (inst.op != Op::Index) {
      ir::ForEachOperand(inst, [&](Value v) { Forbid(v); });
    } else if (f_.TypeOf(inst.args[0]).rank >= least_rank_) {
      Array& read = of_[inst.args[0].id];
      read.subs.emplace_back(inst.subs.begin(), inst.subs.end());
      read.reads.push_back({statement.each.get(), &inst});
    }
  }
  for (const ir::EachResult& r : statement.each->results) {
    if (r.into.valid()) Forbid(r.into);
  }
}

bool ArrayReads::OnlyByStatements(Value array) const {
  const auto it = of_.find(array.id);
  return it != of_.end() && !it->second.other && !it->second.in_blocks;
}
bool ArrayReads::OnlyByIndex(Value array) const {
  const auto it = of_.find(array.id);
  return it != of_.end() && !it->second.other;
}
bool ArrayReads::IsReadInBlocks(Value array) const {
  const auto it = of_.find(array.id);
  return it != of_.end() && it->second.in_blocks;
}

std::optional<ArrayReads::AtDiagonal> ArrayReads::Diagonal(Value array) const {
  const auto& subs = of_.at(array.id).subs;
  const size_t rank = f_.TypeOf(array).rank;
  for (size_t a = 0; a < rank; ++a) {
    for (size_t b = a + 1; b < rank; ++b) {
      const ir::Affine apart = subs.front()[a] - subs.front()[b];
      if (apart.IsConst() && std::all_of(subs.begin(), subs.end(),
                                         [&](const auto& s) { return s[a] - s[b] == apart; }))
        return AtDiagonal{a, b, apart.constant};
    }
  }
  return std::nullopt;
}

std::optional<size_t> ArrayReads::FirstIndexAxis(Value array) const {
  const Array& a = of_.at(array.id);
  const size_t rank = f_.TypeOf(array).rank;
  for (size_t axis = 0; axis < rank; ++axis) {
    bool all = true;
    for (size_t k = 0; all && k < a.subs.size(); ++k) {
      const auto& indices = a.reads[k].statement->indices;
      all = !indices.empty() && a.subs[k][axis].AsValue() == indices[0].var;
    }
    if (all) return axis;
  }
  return std::nullopt;
}

}  // namespace pullback::tensor
