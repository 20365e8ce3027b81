// Reads of a generated array become the expression that generates it (dF~'s get of build, rule 8c;
// 5.30's X[a] for a let-bound X).
#include <algorithm>
#include <map>
#include <optional>

#include "core/analysis/outer_values.h"
#include "core/analysis/predicate.h"
#include "core/opt/pointwise.h"
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

int FlopsOf(const Each& each, const ir::Function& f) {
  int flops = 0;
  for (const Inst& inst : each.body) {
    const bool counts = inst.op == Op::Call || (ir::Info(inst.op).rule != ir::TypeRule::Own &&
                                                f.TypeOf(inst.results[0]).IsFloat());
    flops += counts;
  }
  return flops;
}

class Fuser {
 public:
  Fuser(ir::Function& f, bool only_free)
      : f_(f), only_free_(only_free), uses_(f.values.size()), outer_(f) {
    for (const ir::Block& b : f.blocks) {
      for (const Inst& inst : b.insts) ir::ForEachOperand(inst, [&](Value v) { ++uses_[v.id]; });
      ir::ForEachTermOperand(b.term, [&](Value v) { ++uses_[v.id]; });
    }
  }

  bool Run() {
    bool changed = false;
    for (ir::Block& b : f_.blocks) {
      producers_.clear();
      zeros_.clear();
      for (Inst& inst : b.insts) {
        if (inst.op == Op::Zeros) zeros_[inst.results[0]] = inst.args;
        if (!inst.each) continue;
        changed |= FuseInto(*inst.each);
        for (size_t k = 0; k < inst.results.size(); ++k) {
          if (IsPointwise(*inst.each, inst.each->results[k]))
            producers_[inst.results[k]] = {&inst, k};
        }
      }
    }
    return changed;
  }

 private:
  struct Producer {
    const Inst* inst;
    size_t result;
  };

  bool FuseInto(Each& consumer) {
    bool changed = false;
    for (size_t at = 0; at < consumer.body.size(); ++at) {
      const Inst read = consumer.body[at];
      if (read.op != Op::Index) continue;
      if (ReadsZero(consumer, read)) {
        consumer.body[at] = ZeroLike(read);
        --uses_[read.args[0].id];
        changed = true;
        continue;
      }
      const auto it = producers_.find(read.args[0]);
      if (it == producers_.end() || !MayFuse(consumer, read, it->second)) continue;
      const size_t added = Replace(consumer, at, *it->second.inst->each, it->second.result);
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
    const Each& each = *producer.inst->each;
    if (consumer.body.size() + each.body.size() > kMaxBody) return false;
    const EachResult& r = each.results[producer.result];
    for (size_t k = 0; k < r.shape.size(); ++k) {
      if (!IsInRange(consumer, read, k, r.shape[k])) return false;
    }
    if (FlopsOf(each, f_) == 0) return true;
    if (only_free_ || each.results.size() != 1 || uses_[read.args[0].id] != 1) return false;
    // Never evaluated at more points than before: the read names every index of the consumer.
    return std::all_of(consumer.indices.begin(), consumer.indices.end(), [&](const auto& i) {
      return std::any_of(read.subs.begin(), read.subs.end(),
                         [&](const Affine& a) { return a.AsValue() == i.var; });
    });
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
    analysis::Work work;
    return analysis::ProvesImplied(known, {sub, false}, box, work) &&
           analysis::ProvesImplied(known, {end - sub - Affine::Const(1), false}, box, work);
  }

  // Puts the producer's body, at the read's subscripts, in place of the read; gives how many
  // instructions more there are.
  size_t Replace(Each& consumer, size_t at, const Each& producer, size_t result) {
    const Inst read = std::move(consumer.body[at]);
    std::vector<Inst> made;
    subs_.clear();
    copies_.clear();
    const EachResult& r = producer.results[result];
    std::vector<ir::Constraint> inside = PlaceIndices(producer, r, read.subs);
    for (const ir::Constraint& c : producer.where) inside.push_back({Map(c.e), c.equality});
    const Value guard = GuardOf(std::move(inside), read.guard, made);
    for (const Inst& inst : producer.body) Copy(inst, guard, made);
    const Value value = ResultOf(r.value, guard, made);
    const size_t added = made.size() - 1;
    consumer.body.erase(consumer.body.begin() + static_cast<long>(at));
    consumer.body.insert(consumer.body.begin() + static_cast<long>(at),
                         std::make_move_iterator(made.begin()),
                         std::make_move_iterator(made.end()));
    Rename(consumer, read.results[0], value);
    return added;
  }

  Value Append(std::vector<Inst>& made, Op op, ir::Type type, Value guard) {
    Inst inst;
    inst.op = op;
    inst.guard = guard;
    inst.results = {f_.NewValue(type)};
    uses_.resize(f_.values.size());
    made.push_back(std::move(inst));
    return made.back().results[0];
  }

  // Each index follows from the first subscript that it makes; what the others, and its own range, ask for.
  std::vector<ir::Constraint> PlaceIndices(const Each& producer, const EachResult& r,
                                           const std::vector<Affine>& subs) {
    std::vector<ir::Constraint> asked;
    for (size_t k = 0; k < r.out.size(); ++k) {
      const Value index = IndexOf(producer, r.out[k]);
      const Affine at = subs[k] - (r.out[k] - Affine::Of(index));
      const auto [placed, first] = subs_.try_emplace(index, at);
      if (!first && at != placed->second) asked.push_back({at - placed->second, true});
      const Value extent = std::find_if(producer.indices.begin(), producer.indices.end(),
                                        [&](const ir::IndexVar& i) { return i.var == index; })
                               ->extent;
      const bool shifted = at != subs[k];
      if (!first || (!shifted && extent == r.shape[k])) continue;
      if (shifted) asked.push_back({at, false});
      asked.push_back({Affine::Of(extent) - at - Affine::Const(1), false});
    }
    return asked;
  }

  // Where the element is what the producer's body says; 0 elsewhere.
  Value GuardOf(std::vector<ir::Constraint> inside, Value read_guard, std::vector<Inst>& made) {
    if (inside.empty()) return read_guard;
    const Value guard = Append(made, Op::Holds, ir::Type::Bool(), read_guard);
    made.back().constraints = std::move(inside);
    return guard;
  }

  Affine Map(const Affine& a) const {
    Affine out = Affine::Const(a.constant);
    for (const Affine::Term& t : a.terms) {
      if (const auto sub = subs_.find(t.value); sub != subs_.end()) {
        out = out + sub->second * t.coeff;
      } else {
        out = out + Affine::Of(Copied(t.value)) * t.coeff;
      }
    }
    return out;
  }
  Value Copied(Value v) const {
    const auto it = copies_.find(v);
    return it == copies_.end() ? v : it->second;
  }
  // As an operand: an index becomes the value of its subscript.
  Value Operand(Value v, Value guard, std::vector<Inst>& made) {
    const auto sub = subs_.find(v);
    if (sub == subs_.end()) return Copied(v);
    if (const Value plain = sub->second.AsValue(); plain.valid()) return plain;
    const Value value = Append(made, Op::AffineOf, ir::Type::I64(), guard);
    made.back().subs = {sub->second};
    return value;
  }

  void Copy(const Inst& inst, Value guard, std::vector<Inst>& made) {
    Inst copy = inst;
    for (Value& v : copy.args) v = Operand(v, guard, made);
    for (Affine& a : copy.subs) a = Map(a);
    for (ir::Constraint& c : copy.constraints) c.e = Map(c.e);
    // A guard of the producer's own was copied under `guard`, and is false where that is.
    copy.guard = inst.guard.valid() ? Copied(inst.guard) : guard;
    for (Value& v : copy.results) {
      const ir::ValueInfo info = f_.values[v.id];
      const Value fresh = f_.NewValue(info.type, info.name);
      copies_[v] = fresh;
      v = fresh;
    }
    uses_.resize(f_.values.size());
    made.push_back(std::move(copy));
  }

  // A value from outside, or an index, is not 0 outside the guard by itself.
  Value ResultOf(Value v, Value guard, std::vector<Inst>& made) {
    const Value value = Operand(v, guard, made);
    const bool in_body = copies_.count(v) != 0;
    if (in_body || !guard.valid()) {
      if (made.empty()) Append(made, Op::Const, ir::Type::I64(), ir::kNoValue);
      return value;
    }
    // Under the guard itself, so that what reads it sees an element that is absent.
    const Value there = Append(made, Op::Select, f_.TypeOf(value), guard);
    made.back().args = {guard, value, value};
    return there;
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
  std::vector<int> uses_;
  const analysis::OuterValues outer_;
  std::map<Value, Producer> producers_;
  std::map<Value, std::vector<Value>> zeros_;  // extents
  std::map<Value, Affine> subs_;
  std::map<Value, Value> copies_;
};

}  // namespace

bool FuseReads(ir::Function& f, bool only_free) { return Fuser(f, only_free).Run(); }

}  // namespace pullback::opt
