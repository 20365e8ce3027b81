#include "core/opt/turn_maker.h"

#include <algorithm>
#include <utility>

#include "core/ir/append.h"
#include "core/ir/op_weight.h"

namespace pullback::opt {

using ir::Affine;
using ir::Affines;
using ir::Inst;
using ir::Op;
using ir::Value;

// Points of these loops' turns, in this order, and of a statement's own; false: some loop has no range.
bool TurnMaker::BeginTurns(TurnStatement& s, const NestPath& order, ir::ValueSpan own,
                           std::vector<Value>* own_indices,
                           const std::set<const CountedNest*>& from_end) {
  ir::Values extents;
  for (const CountedNest* nest : order) {
    const TurnRange* range = sizes_.RangeOf(nest);
    if (range == nullptr) return false;
    extents.push_back(range->extent);
  }
  extents.insert(extents.end(), own.begin(), own.end());
  const std::vector<Value> indices = s.Begin(extents);
  for (size_t k = 0; k < order.size(); ++k) {
    Affine at = Affine::Of(indices[k]);
    if (from_end.contains(order[k])) at = Affine::Of(extents[k]) - at - Affine::Const(1);
    s.Bind(order[k]->counter, std::move(at), extents[k]);
  }
  for (const CountedNest* nest : order) {
    for (const Affine& e : sizes_.RangeOf(nest)->at_least_0) {
      if (!s.Where(e)) return false;
    }
  }
  if (own_indices != nullptr)
    own_indices->assign(indices.begin() + static_cast<std::ptrdiff_t>(order.size()), indices.end());
  return true;
}

void TurnMaker::SetShape(const TurnArray& made, ir::EachResult& r) const {
  r.shape = sizes_.ExtentsOf(made.around);
  r.shape.insert(r.shape.end(), made.shape.begin(), made.shape.end());
}

// --- what a turn makes for itself

std::optional<TurnArray> TurnMaker::MakeZeros(const Inst& zeros, const TurnPlace& place) {
  std::optional<ir::Values> shape = sizes_.Extents(zeros.args);
  if (!shape || shape->size() + place.around.size() > most_rank_) return std::nullopt;
  return TurnArray{{}, place.around, *std::move(shape)};
}

std::vector<std::optional<CheapArray>> TurnMaker::FindCheap(const Inst& inst) {
  const ir::Each& each = *inst.each;
  std::vector<std::optional<CheapArray>> cheap(each.results.size());
  ir::Values space;
  for (const ir::IndexVar& i : each.indices) space.push_back(i.extent);
  const std::optional<ir::Values> extents = sizes_.Extents(space);
  const bool is_dear = std::any_of(each.body.begin(), each.body.end(),
                                   [](const Inst& body) { return ir::IsDear(body); });
  if (is_dear || !extents || !each.where.empty()) return cheap;
  for (size_t k = 0; k < each.results.size(); ++k) {
    const ir::EachResult& r = each.results[k];
    const bool by_elements = r.monoid == ir::Monoid::kGen && !r.guard.valid() &&
                             r.out.size() == each.indices.size() && ir::IsPrefixForm(each, r);
    if (by_elements && sizes_.Extents(r.shape) == extents) cheap[k] = {&inst, r.value, *extents};
  }
  return cheap;
}

std::optional<std::vector<TurnArray>> TurnMaker::MakeStatement(const Inst& inst,
                                                               const TurnPlace& place) {
  const ir::Each& each = *inst.each;
  std::vector<TurnArray> made;
  for (const ir::EachResult& r : each.results) {
    const std::optional<ir::Values> shape = sizes_.Extents(r.shape);
    const bool fits = r.out.size() + place.around.size() <= most_rank_ && !r.into.valid();
    if (!shape || !fits) return std::nullopt;
    made.push_back({{}, place.around, *shape});
  }
  ir::Values space;
  for (const ir::IndexVar& i : each.indices) space.push_back(i.extent);
  const std::optional<ir::Values> own = sizes_.Extents(space);
  if (!own) return std::nullopt;
  TurnStatement s = Statement();
  s.builder().SetLoc(inst.loc);
  std::vector<Value> indices;
  if (!BeginTurns(s, place.around, *own, &indices)) return std::nullopt;
  for (size_t k = 0; k < indices.size(); ++k)
    s.Bind(each.indices[k].var, Affine::Of(indices[k]), (*own)[k]);
  for (const ir::Constraint& c : each.where) {
    if (!s.Where(c.e, c.equality)) return std::nullopt;
  }
  for (const Inst& body : each.body) {
    if (!s.Copy(body)) return std::nullopt;
  }
  std::vector<ir::EachResult> results;
  for (size_t k = 0; k < each.results.size(); ++k) {
    std::optional<ir::EachResult> r = ResultOf(each.results[k], made[k], place, s);
    if (!r) return std::nullopt;
    results.push_back(*std::move(r));
  }
  const std::vector<Value> arrays = s.builder().EndEach(std::move(results));
  for (size_t k = 0; k < arrays.size(); ++k) made[k].array = arrays[k];
  return made;
}

std::optional<ir::EachResult> TurnMaker::ResultOf(const ir::EachResult& r, const TurnArray& made,
                                                  const TurnPlace& place, TurnStatement& s) const {
  ir::EachResult copy = r;
  for (Value* v : {&copy.value, &copy.guard, &copy.second}) {
    if (!v->valid()) continue;
    *v = s.Get(*v);
    if (!v->valid()) return std::nullopt;
  }
  const std::optional<Value> guard = s.GuardOf(place.condition);
  std::optional<Affines> out = s.Counters(made.around);
  const std::optional<Affines> own = s.Get(r.out);
  if (!out || !own || !guard) return std::nullopt;
  if (guard->valid())
    copy.guard = copy.guard.valid() ? s.builder().Make(Op::And, {*guard, copy.guard}) : *guard;
  out->insert(out->end(), own->begin(), own->end());
  copy.out = *std::move(out);
  SetShape(made, copy);
  if (ir::IsScan(r.monoid)) copy.outer += static_cast<uint32_t>(made.around.size());
  return copy;
}

// --- what turns store

std::optional<TurnArray> TurnMaker::MakeStored(const Filling& filling, const TurnStore& store) {
  const NestPath& around = store.place.around;
  const std::set<const CountedNest*> named = LoopsNamed(filling, filling.stores.back(), values_);
  const bool once = named.size() + filling.level == around.size();
  const bool adds = store.stored.adds;
  const bool to_elements = !filling.is_zero && !filling.start.valid();
  if ((!adds || to_elements) && !once) return std::nullopt;
  if (to_elements) return Replace(filling, store);
  if (!adds) return MakeAlone(filling, store, ir::Monoid::kGen, around);
  // Terms of one element in the order of the turns, one after the other: by an index behind theirs.
  NestPath order(around.begin(), around.begin() + static_cast<std::ptrdiff_t>(filling.level));
  NestPath added_up;
  for (size_t k = filling.level; k < around.size(); ++k)
    (named.contains(around[k]) ? order : added_up).push_back(around[k]);
  if (order.empty() && store.inst->subs.empty()) return std::nullopt;
  order.insert(order.end() - (order.empty() ? 0 : 1), added_up.begin(), added_up.end());
  if (filling.is_zero) return MakeAlone(filling, store, ir::Monoid::kSum, order);
  return added_up.size() == 1 ? AddToStart(filling, store, order) : std::nullopt;
}

namespace {

Value Get(const StoredValue& stored, TurnStatement& s) {
  const Value value = s.Get(stored.value);
  return value.valid() && stored.negated ? s.builder().Make(Op::Neg, {value}) : value;
}

NestPath AroundFilling(const Filling& filling, const TurnStore& store) {
  const auto begin = store.place.around.begin();
  return {begin, begin + static_cast<std::ptrdiff_t>(filling.level)};
}

}  // namespace

// The loops that go from the last place to the first: their points go from the first on.
std::set<const CountedNest*> TurnMaker::FromEnd(const Filling& filling, const Access& store) const {
  std::set<const CountedNest*> backwards;
  for (size_t axis = 0; axis < store.at.size(); ++axis) {
    for (size_t k = filling.level; k < store.around.size(); ++k) {
      const TurnRange* range = sizes_.RangeOf(store.around[k]);
      if (range == nullptr || range->extent != filling.now.shape[axis]) continue;
      const Affine last = range->end - Affine::Const(1);
      if (store.at[axis] == last - Affine::Of(store.around[k]->counter))
        backwards.insert(store.around[k]);
    }
  }
  return backwards;
}

// Where nothing has been stored.
std::optional<TurnArray> TurnMaker::MakeAlone(const Filling& filling, const TurnStore& store,
                                              ir::Monoid monoid, const NestPath& order) {
  TurnArray made{{}, AroundFilling(filling, store), filling.now.shape};
  if (filling.level > 0 && made.around.size() + made.shape.size() > most_rank_) return std::nullopt;
  TurnStatement s = Statement();
  s.builder().SetLoc(store.inst->loc);
  if (!BeginTurns(s, order, {}, nullptr, FromEnd(filling, filling.stores.back())))
    return std::nullopt;
  ir::EachResult r;
  r.monoid = monoid;
  r.loc = store.inst->loc;
  r.value = Get(store.stored, s);
  const std::optional<Value> guard = s.GuardOf(store.place.condition);
  std::optional<Affines> out = s.Counters(made.around);
  const std::optional<Affines> own = s.Get(store.inst->subs);
  if (!out || !own || !guard || !r.value.valid()) return std::nullopt;
  out->insert(out->end(), own->begin(), own->end());
  r.guard = *guard;
  r.out = *std::move(out);
  SetShape(made, r);
  made.array = s.builder().EndEach({std::move(r)})[0];
  return made;
}

// What is added to is the first term; the innermost loop's turns come one later.
std::optional<TurnArray> TurnMaker::AddToStart(const Filling& filling, const TurnStore& store,
                                               const NestPath& order) {
  const CountedNest* adds = store.place.around.back();
  TurnArray made{{}, AroundFilling(filling, store), {}};
  TurnStatement s = Statement();
  ir::Values extents;
  for (const CountedNest* nest : order) {
    const TurnRange* range = sizes_.RangeOf(nest);
    if (range == nullptr) return std::nullopt;
    const Affine extent = Affine::Of(range->extent);
    extents.push_back(nest == adds ? s.builder().AffineOf(extent + Affine::Const(1))
                                   : range->extent);
  }
  const std::vector<Value> indices = s.Begin(extents);
  std::vector<ir::Constraint> is_later;
  Value first;
  for (size_t k = 0; k < order.size(); ++k) {
    const Affine at = Affine::Of(indices[k]);
    if (order[k] != adds) {
      s.Bind(order[k]->counter, at, extents[k]);
      continue;
    }
    s.Bind(adds->counter, at - Affine::Const(1));
    is_later.push_back({at - Affine::Const(1), false});
    first = s.builder().Holds({{at, true}});
  }
  for (const CountedNest* nest : order) {
    for (const Affine& e : sizes_.RangeOf(nest)->at_least_0) {
      const std::optional<Affine> form = nest == adds ? s.Get(e) : std::nullopt;
      if (form) is_later.push_back({*form, false});
      if (!form && (nest == adds || !s.Where(e))) return std::nullopt;
    }
  }
  const std::optional<Value> begins = s.GuardOf(filling.begins.condition);
  if (!begins) return std::nullopt;
  const Value start = s.Get(filling.start);
  s.builder().SetGuard(*begins);
  s.SetBase(s.builder().Holds(std::move(is_later)));
  s.builder().SetGuard({});
  const std::optional<Value> guard = s.GuardOf(store.place.condition);
  const Value term = guard ? Get(store.stored, s) : Value();
  const std::optional<Affines> out = s.Counters(made.around);
  if (!start.valid() || !term.valid() || !out) return std::nullopt;
  ir::EachResult r;
  r.monoid = ir::Monoid::kSum;
  r.value = s.builder().Make(Op::Select, {first, start, term});
  r.guard = *begins;
  if (store.place.condition != filling.begins.condition) {
    r.guard = s.builder().Make(Op::Or, {first, *guard});
    if (begins->valid()) r.guard = s.builder().Make(Op::And, {*begins, r.guard});
  }
  r.out = *out;
  SetShape(made, r);
  made.array = s.builder().EndEach({std::move(r)})[0];
  return made;
}

// An element's indices in terms of the counters; what is computed from then on is where a turn stores.
bool TurnMaker::BindPlaces(const std::vector<StorePlace>& places, const TurnArray& made,
                           const std::vector<Value>& own, TurnStatement& s) {
  std::vector<ir::Constraint> stored;
  for (size_t axis = 0; axis < own.size(); ++axis) {
    const StorePlace& place = places[axis];
    const Affine at = Affine::Of(own[axis]) - Affine::Const(place.more);
    if (place.nest == nullptr) {
      stored.push_back({at, true});
      continue;
    }
    const Value extent = sizes_.RangeOf(place.nest)->extent;
    s.Bind(place.nest->counter, at, extent);
    if (place.more > 0) stored.push_back({at, false});
    if (extent != made.shape[axis])
      stored.push_back({Affine::Of(extent) - at - Affine::Const(1), false});
  }
  for (const StorePlace& place : places) {
    if (place.nest == nullptr) continue;
    for (const Affine& e : sizes_.RangeOf(place.nest)->at_least_0) {
      const std::optional<Affine> form = s.Get(e);
      if (!form) return false;
      stored.push_back({*form, false});
    }
  }
  if (!stored.empty()) s.SetBase(s.builder().Holds(std::move(stored)));
  return true;
}

// Where some turn stores, every named place has to be one of the array's; false: it cannot be told whether some turn does.
bool TurnMaker::CheckPlaces(const std::vector<StorePlace>& places, const Filling& filling,
                            const TurnStore& store) {
  if (std::all_of(places.begin(), places.end(), [](const auto& p) { return p.is_there; }))
    return true;
  ir::Appender out(f_, out_, store.inst->loc);
  const ir::Type type = ir::Type::Bool();
  Value no_turn;
  for (const CountedNest* nest : store.place.around) {
    const TurnRange& range = *sizes_.RangeOf(nest);
    if (!range.at_least_0.empty() || store.place.condition != nullptr) return false;
    const Value none = out.Make(Op::Le, type, {range.extent, out.Number(Affine::Const(0))});
    no_turn = no_turn.valid() ? out.Make(Op::Or, type, {no_turn, none}) : none;
  }
  for (size_t axis = 0; axis < places.size(); ++axis) {
    if (places[axis].is_there) continue;
    const Value place = out.Number(Affine::Const(places[axis].more));
    const Value extent = filling.now.shape[axis];
    const Value fits = out.Make(Op::Lt, type, {place, extent});
    out.Check(out.Make(Op::Or, type, {no_turn, fits}), ir::TrapKind::kIndex, {place, extent});
  }
  return true;
}

// The array that was, with what turns store in place of its elements, or added to these.
std::optional<TurnArray> TurnMaker::Replace(const Filling& filling, const TurnStore& store) {
  const auto places = PlacesOf(filling, filling.stores.back(), sizes_);
  if (!places || !CheckPlaces(*places, filling, store)) return std::nullopt;
  TurnArray made{{}, AroundFilling(filling, store), filling.now.shape};
  std::vector<Value> own;
  TurnStatement s = Statement();
  s.builder().SetLoc(store.inst->loc);
  if (!BeginTurns(s, made.around, made.shape, &own) || !BindPlaces(*places, made, own, s))
    return std::nullopt;
  const std::optional<Value> guard = s.GuardOf(store.place.condition);
  const Value fresh = guard ? Get(store.stored, s) : Value();
  std::optional<Affines> out = s.Counters(made.around);
  if (!fresh.valid() || !out) return std::nullopt;
  Affines at;
  for (Value v : own) at.push_back(Affine::Of(v));
  const bool adds = store.stored.adds;
  const Value old = adds || guard->valid() ? s.Read(filling.now, at) : Value();
  ir::EachResult r;
  r.value = adds ? s.builder().Make(Op::Add, {old, fresh}) : fresh;
  if (guard->valid()) r.value = s.builder().Make(Op::Select, {*guard, r.value, old});
  out->insert(out->end(), at.begin(), at.end());
  r.out = *std::move(out);
  SetShape(made, r);
  made.array = s.builder().EndEach({std::move(r)})[0];
  return made;
}

}  // namespace pullback::opt
