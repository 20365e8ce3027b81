#include "core/loops/copy_loops.h"

#include <algorithm>

namespace pullback::loops {

using ir::Affine;
using ir::Inst;
using ir::Op;
using ir::Terminator;
using ir::Type;
using ir::Value;

Uses::Uses(const ir::Function& f) : count_(f.values.size()), constants_(f.values.size()) {
  const auto use = [this](Value v) { ++count_[v.id]; };
  for (const ir::Block& block : f.blocks) {
    for (const Inst& inst : block.insts) {
      ir::ForEachOperand(inst, use);
      if (inst.op == Op::Const && f.TypeOf(inst.results[0]) == Type::I64()) {
        constants_[inst.results[0].id] = static_cast<int64_t>(inst.bits);
      }
    }
    ir::ForEachTermOperand(block.term, use);
  }
}

CopyFinder::CopyFinder(const ir::Function& f, const Uses& uses)
    : uses_(uses), entries_(f.blocks.size()) {
  for (const ir::Block& block : f.blocks) {
    for (const ir::Edge& edge : block.term.edges) ++entries_[edge.block];
  }
}

std::optional<Copy> CopyFinder::Find(const ir::Function& f, uint32_t before) {
  f_ = &f;
  copy_ = Copy{};
  copy_.before = before;
  found_ = false;
  if (At(before).term.kind != Terminator::Kind::kJump) return std::nullopt;
  for (const ir::Edge* entry = &At(before).term.edges[0]; entry;) {
    if (!Enter(*entry)) return std::nullopt;
    entry = Inside();
  }
  if (!found_ || !IsLeft() || !CountersAreAlone()) return std::nullopt;
  return copy_;
}

// A loop with (counter, array), of which `lt counter, bound` leaves.
bool CopyFinder::Enter(const ir::Edge& entry) {
  CopyLoop loop;
  loop.header = entry.block;
  const ir::Block& header = At(loop.header);
  const Terminator& term = header.term;
  const bool known =
      loop.header == copy_.before ||
      std::find(copy_.blocks.begin(), copy_.blocks.end(), loop.header) != copy_.blocks.end();
  if (known || entries_[loop.header] != 2 || header.params.size() != 2) return false;
  if (header.insts.size() != 1 || header.insts[0].op != Op::Lt) return false;
  if (term.kind != Terminator::Kind::kBranch || term.cond != header.insts[0].results[0])
    return false;
  const size_t counter = f_->TypeOf(header.params[0]).IsArray() ? 1 : 0;
  loop.counter = header.params[counter];
  loop.array = header.params[1 - counter];
  loop.bound = header.insts[0].args[1];
  const bool counts = f_->TypeOf(loop.counter) == Type::I64() &&
                      header.insts[0].args[0] == loop.counter && uses_.CountOf(term.cond) == 1 &&
                      uses_.IsConst(entry.args[counter], 0);
  if (!counts || !f_->TypeOf(loop.array).IsArray()) return false;
  const Value to = entry.args[1 - counter];
  if (copy_.loops.empty()) copy_.to = to;
  if (!copy_.loops.empty() && to != copy_.loops.back().array) return false;
  copy_.blocks.push_back(loop.header);
  copy_.loops.push_back(loop);
  return true;
}

// Where the next loop within begins; nullptr: there is none, or the nest is no copy.
const ir::Edge* CopyFinder::Inside() {
  CopyLoop& loop = copy_.loops.back();
  const ir::Edge& edge = At(loop.header).term.edges[0];
  if (!edge.args.empty()) return &edge;
  if (entries_[edge.block] != 1 || edge.block == loop.header) return nullptr;
  copy_.blocks.push_back(edge.block);
  if (IsElement(edge.block) || !OnlySteps(edge.block, loop)) return nullptr;
  const Terminator& term = At(edge.block).term;
  return term.kind == Terminator::Kind::kJump ? &term.edges[0] : nullptr;
}

bool CopyFinder::IsStep(const Inst& inst, CopyLoop& loop) const {
  const bool one =
      inst.op == Op::AffineOf
          ? inst.subs[0] == Affine::Of(loop.counter) + Affine::Const(1)
          : inst.op == Op::Add && inst.args[0] == loop.counter && uses_.IsConst(inst.args[1], 1);
  if (!one || loop.next.valid()) return false;
  loop.next = inst.results[0];
  return true;
}

bool CopyFinder::OnlySteps(uint32_t block, CopyLoop& loop) const {
  return std::all_of(At(block).insts.begin(), At(block).insts.end(),
                     [&](const Inst& inst) { return inst.op == Op::Const || IsStep(inst, loop); });
}

bool CopyFinder::GoesBack(uint32_t block, const CopyLoop& loop, Value array) const {
  const Terminator& term = At(block).term;
  if (term.kind != Terminator::Kind::kJump || term.edges[0].block != loop.header) return false;
  const bool counter_first = At(loop.header).params[0] == loop.counter;
  const std::vector<Value> args = {counter_first ? loop.next : array,
                                   counter_first ? array : loop.next};
  return loop.next.valid() && uses_.CountOf(loop.next) == 1 &&
         std::equal(args.begin(), args.end(), term.edges[0].args.begin(), term.edges[0].args.end());
}

// An element of an array at the counters.
bool CopyFinder::IsRead(const Inst& inst) const {
  if (inst.op != Op::Index || inst.subs.size() != copy_.loops.size()) return false;
  for (size_t k = 0; k < inst.subs.size(); ++k) {
    if (!(inst.subs[k] == Affine::Of(copy_.loops[k].counter))) return false;
  }
  return true;
}

// The innermost body: nothing but a read, perhaps its negation, the change, the step and constants.
bool CopyFinder::IsElement(uint32_t block) {
  CopyLoop loop = copy_.loops.back();
  Value value, changed;
  for (const Inst& inst : At(block).insts) {
    if (inst.op == Op::Const || IsStep(inst, loop)) continue;
    const bool changes = inst.op == Op::Update || inst.op == Op::AddAt;
    if (!value.valid() && IsRead(inst)) {
      copy_.from = inst.args[0];
    } else if (value.valid() && inst.op == Op::Neg && inst.args[0] == value && !copy_.negates) {
      copy_.negates = true;
    } else if (changes && value.valid() && !changed.valid() && inst.args[0] == loop.array &&
               inst.args[1] == value) {
      changed = inst.results[0];
      copy_.subs = {inst.subs.begin(), inst.subs.end()};
      copy_.adds = inst.op == Op::AddAt;
      copy_.loc = inst.loc;
    } else {
      return false;
    }
    if (!changed.valid()) value = inst.results[0];
    if (uses_.CountOf(inst.results[0]) != 1) return false;
  }
  if (!changed.valid() || !GoesBack(block, loop, changed)) return false;
  copy_.loops.back() = loop;
  found_ = true;
  return true;
}

// Each inner loop goes on to the step of the one around it.
bool CopyFinder::IsLeft() {
  for (size_t k = copy_.loops.size(); k-- > 1;) {
    const ir::Edge& exit = At(copy_.loops[k].header).term.edges[1];
    const bool own = entries_[exit.block] == 1 && exit.args.empty();
    if (!own || !OnlySteps(exit.block, copy_.loops[k - 1])) return false;
    if (!GoesBack(exit.block, copy_.loops[k - 1], copy_.loops[k].array)) return false;
    copy_.blocks.push_back(exit.block);
  }
  return true;
}

// Nobody else knows them: each is used by its comparison, its step, the read, and the place.
bool CopyFinder::CountersAreAlone() const {
  return std::all_of(copy_.loops.begin(), copy_.loops.end(), [&](const CopyLoop& loop) {
    const auto own = std::count_if(copy_.subs.begin(), copy_.subs.end(),
                                   [&](const Affine& a) { return a.Coeff(loop.counter) != 0; });
    return uses_.CountOf(loop.counter) == 3 + static_cast<int>(own);
  });
}

}  // namespace pullback::loops
