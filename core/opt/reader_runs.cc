#include "core/opt/reader_runs.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/opt/rename.h"
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
    readers_.push_back({r, std::move(f_.blocks[r.block].insts[r.place]), {}});
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

std::vector<ReaderRuns::Table> ReaderRuns::Tables() const {
  std::vector<Table> all;
  for (const Reader& r : readers_) all.insert(all.end(), r.tables.begin(), r.tables.end());
  return all;
}

// What they need that is made behind the loop of what is there.
void ReaderRuns::BringSizes(uint32_t block) {
  std::vector<Inst> makers;
  for (const Reader& r : readers_) {
    ir::ForEachOperand(r.inst, [&](Value v) {
      if (StreamOf(v) == nullptr && !IsResult(v))
        finder_.front().AddMakers(v, streams_[0].l.loop, makers);
    });
  }
  Copier names(f_);
  for (const Inst& inst : makers) f_.blocks[block].insts.push_back(names.Copy(inst));
  for (Reader& r : readers_) names.Rename(r.inst);
}

void ReaderRuns::Start(uint32_t block) {
  BringSizes(block);
  b_.SetBlock(block);
  Copier before(f_), behind(f_);
  for (const Stream& s : streams_) {
    before.Set(s.array, s.start);
    behind.Set(s.array, s.start);
  }
  const Stream& first = streams_[0];
  for (Reader& r : readers_) {
    const Affine row = Affine::Of(r.how.row) + Affine::Const(r.how.shift);
    const Affine in_front = (first.FirstRow() - row) * first.step - Affine::Const(1);
    const Affine past = (row - first.EndRow()) * first.step;
    std::vector<ir::Values> parts;
    if (r.how.has_before) parts.push_back(CopyWhere(r.inst, {in_front}, before));
    if (r.how.has_behind) {
      const Affine not_in_front = in_front * -1 - Affine::Const(1);
      parts.push_back(CopyWhere(r.inst, {past, not_in_front}, behind));
    }
    for (size_t k = 0; k < r.inst.results.size(); ++k) {
      if (r.how.by_row[k] != 0 && !r.how.stored.contains(k)) continue;
      const ir::Type type = f_.TypeOf(r.inst.results[k]);
      Table table{k, {}, f_.NewLike(f_, r.inst.results[k]), {}};
      for (const ir::Values& part : parts)
        table.start = table.start.valid() ? b_.Add(table.start, part[k]) : part[k];
      if (!table.start.valid() && type.IsScalar()) table.start = b_.Zero(type);
      if (!table.start.valid()) table.start = b_.Zeros(type.elem, r.inst.each->results[k].shape);
      r.tables.push_back(table);
    }
  }
}

ir::Values ReaderRuns::CopyWhere(const Inst& whole, const std::vector<Affine>& at_least_0,
                                 Copier& names) {
  Inst part = names.Copy(whole);
  for (const Affine& e : at_least_0) {
    Affine own = e;
    for (const ir::IndexVar& i : whole.each->indices)
      own = own.Substitute(i.var, Affine::Of(names.Get(i.var)));
    part.each->where.push_back({own, false});
  }
  return b_.Append(std::move(part)).results;
}

void ReaderRuns::Run(uint32_t block, const Rows& rows) {
  b_.SetBlock(block);
  Copier made(f_);
  for (Reader& r : readers_) Run(r, rows, made);
}

void ReaderRuns::Run(Reader& r, const Rows& rows, Copier& made) {
  const Affine at = streams_[0].row - Affine::Const(r.how.shift);
  Inst inst = StatementAtRow(f_, r.inst, r.how.row, at, made);
  TakeRows(r, rows, inst);
  for (ir::Constraint& c : HasRow(r, at)) inst.each->where.push_back(std::move(c));
  const ir::Values results = b_.Append(std::move(inst)).results;
  for (Table& t : r.tables) {
    const ir::EachResult& like = r.inst.each->results[t.result];
    b_.SetLoc(ir::LocOfOut(r.inst, like));
    t.next = r.how.by_row[t.result] != 0 ? PutRow(r, t.param, at, results[t.result], like)
                                         : b_.Add(t.param, results[t.result]);
    b_.SetLoc(0);
  }
}

// Its reads are of rows that the turn has; of numbers, these.
void ReaderRuns::TakeRows(const Reader& r, const Rows& rows, Inst& inst) {
  std::vector<Inst> body;
  std::map<Value, Value> numbers;
  for (size_t k = 0; k < inst.each->body.size(); ++k) {
    Inst& read = inst.each->body[k];
    const Inst* whole = k == 0 ? nullptr : &r.inst.each->body[k - 1];  // behind what says the row
    const bool is_read = whole != nullptr && whole->op == Op::Index;
    const Stream* s = is_read ? StreamOf(whole->args[0]) : nullptr;
    if (s != nullptr) {
      const int64_t before = (r.how.shift + s->ahead - whole->subs[0].constant) * s->step;
      read.args[0] = rows[static_cast<size_t>(s - streams_.data())][static_cast<size_t>(before)];
      DropRow(read);
    } else if (is_read && IsResult(whole->args[0])) {
      const Value row = read.args[0];
      if (f_.TypeOf(row).IsArray()) {
        DropRow(read);
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

// Of a reader that has no such row, nothing.
Value ReaderRuns::PutRow(const Reader& r, Value table, const Affine& at, Value row,
                         const ir::EachResult& like) {
  if (like.shape.size() == 1 && !r.how.has_less) return b_.Update(table, {at}, row);
  const std::vector<Value> own =
      b_.BeginEach(ir::ValueSpan(like.shape.data() + 1, like.shape.size() - 1));
  for (const ir::Constraint& c : HasRow(r, at)) b_.Where(c);
  std::vector<Affine> subs;
  for (Value i : own) subs.push_back(Affine::Of(i));
  ir::EachResult put;
  put.value = own.empty() ? row : b_.Index(row, subs);
  put.out.push_back(at);
  put.out.insert(put.out.end(), subs.begin(), subs.end());
  put.shape = like.shape;
  return b_.AddArrays(table, b_.EndEach({put})[0]);
}

std::vector<ir::Constraint> ReaderRuns::HasRow(const Reader& r, const Affine& at) {
  if (!r.how.has_less) return {};
  const auto index = std::find_if(r.inst.each->indices.begin(), r.inst.each->indices.end(),
                                  [&](const ir::IndexVar& i) { return i.var == r.how.row; });
  return {{at, false}, {Affine::Of(index->extent) - at - Affine::Const(1), false}};
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
