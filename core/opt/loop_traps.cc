#include "core/opt/loop_traps.h"

#include <algorithm>

#include "core/ir/total.h"
#include "core/opt/turn_facts.h"

namespace pullback::opt {

using ir::Affine;
using ir::Inst;
using ir::Op;
using ir::Value;
using Known = std::set<const Inst*>;

bool IsExtent(Value v, const DefinitionBlocks& defs) {
  const Inst* inst = defs.Inst(v);
  return inst != nullptr &&
         (inst->op == Op::Dim || (inst->op == Op::Const && static_cast<int64_t>(inst->bits) >= 0));
}

std::optional<int64_t> LoopTraps::StartOf(const CountedLoop& l) const {
  const Inst* inst = defs_.Inst(l.loop.Arguments(f_)[l.counter.param]);
  if (inst == nullptr || inst->op != Op::Const) return std::nullopt;
  return static_cast<int64_t>(inst->bits);
}

bool LoopTraps::CannotTrap(const CountedLoop& l, const Known& known) const {
  return std::all_of(l.loop.blocks.begin(), l.loop.blocks.end(), [&](uint32_t b) {
    const std::vector<Inst>& insts = f_.blocks[b].insts;
    return std::all_of(insts.begin(), insts.end(),
                       [&](const Inst& inst) { return CannotTrap(inst, l, known); });
  });
}

bool LoopTraps::CannotTrap(const Inst& inst, const CountedLoop& l, const Known& known) const {
  if (inst.op == Op::Index) return IsInRange(inst, nullptr, l, known);
  if (inst.op == Op::Check && known.contains(&inst)) return true;
  if (inst.op == Op::Zeros)
    return std::all_of(inst.args.begin(), inst.args.end(),
                       [&](Value n) { return IsExtent(n, defs_); });
  if (!inst.each) return !ir::MayTrap(inst, f_, m_) && (ir::Info(inst.op).flags & ir::kEffect) == 0;
  const ir::Each& each = *inst.each;
  for (const ir::IndexVar& i : each.indices) {
    if (!IsExtent(i.extent, defs_)) return false;
  }
  for (const ir::EachResult& r : each.results) {
    for (size_t axis = 0; axis < r.out.size(); ++axis) {
      if (!IsExtent(r.shape[axis], defs_) || !IsWithin(r.out[axis], r.shape[axis], &each, l))
        return false;
    }
  }
  return std::all_of(each.body.begin(), each.body.end(), [&](const Inst& part) {
    return part.op == Op::Index ? IsInRange(part, &each, l, known) : !ir::MayTrap(part, f_, m_);
  });
}

bool LoopTraps::IsInRange(const Inst& read, const ir::Each* each, const CountedLoop& l,
                          const Known& known) const {
  for (size_t axis = known.contains(&read) ? 1 : 0; axis < read.subs.size(); ++axis) {
    std::set<Value> asked;
    const Value extent = ExtentOf(read.args[0], axis, asked);
    if (!extent.valid() || !IsWithin(read.subs[axis], extent, each, l)) return false;
  }
  return true;
}

bool LoopTraps::IsWithin(const Affine& sub, Value extent, const ir::Each* each,
                         const CountedLoop& l) const {
  if (each != nullptr &&
      std::any_of(each->indices.begin(), each->indices.end(), [&](const ir::IndexVar& i) {
        return (sub.AsValue() == i.var || sub == Affine::Const(0)) &&
               extents_.AreEqual(i.extent, extent);
      }))
    return true;
  const Affine more = FormOf(extent, defs_) - FormOf(l.counter.bound, defs_);
  if (!more.IsConst() || !IsOfDims(FormOf(l.counter.bound, defs_), defs_)) return false;
  const Affine forwards = sub - Affine::Of(l.turn), backwards = sub - l.LeftBehind();
  const std::optional<int64_t> start = StartOf(l);
  if (!start || *start < 0) return false;
  return (forwards.IsConst() && -*start <= forwards.constant &&
          forwards.constant <= more.constant) ||
         (backwards.IsConst() && 0 <= backwards.constant &&
          backwards.constant - *start <= more.constant);
}

// Of what a loop carries, too: all that comes to a parameter, but itself. kNoValue: not known.
Value LoopTraps::ExtentOf(Value array, size_t axis, std::set<Value>& asked) const {
  if (const Value known = extents_.Of(array, axis); known.valid()) return known;
  const Inst* inst = defs_.Inst(array);
  if (inst != nullptr && inst->op == Op::Zeros) return inst->args[axis];
  if (inst != nullptr || !asked.insert(array).second) return ir::kNoValue;
  Value extent;
  for (uint32_t b = 0; b < f_.blocks.size(); ++b) {
    const auto param = std::find(f_.blocks[b].params.begin(), f_.blocks[b].params.end(), array);
    if (param == f_.blocks[b].params.end()) continue;
    for (const ir::Block& from : f_.blocks) {
      for (const ir::Edge& e : from.term.edges) {
        if (e.block != b) continue;
        const Value v = e.args[static_cast<size_t>(param - f_.blocks[b].params.begin())];
        if (asked.contains(v)) continue;
        const Value its = ExtentOf(v, axis, asked);
        if (!its.valid() || (extent.valid() && !extents_.AreEqual(extent, its)))
          return ir::kNoValue;
        extent = its;
      }
    }
  }
  return extent;
}

}  // namespace pullback::opt
