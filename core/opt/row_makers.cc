#include "core/opt/row_makers.h"

#include <algorithm>

#include "core/analysis/body_forms.h"
#include "core/ir/block_loops.h"
#include "core/ir/known_extents.h"
#include "core/ir/own_arrays.h"
#include "core/ir/statements.h"
#include "core/ir/total.h"

namespace pullback::opt {
namespace {

using ir::Affine;
using ir::Inst;
using ir::Op;
using ir::Value;

// The index that is the first subscript of all results, and in no other one.
Value RowOf(const ir::Each& each) {
  Value row;
  for (const ir::EachResult& r : each.results) {
    if (r.out.empty() || r.into.valid()) return ir::kNoValue;
    const Value first = r.out[0].AsValue();
    if (!first.valid() || (row.valid() && row != first)) return ir::kNoValue;
    row = first;
    const auto is_row = [&](const ir::IndexVar& i) {
      return i.var == row && i.extent == r.shape[0];
    };
    const auto at = std::find_if(each.indices.begin(), each.indices.end(), is_row);
    if (at == each.indices.end() ||
        !ir::IsApartFor(r, static_cast<size_t>(at - each.indices.begin())))
      return ir::kNoValue;
    const auto names_row = [&](const Affine& a) { return a.Coeff(row) != 0; };
    if (std::any_of(r.out.begin() + 1, r.out.end(), names_row)) return ir::kNoValue;
  }
  return row;
}

}  // namespace

Affine RowOfTurn(const Affine& turn, Value rows, Order order) {
  return order == Order::kForwards ? turn : Affine::Of(rows) - turn - Affine::Const(1);
}

bool FillsTable(const ir::Function& f, const BlockLoop& loop, const Counter& counter) {
  const Value i = f.blocks[loop.header].params[counter.param];
  const auto stores = [&](const Inst& inst) {
    return inst.op == Op::Update &&
           std::any_of(inst.subs.begin(), inst.subs.end(),
                       [&](const Affine& sub) { return sub.Coeff(i) != 0; });
  };
  return std::any_of(loop.blocks.begin(), loop.blocks.end(), [&](uint32_t b) {
    return std::any_of(f.blocks[b].insts.begin(), f.blocks[b].insts.end(), stores);
  });
}

RowMakers::RowMakers(const ir::Module& m, const ir::Function& f, const ir::Dominators& dominators,
                     const std::vector<BlockLoop>& loops, const DefinitionBlocks& defs,
                     const TurnRows& turn_rows)
    : m_(m),
      f_(f),
      dominators_(dominators),
      loops_(loops),
      defs_(defs),
      turn_rows_(turn_rows),
      around_(ir::LoopsAround(f, dominators)),
      extents_(f),
      statement_rows_(f) {
  FindMakers();
  FindReads();
}

void RowMakers::FindMakers() {
  const ir::OwnArrays own(f_);
  for (uint32_t b : dominators_.order()) {  // what makers read comes before them
    for (size_t k = 0; k < f_.blocks[b].insts.size(); ++k) {
      const Inst& inst = f_.blocks[b].insts[k];
      if (inst.op == Op::Dim) dims_.insert(inst.results[0].id);
      if (!inst.each) continue;
      const bool is_large =
          std::any_of(inst.each->results.begin(), inst.each->results.end(),
                      [&](const ir::EachResult& r) { return !own.IsNoLarger(r.shape); });
      const auto add = [&](Value row, bool folds, std::map<uint32_t, size_t>& of) {
        for (const ir::IndexVar& i : inst.each->indices) {
          if (i.var != row) continue;
          for (Value v : inst.results) of[v.id] = makers_.size();
          makers_.push_back({b, k, row, i.extent, is_large, folds});
        }
      };
      add(FoldedRow(*inst.each), true, folder_of_);
      add(RowOf(*inst.each), false, maker_of_);
    }
  }
}

// The one index by which it reads rows of what other makers make, and adds up what it makes of them or takes the greatest
// or the least, whatever its results' indices are; of these, the first that attains it, by rows.
Value RowMakers::FoldedRow(const ir::Each& each) const {
  std::set<Value> rows;
  for (const Inst& read : each.body) {
    if (read.op != Op::Index || !maker_of_.contains(read.args[0].id)) continue;
    for (const ir::IndexVar& i : each.indices) {
      if (read.subs[0].Coeff(i.var) != 0) rows.insert(i.var);
    }
  }
  if (rows.size() != 1) return {};
  const Value row = *rows.begin();
  const auto names = [&](const Affine& a) { return a.Coeff(row) != 0; };
  const auto is_other = [&](const Affine::Term& t) {
    return t.value != row && std::any_of(each.indices.begin(), each.indices.end(),
                                         [&](const ir::IndexVar& i) { return i.var == t.value; });
  };
  const bool is_free =
      std::none_of(each.where.begin(), each.where.end(), [&](const ir::Constraint& c) {
        return names(c.e) && std::any_of(c.e.terms.begin(), c.e.terms.end(), is_other);
      });
  const auto folds = [&](const ir::EachResult& r) {
    if (r.out.empty() || r.into.valid() || std::any_of(r.out.begin(), r.out.end(), names))
      return false;
    switch (r.monoid) {
      case ir::Monoid::kSum: return true;
      case ir::Monoid::kMax:
      case ir::Monoid::
          kMin:  // a block that has no point has no greatest one, and should not be the first
        return ir::IsPrefixForm(each, r) && each.indices[r.out.size()].var == row &&
               each.where.empty() && !r.guard.valid();
      default: return false;
    }
  };
  return is_free && std::all_of(each.results.begin(), each.results.end(), folds) ? row
                                                                                 : ir::kNoValue;
}

// Who reads what otherwise than by rows makes it whole.
void RowMakers::FindReads() {
  whole_.assign(makers_.size(), 0);
  reads_of_.resize(makers_.size());
  for (uint32_t b = 0; b < f_.blocks.size(); ++b) {
    for (size_t k = 0; k < f_.blocks[b].insts.size(); ++k) {
      const Inst& inst = f_.blocks[b].insts[k];
      if (inst.each) {
        for (size_t i = 0; i < inst.each->body.size(); ++i) Read(inst.each->body[i], {b, k, i});
        for (const ir::EachResult& r : inst.each->results) UseWhole(r.into);
      } else {
        Read(inst, {b, k, std::nullopt});
      }
    }
    ir::ForEachTermOperand(f_.blocks[b].term, [&](Value v) { UseWhole(v); });
  }
}

void RowMakers::Read(const Inst& inst, RowRead read) {
  if (inst.op == Op::Index) {
    read.array = inst.args[0];
    read.row = inst.subs[0];
    const auto it = maker_of_.find(read.array.id);
    if (it == maker_of_.end()) return;
    reads_of_[it->second].push_back(reads_.size());
    ir::Values at = turn_rows_.TermsOf(read.row);
    if (const auto reader = ReaderOf(read)) {
      const Value row = makers_[*reader].row;
      if (std::find(at.begin(), at.end(), row) == at.end()) at.push_back(row);
    }
    for (Value v : at) reads_at_[v.id].push_back(reads_.size());
    reads_.push_back(read);
    return;
  }
  ir::ForEachOperand(inst, [&](Value v) { UseWhole(v); });
}

void RowMakers::UseWhole(Value v) {
  if (!v.valid()) return;
  if (const auto it = maker_of_.find(v.id); it != maker_of_.end()) whole_[it->second] = 1;
}

const std::vector<size_t>& RowMakers::ReadsAt(Value v) const {
  static const std::vector<size_t> kNone;
  const auto it = reads_at_.find(v.id);
  return it == reads_at_.end() ? kNone : it->second;
}

RowMakers::Members RowMakers::MembersOf(const BlockLoop& loop, Value counter,
                                        const std::function<bool(size_t)>& may,
                                        const std::function<bool(const RowRead&)>& takes,
                                        const Others& others) const {
  std::set<size_t> members;
  std::vector<Value> rows = {counter};  // whose reads are looked at
  const auto add = [&](size_t m) {
    if (!IsWhole(m) && members.insert(m).second) rows.push_back(makers_[m].row);
  };
  std::set<size_t> seen;  // whose readers were looked at
  const auto add_behind = [&](size_t m) {
    for (size_t k : reads_of_[m]) {
      const std::optional<size_t> reader = ReaderOf(reads_[k]);
      if (reader && !IsOnceInFront(makers_[*reader], loop) && others.may_behind(*reader))
        add(*reader);
    }
  };
  while (!rows.empty()) {
    const Value row = rows.back();
    rows.pop_back();
    for (size_t k : ReadsAt(row)) {
      const size_t m = MakerOf(reads_[k]);
      if (may(m) && IsOnceInFront(makers_[m], loop)) add(m);
    }
    if (!others.may_behind || !rows.empty()) continue;
    for (size_t m : Members(members.begin(), members.end())) {
      if (seen.insert(m).second) add_behind(m);
    }
  }
  const auto is_by_rows = [&](size_t m) {
    return std::all_of(reads_of_[m].begin(), reads_of_[m].end(), [&](size_t k) {
      const RowRead& read = reads_[k];
      const bool in_turn = loop.Holds(read.block) && read.block != loop.header && takes(read);
      if (in_turn || IsOfMember(read, members, others.beside)) return true;
      const std::optional<size_t> reader = others.aside ? ReaderOf(read) : std::nullopt;
      return reader && !members.contains(*reader) && others.aside(*reader, read);
    });
  };
  // Who reads comes behind what it reads: from the last one on, mostly once is enough.
  for (bool again = true; again;) {
    again = false;
    const Members all(members.rbegin(), members.rend());
    for (size_t m : all) {
      if (is_by_rows(m)) continue;
      members.erase(m);
      again = true;
    }
  }
  return {members.begin(), members.end()};
}

std::vector<RowRead> RowMakers::ReadsIn(size_t m) const {
  const Maker& maker = makers_[m];
  const std::vector<Inst>& body = InstOf(maker).each->body;
  std::vector<RowRead> reads;
  for (size_t k = 0; k < body.size(); ++k) {
    if (body[k].op == Op::Index && IsMade(body[k].args[0]))
      reads.push_back({maker.block, maker.place, k, body[k].args[0], body[k].subs[0]});
  }
  return reads;
}

std::optional<size_t> RowMakers::MakerOf(const Inst& statement) const {
  const auto it = maker_of_.find(statement.results[0].id);
  return it == maker_of_.end() ? FolderOf(statement) : std::optional(it->second);
}

std::optional<size_t> RowMakers::FolderOf(const Inst& statement) const {
  const auto it = folder_of_.find(statement.results[0].id);
  return it == folder_of_.end() ? std::nullopt : std::optional(it->second);
}

std::optional<size_t> RowMakers::ReaderOf(const RowRead& read) const {
  if (!read.in_body) return std::nullopt;
  const Inst& reader = f_.blocks[read.block].insts[read.place];
  const std::optional<size_t> folder = FolderOf(reader);
  return folder ? folder : MakerOf(reader);
}

bool RowMakers::IsOfMember(const RowRead& read, const std::set<size_t>& members,
                           const Beside& beside) const {
  const std::optional<size_t> reader = ReaderOf(read);
  if (!reader || !members.contains(*reader)) return false;
  return beside ? beside(*reader, read) : IsOwnRow(*reader, read);
}

bool RowMakers::IsOwnRow(size_t reader, const RowRead& read) const {
  return read.row == Affine::Of(makers_[reader].row) &&
         RowsBeyond(makers_[MakerOf(read)].rows, makers_[reader].rows, defs_) == int64_t{0};
}

std::optional<RowMakers::Near> RowMakers::NearIn(size_t reader, const RowRead& read, int64_t most,
                                                 int64_t most_step) const {
  if (IsOwnRow(reader, read)) return Near{1, {0, 0}};
  const Value rows = makers_[MakerOf(read)].rows, row = makers_[reader].row;
  const ir::Each& each = *InstOf(makers_[reader]).each;
  const Inst& index = each.body[*read.in_body];
  if (!statement_rows_.IsThere(each, index, 0, rows)) return std::nullopt;
  const auto by = [&](int64_t step) -> std::optional<Near> {
    const auto span = statement_rows_.SpanOf(each, index, row, step, step * most);
    return span ? std::optional(Near{step, *span}) : std::nullopt;
  };
  if (const int64_t told = read.row.Coeff(row); told > most_step && told <= kMostTold)
    return by(told);
  for (int64_t step = 1; step <= most_step; ++step) {
    if (const auto near = by(step)) return near;
  }
  return std::nullopt;
}

bool RowMakers::IsOnceInFront(const Maker& maker, const BlockLoop& loop) const {
  return !loop.Holds(maker.block) && dominators_.Dominates(maker.block, loop.entry) &&
         AreInSameLoops(maker.block, loop);
}

bool RowMakers::AreInSameLoops(uint32_t block, const BlockLoop& loop) const {
  std::set<uint32_t> around = around_[loop.header];
  around.erase(loop.header);
  return around == around_[block];
}

bool RowMakers::CannotTrap(const Maker& maker) const {
  const ir::Each& each = *InstOf(maker).each;
  const auto is_within = [&](const Affine& sub, Value extent) {
    const Value v = sub.AsValue();
    const auto is_index = [&](const ir::IndexVar& i) {
      const bool is_own = v == i.var || sub == Affine() ||
                          RowOfTurn(sub, i.extent, Order::kBackwards) == Affine::Of(i.var);
      return is_own && extents_.AreEqual(i.extent, extent);
    };
    return std::any_of(each.indices.begin(), each.indices.end(), is_index) ||
           IsCountedWithin(v, extent, maker.block) || IsRemainder(each, v, extent);
  };
  for (const Inst& inst : each.body) {
    if (inst.op != Op::Index && ir::MayTrap(inst, f_, m_) && !DividesByExtent(each, inst))
      return false;
    for (size_t axis = 0; inst.op == Op::Index && axis < inst.subs.size(); ++axis) {
      const Value extent = extents_.Of(inst.args[0], axis);
      if (!is_within(inst.subs[axis], extent) && !statement_rows_.IsThere(each, inst, axis, extent))
        return false;
    }
  }
  for (const ir::EachResult& r : each.results) {
    for (size_t axis = 0; axis < r.out.size(); ++axis) {
      if (!is_within(r.out[axis], r.shape[axis])) return false;
    }
  }
  return true;
}

// By how far an index of the statement runs: that is no 0 where there is a point.
bool RowMakers::DividesByExtent(const ir::Each& each, const Inst& inst) const {
  return (inst.op == Op::Div || inst.op == Op::Rem) &&
         std::any_of(each.indices.begin(), each.indices.end(), [&](const ir::IndexVar& i) {
           return extents_.AreEqual(i.extent, inst.args[1]);
         });
}

// Whether the body makes v the remainder by that extent of a sum of indices, few times each: it wraps nowhere.
bool RowMakers::IsRemainder(const ir::Each& each, Value v, Value extent) const {
  const Inst* def = v.valid() ? ir::FindDef(each, v) : nullptr;
  if (!def || def->op != Op::Rem || !extents_.AreEqual(def->args[1], extent)) return false;
  analysis::BodyForms forms(each, f_);
  for (const Inst& inst : each.body) forms.Note(inst);
  const std::optional<Affine> of = forms.FormOf(def->args[0], {});
  const auto is_short = [](int64_t k) { return 0 <= k && k <= ir::kShortExtent; };
  return of && is_short(of->constant) &&
         std::all_of(of->terms.begin(), of->terms.end(), [&](const Affine::Term& t) {
           const auto is_term = [&](const ir::IndexVar& i) { return i.var == t.value; };
           return is_short(t.coeff) &&
                  std::any_of(each.indices.begin(), each.indices.end(), is_term);
         });
}

// Whether a loop around the block counts v from 0 or more to below `extent`.
bool RowMakers::IsCountedWithin(Value v, Value extent, uint32_t block) const {
  return v.valid() && std::any_of(loops_.begin(), loops_.end(), [&](const BlockLoop& loop) {
           if (!loop.Holds(block) || block == loop.header) return false;
           const std::optional<Counter> counter = FindCounterByOnes(f_, loop, defs_);
           if (!counter || f_.blocks[loop.header].params[counter->param] != v) return false;
           const Affine first = FormOf(loop.Arguments(f_)[counter->param], defs_);
           return first.IsConst() && first.constant >= 0 &&
                  extents_.AreEqual(counter->bound, extent);
         });
}

void RowMakers::CheckSizes(ir::Builder& b, const Maker& maker, uint32_t block) const {
  const Inst& inst = InstOf(maker);
  std::set<Value> extents;
  for (const ir::IndexVar& i : inst.each->indices) extents.insert(i.extent);
  for (const ir::EachResult& r : inst.each->results) extents.insert(r.shape.begin(), r.shape.end());
  const uint32_t loc = inst.loc;
  b.SetBlock(block);
  b.SetLoc(loc);
  for (Value extent : extents) {
    if (dims_.contains(extent.id)) continue;
    b.Check(b.Make(Op::Ge, {extent, b.I64(0)}), ir::TrapKind::kNegativeSize, extent);
  }
  b.SetLoc(0);
}

}  // namespace pullback::opt
