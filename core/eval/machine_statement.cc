// Tensor statements. The order of everything here is the definition in ir.h.
#include <algorithm>

#include "core/eval/machine.h"
#include "core/eval/scalar_ops.h"
#include "core/ir/monoid.h"

namespace pullback::eval {

using ir::Inst;
using ir::Op;
using ir::TrapKind;
using ir::Value;

// The array that is added to: itself where nobody else sees it.
ArrayRef Machine::TakeInto(Frame& f, const Inst& inst, Value into,
                           const std::vector<int64_t>& shape) {
  ArrayRef array = std::get<ArrayRef>(f.slots[into.id]);
  const LastUses::List& dies = f.last_uses.At(f.block, f.inst);
  if (std::find(dies.begin(), dies.end(), into) != dies.end()) f.slots[into.id] = Slot{};
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    const int64_t n = array->tensor.shape[axis];
    if (n != shape[axis]) TrapAt(inst.loc, TrapKind::kSizeMismatch, n, shape[axis]);
  }
  if (!stopped()) MakeUnique(array, inst.loc);
  return array;
}

void Machine::BeginStatement(Frame& f, const Inst& inst) {
  const ir::Each& each = *inst.each;
  auto run = std::make_unique<StatementRun>();
  run->inst = &inst;
  std::vector<int64_t> extents;
  for (const ir::IndexVar& i : each.indices) extents.push_back(Int(f, i.extent));
  if (!CheckExtents(extents, inst.loc)) return;
  run->points = Points(std::move(extents));
  for (const ir::EachResult& r : each.results) {
    std::vector<int64_t> shape;
    for (Value v : r.shape) shape.push_back(Int(f, v));
    const DType type = f.function.TypeOf(r.value).elem;
    ArrayRef array;
    if (r.into.valid()) {
      array = TakeInto(f, inst, r.into, shape);
    } else if (!shape.empty()) {
      const DType elem = f.function.ElementOf(r).elem;
      array = MakeArray(elem, shape, ir::ResultIdentity(r.monoid, type), inst.loc);
    }
    if (stopped()) return;
    run->results.emplace_back(each, r, type, std::move(array));
    run->shapes.push_back(std::move(shape));
  }
  f.statement = std::move(run);
}

void Machine::ContinueStatement(Frame& f) {
  StatementRun& s = *f.statement;
  while (!stopped()) {
    if (!s.in_point && !NextPoint(f, s)) return EndStatement(f, s);
    if (stopped()) return;
    const size_t frames = frames_.size();
    ContinueBody(f, s);
    if (stopped() || frames_.size() != frames) return;  // called a function; back when it returns
    AddTerms(f, s);
    s.in_point = false;
  }
}

// The next point where all constraints hold; false when there is none.
bool Machine::NextPoint(Frame& f, StatementRun& s) {
  const ir::Each& each = *s.inst->each;
  while (s.points.Next()) {
    CountStep();  // of its own: a space may be large and its body empty
    for (size_t i = 0; i < each.indices.size(); ++i) {
      f.slots[each.indices[i].var.id] = static_cast<uint64_t>(s.points[i]);
    }
    if (stopped()) return true;
    if (!Holds(f, each.where)) continue;
    s.in_point = true;
    s.body = 0;
    return true;
  }
  return false;
}

void Machine::ContinueBody(Frame& f, StatementRun& s) {
  const ir::Each& each = *s.inst->each;
  const size_t frames = frames_.size();
  while (s.body < each.body.size() && !stopped() && frames_.size() == frames) {
    ExecBodyInst(f, each, each.body[s.body++]);
  }
}

// Whether a sum has two terms at this point (4.24): one that its guard leaves out is none. A difference is
// a sum with what it takes away negated, which counts where that is present.
bool Machine::Adds(const Frame& f, const ir::Each& each, const Inst& inst) {
  const auto present = [&](Value v) {
    for (const Inst& def : each.body) {
      if (&def == &inst) break;
      if (std::find(def.results.begin(), def.results.end(), v) != def.results.end())
        return !def.guard.valid() || Bits(f, def.guard) != 0;
    }
    return true;
  };
  return present(inst.args[1]) && (inst.op == Op::Sub || present(inst.args[0]));
}

void Machine::ExecBodyInst(Frame& f, const ir::Each& each, const Inst& inst) {
  CountStep();
  if (inst.guard.valid() && Bits(f, inst.guard) == 0) {
    for (Value v : inst.results) f.slots[v.id] = Slot{};
    return;
  }
  if (inst.op != Op::Call) {
    const int64_t before = cost_.ops;
    HandlerOf(inst.op)(*this, f, inst);
    const bool sum = inst.op == Op::Add || inst.op == Op::Sub;
    if (sum && cost_.ops != before && !Adds(f, each, inst)) cost_.ops = before;
    return;
  }
  const bool black_box = limits_.call_cost >= 0;
  const int64_t ops = cost_.ops + limits_.call_cost;
  PushFrame(inst.callee, Fetch(f, inst), inst.loc);
  if (black_box && !stopped()) frames_.back()->black_box_ops = ops;
}

void Machine::AddTerms(Frame& f, StatementRun& s) {
  const ir::Each& each = *s.inst->each;
  for (size_t r = 0; r < each.results.size(); ++r) {
    const ir::EachResult& result = each.results[r];
    if (result.guard.valid() && Bits(f, result.guard) == 0) continue;
    const int64_t element = OffsetOf(f, s.shapes[r], result.out, ir::LocOfOut(*s.inst, result));
    if (element < 0) return;
    const uint64_t second = result.second.valid() ? Bits(f, result.second) : 0;
    s.results[r].Add(element, s.points, Bits(f, result.value), second, cost_.ops);
  }
}

void Machine::EndStatement(Frame& f, StatementRun& s) {
  for (size_t r = 0; r < s.results.size(); ++r) {
    f.slots[s.inst->results[r].id] = s.results[r].Finish(cost_.ops);
  }
  f.statement.reset();
  FinishInst(f);
}

}  // namespace pullback::eval
