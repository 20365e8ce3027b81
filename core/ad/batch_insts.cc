#include "core/ad/batch_insts.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "core/ad/batch_lists.h"

namespace pullback::ad {

using ir::Affine;
using ir::Inst;
using ir::Op;
using ir::Value;

std::vector<Affine> SubscriptsOf(const std::vector<Value>& indices) {
  std::vector<Affine> at;
  for (Value i : indices) at.push_back(Affine::Of(i));
  return at;
}

bool InstBatcher::IsBatched(Value v) const {
  const auto it = to_.find(v);
  return it != to_.end() && it->second.batched;
}

Affine InstBatcher::Get(Affine a) const {
  ir::ForEachOperand(a, [this](Value& v) { v = Get(v); });
  ir::Canonicalise(a);
  return a;
}

ir::Type InstBatcher::TypeOf(Value v, bool batched) const {
  const ir::Type t = from_.TypeOf(v);
  if (!batched || t.IsTape()) return t;
  if (t.IsList()) return lists_->TypeOf(t);
  return ir::Type::Array(t.elem, t.rank + static_cast<int>(Count()));
}

std::vector<Affine> InstBatcher::WithPoint(std::vector<Affine> own,
                                           const std::vector<Value>& k) const {
  const std::vector<Affine> at = SubscriptsOf(k);
  own.insert(axes_ == Axes::kFront ? own.begin() : own.end(), at.begin(), at.end());
  return own;
}

bool InstBatcher::Visit(const Inst& inst) {
  bool any = false;
  ir::ForEachOperand(inst, [&](Value v) { any |= IsBatched(v); });
  if (!any) {
    Copy(inst);
    return true;
  }
  if (inst.each) return VisitEach(inst);
  if (lists_ && IsOnLists(inst.op)) return VisitListOp(b_, *this, *lists_, inst, extents_[0]);
  const auto scalar = [&](Value v) { return from_.TypeOf(v).IsScalar(); };
  switch (inst.op) {
    case Op::Dim: {
      const size_t axis = inst.bits + (axes_ == Axes::kFront ? Count() : 0);
      to_[inst.results[0]] = {b_.Dim(Get(inst.args[0]), static_cast<int>(axis)), false};
      return true;
    }
    case Op::Index: return VisitPoint(inst, inst.subs);
    case Op::AddArrays: VisitAddArrays(inst); return true;
    default: break;
  }
  const bool pointwise = ir::Info(inst.op).rule != ir::TypeRule::Own || inst.op == Op::Select ||
                         inst.op == Op::Cast || inst.op == Op::StopGradient;
  if (!pointwise || inst.results.size() != 1 || !scalar(inst.results[0])) return false;
  return std::all_of(inst.args.begin(), inst.args.end(), scalar) && VisitPoint(inst, {});
}

void InstBatcher::Copy(const Inst& inst) {
  Inst copy = inst;
  if (copy.each) FreshBody(*copy.each);
  ir::ForEachOperand(copy, [this](Value& v) { v = Get(v); });
  Define(copy, inst.results, false);
  ir::CanonicaliseAffines(copy);
  b_.Append(std::move(copy));
}

void InstBatcher::Define(Inst& copy, ir::ValueSpan results, bool batched) {
  copy.results.clear();
  for (Value v : results) {
    const Value fresh = b_.function().NewValue(TypeOf(v, batched), from_.names[v.id]);
    to_[v] = {fresh, batched};
    copy.results.push_back(fresh);
    if (batched) made_.push_back(fresh);
  }
}

void InstBatcher::FreshBody(ir::Each& each) {
  const auto fresh = [this](Value v) {
    to_[v] = {b_.function().NewValue(from_.TypeOf(v), from_.names[v.id]), false};
    return to_[v].value;
  };
  for (ir::IndexVar& i : each.indices) i.var = fresh(i.var);
  for (Inst& body : each.body) {
    for (Value& v : body.results) v = fresh(v);
  }
}

// --- points

std::vector<Value> InstBatcher::BeginPoints() {
  return b_.BeginEach(extents_, std::vector<std::string>(Count(), "k"));
}

Value InstBatcher::EndPoints(const std::vector<Value>& k, Value value) {
  ir::EachResult r;
  r.out = SubscriptsOf(k);
  r.shape = extents_;
  r.value = value;
  made_.push_back(b_.EndEach({std::move(r)})[0]);
  return made_.back();
}

// A scalar instruction of the block, or a read of an element: a statement over the new axes.
bool InstBatcher::VisitPoint(const Inst& inst, ir::AffineSpan subs) {
  bool at_batched = false;
  for (const Affine& a : subs) ir::ForEachOperand(a, [&](Value v) { at_batched |= IsBatched(v); });
  if (at_batched) return false;
  const std::vector<Value> k = BeginPoints();
  Inst copy = inst;
  for (Value& v : copy.args) v = inst.op == Op::Index ? Get(v) : Here(v, k);
  copy.subs.clear();
  if (inst.op == Op::Index) {
    std::vector<Affine> own;
    for (const Affine& a : subs) own.push_back(Get(a));
    copy.subs = WithPoint(std::move(own), k);
  }
  const Value value = b_.function().NewValue(from_.TypeOf(inst.results[0]));
  copy.results = {value};
  b_.Append(std::move(copy));
  to_[inst.results[0]] = {EndPoints(k, value), true};
  return true;
}

Value InstBatcher::Here(Value v, const std::vector<Value>& k) {
  return IsBatched(v) ? b_.Index(Get(v), SubscriptsOf(k)) : Get(v);
}

Value InstBatcher::Spread(Value v) {
  const Value value = Get(v);
  if (from_.TypeOf(v).IsTape() || IsBatched(v)) return value;
  if (from_.TypeOf(v).IsList()) return lists_->Spread(b_, value, extents_[0]);
  std::vector<Value> own;
  for (int axis = 0; axis < from_.TypeOf(v).rank; ++axis) own.push_back(b_.Dim(value, axis));
  std::vector<Value> dims = own;
  dims.insert(axes_ == Axes::kFront ? dims.begin() : dims.end(), extents_.begin(), extents_.end());
  const std::vector<Value> at = b_.BeginEach(dims);
  ir::EachResult r;
  r.out = SubscriptsOf(at);
  r.shape = dims;
  r.value = value;
  if (!own.empty()) {
    const auto first = at.begin() + static_cast<long>(axes_ == Axes::kFront ? Count() : 0);
    r.value = b_.Index(value, SubscriptsOf({first, first + static_cast<long>(own.size())}));
  }
  made_.push_back(b_.EndEach({std::move(r)})[0]);
  return made_.back();
}

void InstBatcher::VisitAddArrays(const Inst& inst) {
  const int rank = from_.TypeOf(inst.args[0]).rank;
  const bool shifted = axes_ == Axes::kFront && IsBatched(inst.args[0]);
  std::vector<Value> dims;
  for (int axis = 0; axis < rank; ++axis)
    dims.push_back(b_.Dim(Get(inst.args[0]), axis + (shifted ? static_cast<int>(Count()) : 0)));
  dims.insert(axes_ == Axes::kFront ? dims.begin() : dims.end(), extents_.begin(), extents_.end());
  const std::vector<Affine> all = SubscriptsOf(b_.BeginEach(dims));
  const auto first = all.begin() + static_cast<long>(axes_ == Axes::kFront ? Count() : 0);
  const std::vector<Affine> own(first, first + rank);
  const auto read = [&](Value v) { return b_.Index(Get(v), IsBatched(v) ? all : own); };
  const Value a = read(inst.args[0]), b = read(inst.args[1]);
  ir::EachResult r;
  r.out = all;
  r.shape = dims;
  r.value = b_.Make(Op::Add, {a, b});
  made_.push_back(b_.EndEach({std::move(r)})[0]);
  to_[inst.results[0]] = {made_.back(), true};
}

// --- statements

// Body values that differ from point to point.
std::map<Value, bool> InstBatcher::BatchedBody(const ir::Each& each) const {
  std::map<Value, bool> batched;
  for (const Inst& inst : each.body) {
    bool any = false;
    ir::ForEachOperand(inst, [&](Value v) { any |= IsBatched(v) || batched[v]; });
    for (Value v : inst.results) batched[v] = any;
  }
  return batched;
}

namespace {

Inst WithResults(const Inst& inst, const std::vector<size_t>& which) {
  Inst copy = inst;
  copy.results.clear();
  copy.each->results.clear();
  for (size_t k : which) {
    copy.results.push_back(inst.results[k]);
    copy.each->results.push_back(inst.each->results[k]);
  }
  return copy;
}

}  // namespace

bool InstBatcher::VisitEach(const Inst& inst) {
  const ir::Each& each = *inst.each;
  bool fixed_space = true;
  const auto fixed = [&](Value v) { fixed_space &= !IsBatched(v); };
  for (const ir::IndexVar& i : each.indices) fixed(i.extent);
  for (const ir::Constraint& c : each.where) ir::ForEachOperand(c.e, fixed);
  std::map<Value, bool> body = BatchedBody(each);
  std::vector<size_t> here, elsewhere;  // results with and without the new axes
  for (size_t k = 0; k < each.results.size(); ++k) {
    const ir::EachResult& r = each.results[k];
    for (Value v : r.shape) fixed(v);
    bool any = false;
    const auto look = [&](Value v) { any |= v.valid() && (IsBatched(v) || body[v]); };
    for (const Affine& a : r.out) ir::ForEachOperand(a, look);
    for (Value v : {r.value, r.guard, r.second, r.into}) look(v);
    fixed_space &= !r.into.valid();
    (any ? here : elsewhere).push_back(k);
  }
  if (!fixed_space) return false;
  if (!elsewhere.empty()) {
    Inst rest = WithResults(inst, elsewhere);
    std::erase_if(rest.each->body, [&](const Inst& i) { return body[i.results[0]]; });
    Copy(rest);
  }
  // One statement for each in front, where their patterns differ; at the back those that may share one do.
  std::vector<size_t> shared;
  for (size_t k : here) {
    const size_t place = PlaceOfAxes(each, each.results[k]);
    if (axes_ == Axes::kBack && place == each.indices.size()) {
      shared.push_back(k);
    } else {
      CopyBatched(WithResults(inst, {k}));
    }
  }
  if (!shared.empty()) CopyBatched(WithResults(inst, shared));
  return true;
}

void InstBatcher::CopyBatched(const Inst& inst) {
  Inst copy = inst;
  ir::Each& each = *copy.each;
  FreshBody(each);
  std::vector<Value> k;
  for (size_t axis = 0; axis < Count(); ++axis)
    k.push_back(b_.function().NewValue(ir::Type::I64(), "k"));
  const std::vector<Affine> at = SubscriptsOf(k);
  std::vector<bool> batched;
  for (const Inst& body : each.body)
    batched.push_back((body.op == Op::Index || body.op == Op::Dim) && IsBatched(body.args[0]));
  std::vector<Inst> reads;  // of scalars from outside
  std::map<Value, Value> read;
  ir::ForEachOperand(copy, [&](Value& v) {
    if (!IsBatched(v) || from_.TypeOf(v).IsArray()) {
      v = Get(v);
    } else {
      const auto [it, fresh] = read.try_emplace(v);
      if (fresh) it->second = ReadAt(v, at, reads);
      v = it->second;
    }
  });
  AddAxes(each, k, batched);
  each.body.insert(each.body.begin(), std::make_move_iterator(reads.begin()),
                   std::make_move_iterator(reads.end()));
  Define(copy, inst.results, true);
  ir::CanonicaliseAffines(copy);
  b_.Append(std::move(copy));
}

// Before which of the statement's indices the axes come. At the back inside of its own indices, but for what
// has to be reduced from the innermost on; a sum goes along rows instead, in the order of its points.
size_t InstBatcher::PlaceOfAxes(const ir::Each& each, const ir::EachResult& r) const {
  if (axes_ == Axes::kFront) return 0;
  if (ir::IsScan(r.monoid)) return r.outer;
  const bool prefix = r.monoid != ir::Monoid::kGen && r.monoid != ir::Monoid::kSum;
  return prefix ? r.out.size() : each.indices.size();
}

// `batched`: by body instruction, whether it looks at an array with the new axes.
void InstBatcher::AddAxes(ir::Each& each, const std::vector<Value>& k,
                          const std::vector<bool>& batched) {
  for (size_t n = 0; n < each.body.size(); ++n) {
    Inst& body = each.body[n];
    if (batched[n] && body.op == Op::Index) body.subs = WithPoint(body.subs.ToVector(), k);
    if (batched[n] && body.op == Op::Dim && axes_ == Axes::kFront) body.bits += Count();
  }
  const auto place = static_cast<long>(PlaceOfAxes(each, each.results[0]));
  for (size_t axis = k.size(); axis-- > 0;)
    each.indices.insert(each.indices.begin() + place, {k[axis], extents_[axis]});
  for (ir::EachResult& r : each.results) {
    r.out = WithPoint({r.out.begin(), r.out.end()}, k);
    r.shape.insert(axes_ == Axes::kFront ? r.shape.begin() : r.shape.end(), extents_.begin(),
                   extents_.end());
    if (ir::IsScan(r.monoid)) r.outer += static_cast<uint32_t>(Count());
  }
}

Value InstBatcher::ReadAt(Value v, ir::AffineSpan at, std::vector<Inst>& reads) {
  Inst read;
  read.op = Op::Index;
  read.args = {Get(v)};
  read.subs = at;
  read.results = {b_.function().NewValue(from_.TypeOf(v))};
  reads.push_back(std::move(read));
  return reads.back().results[0];
}

}  // namespace pullback::ad
