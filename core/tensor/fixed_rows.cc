// Arrays of which statements take some rows at places that run with an index of theirs, and others the same few rows for all
// points, `z[0]`, `z[n - 1]`, have these rows made once more, for the latter: no loop makes a row in the turn that takes it
// and keeps another one for the end.
//
//   %z = each(i < n, l < h, p < d) { … x[i, p] … } sum [i, l] of (n, h)
//   %s = each(i < m, l < h) { %u = index %z[i + 1, l] … %v = index %z[i, l] … }
//   %t = each(l < h) { %u = index %z[0, l] … }
//
//   %z and %s as they are
//   %r = each(l < h, p < d) where (0 < n) { … x[0, p] … } sum [l] of (h)
//   check 0 < n or h <= 0                        what the read of %z checked, unless the points of %t say that the row is there
//   %t = each(l < h) { %u = index %r[l] … }
//
// Arrays that are no larger than the function's own stay, and those that a statement reads by two indices, since it needs all
// rows at once. Of the first axis: a column is at hand wherever its row is, and sets of a batch are often so small that rows made
// once more would be as many as there are.
#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/ir/append.h"
#include "core/ir/own_arrays.h"
#include "core/tensor/array_reads.h"
#include "core/tensor/made_rows.h"
#include "core/tensor/narrow_arrays.h"
#include "core/tensor/normalise.h"
#include "core/tensor/read_ranges.h"
#include "core/tensor/statement_edit.h"

namespace pullback::tensor {
namespace {

using ir::Affine;
using ir::Each;
using ir::EachResult;
using ir::Inst;
using ir::Op;
using ir::Value;

constexpr size_t kMostFixed = 4;       // of one array
constexpr int kMostRoundsOfFixed = 4;  // of what such arrays are made of

class FixedRows {
 public:
  explicit FixedRows(ir::Function& f) : f_(f), own_(f), reads_(f), ranges_(f) {}

  bool Run() {
    for (ir::Block& b : f_.blocks) {
      for (size_t k = b.insts.size(); k-- > 0;) {
        // What is known of reads is of the function as it was.
        if (Visit(b, k)) return true;
      }
    }
    return false;
  }

 private:
  // A read at a place that no index of its statement is in.
  struct Fixed {
    size_t statement, inst;  // of the block, of its body
    Affine row;
    bool is_known;  // to be in range
  };

  bool Visit(ir::Block& b, size_t k) {
    if (!MakesLargeRows(b.insts[k], own_) || !reads_.OnlyByStatements(b.insts[k].results[0]))
      return false;
    const Each& each = *b.insts[k].each;
    const EachResult& r = each.results[0];
    const std::optional<size_t> place = PlaceOfIndex(each, r.out[0].AsValue());
    if (!place || CountNaming(r, each.indices[*place].var) != 1 ||
        each.indices[*place].extent != r.shape[0])
      return false;
    const std::optional<std::vector<Fixed>> fixed = FixedAt(b, k);
    if (fixed) MakeRows(b, k, *fixed);
    return fixed.has_value();
  }

  // Nothing: there are none, or too many, or other reads need all rows, too.
  std::optional<std::vector<Fixed>> FixedAt(const ir::Block& b, size_t k) const {
    const Value array = b.insts[k].results[0];
    if (many_.contains(array)) return std::nullopt;
    const EachResult& r = b.insts[k].each->results[0];
    std::vector<Fixed> fixed;
    std::vector<Affine> rows;
    size_t here = 0;
    for (size_t at = k + 1; at < b.insts.size(); ++at) {
      if (!b.insts[at].each) continue;
      const Each& reader = *b.insts[at].each;
      for (size_t inst = 0; inst < reader.body.size(); ++inst) {
        const Inst& read = reader.body[inst];
        if (read.op != Op::Index || read.args[0] != array) continue;
        ++here;
        const Affine& sub = read.subs[0];
        if (IndexAlong(reader, sub, known_)->valid()) continue;
        const bool is_known = ranges_.IsInRange(reader, read.guard, sub, r.shape[0]);
        if (!is_known && !MayCheckInFront(reader, inst, r)) return std::nullopt;
        fixed.push_back({at, inst, sub, is_known});
        if (std::find(rows.begin(), rows.end(), sub) == rows.end()) rows.push_back(sub);
      }
    }
    if (fixed.empty() || fixed.size() == here || rows.size() > kMostFixed ||
        here != reads_.Of(array).size())
      return std::nullopt;
    return fixed;
  }

  // Whether the first point, if there is one, evaluates the read before anything that may trap but such reads.
  bool MayCheckInFront(const Each& reader, size_t inst, const EachResult& r) const {
    if (!reader.where.empty() || reader.body[inst].guard.valid()) return false;
    const Value array = reader.body[inst].args[0];
    const auto may_come_later = [&](const Inst& in_front) {
      if (!ir::MayTrap(in_front, f_)) return true;
      if (in_front.op != Op::Index) return false;
      if (in_front.args[0] != array) return ranges_.IsInRange(reader, in_front, {});
      const std::optional<Value> index = IndexAlong(reader, in_front.subs[0], known_);
      const bool is_fixed = index && !index->valid() && !in_front.guard.valid();
      return ranges_.IsInRange(reader, in_front, r.shape, is_fixed ? 1 : 0);
    };
    return std::all_of(reader.body.begin(), reader.body.begin() + static_cast<std::ptrdiff_t>(inst),
                       may_come_later);
  }

  void MakeRows(ir::Block& b, size_t k, const std::vector<Fixed>& fixed) {
    std::vector<std::pair<Affine, Value>> made;
    std::vector<Inst> out;
    size_t next = 0;
    for (size_t at = 0; at < b.insts.size(); ++at) {
      for (; next < fixed.size() && fixed[next].statement == at; ++next) {
        const Fixed& read = fixed[next];
        const auto is_it = [&](const auto& one) { return one.first == read.row; };
        auto row = std::find_if(made.begin(), made.end(), is_it);
        if (row == made.end()) {
          out.push_back(RowAlone(out[k], 0, 0, read.row, f_));
          row = made.insert(row, {read.row, out.back().results[0]});
        }
        Inst& inst = b.insts[at].each->body[read.inst];
        if (!read.is_known)
          CheckInFront(*b.insts[at].each, inst, out[k].each->results[0].shape[0], out);
        ReadRow(inst, row->second);
      }
      out.push_back(std::move(b.insts[at]));
    }
    b.insts = std::move(out);
  }

  static void ReadRow(Inst& read, Value row) {
    ir::Affines subs(read.subs.begin(), read.subs.end());
    Erase(subs, 0);
    read.subs = ir::AffineSpan(subs);
    read.args = {row};
  }

  // The read's own trap, unless the reader has no point.
  void CheckInFront(const Each& reader, const Inst& read, Value extent, std::vector<Inst>& out) {
    ir::Appender made(f_, out, read.loc);
    const Value at = made.Number(read.subs[0]), zero = made.Number({});
    const Value from = made.Make(Op::Ge, ir::Type::Bool(), {at, zero});
    const Value to = made.Make(Op::Lt, ir::Type::Bool(), {at, extent});
    Value holds = made.Make(Op::And, ir::Type::Bool(), {from, to});
    for (const ir::IndexVar& i : reader.indices) {
      const Value empty = made.Make(Op::Le, ir::Type::Bool(), {i.extent, zero});
      holds = made.Make(Op::Or, ir::Type::Bool(), {holds, empty});
    }
    made.Check(holds, ir::TrapKind::kIndex, {at, extent});
  }

  ir::Function& f_;
  const ir::OwnArrays own_;
  const ArrayReads reads_;
  const ReadRanges ranges_;
  const ir::KnownExtents known_ = ir::FindKnownExtents(f_);
  const std::set<Value> many_ = ArraysOfManyRows(f_);
};

}  // namespace

bool MakeFixedRows(ir::Function& f) {
  bool changed = false;
  for (int round = 0; round < kMostRoundsOfFixed && FixedRows(f).Run(); ++round) changed = true;
  return changed;
}

}  // namespace pullback::tensor
