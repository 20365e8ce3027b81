#include "core/opt/row_asides.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "core/ir/append.h"
#include "core/ir/literal.h"
#include "core/ir/monoid.h"
#include "core/opt/loop_traps.h"
#include "core/opt/turn_facts.h"

namespace pullback::opt {

using ir::Affine;
using ir::Inst;
using ir::Op;
using ir::Value;

namespace {
constexpr int64_t kMostPer = 4;  // turns for a row, if no coefficient says it
}  // namespace

bool RowAsides::MayBe(size_t maker, const BlockLoop& loop, const Counter& counter) const {
  const Maker& m = makers_[maker];
  const Inst& inst = makers_.InstOf(m);
  if ((m.is_large && !m.folds) || loop.has_breaks || !IsBehind(m, loop) ||
      !HasRowsInFront(m, loop) || !NeedsMaybe(inst, m, loop))
    return false;
  std::set<int64_t> rates;
  for (int64_t per = 1; per <= kMostPer; ++per) rates.insert(per);
  for (const RowRead& read : makers_.ReadsIn(maker)) {
    const int64_t told = read.row.Coeff(m.row);
    if (0 < told && told <= kMostTold) rates.insert(told);
  }
  // Its rows are counted in front, where a branch may not have led to it.
  const bool may_count = IsRun(maker, loop) || IsNotNegative(FormOf(m.rows, defs_), defs_);
  bool there = may_count && std::any_of(rates.begin(), rates.end(), [&](int64_t per) {
                 return Beyond(maker, counter, per).value_or(per) < per;
               });
  for (const ir::EachResult& r : inst.each->results) {
    there &= (m.folds || r.monoid == ir::Monoid::kGen || r.monoid == ir::Monoid::kSum ||
              r.monoid == ir::Monoid::kMax || r.monoid == ir::Monoid::kMin) &&
             f_.TypeOf(r.value).IsFloat() && !r.guard.valid();
    for (Value n : r.shape) {
      const bool is_rows =
          n == m.rows || (front_.IsInFront(n, loop) && RowsBeyond(n, m.rows, defs_) == int64_t{0});
      there &= m.folds ? !is_rows && front_.IsInFront(n, loop) && IsExtent(n, defs_)
                       : is_rows || (front_.IsInFront(n, loop) && IsExtent(n, defs_));
    }
  }
  for (const ir::IndexVar& i : inst.each->indices)
    there &= i.var == m.row || (front_.IsInFront(i.extent, loop) && IsExtent(i.extent, defs_));
  return there;
}

bool RowAsides::MayBeRows(size_t maker, const BlockLoop& loop) const {
  const Maker& m = makers_[maker];
  const Inst& inst = makers_.InstOf(m);
  const auto is_there = [&](Value n) {
    return n == m.rows ? HasRowsInFront(m, loop) && IsNotNegative(FormOf(n, defs_), defs_)
                       : front_.IsInFront(n, loop) && IsExtent(n, defs_);
  };
  return !m.folds && !loop.has_breaks && IsBehind(m, loop) && NeedsMaybe(inst, m, loop) &&
         makers_.CannotTrap(m) &&
         std::all_of(inst.each->indices.begin(), inst.each->indices.end(),
                     [&](const ir::IndexVar& i) { return is_there(i.extent); }) &&
         std::all_of(inst.each->results.begin(), inst.each->results.end(),
                     [&](const ir::EachResult& r) {
                       return std::all_of(r.shape.begin(), r.shape.end(), is_there);
                     });
}

bool RowAsides::NeedsMaybe(const Inst& inst, const Maker& maker, const BlockLoop& loop) const {
  bool needs = true;
  ir::ForEachOperand(inst, [&](Value v) {
    needs &= v == maker.rows || front_.IsInFront(v, loop) || makers_.IsMade(v);
  });
  return needs;
}

bool RowAsides::NeedsOnly(size_t maker, const BlockLoop& loop,
                          const std::function<bool(const RowRead&)>& is_made) const {
  const std::vector<RowRead> reads = makers_.ReadsIn(maker);
  return NeedsMaybe(makers_.InstOf(makers_[maker]), makers_[maker], loop) &&
         std::all_of(reads.begin(), reads.end(), [&](const RowRead& read) {
           return front_.IsInFront(read.array, loop) || is_made(read);
         });
}

// None are left out where it makes fewer than none.
std::optional<int64_t> RowAsides::Beyond(size_t maker, const Counter& counter, int64_t per) const {
  Value rows = makers_[maker].rows;
  const Inst* max = defs_.Inst(rows);
  if (max != nullptr && max->op == Op::Max && FormOf(max->args[1], defs_) == Affine())
    rows = max->args[0];
  if (per == 1) return RowsBeyond(rows, counter.bound, defs_);
  if (const auto beyond = BeyondQuotient(rows, counter.bound, per)) return beyond;
  const std::optional<Affine> all = TimesBound(rows, per, defs_);
  if (!all) return std::nullopt;
  const Affine beyond = *all - FormOf(counter.bound, defs_);
  return beyond.IsConst() ? std::optional(beyond.constant) : std::nullopt;
}

// Of a / per rows and a few turns less than a, or of a / (b * per) and a few less than a / b.
std::optional<int64_t> RowAsides::BeyondQuotient(Value rows, Value bound, int64_t per) const {
  const Inst* a = defs_.Inst(rows);
  if (a == nullptr || a->op != Op::Div) return std::nullopt;
  const Affine of = FormOf(a->args[0], defs_), by = FormOf(a->args[1], defs_),
               turns = FormOf(bound, defs_);
  const Affine beyond = of - turns;
  if (by == Affine::Const(per) && beyond.IsConst()) return beyond.constant;
  if (turns.terms.size() != 1 || turns.terms[0].coeff != 1) return std::nullopt;
  const Inst* b = defs_.Inst(turns.terms[0].value);
  if (b == nullptr || b->op != Op::Div) return std::nullopt;
  const Affine less = FormOf(b->args[1], defs_);
  const bool is_one = by.IsConst() && less.IsConst() && 0 < less.constant &&
                      less.constant <= by.constant && by == less * per &&
                      of == FormOf(b->args[0], defs_) && IsNotNegative(of, defs_);
  return is_one ? std::optional(-turns.constant) : std::nullopt;
}

bool RowAsides::IsBehind(const Maker& maker, const BlockLoop& loop) const {
  return !loop.Holds(maker.block) && dominators_.Dominates(loop.header, maker.block) &&
         makers_.AreInSameLoops(maker.block, loop);
}

bool RowAsides::IsRun(size_t maker, const BlockLoop& loop) const {
  return makers_[maker].block == loop.Exit(f_).block;
}

// Whether that is there how many rows it makes, or what that is made of where nothing but sizes needs it.
bool RowAsides::HasRowsInFront(const Maker& maker, const BlockLoop& loop) const {
  if (front_.IsInFront(maker.rows, loop)) return true;
  const ir::Each& each = *makers_.InstOf(maker).each;
  bool needed = false;
  const auto look = [&](Value v) { needed |= v == maker.rows; };
  for (const Inst& inst : each.body) ir::ForEachOperand(inst, look);
  for (const ir::Constraint& c : each.where) ir::ForEachOperand(c.e, look);
  for (const ir::EachResult& r : each.results) {
    for (const Affine& a : r.out) ir::ForEachOperand(a, look);
  }
  return !needed && front_.MayBe(maker.rows, loop);
}

std::vector<Inst> RowAsides::MakersOfSize(Value v, const BlockLoop& loop) const {
  std::vector<Inst> made;
  front_.AddMakers(v, loop, made);
  return made;
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

Value AddTo(ir::Function& f, Value table, Value rows, std::vector<Inst>& out) {
  Inst add;
  add.op = Op::AddArrays;
  add.args = {table, rows};
  add.results = {f.NewLike(f, table)};
  out.push_back(std::move(add));
  return out.back().results[0];
}

}  // namespace

Inst EmptyTable(ir::Function& f, const ir::EachResult& like, ir::Type array, bool folds,
                uint32_t loc) {
  Inst inst = OverElements(f, like, like.shape[0], {}, loc);
  Inst& empty = inst.each->body.emplace_back();
  empty.op = Op::Const;
  empty.bits =
      folds ? ir::MonoidIdentity(like.monoid, array.elem) : ir::FloatBits(array.elem, -0.0);
  empty.results = {f.NewValue(array.Element())};
  inst.each->results[0].value = empty.results[0];
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

Value JoinExtrema(ir::Appender& out, ir::Monoid monoid, ir::Type type, Value so_far, Value next,
                  Value is_first) {
  const auto is = [&](Op op, Value a, Value b) { return out.Make(op, ir::Type::Bool(), {a, b}); };
  const Value beyond = is(monoid == ir::Monoid::kMax ? Op::Gt : Op::Lt, next, so_far);
  const Value differs = is(Op::Ne, next, next);
  Value replaces = is(Op::Or, beyond, is(Op::And, differs, is(Op::Eq, so_far, so_far)));
  if (is_first.valid()) replaces = is(Op::Or, replaces, is_first);
  return out.Make(Op::Select, type, {replaces, next, so_far});
}

Value FoldInto(ir::Function& f, Value table, Value more, Value is_first, const ir::EachResult& like,
               uint32_t loc, std::vector<Inst>& out) {
  if (like.monoid == ir::Monoid::kSum) return AddTo(f, table, more, out);
  Inst inst = OverElements(f, like, like.shape[0], {}, loc);
  ir::Affines subs;
  for (const ir::IndexVar& i : inst.each->indices) subs.push_back(Affine::Of(i.var));
  const ir::Type type = f.TypeOf(table).Element();
  const auto element = [&](Value array) {
    Inst& read = inst.each->body.emplace_back();
    read.op = Op::Index;
    read.args = {array};
    read.results = {f.NewValue(type)};
    read.subs = ir::AffineSpan(subs);
    return read.results[0];
  };
  const Value so_far = element(table), next = element(more);
  ir::Appender body(f, inst.each->body, loc);
  inst.each->results[0].value = JoinExtrema(body, like.monoid, type, so_far, next, is_first);
  inst.results = {f.NewLike(f, table)};
  out.push_back(std::move(inst));
  return out.back().results[0];
}

}  // namespace pullback::opt
