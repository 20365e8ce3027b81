#include "core/ad/sparse_pattern.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/ad/point_loops.h"

namespace pullback::ad {

using ir::Affine;
using ir::Inst;
using ir::Op;
using ir::Value;

Value ElementCount(ir::Builder& b, const std::vector<Value>& extents) {
  Value count = b.I64(1);
  for (Value extent : extents) count = b.Make(Op::Mul, {count, extent});
  return count;
}

Value FlatIndex(ir::Builder& b, ir::AffineSpan at, const std::vector<Value>& extents) {
  if (at.empty()) return b.I64(0);
  Value flat = b.AffineOf(at[0]);
  for (size_t axis = 1; axis < at.size(); ++axis)
    flat = b.Make(Op::Add, {b.Make(Op::Mul, {flat, extents[axis]}), b.AffineOf(at[axis])});
  return flat;
}

std::vector<Value> Unflatten(ir::Builder& b, Value number, const std::vector<Value>& extents) {
  std::vector<Value> at(extents.size());
  for (size_t axis = extents.size(); axis-- > 0;) {
    at[axis] = axis == 0 ? number : b.Make(Op::Rem, {number, extents[axis]});
    if (axis > 0) number = b.Make(Op::Div, {number, extents[axis]});
  }
  return at;
}

namespace {

bool IsPointwise(const Inst& inst) { return ir::Info(inst.op).rule != ir::TypeRule::Own; }

// What the value of result k, and a guarded one only where its guard is true, is computed from.
void AddReads(const ir::Function& f, const Inst& inst, size_t k, Value guard, PatternStep& step) {
  const ir::Each& each = *inst.each;
  std::map<Value, const Inst*> defs;
  for (const Inst& body : each.body) {
    for (Value v : body.results) defs[v] = &body;
  }
  std::set<Value> seen;
  std::vector<Value> work = {each.results[k].value};
  if (each.results[k].second.valid()) work.push_back(each.results[k].second);
  while (!work.empty()) {
    const Value v = work.back();
    work.pop_back();
    if (!f.TypeOf(v).IsFloat() || !seen.insert(v).second) continue;
    const auto def = defs.find(v);
    std::vector<Value> guards;
    if (guard.valid()) guards.push_back(guard);
    if (def == defs.end()) {
      step.reads.push_back({v, {}, std::move(guards)});
      continue;
    }
    const Inst& body = *def->second;
    if (body.op == Op::StopGradient) continue;
    if (body.op != Op::Index) {
      work.insert(work.end(), body.args.begin(), body.args.end());
      continue;
    }
    if (body.guard.valid()) guards.push_back(body.guard);
    step.reads.push_back({body.args[0], body.subs.ToVector(), std::move(guards)});
  }
}

}  // namespace

PatternStep StatementStep(const ir::Function& f, const Inst& inst, size_t k) {
  const ir::Affines& to = inst.each->results[k].out;
  PatternStep step{*inst.each, {to.begin(), to.end()}, {}};
  AddReads(f, inst, k, inst.each->results[k].guard, step);
  return step;
}

namespace {

std::vector<Affine> PointOf(const ir::Each& each) {
  std::vector<Affine> at;
  for (const ir::IndexVar& i : each.indices) at.push_back(Affine::Of(i.var));
  return at;
}

}  // namespace

PatternStep ScanTerms(const ir::Function& f, const Inst& inst, size_t k) {
  PatternStep step = StatementStep(f, inst, k);
  step.to = PointOf(*inst.each);
  return step;
}

PatternStep ScanStored(const Inst& inst, size_t k, Value points) {
  const ir::EachResult& r = inst.each->results[k];
  PatternAccess state{points, PointOf(*inst.each), {}};
  if (r.guard.valid()) state.guards.push_back(r.guard);
  return {*inst.each, {r.out.begin(), r.out.end()}, {std::move(state)}};
}

Value ScanGroup(ir::Builder& b, const Inst& inst, size_t k) {
  std::vector<Value> scanned;
  for (size_t i = inst.each->results[k].outer; i < inst.each->indices.size(); ++i)
    scanned.push_back(inst.each->indices[i].extent);
  return ElementCount(b, scanned);
}

std::vector<Value> SparsePattern::Extents(Value v) {
  auto [it, fresh] = extents_.try_emplace(v);
  for (int axis = 0; fresh && axis < b_.TypeOf(v).rank; ++axis)
    it->second.push_back(b_.Dim(v, axis));
  return it->second;
}

// Every element of `to` from that of `from` at the same place.
SparsePattern::Step SparsePattern::CopyStep(Value from, Value to) {
  Step step;
  for (Value extent : Extents(to)) {
    const Value i = b_.function().NewValue(ir::Type::I64());
    step.points.indices.push_back({i, extent});
    step.to.push_back(Affine::Of(i));
  }
  step.reads.push_back({from, step.to, {}});
  return step;
}

std::optional<std::vector<SparsePattern::Step>> SparsePattern::StepsOf(const Inst& inst, size_t k) {
  const auto read = [](Value v) { return Access{v, {}, {}}; };
  if (inst.each) return std::vector<Step>{StatementStep(b_.function(), inst, k)};
  const Value result = inst.results[k];
  Step step;
  switch (inst.op) {
    case Op::Index:
      step.reads = {{inst.args[0], inst.subs.ToVector(), {}}};
      return std::vector<Step>{step};
    case Op::Fit: return std::vector<Step>{CopyStep(inst.args[0], result)};
    case Op::AddArrays:
      return std::vector<Step>{CopyStep(inst.args[0], result), CopyStep(inst.args[1], result)};
    case Op::Update:
    case Op::AddAt:
      step.to = inst.subs.ToVector();
      step.reads = {read(inst.args[1])};
      return std::vector<Step>{CopyStep(inst.args[0], result), step};
    default: break;
  }
  if (!IsPointwise(inst) || !b_.TypeOf(result).IsScalar()) return std::nullopt;
  for (Value v : inst.args) step.reads.push_back(read(v));
  return std::vector<Step>{step};
}

// A value that is never computed, with the axes of the points.
Value SparsePattern::Points(const ir::Each& each) {
  const int rank = static_cast<int>(each.indices.size());
  const Value points = b_.function().NewValue(ir::Type::Array(DType::kF64, rank));
  for (const ir::IndexVar& i : each.indices) extents_[points].push_back(i.extent);
  return points;
}

std::vector<SparsePattern::Plan> SparsePattern::ScanPlans(const Inst& inst, size_t k) {
  const Value terms = Points(*inst.each), states = Points(*inst.each);
  return {{terms, {ScanTerms(b_.function(), inst, k)}},
          {states, {}, terms, ScanGroup(b_, inst, k)},
          {inst.results[k], {ScanStored(inst, k, states)}}};
}

SparseRows SparsePattern::Scanned(const Plan& plan, Value param) {
  const SparseRows& terms = rows_.at(plan.terms);
  const Value columns = ElementCount(b_, Extents(param));
  std::vector<Value> args = {terms.starts, terms.columns, plan.group, columns};
  const Value starts = b_.Call(functions_.scanned_starts, args)[0];
  args.push_back(starts);
  args.push_back(b_.Index(starts, {Affine::Of(ElementCount(b_, Extents(plan.value)))}));
  return {starts, b_.Call(functions_.scanned_columns, args)[0]};
}

using State = PointLoops::State;

// The loops of all accesses of one value, run twice: to count the elements, then to store them.
class SparsePattern::Collector {
 public:
  Collector(SparsePattern& pattern, Value v, Value param)
      : p_(pattern), b_(pattern.b_), param_(param), to_(p_.Extents(v)) {}

  void Add(const Step& step) {
    for (const Access& read : step.reads) {
      if (read.source != param_ && p_.rows_.count(read.source) == 0) continue;
      const PointAccess access{read.at, p_.Extents(read.source), step.to, to_, read.guards};
      analysis::Box box = p_.outer_.BoxOf(step.points);
      for (const auto* extents : {&access.from_extents, &access.to_extents}) {
        for (Value extent : *extents) box.AddValue(extent, {0, kMaxExtent});
      }
      loops_.emplace_back(b_, step.points, box, access);
      sources_.push_back(read.source);
    }
  }

  SparseRows Run() {
    State count = {b_.I64(0)};
    for (size_t k = 0; k < loops_.size(); ++k)
      count = loops_[k].Emit(count, [&](const State& s) { return Counted(k, s); });
    // rows, columns, how many
    State found = {b_.Zeros(DType::kI64, count), b_.Zeros(DType::kI64, count), b_.I64(0)};
    for (size_t k = 0; k < loops_.size(); ++k)
      found = loops_[k].Emit(found, [&](const State& s) { return Stored(k, s); });
    const std::vector<Value> made =
        b_.Call(p_.functions_.unique,
                {found[0], found[1], ElementCount(b_, to_), ElementCount(b_, p_.Extents(param_))});
    return {made[0], made[1]};
  }

 private:
  Value SourceElement(size_t k) { return FlatIndex(b_, loops_[k].From(), p_.Extents(sources_[k])); }
  std::pair<Value, Value> ColumnsOf(size_t k) {
    const Affine row = Affine::Of(SourceElement(k));
    const Value starts = p_.rows_.at(sources_[k]).starts;
    const Value begin = b_.Index(starts, {row});
    return {begin, b_.Index(starts, {row + Affine::Const(1)})};
  }
  Value Next(Value i) { return b_.Make(Op::Add, {i, b_.I64(1)}); }

  State Counted(size_t k, const State& s) {
    if (sources_[k] == param_) return {Next(s[0])};
    const auto [begin, end] = ColumnsOf(k);
    return {b_.Make(Op::Add, {s[0], b_.Make(Op::Sub, {end, begin})})};
  }
  State With(const State& s, Value row, Value column) {
    const std::vector<Affine> at = {Affine::Of(s[2])};
    return {b_.Update(s[0], at, row), b_.Update(s[1], at, column), Next(s[2])};
  }
  State Stored(size_t k, const State& s) {
    const Value row = FlatIndex(b_, loops_[k].To(), to_);
    if (sources_[k] == param_) return With(s, row, SourceElement(k));
    const auto [begin, end] = ColumnsOf(k);
    const uint32_t header = b_.NewBlock(), body = b_.NewBlock(), done = b_.NewBlock();
    const Value t = b_.AddParam(header, ir::Type::I64());
    State into;
    for (Value x : s) into.push_back(b_.AddParam(header, b_.TypeOf(x)));
    b_.Jump(header, {begin, s[0], s[1], s[2]});
    b_.SetBlock(header);
    b_.Branch(b_.Make(Op::Lt, {t, end}), {body, {}}, {done, {}});
    b_.SetBlock(body);
    const Value columns = p_.rows_.at(sources_[k]).columns;
    State next = With(into, row, b_.Index(columns, {Affine::Of(t)}));
    next.insert(next.begin(), Next(t));
    b_.Jump(header, next);
    b_.SetBlock(done);
    return into;
  }

  SparsePattern& p_;
  ir::Builder& b_;
  const Value param_;
  const std::vector<Value> to_;
  std::vector<PointLoops> loops_;
  std::vector<Value> sources_;
};

void SparsePattern::Collect(const Plan& plan, Value param) {
  if (plan.terms.valid()) {
    rows_[plan.value] = Scanned(plan, param);
    return;
  }
  for (const Step& step : plan.steps) {
    for (const Access& read : step.reads) Extents(read.source);
  }
  Extents(plan.value);
  Collector collector(*this, plan.value, param);
  for (const Step& step : plan.steps) collector.Add(step);
  rows_[plan.value] = collector.Run();
}

// Whether every subscript can be evaluated in front of the points.
bool SparsePattern::IsFollowed(const Step& step) {
  return std::all_of(step.reads.begin(), step.reads.end(), [&](const Access& read) {
    return PointLoops(b_, step.points, {}, {read.at, Extents(read.source), step.to, {}, {}}).ok();
  });
}

std::optional<std::vector<SparsePattern::Plan>> SparsePattern::PlansOf(Value result, Value param) {
  const FloatFlow::Slice between = flow_.Between({result}, param);
  std::vector<Plan> plans;
  for (uint32_t number : between.insts) {
    const Inst& inst = code_[number];
    for (size_t k = 0; k < inst.results.size(); ++k) {
      const Value v = inst.results[k];
      if (!between.Has(v)) continue;
      if (inst.each && ir::IsScan(inst.each->results[k].monoid)) {
        for (Plan& plan : ScanPlans(inst, k)) plans.push_back(std::move(plan));
        continue;
      }
      auto steps = b_.TypeOf(v).IsFloat() ? StepsOf(inst, k) : std::nullopt;
      if (!steps) return std::nullopt;
      plans.push_back({v, std::move(*steps)});
    }
  }
  for (const Plan& plan : plans) {
    const auto followed = [&](const Step& s) { return IsFollowed(s); };
    if (!std::all_of(plan.steps.begin(), plan.steps.end(), followed)) return std::nullopt;
  }
  return plans;
}

std::optional<SparseRows> SparsePattern::Of(Value result, Value param) {
  rows_.clear();
  const std::optional<std::vector<Plan>> plans = PlansOf(result, param);
  if (!plans) return std::nullopt;
  for (const Plan& plan : *plans) Collect(plan, param);
  if (rows_.count(result) == 0)
    Collect({result, {result == param ? CopyStep(param, result) : Step{}}}, param);
  return rows_.at(result);
}

}  // namespace pullback::ad
