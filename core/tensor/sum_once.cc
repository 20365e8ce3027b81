// A sum into an array that is the same at each element is made once:
//
//   %r = each(j < %n, i < %m) { … of %i … } sum [%j] of (%n): %v
//
//   %t = each(i < %m) where (1 <= %n) { … } sum []: %v
//   %r = each(j < %n) gen [%j] of (%n): %t
//
// The derivative of a sum by what another index reads is often one.
#include <algorithm>
#include <set>
#include <utility>

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

// The indices that out[] names, each by itself and over all of its axis; nothing: out[] is something else.
std::set<Value> HeadsOf(const Each& each, const EachResult& r) {
  std::set<Value> heads;
  for (size_t k = 0; k < r.out.size(); ++k) {
    const std::optional<size_t> place = PlaceOfIndex(each, r.out[k].AsValue());
    const bool whole = place && each.indices[*place].extent == r.shape[k];
    if (!whole || !heads.insert(each.indices[*place].var).second) return {};
  }
  return heads;
}

bool Mentions(const Each& each, const EachResult& r, const std::set<Value>& heads) {
  bool found = heads.contains(r.value) || heads.contains(r.guard);
  const auto note = [&](Value v) { found |= heads.contains(v); };
  for (const ir::Constraint& c : each.where) ir::ForEachOperand(c.e, note);
  for (const Inst& inst : each.body) ir::ForEachOperand(inst, note);
  return found;
}

// The total in place of `sum`, and what gives it to each element.
Inst MakeOnce(Inst& sum, const std::set<Value>& heads, ir::Function& f) {
  EachResult& r = sum.each->results[0];
  Inst gen;
  gen.op = Op::Each;
  gen.loc = sum.loc;
  gen.each = std::make_unique<Each>();
  EachResult& all = gen.each->results.emplace_back(r);
  all.monoid = ir::Monoid::kGen;
  all.guard = ir::kNoValue;
  std::swap(gen.results, sum.results);
  decltype(sum.each->indices) rest;
  for (const ir::IndexVar& i : sum.each->indices) {
    if (!heads.contains(i.var)) {
      rest.push_back(i);
      continue;
    }
    gen.each->indices.push_back(i);
    // Where there is no element nothing is read.
    sum.each->where.push_back({Affine::Of(i.extent) - Affine::Const(1), false});
  }
  sum.each->indices = std::move(rest);
  r.out.clear();
  r.shape.clear();
  sum.results = {f.NewValue(f.TypeOf(r.value))};
  all.value = sum.results[0];
  return gen;
}

class Maker {
 public:
  explicit Maker(ir::Function& f) : f_(f) {}

  void Run(std::vector<Inst>& insts) {
    std::vector<Inst> out;
    for (Inst& inst : insts) {
      if (inst.each) SplitOff(inst, out);
      if (!inst.each || !inst.each->results.empty()) out.push_back(std::move(inst));
    }
    insts = std::move(out);
  }

 private:
  void SplitOff(Inst& inst, std::vector<Inst>& out) {
    Each& each = *inst.each;
    const size_t before = each.results.size();
    for (size_t k = before; k-- > 0;) {
      if (!MayBeSame(each, each.results[k])) continue;
      Inst sum = CopyWithResult(inst, k, f_).inst;
      const std::set<Value> heads = HeadsOf(*sum.each, sum.each->results[0]);
      if (Mentions(*sum.each, sum.each->results[0], heads)) continue;
      Inst gen = MakeOnce(sum, heads, f_);
      out.push_back(std::move(sum));
      out.push_back(std::move(gen));
      inst.results.erase(inst.results.begin() + static_cast<long>(k));
      each.results.erase(each.results.begin() + static_cast<long>(k));
    }
    if (each.results.size() < before) PruneBody(each);
  }
  // Of several results, each may need another part of the body.
  static bool MayBeSame(const Each& each, const EachResult& r) {
    if (r.monoid != ir::Monoid::kSum || r.into.valid()) return false;
    const std::set<Value> heads = HeadsOf(each, r);
    if (heads.empty() || heads.size() == each.indices.size()) return false;
    return each.results.size() > 1 || !Mentions(each, r, heads);
  }

  ir::Function& f_;
};

}  // namespace

void SumOnce(ir::Function& f) {
  Maker maker(f);
  for (ir::Block& b : f.blocks) maker.Run(b.insts);
}

}  // namespace pullback::tensor
