// Rows that are held at the ends of an axis, `z[max(0, min(n - 1, i + q - 1))]`, or reflected there, `z[abs(i - 1)]`, or another by a
// condition, `z[if i == 0 { 1 } else { i - 1 }]`, are read of an array whose ends are these rows (end_rows.h): a window then, and
// fixed rows (fixed_rows.cc).
//
//   %s = each(i < n, q < 3, l < h) { %v = max 0, min n - 1, i + q - 1; %u = index %z[%v, l] … }            z: (n, h)
//
//   %p = each(t < n + 2, l < h) {
//     %u = index %z[0, l] if t <= 0 and 1 <= n
//     %v = index %z[n - 1, l] if n < t and 1 <= n
//     %w = index %z[t - 1, l] if 1 <= t and t <= n
//   } gen [t, l] of (n + 2, h): the one that is there, or 0
//   %s = each(i < n, q < 3, l < h) { %u = index %p[i + q, l] … }
//
// Windows around a ring, `z[(i + q + n - 1) % n]`, are read of an array whose ends are rows of the other end, `z[n - 1]` first: a
// few of them, each at a place of its own, which for fewer rows than that is a remainder.
//
// A subscript that a condition decides, `z[max(0, i - 3)]` where 3 <= i, is what it is there.
//
// Of large arrays (made_rows.h) that take work, and what is made of their rows, where the reader's points say that there are rows, or its
// first one ends the run if not.
// Comes before derivatives, in front of fixed_rows.cc.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "core/analysis/body_forms.h"
#include "core/analysis/outer_values.h"
#include "core/analysis/sub_cases.h"
#include "core/ir/append.h"
#include "core/ir/own_arrays.h"
#include "core/tensor/array_reads.h"
#include "core/tensor/end_finder.h"
#include "core/tensor/end_rows.h"
#include "core/tensor/front_checks.h"
#include "core/tensor/made_rows.h"
#include "core/tensor/normalise.h"
#include "core/tensor/read_ranges.h"
#include "core/tensor/statement_edit.h"

namespace pullback::tensor {
namespace {

using ir::Affine;
using ir::Constraint;
using ir::Each;
using ir::Inst;
using ir::Op;
using ir::Value;

constexpr size_t kMostArrays = 4;  // of one, that have other ends

// (at + from + turns * size) rem size, of which so many rows are in front of the first one, and behind the last one.
struct Ring {
  PlaceWindow window;
  int64_t from, turns;
  int64_t InFront() const { return std::max<int64_t>(0, -from); }
  int64_t Behind() const { return std::max<int64_t>(0, window.count.constant + from); }
};

class SplitClampsOf {
 public:
  explicit SplitClampsOf(ir::Function& f)
      : f_(f), outer_(f), own_(f), reads_(f, 1), ranges_(f), known_(ir::FindKnownExtents(f)) {}

  bool Run() {
    bool changed = false;
    for (ir::Block& b : f_.blocks) {
      large_.clear();
      ended_.clear();
      rings_.clear();
      checked_.clear();
      std::vector<Inst> out;
      for (Inst& inst : b.insts) {
        if (inst.each) changed |= Visit(*inst.each, out);
        if (IsLarge(inst) && reads_.OnlyByStatements(inst.results[0]))
          large_.emplace(inst.results[0], inst.each->results[0].shape);
        out.push_back(std::move(inst));
      }
      b.insts = std::move(out);
    }
    return changed;
  }

 private:
  // And takes work to make, or is made of one of the block's that does; or has an element, or more, of each row of such a one.
  bool IsLarge(const Inst& inst) const {
    if (MakesLargeRows(inst, own_)) return true;
    if (MakesLargeArray(inst, own_)) return ReadsLarge(*inst.each, std::nullopt);
    if (!inst.each || inst.results.size() != 1) return false;
    const ir::EachResult& r = inst.each->results[0];
    const bool is_plain = !r.out.empty() && !ir::IsScan(r.monoid) && !r.into.valid();
    return is_plain && ReadsLarge(*inst.each, r.out[0]);
  }
  bool ReadsLarge(const Each& each, const std::optional<Affine>& row) const {
    return std::any_of(each.body.begin(), each.body.end(), [&](const Inst& read) {
      return read.op == Op::Index && large_.contains(read.args[0]) &&
             (!row || read.subs[0] == *row);
    });
  }

  bool Visit(Each& each, std::vector<Inst>& out) {
    bool changed = false;
    analysis::BodyForms forms(each, f_);
    for (size_t k = 0; k < each.body.size(); ++k) {
      forms.Note(each.body[k]);
      const Inst& read = each.body[k];
      const auto large = read.op == Op::Index ? large_.find(read.args[0]) : large_.end();
      if (large == large_.end()) continue;
      changed |= ReadRing(each, k, forms, large->second, out) ||
                 ReadByCases(each, k, forms, large->second, out);
    }
    return changed;
  }

  static void Read(Inst& read, Value array, const Affine& at) {
    read.subs[0] = at;
    read.args = {array};
  }

  bool ReadByCases(Each& each, size_t k, const analysis::BodyForms& forms, const ir::Values& shape,
                   std::vector<Inst>& out) {
    Inst& read = each.body[k];
    const Affine sub = read.subs[0];
    const auto cases = analysis::SubCasesOf(each, f_, forms, outer_, sub, read.guard);
    if (!cases || (cases->size() == 1 && !RunsBackwards(each, cases->front().form))) return false;
    const FrontChecks checks(f_, ranges_, known_);
    EndFinder finder(each, k, shape, ranges_, checks, CheckedFor(each));
    if (cases->size() > 1) {
      if (const std::optional<Affine> form = finder.Decided(*cases)) {
        read.subs[0] = *form;
        return true;
      }
    }
    std::optional<PlaceWindow> window;
    for (const analysis::SubCase& one : *cases) {
      if (!window) window = WindowOf(each, one.form);
    }
    const std::optional<EndFinder::Found> found =
        window ? finder.Find(*window, *cases) : std::nullopt;
    const std::optional<Value> array =
        found ? ArrayOf(found->rows, shape, read.loc, out) : std::nullopt;
    if (!array) return false;
    for (const RowCheck& check : found->checks) {
      check.Append(each, read.loc, f_, out);
      if (!check.where) check.AddTo(checked_.emplace_back(Checked{&each, {}}).known);
    }
    Read(read, *array, window->at);
    return true;
  }

  // What is checked in front of the statement, or of one in front of it that has points wherever this one has.
  std::vector<Constraint> CheckedFor(const Each& each) const {
    const auto is_extent = [&](const ir::IndexVar& of) {
      return std::any_of(each.indices.begin(), each.indices.end(),
                         [&](const ir::IndexVar& i) { return i.extent == of.extent; });
    };
    std::vector<Constraint> known;
    for (const Checked& c : checked_) {
      const bool has_points =
          c.reader == &each ||
          (c.reader->where.empty() &&
           std::all_of(c.reader->indices.begin(), c.reader->indices.end(), is_extent));
      if (has_points) known.insert(known.end(), c.known.begin(), c.known.end());
    }
    return known;
  }

  static bool RunsBackwards(const Each& each, const Affine& form) {
    return std::any_of(form.terms.begin(), form.terms.end(), [&](const Affine::Term& t) {
      return t.coeff == -1 && PlaceOfIndex(each, t.value);
    });
  }

  // Nothing: no index that may run far is in it, or several are, or by steps.
  std::optional<PlaceWindow> WindowOf(const Each& each, const Affine& form) const {
    PlaceWindow window;
    for (const Affine::Term& t : form.terms) {
      const std::optional<size_t> place = PlaceOfIndex(each, t.value);
      if (!place || known_.IsShort(each.indices[*place].extent)) continue;
      if (window.run.valid() || std::abs(t.coeff) != 1) return std::nullopt;
      window.index = t.value;
      window.run = each.indices[*place].extent;
    }
    if (!window.run.valid()) return std::nullopt;
    analysis::Box box;
    window.at = Affine::Of(window.index);
    window.count = outer_.Describe(window.run, box);
    int64_t beside = 0;  // places, by the short ones
    for (const Affine::Term& t : form.terms) {
      const std::optional<size_t> place = PlaceOfIndex(each, t.value);
      if (!place || t.value == window.index) continue;
      const int64_t by = t.coeff * form.Coeff(window.index);
      const int64_t far = known_.constants.at(each.indices[*place].extent) - 1;
      if (std::abs(by) > kMostAway || far < 0) return std::nullopt;
      window.at = window.at + Affine::Of(t.value) * by + Affine::Const(by < 0 ? -by * far : 0);
      beside += std::abs(by) * far;
    }
    window.count = window.count + Affine::Const(beside);
    return window.count.constant <= kMostAway ? std::optional(window) : std::nullopt;
  }

  std::optional<Ring> RingOf(const Each& each, const analysis::BodyForms& forms, Value v,
                             Value extent) const {
    const Inst* def = FindDef(each, v);
    if (!def || def->op != Op::Rem || def->guard.valid()) return std::nullopt;
    analysis::Box box;
    const auto of_outside = [&](Value arg) {
      const std::optional<Affine> form = forms.FormOf(arg, {});
      return form ? std::optional(outer_.Describe(*form, each, box)) : form;
    };
    const Affine size = outer_.Describe(Affine::Of(extent), each, box);
    const std::optional<Affine> e = of_outside(def->args[0]);
    if (!e || of_outside(def->args[1]) != size || !size.AsValue().valid()) return std::nullopt;
    const int64_t turns = e->Coeff(size.AsValue());
    const Affine place = *e - size * turns;
    const std::optional<PlaceWindow> window = WindowOf(each, place);
    if (turns < 0 || !window || !(place - window->at).IsConst()) return std::nullopt;
    return Ring{*window, (place - window->at).constant, turns};
  }

  // Of as many rows as the ring has, and those next to them. A dividend is nowhere a negative number but of -size or less times
  // a whole number: with t turns in front, at most 2 t rows are.
  bool ReadRing(Each& each, size_t k, const analysis::BodyForms& forms, const ir::Values& shape,
                std::vector<Inst>& out) {
    Inst& read = each.body[k];
    const std::optional<Ring> ring = RingOf(each, forms, read.subs[0].AsValue(), shape[0]);
    if (!ring) return false;
    const PlaceWindow& window = ring->window;
    analysis::Box box;
    const bool as_many = outer_.Describe(Affine::Of(window.run), each, box) ==
                         outer_.Describe(Affine::Of(shape[0]), each, box);
    const int64_t ends = ring->InFront() + ring->Behind();
    const bool is_there = as_many && ends > 0 && ends <= static_cast<int64_t>(kMostEnds) &&
                          ring->InFront() <= 2 * ring->turns &&
                          ranges_.IsInRange(each, read.guard, Affine(), shape[0]);
    if (!is_there) return false;
    const EndedRows rows{read.args[0], window.count, ring->from, {}};
    const auto made = std::find_if(rings_.begin(), rings_.end(),
                                   [&](const auto& one) { return one.first == rows; });
    std::optional<Value> array;
    if (made != rings_.end()) {
      array = made->second;
    } else {
      EndedRows with_ends = rows;
      with_ends.ends = RingEnds(*ring, shape[0], read.loc, out);
      array = ArrayOf(with_ends, shape, read.loc, out);
      if (array) rings_.emplace_back(rows, *array);
    }
    if (array) Read(read, *array, window.at);
    return array.has_value();
  }

  std::optional<Value> ArrayOf(const EndedRows& rows, const ir::Values& of, uint32_t loc,
                               std::vector<Inst>& out) {
    const auto made = std::find_if(ended_.begin(), ended_.end(),
                                   [&](const auto& one) { return one.first == rows; });
    if (made != ended_.end()) return made->second;
    const auto of_array = [&](const auto& one) { return one.first.array == rows.array; };
    if (std::count_if(ended_.begin(), ended_.end(), of_array) == kMostArrays) return std::nullopt;
    ir::Values shape = of;
    shape[0] = ir::Appender(f_, out, loc).Number(rows.rows);
    out.push_back(MakeEndedRows(rows, shape, of[0], loc, f_));
    ended_.emplace_back(rows, out.back().results[0]);
    return out.back().results[0];
  }

  std::vector<End> RingEnds(const Ring& ring, Value extent, uint32_t loc, std::vector<Inst>& out) {
    ir::Appender made(f_, out, loc);
    const ir::Type type = ir::Type::I64();
    const Value least = made.Number(Affine::Const(1)),
                size = made.Make(Op::Max, type, {extent, least});
    const auto around = [&](int64_t row) {  // of no rows: any
      if (row == 0) return Affine();
      if (row == -1) return Affine::Of(extent) - Affine::Const(1);
      const Value rest = made.Make(Op::Rem, type, {made.Number(Affine::Const(row)), size});
      const Value up = made.Make(Op::Add, type, {rest, size});
      return Affine::Of(made.Make(Op::Rem, type, {up, size}));
    };
    const Affine from = Affine::Const(ring.from);
    std::vector<End> ends;
    for (int64_t k = 1; k <= ring.InFront(); ++k)
      ends.push_back({1, from + Affine::Const(k), true, around(-k)});
    for (int64_t k = 0; k < ring.Behind(); ++k)
      ends.push_back({1, from - Affine::Of(extent) - Affine::Const(k), true, around(k)});
    return ends;
  }

  ir::Function& f_;
  const analysis::OuterValues outer_;
  const ir::OwnArrays own_;
  const ArrayReads reads_;
  const ReadRanges ranges_;
  const ir::KnownExtents known_;
  // Of the block so far.
  std::map<Value, ir::Values> large_;
  std::vector<std::pair<EndedRows, Value>> ended_;
  std::vector<std::pair<EndedRows, Value>>
      rings_;  // by rows without ends, which are numbers made for each
  struct Checked {
    const Each* reader;  // in front of which
    std::vector<Constraint> known;
  };
  std::vector<Checked> checked_;
};

}  // namespace

bool SplitClamps(ir::Function& f) { return SplitClampsOf(f).Run(); }

}  // namespace pullback::tensor
