#include "core/ad/outline_turns.h"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "core/ad/loop_parts.h"
#include "core/analysis/loop_nest.h"
#include "core/ir/dominance.h"

namespace pullback::ad {
namespace {

using ir::Block;
using ir::Edge;
using ir::Function;
using ir::Inst;
using ir::kNoBlock;
using ir::Op;
using ir::Terminator;
using ir::Type;
using ir::Value;

// Of a function: each walks over all of it.
constexpr int kMostLoops = 32;
// So many elements that the tape would keep of all turns are run again; fewer stay in a cache. Of turns without control flow of
// their own, whose tape is as quick as their arrays, what takes 128 MiB.
constexpr double kMostKept = 1 << 21, kMostKeptStraight = 1 << 24;

// What a loop's turn does, in axes: what n elements are is 1, what n² are 2.
struct Turn {
  int kept = 0, work = 0;
  bool fits = true;
  int blocks = 0;

  bool IsStraight() const { return blocks == 2; }  // the header and what it leads to
};

class TurnOutlining {
 public:
  TurnOutlining(ir::Module& module, uint32_t f, Mixed mixed)
      : f_(module.Get(f)),
        mixed_(mixed),
        preds_(ir::Predecessors(f_)),
        dominators_(f_),
        nest_(f_, dominators_),
        parts_(module, f) {}

  bool MayFind() const {
    const std::vector<Turn> turns = TurnsByHeader();
    return std::any_of(turns.begin(), turns.end(), IsWorthIt);
  }

  // The first outermost loop there is.
  bool Next() {
    const std::vector<Turn> turns = TurnsByHeader();
    int looked_at = 0;
    for (uint32_t header : dominators_.order()) {
      if (nest_.Innermost(header) != header || !IsWorthIt(turns[header])) continue;
      if (++looked_at > kMostLoops) return false;
      std::optional<Loop> loop = LoopAt(preds_, header, dominators_);
      if (!loop || !FindLatch(*loop) || !FindCounter(*loop) || !FindTail(*loop)) continue;
      const bool straight = turns[header].IsStraight();
      std::vector<Inst> estimate;
      in_front_.clear();
      Value many;
      if (mixed_ == Mixed::kAuto)
        many = KeepsMany(*loop, straight ? kMostKeptStraight : kMostKept, estimate);
      if (straight && mixed_ == Mixed::kAuto && !many.valid()) continue;
      Replace(*loop, many, std::move(estimate));
      return true;
    }
    return false;
  }

 private:
  static bool IsWorthIt(const Turn& turn) {
    return turn.fits && turn.kept > 0 && turn.work <= turn.kept;
  }

  // By header; inner loops, whose headers come later, are part of the turn of the one around them.
  std::vector<Turn> TurnsByHeader() const {
    std::vector<Turn> turns(f_.blocks.size());
    for (uint32_t b : dominators_.order()) {
      const uint32_t header = nest_.Innermost(b);
      if (header != kNoBlock) AddBlock(f_.blocks[b], turns[header]);
    }
    const std::vector<uint32_t>& order = dominators_.order();
    for (auto it = order.rbegin(); it != order.rend(); ++it) {
      if (nest_.Innermost(*it) != *it || nest_.Around(*it) == kNoBlock) continue;
      const Turn& inner = turns[*it];
      Turn& turn = turns[nest_.Around(*it)];
      turn.kept = std::max(turn.kept, inner.kept == 0 ? 0 : inner.kept + 1);
      turn.work = std::max(turn.work, inner.work + 1);
      turn.fits &= inner.fits;
      turn.blocks += inner.blocks;
    }
    return turns;
  }

  void AddBlock(const Block& b, Turn& turn) const {
    ++turn.blocks;
    turn.fits &= !b.term.snapshots.valid();
    for (Value v : b.params) turn.fits &= Fits(f_.TypeOf(v));
    for (const Inst& inst : b.insts) {
      turn.fits &= inst.op == Op::Check || (ir::Info(inst.op).flags & ir::kEffect) == 0;
      for (Value v : inst.results) {
        turn.fits &= Fits(f_.TypeOf(v));
        if (IsKept(inst, v)) turn.kept = std::max<int>(turn.kept, f_.TypeOf(v).rank);
      }
      if (inst.each) turn.work = std::max(turn.work, static_cast<int>(inst.each->indices.size()));
    }
  }
  static bool Fits(Type t) { return t.IsScalar() || (t.IsArray() && !t.HasRecord()); }
  // Of an array that is updated its elements are kept (core/ad/undo.h).
  bool IsKept(const Inst& inst, Value v) const {
    return inst.each && f_.TypeOf(v).IsArray() && f_.TypeOf(v).IsFloat();
  }

  // The one block that leads back, by a jump; the header alone leads out.
  bool FindLatch(const Loop& loop) {
    latch_ = kNoBlock;
    for (uint32_t b : loop.blocks) {
      const Terminator& term = f_.blocks[b].term;
      if (term.kind == Terminator::Kind::kReturn) return false;
      for (const Edge& e : term.edges) {
        if (!loop.contains[e.block] && b != loop.header) return false;
        if (e.block != loop.header) continue;
        if (latch_ != kNoBlock || term.kind != Terminator::Kind::kJump) return false;
        latch_ = b;
      }
    }
    const Terminator& term = f_.blocks[loop.header].term;
    return latch_ != loop.header && term.kind == Terminator::Kind::kBranch &&
           loop.contains[term.edges[0].block] != loop.contains[term.edges[1].block];
  }

  bool FindCounter(Loop& loop) const {
    const ir::Values& params = f_.blocks[loop.header].params;
    const ir::Values& next = f_.blocks[latch_].term.edges[0].args;
    for (size_t k = 0; k < params.size(); ++k) {
      if (f_.TypeOf(params[k]) != Type::I64() || !parts_.IsOneMore(next[k], params[k])) continue;
      loop.counter = k;
      return true;
    }
    return false;
  }

  // What has to do with what the loop carries beside its counter: instructions of the latch, and nothing else.
  bool FindTail(const Loop& loop) {
    tail_.assign(f_.values.size(), 0);
    for (Value v : WithoutCounter(f_.blocks[loop.header].params, loop)) tail_[v.id] = 1;
    const auto reads = [&](const auto& user, auto for_each) {
      bool found = false;
      for_each(user, [&](Value v) { found |= tail_[v.id] != 0; });
      return found;
    };
    const auto operands = [](const Inst& inst, auto fn) { ir::ForEachOperand(inst, fn); };
    for (uint32_t b : loop.blocks) {
      for (const Inst& inst : f_.blocks[b].insts) {
        if (!reads(inst, operands)) continue;
        if (b != latch_ || (ir::Info(inst.op).flags & ir::kEffect) != 0) return false;
        MarkTail(inst);
      }
      const Terminator& term = f_.blocks[b].term;
      if (term.cond.valid() && tail_[term.cond.id]) return false;
      for (const Edge& e : term.edges) {
        if (!loop.contains[e.block] || b == latch_) continue;
        if (std::any_of(e.args.begin(), e.args.end(), [&](Value v) { return tail_[v.id] != 0; }))
          return false;
      }
    }
    return FindResults(loop);
  }

  void MarkTail(const Inst& inst) {
    for (Value v : inst.results) tail_[v.id] = 1;
    if (!inst.each) return;
    for (const ir::IndexVar& i : inst.each->indices) tail_[i.var.id] = 1;
    for (const Inst& body : inst.each->body) {
      for (Value v : body.results) tail_[v.id] = 1;
    }
  }

  // What the tail reads of the rest of the turn.
  bool FindResults(const Loop& loop) {
    results_.clear();
    constants_.clear();
    ForEachOfTail(loop, [&](Value v) {
      if (tail_[v.id] || IsAtHand(loop, v)) return;
      const Inst* def = parts_.Definition(v);
      (def && def->op == Op::Const ? constants_ : results_).push_back(v);
    });
    for (ir::Values* found : {&results_, &constants_}) {
      std::sort(found->begin(), found->end());
      found->erase(std::unique(found->begin(), found->end()), found->end());
    }
    return std::any_of(results_.begin(), results_.end(),
                       [&](Value v) { return f_.TypeOf(v).IsFloat(); });
  }
  template <typename Fn>
  void ForEachOfTail(const Loop& loop, Fn&& fn) const {
    const Block& latch = f_.blocks[latch_];
    for (const Inst& inst : latch.insts) {
      if (IsOfTail(inst)) ir::ForEachOperand(inst, fn);
    }
    const ir::Values next = WithoutCounter(latch.term.edges[0].args, loop);
    std::for_each(next.begin(), next.end(), fn);
  }
  bool IsOfTail(const Inst& inst) const {
    return !inst.results.empty() && tail_[inst.results[0].id] != 0;
  }
  // Wherever the loop's blocks are.
  bool IsAtHand(const Loop& loop, Value v) const {
    return !parts_.IsInside(loop, v) || parts_.BlockOf(v) == loop.header;
  }

  // The tail in a block of its own, behind the call or, where the tape does not keep `many`, which `estimate` computes, behind the
  // turn as it was.
  void Replace(const Loop& loop, Value many, std::vector<Inst> estimate) {
    const LoopPart turn = parts_.Turn(loop, results_);
    const auto call = static_cast<uint32_t>(f_.blocks.size()), tail = call + 1, choice = call + 2;
    f_.blocks.push_back(CallOf(loop, turn, tail));
    f_.blocks.push_back(TailOf(loop));
    ir::Edges& edges = f_.blocks[loop.header].term.edges;
    Edge body = std::exchange(edges[loop.contains[edges[0].block] ? 0 : 1],
                              {many.valid() ? choice : call, {}});
    if (!many.valid()) return RemoveBody(loop);
    for (auto& [b, insts] : in_front_) {
      f_.blocks[b].insts.insert(f_.blocks[b].insts.end(), std::make_move_iterator(insts.begin()),
                                std::make_move_iterator(insts.end()));
    }
    Block chosen;
    chosen.insts = std::move(estimate);
    chosen.term = {Terminator::Kind::kBranch, many, {{call, {}}, std::move(body)}, {}};
    f_.blocks.push_back(std::move(chosen));
    Block& latch = f_.blocks[latch_];
    std::erase_if(latch.insts, [&](const Inst& inst) { return IsOfTail(inst); });
    latch.term.edges[0] = {tail, results_};
  }

  Block CallOf(const Loop& loop, const LoopPart& turn, uint32_t tail) {
    Block b;
    Inst call;
    call.op = Op::Call;
    call.callee = turn.function;
    call.checkpoint = true;
    call.args = ir::Values(turn.captured.begin(), turn.captured.end());
    call.args.push_back(f_.blocks[loop.header].params[loop.counter]);
    call.results = Again(results_);
    b.term = {Terminator::Kind::kJump, ir::kNoValue, {{tail, call.results}}, {}};
    b.insts.push_back(std::move(call));
    return b;
  }

  Block TailOf(const Loop& loop) {
    Block b;
    b.params = Again(results_);
    std::map<Value, Value> by;
    for (size_t k = 0; k < results_.size(); ++k) by[results_[k]] = b.params[k];
    for (Value v : constants_) {
      b.insts.push_back(*parts_.Definition(v));
      b.insts.back().results = {by[v] = f_.NewLike(f_, v)};
    }
    const auto replace = [&](Value& v) {
      if (const auto it = by.find(v); it != by.end()) v = it->second;
    };
    for (const Inst& inst : f_.blocks[latch_].insts) {
      if (!IsOfTail(inst)) continue;
      b.insts.push_back(inst);
      ir::ForEachOperand(b.insts.back(), replace);
      ir::CanonicaliseAffines(b.insts.back());
    }
    b.term = f_.blocks[latch_].term;
    ir::ForEachTermOperand(b.term, replace);
    b.term.edges[0].args[loop.counter] = OneMore(f_.blocks[loop.header].params[loop.counter], b);
    return b;
  }
  ir::Values Again(const ir::Values& values) {
    ir::Values again;
    for (Value v : values) again.push_back(f_.NewLike(f_, v));
    return again;
  }

  Value Emit(std::vector<Inst>& insts, Op op, Type t, ir::Values args, uint64_t bits = 0) {
    Inst inst;
    inst.op = op;
    inst.bits = bits;
    inst.args = std::move(args);
    inst.results = {f_.NewValue(t)};
    insts.push_back(std::move(inst));
    return insts.back().results[0];
  }
  Value OneMore(Value counter, Block& b) {
    const Value one = Emit(b.insts, Op::Const, Type::I64(), {}, 1);
    return Emit(b.insts, Op::Add, Type::I64(), {counter, one});
  }

  // Whether the turns make more elements than are kept; kNoValue where that cannot be told in front of the loop.
  Value KeepsMany(const Loop& loop, double most, std::vector<Inst>& insts) {
    const auto shapes = ShapesKept(loop);
    const Value turns = EndOf(loop);
    if (!shapes || !turns.valid()) return ir::kNoValue;
    const Type f64 = Type::F64();  // products of extents may be beyond integers
    const Value once = Emit(insts, Op::Cast, f64, {turns});
    Value all;
    for (const ir::Values& shape : *shapes) {
      Value elements = ElementsOf(loop, shape, once, insts);
      if (!elements.valid()) elements = SumOfTurns(loop, shape, turns);
      if (!elements.valid()) return ir::kNoValue;
      all = all.valid() ? Emit(insts, Op::Add, f64, {all, elements}) : elements;
    }
    const Value limit = Emit(insts, Op::Const, f64, {}, std::bit_cast<uint64_t>(most));
    return Emit(insts, Op::Gt, Type::Bool(), {all, limit});
  }
  // Of all turns, `elements` if a turn had one, where the extents are known in front of the loop; else kNoValue.
  Value ElementsOf(const Loop& loop, const ir::Values& shape, Value elements,
                   std::vector<Inst>& insts) {
    const Type f64 = Type::F64();
    for (Value extent : shape) {
      const Value known = KnownBefore(loop, extent, insts);
      if (!known.valid()) return ir::kNoValue;
      elements = Emit(insts, Op::Mul, f64, {elements, Emit(insts, Op::Cast, f64, {known})});
    }
    return elements;
  }
  // The same where a turn's extents are made of its number, of data and of what is known: a statement adds them up. kNoValue:
  // they are not, or not every number up to the last has a turn.
  Value SumOfTurns(const Loop& loop, const ir::Values& shape, Value turns) {
    const std::optional<uint32_t> before = BlockBefore(loop);
    if (!before) return ir::kNoValue;
    const Type f64 = Type::F64();
    Inst sum;
    sum.op = Op::Each;
    sum.each = std::make_unique<ir::Each>();
    const Value turn = f_.NewValue(Type::I64());
    std::map<Value, Value> copies = {{f_.blocks[loop.header].params[loop.counter], turn}};
    std::vector<Inst>& body = sum.each->body;
    Value elements;
    for (Value extent : shape) {
      const Value copy = CopyOf(loop, extent, copies, body, 0);
      if (!copy.valid()) return ir::kNoValue;
      const Value factor = Emit(body, Op::Cast, f64, {copy});
      elements = elements.valid() ? Emit(body, Op::Mul, f64, {elements, factor}) : factor;
    }
    ir::EachResult& r = sum.each->results.emplace_back();
    r.monoid = ir::Monoid::kSum;
    r.value = elements;
    sum.results = {f_.NewValue(f64)};
    std::vector<Inst>& insts = in_front_[*before];
    const Value zero = Emit(insts, Op::Const, Type::I64(), {});
    const Value count = Emit(insts, Op::Max, Type::I64(), {turns, zero});
    sum.each->indices.push_back({turn, count});
    insts.push_back(std::move(sum));
    return insts.back().results[0];
  }
  // The one that goes to the loop, and nowhere else, whose counter starts at 0.
  std::optional<uint32_t> BlockBefore(const Loop& loop) const {
    std::optional<uint32_t> before;
    for (uint32_t b = 0; b < f_.blocks.size(); ++b) {
      for (const Edge& e : f_.blocks[b].term.edges) {
        if (e.block != loop.header || loop.contains[b]) continue;
        const Inst* first = parts_.Definition(e.args[loop.counter]);
        const bool from_zero = first && first->op == Op::Const && first->bits == 0;
        if (before || !from_zero || f_.blocks[b].term.edges.size() > 1) return std::nullopt;
        before = b;
      }
    }
    return before;
  }
  // An integer that every turn computes; kNoValue: it takes more than integers.
  Value CopyOf(const Loop& loop, Value v, std::map<Value, Value>& copies, std::vector<Inst>& body,
               int depth) {
    constexpr int kMostDeep = 8;
    if (const auto it = copies.find(v); it != copies.end()) return it->second;
    if (!parts_.IsInside(loop, v)) return v;
    const Inst* def = parts_.Definition(v);
    if (!def || depth == kMostDeep || !dominators_.Dominates(parts_.BlockOf(v), latch_))
      return ir::kNoValue;
    const bool reads = def->op == Op::Index && !parts_.IsInside(loop, def->args[0]);
    const bool plain = def->results.size() == 1 && !def->each && f_.TypeOf(v).IsScalar() &&
                       !f_.TypeOf(v).IsFloat() && !ir::MayTrap(*def, f_);
    if (!plain && !reads) return ir::kNoValue;
    Inst copy = *def;
    bool all = true;
    ir::ForEachOperand(copy, [&](Value& operand) {
      if (f_.TypeOf(operand).IsArray()) return;
      operand = CopyOf(loop, operand, copies, body, depth + 1);
      all &= operand.valid();
    });
    if (!all) return ir::kNoValue;
    ir::CanonicaliseAffines(copy);
    copy.results = {copies[v] = f_.NewLike(f_, v)};
    body.push_back(std::move(copy));
    return copies[v];
  }
  // Of the arrays of a turn; nothing where loops inside make some.
  std::optional<std::vector<ir::Values>> ShapesKept(const Loop& loop) const {
    std::vector<ir::Values> shapes;
    for (uint32_t b : loop.blocks) {
      for (const Inst& inst : f_.blocks[b].insts) {
        for (size_t k = 0; k < inst.results.size(); ++k) {
          if (!IsKept(inst, inst.results[k])) continue;
          if (nest_.Innermost(b) != loop.header) return std::nullopt;
          shapes.push_back(inst.each->results[k].shape);
        }
      }
    }
    return shapes;
  }
  Value KnownBefore(const Loop& loop, Value v, std::vector<Inst>& insts) {
    if (IsAtHand(loop, v)) return v;
    const Inst* def = parts_.Definition(v);
    const bool of_shape = def && def->op == Op::Dim && IsAtHand(loop, def->args[0]);
    if (!of_shape && !(def && def->op == Op::Const)) return ir::kNoValue;
    return Emit(insts, def->op, Type::I64(), def->args, def->bits);
  }
  // The counter starts at 0 or more: there are no more turns than this.
  Value EndOf(const Loop& loop) const {
    const Block& header = f_.blocks[loop.header];
    const Inst* test = parts_.Definition(header.term.cond);
    const bool counts = test && test->op == Op::Lt &&
                        test->args[0] == header.params[loop.counter] &&
                        loop.contains[header.term.edges[0].block];
    return counts && IsAtHand(loop, test->args[1]) ? test->args[1] : ir::kNoValue;
  }

  void RemoveBody(const Loop& loop) {
    std::vector<char> gone = loop.contains;
    gone.resize(f_.blocks.size());  // others have come behind
    gone[loop.header] = 0;
    RemoveBlocks(f_, gone);
  }

  Function& f_;
  const Mixed mixed_;
  const FlatLists preds_;
  const ir::Dominators dominators_;
  const analysis::LoopNest nest_;
  LoopParts parts_;
  uint32_t latch_ = kNoBlock;
  std::vector<char> tail_;          // by value: has to do with what the loop carries
  ir::Values results_, constants_;  // of the turn, that the tail reads
  std::map<uint32_t, std::vector<Inst>>
      in_front_;  // by block: what the estimate needs of all turns
};

}  // namespace

uint32_t OutlineTurns(ir::Module& module, uint32_t f, Mixed mixed) {
  if (mixed == Mixed::kCached) return f;
  if (!TurnOutlining(module, f, mixed).MayFind()) return f;
  const uint32_t copy = module.AddFunction(module.Get(f).name + ".turns");
  const std::string name = module.Get(copy).name;
  module.Get(copy) = module.Get(f);
  module.Get(copy).name = name;
  int made = 0;
  while (made < kMostLoops && TurnOutlining(module, copy, mixed).Next()) ++made;
  if (made > 0) return copy;
  module.functions.pop_back();
  return f;
}

}  // namespace pullback::ad
