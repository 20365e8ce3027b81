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

// Whether this is the point that `arg` names.
Value IsArgPoint(ir::Builder& b, BodyCopy& body, const Surroundings& around, const Each& each,
                 const EachResult& r, Value arg) {
  Value offset;
  for (size_t k = r.out.size(); k < each.indices.size(); ++k) {
    const Value at = body.Get(each.indices[k].var);
    if (!offset.valid()) {
      offset = at;
      continue;
    }
    const Value row = b.Make(Op::Mul, {offset, around.primal(each.indices[k].extent)});
    offset = b.Make(Op::Add, {row, at});
  }
  if (!offset.valid()) offset = b.I64(0);
  return b.Make(Op::Eq, {offset, r.out.empty() ? arg : b.Index(arg, body.Get(r.out))});
}

}  // namespace

Value ShareOfTerm(ir::Builder& b, BodyCopy& body, const Surroundings& around, const Each& each,
                  const EachResult& r, const TermPartial& partial, Value v) {
  if (r.monoid == ir::Monoid::kProd) {
    const Value before = AtPoint(b, body, each, partial.products.before);
    const Value after = AtPoint(b, body, each, partial.products.after);
    return b.Make(Op::SMul, {v, b.Make(Op::Mul, {before, after})});
  }
  const Value hit = IsArgPoint(b, body, around, each, r, partial.arg);
  return b.Make(Op::Select, {hit, v, b.Zero(b.TypeOf(v))});
}

TermPartial MakeTermPartial(ir::Builder& b, const Surroundings& around, const Each& each,
                            const EachResult& r) {
  TermPartial partial;
  const bool extremum = r.monoid == ir::Monoid::kMax || r.monoid == ir::Monoid::kMin;
  PB_CHECK(ir::IsPrefixForm(each, r) || !(extremum || r.monoid == ir::Monoid::kProd));
  if (r.monoid == ir::Monoid::kProd) partial.products = MakeProducts(b, around, each, r);
  if (extremum) partial.arg = MakeArg(b, around, each, r);
  return partial;
}

}  // namespace pullback::ad
