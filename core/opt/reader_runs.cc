#include "core/opt/reader_runs.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/ir/monoid.h"
#include "core/opt/loop_traps.h"
#include "core/opt/rename.h"
#include "core/opt/row_asides.h"
#include "core/opt/row_statement.h"

namespace pullback::opt {

using ir::Affine;
using ir::Inst;
using ir::Op;
using ir::Value;

ReaderRuns::ReaderRuns(ir::Builder& b, const StreamFinder& finder, const Streams& streams,
                       const std::vector<StreamReader>& readers)
    : b_(b), f_(b.function()), finder_(finder), streams_(streams) {
  for (const StreamReader& r : readers)
    readers_.push_back({r, std::move(f_.blocks[r.block].insts[r.place]), {}, {}});
}

const Stream* ReaderRuns::StreamOf(Value v) const {
  const auto it =
      std::find_if(streams_.begin(), streams_.end(), [&](const Stream& s) { return s.array == v; });
  return it == streams_.end() ? nullptr : &*it;
}

bool ReaderRuns::IsResult(Value v) const {
  return std::any_of(readers_.begin(), readers_.end(), [&](const Reader& r) {
    return std::find(r.inst.results.begin(), r.inst.results.end(), v) != r.inst.results.end();
  });
}

size_t ReaderRuns::AxisOf(Value result) const {
  for (const Reader& r : readers_) {
    for (size_t k = 0; k < r.inst.results.size(); ++k) {
      if (r.inst.results[k] == result) return *r.how.axes[k];
    }
  }
  return 0;
}

std::vector<ReaderRuns::Table> ReaderRuns::Tables() const {
  std::vector<Table> all;
  for (const Reader& r : readers_) all.insert(all.end(), r.tables.begin(), r.tables.end());
  return all;
}

void ReaderRuns::Bring(Reader& r, BroughtValues& brought) {
  ir::ForEachOperand(r.inst, [&](Value& v) {
    if (StreamOf(v) == nullptr && !IsResult(v)) v = brought.Bring(v);
  });
  ir::CanonicaliseAffines(r.inst);
  r.shift = brought.Bring(r.how.shift);
}

// A statement of fewer points than none ends the run.
void ReaderRuns::CheckSizes(const Reader& r, const DefinitionBlocks& defs) {
  b_.SetLoc(r.inst.loc);
  for (const ir::IndexVar& i : r.inst.each->indices) {
    if (IsExtent(i.extent, defs)) continue;
    b_.Check(b_.Make(Op::Ge, {i.extent, b_.I64(0)}), ir::TrapKind::kNegativeSize, i.extent);
  }
  b_.SetLoc(0);
}

Value ReaderRuns::PointsOf(const Reader& r) {
  const ir::Each& each = *r.inst.each;
  return std::find_if(each.indices.begin(), each.indices.end(),
                      [&](const ir::IndexVar& i) { return i.var == r.how.row; })
      ->extent;
}

void ReaderRuns::Start(uint32_t block, BroughtValues& brought, const StartRow& start_row) {
  b_.SetBlock(block);
  for (Reader& r : readers_) {
    Bring(r, brought);
    CheckSizes(r, finder_.defs());
    for (size_t k = 0; k < r.inst.results.size(); ++k) {
      if (!r.how.axes[k] || r.how.stored.contains(k))
        r.tables.push_back({k, Identity(r, k), f_.NewLike(f_, r.inst.results[k]), {}});
    }
  }
  const Stream& s = streams_[0];
  for (const bool in_front : {true, false}) {
    RunApart(in_front, brought, start_row);
    Copier names(f_);
    for (const Stream& of : streams_) names.Set(of.array, of.start);
    for (Reader& r : readers_) {
      const PointsApart& apart = in_front ? r.how.before : r.how.behind;
      if (!apart.any || apart.count > 0) continue;
      const Affine row = Affine::Of(r.how.row) + r.shift;
      const Affine before = (s.FirstRow() - row) * s.step - Affine::Const(1);
      if (in_front) {
        StartWhere({before}, r, names);
      } else {
        StartWhere({(row - s.EndRow()) * s.step, before * -1 - Affine::Const(1)}, r, names);
      }
    }
  }
  for (Reader& r : readers_) {
    for (Table& t : r.tables) {
      if (t.next.valid()) t.start = t.next;
    }
  }
}

// Points of which it is known how many there are: one by one, all readers' of the same rows.
void ReaderRuns::RunApart(bool in_front, BroughtValues& brought, const StartRow& start_row) {
  const auto apart = [&](const Reader& r) -> const PointsApart& {
    return in_front ? r.how.before : r.how.behind;
  };
  int64_t most = 0;
  for (const Reader& r : readers_) most = std::max(most, apart(r).count);
  for (int64_t k = 0; k < most; ++k) {
    Copier names(f_);
    for (Reader& r : readers_) {
      const PointsApart& points = apart(r);
      const int64_t own = points.ends_at_turns ? k - (most - points.count) : k;
      if (own < 0 || own >= points.count) continue;
      const Affine at = brought.Bring(points.first) + Affine::Const(own);
      Run(
          r, at, false,
          [&](const TakenRow& t) {
            const Stream& s = streams_[t.stream];
            return start_row(t.stream, at + r.shift + Affine::Const(s.ahead - t.before * s.step));
          },
          names);
    }
  }
}

// What there is of a table where nothing has been made.
Value ReaderRuns::Identity(const Reader& r, size_t result) {
  const ir::EachResult& like = r.inst.each->results[result];
  const ir::Type type = f_.TypeOf(r.inst.results[result]);
  if (r.how.axes[result] || like.monoid == ir::Monoid::kSum)
    return type.IsScalar() ? b_.Zero(type) : b_.Zeros(type.elem, like.shape);
  if (type.IsScalar()) return b_.Const(type, ir::MonoidIdentity(like.monoid, type.elem));
  return b_.Append(EmptyTable(f_, like, type, true, r.inst.loc)).results[0];
}

void ReaderRuns::StartWhere(const std::vector<Affine>& at_least_0, Reader& r, Copier& names) {
  Inst part = names.Copy(r.inst);
  for (const Affine& e : at_least_0) {
    Affine own = e;
    for (const ir::IndexVar& i : r.inst.each->indices)
      own = own.Substitute(i.var, Affine::Of(names.Get(i.var)));
    part.each->where.push_back({own, false});
  }
  const ir::Values results = b_.Append(std::move(part)).results;
  for (Table& t : r.tables) {
    const Value so_far = t.next.valid() ? t.next : t.start;
    t.next = r.how.axes[t.result] ? b_.Add(so_far, results[t.result])
                                  : Fold(so_far, results[t.result], r.inst.each->results[t.result]);
  }
}

void ReaderRuns::Run(uint32_t block, const Rows& rows) {
  b_.SetBlock(block);
  Copier made(f_);
  for (Reader& r : readers_) {
    for (Table& t : r.tables) t.next = t.param;
    Run(
        r, streams_[0].row - r.shift, true,
        [&](const TakenRow& t) { return rows[t.stream][static_cast<size_t>(t.before)]; }, made);
  }
}

void ReaderRuns::Run(Reader& r, const Affine& at, bool is_turn, RowTaken rows, Copier& made) {
  const bool is_sure = is_turn && !r.how.has_less;
  Inst inst = StatementAtRow(f_, r.inst, r.how.row, at, made);
  TakeRows(r, rows, inst);
  if (!is_sure) {
    for (ir::Constraint& c : HasPoint(r, at)) inst.each->where.push_back(std::move(c));
  }
  const ir::Values results = b_.Append(std::move(inst)).results;
  for (Table& t : r.tables) {
    const ir::EachResult& like = r.inst.each->results[t.result];
    const Value so_far = t.next.valid() ? t.next : t.start, result = results[t.result];
    b_.SetLoc(ir::LocOfOut(r.inst, like));
    if (!r.how.axes[t.result]) {
      t.next = Fold(so_far, result, like);
    } else if (like.shape.size() == 1 && is_sure) {
      t.next = b_.Update(so_far, {at}, result);
    } else {
      t.next = PutRow(r, so_far, at, result, t.result);
    }
    b_.SetLoc(0);
  }
}

// Its reads are of rows that the turn has; of numbers, these.
void ReaderRuns::TakeRows(const Reader& r, RowTaken rows, Inst& inst) {
  std::map<size_t, std::pair<Value, size_t>> taken;  // of which axis
  for (const TakenRow& t : r.how.taken) taken[t.in_body] = {rows(t), streams_[t.stream].axis};
  std::vector<Inst> body;
  std::map<Value, Value> numbers;
  for (size_t k = 0; k < inst.each->body.size(); ++k) {
    Inst& read = inst.each->body[k];
    const Inst* whole = k == 0 ? nullptr : &r.inst.each->body[k - 1];  // behind what says the row
    if (whole != nullptr && taken.contains(k - 1)) {
      const auto [row, axis] = taken.at(k - 1);
      read.args[0] = row;
      DropRow(read, axis);
    } else if (whole != nullptr && whole->op == Op::Index && IsResult(whole->args[0])) {
      const Value row = read.args[0];
      if (f_.TypeOf(row).IsArray()) {
        DropRow(read, AxisOf(whole->args[0]));
      } else if (f_.TypeOf(row) == ir::Type::Bool()) {  // it may be a guard, which is of the body
        read.op = Op::And;
        read.args = {row, row};
        read.subs = {};
        read.loc = 0;
      } else if (!read.guard.valid()) {
        numbers[read.results[0]] = row;
        continue;
      } else {
        Inst& zero = body.emplace_back();
        zero.results = {f_.NewLike(f_, row)};
        read.op = Op::Select;
        read.args = {std::exchange(read.guard, ir::kNoValue), row, zero.results[0]};
        read.subs = {};
        read.loc = 0;
      }
    }
    body.push_back(std::move(read));
  }
  inst.each->body = std::move(body);
  ir::ForEachOperand(inst, [&](Value& v) {
    if (const auto it = numbers.find(v); it != numbers.end()) v = it->second;
  });
  ir::CanonicaliseAffines(inst);
}

// Added to a table that has zeros there; of what is no point nothing.
Value ReaderRuns::PutRow(const Reader& r, Value table, const Affine& at, Value row, size_t result) {
  const ir::EachResult& like = r.inst.each->results[result];
  const auto axis = static_cast<std::ptrdiff_t>(*r.how.axes[result]);
  ir::Values rest = like.shape;
  rest.erase(rest.begin() + axis);
  const std::vector<Value> own = b_.BeginEach(rest);
  for (const ir::Constraint& c : HasPoint(r, at)) b_.Where(c);
  std::vector<Affine> subs;
  for (Value i : own) subs.push_back(Affine::Of(i));
  ir::EachResult put;
  put.value = own.empty() ? row : b_.Index(row, subs);
  subs.insert(subs.begin() + axis, at);
  put.out = subs;
  put.shape = like.shape;
  return b_.AddArrays(table, b_.EndEach({put})[0]);
}

Value ReaderRuns::Fold(Value so_far, Value next, const ir::EachResult& like) {
  if (like.monoid == ir::Monoid::kSum) return b_.Add(so_far, next);
  if (f_.TypeOf(so_far).IsArray()) {
    std::vector<Inst> made;
    const Value folded = FoldInto(f_, so_far, next, ir::kNoValue, like, b_.loc(), made);
    for (Inst& inst : made) b_.Append(std::move(inst));
    return folded;
  }
  ir::Appender out(f_, f_.blocks[b_.block()].insts, b_.loc());
  return JoinExtrema(out, like.monoid, f_.TypeOf(next), so_far, next, ir::kNoValue);
}

std::vector<ir::Constraint> ReaderRuns::HasPoint(const Reader& r, const Affine& at) {
  std::vector<ir::Constraint> has = {{Affine::Of(PointsOf(r)) - at - Affine::Const(1), false}};
  if (!at.IsConst() || at.constant < 0) has.push_back({at, false});
  return has;
}

void ReaderRuns::Finish() {
  Renaming names(f_);
  for (const Reader& r : readers_) {
    for (const Table& t : r.tables) names.Set(r.inst.results[t.result], t.param);
  }
  names.Apply(f_);
  const auto shape_of = [&](Value v) -> const ir::Values* {
    for (const Reader& r : readers_) {
      for (size_t k = 0; k < r.inst.results.size(); ++k) {
        if (r.inst.results[k] == v) return &r.inst.each->results[k].shape;
      }
    }
    return nullptr;
  };
  for (ir::Block& b : f_.blocks) {
    for (Inst& inst : b.insts) {
      if (inst.op != Op::Dim) continue;
      if (const Stream* s = StreamOf(inst.args[0])) inst.args[0] = s->start;
      const ir::Values* shape = shape_of(inst.args[0]);
      if (shape == nullptr) continue;  // of rows that nobody needs
      const Value size = (*shape)[std::exchange(inst.bits, 0)];
      inst.op = Op::AffineOf;
      inst.args = {};
      inst.subs = {Affine::Of(size)};
    }
  }
  for (auto r = readers_.rbegin(); r != readers_.rend(); ++r) {
    std::vector<Inst>& insts = f_.blocks[r->how.block].insts;
    insts.erase(insts.begin() + static_cast<std::ptrdiff_t>(r->how.place));
  }
}

}  // namespace pullback::opt
