#include "core/analysis/support.h"

#include <algorithm>
#include <map>

#include "core/analysis/predicate.h"

namespace pullback::analysis {
namespace {

using ir::Inst;
using ir::Op;
using ir::Value;

// More than these, and the answer is "wherever the guard holds".
constexpr size_t kMaxPieces = 16;

using Pieces = std::vector<Conjunction>;

class Supports {
 public:
  Supports(const ir::Each& each, const Box& box) : box_(box) {
    for (const Inst& inst : each.body) {
      for (Value v : inst.results) defs_[v] = &inst;
    }
    everywhere_ = Simplified({each.where});
  }

  Pieces Of(const ir::EachResult& r) {
    Pieces pieces = Of(r.value);
    if (r.second.valid()) pieces = Union(pieces, Of(r.second));
    return r.guard.valid() ? Intersection(pieces, Where(r.guard)) : pieces;
  }

 private:
  Pieces Of(Value v) {
    const auto def = defs_.find(v);
    if (def == defs_.end()) return everywhere_;
    if (const auto it = known_.find(v); it != known_.end()) return it->second;
    const Inst& inst = *def->second;
    Pieces pieces = OfUnguarded(inst);
    if (inst.guard.valid()) pieces = Intersection(pieces, Where(inst.guard));
    return known_[v] = pieces;
  }

  Pieces OfUnguarded(const Inst& inst) {
    switch (inst.op) {
      case Op::Const: return IsZero(inst) ? Pieces() : everywhere_;
      case Op::Mul:
      case Op::SMul: return Intersection(Of(inst.args[0]), Of(inst.args[1]));
      case Op::Add:
      case Op::Sub: return Union(Of(inst.args[0]), Of(inst.args[1]));
      case Op::Neg:
      case Op::Cast:
      case Op::Div: return Of(inst.args[0]);
      case Op::Select:
        return Union(Intersection(Of(inst.args[1]), Where(inst.args[0])), Of(inst.args[2]));
      default: return everywhere_;
    }
  }

  static bool IsZero(const Inst& inst) { return inst.bits == 0; }

  // Where a bool may be true.
  Pieces Where(Value v) {
    const auto def = defs_.find(v);
    if (def == defs_.end()) return everywhere_;
    const Inst& inst = *def->second;
    Pieces pieces = everywhere_;
    if (inst.op == Op::Holds && SpeaksOfPoints(inst.constraints)) {
      pieces = Intersection(pieces, Simplified({inst.constraints.ToVector()}));
    } else if (inst.op == Op::And) {
      pieces = Intersection(Where(inst.args[0]), Where(inst.args[1]));
    } else if (inst.op == Op::Or) {
      pieces = Union(Where(inst.args[0]), Where(inst.args[1]));
    }
    return inst.guard.valid() ? Intersection(pieces, Where(inst.guard)) : pieces;
  }

  // Not of what the body computes.
  bool SpeaksOfPoints(ir::ConstraintSpan constraints) const {
    bool points = true;
    for (const ir::Constraint& c : constraints)
      ir::ForEachOperand(c.e, [&](Value v) { points &= defs_.count(v) == 0; });
    return points;
  }

  Pieces Simplified(Pieces pieces) const {
    Pieces out;
    for (Conjunction& c : pieces) {
      Work work;
      if (Simplify(c, box_, work) == Truth::kFalse || ProvesEmpty(c, box_, work)) continue;
      if (std::find(out.begin(), out.end(), c) == out.end()) out.push_back(std::move(c));
    }
    return out;
  }

  // Without pieces that lie in others.
  Pieces Union(const Pieces& a, const Pieces& b) const {
    Pieces all = a;
    all.insert(all.end(), b.begin(), b.end());
    Pieces out;
    for (size_t k = 0; k < all.size(); ++k) {
      bool covered = false;
      for (size_t other = 0; other < all.size() && !covered; ++other) {
        const bool before = other < k || !Lies(all[other], all[k]);
        covered = other != k && before && Lies(all[k], all[other]);
      }
      if (!covered) out.push_back(all[k]);
    }
    return out.size() > kMaxPieces ? everywhere_ : out;
  }
  bool Lies(const Conjunction& inner, const Conjunction& outer) const {
    Work work;
    return std::all_of(outer.begin(), outer.end(), [&](const ir::Constraint& c) {
      return ProvesImplied(inner, c, box_, work);
    });
  }

  Pieces Intersection(const Pieces& a, const Pieces& b) const {
    if (a.size() * b.size() > kMaxPieces) return a.size() < b.size() ? a : b;
    Pieces out;
    for (const Conjunction& x : a) {
      for (const Conjunction& y : b) {
        Conjunction both = x;
        both.insert(both.end(), y.begin(), y.end());
        out.push_back(std::move(both));
      }
    }
    return Simplified(std::move(out));
  }

  const Box& box_;
  std::map<Value, const Inst*> defs_;
  std::map<Value, Pieces> known_;
  Pieces everywhere_;
};

}  // namespace

std::vector<Conjunction> SupportOf(const ir::Each& each, const ir::EachResult& result,
                                   const Box& box) {
  return Supports(each, box).Of(result);
}

}  // namespace pullback::analysis
