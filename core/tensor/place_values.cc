// What a statement stores at a place of an axis that is known outside is an array without that axis. The rest, which
// puts it there, costs nothing and becomes part of what reads the array (core/opt/fuse.h), which then runs over that place
// alone: behind an extremum, the cotangents of its candidates.
//
//   %a = each(j < %m) where (0 <= %k and %k < %n) { … } gen [%k, %j] of (%n, %m): …
//
//   %v = each(j < %m) where (0 <= %k and %k < %n) { … } gen [%j] of (%m): …
//   %a = each(j < %m) where (0 <= %k and %k < %n) { %u = index %v[%j] } gen [%k, %j] of (%n, %m): %u
//
// Where data say the place for each point of other axes, what reads the array asks for it, and the equality can be looked up
// (look_up.cc):
//
//   %a = each(i < %n) { %k = index %rows[%i] … } gen [%i, %k] of (%n, %m): %u if 0 <= %k < %m …
//   … index %a[%i, %j] …
//
//   %a = each(i < %n) { %k = index %rows[%i] … } gen [%i] of (%n): %u if 0 <= %k < %m …
//   … %k = index %rows[%i]  %at = eq %k, %j  index %a[%i] if %at …
//
// or is at the place anyway, `index %a[%i, %k]`.
//
// Where there are places of columns, a large array of places that is only added to another one is added element by element, so
// that its elements are asked for.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/ir/own_arrays.h"
#include "core/tensor/array_reads.h"
#include "core/tensor/block_values.h"
#include "core/tensor/narrow_arrays.h"
#include "core/tensor/normalise.h"
#include "core/tensor/statement_edit.h"
#include "core/tensor/sum_statements.h"

namespace pullback::tensor {
namespace {

using ir::Affine;
using ir::EachResult;
using ir::Inst;
using ir::Monoid;
using ir::Op;
using ir::Value;

bool IsOutside(const ir::Each& each, const Affine& a) {
  return std::none_of(a.terms.begin(), a.terms.end(), [&](const Affine::Term& t) {
    return PlaceOfIndex(each, t.value) || FindDef(each, t.value);
  });
}

// Whether elements that no point reaches are 0.
bool LeavesZeros(Monoid m) { return m == Monoid::kGen || m == Monoid::kSum || ir::IsScan(m); }

// Whether the statement does more than to put there what it reads.
bool IsComputed(const ir::Each& each, const EachResult& r) {
  if (r.monoid != Monoid::kGen || each.results.size() > 1 || each.body.size() > 1) return true;
  const Inst* def = FindDef(each, r.value);
  return def && def->op != Op::Const && def->op != Op::Index;
}

std::optional<size_t> AxisWithPlace(const ir::Each& each, const EachResult& r) {
  if (!LeavesZeros(r.monoid) || r.into.valid() || !IsComputed(each, r)) return std::nullopt;
  for (size_t k = 0; k < r.out.size(); ++k) {
    if (IsOutside(each, r.out[k]) && IsWithin(each, ir::kNoValue, r.out[k], r.shape[k])) return k;
  }
  return std::nullopt;
}

bool StoresAtPlace(const Inst& inst) {
  return inst.each &&
         std::any_of(inst.each->results.begin(), inst.each->results.end(),
                     [&](const EachResult& r) { return AxisWithPlace(*inst.each, r).has_value(); });
}

// Result k of `inst` loses the axis; gives what puts it in its place, under the name that it had.
Inst Split(Inst& inst, size_t k, size_t axis, ir::Function& f) {
  EachResult& r = inst.each->results[k];
  const Value array = inst.results[k];
  const ir::Type t = f.TypeOf(array);
  const Value values = f.NewValue(t.rank == 1 ? t.Element() : ir::Type::Array(t.elem, t.rank - 1),
                                  f.names[array.id]);

  Inst put;
  put.op = Op::Each;
  put.loc = inst.loc;
  put.results = {array};
  put.each = std::make_unique<ir::Each>();
  EachResult placed;
  placed.loc = r.loc;
  placed.out = r.out;
  placed.shape = r.shape;
  ir::Affines subs;
  for (size_t other = 0; other < r.out.size(); ++other) {
    if (other == axis) continue;
    const Value index = f.NewValue(ir::Type::I64());
    put.each->indices.push_back({index, r.shape[other]});
    placed.out[other] = Affine::Of(index);
    subs.push_back(placed.out[other]);
  }
  placed.value = values;
  if (!subs.empty()) {
    Inst read;
    read.op = Op::Index;
    read.args = {values};
    read.subs = ir::AffineSpan(subs);
    read.results = {f.NewValue(t.Element())};
    placed.value = read.results[0];
    put.each->body.push_back(std::move(read));
  }
  AddRange(*put.each, r.out[axis], r.shape[axis]);
  put.each->results.push_back(std::move(placed));

  Erase(r.out, axis);
  Erase(r.shape, axis);
  inst.results[k] = values;
  return put;
}

// Along `axis` it is the element of `data` at what the subscripts of `axes` are.
struct PlaceByData {
  size_t axis;
  Value data;
  std::vector<size_t> axes;
};

// Where data say the place of the result's axis.
std::optional<PlaceByData> PlaceByDataAt(const ir::Each& each, const EachResult& r, size_t axis,
                                         const BlockValues& values) {
  const Inst* def = FindDef(each, r.out[axis].AsValue());
  if (!def || def->op != Op::Index || !IsWithin(each, r.guard, r.out[axis], r.shape[axis]))
    return std::nullopt;
  // Where its guard is false it is 0, whatever the data say.
  if (def->guard.valid() && !ConditionsOf(each, r.guard).contains(def->guard)) return std::nullopt;
  PlaceByData place{axis, def->args[0], {}};
  for (size_t k = 0; k < def->subs.size(); ++k) {
    const auto same = std::find(r.out.begin(), r.out.end(), def->subs[k]);
    const auto other = static_cast<size_t>(same - r.out.begin());
    if (same == r.out.end() || other == axis || !PlaceOfIndex(each, same->AsValue()) ||
        !values.HasExtent(place.data, k, r.shape[other]))
      return std::nullopt;
    place.axes.push_back(other);
  }
  return place;
}

// Of places that data say.
class DataPlaces {
 public:
  explicit DataPlaces(ir::Function& f) : f_(f), reads_(f), values_(f), narrow_(f) {}

  bool Run() {
    for (ir::Block& b : f_.blocks) {
      for (Inst& inst : b.insts) {
        for (size_t k = 0; inst.each && k < inst.results.size(); ++k) Visit(inst, k);
      }
    }
    if (places_.empty()) return false;
    for (ir::Block& b : f_.blocks) {
      for (Inst& inst : b.insts) {
        if (inst.each) AskAtReads(*inst.each);
      }
    }
    return narrow_.Finish();
  }

 private:
  void Visit(Inst& inst, size_t k) {
    const Value array = inst.results[k];
    EachResult& r = inst.each->results[k];
    if (!LeavesZeros(r.monoid) || r.into.valid() || !reads_.OnlyByStatements(array)) return;
    for (size_t axis = 0; axis < r.out.size(); ++axis) {
      std::optional<PlaceByData> place = PlaceByDataAt(*inst.each, r, axis, values_);
      if (!place || !AllMayAsk(array, *place, r.shape[axis])) continue;
      Erase(r.out, axis);
      Erase(r.shape, axis);
      narrow_.Narrow(array, axis);
      places_[array.id] = *std::move(place);
      return;
    }
  }

  // Each read has an index there that runs over all of the axis, or is at the place.
  bool AllMayAsk(Value array, const PlaceByData& place, Value extent) const {
    const auto& reads = reads_.Of(array);
    return std::all_of(reads.begin(), reads.end(), [&](const ArrayReads::Read& read) {
      const Affine& sub = read.inst->subs[place.axis];
      const auto index = PlaceOfIndex(*read.statement, sub.AsValue());
      if (index) return read.statement->indices[*index].extent == extent;
      return IsAtPlace(*read.statement, *read.inst, place) &&
             IsWithin(*read.statement, read.inst->guard, sub, extent);
    });
  }
  static bool IsAtPlace(const ir::Each& each, const Inst& read, const PlaceByData& place) {
    const Inst* def = FindDef(each, read.subs[place.axis].AsValue());
    if (!def || def->op != Op::Index || def->args[0] != place.data) return false;
    for (size_t k = 0; k < place.axes.size(); ++k) {
      if (def->subs[k] != read.subs[place.axes[k]]) return false;
    }
    return true;
  }

  void AskAtReads(ir::Each& each) {
    std::set<size_t> asked;
    for (size_t k = 0; k < each.body.size(); ++k) {
      const Inst& inst = each.body[k];
      const auto found = inst.op == Op::Index ? places_.find(inst.args[0].id) : places_.end();
      if (found != places_.end() && !IsAtPlace(each, inst, found->second)) asked.insert(k);
    }
    std::vector<Inst> body;
    for (size_t k = 0; k < each.body.size(); ++k) {
      Inst& inst = each.body[k];
      if (asked.contains(k)) inst.guard = AskFor(places_.at(inst.args[0].id), inst, body);
      body.push_back(std::move(inst));
    }
    each.body = std::move(body);
  }
  Value AskFor(const PlaceByData& place, const Inst& read, std::vector<Inst>& body) {
    Inst row, at;
    row.op = Op::Index;
    row.args = {place.data};
    ir::Affines subs;
    for (size_t axis : place.axes) subs.push_back(read.subs[axis]);
    row.subs = ir::AffineSpan(subs);
    row.guard = at.guard = read.guard;
    row.loc = read.loc;
    row.results = {f_.NewValue(ir::Type::I64(), "row")};
    at.op = Op::Eq;
    at.args = {row.results[0], read.subs[place.axis].AsValue()};
    at.results = {f_.NewValue(ir::Type::Bool())};
    const Value there = at.results[0];
    body.push_back(std::move(row));
    body.push_back(std::move(at));
    return there;
  }

  ir::Function& f_;
  const ArrayReads reads_;
  const BlockValues values_;
  NarrowArrays narrow_;
  std::unordered_map<uint32_t, PlaceByData> places_;  // by array
};

// Sums of two arrays one of which is large and holds what data place, and which nothing else needs, become statements; where some
// such place is one of a column: those of rows alone come with the rows.
class SumsOfPlaces {
 public:
  explicit SumsOfPlaces(ir::Function& f) : f_(f), own_(f), values_(f) {}

  bool Run() {
    FindPlaces();
    if (!any_down_columns_) return false;
    bool changed = false;
    for (ir::Block& b : f_.blocks) {
      SumStatements sums(f_, b.insts, [](const ir::Values&) { return true; });
      sums.PutBack(b.insts, [&](const Inst& sum) {
        const auto is_place = [&](const Inst& read) {
          return read.op == Op::Index && places_.contains(read.args[0]) && uses_[read.args[0]] == 1;
        };
        const bool stays = std::any_of(sum.each->body.begin(), sum.each->body.end(), is_place);
        changed |= stays;
        return stays;
      });
    }
    return changed;
  }

 private:
  void FindPlaces() {
    const auto use = [&](Value v) { ++uses_[v]; };
    for (const ir::Block& b : f_.blocks) {
      for (const Inst& inst : b.insts) {
        ir::ForEachOperand(inst, use);
        for (size_t k = 0; inst.each && k < inst.results.size(); ++k) {
          const EachResult& r = inst.each->results[k];
          const std::optional<size_t> axis = PlacedAxis(*inst.each, r);
          if (!axis || own_.IsNoLarger(r.shape)) continue;
          places_.insert(inst.results[k]);
          any_down_columns_ |= *axis + 1 < r.shape.size();
        }
      }
      ir::ForEachTermOperand(b.term, use);
    }
  }

  std::optional<size_t> PlacedAxis(const ir::Each& each, const EachResult& r) const {
    for (size_t axis = 0; r.monoid == Monoid::kGen && axis < r.out.size(); ++axis) {
      if (PlaceByDataAt(each, r, axis, values_)) return axis;
    }
    return std::nullopt;
  }

  ir::Function& f_;
  const ir::OwnArrays own_;
  const BlockValues values_;
  bool any_down_columns_ = false;
  std::set<Value> places_;
  std::map<Value, int> uses_;
};

}  // namespace

bool PlaceValues(ir::Function& f) {
  bool changed = SumsOfPlaces(f).Run();
  std::optional<std::set<Value>> whole;
  for (ir::Block& b : f.blocks) {
    if (std::none_of(b.insts.begin(), b.insts.end(), StoresAtPlace)) continue;
    if (!whole) whole = ArraysNeededWhole(f);
    std::vector<Inst> out;
    for (Inst& inst : b.insts) {
      std::vector<Inst> put;
      for (size_t k = 0; inst.each && k < inst.results.size(); ++k) {
        const std::optional<size_t> axis = AxisWithPlace(*inst.each, inst.each->results[k]);
        if (axis && !whole->contains(inst.results[k])) put.push_back(Split(inst, k, *axis, f));
      }
      changed |= !put.empty();
      out.push_back(std::move(inst));
      std::move(put.begin(), put.end(), std::back_inserter(out));
    }
    b.insts = std::move(out);
  }
  return DataPlaces(f).Run() || changed;
}

}  // namespace pullback::tensor
