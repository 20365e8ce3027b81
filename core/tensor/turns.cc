#include "core/tensor/turns.h"

#include <algorithm>
#include <climits>
#include <utility>

namespace pullback::tensor {

using ir::EachResult;
using ir::Inst;
using ir::Value;

namespace {
constexpr size_t kMostWaiting = 8;  // statements that wait for one loop together
}

Value IndexAt(const Inst& inst, size_t depth) {
  return inst.each && inst.each->indices.size() > depth ? inst.each->indices[depth].var : Value();
}

std::optional<size_t> AxisOf(const EachResult& r, Value index) {
  for (size_t axis = 0; index.valid() && axis < r.out.size(); ++axis) {
    if (r.out[axis].AsValue() == index) return axis;
  }
  return std::nullopt;
}

Turns::Turns(const std::vector<Inst>& insts, size_t begin, size_t end,
             const std::map<size_t, Value>& first, size_t depth, IsNearRow is_near)
    : is_near_(std::move(is_near)) {
  for (size_t at = begin; at <= end; ++at) {
    const Inst& inst = insts[at];
    const auto planned = first.find(at);
    const Value index = planned == first.end() ? IndexAt(inst, depth) : planned->second;
    const int loop = inst.each ? LoopOf(inst, index) : LoopOf(inst);
    loops_[at] = loop;
    const bool in_front = inst.each && IsInFront(inst, loop);
    for (size_t k = 0; k < inst.results.size(); ++k) {
      const auto axis = inst.each ? AxisMade(*inst.each, k, index) : std::nullopt;
      const size_t rank = inst.each ? inst.each->results[k].out.size() : 0;
      if (in_front)
        made_[inst.results[k]] = {at, loop, std::nullopt, rank};
      else
        made_[inst.results[k]] = {at, axis || !inst.each ? loop : loop + 1, axis, rank};
    }
    NoteReaders(inst, at, index);
  }
  for (size_t at = end + 1; at-- > begin;) {
    if (insts[at].each) Delay(insts, at);
  }
}

bool Turns::IsOwn(const ir::Each& each, const ir::Affine& sub, Value index) const {
  return index.valid() && (sub.AsValue() == index || (is_near_ && is_near_(each, sub, index)));
}

std::optional<size_t> Turns::AxisMade(const ir::Each& each, size_t result, Value index) const {
  const EachResult& r = each.results[result];
  const std::optional<size_t> own = AxisOf(r, index);
  for (size_t axis = 0; !own && is_near_ && axis < r.out.size(); ++axis) {
    if (IsOwn(each, r.out[axis], index)) return axis;
  }
  return own;
}

void Turns::NoteReaders(const Inst& inst, size_t at, Value index) {
  std::map<Value, int> others;
  ir::ForEachOperand(inst, [&](const Value& v) {
    if (made_.contains(v)) ++others[v];
  });
  if (inst.each) {
    ForEachRead(*inst.each, [&](Value v, ir::AffineSpan subs) {
      const auto it = others.find(v);
      const auto axis = it == others.end() ? std::nullopt : made_.at(v).axis;
      if (axis && IsOwn(*inst.each, subs[*axis], index)) --it->second;
    });
  }
  for (const auto& [v, count] : others) {
    readers_[v].at.push_back(at);
    readers_[v].by_turns &= count == 0;
  }
}

void Turns::Delay(const std::vector<Inst>& insts, size_t at) {
  int last = INT_MAX;
  for (Value v : insts[at].results) {
    const auto it = readers_.find(v);
    if (it == readers_.end() || !it->second.by_turns) return;
    for (size_t reader : it->second.at) last = std::min(last, loops_.at(reader));
  }
  std::set<size_t> waiting;
  if (last <= loops_.at(at) || !MayWait(insts, at, last, waiting)) return;
  for (size_t statement : waiting) loops_.at(statement) = last;
}

// Whether what the statement reads is kept until that loop anyway, or can be made there as well. Vectors are kept, but who
// makes one of the same turns waits if it can: what it is made of may have to.
bool Turns::MayWait(const std::vector<Inst>& insts, size_t at, int last,
                    std::set<size_t>& waiting) const {
  if (waiting.size() == kMostWaiting) return false;
  waiting.insert(at);
  std::vector<Value> matrices;
  ir::ForEachOperand(insts[at], [&](const Value& v) {
    const auto made = made_.find(v);
    if (made == made_.end() || made->second.loop >= last || !made->second.axis) return;
    if (made->second.rank > 1) return matrices.push_back(v);
    std::set<size_t> with_maker = waiting;
    if (MakerWaits(insts, v, last, with_maker)) waiting = std::move(with_maker);
  });
  return std::all_of(matrices.begin(), matrices.end(), [&](Value v) {
    const std::vector<size_t>& readers = readers_.at(v).at;
    const bool there = std::any_of(readers.begin(), readers.end(), [&](size_t reader) {
      return !waiting.contains(reader) && loops_.at(reader) >= last;
    });
    return there || MakerWaits(insts, v, last, waiting);
  });
}

bool Turns::MakerWaits(const std::vector<Inst>& insts, Value v, int last,
                       std::set<size_t>& waiting) const {
  const size_t maker = made_.at(v).at;
  if (waiting.contains(maker)) return true;
  return insts[maker].each && AreReadIn(insts[maker], waiting) &&
         MayWait(insts, maker, last, waiting);
}

bool Turns::AreReadIn(const Inst& maker, const std::set<size_t>& statements) const {
  return std::all_of(maker.results.begin(), maker.results.end(), [&](Value v) {
    const auto it = readers_.find(v);
    return it != readers_.end() && it->second.by_turns &&
           std::all_of(it->second.at.begin(), it->second.at.end(),
                       [&](size_t reader) { return statements.contains(reader); });
  });
}

// Of vectors and numbers, made of what is there before the loop.
bool Turns::IsInFront(const Inst& statement, int loop) const {
  bool in_front = std::all_of(statement.each->results.begin(), statement.each->results.end(),
                              [](const EachResult& r) { return r.out.size() <= 1; });
  ir::ForEachOperand(statement, [&](const Value& v) {
    const auto it = made_.find(v);
    in_front &= it == made_.end() || it->second.loop < loop || !it->second.axis;
  });
  return in_front;
}

int Turns::LoopOf(const Inst& inst) const {
  int loop = 0;
  ir::ForEachOperand(inst, [&](const Value& v) {
    const auto it = made_.find(v);
    if (it != made_.end()) loop = std::max(loop, it->second.loop + (it->second.axis ? 1 : 0));
  });
  return loop;
}

int Turns::LoopOf(const Inst& statement, Value index) const {
  std::map<Value, int> others;  // uses, but reads of the turn's own
  int loop = 0;
  ir::ForEachOperand(statement, [&](const Value& v) {
    const auto it = made_.find(v);
    if (it == made_.end()) return;
    loop = std::max(loop, it->second.loop);
    if (it->second.axis) ++others[v];
  });
  ForEachRead(*statement.each, [&](Value v, ir::AffineSpan subs) {
    const auto it = others.find(v);
    if (it != others.end() && IsOwn(*statement.each, subs[*made_.at(v).axis], index)) --it->second;
  });
  for (const auto& [v, count] : others) {
    if (count > 0) loop = std::max(loop, made_.at(v).loop + 1);
  }
  return loop;
}

}  // namespace pullback::tensor
