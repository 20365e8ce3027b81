// What is made of the rows of a large array, each row of one some rows away, is made by the array's own rows, and moved where it
// belongs then: so the turn that makes a row makes all of it. The cotangents of `z[i + 1]`:
//
//   y = each(t < N, l < d, j < k) where (1 <= t) { … a[t - 1, j] … } sum [t, l] of (N, d)         a: (M, k), M <= N
//
//   u = each(i < M, l < d, j < k) where (i + 1 < N) { … a[i, j] … } sum [i, l] of (M, d)
//   y = each(t < N, l < d) where (1 <= t, t - 1 < M) { u[t - 1, l] } gen [t, l] of (N, d)
//
// Rows that are no known number of rows away, or are taken from the other end, are stored where they belong: with a[t - c, j], or
// a[c - t, j], y = each(i < M, l < d) where (0 <= c + i < N) { u[i, l] } gen [c + i, l] of (N, d), or [c - i, l]. Where M is more
// than N, as of windows that are held at their ends, i counts N's own rows from the end, [N - 1 - i, l], if these are near a's.
//
// (Of what a program reads some rows away rows_as_read.cc makes these rows.) Each element has the terms that it had, in their order.
#include <algorithm>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/analysis/outer_values.h"
#include "core/analysis/predicate.h"
#include "core/ir/own_arrays.h"
#include "core/ir/statements.h"
#include "core/tensor/normalise.h"
#include "core/tensor/statement_edit.h"

namespace pullback::tensor {
namespace {

using ir::Affine;
using ir::Each;
using ir::EachResult;
using ir::Inst;
using ir::Monoid;
using ir::Op;
using ir::Value;

class ByMaker {
 public:
  explicit ByMaker(ir::Function& f) : f_(f), outer_(f), own_(f) {}

  bool Run() {
    bool changed = false;
    for (ir::Block& b : f_.blocks) {
      std::vector<Inst> out;
      large_.clear();
      for (Inst& inst : b.insts) {
        const std::optional<Away> away = inst.each ? AwayOf(inst) : std::nullopt;
        changed |= away.has_value();
        if (away) out.push_back(MadeByRows(inst, *away));
        for (size_t k = 0; inst.each && k < inst.results.size(); ++k) LearnLarge(inst, k);
        if (inst.op == Op::AddArrays) LearnSum(inst);
        out.push_back(std::move(inst));
      }
      b.insts = std::move(out);
    }
    return changed;
  }

 private:
  // The statement's row t is made of row t - by of an array that has so many rows; or from the other end, of row by - t.
  struct Away {
    Affine by;
    Value rows;
    int64_t sign = 1;
    bool operator==(const Away&) const = default;
    bool IsNear() const { return sign == 1 && by.IsConst(); }
    // Of the statement, what is made of that row.
    Affine RowOf(Value row) const { return Affine::Of(row) * sign + by; }
  };

  void LearnLarge(const Inst& inst, size_t k) {
    const EachResult& r = inst.each->results[k];
    if (r.shape.size() > 1 && !own_.IsNoLarger(r.shape)) large_[inst.results[k].id] = r.shape[0];
  }

  void LearnSum(const Inst& inst) {
    for (Value term : inst.args) {
      const auto large = large_.find(term.id);
      if (large == large_.end()) continue;
      const Value rows = large->second;
      large_[inst.results[0].id] = rows;
      return;
    }
  }

  std::optional<Away> AwayOf(const Inst& inst) const {
    const Each& each = *inst.each;
    if (each.results.size() != 1 || each.results[0].monoid != Monoid::kSum) return std::nullopt;
    const EachResult& r = each.results[0];
    if (r.into.valid() || r.out.size() < 2 || r.out.size() == each.indices.size() ||
        !ir::IsPrefixForm(each, r) || !HasElementByIndices(each, r) || !own_.IsNoLarger(r.shape))
      return std::nullopt;
    const Value row = r.out[0].AsValue();
    std::optional<Away> away;
    for (const Inst& read : each.body) {
      const auto large = read.op == Op::Index ? large_.find(read.args[0].id) : large_.end();
      if (large == large_.end()) continue;
      const std::optional<Away> by = AwayBy(each, row, read.subs[0], large->second);
      if (!by || (away && *away != *by)) return std::nullopt;
      if (!away && !IsWithinRows(each, read.subs[0], large->second)) return std::nullopt;
      away = by;
    }
    if (!away || away->RowOf(row) == Affine::Of(row)) return std::nullopt;
    return AreNoMore(*away, r.shape) ? away : FromEnd(*away, r.shape[0]);
  }
  static Away FromEndOf(Value rows) { return {Affine::Of(rows) - Affine::Const(1), rows, -1}; }
  // By the statement's own rows, counted from the end, if they are near those of the array that they are made of.
  std::optional<Away> FromEnd(const Away& away, Value rows) const {
    const Away by_own = FromEndOf(rows);
    analysis::Box box;
    const Affine apart = outer_.Describe(by_own.by, box) - outer_.Describe(away.by, box);
    return away.sign == -1 && apart.IsConst() ? std::optional(by_own) : std::nullopt;
  }
  static std::optional<Away> AwayBy(const Each& each, Value row, const Affine& sub, Value rows) {
    const int64_t sign = sub.Coeff(row);
    if (sign != 1 && sign != -1) return std::nullopt;
    const Away away{Affine::Of(row) - sub * sign, rows, sign};
    const bool outside =
        std::none_of(away.by.terms.begin(), away.by.terms.end(), [&](const Affine::Term& t) {
          return PlaceOfIndex(each, t.value) || FindDef(each, t.value);
        });
    return outside ? std::optional(away) : std::nullopt;
  }
  // At every point of the statement: other rows have no terms.
  bool IsWithinRows(const Each& each, const Affine& sub, Value rows) const {
    analysis::Box box = outer_.BoxOf(each);
    const auto described = [&](const Affine& e) { return outer_.Describe(e, each, box); };
    std::vector<ir::Constraint> known;
    for (const ir::Constraint& c : each.where) known.push_back({described(c.e), c.equality});
    const Affine at = described(sub), last = described(Affine::Of(rows)) - Affine::Const(1);
    analysis::Work work;
    return analysis::ProvesImplied(known, {at, false}, box, work) &&
           analysis::ProvesImplied(known, {last - at, false}, box, work);
  }
  // Than the statement makes, or than would be larger than the function's own arrays.
  bool AreNoMore(const Away& away, ir::Values shape) const {
    analysis::Box box;
    const Affine more = outer_.Describe(shape[0], box) - outer_.Describe(away.rows, box);
    if (const auto range = box.RangeOf(more); range && range->lo >= 0) return true;
    shape[0] = away.rows;
    return own_.IsNoLarger(shape);
  }

  // By rows of the array; `inst` takes them from there.
  Inst MadeByRows(Inst& inst, const Away& away) {
    Inst made = CopyStatement(inst, f_).inst;
    made.results = {f_.NewLike(f_, inst.results[0])};
    Each& each = *made.each;
    EachResult& r = each.results[0];
    const Value old = r.out[0].AsValue(), row = f_.NewLike(f_, old), rows = r.shape[0];
    each.indices[*PlaceOfIndex(each, old)] = {row, away.rows};
    r.out[0] = Affine::Of(row);
    r.shape[0] = away.rows;
    const Affine at = away.RowOf(row);
    SubstituteIndex(each, f_, old, at);
    const bool is_permutation = away == FromEndOf(rows);  // each row has its place then
    if (!is_permutation) AddRange(each, at, rows);

    const EachResult& whole = inst.each->results[0];
    EachResult placed;
    placed.monoid = Monoid::kGen;
    placed.out = whole.out;
    placed.shape = whole.shape;
    placed.loc = whole.loc;
    Inst read;
    read.op = Op::Index;
    read.loc = inst.loc;
    read.args = {made.results[0]};
    ir::Affines subs(whole.out.begin(), whole.out.end());
    if (away.IsNear()) subs[0] = subs[0] - away.by;
    read.subs = ir::AffineSpan(subs);
    read.results = {f_.NewValue(f_.TypeOf(made.results[0]).Element())};
    placed.value = read.results[0];
    Each moved;
    for (const ir::IndexVar& i : inst.each->indices) {
      if (std::find(whole.out.begin(), whole.out.end(), Affine::Of(i.var)) != whole.out.end())
        moved.indices.push_back(i);
    }
    if (away.IsNear()) {
      AddRange(moved, subs[0], away.rows);
    } else {
      moved.indices[*PlaceOfIndex(moved, whole.out[0].AsValue())].extent = away.rows;
      placed.out[0] = away.RowOf(whole.out[0].AsValue());
      if (!is_permutation) AddRange(moved, placed.out[0], rows);
    }
    moved.body.push_back(std::move(read));
    moved.results.push_back(std::move(placed));
    *inst.each = std::move(moved);
    return made;
  }

  ir::Function& f_;
  const analysis::OuterValues outer_;
  const ir::OwnArrays own_;
  std::unordered_map<uint32_t, Value> large_;  // of the block so far: how many rows
};

}  // namespace

bool MakeRowsAsMade(ir::Function& f) { return ByMaker(f).Run(); }

}  // namespace pullback::tensor
