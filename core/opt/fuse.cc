// Reads of a generated array become the expression that generates it (dF~'s get of build, rule 8c;
// 5.30's X[a] for a let-bound X).
#include <algorithm>
#include <map>
#include <optional>

#include "core/analysis/loop_nest.h"
#include "core/analysis/outer_values.h"
#include "core/analysis/predicate.h"
#include "core/ir/append.h"
#include "core/ir/op_weight.h"
#include "core/ir/statements.h"
#include "core/opt/element.h"
#include "core/opt/parts.h"
#include "core/opt/pointwise.h"
#include "core/opt/rename.h"
#include "core/opt/simplify.h"

namespace pullback::opt {
namespace {

using ir::Affine;
using ir::Each;
using ir::EachResult;
using ir::Inst;
using ir::Op;
using ir::Value;

constexpr size_t kMaxBody = 200;
constexpr size_t kMostChecked = 8;    // of a block
constexpr int64_t kMostOfVector = 8;  // by core/ir/op_weight.h

class Fuser {
 public:
  Fuser(ir::Function& f, bool only_free, const RewriteOptions& options)
      : f_(f),
        only_free_(only_free),
        options_(options),
        uses_(f.values.size()),
        outer_(f),
        dominators_(f),
        loops_(f, dominators_),
        read_(f) {
    for (const ir::Block& b : f.blocks) {
      for (const Inst& inst : b.insts) ir::ForEachOperand(inst, [&](Value v) { ++uses_[v.id]; });
      ir::ForEachTermOperand(b.term, [&](Value v) { ++uses_[v.id]; });
    }
  }

  bool Run() {
    bool changed = false;
    for (uint32_t b : dominators_.order()) {
      block_ = b;
      orders_.clear();
      checked_.clear();
      std::vector<Inst>& insts = f_.blocks[b].insts;
      for (Inst& inst : insts) {
        if (inst.op == Op::Zeros) zeros_[inst.results[0]] = inst.args;
        NoteCheck(inst);
        if (!inst.each) continue;
        changed |= FuseInto(*inst.each);
        for (size_t k = 0; k < inst.results.size(); ++k) {
          if (IsPointwise(*inst.each, inst.each->results[k]))
            producers_[inst.results[k]] = {inst.each.get(), k, b, inst.results};
        }
      }
      changed |= FuseReadsOf(insts);
    }
    if (read_.any()) read_.Apply(f_);
    return changed;
  }

 private:
  struct Producer {
    const Each* each;
    size_t result;
    uint32_t block;
    ir::Values results;  // of the statement
  };

  // What the block has checked in front of a statement holds there: orders of integers.
  void NoteCheck(const Inst& inst) {
    const bool order =
        inst.op == Op::Ge || inst.op == Op::Gt || inst.op == Op::Le || inst.op == Op::Lt;
    if (order && f_.TypeOf(inst.args[0]) == ir::Type::I64()) orders_[inst.results[0]] = &inst;
    if (inst.op != Op::Check || checked_.size() == kMostChecked) return;
    if (const auto it = orders_.find(inst.args[0]); it != orders_.end())
      checked_.push_back(it->second);
  }
  void AddChecked(analysis::Box& box, std::vector<ir::Constraint>& known) const {
    for (const Inst* order : checked_) {
      const Affine a = outer_.Describe(order->args[0], box),
                   b = outer_.Describe(order->args[1], box);
      const bool less = order->op == Op::Le || order->op == Op::Lt;
      const bool strict = order->op == Op::Gt || order->op == Op::Lt;
      known.push_back({(less ? b - a : a - b) - Affine::Const(strict ? 1 : 0), false});
    }
  }

  // The reads of a block's own.
  bool FuseReadsOf(std::vector<Inst>& insts) {
    std::vector<Inst> made;
    bool changed = false;
    for (Inst& inst : insts) {
      const bool fused = inst.op == Op::Index && FuseRead(inst, made);
      if (!fused) made.push_back(std::move(inst));
      changed |= fused;
    }
    insts = std::move(made);
    return changed;
  }

  // Nothing is evaluated that was not before; the subscripts are checked as the read checked them.
  bool FuseRead(const Inst& read, std::vector<Inst>& made) {
    const auto it = producers_.find(read.args[0]);
    if (it == producers_.end()) return false;
    const Producer& producer = it->second;
    const EachResult& r = producer.each->results[producer.result];
    if (!MayRepeat(producer, read, nullptr) || !loops_.RunsNoMoreOften(block_, producer.block) ||
        !std::all_of(r.shape.begin(), r.shape.end(), [&](Value n) { return IsSize(n); }))
      return false;
    auto element = Element(f_, *producer.each, producer.result).ForBlock(read);
    if (!element || !options_.Take(RuleId::kGetOfBuild)) return false;
    for (size_t k = 0; k < r.shape.size(); ++k) CheckRange(read, k, r.shape[k], made);
    for (Inst& inst : element->insts) made.push_back(std::move(inst));
    read_.Set(read.results[0], element->value);
    uses_.resize(f_.values.size());
    --uses_[read.args[0].id];
    return true;
  }

  void CheckRange(const Inst& read, size_t axis, Value extent, std::vector<Inst>& made) {
    ir::Appender out(f_, made, read.loc);
    const Value index = out.Number(read.subs[axis]), zero = out.Number({});
    for (const Value holds : {out.Make(Op::Ge, ir::Type::Bool(), {index, zero}),
                              out.Make(Op::Lt, ir::Type::Bool(), {index, extent})})
      out.Check(holds, ir::TrapKind::kIndex, {index, extent});
  }

  bool FuseInto(Each& consumer) {
    bool changed = false;
    for (size_t at = 0; at < consumer.body.size(); ++at) {
      const Inst read = consumer.body[at];
      if (read.op != Op::Index) continue;
      if (ReadsZero(consumer, read) && options_.Take(RuleId::kGetOfZeros)) {
        consumer.body[at] = ZeroLike(read);
        --uses_[read.args[0].id];
        changed = true;
        continue;
      }
      const auto it = producers_.find(read.args[0]);
      if (it == producers_.end() || !MayFuse(consumer, read, it->second) ||
          !options_.Take(RuleId::kGetOfBuild))
        continue;
      const size_t added = Replace(consumer, at, *it->second.each, it->second.result);
      at += added;
      --uses_[read.args[0].id];
      changed = true;
    }
    return changed;
  }

  bool ReadsZero(const Each& consumer, const Inst& read) const {
    const auto zeros = zeros_.find(read.args[0]);
    if (zeros == zeros_.end()) return false;
    for (size_t k = 0; k < read.subs.size(); ++k) {
      const Value extent = zeros->second[k];
      if (!IsSize(extent) || !IsInRange(consumer, read, k, extent)) return false;
    }
    return true;
  }
  // Not negative: the array's own trap, at its own place, is none.
  bool IsSize(Value extent) const {
    analysis::Box box;
    const Affine form = outer_.Describe(extent, box);
    const std::optional<analysis::Interval> range = box.RangeOf(form);
    return range && range->lo >= 0;
  }
  static Inst ZeroLike(const Inst& read) {
    Inst zero;
    zero.op = Op::Const;
    zero.guard = read.guard;
    zero.results = read.results;
    return zero;
  }

  bool MayFuse(const Each& consumer, const Inst& read, const Producer& producer) const {
    const Each& each = *producer.each;
    if (!loops_.RunsNoMoreOften(block_, producer.block) || OnlyPlaces(consumer)) return false;
    if (IsTurnedCopy(each)) return false;
    if (consumer.body.size() + each.body.size() * each.results.size() > kMaxBody) return false;
    const EachResult& r = each.results[producer.result];
    for (size_t k = 0; k < r.shape.size(); ++k) {
      if (!IsInRange(consumer, read, k, r.shape[k])) return false;
    }
    if (!MayRepeat(producer, read, &consumer)) return false;
    // A guard is of the body.
    if (!ir::FindDef(each, r.value) && IsGuard(consumer, read.results[0])) return false;
    if (CallsMath(each) && PlacesByData(consumer)) return false;
    return IsFree(producer) || NamesEveryIndex(consumer, read.subs);
  }

  static bool IsGuard(const Each& each, Value v) {
    const auto has = [&](const auto& of) { return of.guard == v; };
    return std::any_of(each.body.begin(), each.body.end(), has) ||
           std::any_of(each.results.begin(), each.results.end(), has);
  }

  // Of a turn, such as the difference of two points: to make it again takes less than an array that each turn takes and gives up.
  bool IsCheapVector(const Producer& p) const {
    if (loops_.Innermost(p.block) == ir::kNoBlock || p.each->results[p.result].shape.size() != 1)
      return false;
    int64_t weight = 0;
    for (const Inst& inst : p.each->body) {
      if ((ir::Info(inst.op).flags & ir::kLibm) != 0 || ir::HasCallee(inst.op)) return false;
      weight += ir::OpWeight(inst.op);
    }
    return weight <= kMostOfVector;
  }
  bool IsFree(const Producer& p) const { return Parts(f_, *p.each).WorkOf(p.result) == 0; }

  // Whether it costs nothing to evaluate at a read what is evaluated for its array: nobody else reads that, nor
  // a part of it that shares work; the consumer may read several parts of one element.
  bool MayRepeat(const Producer& p, const Inst& read, const Each* consumer) const {
    const Parts parts(f_, *p.each);
    if (parts.WorkOf(p.result) == 0) return true;
    if (only_free_ && !IsCheapVector(p)) return false;
    const EachResult& r = p.each->results[p.result];
    for (const size_t part : parts.Sharing(p.result)) {
      const EachResult& other = p.each->results[part];
      const Value array = p.results[part];
      int reads = part == p.result ? 1 : 0;
      if (consumer && part != p.result) reads = ReadsLike(*consumer, read, array);
      const bool alike =
          IsPointwise(*p.each, other) && other.out == r.out && other.shape == r.shape;
      if (!alike || uses_[array.id] != reads) return false;
    }
    return true;
  }

  // How often the statement reads the element of another array.
  static int ReadsLike(const Each& each, const Inst& read, Value array) {
    return static_cast<int>(
        std::count_if(each.body.begin(), each.body.end(), [&](const Inst& inst) {
          return inst.op == Op::Index && inst.args[0] == array && inst.subs == read.subs &&
                 inst.guard == read.guard;
        }));
  }

  // Whether the subscript lies in [0, extent) wherever the read is evaluated. At once: an index with that
  // extent, or 0 where some index with that extent exists (the space is empty otherwise).
  bool IsInRange(const Each& consumer, const Inst& read, size_t axis, Value extent) const {
    const Affine& sub = read.subs[axis];
    for (const ir::IndexVar& i : consumer.indices) {
      if (i.extent == extent && (sub.AsValue() == i.var || sub == Affine::Const(0))) return true;
    }
    std::vector<ir::Constraint> known = consumer.where;
    for (const Inst& inst : consumer.body) {
      const bool guards =
          read.guard.valid() && inst.op == Op::Holds && inst.results[0] == read.guard;
      if (guards) known.insert(known.end(), inst.constraints.begin(), inst.constraints.end());
    }
    analysis::Box box = outer_.BoxOf(consumer);
    const Affine end = outer_.Describe(extent, box);
    if (const Value size = end.AsValue(); size.valid()) {
      const analysis::Interval known = box.RangeOf(size);  // of an array that is read
      box.AddValue(size, {std::max<int64_t>(known.lo, 0), std::min(known.hi, kMaxExtent)});
    }
    const auto proves = [&] {
      analysis::Work work;
      return analysis::ProvesImplied(known, {sub, false}, box, work) &&
             analysis::ProvesImplied(known, {end - sub - Affine::Const(1), false}, box, work);
    };
    if (proves()) return true;
    if (checked_.empty()) return false;
    AddChecked(box, known);
    return proves();
  }

  // Puts the element in place of the read; gives how many instructions more there are.
  size_t Replace(Each& consumer, size_t at, const Each& producer, size_t result) {
    const Inst read = std::move(consumer.body[at]);
    Element::Made element = Element(f_, producer, result).ForBody(read);
    uses_.resize(f_.values.size());
    const auto hole = consumer.body.erase(consumer.body.begin() + static_cast<long>(at));
    consumer.body.insert(hole, std::make_move_iterator(element.insts.begin()),
                         std::make_move_iterator(element.insts.end()));
    Rename(consumer, read.results[0], element.value);
    return element.insts.size() - 1;
  }

  static void Rename(Each& each, Value from, Value to) {
    const auto rename = [&](Value& v) {
      if (v == from) v = to;
    };
    for (Inst& inst : each.body) {
      ir::ForEachOperand(inst, rename);
      ir::CanonicaliseAffines(inst);
    }
    for (EachResult& r : each.results) {
      for (Affine& a : r.out) {
        ir::ForEachOperand(a, rename);
        ir::Canonicalise(a);
      }
      rename(r.value);
      if (r.guard.valid()) rename(r.guard);
      if (r.second.valid()) rename(r.second);
    }
  }

  ir::Function& f_;
  const bool only_free_;
  const RewriteOptions& options_;
  std::vector<int> uses_;
  const analysis::OuterValues outer_;
  const ir::Dominators dominators_;
  const analysis::LoopNest loops_;
  uint32_t block_ = 0;                   // that is being visited
  std::map<Value, const Inst*> orders_;  // there, by what they give
  std::vector<const Inst*> checked_;     // of these
  std::map<Value, Producer> producers_;
  std::map<Value, ir::Values> zeros_;  // extents
  Renaming read_;                      // what reads in blocks gave
};

}  // namespace

bool FuseReads(ir::Function& f, bool only_free, const RewriteOptions& options) {
  return Fuser(f, only_free, options).Run();
}

}  // namespace pullback::opt
