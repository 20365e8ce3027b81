#include "core/loops/statement.h"

#include <algorithm>
#include <set>

#include "core/loops/accesses.h"
#include "core/loops/body.h"
#include "core/loops/bounds.h"
#include "core/loops/columns.h"
#include "core/loops/contract.h"
#include "core/loops/divisions.h"
#include "core/loops/results.h"
#include "core/loops/segments.h"
#include "core/loops/space.h"

namespace pullback::loops {

using ir::Affine;
using ir::Op;
using ir::Value;
using Mode = ResultPlan::Mode;

void Alloc(Lowering& l, Value result, ir::ValueSpan shape, bool zeroed, uint32_t loc) {
  Node node;
  node.kind = Node::Kind::kAlloc;
  node.bits = zeroed ? 1 : 0;
  node.loc = loc;
  node.args = l.Of(shape);
  node.results = {result};
  l.e.Append(std::move(node));
  l.sizes.SetShape(result, shape);
}

namespace {

class Statement {
 public:
  Statement(Lowering& l, const ir::Inst& inst)
      : l_(l), e_(l.e), inst_(inst), each_(*inst.each), bounds_(l.Here()) {
    for (const ir::Inst& i : each_.body) {
      l_.sizes.Define(i);
      body_values_.insert(i.results.begin(), i.results.end());
    }
  }

  // In this order: sizes are checked, arrays made, subscripts checked, points visited.
  void Lower() {
    if (!WhereIsOutside()) return l_.Fail("a constraint on a value of the body");
    CheckSizes();
    space_ = PlanSpace(each_, bounds_);
    divisions_.Plan(bounds_, remainders_);
    PlanResults();
    if (l_.columns && SumsColumns(context_, divisions_, inst_.results[0], results_[0].plan())) {
      const size_t rank = each_.results[0].out.size();
      strips_.emplace(context_, rank);
      PutColumnInside(space_, rank);
    }
    body_.Plan();
    PlanRowGuard();
    for (ResultWriter& r : results_) r.Begin();
    if (l_.segments && space_.depth > 0 && Segments::Wanted(results_)) {
      segments_.emplace(e_, results_);
      segments_->Begin();
    }
    EmitChecksBefore();
    for (ResultWriter& r : results_) r.BeginDestination(/*late=*/body_.TrapsInNest());
    const std::optional<Node> contraction =
        l_.contractions ? PlanContraction(context_, inst_, results_[0].plan()) : std::nullopt;
    if (contraction) e_.Open();
    EmitNest();
    if (contraction) e_.CloseInto(*contraction);
    for (ResultWriter& r : results_) r.End();
    body_.LearnChecks();
    divisions_.LearnChecks();
    for (const ResultWriter& r : results_) r.LearnChecks();
  }

 private:
  bool WhereIsOutside() const;
  void CheckSizes();
  void PlanResults();
  void EmitChecksBefore();
  void EmitNest();
  void PlanRowGuard();
  void AddTerm(ResultWriter& r);
  void DefinePinned(int level);
  Reg TestsAt(int level);
  void EmitLevel(int level);
  void EmitLoop(const SpaceIndex& i);
  void Restrict(const WrappingLimit& limit, Reg& lo, Reg& hi);
  void BeginInner(bool scalars, int level);
  void EndInner(bool scalars, int level);
  bool IsInnerAt(const ResultWriter& r, bool scalars, int level) const;

  Lowering& l_;
  Emitter& e_;
  const ir::Inst& inst_;
  const ir::Each& each_;
  Bounds bounds_;
  Space space_;
  std::set<Value> body_values_;
  std::vector<Proof> remainders_;
  const AccessContext context_{l_, each_, space_, bounds_, body_values_, remainders_};
  Divisions divisions_{context_};
  Body body_{context_, divisions_};
  std::vector<ResultWriter> results_;
  std::optional<LaneStrips> strips_;
  Value row_guard_ = ir::kNoValue;  // of all terms of a row of strips_
  std::optional<Segments> segments_;
};

bool Statement::WhereIsOutside() const {
  for (const ir::Constraint& c : each_.where) {
    for (const Affine::Term& t : c.e.terms) {
      if (body_values_.count(t.value) > 0) return false;
    }
  }
  return true;
}

// Extents that are not those of arrays may be negative. Afterwards the shapes are those of arrays.
void Statement::CheckSizes() {
  for (const ir::Inst& inst : each_.body) {
    if (inst.op != Op::Index) continue;
    for (int axis = 0; axis < l_.f.TypeOf(inst.args[0]).rank; ++axis) {
      bounds_.AddExtent(l_.sizes.Extent(inst.args[0], axis));
    }
  }
  std::set<Reg> checked;
  const auto check = [&](Value size) {
    if (bounds_.Prove(Affine::Of(size)) != Bounds::kNever) return;
    if (checked.insert(l_.Of(size)).second) l_.CheckNonNegative(l_.Of(size), inst_.loc);
  };
  for (const ir::IndexVar& i : each_.indices) check(i.extent);
  for (const ir::EachResult& r : each_.results)
    std::for_each(r.shape.begin(), r.shape.end(), check);
  for (const ir::EachResult& r : each_.results) {
    for (Value size : r.shape) bounds_.AddExtent(l_.sizes.Form(size));
  }
}

void Statement::PlanResults() {
  for (size_t k = 0; k < each_.results.size(); ++k) {
    const ir::EachResult& r = each_.results[k];
    const ResultPlan plan = PlanResult(context_, r, l_.sizes.FactsOf(r.guard));
    results_.emplace_back(context_, inst_, r, inst_.results[k], plan);
  }
}

// Only where some point exists: no trap is introduced.
void Statement::EmitChecksBefore() {
  const auto out_before = [](const ResultWriter& r) {
    const auto& axes = r.plan().access.axes;
    return std::count(axes.begin(), axes.end(), AxisCheck::kBefore) > 0;
  };
  const bool any =
      body_.HasChecksBefore() || std::any_of(results_.begin(), results_.end(), out_before);
  if (!any) return;
  Reg some = ir::kNoValue;
  for (const SpaceIndex& i : space_.indices) {
    if (i.pinned) continue;
    some = e_.And(some, e_.Compare(Op::Gt, l_.Of(i.extent), e_.I64(0)));
  }
  const std::optional<int64_t> known = some.valid() ? e_.AsI64(some) : 1;
  if (known == 0) return;  // no point, whatever the other extents are
  const bool tests = !known;
  if (tests) e_.OpenIf(some);
  body_.EmitChecksBefore();
  for (ResultWriter& r : results_) r.CheckOutBefore();
  if (tests) e_.CloseIf();
}

void Statement::EmitNest() {
  if (strips_) strips_->Begin(inst_.loc);
  body_.Begin();
  BeginInner(/*scalars=*/true, 0);
  EmitLevel(0);
  EndInner(/*scalars=*/true, 0);
  if (strips_) strips_->End();
}

// One test for a row instead of one for each term.
void Statement::PlanRowGuard() {
  const Value guard = each_.results[0].guard;
  if (!strips_ || !guard.valid() || !body_.IsKnownAt(guard, strips_->level())) return;
  row_guard_ = guard;
  body_.HoldInside(guard, strips_->level());
}

void Statement::AddTerm(ResultWriter& r) {
  if (!strips_) return r.AddTerm();
  strips_->Add(r.OffsetInRest(), l_.Of(each_.results[0].value));
}

void Statement::DefinePinned(int level) {
  for (const SpaceIndex& i : space_.indices) {
    if (!i.pinned || i.level != level) continue;
    l_.SetAlias(i.var, e_.Div(e_.Linear(l_.Of(i.value)), i.divisor));
  }
}

Reg Statement::TestsAt(int level) {
  Reg all = ir::kNoValue;
  for (const SpaceTest& t : space_.tests) {
    if (t.level != level) continue;
    if (t.divisor == 0) {
      all = e_.And(all, e_.Holds({l_.Of(t.c.e), t.c.equality}));
    } else {
      const Reg rest = e_.Rem(e_.Linear(l_.Of(t.c.e)), t.divisor);
      all = e_.And(all, e_.Compare(Op::Eq, rest, e_.I64(0)));
    }
  }
  return all;
}

void Statement::EmitLevel(int level) {
  DefinePinned(level);
  const Reg tests = TestsAt(level);
  const bool tested = tests.valid() && e_.AsI64(tests).value_or(0) == 0;
  if (tested) e_.OpenIf(tests);
  BeginInner(/*scalars=*/false, level);
  body_.EmitLevel(level, [&](size_t r) { AddTerm(results_[r]); });
  const bool opens = strips_ && level == strips_->level();
  if (opens) strips_->Open();
  if (opens && row_guard_.valid()) e_.OpenIf(l_.Of(row_guard_));
  for (const SpaceIndex& i : space_.indices) {
    if (!i.pinned && i.level == level + 1) EmitLoop(i);
  }
  if (opens && row_guard_.valid()) e_.CloseIf();
  if (opens) {
    strips_->Close([&](Reg total) { results_[0].StoreTotal(total); });
  }
  EndInner(/*scalars=*/false, level);
  if (tested) e_.CloseIf();
}

// ceil and floor of a quotient by a positive divisor, as far as they matter in 0 <= i < extent.
void Statement::EmitLoop(const SpaceIndex& i) {
  Reg lo = e_.I64(0), hi = l_.Of(i.extent);
  for (const Limit& limit : i.lower) {
    const Reg above = e_.Linear(l_.Of(limit.e) + Affine::Const(limit.divisor - 1));
    lo = limit.divisor == 1 ? e_.Max(lo, above)
                            : e_.Max(lo, e_.Div(e_.Max(e_.I64(0), above), limit.divisor));
  }
  for (const Limit& limit : i.upper) {
    const Reg end = e_.Linear(l_.Of(limit.e) + Affine::Const(limit.divisor));
    hi = limit.divisor == 1 ? e_.Min(hi, end)
                            : e_.Min(hi, e_.Div(e_.Max(e_.I64(0), end), limit.divisor));
  }
  for (const WrappingLimit& limit : i.wrapping) Restrict(limit, lo, hi);
  if (strips_ && &i == &strips_->column()) {
    lo = strips_->lo();
    hi = strips_->hi();
  }
  const bool cut = segments_ && i.level == 1;
  if (cut) segments_->Open(i.var, &lo, &hi);
  e_.OpenFor(lo, hi, i.var);
  EmitLevel(i.level);
  e_.CloseFor();
  if (cut) segments_->Close();
}

// With i in [0, hi) and any r: i + r >= 0 holds from -r on up to where the sum wraps, r - i >= 0 up to
// r, or, for a negative r, from where the difference wraps.
void Statement::Restrict(const WrappingLimit& limit, Reg& lo, Reg& hi) {
  const Reg r = e_.Linear(l_.Of(limit.e)), zero = e_.I64(0), one = e_.I64(1);
  const Reg last = e_.Sub(hi, one);
  if (limit.coeff > 0) {
    lo = e_.Max(lo, e_.Sub(zero, e_.Max(r, e_.I64(-INT64_MAX))));
    hi = e_.Add(e_.Min(last, e_.Sub(e_.I64(INT64_MAX), e_.Max(r, zero))), one);
    return;
  }
  const Reg negative = e_.Compare(Op::Lt, r, zero);
  const Reg wraps = e_.Add(e_.Min(e_.Sub(r, e_.I64(INT64_MIN)), e_.I64(INT64_MAX - 1)), one);
  lo = e_.Max(lo, e_.Select(negative, wraps, zero));
  hi = e_.Select(negative, hi, e_.Add(e_.Min(last, r), one));
}

// Where the loops inside a result's level run. A scalar's stand around the whole nest, so that it is known after it.
bool Statement::IsInnerAt(const ResultWriter& r, bool scalars, int level) const {
  if (strips_ || r.plan().level != level) return false;
  if (r.plan().mode == Mode::kScan) return !scalars;
  const size_t k = static_cast<size_t>(&r - results_.data());
  return r.plan().StoresAtEnd() && each_.results[k].out.empty() == scalars;
}

void Statement::BeginInner(bool scalars, int level) {
  for (ResultWriter& r : results_) {
    if (IsInnerAt(r, scalars, level)) r.BeginInner();
  }
}

void Statement::EndInner(bool scalars, int level) {
  for (ResultWriter& r : results_) {
    if (IsInnerAt(r, scalars, level)) r.EndInner();
  }
}

}  // namespace

void LowerStatement(Lowering& l, const ir::Inst& inst) { Statement(l, inst).Lower(); }

}  // namespace pullback::loops
