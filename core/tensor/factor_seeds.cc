// What a number multiplies in all that becomes of it is made without the number, which multiplies the results. So what is
// made in front of a total need not wait for it, as the cotangent of a total's function would make it:
//
//   t, k = each(i, j) { … e } sum []: e, gen [i, j]: e        t, g' = each(i, j) { … e } sum []: e, sum [i]: e * x[j]
//   s = div 1.0, t                                            s = div 1.0, t
//   g = each(i, j) { s * k[i, j] * x[j] } sum [i]             g = each(i) { s * g'[i] } gen [i]
//
// Only where an array larger than the function's own is read behind the number alone by what it multiplies. The terms are
// rounded before they are multiplied, and may overflow where their products would not: of f64, whose range leaves room.
#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "core/ir/block_loops.h"
#include "core/ir/dominance.h"
#include "core/ir/literal.h"
#include "core/ir/own_arrays.h"
#include "core/tensor/linear_values.h"
#include "core/tensor/normalise.h"
#include "core/tensor/statement_edit.h"

namespace pullback::tensor {
namespace {

using ir::Affine;
using ir::Each;
using ir::EachResult;
using ir::Inst;
using ir::Op;
using ir::Value;
using ValueSet = std::set<Value>;

constexpr size_t kMostTries = 16;  // numbers of a block
constexpr int kMostRounds = 4;

// What the function says of its values.
struct Uses {
  Uses(const ir::Function& f, const ir::OwnArrays& own);
  const ir::Dominators dominators;
  std::vector<uint32_t> made;               // by value: the block; kNoBlock: in none, or for a body
  std::vector<std::vector<uint32_t>> used;  // by value: blocks
  std::vector<char> surely;                 // by block: on each path to a return, outside of loops
  ValueSet zeros;                           // constants
  ValueSet large;                           // arrays larger than the function's own
};

Uses::Uses(const ir::Function& f, const ir::OwnArrays& own)
    : dominators(f), made(f.values.size(), ir::kNoBlock), used(f.values.size()) {
  const std::vector<std::set<uint32_t>> loops = ir::LoopsAround(f, dominators);
  std::vector<uint32_t> returns;
  for (uint32_t b : dominators.order()) {
    const auto use = [&](Value v) {
      if (used[v.id].empty() || used[v.id].back() != b) used[v.id].push_back(b);
    };
    for (Value v : f.blocks[b].params) made[v.id] = b;
    for (const Inst& inst : f.blocks[b].insts) {
      for (Value v : inst.results) made[v.id] = b;
      ir::ForEachOperand(inst, use);
      if (inst.op == Op::Const && inst.bits == 0) zeros.insert(inst.results[0]);
      for (size_t k = 0; inst.each && k < inst.results.size(); ++k) {
        if (!own.IsNoLarger(inst.each->results[k].shape)) large.insert(inst.results[k]);
      }
    }
    ir::ForEachTermOperand(f.blocks[b].term, use);
    if (f.blocks[b].term.kind == ir::Terminator::Kind::kReturn) returns.push_back(b);
  }
  for (uint32_t b = 0; b < f.blocks.size(); ++b) {
    surely.push_back(loops[b].empty() &&
                     std::all_of(returns.begin(), returns.end(),
                                 [&](uint32_t r) { return dominators.Dominates(b, r); }));
  }
}

class SeedFactorer {
 public:
  SeedFactorer(ir::Function& f, uint32_t block, const ir::OwnArrays& own, const Uses& function)
      : f_(f), at_(block), block_(f.blocks[block]), own_(own), function_(function) {}

  bool Run() {
    const ir::Values numbers = Numbers();
    return std::any_of(numbers.begin(), numbers.end(), [&](Value v) { return Factor(v); });
  }

 private:
  ir::Values Numbers() const;
  bool Factor(Value number);
  bool FindCone(Value number);
  bool SavesArray();
  bool MayScale() const;
  void Rewrite(Value number);
  void Place(Inst one, const std::set<Value>& cone);
  std::set<size_t> Hoisted(const std::set<Value>& cone) const;
  std::vector<Inst> Product(Value number, Value x, Value v, uint32_t loc);
  Inst Scaled(Value number, Value by, Value v, const EachResult& like, uint32_t loc);
  bool IsElsewhere(Value v) const;
  const EachResult* ResultOf(Value v) const;

  ir::Function& f_;
  const uint32_t at_;
  ir::Block& block_;
  const ir::OwnArrays& own_;
  const Uses& function_;
  size_t first_ = 0;       // the instruction behind the number
  std::set<size_t> cone_;  // places of instructions
  ValueSet linear_;        // what they give that is
  ValueSet outside_;       // of that, what others read
  uint32_t home_ = 0;      // where the array is made that is saved
  ValueSet results_;       // of the block's instructions
};
// Those that are made of totals, or come from other blocks, and that statements read.
ir::Values SeedFactorer::Numbers() const {
  ValueSet totals, used;
  for (const Inst& inst : block_.insts) {
    if (!inst.each) continue;
    for (const Inst& body : inst.each->body) used.insert(body.args.begin(), body.args.end());
  }
  ir::Values numbers;
  const auto add = [&](Value v) {
    const ir::Type t = f_.TypeOf(v);
    if (!t.IsScalar()) return;
    totals.insert(v);
    const bool may = t.elem == DType::kF64 && used.contains(v);
    if (may && numbers.size() < kMostTries) numbers.push_back(v);
  };
  if (at_ != 0) std::for_each(block_.params.begin(), block_.params.end(), add);
  for (const Inst& inst : block_.insts) {
    bool of = inst.each != nullptr;
    if (!of) ir::ForEachOperand(inst, [&](Value v) { of = of || totals.contains(v); });
    if (of) std::for_each(inst.results.begin(), inst.results.end(), add);
  }
  return numbers;
}

const EachResult* SeedFactorer::ResultOf(Value v) const {
  for (size_t at : cone_) {
    const Inst& inst = block_.insts[at];
    for (size_t k = 0; inst.each && k < inst.results.size(); ++k) {
      if (inst.results[k] == v) return &inst.each->results[k];
    }
  }
  return nullptr;
}

bool SeedFactorer::IsElsewhere(Value v) const {
  if (v.id >= function_.used.size()) return false;
  const std::vector<uint32_t>& used = function_.used[v.id];
  return std::any_of(used.begin(), used.end(), [&](uint32_t b) { return b != at_; });
}

// What the number multiplies, and what reads it otherwise. False: nothing.
bool SeedFactorer::FindCone(Value number) {
  LinearValues linear(number, function_.zeros);
  cone_.clear();
  linear_.clear();
  outside_.clear();
  const auto leave = [&](Value v) {
    if (linear_.contains(v)) outside_.insert(v);
  };
  for (size_t k = first_; k < block_.insts.size(); ++k) {
    const Inst& inst = block_.insts[k];
    if (!linear.Reads(inst)) continue;
    if (!linear.Add(inst)) {
      ir::ForEachOperand(inst, leave);
      for (size_t r = 0; inst.each && r < inst.each->results.size(); ++r)
        leave(inst.each->results[r].into);
      continue;
    }
    cone_.insert(k);
    for (Value v : inst.results) {
      if (linear.Holds(v)) linear_.insert(v);
    }
  }
  ir::ForEachTermOperand(block_.term, leave);
  for (Value v : linear_) {
    if (IsElsewhere(v)) outside_.insert(v);
  }
  return !cone_.empty();
}

// Something large that is made before the number is read behind it by nothing else.
bool SeedFactorer::SavesArray() {
  ValueSet read, others;
  for (size_t k = first_; k < block_.insts.size(); ++k) {
    ir::ForEachOperand(block_.insts[k], [&](Value v) {
      if (function_.large.contains(v)) (cone_.contains(k) ? read : others).insert(v);
    });
    others.insert(block_.insts[k].results.begin(), block_.insts[k].results.end());
  }
  for (Value v : read) {
    const uint32_t made = function_.made[v.id];
    const std::vector<uint32_t>& used = function_.used[v.id];
    const bool here =
        std::all_of(used.begin(), used.end(), [&](uint32_t b) { return b == at_ || b == made; });
    if (!here || others.contains(v)) continue;
    home_ = made;
    return true;
  }
  return false;
}

// What is multiplied at the end is no larger than what the function has.
bool SeedFactorer::MayScale() const {
  return std::all_of(outside_.begin(), outside_.end(), [&](Value v) {
    if (f_.TypeOf(v).IsScalar()) return true;
    const EachResult* const r = ResultOf(v);
    return r && own_.IsNoLarger(r->shape);
  });
}

bool SeedFactorer::Factor(Value number) {
  first_ = 0;
  for (size_t k = 0; k < block_.insts.size(); ++k) {
    const ir::Values& results = block_.insts[k].results;
    if (std::find(results.begin(), results.end(), number) != results.end()) first_ = k + 1;
  }
  if (!FindCone(number) || !SavesArray() || !MayScale()) return false;
  Rewrite(number);
  return true;
}

// v, the number times x: 0 where one of them is, as each term is that the number or the sum does not reach.
std::vector<Inst> SeedFactorer::Product(Value number, Value x, Value v, uint32_t loc) {
  Inst zero, is_zero, product, chosen;
  zero.op = Op::Const;
  zero.results = {f_.NewLike(f_, number)};
  is_zero.op = Op::Eq;
  is_zero.args = {number, zero.results[0]};
  is_zero.results = {f_.NewValue(ir::Type::Bool())};
  product.op = Op::SMul;
  product.args = {x, number};
  product.results = {f_.NewLike(f_, number)};
  chosen.op = Op::Select;
  chosen.args = {is_zero.results[0], zero.results[0], product.results[0]};
  chosen.results = {v};
  std::vector<Inst> insts;
  for (Inst* inst : {&zero, &is_zero, &product, &chosen}) {
    inst->loc = loc;
    insts.push_back(std::move(*inst));
  }
  return insts;
}

// The same of each element.
Inst SeedFactorer::Scaled(Value number, Value by, Value v, const EachResult& like, uint32_t loc) {
  Inst statement, read;
  statement.op = Op::Each;
  statement.loc = read.loc = loc;
  statement.each = std::make_unique<Each>();
  statement.results = {v};
  Each& each = *statement.each;
  EachResult& r = each.results.emplace_back();
  r.monoid = ir::Monoid::kGen;
  r.shape = like.shape;
  read.op = Op::Index;
  read.args = {by};
  for (Value extent : like.shape) {
    const Value i = f_.NewValue(ir::Type::I64());
    each.indices.push_back({i, extent});
    r.out.push_back(Affine::Of(i));
  }
  read.subs = ir::AffineSpan(r.out);
  read.results = {f_.NewLike(f_, number)};
  r.value = f_.NewLike(f_, number);
  std::vector<Inst> product = Product(number, read.results[0], r.value, loc);
  each.body.push_back(std::move(read));
  std::move(product.begin(), product.end(), std::back_inserter(each.body));
  return statement;
}

// The cone reads 1 for the number, and what others read of it is multiplied.
void SeedFactorer::Rewrite(Value number) {
  Inst one;
  one.op = Op::Const;
  one.bits = ir::FloatBits(f_.TypeOf(number).elem, 1.0);
  one.results = {f_.NewLike(f_, number)};
  std::unordered_map<uint32_t, Value> by = {{number.id, one.results[0]}};
  for (Value v : outside_) by[v.id] = f_.NewLike(f_, v);
  std::vector<Inst> insts;
  ValueSet cone;
  insts.reserve(block_.insts.size() + outside_.size() + 1);
  for (size_t k = 0; k < block_.insts.size(); ++k) {
    Inst inst = std::move(block_.insts[k]);
    if (!cone_.contains(k)) {
      insts.push_back(std::move(inst));
      continue;
    }
    std::vector<Inst> scaled;
    for (size_t r = 0; r < inst.results.size(); ++r) {
      const Value v = inst.results[r];
      if (!outside_.contains(v)) continue;
      if (f_.TypeOf(v).IsArray()) {
        scaled.push_back(Scaled(number, by.at(v.id), v, inst.each->results[r], inst.loc));
      } else {
        std::vector<Inst> product = Product(number, by.at(v.id), v, inst.loc);
        std::move(product.begin(), product.end(), std::back_inserter(scaled));
      }
      inst.results[r] = by.at(v.id);
    }
    ReplaceValues(inst, by);
    cone.insert(inst.results[0]);
    insts.push_back(std::move(inst));
    std::move(scaled.begin(), scaled.end(), std::back_inserter(insts));
  }
  block_.insts = std::move(insts);
  Place(std::move(one), cone);
}

// Of the cone what can be evaluated where the array is made, and what that needs: the function surely comes here from there.
std::set<size_t> SeedFactorer::Hoisted(const ValueSet& cone) const {
  if (home_ == at_ || !function_.surely[at_] || !function_.surely[home_]) return {};
  ValueSet given;
  std::set<size_t> may;
  for (size_t k = 0; k < block_.insts.size(); ++k) {
    const Inst& inst = block_.insts[k];
    if (inst.results.empty() || (ir::Info(inst.op).flags & ir::kEffect) != 0) continue;
    bool good = true;
    ir::ForEachOperand(inst, [&](Value v) {
      const bool is_new = v.id >= function_.made.size();  // but for results of the cone
      const uint32_t made = is_new ? home_ : function_.made[v.id];
      const bool there = made == ir::kNoBlock || function_.dominators.Dominates(made, home_);
      good = good && (given.contains(v) || (there && !results_.contains(v)));
    });
    if (!good) continue;
    may.insert(k);
    given.insert(inst.results.begin(), inst.results.end());
  }
  ValueSet needed = cone;
  std::set<size_t> hoisted;
  for (auto k = may.rbegin(); k != may.rend(); ++k) {
    const Inst& inst = block_.insts[*k];
    if (!std::any_of(inst.results.begin(), inst.results.end(),
                     [&](Value v) { return needed.contains(v); }))
      continue;
    hoisted.insert(*k);
    ir::ForEachOperand(inst, [&](Value v) { needed.insert(v); });
  }
  return hoisted;
}

void SeedFactorer::Place(Inst one, const ValueSet& cone) {
  for (const Inst& inst : block_.insts) results_.insert(inst.results.begin(), inst.results.end());
  const std::set<size_t> hoisted = Hoisted(cone);
  std::vector<Inst>& there = f_.blocks[home_].insts;
  std::vector<Inst> left;
  (home_ == at_ ? left : there).push_back(std::move(one));
  for (size_t k = 0; k < block_.insts.size(); ++k)
    (hoisted.contains(k) ? there : left).push_back(std::move(block_.insts[k]));
  block_.insts = std::move(left);
}

}  // namespace

bool FactorSeeds(ir::Function& f) {
  bool changed = false;
  for (int round = 0; round < kMostRounds; ++round) {
    const ir::OwnArrays own(f);
    const Uses uses(f, own);
    bool found = false;
    for (uint32_t b = 0; b < f.blocks.size() && !found; ++b)
      found = SeedFactorer(f, b, own, uses).Run();
    if (!found) break;
    changed = true;
  }
  return changed;
}

}  // namespace pullback::tensor
