#include "core/loops/results.h"
#include "core/ir/monoid.h"

#include <algorithm>
#include <set>

#include "core/loops/statement.h"

namespace pullback::loops {

using ir::Affine;
using ir::Monoid;
using ir::Op;
using ir::Type;
using ir::Value;

namespace {

// --- planning

std::vector<Affine> ShapeOf(const ir::EachResult& r) {
  std::vector<Affine> shape;
  for (Value v : r.shape) shape.push_back(Affine::Of(v));
  return shape;
}

// The loops that out[] names by their plain index variables.
std::set<Value> PlainLoops(const AccessContext& c, const ir::EachResult& r) {
  std::set<Value> loops;
  for (const Affine& a : r.out) {
    const SpaceIndex* i = c.space.Find(a.AsValue());
    if (i && !i->pinned) loops.insert(i->var);
  }
  return loops;
}

// Loops open where the first `rank` indices are known.
int PrefixLevel(const AccessContext& c, size_t rank) {
  int level = 0;
  for (size_t k = 0; k < rank; ++k) level = std::max(level, c.space.indices[k].level);
  return level;
}

// The loop with which this subscript runs through all places of an axis, forwards or backwards.
const SpaceIndex* LoopThrough(const AccessContext& c, const Affine& sub, Value extent) {
  const auto index =
      std::find_if(c.space.indices.begin(), c.space.indices.end(),
                   [&](const SpaceIndex& i) { return i.IsWholeLoop() && sub.Coeff(i.var) != 0; });
  if (index == c.space.indices.end()) return nullptr;
  const Affine last = Affine::Of(extent) - Affine::Const(1), at = Affine::Of(index->var);
  const Affine form = c.bounds.Form(sub);
  if (form != c.bounds.Form(at) && form != c.bounds.Form(last - at)) return nullptr;
  const bool all = c.bounds.Form(Affine::Of(index->extent)) == c.bounds.Form(Affine::Of(extent));
  return all ? &*index : nullptr;
}

// Whether out[] runs through all of the result's elements as the loops that it names run.
bool CoversShape(const AccessContext& c, const ir::EachResult& r) {
  std::set<Value> loops;
  for (size_t k = 0; k < r.out.size(); ++k) {
    const SpaceIndex* i = LoopThrough(c, r.out[k], r.shape[k]);
    if (!i || !loops.insert(i->var).second) return false;
  }
  return true;
}

bool IsComplete(const AccessContext& c, const ir::EachResult& r, const ResultPlan& plan) {
  using Mode = ResultPlan::Mode;
  if (plan.mode == Mode::kAccumulate || (plan.mode == Mode::kRuns && !plan.once) ||
      plan.mode == Mode::kArgInTurns || !CoversShape(c, r))
    return false;
  if (!plan.StoresAtEnd()) return c.space.tests.empty() && !r.guard.valid();
  return std::none_of(c.space.tests.begin(), c.space.tests.end(),
                      [&](const SpaceTest& t) { return t.level <= plan.level; });
}

}  // namespace

ResultPlan PlanResult(const AccessContext& c, const ir::EachResult& r,
                      const std::vector<Known>& facts) {
  ResultPlan plan;
  const bool reduces = !ir::Stores(r);
  const bool prefix = reduces && ir::IsPrefixForm(c.each, r);
  const bool hit_once = PlainLoops(c, r).size() == static_cast<size_t>(c.space.depth);
  const size_t in_runs = ir::CountInRuns(c.each, r);
  plan.of_runs = in_runs > 0;
  if (prefix) plan.level = PrefixLevel(c, r.out.size());
  if (in_runs > 0) plan.level = PrefixLevel(c, c.space.indices.size() - in_runs);
  if (ir::IsArg(r.monoid)) {
    plan.mode = prefix ? ResultPlan::Mode::kArg : ResultPlan::Mode::kArgInTurns;
  } else if (prefix && (r.out.empty() || c.space.depth > plan.level)) {
    plan.mode = ResultPlan::Mode::kLanes;
  } else if (in_runs > 0 && c.space.depth > plan.level) {
    plan.mode = ResultPlan::Mode::kRuns;
    plan.once = PlainLoops(c, r).size() == static_cast<size_t>(plan.level);
  } else if (reduces && !prefix && !hit_once) {
    plan.mode = ResultPlan::Mode::kAccumulate;
  } else if (ir::IsScan(r.monoid)) {
    plan.mode = ResultPlan::Mode::kScan;
    plan.level = PrefixLevel(c, r.outer);
  }
  // A total is stored where the guard was never true, too; that of a run is checked at its points.
  const bool at_end = plan.StoresAtEnd(), runs = plan.mode == ResultPlan::Mode::kRuns;
  Access without_points = PlanAccess(c, r.out, ShapeOf(r), {}, false);
  if (without_points.level > plan.level) {
    for (AxisCheck& check : without_points.axes) check = AxisCheck::kHere;
  }
  plan.proven_at_end = at_end && without_points.IsProven();
  if (at_end && !runs) {
    plan.access = std::move(without_points);
  } else {
    plan.access = PlanAccess(c, r.out, ShapeOf(r), facts, !r.guard.valid());
    UseEarlierChecks(c, plan.access, r.out, ShapeOf(r), r.guard);
  }
  plan.complete = (runs ? plan.proven_at_end : plan.access.IsProven()) && IsComplete(c, r, plan);
  return plan;
}

// --- writing

std::vector<Reg> ResultWriter::Extents() const { return c_.l.Of(r_.shape); }

Reg ResultWriter::Offset() {
  if (IsScalar()) return e_.I64(0);
  std::vector<Affine> subs;
  for (const Affine& a : r_.out) subs.push_back(c_.l.Of(a));
  return e_.Offset(subs, Extents());
}

// gen is injective over its points; a sum's element tells the loops that out[] names.
std::vector<Reg> ResultWriter::LoopsApart() const {
  std::set<Value> told;
  for (Value v : PlainLoops(c_, r_)) told.insert(c_.l.Of(v));
  for (const SpaceIndex& i : c_.space.indices) {
    if (ir::Stores(r_) && !i.pinned) told.insert(i.var);
  }
  if (segment_.valid() && told.count(segmented_) > 0) told.insert(segment_);
  return {told.begin(), told.end()};
}

Emitter::About ResultWriter::About() const {
  return AboutAccess(c_, plan_.access, r_.out, r_.guard);
}

void ResultWriter::Store(Reg offset, Reg value) {
  e_.Store(array_, offset, value, LoopsApart(), About());
}

void ResultWriter::Begin() {
  const Type elem = c_.l.f.ElementOf(r_);
  if (r_.into.valid()) {
    array_ = value_;
    const std::vector<Reg> extents = c_.l.Extents(r_.into);
    if (Adds()) c_.l.CheckSameSizes(extents, Extents(), loc_);
    if (placement_) c_.l.SetReadFrom(r_.into, value_);
    return c_.l.MakeUnique(r_.into, value_);
  }
  const uint64_t identity = ir::ResultIdentity(r_.monoid, elem.elem);
  if (!IsScalar()) {
    array_ = value_;
    Alloc(c_.l, value_, r_.shape, !plan_.complete && identity == 0, loc_);
  } else if (!plan_.StoresAtEnd()) {
    array_ = NewCells(e_, elem.elem, 1,
                      loc_);  // a scalar that is stored, not reduced, passes through memory
  }
  if (!plan_.complete && identity != 0 && array_.valid())
    Fill(array_, IsScalar() ? std::vector<Reg>{e_.I64(1)} : Extents(), e_.Const(elem, identity));
  if (plan_.mode == ResultPlan::Mode::kScan) {
    state_extents_ = InnerExtents();
    state_ = NewCells(e_, c_.l.f.TypeOf(r_.value).elem, state_extents_, loc_);
  }
  if (plan_.mode == ResultPlan::Mode::kArg) best_->Alloc();
  if (plan_.mode == ResultPlan::Mode::kArgInTurns)
    best_terms_ = NewCells(e_, c_.l.f.TypeOf(r_.value).elem, Extents(), loc_);
}

// A loop for each axis, as those that store the elements have: rows may be filled one by one (fuse_rows.h).
void ResultWriter::Fill(Reg array, const std::vector<Reg>& extents, Reg identity) {
  std::vector<Reg> at;
  std::vector<Affine> subs;
  for (Reg extent : extents) {
    at.push_back(e_.OpenFor(e_.I64(0), extent, e_.function().NewReg(Type::I64(), "o")));
    subs.push_back(Affine::Of(at.back()));
  }
  e_.Store(array, e_.Offset(subs, extents), identity, at, {Rows(at.begin(), at.end()), {}});
  for (size_t k = 0; k < extents.size(); ++k) e_.CloseFor();
}

void ResultWriter::CheckOutBefore() {
  if (!IsScalar()) CheckBefore(c_, plan_.access, r_.out, Extents(), out_loc_);
}

void ResultWriter::LearnChecks() const {
  loops::LearnChecks(c_, plan_.access, r_.out, ShapeOf(r_), r_.guard);
}

void ResultWriter::BeginDestination(bool late) {
  if (!placement_) return;
  placement_->Begin(late, plan_);
  if (plan_.complete) return;
  const Type elem = c_.l.f.ElementOf(r_);
  placement_->Fill(e_.Const(elem, ir::ResultIdentity(r_.monoid, elem.elem)));
}

void ResultWriter::BeginLanes() {
  Node node;
  node.kind = Node::Kind::kLanesNew;
  node.monoid = r_.monoid;
  lanes_ = e_.function().NewReg(c_.l.f.TypeOf(r_.value), IsScalar() ? "" : "lanes");
  e_.function().regs[lanes_.id].lanes = true;
  node.results = {lanes_};
  e_.Append(std::move(node));
}

void ResultWriter::BeginInner() {
  if (plan_.IsInLanes()) return BeginLanes();
  if (plan_.mode == ResultPlan::Mode::kArg) return best_->Begin();
  const Type t = c_.l.f.TypeOf(r_.value);
  const Reg identity = e_.Const(t, ir::MonoidIdentity(r_.monoid, t.elem));
  if (r_.inner > 0) return Fill(state_, state_extents_, identity);
  e_.Store(state_, e_.I64(0), identity);
}

void ResultWriter::EndInner() {
  if (!plan_.StoresAtEnd()) return;
  const Reg total = best_ ? best_->Offset(IsScalar() ? value_ : ir::kNoValue) : LanesTotal();
  if (!IsScalar()) StoreAtEnd(total);
}

Reg ResultWriter::LanesTotal() {
  Node node;
  node.kind = Node::Kind::kLanesTotal;
  node.monoid = r_.monoid;
  node.args = {lanes_};
  node.results = {IsScalar() ? value_ : e_.function().NewReg(c_.l.f.TypeOf(r_.value))};
  return e_.Append(std::move(node)).results[0];
}

void ResultWriter::StoreAtEnd(Reg total) {
  if (plan_.proven_at_end) return StoreTotal(total);
  // Without a point the element may lie outside; then there is nothing to store.
  Reg inside = ir::kNoValue;
  const std::vector<Reg> extents = Extents();
  for (size_t axis = 0; axis < extents.size(); ++axis) {
    const Reg at = e_.Linear(c_.l.Of(r_.out[axis]));
    inside = e_.And(inside, e_.Compare(Op::Ge, at, e_.I64(0)));
    inside = e_.And(inside, e_.Compare(Op::Lt, at, extents[axis]));
  }
  e_.OpenIf(inside);
  StoreTotal(total);
  e_.CloseIf();
}

void ResultWriter::StoreTotal(Reg total) {
  if (placement_) return placement_->Put(total, LoopsApart(), About().proofs);
  const bool joins = plan_.mode == ResultPlan::Mode::kRuns && !plan_.once;
  if (!Adds()) return joins ? JoinToElement(total) : Store(Offset(), total);
  // Where there was no term nothing is added: -0.0 + 0.0 is 0.0.
  const Type t = e_.TypeOf(total);
  const Reg offset = Offset(), old = e_.Load(array_, offset, ir::kNoValue, About());
  const Reg none = e_.Scalar(Op::Eq, {total, e_.Zero(t)}, Type::Bool());
  const Reg sum = e_.Scalar(Op::Add, {old, total}, t);
  Store(offset, e_.Scalar(Op::Select, {none, old, sum}, t));
}

void ResultWriter::JoinToElement(Reg value) {
  const Reg offset = Offset(), old = e_.Load(array_, offset, ir::kNoValue, About());
  const Op join = Adds() ? Op::Add : ir::MonoidOp(r_.monoid);
  Store(offset, e_.Scalar(join, {old, value}, e_.TypeOf(value)));
}

// The only term of its element joined to the identity: 0.0 + -0.0 is 0.0.
Reg ResultWriter::SingleTerm() {
  const Reg value = c_.l.Of(r_.value);
  const Type t = e_.TypeOf(value);
  if (r_.monoid != Monoid::kSum || !t.IsFloat()) return value;
  return e_.Scalar(Op::Add, {e_.Zero(t), value}, t);
}

void ResultWriter::AddTerm() {
  if (!IsScalar()) CheckHere(c_, plan_.access, r_.out, Extents(), out_loc_);
  const Reg value = c_.l.Of(r_.value);
  switch (plan_.mode) {
    case ResultPlan::Mode::kStore:
      if (placement_) return placement_->Put(SingleTerm(), LoopsApart(), About().proofs);
      if (!Adds()) return Store(Offset(), SingleTerm());
      return plan_.of_runs ? StoreTotal(value) : JoinToElement(value);
    case ResultPlan::Mode::kAccumulate:
      return Adds() && plan_.of_runs ? StoreTotal(value) : JoinToElement(value);
    case ResultPlan::Mode::kScan: return Step();
    case ResultPlan::Mode::kArg: return best_->Compete(value, [this] { return OffsetInRest(); });
    case ResultPlan::Mode::kArgInTurns: return CompeteInTurns(value);
    case ResultPlan::Mode::kLanes:
    case ResultPlan::Mode::kRuns: break;
  }
  Node node;
  node.kind = Node::Kind::kLaneAdd;
  node.monoid = r_.monoid;
  node.args = {lanes_, OffsetInRest(), value};
  e_.Append(std::move(node));
}

void ResultWriter::CompeteInTurns(Reg value) {
  const ir::Value searched = c_.each.indices[*ir::OnlyIndexReduced(c_.each, r_)].var;
  best_->CompeteIn({best_terms_, array_, Offset(), LoopsApart(), About()}, value,
                   [&] { return c_.l.Of(searched); });
}

// In the box of the indices that the result does not keep.
Reg ResultWriter::OffsetInRest() {
  std::vector<Affine> at;
  std::vector<Reg> extents;
  for (size_t k = first_reduced_; k < c_.space.indices.size(); ++k) {
    at.push_back(c_.l.Of(Affine::Of(c_.space.indices[k].var)));
    extents.push_back(c_.l.Of(c_.space.indices[k].extent));
  }
  return at.empty() ? e_.I64(0) : e_.Offset(at, extents);
}

// --- scans

std::vector<Reg> ResultWriter::InnerExtents() const {
  std::vector<Reg> extents;
  for (size_t k = FirstInner(); k < c_.space.indices.size(); ++k)
    extents.push_back(e_.Max(c_.l.Of(c_.space.indices[k].extent), e_.I64(0)));
  return extents.empty() ? std::vector<Reg>{e_.I64(1)} : extents;
}

Reg ResultWriter::StateOffset() {
  if (r_.inner == 0) return e_.I64(0);
  std::vector<Affine> at;
  for (size_t k = FirstInner(); k < c_.space.indices.size(); ++k)
    at.push_back(c_.l.Of(Affine::Of(c_.space.indices[k].var)));
  return e_.Offset(at, state_extents_);
}

void ResultWriter::Step() {
  const Reg value = c_.l.Of(r_.value), at = StateOffset(), old = e_.Load(state_, at);
  Store(Offset(), old);
  e_.Store(state_, at, Joined(old, value, e_.TypeOf(value)));
}

Reg ResultWriter::Joined(Reg state, Reg value, Type t) {
  if (r_.monoid != Monoid::kScanLinear)
    return e_.Scalar(ir::MonoidOp(r_.monoid), {state, value}, t);
  const Reg zero = e_.Zero(t), is_zero = e_.Scalar(Op::Eq, {state, zero}, Type::Bool());
  const Reg product = e_.Scalar(Op::Mul, {state, value}, t);
  const Reg kept = e_.Scalar(Op::Select, {is_zero, zero, product}, t);
  return e_.Scalar(Op::Add, {kept, c_.l.Of(r_.second)}, t);
}

void ResultWriter::End() {
  if (placement_) {
    c_.l.SetReadFrom(ir::kNoValue, ir::kNoValue);
    placement_->End();
  }
  if (state_.valid()) e_.Effect(Node::Kind::kRelease, {state_});
  if (plan_.mode == ResultPlan::Mode::kArg) best_->Release();
  if (best_terms_.valid()) e_.Effect(Node::Kind::kRelease, {best_terms_});
  if (!IsScalar() || plan_.StoresAtEnd()) return;
  e_.Load(array_, e_.I64(0), value_);
  e_.Effect(Node::Kind::kRelease, {array_});
}

}  // namespace pullback::loops
