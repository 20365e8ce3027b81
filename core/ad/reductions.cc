#include "core/ad/reductions.h"

#include <tuple>
#include <utility>

#include "core/base/status.h"

namespace pullback::ad {

using ir::Affine;
using ir::Each;
using ir::EachResult;
using ir::Monoid;
using ir::Op;
using ir::Value;

namespace {

// A scan over the space of `each` into an array over the whole space.
template <typename Values>
Value MakeScan(ir::Builder& b, const Surroundings& around, const Each& each, const EachResult& r,
               Monoid monoid, size_t outer, bool reversed, Values&& values) {
  BodyCopy body(b, around, each, reversed ? outer : BodyCopy::kForwards);
  EachResult scan;
  scan.monoid = monoid;
  scan.outer = static_cast<uint32_t>(outer);
  for (const ir::IndexVar& i : each.indices) {
    scan.out.push_back(body.Get(Affine::Of(i.var)));
    scan.shape.push_back(around.primal(i.extent));
  }
  std::tie(scan.value, scan.second) = values(body);
  scan.guard = body.GetOrNone(r.guard);
  return b.EndEach({std::move(scan)})[0];
}

// What the indices from `outer` on are at a row-major offset in their box; of none the offset. Extents may be 0 where no
// point asks.
std::vector<Value> PlacesOf(ir::Builder& b, const Surroundings& around, const Each& each,
                            size_t outer, Value offset) {
  std::vector<Value> places{offset};
  for (size_t k = each.indices.size(); k-- > outer + 1;) {
    const Value extent = b.Make(Op::Max, {around.primal(each.indices[k].extent), b.I64(1)});
    const Value rest = places.front();
    places.front() = b.Make(Op::Rem, {rest, extent});
    places.insert(places.begin(), b.Make(Op::Div, {rest, extent}));
  }
  return places;
}

}  // namespace

Products MakeProducts(ir::Builder& b, const Surroundings& around, const Each& each,
                      const EachResult& r) {
  const auto term = [&](BodyCopy& body) { return std::pair(body.Get(r.value), ir::kNoValue); };
  const size_t outer = r.out.size();
  Products made;
  made.before = MakeScan(b, around, each, r, Monoid::kScanProd, outer, false, term);
  made.after = MakeScan(b, around, each, r, Monoid::kScanProd, outer, true, term);
  return made;
}

Value MakeArg(ir::Builder& b, const Surroundings& around, const Each& each, const EachResult& r) {
  BodyCopy body(b, around, each);
  EachResult arg;
  arg.monoid = r.monoid == Monoid::kMax ? Monoid::kArgMax : Monoid::kArgMin;
  arg.out = body.Get(r.out);
  for (Value v : r.shape) arg.shape.push_back(around.primal(v));
  arg.value = body.Get(r.value);
  arg.guard = body.GetOrNone(r.guard);
  return b.EndEach({std::move(arg)})[0];
}

// With u the cotangent of the state after a point: u * (by the state) + bar is that of the state before it.
Value MakeStateBars(ir::Builder& b, const Surroundings& around, const Each& each,
                    const EachResult& r, Value primal, Value bar) {
  const bool sum = r.monoid == Monoid::kScanSum;
  const bool extremum = r.monoid == Monoid::kScanMax || r.monoid == Monoid::kScanMin;
  const Monoid monoid = sum ? Monoid::kScanSum : Monoid::kScanLinear;
  return MakeScan(b, around, each, r, monoid, r.outer, true, [&](BodyCopy& body) {
    return body.Under(r.guard, [&] {
      const Value here = AtOut(b, body, r, bar);
      if (sum) return std::pair(here, ir::kNoValue);
      if (!extremum) return std::pair(body.Get(r.value), here);
      const ir::Type t = b.TypeOf(here);
      const Value gone = Replaces(b, body, r, primal);
      return std::pair(b.Make(Op::Select, {gone, b.Zero(t), b.One(t)}), here);
    });
  });
}

Value Replaces(ir::Builder& b, BodyCopy& body, const EachResult& r, Value primal) {
  const Value state = AtOut(b, body, r, primal);
  const Value term = body.Get(r.value);
  const Value beyond = b.Make(r.monoid == Monoid::kScanMax ? Op::Gt : Op::Lt, {term, state});
  const Value first_nan =
      b.Make(Op::And, {b.Make(Op::Ne, {term, term}), b.Make(Op::Eq, {state, state})});
  return b.Make(Op::Or, {beyond, first_nan});
}

Value AtPoint(ir::Builder& b, BodyCopy& body, const Each& each, Value array) {
  if (each.indices.empty()) return array;
  std::vector<Affine> subs;
  for (const ir::IndexVar& i : each.indices) subs.push_back(body.Get(Affine::Of(i.var)));
  return b.Index(array, std::move(subs));
}

Value AtOut(ir::Builder& b, BodyCopy& body, const EachResult& r, Value result) {
  if (!r.out.empty()) return b.Index(result, body.Get(r.out));
  // A value of the body, which a guard may be put on.
  return b.Make(Op::Mul, {result, b.One(b.TypeOf(result))});
}

namespace {

// Whether this is the point that `arg` names: each index, of a row-major offset. (An index that is equal to a number can
// be solved for. An offset that names no point is -1, which the last one never is.)
Value IsArgPoint(ir::Builder& b, BodyCopy& body, const Surroundings& around, const Each& each,
                 const EachResult& r, const TermPartial& partial) {
  const size_t outer = r.out.size(), reduced = each.indices.size() - outer;
  std::vector<Value> places = partial.places;
  if (places.empty())
    places = PlacesOf(b, around, each, outer, b.Index(partial.arg, body.Get(r.out)));
  Value hit = reduced == 0 ? b.Make(Op::Eq, {b.I64(0), places[0]}) : ir::kNoValue;
  for (size_t k = 0; k < reduced; ++k) {
    const Value here = b.Make(Op::Eq, {body.Get(each.indices[outer + k].var), places[k]});
    hit = hit.valid() ? b.Make(Op::And, {hit, here}) : here;
  }
  return hit;
}

}  // namespace

Value ShareOfTerm(ir::Builder& b, BodyCopy& body, const Surroundings& around, const Each& each,
                  const EachResult& r, const TermPartial& partial, Value v) {
  if (r.monoid == ir::Monoid::kProd) {
    const Value before = AtPoint(b, body, each, partial.products.before);
    const Value after = AtPoint(b, body, each, partial.products.after);
    return b.Make(Op::SMul, {v, b.Make(Op::Mul, {before, after})});
  }
  const Value hit = IsArgPoint(b, body, around, each, r, partial);
  return b.Make(Op::Select, {hit, v, b.Zero(b.TypeOf(v))});
}

TermPartial MakeTermPartial(ir::Builder& b, const Surroundings& around, const Each& each,
                            const EachResult& r) {
  TermPartial partial;
  const bool extremum = r.monoid == ir::Monoid::kMax || r.monoid == ir::Monoid::kMin;
  PB_CHECK(ir::IsPrefixForm(each, r) || !(extremum || r.monoid == ir::Monoid::kProd));
  if (r.monoid == ir::Monoid::kProd) partial.products = MakeProducts(b, around, each, r);
  if (extremum) partial.arg = MakeArg(b, around, each, r);
  if (extremum && r.out.empty()) partial.places = PlacesOf(b, around, each, 0, partial.arg);
  return partial;
}

}  // namespace pullback::ad
