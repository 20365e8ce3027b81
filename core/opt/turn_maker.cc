#include "core/opt/turn_maker.h"

#include <algorithm>
#include <limits>
#include <numeric>
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
  std::vector<size_t> by_depth(order.size());
  std::iota(by_depth.begin(), by_depth.end(), size_t{0});
  std::sort(by_depth.begin(), by_depth.end(), [&](size_t a, size_t b) {
    return order[a]->loop->blocks.size() > order[b]->loop->blocks.size();
  });
  for (size_t k : by_depth) {
    Affine at = Affine::Of(indices[k]);
    if (from_end.contains(order[k])) at = Affine::Of(extents[k]) - at - Affine::Const(1);
    const std::optional<Affine> first = s.Get(sizes_.RangeOf(order[k])->first);
    if (!first) return false;
    s.Bind(order[k], at, *first, extents[k]);
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
    if (by_elements && sizes_.Extents(r.shape) == extents)
      cheap[k] = CheapArray{inst.each.get(), r.value, *extents};
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
  std::optional<Affines> out = s.Indices(made.around);
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

std::optional<CheapArray> TurnMaker::FindMaker(const Inst& inst) {
  constexpr size_t kMostCheap = 32;
  if (!inst.each || inst.results.size() != 1 || !inst.each->where.empty()) return std::nullopt;
  const ir::Each& each = *inst.each;
  const ir::EachResult& r = each.results[0];
  bool by_elements = r.monoid == ir::Monoid::kGen && !r.guard.valid() &&
                     r.out.size() == each.indices.size() && ir::IsPrefixForm(each, r);
  for (size_t axis = 0; by_elements && axis < r.shape.size(); ++axis)
    by_elements = each.indices[axis].extent == r.shape[axis];
  const bool is_dear = std::any_of(each.body.begin(), each.body.end(),
                                   [](const Inst& body) { return ir::IsDear(body); });
  if (!by_elements || is_dear || each.body.size() > kMostCheap) return std::nullopt;
  return CheapArray{&each, r.value, r.shape};
}

// --- what turns store

namespace {

NestPath AroundFilling(const Filling& filling, const TurnStore& store) {
  const auto begin = store.place.around.begin();
  return {begin, begin + static_cast<std::ptrdiff_t>(filling.level)};
}

ir::Monoid MonoidOf(Join join) {
  switch (join) {
    case Join::kReplace: return ir::Monoid::kGen;
    case Join::kAdd: return ir::Monoid::kSum;
    case Join::kMax: return ir::Monoid::kMax;
    case Join::kMin: return ir::Monoid::kMin;
  }
  return ir::Monoid::kGen;
}

// What the term of a point is.
Value GetTerm(const StoredValue& stored, TurnStatement& s) {
  const Value value = s.Get(stored.value);
  if (!value.valid()) return {};
  ir::Builder& b = s.builder();
  if (stored.negated) return b.Make(Op::Neg, {value});
  if (!stored.strict || !b.TypeOf(value).IsFloat()) return value;
  const double none = std::numeric_limits<double>::infinity();
  const Value last = b.Float(b.TypeOf(value).elem, stored.join == Join::kMax ? -none : none);
  return b.Make(Op::Select, {b.Make(Op::Ne, {value, value}), last, value});
}

Value Joined(const StoredValue& stored, Value old, Value term, ir::Builder& b) {
  switch (stored.join) {
    case Join::kReplace: return term;
    case Join::kAdd: return b.Make(Op::Add, {old, term});
    case Join::kMax:
    case Join::kMin: {
      const bool max = stored.join == Join::kMax;
      if (!stored.strict) return b.Make(max ? Op::Max : Op::Min, {old, term});
      return b.Make(Op::Select, {b.Make(max ? Op::Gt : Op::Lt, {term, old}), term, old});
    }
  }
  return term;
}

}  // namespace

std::optional<TurnArray> TurnMaker::MakeStored(const Filling& filling, const TurnStore& store) {
  const NestPath& around = store.place.around;
  const Access& access = filling.stores.back();
  const std::set<const CountedNest*> named = LoopsNamed(filling, access, values_);
  const Join join = store.stored.join;
  const bool adds_alone = filling.is_zero && join != Join::kMax && join != Join::kMin;
  if (!CheckPlaces(filling, store, adds_alone)) return std::nullopt;
  if (named.size() + filling.level == around.size() && !access.at.empty()) {
    const auto places = PlacesOf(filling, access);
    bool moved = false;
    for (size_t axis = 0; axis < access.at.size(); ++axis)
      moved |= access.at[axis] != values_.FormOf(store.inst->subs[axis]);
    moved = places && (moved || std::any_of(places->begin(), places->end(), [](const auto& p) {
                         return p.at.constant > 0 || p.nest == nullptr;
                       }));
    const bool by_terms = !places && join == Join::kAdd;  // at places that data say
    if (!adds_alone && !places && join == Join::kReplace) return PutBeside(filling, store);
    if ((!adds_alone && !by_terms) || (moved && filling.now.array.valid()))
      return Replace(filling, store);
    if (adds_alone) return MakeAlone(filling, store, ir::Monoid::kGen, around);
  }
  if (join == Join::kReplace) return std::nullopt;
  // As the turns come; of extrema an element's indices in front, as derivatives have them.
  NestPath order = around;
  if (join != Join::kAdd) {
    const auto is_joined = [&](size_t k) {
      return k >= filling.level && !named.contains(around[k]);
    };
    order.clear();
    for (const bool joined : {false, true}) {
      for (size_t k = 0; k < around.size(); ++k) {
        if (is_joined(k) == joined) order.push_back(around[k]);
      }
    }
  }
  const std::optional<TurnArray> terms = MakeAlone(filling, store, MonoidOf(join), order);
  const bool alone = filling.is_zero && join == Join::kAdd;
  return !terms || alone ? terms : MakeJoined(filling, store, *terms);
}

// What turns store where nothing has been stored so far.
std::optional<TurnArray> TurnMaker::PutBeside(const Filling& filling, const TurnStore& store) {
  const Access& access = filling.stores.back();
  const bool beside = filling.was_zero &&
                      std::all_of(filling.stores.begin(), filling.stores.end() - 1,
                                  [&](const Access& other) { return AreDisjoint(other, access); });
  if (!beside) return std::nullopt;
  const auto terms = MakeAlone(filling, store, ir::Monoid::kGen, store.place.around);
  TurnStore added = store;
  added.stored.join = Join::kAdd;
  return terms ? MakeJoined(filling, added, *terms) : std::nullopt;
}

// What was, element by element, and the terms.
std::optional<TurnArray> TurnMaker::MakeJoined(const Filling& filling, const TurnStore& store,
                                               const TurnArray& terms) {
  TurnStatement s = Statement();
  const auto was = [&](const Affines& at) {
    if (filling.is_zero) return s.builder().Zero(f_.TypeOf(store.stored.value));
    return filling.start.valid() ? s.Get(filling.start) : s.ReadOrMake(filling.now, at);
  };
  TurnArray made = terms;
  if (terms.around.empty() && terms.shape.empty()) {
    made.array = Joined(store.stored, was({}), terms.array, s.builder());
    return made;
  }
  s.builder().SetLoc(store.inst->loc);
  std::vector<Value> own;
  if (!BeginTurns(s, made.around, made.shape, &own)) return std::nullopt;
  Affines at;
  for (Value v : own) at.push_back(Affine::Of(v));
  const Value old = was(at);
  std::optional<Affines> out = s.Indices(made.around);
  if (!old.valid() || !out) return std::nullopt;
  ir::EachResult r;
  r.value = Joined(store.stored, old, s.Read(terms, at), s.builder());
  out->insert(out->end(), at.begin(), at.end());
  r.out = *std::move(out);
  SetShape(made, r);
  made.array = s.builder().EndEach({std::move(r)})[0];
  return made;
}

std::optional<TurnArray> TurnMaker::MakeRunning(const Filling& filling, const TurnStore& store) {
  const NestPath& around = store.place.around;
  if (around.size() != filling.level + 1 || around.size() > most_rank_) return std::nullopt;
  TurnArray made{{}, around, {}};
  TurnStatement s = Statement();
  if (!BeginTurns(s, around)) return std::nullopt;
  ir::EachResult r;
  r.monoid = ir::Monoid::kScanSum;
  r.outer = static_cast<uint32_t>(filling.level);
  r.value = GetTerm(store.stored, s);
  const std::optional<Affines> out = s.Indices(around);
  if (!r.value.valid() || !out) return std::nullopt;
  r.out = *out;
  SetShape(made, r);
  made.array = s.builder().EndEach({std::move(r)})[0];
  return filling.is_zero ? made : MakeJoined(filling, store, made);
}

// The loops that go from the last place to the first: their points go from the first on.
std::set<const CountedNest*> TurnMaker::FromEnd(const Filling& filling, const Access& store) const {
  std::set<const CountedNest*> backwards;
  for (size_t axis = 0; axis < store.at.size(); ++axis) {
    for (size_t k = filling.level; k < store.around.size(); ++k) {
      const TurnRange* range = sizes_.RangeOf(store.around[k]);
      if (range == nullptr || range->extent != filling.now.shape[axis]) continue;
      if (range->first != Affine::Const(0)) continue;
      const Affine last = range->end - Affine::Const(1);
      if (store.at[axis] == last - Affine::Of(store.around[k]->counter))
        backwards.insert(store.around[k]);
    }
  }
  return backwards;
}

namespace {

// Whether some read goes across rows as the index runs.
bool GoesAcrossRows(const ir::Each& each, Value index) {
  return std::any_of(each.body.begin(), each.body.end(), [&](const Inst& inst) {
    if (inst.op != Op::Index) return false;
    const auto last = inst.subs.end() - 1;
    return std::any_of(inst.subs.begin(), last,
                       [&](const Affine& sub) { return sub.Coeff(index) != 0; });
  });
}

bool IsProductOfReads(const ir::Each& each) {
  return std::all_of(each.body.begin(), each.body.end(),
                     [](const Inst& inst) { return inst.op == Op::Index || inst.op == Op::Mul; });
}

// A sum whose terms go across rows one after the other adds to all elements of a row at once; contractions find their order themselves.
void PutRowsLast(ir::Each& each) {
  const ir::EachResult& r = each.results[0];
  const auto names = [&](const ir::IndexVar& i) {
    return std::any_of(r.out.begin(), r.out.end(),
                       [&](const Affine& sub) { return sub.AsValue() == i.var; });
  };
  const Value last = each.indices.back().var;
  if (names(each.indices.back()) || !GoesAcrossRows(each, last) || IsProductOfReads(each)) return;
  for (size_t k = each.indices.size() - 1; k-- > 0;) {
    if (!names(each.indices[k]) || GoesAcrossRows(each, each.indices[k].var)) continue;
    std::rotate(each.indices.begin() + static_cast<std::ptrdiff_t>(k),
                each.indices.begin() + static_cast<std::ptrdiff_t>(k) + 1, each.indices.end());
    return;
  }
}

}  // namespace

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
  r.value = GetTerm(store.stored, s);
  if (monoid == ir::Monoid::kGen && store.stored.join == Join::kAdd && r.value.valid())
    r.value = s.builder().Make(Op::Add, {s.builder().Zero(f_.TypeOf(r.value)), r.value});
  const std::optional<Value> guard = s.GuardOf(store.place.condition);
  std::optional<Affines> out = s.Indices(made.around);
  const std::optional<Affines> own = s.Get(store.inst->subs);
  if (!out || !own || !guard || !r.value.valid()) return std::nullopt;
  out->insert(out->end(), own->begin(), own->end());
  const std::optional<Affines> indices = s.Indices(order);
  const bool is_prefix = std::equal(out->begin(), out->end(), indices->begin());
  if (!is_prefix && (monoid == ir::Monoid::kMax || monoid == ir::Monoid::kMin))
    return std::nullopt;  // as of derivatives
  r.guard = *guard;
  r.out = *std::move(out);
  SetShape(made, r);
  made.array = s.builder().EndEach({std::move(r)})[0];
  if (monoid == ir::Monoid::kSum) PutRowsLast(*out_.back().each);
  return made;
}

// An element's indices in terms of the counters; what is computed from then on is where a turn stores.
bool TurnMaker::BindPlaces(const std::vector<StorePlace>& places, const TurnArray& made,
                           const std::vector<Value>& own, TurnStatement& s) {
  std::vector<ir::Constraint> stored;
  for (size_t axis = 0; axis < own.size(); ++axis) {
    const CountedNest* nest = places[axis].nest;
    if (nest == nullptr) continue;
    const TurnRange& range = *sizes_.RangeOf(nest);
    const std::optional<Affine> first = s.Get(range.first);
    if (!first) return false;
    const Affine less = *first + Affine::Const(places[axis].at.constant);
    const Affine turn = Affine::Of(own[axis]) - less;
    s.Bind(nest, turn, *first, range.extent);
    if (less != Affine::Const(0)) stored.push_back({turn, false});
    if (range.extent != made.shape[axis] || less != Affine::Const(0))
      stored.push_back({Affine::Of(range.extent) - turn - Affine::Const(1), false});
  }
  const auto restrict_to = [&](const Affine& e, bool equality) {
    const std::optional<Affine> form = s.Get(e);
    if (form) stored.push_back({*form, equality});
    return form.has_value();
  };
  for (size_t axis = 0; axis < own.size(); ++axis) {
    const StorePlace& place = places[axis];
    if (place.nest == nullptr) {
      if (!restrict_to(Affine::Of(own[axis]) - place.at, true)) return false;
      continue;
    }
    for (const Affine& e : sizes_.RangeOf(place.nest)->at_least_0) {
      if (!restrict_to(e, false)) return false;
    }
  }
  if (!stored.empty()) s.SetBase(s.builder().Holds(std::move(stored)));
  return true;
}

// Where some turn stores, its place has to be one of the array's; false: it cannot be told beforehand.
bool TurnMaker::CheckPlaces(const Filling& filling, const TurnStore& store, bool alone) {
  const Access& access = filling.stores.back();
  ir::Appender out(f_, out_, store.inst->loc);
  const ir::Type type = ir::Type::Bool();
  for (size_t axis = 0; axis < access.at.size(); ++axis) {
    const std::optional<Place> place = PlaceOf(filling, access, axis);
    const Value extent = filling.now.shape[axis];
    if (!place) continue;  // what data say, or sums of counters: a statement traps for it
    if (place->nest == nullptr ? sizes_.IsPlace(place->more, extent)
                               : sizes_.IsPlace(place->nest, place->more, extent))
      continue;
    Value fits;
    for (const CountedNest* nest : store.place.around) {
      const TurnRange* range = sizes_.RangeOf(nest);
      const bool from_0 =
          range != nullptr && range->at_least_0.empty() && range->first == Affine::Const(0);
      if (!from_0 || store.place.condition != nullptr) return place->nest == nullptr && alone;
      const Value none = out.Make(Op::Le, type, {range->extent, out.Number(Affine::Const(0))});
      fits = fits.valid() ? out.Make(Op::Or, type, {fits, none}) : none;
    }
    Affine last = Affine::Const(place->more);
    Value first_outside = out.Number(last);
    if (place->nest != nullptr) {
      last = last + Affine::Of(sizes_.RangeOf(place->nest)->extent) - Affine::Const(1);
      if (place->more >= 0)
        first_outside = out.Make(Op::Max, ir::Type::I64(), {extent, first_outside});
    }
    if (place->more >= 0)
      fits = out.Make(Op::Or, type, {fits, out.Make(Op::Lt, type, {out.Number(last), extent})});
    out.Check(fits, ir::TrapKind::kIndex, {first_outside, extent});
  }
  return true;
}

// The array that was, with what turns store in place of its elements, or added to these.
std::optional<TurnArray> TurnMaker::Replace(const Filling& filling, const TurnStore& store) {
  const auto places = PlacesOf(filling, filling.stores.back());
  if (!places) return std::nullopt;
  TurnArray made{{}, AroundFilling(filling, store), filling.now.shape};
  std::vector<Value> own;
  TurnStatement s = Statement();
  s.builder().SetLoc(store.inst->loc);
  if (!BeginTurns(s, made.around, made.shape, &own) || !BindPlaces(*places, made, own, s))
    return std::nullopt;
  const std::optional<Value> guard = s.GuardOf(store.place.condition);
  const Value fresh = guard ? GetTerm(store.stored, s) : Value();
  std::optional<Affines> out = s.Indices(made.around);
  if (!fresh.valid() || !out) return std::nullopt;
  Affines at;
  for (Value v : own) at.push_back(Affine::Of(v));
  Value old;
  if (filling.is_zero)
    old = s.builder().Zero(f_.TypeOf(store.stored.value));
  else if (store.stored.join != Join::kReplace || guard->valid())
    old = s.ReadOrMake(filling.now, at);
  const bool needs_old = store.stored.join != Join::kReplace || guard->valid();
  if (needs_old && !old.valid()) return std::nullopt;
  ir::EachResult r;
  r.value = Joined(store.stored, old, fresh, s.builder());
  if (guard->valid()) r.value = s.builder().Make(Op::Select, {*guard, r.value, old});
  out->insert(out->end(), at.begin(), at.end());
  r.out = *std::move(out);
  SetShape(made, r);
  made.array = s.builder().EndEach({std::move(r)})[0];
  return made;
}

}  // namespace pullback::opt
