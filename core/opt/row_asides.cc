#include "core/opt/row_asides.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "core/opt/turn_facts.h"

namespace pullback::opt {

using ir::Affine;
using ir::Inst;
using ir::Op;
using ir::Value;

bool RowAsides::MayBe(size_t maker, const BlockLoop& loop, const Counter& counter) const {
  const Maker& m = makers_[maker];
  const Inst& inst = makers_.InstOf(m);
  if ((m.is_large && !m.adds) || loop.has_breaks || loop.Holds(m.block) ||
      !dominators_.Dominates(loop.header, m.block) || !makers_.AreInSameLoops(m.block, loop) ||
      RowsBeyond(m.rows, counter.bound, defs_).value_or(1) > 0)
    return false;
  bool there = HasRowsInFront(m, loop);
  ir::ForEachOperand(inst, [&](Value v) { there &= v == m.rows || IsInFront(v, loop); });
  for (const ir::EachResult& r : inst.each->results) {
    there &= (r.monoid == ir::Monoid::kGen || r.monoid == ir::Monoid::kSum ||
              r.monoid == ir::Monoid::kMax || r.monoid == ir::Monoid::kMin) &&
             f_.TypeOf(r.value).IsFloat() && !r.guard.valid();
    for (Value n : r.shape) {
      const bool is_rows = n == m.rows || RowsBeyond(n, m.rows, defs_) == int64_t{0};
      there &= m.adds ? !is_rows && IsInFront(n, loop) && IsExtent(n, defs_)
                      : is_rows || (IsInFront(n, loop) && IsExtent(n, defs_));
    }
  }
  for (const ir::IndexVar& i : inst.each->indices)
    there &= i.var == m.row || (IsInFront(i.extent, loop) && IsExtent(i.extent, defs_));
  return there;
}

bool RowAsides::NothingTrapsBefore(size_t maker, const CountedLoop& loop,
                                   const LoopTraps& traps) const {
  const Maker& m = makers_[maker];
  if (m.block != loop.loop.Exit(f_).block) return false;
  const std::vector<Inst>& insts = f_.blocks[m.block].insts;
  return std::all_of(
      insts.begin(), insts.begin() + static_cast<std::ptrdiff_t>(m.place), [&](const Inst& inst) {
        const auto it = inst.each ? makers_.MakerOf(inst) : std::nullopt;
        return traps.CannotTrap(inst, loop) || (it && makers_.CannotTrap(makers_[*it]));
      });
}

// Whether that is there how many rows it makes, or what that is the sum of where nothing but sizes needs it.
bool RowAsides::HasRowsInFront(const Maker& maker, const BlockLoop& loop) const {
  if (IsInFront(maker.rows, loop)) return true;
  const Affine form = FormOf(maker.rows, defs_);
  const ir::Each& each = *makers_.InstOf(maker).each;
  bool needed = false;
  const auto look = [&](Value v) { needed |= v == maker.rows; };
  for (const Inst& inst : each.body) ir::ForEachOperand(inst, look);
  for (const ir::Constraint& c : each.where) ir::ForEachOperand(c.e, look);
  for (const ir::EachResult& r : each.results) {
    for (const Affine& a : r.out) ir::ForEachOperand(a, look);
  }
  return !needed && std::all_of(form.terms.begin(), form.terms.end(),
                                [&](const Affine::Term& t) { return IsInFront(t.value, loop); });
}

std::optional<Affine> RowAsides::RowsToMake(size_t maker, const BlockLoop& loop) const {
  const Maker& m = makers_[maker];
  return IsInFront(m.rows, loop) ? std::nullopt : std::optional(FormOf(m.rows, defs_));
}

bool RowAsides::IsInFront(Value v, const BlockLoop& loop) const {
  const uint32_t block = defs_.BlockOf(v);
  return block == ir::kNoBlock || dominators_.Dominates(block, loop.entry);
}

namespace {

// One point for each element, of `rows` rows from `first` on.
Inst OverElements(ir::Function& f, const ir::EachResult& like, Value rows, const Affine& first,
                  uint32_t loc) {
  Inst inst;
  inst.op = Op::Each;
  inst.loc = like.loc != 0 ? like.loc : loc;
  inst.each = std::make_unique<ir::Each>();
  ir::EachResult& r = inst.each->results.emplace_back();
  r.monoid = ir::Monoid::kGen;
  r.shape = like.shape;
  for (size_t axis = 0; axis < like.shape.size(); ++axis) {
    const Value index = f.NewValue(ir::Type::I64());
    inst.each->indices.push_back({index, axis == 0 ? rows : like.shape[axis]});
    r.out.push_back(axis == 0 ? first + Affine::Of(index) : Affine::Of(index));
  }
  return inst;
}

}  // namespace

Inst EmptyTable(ir::Function& f, const ir::EachResult& like, ir::Type array, bool of_sums,
                uint32_t loc) {
  Inst inst = OverElements(f, like, like.shape[0], {}, loc);
  Inst& zero = inst.each->body.emplace_back();
  zero.op = Op::Const;
  if (!of_sums) zero.bits = array.elem == DType::kF32 ? uint64_t{1} << 31 : uint64_t{1} << 63;
  zero.results = {f.NewValue(array.Element())};
  inst.each->results[0].value = zero.results[0];
  inst.results = {f.NewValue(array)};
  return inst;
}

Value PutRows(ir::Function& f, Value rows, Value count, const Affine& first,
              const ir::EachResult& like, Value table, uint32_t loc, std::vector<Inst>& out) {
  Inst inst = OverElements(f, like, count, first, loc);
  Inst& read = inst.each->body.emplace_back();
  read.op = Op::Index;
  read.args = {rows};
  read.results = {f.NewValue(f.TypeOf(table).Element())};
  ir::Affines subs;
  for (const ir::IndexVar& i : inst.each->indices) subs.push_back(Affine::Of(i.var));
  read.subs = ir::AffineSpan(subs);
  inst.each->results[0].value = read.results[0];
  inst.results = {f.NewLike(f, table)};
  const Value of_rows = inst.results[0];
  out.push_back(std::move(inst));
  return AddTo(f, table, of_rows, out);
}

Value AddTo(ir::Function& f, Value table, Value rows, std::vector<Inst>& out) {
  Inst add;
  add.op = Op::AddArrays;
  add.args = {table, rows};
  add.results = {f.NewLike(f, table)};
  out.push_back(std::move(add));
  return out.back().results[0];
}

}  // namespace pullback::opt
