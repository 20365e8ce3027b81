// A read of a sum of two arrays, which adjoints make where a value was used twice, reads the two: nothing is stored
// for the sum, and FuseReads can put in what makes them.
//
//   c = add_arrays a, b;  … c[i, j] …              … a[i, j] + b[i, j] …
//
// For sums that one read has, no more than once an element, and of arrays that statements make in one shape, so that
// the sizes need no check.
#include <algorithm>
#include <iterator>
#include <map>
#include <vector>

#include "core/analysis/loop_nest.h"
#include "core/opt/pointwise.h"
#include "core/opt/simplify.h"

namespace pullback::opt {
namespace {

using ir::Inst;
using ir::Op;
using ir::Value;

class TermReader {
 public:
  explicit TermReader(ir::Function& f)
      : f_(f), uses_(f.values.size()), dominators_(f), loops_(f, dominators_) {
    const auto count = [&](Value v) { ++uses_[v.id]; };
    for (const ir::Block& b : f.blocks) {
      for (const Inst& inst : b.insts) ir::ForEachOperand(inst, count);
      ir::ForEachTermOperand(b.term, count);
    }
  }

  bool Run() {
    bool changed = false;
    for (uint32_t b : dominators_.order()) {
      for (Inst& inst : f_.blocks[b].insts) {
        if (inst.op == Op::AddArrays) Learn(inst, b);
        if (!inst.each) continue;
        changed |= ReadTerms(*inst.each, b);
        for (size_t k = 0; k < inst.results.size(); ++k)
          shapes_[inst.results[k]] = inst.each->results[k].shape;
      }
    }
    return changed;
  }

 private:
  struct Sum {
    Value a, b;
    uint32_t block;
  };

  void Learn(const Inst& add, uint32_t block) {
    const auto a = shapes_.find(add.args[0]), b = shapes_.find(add.args[1]);
    if (a == shapes_.end() || b == shapes_.end() || a->second != b->second) return;
    shapes_[add.results[0]] = a->second;
    if (uses_[add.results[0].id] == 1) sums_[add.results[0]] = {add.args[0], add.args[1], block};
  }

  bool ReadTerms(ir::Each& each, uint32_t block) {
    bool changed = false;
    for (size_t at = 0; at < each.body.size(); ++at) {
      const Inst& read = each.body[at];
      const auto sum = read.op == Op::Index ? sums_.find(read.args[0]) : sums_.end();
      if (sum == sums_.end() || !loops_.RunsNoMoreOften(block, sum->second.block) ||
          !NamesEveryIndex(each, read.subs))
        continue;
      Replace(each, at--, sum->second);  // its terms may be sums
      changed = true;
    }
    return changed;
  }

  void Replace(ir::Each& each, size_t at, const Sum& of) {
    Inst& sum = each.body[at];
    std::vector<Inst> reads(2, sum);
    sum.op = Op::Add;
    sum.args.clear();
    sum.subs.clear();
    for (const Value array : {of.a, of.b}) {
      Inst& read = reads[sum.args.size()];
      read.args = {array};
      read.results = {f_.NewLike(f_, sum.results[0])};
      sum.args.push_back(read.results[0]);
    }
    each.body.insert(each.body.begin() + static_cast<long>(at),
                     std::make_move_iterator(reads.begin()), std::make_move_iterator(reads.end()));
  }

  ir::Function& f_;
  std::vector<int> uses_;
  const ir::Dominators dominators_;
  const analysis::LoopNest loops_;
  std::map<Value, ir::Values> shapes_;  // of what statements make
  std::map<Value, Sum> sums_;           // that have one reader
};

}  // namespace

bool ReadTermsOfSums(ir::Function& f) {
  const auto adds = [](const ir::Block& b) {
    return std::any_of(b.insts.begin(), b.insts.end(),
                       [](const Inst& inst) { return inst.op == Op::AddArrays; });
  };
  return std::any_of(f.blocks.begin(), f.blocks.end(), adds) && TermReader(f).Run();
}

}  // namespace pullback::opt
