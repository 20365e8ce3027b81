// Comprehensions whose body is no straight-line scalar code: a loop nest with a running result.
#include <algorithm>
#include <limits>
#include <memory>

#include "core/lang/lower_ahead.h"
#include "core/lang/lower_comprehension.h"
#include "core/lang/lower_expr.h"
#include "core/lang/lower_neighbours.h"
#include "core/lang/lower_sizes.h"
#include "core/lang/lower_stmt.h"

namespace pullback::lang {
void CountedLoop(Context& c, const Range& range, const std::string& name,
                 std::vector<Value>& carried, const std::function<void(Value i)>& body) {
  std::vector<Value> args = {c.ToValue(range.lo)};
  const Value hi = c.ToValue(range.hi);
  const uint32_t header = c.b.NewBlock();
  const uint32_t inside = c.b.NewBlock();
  const uint32_t exit = c.b.NewBlock();
  const Value i = c.b.AddParam(header, ir::Type::I64(), name);
  std::vector<Value> params;
  for (Value v : carried) {
    params.push_back(c.b.AddParam(header, c.b.TypeOf(v), c.function.names[v.id]));
    args.push_back(v);
  }
  c.b.Jump(header, args);
  c.b.SetBlock(header);
  for (size_t p = 0; p < params.size(); ++p) {
    if (c.b.TypeOf(params[p]).IsArray()) c.ReadDims(params[p]);
  }
  if (IsSmall(c, range.lo) && IsSmall(c, range.hi)) c.small.insert(i.id);
  if (IsNonNegative(c, range.lo)) c.sizes.insert(i.id);
  c.counters[i.id] = {range.lo, range.hi - Affine::Const(1)};
  c.b.Branch(c.b.Make(Op::Lt, {i, hi}), {inside, {}}, {exit, {}});
  c.b.SetBlock(inside);
  carried = params;
  body(i);
  std::vector<Value> next = {c.Integer(Op::Add, i, c.I64(1))};
  next.insert(next.end(), carried.begin(), carried.end());
  c.b.Jump(header, next);
  c.b.SetBlock(exit);
  carried = params;
}

namespace {

Value Identity(Context& c, Comprehension m, ir::Type t) {
  if (IsLogical(m)) return c.b.Bool(m == Comprehension::kAnd);
  using Float = std::numeric_limits<double>;
  using Int = std::numeric_limits<int64_t>;
  switch (m) {
    case Comprehension::kProd: return c.b.One(t);
    case Comprehension::kArgMax:
    case Comprehension::kMax:
      return t.IsFloat() ? c.b.Float(t.elem, -Float::infinity()) : c.b.I64(Int::min());
    case Comprehension::kArgMin:
    case Comprehension::kMin:
      return t.IsFloat() ? c.b.Float(t.elem, Float::infinity()) : c.b.I64(Int::max());
    default: return c.b.Zero(t);
  }
}

Value Combine(Context& c, Comprehension m, Value a, Value b) {
  switch (m) {
    case Comprehension::kProd: return c.b.Make(Op::Mul, {a, b});
    case Comprehension::kMax: return c.b.Make(Op::Max, {a, b});
    case Comprehension::kMin: return c.b.Make(Op::Min, {a, b});
    case Comprehension::kAnd: return c.b.Make(Op::And, {a, b});
    case Comprehension::kOr:
    case Comprehension::kExists: return c.b.Make(Op::Or, {a, b});
    default: return c.b.Add(a, b);
  }
}

// The loop nest of one comprehension. Each leaf of what the body gives has a result of its own.
class Sequence {
 public:
  Sequence(Context& c, const Expr& e, const Ranges& ranges) : c_(c), e_(e), ranges_(ranges) {}

  Leaves Run();

 private:
  struct Result {
    size_t at = 0;              // in `carried_`
    ir::Type type;              // of the body's leaf
    std::vector<Affine> inner;  // its extents
    // Where they are not known before the first value: whether the result has its final shape, in
    // `carried_`.
    std::optional<size_t> has_shape;
    std::vector<Affine> dims;  // of the result, where it is an array
  };

  bool IsGen() const { return e_.comprehension == Comprehension::kGen; }
  bool IsSum() const { return e_.comprehension == Comprehension::kSum; }
  bool IsArrayResult(const Result& r) const { return IsGen() || r.type.IsArray(); }
  void CheckRanges();
  void Start();
  Value Blank(const Result& r, ir::AffineSpan inner);
  std::unique_ptr<EvaluatedAhead> Ahead(size_t depth, const Range& r);
  void Nest(size_t depth);
  void Term();
  void Term(const Result& r, Value v);
  void ArgTerm(Value v);
  void Begin(const Result& r, Value v);
  void Copy(const Result& r, Value v, Subs subs, size_t axis);
  void Join(const Result& r, Value v, const Subs& subs);

  Context& c_;
  const Expr& e_;
  const Ranges& ranges_;
  std::vector<Result> results_;
  // The results; of argmax and argmin the indices and whether there is one; then `has_shape` of each.
  std::vector<Value> carried_;
  Subs at_;  // the element of a gen
};

// What an array starts as.
Value Sequence::Blank(const Result& r, ir::AffineSpan inner) {
  if (!IsGen() && !IsSum()) {
    Array array;
    array.elem = r.type.elem;
    array.dims = ir::ToVector(inner);
    array.at = [this, elem = r.type.elem](const Subs&) -> MaybeValue {
      return Identity(c_, e_.comprehension, ir::Type::Scalar(elem));
    };
    c_.SetLoc(e_.ordinal);
    return StoreArray(c_, array);
  }
  std::vector<Affine> dims;
  for (size_t i = 0; IsGen() && i < ranges_.size(); ++i) {
    dims.push_back(StoredExtent(c_, ranges_[i]->hi - ranges_[i]->lo));
  }
  dims.insert(dims.end(), inner.begin(), inner.end());
  std::vector<Value> extents;
  for (const Affine& d : dims) extents.push_back(c_.ToValue(d));
  c_.SetLoc(e_.ordinal);
  const Value v = c_.b.Zeros(r.type.elem, extents);
  c_.SetDims(v, std::move(dims));
  return v;
}

// As a statement does: a range that ends before it begins traps, unless it may (MayBeNegative). (The array of a
// gen does so for its own.)
void Sequence::CheckRanges() {
  c_.SetLoc(e_.ordinal);
  for (const auto& r : ranges_) {
    if (IsGen() || !r || r->among) continue;
    const Affine extent = r->hi - r->lo;
    if (c_.MayBeNegative(extent)) continue;
    Require(c_, {extent, false}, ir::TrapKind::kNegativeSize, extent, extent);
  }
}

void Sequence::Start() {
  CheckRanges();
  std::vector<Affine> lows;
  for (const auto& r : ranges_) lows.push_back(r ? r->lo : Affine::Const(0));
  const std::vector<ir::Type> types = c_.module.Flatten(e_.body.result->type);
  std::optional<LeafDims> inner;
  if (std::any_of(types.begin(), types.end(), [](const ir::Type& t) { return t.IsArray(); })) {
    inner = BodyLeafDims(c_, e_, lows);
  }
  std::vector<size_t> shapeless;
  for (size_t i = 0; i < types.size(); ++i) {
    Result r;
    r.at = i;
    r.type = types[i];
    if (!IsArrayResult(r)) {
      carried_.push_back(Identity(c_, e_.comprehension, r.type));
      results_.push_back(std::move(r));
      continue;
    }
    const bool known = !r.type.IsArray() || (inner && (*inner)[i]);
    if (!known) shapeless.push_back(i);
    r.inner.assign(r.type.IsArray() ? static_cast<size_t>(r.type.rank) : 0, Affine::Const(0));
    if (known && r.type.IsArray()) r.inner = *(*inner)[i];
    carried_.push_back(Blank(r, r.inner));
    r.dims = c_.DimsOf(carried_.back());
    results_.push_back(std::move(r));
  }
  if (IsArg(e_.comprehension)) {
    carried_.insert(carried_.end(), e_.binders.size(), c_.b.I64(-1));
    carried_.push_back(c_.b.Bool(false));
  }
  for (size_t i : shapeless) {
    results_[i].has_shape = carried_.size();
    carried_.push_back(c_.b.Bool(false));
  }
}

// The first value gives the result its shape.
void Sequence::Begin(const Result& r, Value v) {
  const uint32_t first = c_.b.NewBlock();
  const uint32_t later = c_.b.NewBlock();
  const std::vector<Affine> inner = c_.DimsOf(v);
  c_.b.Branch(carried_[*r.has_shape], {later, {}}, {first, {}});
  c_.b.SetBlock(first);
  std::vector<Exit> exits = {{first, {{{Blank(r, inner), nullptr}}}}};
  exits.push_back({later, {{{carried_[r.at], nullptr}}}});
  carried_[r.at] = JoinValues(c_, exits)[0].value;
  carried_[*r.has_shape] = c_.b.Bool(true);
}

// Copies an array into the result, element by element.
void Sequence::Copy(const Result& r, Value v, Subs subs, size_t axis) {
  const std::vector<Affine> dims = c_.DimsOf(v);
  if (axis == dims.size()) {
    const auto begin = subs.end() - static_cast<std::ptrdiff_t>(dims.size());
    const Value element = c_.b.Index(v, Subs(begin, subs.end()));
    carried_[r.at] = c_.b.Update(carried_[r.at], subs, element);
    return;
  }
  CountedLoop(c_, {Affine::Const(0), dims[axis]}, "", carried_, [&](Value i) {
    Subs more = subs;
    more.push_back(Affine::Of(i));
    Copy(r, v, more, axis + 1);
  });
}

// carried_: the extremum, its indices, and whether there is one. The first that attains it stays, of NaN
// the first.
void Sequence::ArgTerm(Value v) {
  const Value best = carried_[0];
  const Op beats = e_.comprehension == Comprehension::kArgMax ? Op::Gt : Op::Lt;
  Value takes = c_.b.Make(beats, {v, best});
  if (c_.b.TypeOf(v).IsFloat()) {
    const Value nan =
        c_.b.Make(Op::And, {c_.b.Make(Op::Ne, {v, v}), c_.b.Make(Op::Eq, {best, best})});
    takes = c_.b.Make(Op::Or, {takes, nan});
  }
  takes = c_.b.Make(Op::Or, {takes, c_.b.Make(Op::Not, {carried_.back()})});
  carried_[0] = c_.b.Make(Op::Select, {takes, v, best});
  for (size_t i = 0; i < e_.binders.size(); ++i) {
    const Value at = c_.at->locals[e_.binders[i].local][0].value;
    carried_[i + 1] = c_.b.Make(Op::Select, {takes, at, carried_[i + 1]});
  }
  carried_.back() = c_.b.Bool(true);
}

// Joins an array to the result, element by element.
void Sequence::Join(const Result& r, Value v, const Subs& subs) {
  const std::vector<Affine> dims = c_.DimsOf(v);
  if (subs.size() == dims.size()) {
    const Value before = c_.b.Index(carried_[r.at], subs);
    const Value joined = Combine(c_, e_.comprehension, before, c_.b.Index(v, subs));
    carried_[r.at] = c_.b.Update(carried_[r.at], subs, joined);
    return;
  }
  RequireEqual(c_, c_.DimsOf(carried_[r.at])[subs.size()], dims[subs.size()]);
  CountedLoop(c_, {Affine::Const(0), dims[subs.size()]}, "", carried_, [&](Value i) {
    Subs more = subs;
    more.push_back(Affine::Of(i));
    Join(r, v, more);
  });
}

void Sequence::Term() {
  const Leaves leaves = LowerBlockValue(c_, e_.body);
  c_.SetLoc(e_.ordinal);
  if (IsArg(e_.comprehension)) return ArgTerm(leaves[0].value);
  for (const Result& r : results_) Term(r, leaves[r.at].value);
}

void Sequence::Term(const Result& r, Value v) {
  const bool array = r.type.IsArray();
  if (r.has_shape) Begin(r, v);
  if (array && !IsGen() && !IsSum()) {
    Join(r, v, {});
    c_.SetDims(carried_[r.at], c_.DimsOf(v));
  } else if (!IsGen()) {
    carried_[r.at] = Combine(c_, e_.comprehension, carried_[r.at], v);
    if (array) c_.SetDims(carried_[r.at], c_.DimsOf(v));
  } else if (!array) {
    carried_[r.at] = c_.b.Update(carried_[r.at], at_, v);
  } else {
    const std::vector<Affine> dims = c_.DimsOf(carried_[r.at]);
    for (size_t i = 0; i < c_.DimsOf(v).size(); ++i) {
      RequireEqual(c_, r.has_shape ? dims[at_.size() + i] : r.inner[i], c_.DimsOf(v)[i]);
    }
    Copy(r, v, at_, 0);
  }
}

// In front of a loop inside the outermost one.
std::unique_ptr<EvaluatedAhead> Sequence::Ahead(size_t depth, const Range& r) {
  if (depth == 0) return nullptr;
  Ranges ranges(ranges_.begin() + static_cast<std::ptrdiff_t>(depth), ranges_.end());
  ranges[0] = r;
  return std::make_unique<EvaluatedAhead>(c_, e_, depth, ranges, Dear::kInLoops);
}

void Sequence::Nest(size_t depth) {
  if (depth == e_.binders.size()) return Term();
  const Binder& b = e_.binders[depth];
  Range r;
  if (ranges_[depth]) {
    r = *ranges_[depth];
  } else {
    r.lo = b.lo ? *LowerInt(c_, *b.lo) : Affine::Const(0);
    r.hi = *LowerInt(c_, *b.hi);
  }
  if (!r.among) r.among = NeighboursOf(c_, e_, depth, r);
  const std::unique_ptr<EvaluatedAhead> invariants = Ahead(depth, r);
  const auto turn = [&](const Affine& i) {
    c_.at->locals[b.local] = {{c_.ToValue(i), nullptr}};
    at_.push_back(i - r.lo);
    std::optional<GatherAhead> ahead;
    if (depth + 1 < e_.binders.size()) ahead.emplace(c_, e_, depth + 1, /*own=*/false);
    Nest(depth + 1);
    at_.pop_back();
  };
  if (!r.among) return CountedLoop(c_, r, b.name, carried_, [&](Value i) { turn(Affine::Of(i)); });
  const Range places{Affine::Const(0), Affine::Of(r.among->count)};
  CountedLoop(c_, places, "p", carried_, [&](Value p) {
    const Value point = c_.b.Index(r.among->points, {Affine::Of(p)});
    c_.small.insert(point.id);
    c_.sizes.insert(point.id);
    Tell(c_, *r.among, p);
    turn(Affine::Of(point) + r.lo);
    Untell(c_, *r.among);
  });
}

Leaves Sequence::Run() {
  const EvaluatedAhead invariants(c_, e_, 0, ranges_, Dear::kInLoops);
  Start();
  const bool outermost = !c_.nest;
  const GatherAhead ahead(c_, e_, 0, /*own=*/outermost);
  if (outermost) c_.nest = c_.ValueCount();
  Nest(0);
  if (outermost) c_.nest.reset();
  Leaves out;
  if (IsArg(e_.comprehension)) {
    for (size_t i = 0; i < e_.binders.size(); ++i) out.push_back({carried_[i + 1], nullptr});
    return out;
  }
  c_.SetLoc(e_.ordinal);
  for (const Result& r : results_) {
    if (!r.dims.empty() && !r.has_shape) c_.SetMade(carried_[r.at], r.dims, c_.b.loc());
    out.push_back({carried_[r.at], nullptr});
  }
  return out;
}

}  // namespace

Leaves LowerSequential(Context& c, const Expr& e, const Ranges& ranges) {
  return Sequence(c, e, ranges).Run();
}

}  // namespace pullback::lang
