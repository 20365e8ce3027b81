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
// `z[16 * i + q]` with q < 16, the array has an axis for the sets and one for the rows of each (a few are rows of windows); and so have
// numbers of its rows, such as their norms, that are read by sets, too. What costs nothing becomes part of its readers otherwise
// (core/opt/fuse.cc), unless it is taken from the end or by sets, and arrays that are no larger than the function's own stay.
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
#include "core/tensor/row_places.h"
#include "core/tensor/statement_edit.h"

namespace pullback::tensor {
namespace {

using ir::Affine;
using ir::Each;
using ir::EachResult;
using ir::Inst;
using ir::Op;
using ir::Value;

constexpr int kMostRounds = 64;       // of what such arrays are made of
constexpr size_t kMostTogether = 32;  // arrays that go to the same places

constexpr size_t kMostAxes = 4;  // before one is added

class Maker {
 public:
  explicit Maker(ir::Function& f)
      : f_(f), outer_(f), own_(f), reads_(f, 1), equal_(ir::CheckedEqual(f.blocks[0])) {
    for (const ir::Block& b : f.blocks) {
      for (const Inst& inst : b.insts) {
        if (inst.op == Op::Const && f.TypeOf(inst.results[0]) == ir::Type::I64())
          lengths_[inst.results[0]] = static_cast<int64_t>(inst.bits);
        if (!inst.each || inst.results.size() != 1) continue;
        makers_[inst.results[0]] = inst.each.get();
        made_by_[inst.each.get()] = inst.results[0];
        if (MakesLargeArray(inst, own_)) large_.insert(inst.results[0]);
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
    if (b.insts[k].each->results[0].into.valid() || reread_.contains(array) ||
        !reads_.OnlyByStatements(array))
      return false;
    const bool is_dear = MakesLargeRows(b.insts[k], own_);
    const bool is_large = MakesLargeArray(b.insts[k], own_);
    const Each& each = *b.insts[k].each;
    const EachResult& r = each.results[0];
    for (size_t axis = 0; axis < r.out.size(); ++axis) {
      const std::optional<Plan> plan = PlacesAt(each, array, axis, /*sets_alone=*/!is_large);
      if (!plan) continue;
      if (is_large ? !is_dear && !HasSets(plan->places) && !AreFromEnd(plan->places)
                   : !LargeGoTo(each, axis))
        continue;
      if (!IsReadHere(b, k, array)) return false;
      MakeAt(b, k, axis, *plan);
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

  // Where the rows are made; whether some of these may not be there, since who reads them asks first.
  struct Plan {
    std::vector<Places> places;
    bool may_lack = false;
  };

  // Nothing: some read is at no such place, or all rows are read in their order, or some row may be read twice. `sets_alone`: or they
  // are no sets.
  std::optional<Plan> PlacesAt(const Each& each, Value array, size_t axis, bool sets_alone) const {
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
      if (std::find(all.begin(), all.end(), place->places) == all.end())
        all.push_back(place->places);
    }
    const bool as_made = all.size() == 1 && all[0] == Places{1, {}, r.shape[axis]};
    std::optional<std::vector<Places>> places;
    if (!as_made) places = MadeTogether(std::move(all));
    if (!places || (sets_alone && !HasSets(*places))) return std::nullopt;
    const std::optional<bool> may_lack = MayLack(array, axis, r.shape[axis]);
    if (!may_lack) return std::nullopt;
    if (HasSets(*places) ? r.out.size() >= kMostAxes || !ir::IsPrefixForm(each, r) : *may_lack)
      return std::nullopt;
    return Plan{std::move(*places), *may_lack};
  }
  // Whether some reads ask whether their row is there. Nothing: some may be out of range.
  std::optional<bool> MayLack(Value array, size_t axis, Value rows) const {
    bool may_lack = false;
    for (const ArrayReads::Read& read : reads_.Of(array)) {
      const Affine& sub = read.inst->subs[axis];
      if (IsWithinRows(*read.statement, sub, rows, {})) continue;
      const bool asks = IsWithinRows(*read.statement, sub, rows,
                                     ir::ConstraintsAt(*read.statement, read.inst->guard));
      if (!asks) return std::nullopt;
      may_lack = true;
    }
    return may_lack;
  }

  // What is made of the rows of another is read so, too.
  static bool AreFromEnd(const std::vector<Places>& places) {
    return std::all_of(places.begin(), places.end(), [](const Places& p) { return p.step < 0; });
  }

  static bool HasSets(const std::vector<Places>& places) {
    return std::any_of(places.begin(), places.end(), [](const Places& p) { return p.AreSets(); });
  }

  using Rows = std::pair<Value, size_t>;  // of an array, and which axis they are along
  using SetsOf = std::map<Rows, std::optional<std::vector<Places>>>;

  // Whether the statement is made of rows of some large array near its own, also by way of others, and all such can be made by sets
  // once it is.
  bool LargeGoTo(const Each& maker, size_t axis) const {
    std::set<Rows> met;
    Collect(maker, axis, met);
    SetsOf known;
    bool some = false;
    for (const Rows& rows : met) {
      if (!large_.contains(rows.first)) continue;
      std::optional<std::vector<Places>> sets = SetsFor(rows, known);
      if (!sets || !MadeTogether(std::move(*sets))) return false;
      some = true;
    }
    return some;
  }

  void Collect(const Each& maker, size_t axis, std::set<Rows>& met) const {
    const Value row = maker.results[0].out[axis].AsValue();
    for (const Inst& read : maker.body) {
      if (read.op != Op::Index || reread_.contains(read.args[0])) continue;
      const auto made = makers_.find(read.args[0]);
      if (made == makers_.end()) continue;
      for (size_t a = 0; a < read.subs.size(); ++a) {
        const std::optional<Window> window = WindowOf(maker, read.subs[a]);
        if (!window || window->index != row || met.size() > kMostTogether) continue;
        if (met.emplace(read.args[0], a).second) Collect(*made->second, a, met);
      }
    }
  }

  // The sets that an array is read at, also by what is read so itself. Nothing: others read it.
  std::optional<std::vector<Places>> SetsFor(const Rows& rows, SetsOf& known) const {
    const auto [it, fresh] = known.emplace(rows, std::nullopt);
    const auto& [array, axis] = rows;
    if (!fresh || reread_.contains(array) || !reads_.OnlyByStatements(array)) return it->second;
    std::vector<Places> sets;
    for (const ArrayReads::Read& read : reads_.Of(array)) {
      const std::optional<std::vector<Places>> some =
          SetsOfRead(*read.statement, read.inst->subs[axis], known);
      if (!some) return std::nullopt;
      for (const Places& p : *some) {
        if (std::find(sets.begin(), sets.end(), p) == sets.end()) sets.push_back(p);
      }
    }
    return it->second = std::move(sets);
  }

  std::optional<std::vector<Places>> SetsOfRead(const Each& reader, const Affine& sub,
                                                SetsOf& known) const {
    const std::optional<Window> window = WindowOf(reader, sub);
    const auto made = made_by_.find(&reader);
    if (!window || made == made_by_.end()) {
      const std::optional<Place> place = PlaceOf(reader, sub);
      return place ? std::optional(std::vector{place->places}) : std::nullopt;
    }
    const EachResult& r = reader.results[0];
    for (size_t a = 0; a < r.out.size(); ++a) {
      if (r.out[a] != Affine::Of(window->index)) continue;
      std::optional<std::vector<Places>> sets = SetsFor({made->second, a}, known);
      for (size_t k = 0; sets && k < sets->size(); ++k) {
        (*sets)[k].from = (*sets)[k].from + Affine::Const(window->first);
        (*sets)[k].length += window->more;
      }
      return sets;
    }
    return std::nullopt;
  }

  // index + first, and so many more behind that.
  struct Window {
    Value index;
    int64_t first, more;
  };
  std::optional<Window> WindowOf(const Each& reader, const Affine& sub) const {
    Window window{{}, sub.constant, 0};
    if (Magnitude(sub.constant) > kFewOfSet) return std::nullopt;
    for (const Affine::Term& t : sub.terms) {
      if (!PlaceOfIndex(reader, t.value)) return std::nullopt;
      const std::optional<int64_t> length =
          NumberOf(reader.indices[*PlaceOfIndex(reader, t.value)].extent);
      if (length && 1 <= *length && *length <= kFewOfSet && Magnitude(t.coeff) <= kFewOfSet) {
        const int64_t last = t.coeff * (*length - 1);
        window.first += std::min<int64_t>(last, 0);
        window.more += std::abs(last);
      } else if (t.coeff == 1 && !window.index.valid()) {
        window.index = t.value;
      } else {
        return std::nullopt;
      }
    }
    return window.index.valid() ? std::optional(window) : std::nullopt;
  }

  std::optional<Place> PlaceOf(const Each& reader, const Affine& sub) const {
    return tensor::PlaceOf(reader, sub, [this](Value extent) { return NumberOf(extent); });
  }
  std::optional<int64_t> NumberOf(Value extent) const {
    const auto number = lengths_.find(extent);
    return number == lengths_.end() ? std::nullopt : std::optional(number->second);
  }

  // At every point of the reader's box where the conditions hold.
  bool IsWithinRows(const Each& reader, const Affine& sub, Value rows,
                    const std::vector<ir::Constraint>& conditions) const {
    analysis::Box box = outer_.BoxOf(reader);
    const Affine last = outer_.Describe(rows, box) - Affine::Const(1);
    if (const Value size = (last + Affine::Const(1)).AsValue(); size.valid()) {
      const analysis::Interval known = box.RangeOf(size);
      box.AddValue(size, {std::max<int64_t>(known.lo, 0), std::min(known.hi, kMaxExtent)});
    }
    const Affine at = outer_.Describe(sub, reader, box);
    std::vector<ir::Constraint> known = outer_.QuotientsOf(reader, box);
    for (const ir::Constraint& c : conditions)
      known.push_back({outer_.Describe(c.e, reader, box), c.equality});
    // What the entry has checked of the rows.
    for (const auto& [a, b] : equal_) {
      if (a == rows || b == rows)
        known.push_back({outer_.Describe(a, box) - outer_.Describe(b, box), true});
    }
    analysis::Work work;
    return analysis::ProvesImplied(known, {at, false}, box, work) &&
           analysis::ProvesImplied(known, {last - at, false}, box, work);
  }

  void MakeAt(ir::Block& b, size_t k, size_t axis, const Plan& plan) {
    const Value array = b.insts[k].results[0];
    const std::vector<Places>& places = plan.places;
    std::vector<std::vector<Inst>> made;
    std::map<size_t, std::vector<size_t>> in_front_of;  // of made, by who reads them first
    for (const Places& p : places) made.push_back(RowsAt(b.insts[k], axis, p, plan.may_lack));
    std::vector<char> met(places.size());
    for (size_t at = k + 1; at < b.insts.size(); ++at) {
      if (!b.insts[at].each) continue;
      for (Inst& read : b.insts[at].each->body) {
        if (read.op != Op::Index || read.args[0] != array) continue;
        const Place place = *PlaceOf(*b.insts[at].each, read.subs[axis]);
        size_t p = 0;
        while (!OffsetIn(places[p], place.places)) ++p;
        read.args[0] = made[p].back().results[0];
        read.subs[axis] = Affine::Of(place.index);
        if (places[p].AreSets()) {
          std::vector<Affine> subs = read.subs.ToVector();
          subs.insert(subs.begin() + static_cast<std::ptrdiff_t>(axis) + 1,
                      place.within + Affine::Const(*OffsetIn(places[p], place.places)));
          read.subs = ThinVector<Affine>(subs.begin(), subs.end());
        }
        if (std::exchange(met[p], 1) != 0) continue;
        made[p].back().loc = b.insts[at].loc;  // of the extent, should it be negative
        in_front_of[at].push_back(p);
      }
    }
    ir::ForEachOperand(b.insts[k], [&](Value v) { reread_.insert(v); });
    for (auto it = in_front_of.rbegin(); it != in_front_of.rend(); ++it) {
      for (auto p = it->second.rbegin(); p != it->second.rend(); ++p) {
        b.insts.insert(b.insts.begin() + static_cast<std::ptrdiff_t>(it->first),
                       std::make_move_iterator(made[*p].begin()),
                       std::make_move_iterator(made[*p].end()));
      }
    }
    std::vector<Inst> checks;
    const Value rows = b.insts[k].each->results[0].shape[axis];
    if (outer_.MayBeNegative(rows)) CheckSize(rows, b.insts[k].loc, f_, checks);
    const auto at = b.insts.erase(b.insts.begin() + static_cast<std::ptrdiff_t>(k));
    b.insts.insert(at, std::make_move_iterator(checks.begin()),
                   std::make_move_iterator(checks.end()));
  }

  // The statement, behind the length of sets.
  std::vector<Inst> RowsAt(const Inst& maker, size_t axis, const Places& places, bool may_lack) {
    Inst inst = CopyStatement(maker, f_).inst;
    inst.results = {f_.NewLike(f_, maker.results[0])};
    std::vector<Inst> made;
    Each& each = *inst.each;
    EachResult& r = each.results[0];
    const size_t at = *PlaceOfIndex(each, r.out[axis].AsValue());
    const Value number = each.indices[at].var, rows = r.shape[axis], row = f_.NewLike(f_, number);
    each.indices[at] = {row, places.rows};
    r.out[axis] = Affine::Of(row);
    r.shape[axis] = places.rows;
    Affine place = Affine::Of(row) * places.step + places.from;
    if (places.AreSets()) {
      made.push_back(ConstantOf(places.length));
      const Value within = f_.NewLike(f_, number), inner = made[0].results[0];
      const auto behind = static_cast<std::ptrdiff_t>(axis) + 1;
      each.indices.insert(each.indices.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                          {within, inner});
      r.out.insert(r.out.begin() + behind, Affine::Of(within));
      r.shape.insert(r.shape.begin() + behind, inner);
      if (ir::IsScan(r.monoid)) ++r.outer;
      const ir::Type type = f_.TypeOf(inst.results[0]);
      inst.results = {
          f_.NewValue(ir::Type::Array(type.elem, type.rank + 1), f_.names[maker.results[0].id])};
      place = place + Affine::Of(within);
    }
    SubstituteIndex(each, f_, number, place);
    if (may_lack) AddRange(each, place, rows);
    if (places.AreSets()) {
      const auto length = [](Value) { return std::optional<int64_t>(); };
      const auto number = [&](int64_t count) {
        return made.emplace_back(ConstantOf(count)).results[0];
      };
      NarrowToFew(inst, length, number, f_, Few::kNextToOthers);
    }
    made.push_back(std::move(inst));
    return made;
  }

  Inst ConstantOf(int64_t number) {
    Inst inst;
    inst.op = Op::Const;
    inst.bits = static_cast<uint64_t>(number);
    inst.results = {f_.NewValue(ir::Type::I64(), "")};
    lengths_[inst.results[0]] = number;
    return inst;
  }

  ir::Function& f_;
  const analysis::OuterValues outer_;
  const ir::OwnArrays own_;
  const ArrayReads reads_;
  const std::vector<std::pair<Value, Value>> equal_;  // that the entry checks
  std::map<Value, int64_t> lengths_;                  // that are numbers
  std::map<Value, const Each*> makers_;               // of one result
  std::map<const Each*, Value> made_by_;              // the same
  std::set<Value> large_;                             // of these
  std::set<Value> reread_;                            // by other statements than reads_ says
};

}  // namespace

bool MakeRowsAsRead(ir::Function& f) {
  bool changed = false;
  for (int round = 0; round < kMostRounds && Maker(f).Run(); ++round) changed = true;
  return changed;
}

}  // namespace pullback::tensor
