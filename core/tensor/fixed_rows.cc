// Arrays of which statements take some rows at places that run with an index of theirs, and others the same few rows for all
// points, `z[0]`, `z[n - 1]`, have these rows made once more, for the latter: no loop makes a row in the turn that takes it
// and keeps another one for the end. Where nothing else is read these are all that is made.
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
// Blocks behind that of %z may take such rows, or an element of one, `index %z[0, %c]`, too: these are made beside it then. In loops of blocks others are taken by
// turns. Of a row under a condition, `if i == 0`, the check comes in front where the first point reads it if it is not there; then
// further rows may be known to be there, `z[n - 1]`.
//
// Arrays that are no larger than the function's own stay, but what statements make of the rows of others, `norm(z[i])`: what needs
// one of these needs that row alone then. So do those that a statement reads by two indices, since it needs all rows at once.
// Of the first axis: a column is at hand wherever its row is, and sets of a batch are often so small that rows made once more
// would be as many as there are. Of others where nothing else is read, `z[s, 0]` of each sequence.
#include <algorithm>
#include <cstdlib>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/ir/append.h"
#include "core/ir/own_arrays.h"
#include "core/tensor/array_reads.h"
#include "core/tensor/front_checks.h"
#include "core/tensor/made_rows.h"
#include "core/tensor/narrow_arrays.h"
#include "core/tensor/normalise.h"
#include "core/tensor/read_ranges.h"
#include "core/tensor/row_places.h"
#include "core/tensor/statement_edit.h"
#include "core/tensor/turn_values.h"

namespace pullback::tensor {
namespace {

using ir::Affine;
using ir::Each;
using ir::EachResult;
using ir::Inst;
using ir::Op;
using ir::Value;

constexpr size_t kMostFixed = 16;   // of one array
constexpr int64_t kMostRows = 256;  // of a window, of which alone rows are read

class FixedRows {
 public:
  explicit FixedRows(ir::Function& f) : f_(f), own_(f), reads_(f, 1), ranges_(f), turns_(f) {
    for (const ir::Block& b : f.blocks) {
      for (const Inst& inst : b.insts) {
        if (MakesLargeArray(inst, own_)) large_.insert(inst.results[0]);
        if (inst.each && IsOfRows(inst)) of_rows_.insert(inst.results[0]);
      }
    }
  }

  bool Run() {
    for (size_t b = 0; b < f_.blocks.size(); ++b) {
      for (size_t k = f_.blocks[b].insts.size(); k-- > 0;) {
        // What is known of reads is of the function as it was.
        if (Visit(b, k)) return true;
      }
    }
    return false;
  }

 private:
  // Rows at a place that no long index of a statement is in.
  struct Window {
    Affine first;      // of these rows
    Affine at;         // from there on: the one that is read
    int64_t rows = 1;  // more: short indices run over them, `z[q - 1]` where q < 3
  };
  struct Fixed {
    size_t block, statement;     // of the function, of the block
    std::optional<size_t> inst;  // of its body; nothing: it is `index` itself
    Window window;
    std::optional<RowCheck> check;  // unless it is known to be in range
  };

  bool Visit(size_t b, size_t k) {
    const Inst& maker = f_.blocks[b].insts[k];
    if (!maker.each || !reads_.OnlyByIndex(maker.results[0])) return false;
    if (!large_.contains(maker.results[0]) && !of_rows_.contains(maker.results[0])) return false;
    for (size_t axis = 0; axis < maker.each->results[0].out.size(); ++axis) {
      if (!HasAxis(*maker.each, axis)) continue;
      std::optional<std::vector<Fixed>> fixed;
      if (axis == 0) fixed = FixedAt(b, k);
      if (!fixed) fixed = AllAt(b, k, axis);
      if (fixed) MakeRows(b, k, axis, *fixed);
      if (fixed) return true;
    }
    return false;
  }
  bool HasAxis(const Each& each, size_t axis) const {
    const EachResult& r = each.results[0];
    const std::optional<size_t> place = PlaceOfIndex(each, r.out[axis].AsValue());
    return place && CountNaming(r, each.indices[*place].var) == 1 &&
           each.indices[*place].extent == r.shape[axis] && ir::IsApartFor(r, *place) &&
           !known_.IsShort(r.shape[axis]);
  }

  // One element, or more, of each row of a larger array.
  bool IsOfRows(const Inst& maker) const {
    const EachResult& r = maker.each->results[0];
    const bool plain = maker.results.size() == 1 && !ir::IsScan(r.monoid) && !r.into.valid();
    if (!plain || r.out.empty() || many_.contains(maker.results[0])) return false;
    const auto is_row = [&](const Inst& inst) {
      return inst.op == Op::Index && inst.subs[0] == r.out[0] &&
             (large_.contains(inst.args[0]) || of_rows_.contains(inst.args[0]));
    };
    return std::any_of(maker.each->body.begin(), maker.each->body.end(), is_row);
  }
  // Nothing: there are none, or too many, or other reads need all rows, too. In the order of the text.
  std::optional<std::vector<Fixed>> FixedAt(size_t b, size_t k) const {
    const Inst& maker = f_.blocks[b].insts[k];
    if (many_.contains(maker.results[0])) return std::nullopt;
    const auto& reads = reads_.Of(maker.results[0]);
    const auto is_fixed = [&](const auto& read) {
      return WindowOf(*read.statement, read.inst->subs[0]).has_value();
    };
    if (!reads_.IsReadInBlocks(maker.results[0]) &&
        std::none_of(reads.begin(), reads.end(), is_fixed))
      return std::nullopt;
    std::vector<Fixed> fixed;
    for (size_t in = 0; in < f_.blocks.size(); ++in) {
      for (size_t at = in == b ? k + 1 : 0; at < f_.blocks[in].insts.size(); ++at) {
        const Inst& reader = f_.blocks[in].insts[at];
        if (reader.op == Op::Index && reader.args[0] == maker.results[0]) {
          const bool is_fixed = !turns_.Takes(reader.subs[0], b);
          if (!is_fixed) continue;
          if (in != b && !IsKnownAt(reader.subs[0], b, k)) return std::nullopt;
          fixed.push_back({in, at, {}, {reader.subs[0], {}}, CheckOf(reader, maker)});
          continue;
        }
        std::vector<ir::Constraint> checked;  // in front of the reader
        for (size_t inst = 0; reader.each && inst < reader.each->body.size(); ++inst) {
          const Inst& read = reader.each->body[inst];
          if (read.op != Op::Index || read.args[0] != maker.results[0]) continue;
          const std::optional<Window> window = WindowOf(*reader.each, read.subs[0]);
          const bool is_fixed =
              window && (window->rows == 1 || in == b) && !turns_.Takes(read.subs[0], b);
          if (!is_fixed) continue;
          const EachResult& r = maker.each->results[0];
          const Affine& row = window->rows > 1 ? read.subs[0] : window->first;
          const bool is_known =
              ranges_.IsInRange(*reader.each, read.guard, row, r.shape[0], checked);
          std::optional<RowCheck> check;
          if (!is_known) {
            if (window->rows > 1) return std::nullopt;
            check = checks_.CheckOf(*reader.each, inst, row, r.shape, checked);
            if (!check) return std::nullopt;
            check->AddTo(checked);
          }
          if (in != b && !IsKnownAt(window->first, b, k)) return std::nullopt;
          fixed.push_back({in, at, inst, *window, check});
        }
      }
    }
    std::vector<std::pair<Affine, int64_t>> rows;
    for (const Fixed& read : fixed) {
      const std::pair row{read.window.first, read.window.rows};
      if (std::find(rows.begin(), rows.end(), row) == rows.end()) rows.push_back(row);
    }
    if (rows.empty() || rows.size() > kMostFixed) return std::nullopt;
    return fixed;
  }

  // Wherever the reader has a point, so has the one before: it is asked there whether the row is there.
  static bool HasPointWith(const Each& reader, const Each& before) {
    const auto has = [&](const ir::IndexVar& i) {
      return std::any_of(reader.indices.begin(), reader.indices.end(),
                         [&](const ir::IndexVar& own) { return own.extent == i.extent; });
    };
    return before.where.empty() && std::all_of(before.indices.begin(), before.indices.end(), has);
  }
  // Of all reads at that axis, in that block: single rows, or along the first axis one window of many; those of a statement at one
  // row, if it has to be asked whether that is there. Nothing: some are not so.
  std::optional<std::vector<Fixed>> AllAt(size_t b, size_t k, size_t axis) const {
    const Inst& maker = f_.blocks[b].insts[k];
    const Value array = maker.results[0], extent = maker.each->results[0].shape[axis];
    const auto& reads = reads_.Of(array);
    const auto is_fixed = [&](const auto& read) {
      return WindowOf(*read.statement, read.inst->subs[axis], kMostRows).has_value();
    };
    if (known_.constants.contains(extent) || !std::all_of(reads.begin(), reads.end(), is_fixed))
      return std::nullopt;
    std::vector<Fixed> fixed;
    for (size_t at = k + 1; at < f_.blocks[b].insts.size(); ++at) {
      const Inst& reader = f_.blocks[b].insts[at];
      for (size_t inst = 0; reader.each && inst < reader.each->body.size(); ++inst) {
        const Inst& read = reader.each->body[inst];
        if (read.op != Op::Index || read.args[0] != array) continue;
        const std::optional<Window> window =
            WindowOf(*reader.each, read.subs[axis], axis == 0 ? kMostRows : 1);
        if (!window || fixed.size() == kMostFixed) return std::nullopt;
        const bool is_other = !fixed.empty() && (fixed[0].window.first != window->first ||
                                                 fixed[0].window.rows != window->rows);
        if (is_other && (window->rows > 1 || fixed[0].window.rows > 1)) return std::nullopt;
        std::optional<RowCheck> check;
        const bool is_asked = std::any_of(fixed.begin(), fixed.end(), [&](const Fixed& before) {
          return IsAskedBy(before, b, *reader.each, window->first);
        });
        const Affine& sub = read.subs[axis];
        const bool is_below =
            window->rows == 1 ||
            (Rises(*reader.each, sub) && ranges_.IsBelow(*reader.each, read.guard, sub, extent));
        if (!(is_asked && is_below) && !ranges_.IsInRange(*reader.each, read.guard, sub, extent)) {
          // Of a window that its first row is there, which the first point reads.
          if (!is_below || (!fixed.empty() && fixed.back().statement == at)) return std::nullopt;
          const Value shape[] = {extent};
          check = checks_.CheckOf(*reader.each, inst, window->first, shape, {});
          if (!check || (window->rows > 1 && check->below)) return std::nullopt;
        }
        fixed.push_back({b, at, inst, *window, check});
      }
    }
    const bool are_all =
        !fixed.empty() && fixed.size() == reads_.Of(array).size() && !reads_.IsReadInBlocks(array);
    return are_all ? std::optional(fixed) : std::nullopt;
  }
  static bool Rises(const Each& reader, const Affine& sub) {
    return std::all_of(reader.indices.begin(), reader.indices.end(),
                       [&](const ir::IndexVar& i) { return sub.Coeff(i.var) >= 0; });
  }
  bool IsAskedBy(const Fixed& before, size_t b, const Each& reader, const Affine& row) const {
    const Each& asks = *f_.blocks[b].insts[before.statement].each;
    return before.check && before.check->row == row && !asks.body[*before.inst].guard.valid() &&
           HasPointWith(reader, asks);
  }

  // Of a read in a block.
  std::optional<RowCheck> CheckOf(const Inst& read, const Inst& maker) const {
    const Each once;
    const Affine& row = read.subs[0];
    const Value rows = maker.each->results[0].shape[0];
    const RowCheck check{row, rows, !ranges_.IsFromZero(once, {}, row),
                         !ranges_.IsBelow(once, {}, row, rows)};
    return check.from_zero || check.below ? std::optional(check) : std::nullopt;
  }
  // Nothing: a long index is in it, or data say, or there are too many.
  std::optional<Window> WindowOf(const Each& reader, const Affine& sub,
                                 int64_t most = ir::kShortExtent) const {
    Window window{sub, {}, 1};
    for (const Affine::Term& t : sub.terms) {
      if (FindDef(reader, t.value)) return std::nullopt;
      const std::optional<size_t> place = PlaceOfIndex(reader, t.value);
      if (!place) continue;
      const Value extent = reader.indices[*place].extent;
      const auto length = known_.constants.find(extent);
      if (length == known_.constants.end() || length->second > most ||
          Magnitude(t.coeff) > ir::kShortExtent)
        return std::nullopt;
      const int64_t more = std::abs(t.coeff) * (length->second - 1);
      window.at = window.at + Affine::Of(t.value) * t.coeff + Affine::Const(t.coeff < 0 ? more : 0);
      window.rows += more;
    }
    if (window.rows > most) return std::nullopt;
    window.first = sub - window.at;
    return window;
  }
  // Whether what it is made of is there in front of that instruction, surely.
  bool IsKnownAt(const Affine& row, size_t block, size_t place) const {
    const auto makes = [&](const ir::Block& b, size_t end, Value v) {
      return std::find(b.params.begin(), b.params.end(), v) != b.params.end() ||
             std::any_of(b.insts.begin(), b.insts.begin() + static_cast<std::ptrdiff_t>(end),
                         [&](const Inst& inst) {
                           return std::find(inst.results.begin(), inst.results.end(), v) !=
                                  inst.results.end();
                         });
    };
    return std::all_of(row.terms.begin(), row.terms.end(), [&](const Affine::Term& t) {
      const ir::Block &entry = f_.blocks[0], &own = f_.blocks[block];
      return makes(own, place, t.value) ||
             makes(entry, block == 0 ? 0 : entry.insts.size(), t.value);
    });
  }

  void MakeRows(size_t b, size_t k, size_t axis, const std::vector<Fixed>& fixed) {
    struct Made {
      Affine first;
      int64_t count;
      Value rows;
    };
    std::vector<Made> made;
    // In front of the first of these that takes it; of rows that later blocks alone take, behind the maker.
    const auto row_of = [&](const Fixed& read, const std::vector<Inst>& from,
                            std::vector<Inst>& out) {
      const auto& [first, at, count] = read.window;
      const auto is_it = [&](const Made& one) { return one.first == first && one.count == count; };
      const auto row = std::find_if(made.begin(), made.end(), is_it);
      if (row != made.end()) return row->rows;
      const auto number = [&](int64_t n) {
        return ir::Appender(f_, out, 0).Number(Affine::Const(n));
      };
      Value extent;  // of a window; `out` may be what `from` is
      if (count > 1) extent = number(count);
      Inst alone = extent.valid() ? FewRowsAlone(from[k], 0, 0, first, extent, f_)
                                  : RowAlone(from[k], 0, axis, first, f_);
      const auto length = [&](Value v) {
        if (v == extent) return std::optional(count);
        return known_.IsShort(v) ? std::optional(known_.constants.at(v)) : std::nullopt;
      };
      NarrowToFew(alone, length, number, f_);
      made.push_back({first, count, alone.results[0]});
      out.push_back(std::move(alone));
      return made.back().rows;
    };
    std::unordered_map<uint32_t, Value> renamed;  // elements that blocks read, by what they are now
    const auto read_in = [&](size_t block) {
      std::vector<Inst> out;
      ir::Block& in = f_.blocks[block];
      for (size_t at = 0; at < in.insts.size(); ++at) {
        std::unordered_map<uint32_t, Value> numbers;  // that are rows, by what reads them
        for (const Fixed& read : fixed) {
          if (read.block != block || read.statement != at) continue;
          Inst& reader = in.insts[at];
          Inst& inst = read.inst ? reader.each->body[*read.inst] : reader;
          const Value row = row_of(read, out, out);
          if (read.check) read.check->Append(read.inst ? *reader.each : Each(), inst.loc, f_, out);
          if (read.window.rows > 1) {
            inst.subs[0] = read.window.at;
            inst.args = {row};
          } else if (f_.TypeOf(row).IsArray()) {
            ReadRow(inst, axis, row);
          } else if (!read.inst) {
            renamed.emplace(inst.results[0].id, row);
          } else {
            numbers.emplace(inst.results[0].id, row);
          }
        }
        Inst& inst = in.insts[at];
        if (!numbers.empty()) ReadNumbers(inst, numbers);
        const bool is_number = inst.op == Op::Index && renamed.contains(inst.results[0].id);
        if (!is_number) out.push_back(std::move(inst));
      }
      in.insts = std::move(out);
    };
    read_in(b);
    std::vector<Inst>& own = f_.blocks[b].insts;
    std::vector<Inst> beside;
    for (const Fixed& read : fixed) row_of(read, own, beside);
    own.insert(own.begin() + static_cast<std::ptrdiff_t>(k) + 1,
               std::make_move_iterator(beside.begin()), std::make_move_iterator(beside.end()));
    for (size_t block = 0; block < f_.blocks.size(); ++block) {
      if (block != b) read_in(block);
    }
    if (!renamed.empty()) ReplaceValues(f_, renamed);
  }

  static void ReadRow(Inst& read, size_t axis, Value row) {
    ir::Affines subs(read.subs.begin(), read.subs.end());
    Erase(subs, axis);
    read.subs = ir::AffineSpan(subs);
    read.args = {row};
  }

  ir::Function& f_;
  const ir::OwnArrays own_;
  const ArrayReads reads_;
  const ReadRanges ranges_;
  const TurnValues turns_;
  const ir::KnownExtents known_ = ir::FindKnownExtents(f_);
  const FrontChecks checks_{f_, ranges_, known_};
  const std::set<Value> many_ = ArraysOfManyRows(f_, 0, ReadsOfBlocks::kNeedTheirRow);
  std::set<Value> large_, of_rows_;  // the latter no larger than the function's own
};

}  // namespace

bool MakeFixedRows(ir::Function& f) { return FixedRows(f).Run(); }

}  // namespace pullback::tensor
