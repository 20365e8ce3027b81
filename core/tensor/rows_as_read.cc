// Arrays whose readers take rows at a place that runs with an index of theirs, `z[i + 1]`, `z[2 * i]`, `z[n - 1 - i]`, are made at
// these places, in front of the readers: no more rows than before, and the row of a turn is what the turn needs.
//
//   z = each(p < n, j < d, k < e) { … x[p, k] … } sum [p, j] of (n, d)
//   s = each(i < m, j < d) { u = index z[i + 1, j] … }                     where 0 <= i + 1 < n for each i < m
//
//   z = each(p < m, j < d, k < e) { … x[p + 1, k] … } sum [p, j] of (m, d)
//   s = each(i < m, j < d) { u = index z[i, j] … }
//
// Of several such places no two of which meet, `z[2 * i]` and `z[2 * i + 1]`, there are as many arrays. Of sets of many rows,
// `z[16 * i + q]` with q < 16, the array has an axis for the sets and one for the rows of each (a few are rows of windows). What costs
// nothing becomes part of its readers otherwise (core/opt/fuse.cc), unless it is taken from the end, and arrays that are no larger than
// the function's own stay.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/analysis/outer_values.h"
#include "core/analysis/predicate.h"
#include "core/ir/axis_extents.h"
#include "core/ir/own_arrays.h"
#include "core/tensor/array_reads.h"
#include "core/tensor/made_rows.h"
#include "core/tensor/normalise.h"
#include "core/tensor/statement_edit.h"

namespace pullback::tensor {
namespace {

using ir::Affine;
using ir::Each;
using ir::EachResult;
using ir::Inst;
using ir::Op;
using ir::Value;

constexpr size_t kMostPlaces = 4;
constexpr int kMostRounds = 16;  // of what such arrays are made of

// step * i + from, i < rows; or of sets, step * i + q + from with q < inner, which is no more than the step.
struct Places {
  int64_t step = 0;
  Affine from;
  Value rows;
  Value inner = {};
  int64_t length = 1;  // of inner
  bool operator==(const Places&) const = default;
};

// Of a subscript, with the indices that it is of.
struct Place {
  Places places;
  Value index, within = {};
};

constexpr size_t kMostAxes = 4;  // before one is added

class Maker {
 public:
  explicit Maker(ir::Function& f)
      : f_(f), outer_(f), own_(f), reads_(f), equal_(ir::CheckedEqual(f.blocks[0])) {
    for (const ir::Block& b : f.blocks) {
      for (const Inst& inst : b.insts) {
        if (inst.op == Op::Const && f.TypeOf(inst.results[0]) == ir::Type::I64())
          lengths_[inst.results[0]] = static_cast<int64_t>(inst.bits);
      }
    }
  }

  bool Run() {
    bool changed = false;
    for (ir::Block& b : f_.blocks) {
      // Readers first: what they are made of is read at their places then, in the next round.
      for (size_t k = b.insts.size(); k-- > 0;) {
        if (b.insts[k].each && b.insts[k].results.size() == 1) changed |= Visit(b, k);
      }
    }
    return changed;
  }

 private:
  bool Visit(ir::Block& b, size_t k) {
    const Value array = b.insts[k].results[0];
    if (!MakesLargeArray(b.insts[k], own_) || reread_.contains(array) ||
        !reads_.OnlyByStatements(array))
      return false;
    const bool is_dear = MakesLargeRows(b.insts[k], own_);
    const Each& each = *b.insts[k].each;
    const EachResult& r = each.results[0];
    for (size_t axis = 0; axis < r.out.size(); ++axis) {
      const std::optional<std::vector<Places>> places = PlacesAt(each, array, axis);
      if (!places || !(is_dear || AreFromEnd(*places))) continue;
      if (!IsReadHere(b, k, array)) return false;
      MakeAt(b, k, axis, *places);
      return true;
    }
    return false;
  }

  // By this block alone.
  bool IsReadHere(const ir::Block& b, size_t k, Value array) const {
    size_t here = 0;
    const size_t all = reads_.Of(array).size();
    for (size_t at = k + 1; at < b.insts.size() && here < all; ++at) {
      for (const ArrayReads::Read& read : reads_.Of(array))
        here += read.statement == b.insts[at].each.get() ? 1 : 0;
    }
    return here == all;
  }

  // Nothing: some read is at no such place, or all rows are read in their order, or some row may be read twice.
  std::optional<std::vector<Places>> PlacesAt(const Each& each, Value array, size_t axis) const {
    const EachResult& r = each.results[0];
    const std::optional<size_t> row = PlaceOfIndex(each, r.out[axis].AsValue());
    if (!row || CountNaming(r, each.indices[*row].var) != 1 ||
        each.indices[*row].extent != r.shape[axis] || !ir::IsApartFor(r, *row))
      return std::nullopt;
    std::vector<Places> all;
    for (const ArrayReads::Read& read : reads_.Of(array)) {
      const std::optional<Place> place = PlaceOf(*read.statement, read.inst->subs[axis]);
      const bool is_behind = place && place->places.step < 0 &&  // whose rows it takes in order
                             RunsAgainst(*read.statement, place->index, read.inst->guard);
      if (!place || is_behind) return std::nullopt;
      if (std::find(all.begin(), all.end(), place->places) != all.end()) continue;
      if (!IsWithinRows(*read.statement, read.inst->subs[axis], r.shape[axis])) return std::nullopt;
      all.push_back(place->places);
    }
    const bool as_made = all.size() == 1 && all[0] == Places{1, {}, r.shape[axis]};
    if (as_made || all.size() > kMostPlaces) return std::nullopt;
    const bool has_sets =
        std::any_of(all.begin(), all.end(), [](const Places& p) { return p.inner.valid(); });
    if (has_sets && (r.out.size() >= kMostAxes || !ir::IsPrefixForm(each, r))) return std::nullopt;
    for (size_t a = 0; a < all.size(); ++a) {
      for (size_t b = a + 1; b < all.size(); ++b) {
        if (!NeverMeet(all[a], all[b])) return std::nullopt;
      }
    }
    return all;
  }

  // What is made of the rows of another is read so, too.
  static bool AreFromEnd(const std::vector<Places>& places) {
    return std::all_of(places.begin(), places.end(), [](const Places& p) { return p.step < 0; });
  }

  std::optional<Place> PlaceOf(const Each& reader, const Affine& sub) const {
    std::vector<Affine::Term> of;  // indices
    for (const Affine::Term& t : sub.terms) {
      if (FindDef(reader, t.value)) return std::nullopt;
      if (PlaceOfIndex(reader, t.value)) of.push_back(t);
    }
    if (of.empty() || of.size() > 2) return std::nullopt;
    if (of.size() == 2 && of[0].coeff == 1) std::swap(of[0], of[1]);
    const auto extent = [&](const Affine::Term& t) {
      return reader.indices[*PlaceOfIndex(reader, t.value)].extent;
    };
    Place place;
    place.index = of[0].value;
    place.places = {of[0].coeff, sub - Affine::Of(of[0].value) * of[0].coeff, extent(of[0])};
    if (of.size() == 1) return place;
    const auto length = lengths_.find(extent(of[1]));
    if (of[1].coeff != 1 || length == lengths_.end() || length->second <= kFewOfSet ||
        length->second > of[0].coeff)
      return std::nullopt;
    place.within = of[1].value;
    place.places.inner = extent(of[1]);
    place.places.length = length->second;
    place.places.from = place.places.from - Affine::Of(place.within);
    return place;
  }

  // At every point of the reader's box.
  bool IsWithinRows(const Each& reader, const Affine& sub, Value rows) const {
    analysis::Box box = outer_.BoxOf(reader);
    const Affine last = outer_.Describe(rows, box) - Affine::Const(1);
    if (const Value size = (last + Affine::Const(1)).AsValue(); size.valid()) {
      const analysis::Interval known = box.RangeOf(size);
      box.AddValue(size, {std::max<int64_t>(known.lo, 0), std::min(known.hi, kMaxExtent)});
    }
    const Affine at = outer_.Describe(sub, reader, box);
    std::vector<ir::Constraint> known = outer_.QuotientsOf(reader, box);
    // What the entry has checked of the rows.
    for (const auto& [a, b] : equal_) {
      if (a == rows || b == rows)
        known.push_back({outer_.Describe(a, box) - outer_.Describe(b, box), true});
    }
    analysis::Work work;
    return analysis::ProvesImplied(known, {at, false}, box, work) &&
           analysis::ProvesImplied(known, {last - at, false}, box, work);
  }

  // By what is left when they are divided by the step, or since one begins where the other ends.
  static bool NeverMeet(const Places& a, const Places& b) {
    const int64_t step = std::abs(a.step);
    if (std::abs(b.step) != step) return false;
    const Affine apart = b.from - a.from;
    if (a.inner.valid() || b.inner.valid()) {
      if (!apart.IsConst() || a.step != b.step) return false;
      const int64_t behind = (apart.constant % step + step) % step;
      return behind >= a.length && step - behind >= b.length;
    }
    if (step > 1) return apart.IsConst() && apart.constant % step != 0;
    return a.step == 1 && b.step == 1 &&
           (apart == Affine::Of(a.rows) || apart * -1 == Affine::Of(b.rows));
  }

  void MakeAt(ir::Block& b, size_t k, size_t axis, const std::vector<Places>& places) {
    const Value array = b.insts[k].results[0];
    std::vector<Inst> made;
    std::map<size_t, std::vector<size_t>> in_front_of;  // of made, by who reads them first
    for (const Places& p : places) made.push_back(RowsAt(b.insts[k], axis, p));
    std::vector<char> met(places.size());
    for (size_t at = k + 1; at < b.insts.size(); ++at) {
      if (!b.insts[at].each) continue;
      for (Inst& read : b.insts[at].each->body) {
        if (read.op != Op::Index || read.args[0] != array) continue;
        const Place place = *PlaceOf(*b.insts[at].each, read.subs[axis]);
        const auto p = static_cast<size_t>(std::find(places.begin(), places.end(), place.places) -
                                           places.begin());
        read.args[0] = made[p].results[0];
        read.subs[axis] = Affine::Of(place.index);
        if (place.within.valid()) {
          std::vector<Affine> subs = read.subs.ToVector();
          subs.insert(subs.begin() + static_cast<std::ptrdiff_t>(axis) + 1,
                      Affine::Of(place.within));
          read.subs = ThinVector<Affine>(subs.begin(), subs.end());
        }
        if (std::exchange(met[p], 1) != 0) continue;
        made[p].loc = b.insts[at].loc;  // of the extent, should it be negative
        in_front_of[at].push_back(p);
      }
    }
    ir::ForEachOperand(b.insts[k], [&](Value v) { reread_.insert(v); });
    for (auto it = in_front_of.rbegin(); it != in_front_of.rend(); ++it) {
      for (auto p = it->second.rbegin(); p != it->second.rend(); ++p) {
        b.insts.insert(b.insts.begin() + static_cast<std::ptrdiff_t>(it->first),
                       std::move(made[*p]));
      }
    }
    b.insts.erase(b.insts.begin() + static_cast<std::ptrdiff_t>(k));
  }

  Inst RowsAt(const Inst& maker, size_t axis, const Places& places) {
    Inst inst = CopyStatement(maker, f_).inst;
    inst.results = {f_.NewLike(f_, maker.results[0])};
    Each& each = *inst.each;
    EachResult& r = each.results[0];
    const size_t at = *PlaceOfIndex(each, r.out[axis].AsValue());
    const Value number = each.indices[at].var, row = f_.NewLike(f_, number);
    each.indices[at] = {row, places.rows};
    r.out[axis] = Affine::Of(row);
    r.shape[axis] = places.rows;
    Affine place = Affine::Of(row) * places.step + places.from;
    if (places.inner.valid()) {
      const Value within = f_.NewLike(f_, number);
      const auto behind = static_cast<std::ptrdiff_t>(axis) + 1;
      each.indices.insert(each.indices.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                          {within, places.inner});
      r.out.insert(r.out.begin() + behind, Affine::Of(within));
      r.shape.insert(r.shape.begin() + behind, places.inner);
      const ir::Type type = f_.TypeOf(inst.results[0]);
      inst.results = {
          f_.NewValue(ir::Type::Array(type.elem, type.rank + 1), f_.names[maker.results[0].id])};
      place = place + Affine::Of(within);
    }
    SubstituteIndex(each, f_, number, place);
    return inst;
  }

  ir::Function& f_;
  const analysis::OuterValues outer_;
  const ir::OwnArrays own_;
  const ArrayReads reads_;
  const std::vector<std::pair<Value, Value>> equal_;  // that the entry checks
  std::map<Value, int64_t> lengths_;                  // that are numbers
  std::set<Value> reread_;                            // by other statements than reads_ says
};

}  // namespace

bool MakeRowsAsRead(ir::Function& f) {
  bool changed = false;
  for (int round = 0; round < kMostRounds && Maker(f).Run(); ++round) changed = true;
  return changed;
}

}  // namespace pullback::tensor
