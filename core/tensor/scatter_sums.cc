// What several statements add up at places that data say, and another reads and adds up, is added up in memory, so that the
// later of them add to the arrays of the first in place (accumulate.cc):
//
//   a, b = each(t, j): sum [p[t], j]: …, sum [q[t], j]: …         s = add_arrays a, c
//   c, d = each(t, j): sum [p[t], j]: …, sum [r[t], j]: …         t = add_arrays b, d
//   g = each(i, j): gen [i, j]: (a + b + c + d)[i, j] * f[i]      g = each(i, j): gen [i, j]: (s + t)[i, j] * f[i]
//
// Such arrays are there as a whole anyway: no turn of a loop makes rows of them. Two of one statement stay two. The sums are
// taken in another order: of derivatives, where no program says one.
#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "core/tensor/normalise.h"
#include "core/tensor/statement_edit.h"

namespace pullback::tensor {
namespace {

using ir::Each;
using ir::EachResult;
using ir::Inst;
using ir::Op;
using ir::Value;

class BlockScatters {
 public:
  BlockScatters(ir::Function& f, std::vector<Inst>& insts, const std::vector<int>& uses)
      : f_(f), insts_(insts), uses_(uses) {}

  void Run() {
    std::vector<Inst> out;
    for (size_t at = 0; at < insts_.size(); ++at) {
      Inst& inst = insts_[at];
      if (inst.each && !made_.empty()) AddUp(*inst.each, out);
      for (size_t k = 0; inst.each && k < inst.results.size(); ++k) NoteMade(at, k);
      out.push_back(std::move(inst));
    }
    insts_ = std::move(out);
  }

 private:
  struct Made {
    size_t at;  // of the statement
    ir::Values shape;
  };
  // An element of such an array, in a sum.
  struct Term {
    size_t read;  // its place in the body
    size_t at;    // of the statement that makes the array
  };

  // For one reader.
  void NoteMade(size_t at, size_t k) {
    const EachResult& r = insts_[at].each->results[k];
    const Value v = insts_[at].results[k];
    if (f_.TypeOf(v).rank > 1 && uses_[v.id] == 1 && r.monoid == ir::Monoid::kSum &&
        !r.into.valid() && StoresByData(*insts_[at].each, r))
      made_.emplace(v, Made{at, r.shape});
  }

  void AddUp(Each& each, std::vector<Inst>& out) {
    std::map<Value, size_t> reads;  // of such arrays, by what they give
    for (size_t k = 0; k < each.body.size(); ++k) {
      const Inst& read = each.body[k];
      if (read.op == Op::Index && !read.guard.valid() && made_.contains(read.args[0]))
        reads.emplace(read.results[0], k);
    }
    if (reads.size() < 2) return;
    const std::map<Value, int> uses = CountUses(each);
    std::map<Value, std::vector<Term>> sums;  // by what they are the terms of
    std::map<Value, Value> parts;             // what is a part of a sum, and used there alone
    for (size_t k = each.body.size(); k-- > 0;) {
      const Inst& sum = each.body[k];
      if (sum.op != Op::Add || sum.guard.valid() || sum.args[0] == sum.args[1]) continue;
      const auto part = parts.find(sum.results[0]);
      const Value of = part == parts.end() ? sum.results[0] : part->second;
      for (Value v : sum.args) {
        if (uses.at(v) != 1) continue;
        parts.emplace(v, of);
        if (const auto read = reads.find(v); read != reads.end())
          sums[of].push_back({read->second, made_.at(each.body[read->second].args[0]).at});
      }
    }
    bool changed = false;
    for (auto& [of, terms] : sums) changed |= Join(each, std::move(terms), out);
    if (changed) PruneBody(each);
  }
  // The terms of the statement that comes first take those of each other one.
  bool Join(Each& each, std::vector<Term> terms, std::vector<Inst>& out) {
    std::sort(terms.begin(), terms.end(), [](const Term& a, const Term& b) {
      return a.at != b.at ? a.at < b.at : a.read < b.read;
    });
    bool changed = false;
    std::map<size_t, size_t>
        taken;  // by statement, how many of the first one's have taken one of its terms
    for (const Term& term : terms) {
      if (term.at == terms[0].at) continue;
      const Term& first = terms[taken[term.at]];
      Inst* sum = SumOf(each, each.body[term.read].results[0]);
      if (first.at != terms[0].at || !sum || !AreAlike(each.body[first.read], each.body[term.read]))
        continue;
      ++taken[term.at];
      Inst& read = each.body[first.read];
      Inst& add = out.emplace_back();
      add.op = Op::AddArrays;
      add.loc = sum->loc;
      add.args = {read.args[0], each.body[term.read].args[0]};
      add.results = {f_.NewLike(f_, read.args[0])};
      made_.emplace(add.results[0], made_.at(read.args[0]));
      read.args = add.results;
      Drop(each, *sum, each.body[term.read].results[0]);
      changed = true;
    }
    return changed;
  }
  bool AreAlike(const Inst& a, const Inst& b) const {
    return a.subs == b.subs && made_.at(a.args[0]).shape == made_.at(b.args[0]).shape;
  }
  // The addition that takes the value, which nothing else uses.
  static Inst* SumOf(Each& each, Value v) {
    const auto it = std::find_if(each.body.begin(), each.body.end(), [&](const Inst& inst) {
      return inst.op == Op::Add && inst.args[0] != inst.args[1] &&
             (inst.args[0] == v || inst.args[1] == v);
    });
    return it == each.body.end() ? nullptr : &*it;
  }
  // In place of the sum there is its other operand.
  static void Drop(Each& each, Inst& sum, Value term) {
    const Value other = sum.args[sum.args[0] == term ? 1 : 0], gone = sum.results[0];
    sum.args = {other, other};  // which nobody reads
    const auto rename = [&](Value& used) {
      if (used == gone) used = other;
    };
    for (Inst& inst : each.body) ir::ForEachOperand(inst, rename);
    for (EachResult& r : each.results) {
      for (Value* used : {&r.value, &r.second, &r.guard}) rename(*used);
    }
  }

  static std::map<Value, int> CountUses(const Each& each) {
    std::map<Value, int> uses;
    const auto count = [&](const Value& used) { ++uses[used]; };
    for (const Inst& inst : each.body) ir::ForEachOperand(inst, count);
    for (const EachResult& r : each.results) {
      for (const ir::Affine& sub : r.out) ir::ForEachOperand(sub, count);
      for (const Value used : {r.value, r.second, r.guard}) ++uses[used];
    }
    return uses;
  }

  ir::Function& f_;
  std::vector<Inst>& insts_;
  const std::vector<int>& uses_;  // of the values that there were in the beginning
  std::map<Value, Made>
      made_;  // arrays that are added up at places that data say, and sums of them
};

}  // namespace

void AddUpScatters(ir::Function& f) {
  std::vector<int> uses(f.values.size());
  const auto count = [&](const Value& v) { ++uses[v.id]; };
  for (const ir::Block& b : f.blocks) {
    for (const Inst& inst : b.insts) ir::ForEachOperand(inst, count);
    ir::ForEachTermOperand(b.term, count);
  }
  for (ir::Block& b : f.blocks) BlockScatters(f, b.insts, uses).Run();
}

}  // namespace pullback::tensor
