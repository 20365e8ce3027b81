// Arrays of which one row is read for each point of other axes, as data say or as is known outside, are made of these
// rows alone: what an extremum takes of the products behind it.
//
//   %s = each(i < %n, j < %n, k < %m) { … } scan_prod 2 [%i, %j, %k] of (%n, %n, %m): …
//   … index %s[%i, %row, %k] if 0 <= %row < %n …                                // %row = index %rows[%i]
//
//   %s = each(i < %n, k < %m) { %row = index %rows[%i] … if 0 <= %row < %n } scan_prod 1 [%i, %k] of (%n, %m): …
//   … index %s[%i, %k] if 0 <= %row < %n …
//
// Of an array larger than any of the program's own that other statements read whole, those rows that data say are made
// once more, for the others: if it has more axes than these, or an extremum over a set's rows has chosen the row, or places
// in its rows are searched for along other axes, too, so that no order of loops has the rows at hand. (Of what is known
// outside recompute_rows.cc does that.)
#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "core/ir/own_arrays.h"
#include "core/tensor/array_reads.h"
#include "core/tensor/block_values.h"
#include "core/tensor/equalities.h"
#include "core/tensor/large_arrays.h"
#include "core/tensor/narrow_arrays.h"
#include "core/tensor/normalise.h"
#include "core/tensor/split_statement.h"
#include "core/tensor/statement_edit.h"

namespace pullback::tensor {
namespace {

using ir::Affine;
using ir::EachResult;
using ir::Inst;
using ir::Monoid;
using ir::Op;
using ir::Value;

constexpr int kDeepest = 4;  // chain of arrays that are looked through

// The axis that goes, and which row there is instead: an element of `data` at what are the subscripts of `axes`, or
// what is known outside.
struct Row {
  size_t axis = 0;
  Value known, data;
  std::vector<size_t> axes;
  bool operator==(const Row&) const = default;
};

// Of what stores in the same places without running along, of one term each. Nothing: of others.
std::optional<Monoid> ReductionOf(Monoid m) {
  switch (m) {
    case Monoid::kGen:
    case Monoid::kArgMax:
    case Monoid::kArgMin:
    case Monoid::kScanSum: return Monoid::kSum;
    case Monoid::kScanProd: return Monoid::kProd;
    case Monoid::kScanMax: return Monoid::kMax;
    case Monoid::kScanMin: return Monoid::kMin;
    case Monoid::kSum:
    case Monoid::kProd:
    case Monoid::kMax:
    case Monoid::kMin: return m;
    default: return std::nullopt;
  }
}

class Rows {
 public:
  explicit Rows(ir::Function& f) : f_(f), reads_(f), values_(f), large_(f), own_(f), narrow_(f) {}

  bool Run() {
    for (const ir::Block& b : f_.blocks) {
      for (const Inst& inst : b.insts) {
        for (size_t k = 0; inst.each && k < inst.results.size(); ++k) Visit(inst, k);
      }
    }
    if (found_.empty()) return false;
    LookUpIndicesOf(parts_, f_);
    SortParts();
    for (ir::Block& b : f_.blocks) Replace(b);
    return narrow_.Finish();
  }

 private:
  struct Found {
    Row row;
    Value index;  // of the axis
    Monoid monoid;
    size_t indices;  // with that
    // Whether the body or `where` names the index. Where nothing does the row need not be looked up, and the result has
    // the guard that it had.
    bool is_named;
    Value guard;
    std::vector<Inst> parts;  // what makes the rows, once it is known
  };

  void Visit(const Inst& inst, size_t k) {
    const Value array = inst.results[k];
    const EachResult& r = inst.each->results[k];
    if (!reads_.OnlyByStatements(array) || r.into.valid() || !ReductionOf(r.monoid)) return;
    const std::optional<Row> row = RowThatAllRead(array);
    if (row && MayRestrict(inst, k, *row, reads_.Of(array), inst))
      Restrict(inst, k, *row, array);
    else if (large_.Is(r) || !own_.IsNoLarger(r.shape))
      MakeAgain(inst, k);
  }

  // Whether the array, or what is made of it element by element, has some place looked for along other axes than this, of
  // each of its rows: then no order of loops has the rows at hand where they are asked for.
  bool IsSearchedByRows(Value array, size_t axis) const {
    std::set<std::pair<Value, size_t>> seen;
    return IsSearchedByRows(array, axis, 0, seen);
  }
  bool IsSearchedByRows(Value array, size_t axis, int depth,
                        std::set<std::pair<Value, size_t>>& seen) const {
    if (!reads_.OnlyByStatements(array) || !seen.insert({array, axis}).second) return false;
    const auto& reads = reads_.Of(array);
    return std::any_of(reads.begin(), reads.end(), [&](const ArrayReads::Read& read) {
      const ir::Each& each = *read.statement;
      const Inst* reader = values_.StatementOf(each);
      const Value index = read.inst->subs[axis].AsValue();
      if (!reader || !PlaceOfIndex(each, index)) return false;
      for (size_t k = 0; k < each.results.size(); ++k) {
        const EachResult& r = each.results[k];
        const auto out = std::find(r.out.begin(), r.out.end(), Affine::Of(index));
        if (out == r.out.end()) continue;
        if (r.monoid == Monoid::kArgMax || r.monoid == Monoid::kArgMin) return true;
        if (r.monoid == Monoid::kGen && depth < kDeepest &&
            IsSearchedByRows(reader->results[k], static_cast<size_t>(out - r.out.begin()),
                             depth + 1, seen))
          return true;
      }
      return false;
    });
  }

  // Whether the row, all of it along the last axis, is one of its set's that an extremum over these has chosen by what
  // `made` makes: all rows of the set come before it is known.
  bool IsChosenRow(const Row& row, const ArrayReads::Read& read, const Inst& made) const {
    const bool of_set = row.axis + 1 < read.inst->subs.size() && row.axes.size() == row.axis;
    std::set<const Inst*> seen;
    return of_set && IsChosenBy(row.data, made, 0, seen);
  }
  bool IsChosenBy(Value place, const Inst& made, int depth, std::set<const Inst*>& seen) const {
    const Inst* def = values_.DefOf(place);
    if (!def || !def->each || !seen.insert(def).second) return false;
    const auto k =
        std::find(def->results.begin(), def->results.end(), place) - def->results.begin();
    const Monoid m = def->each->results[static_cast<size_t>(k)].monoid;
    if (depth == 0 && m != Monoid::kArgMax && m != Monoid::kArgMin) return false;
    if (def == &made) return true;
    bool found = false;
    for (const Inst& read : def->each->body) {
      if (read.op == Op::Index && depth < kDeepest && !found)
        found = IsChosenBy(read.args[0], made, depth + 1, seen);
    }
    return found;
  }

  // The result's rows are what `rows` is.
  void Restrict(const Inst& inst, size_t k, const Row& row, Value rows) {
    Inst one = ResultAlone(inst, k, f_);
    one.results = {rows};
    const EachResult& copy = one.each->results[0];
    const Value index = copy.out[row.axis].AsValue();
    found_[rows.id] = {
        row,        index, copy.monoid, one.each->indices.size(), IsNamed(*one.each, index),
        copy.guard, {}};
    AddRow(*one.each, row);
    parts_.push_back(std::move(one));
  }

  // Those that data say, for the reads that ask for them.
  void MakeAgain(const Inst& inst, size_t k) {
    const Value array = inst.results[k];
    const auto& reads = reads_.Of(array);
    std::map<size_t, bool> again;  // by axis: whether its rows may be
    for (const ArrayReads::Read& first : reads) {
      const Inst* reader = values_.StatementOf(*first.statement);
      for (size_t axis = 0; reader && axis < f_.TypeOf(array).rank; ++axis) {
        const std::optional<Row> row = RowOfRead(first, axis);
        if (!row || !row->data.valid()) continue;
        const auto [may, fresh] = again.try_emplace(axis, large_.Is(inst.each->results[k]));
        if (fresh && !may->second) may->second = IsSearchedByRows(array, axis);
        if (!may->second && !IsChosenRow(*row, first, inst)) continue;
        std::vector<ArrayReads::Read> same;
        std::copy_if(reads.begin(), reads.end(), std::back_inserter(same),
                     [&](const auto& read) { return RowOfRead(read, axis) == row; });
        if (!AreBehind(same, *reader, inst) || !MayRestrict(inst, k, *row, same, *reader)) continue;
        const Value rows = f_.NewLike(f_, array);
        for (const auto& read : same) renamed_[read.inst] = rows;
        again_[reader].push_back(rows);
        Restrict(inst, k, *row, rows);
        return;  // of others once these are gone
      }
    }
  }
  // Whether all stand in the block of `made`, none in front of `first`.
  bool AreBehind(const std::vector<ArrayReads::Read>& reads, const Inst& first,
                 const Inst& made) const {
    const auto place = [&](const Inst& inst) { return values_.PlaceOf(inst.results[0]); };
    return std::all_of(reads.begin(), reads.end(), [&](const auto& read) {
      const Inst* statement = values_.StatementOf(*read.statement);
      return statement && place(*statement).block == place(made).block &&
             place(*statement).at >= place(first).at;
    });
  }

  // That all reads of the array agree on.
  std::optional<Row> RowThatAllRead(Value array) const {
    const auto& reads = reads_.Of(array);
    for (size_t axis = 0; axis < f_.TypeOf(array).rank; ++axis) {
      const std::optional<Row> row = RowOfRead(reads[0], axis);
      if (row && std::all_of(reads.begin(), reads.end(),
                             [&](const auto& read) { return RowOfRead(read, axis) == row; }))
        return row;
    }
    return std::nullopt;
  }
  std::optional<Row> RowOfRead(const ArrayReads::Read& read, size_t axis) const {
    const ir::Each& each = *read.statement;
    const Value v = read.inst->subs[axis].AsValue();
    if (!v.valid() || PlaceOfIndex(each, v)) return std::nullopt;
    Row row;
    row.axis = axis;
    const Inst* def = FindDef(each, v);
    if (!def) {
      row.known = v;
      return row;
    }
    if (def->op != Op::Index) return std::nullopt;
    // Where its guard is false it is 0, whatever the data say.
    if (def->guard.valid() && !ConditionsOf(each, read.inst->guard).contains(def->guard))
      return std::nullopt;
    row.data = def->args[0];
    const auto& subs = read.inst->subs;
    for (const Affine& sub : def->subs) {
      size_t same = 0;
      while (same < subs.size() && (same == axis || !(subs[same] == sub))) ++same;
      if (same == subs.size()) return std::nullopt;
      row.axes.push_back(same);
    }
    return row;
  }

  // Whether the axis has an index of its own, which no scan runs along, over all of it; the row can be looked up in
  // front of a statement, `before`; and the array is read only where there is that row.
  bool MayRestrict(const Inst& inst, size_t result, const Row& row,
                   const std::vector<ArrayReads::Read>& reads, const Inst& before) const {
    const ir::Each& each = *inst.each;
    const EachResult& r = each.results[result];
    if (!IsWhole(each, r, row.axis) || CountNaming(r, r.out[row.axis].AsValue()) != 1) return false;
    if (!values_.IsThere(row.data.valid() ? row.data : row.known, before)) return false;
    for (size_t k = 0; k < row.axes.size(); ++k) {
      const size_t axis = row.axes[k];
      if (!IsWhole(each, r, axis) || !values_.HasExtent(row.data, k, r.shape[axis], before))
        return false;
    }
    return std::all_of(reads.begin(), reads.end(), [&](const ArrayReads::Read& read) {
      return IsWithin(*read.statement, read.inst->guard, read.inst->subs[row.axis],
                      r.shape[row.axis]);
    });
  }
  static bool IsWhole(const ir::Each& each, const EachResult& r, size_t axis) {
    const auto place = PlaceOfIndex(each, r.out[axis].AsValue());
    return place && each.indices[*place].extent == r.shape[axis] &&
           (!ir::IsScan(r.monoid) || *place < r.outer);
  }
  static bool IsNamed(const ir::Each& each, Value index) {
    return ReadersOf(each, index).size() > 1 ||
           std::any_of(each.where.begin(), each.where.end(),
                       [&](const ir::Constraint& c) { return c.e.Coeff(index) != 0; });
  }

  // The statement's result, without the axis, is under "the index is the row": the index can be looked up. (A scan
  // does not run along it, and is taken for a reduction until then.)
  void AddRow(ir::Each& each, const Row& row) {
    EachResult& r = each.results[0];
    const Value index = r.out[row.axis].AsValue();
    std::vector<Inst> before;
    Value at = row.known;
    if (row.data.valid()) {
      Inst read;
      read.op = Op::Index;
      read.args = {row.data};
      ir::Affines subs;
      for (size_t axis : row.axes) subs.push_back(r.out[axis]);
      read.subs = ir::AffineSpan(subs);
      at = Append(std::move(read), ir::Type::I64(), "row", before);
    }
    Inst same;
    same.op = Op::Eq;
    same.args = {at, index};
    const Value is_row = Append(std::move(same), ir::Type::Bool(), {}, before);
    each.body.insert(each.body.begin(), std::make_move_iterator(before.begin()),
                     std::make_move_iterator(before.end()));
    if (r.guard.valid()) {
      Inst both;
      both.op = Op::And;
      both.args = {is_row, r.guard};
      r.guard = Append(std::move(both), ir::Type::Bool(), {}, each.body);
    } else {
      r.guard = is_row;
    }
    Erase(r.out, row.axis);
    Erase(r.shape, row.axis);
    r.monoid = *ReductionOf(r.monoid);
  }
  Value Append(Inst inst, ir::Type type, std::string name, std::vector<Inst>& body) {
    inst.results = {f_.NewValue(type, std::move(name))};
    body.push_back(std::move(inst));
    return body.back().results[0];
  }

  // Those that could be looked up; the others are forgotten.
  void SortParts() {
    std::vector<Inst> checks;
    for (Inst& inst : parts_) {
      if (!inst.each) {
        checks.push_back(std::move(inst));
        continue;
      }
      const auto found = found_.find(inst.results[0].id);
      EachResult& r = inst.each->results[0];
      // Another equality may have been looked up, too, and was perhaps the guard.
      const bool is_that = !PlaceOfIndex(*inst.each, found->second.index) &&
                           inst.each->indices.size() + 1 == found->second.indices;
      if (!is_that) {
        found_.erase(found);
      } else {
        if (ir::IsScan(found->second.monoid)) --r.outer;
        r.monoid = found->second.monoid;
        if (!found->second.is_named) {
          r.guard = found->second.guard;
          PruneBody(*inst.each);
        }
        found->second.parts = std::move(checks);
        found->second.parts.push_back(std::move(inst));
      }
      checks.clear();
    }
  }

  void Replace(ir::Block& b) {
    std::vector<Inst> out;
    for (Inst& inst : b.insts) {
      for (size_t k = 0; inst.each && k < inst.results.size(); ++k) {
        const auto found = found_.find(inst.results[k].id);
        if (found == found_.end()) continue;
        MoveParts(found->second, out);
        narrow_.Narrow(inst, k, found->second.row.axis);
      }
      if (const auto again = again_.find(&inst); again != again_.end()) {
        for (Value rows : again->second) {
          const auto found = found_.find(rows.id);
          if (found == found_.end()) continue;
          MoveParts(found->second, out);
          narrow_.Narrow(rows, found->second.row.axis);
        }
      }
      for (size_t k = 0; inst.each && k < inst.each->body.size(); ++k) {
        Inst& read = inst.each->body[k];
        const auto renamed = renamed_.find(&read);
        if (renamed != renamed_.end() && found_.contains(renamed->second.id))
          read.args = {renamed->second};
      }
      out.push_back(std::move(inst));
    }
    b.insts = std::move(out);
  }

  static void MoveParts(Found& found, std::vector<Inst>& out) {
    std::move(found.parts.begin(), found.parts.end(), std::back_inserter(out));
  }

  ir::Function& f_;
  const ArrayReads reads_;
  const BlockValues values_;
  const LargeArrays large_;
  const ir::OwnArrays own_;
  NarrowArrays narrow_;
  std::unordered_map<uint32_t, Found> found_;  // by array
  // What is made again: in front of which statement, and for which reads.
  std::unordered_map<const Inst*, std::vector<Value>> again_;
  std::unordered_map<const Inst*, Value> renamed_;
  std::vector<Inst> parts_;  // what makes their rows, with what is to be looked up
};

}  // namespace

bool KeepRows(ir::Function& f) { return Rows(f).Run(); }

}  // namespace pullback::tensor
