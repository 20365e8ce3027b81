// A value to which one path adds something and another nothing is added behind where they join:
//
//   b1: a1 = a + u; jump b2(a1)                b1: jump b2(u)
//   b2(p) from b0: a, from b1: a1              b2(q) from b0: -0.0, from b1: u      p = a + q
//
// Bit for bit the same, since a + -0.0 is a whatever a is. So nothing needs a before b2, and a statement that gives it
// can be evaluated there (sink.cc). Returns count as one block.
#include <algorithm>
#include <optional>
#include <vector>

#include "core/ir/dominance.h"
#include "core/ir/literal.h"
#include "core/opt/simplify.h"

namespace pullback::opt {
namespace {

using ir::Inst;
using ir::Op;
using ir::Value;

constexpr size_t kMostPaths = 16;

class JoinSplitter {
 public:
  explicit JoinSplitter(ir::Function& f) : f_(f), dominators_(f) {}

  bool Run() {
    if (f_.blocks.size() < 3) return false;
    Look();
    JoinReturns();
    bool changed = false;
    const size_t blocks = incoming_.size();
    for (uint32_t b = 1; b < blocks; ++b) {
      for (size_t k = 0; k < f_.blocks[b].params.size(); ++k) changed |= Split(b, k);
    }
    return changed;
  }

 private:
  struct Incoming {
    uint32_t block;
    size_t edge;
  };
  // What a path gives: `base` with `added`, if there is any.
  struct Sum {
    Value base, added;
    bool negated = false;
  };

  void Look();
  void JoinReturns();
  bool Split(uint32_t block, size_t param);
  std::vector<Sum> SumsOf(Value v) const;
  std::optional<std::vector<Sum>> OverOneBase(const ir::Values& values) const;
  ir::Values ArgumentsFor(uint32_t block, size_t param) const;
  Value Make(uint32_t block, Op op, ir::Values args, Value like, uint64_t bits = 0);

  ir::Function& f_;
  const ir::Dominators dominators_;
  std::vector<std::vector<Incoming>> incoming_;  // by block; none of those that a loop goes back to
  std::vector<Inst> sums_;                       // the adds and subs by float scalars
  std::vector<uint32_t> sum_of_;                 // by value: its place there, or kNoBlock
  std::vector<char> of_statement_;               // by value
};

void JoinSplitter::Look() {
  incoming_.assign(f_.blocks.size(), {});
  sum_of_.assign(f_.values.size(), ir::kNoBlock);
  of_statement_.assign(f_.values.size(), 0);
  std::vector<char> loops(f_.blocks.size(), 0);
  for (uint32_t b : dominators_.order()) {
    const ir::Terminator& term = f_.blocks[b].term;
    for (size_t e = 0; e < term.edges.size(); ++e) {
      const uint32_t to = term.edges[e].block;
      incoming_[to].push_back({b, e});
      if (dominators_.Dominates(to, b)) loops[to] = 1;
    }
    for (const Inst& inst : f_.blocks[b].insts) {
      bool of = inst.each != nullptr;
      ir::ForEachOperand(inst, [&](Value v) { of = of || of_statement_[v.id]; });
      for (Value v : inst.results) of_statement_[v.id] = of;
      const bool sum = (inst.op == Op::Add || inst.op == Op::Sub) && !inst.guard.valid();
      if (!sum || !f_.TypeOf(inst.results[0]).IsFloat()) continue;
      sum_of_[inst.results[0].id] = static_cast<uint32_t>(sums_.size());
      Inst& copy = sums_.emplace_back();
      copy.op = inst.op;
      copy.args = inst.args;
    }
  }
  for (size_t b = 0; b < loops.size(); ++b) {
    if (loops[b]) incoming_[b].clear();
  }
}

std::vector<JoinSplitter::Sum> JoinSplitter::SumsOf(Value v) const {
  std::vector<Sum> sums = {{v, {}}};
  const uint32_t at = v.id < sum_of_.size() ? sum_of_[v.id] : ir::kNoBlock;
  if (at == ir::kNoBlock) return sums;
  const Inst& sum = sums_[at];
  sums.push_back({sum.args[0], sum.args[1], sum.op == Op::Sub});
  if (sum.op == Op::Add) sums.push_back({sum.args[1], sum.args[0]});
  return sums;
}

// By value, over a base that a statement gives and that is one of them; nullopt: there is none.
std::optional<std::vector<JoinSplitter::Sum>> JoinSplitter::OverOneBase(
    const ir::Values& values) const {
  if (values.size() > kMostPaths) return std::nullopt;
  for (Value base : values) {
    if (base.id >= of_statement_.size() || !of_statement_[base.id]) continue;
    std::vector<Sum> over;
    for (Value v : values) {
      const std::vector<Sum> sums = SumsOf(v);
      const auto sum =
          std::find_if(sums.begin(), sums.end(), [&](const Sum& s) { return s.base == base; });
      if (sum != sums.end()) over.push_back(*sum);
    }
    const bool adds =
        std::any_of(over.begin(), over.end(), [](const Sum& s) { return s.added.valid(); });
    if (over.size() == values.size() && adds) return over;
  }
  return std::nullopt;
}

ir::Values JoinSplitter::ArgumentsFor(uint32_t block, size_t param) const {
  ir::Values values;
  for (const Incoming& in : incoming_[block])
    values.push_back(f_.blocks[in.block].term.edges[in.edge].args[param]);
  return values;
}

// Returns of a number and of that with more become jumps to one.
void JoinSplitter::JoinReturns() {
  if (f_.results.size() != 1 || !f_.results[0].IsFloat()) return;
  std::vector<uint32_t> returns;
  ir::Values values;
  for (uint32_t b : dominators_.order()) {
    if (f_.blocks[b].term.kind != ir::Terminator::Kind::kReturn) continue;
    returns.push_back(b);
    values.push_back(f_.blocks[b].term.results[0]);
  }
  if (returns.size() < 2 || !OverOneBase(values)) return;
  const auto join = static_cast<uint32_t>(f_.blocks.size());
  f_.blocks.emplace_back();
  incoming_.emplace_back();
  const Value result = f_.NewLike(f_, values[0]);
  f_.blocks[join].params = {result};
  f_.blocks[join].term.kind = ir::Terminator::Kind::kReturn;
  f_.blocks[join].term.results = {result};
  for (size_t k = 0; k < returns.size(); ++k) {
    ir::Terminator& term = f_.blocks[returns[k]].term;
    term = ir::Terminator();
    term.kind = ir::Terminator::Kind::kJump;
    term.edges.push_back({join, {values[k]}});
    incoming_[join].push_back({returns[k], 0});
  }
}

Value JoinSplitter::Make(uint32_t block, Op op, ir::Values args, Value like, uint64_t bits) {
  Inst inst;
  inst.op = op;
  inst.args = std::move(args);
  inst.bits = bits;
  inst.results = {f_.NewLike(f_, like)};
  f_.blocks[block].insts.push_back(std::move(inst));
  return f_.blocks[block].insts.back().results[0];
}

bool JoinSplitter::Split(uint32_t block, size_t param) {
  const Value joined = f_.blocks[block].params[param];
  if (!f_.TypeOf(joined).IsFloat() || incoming_[block].size() < 2) return false;
  const auto sums = OverOneBase(ArgumentsFor(block, param));
  if (!sums) return false;
  for (size_t k = 0; k < sums->size(); ++k) {
    const auto [from, edge] = incoming_[block][k];
    const auto& [base, added, negated] = (*sums)[k];
    Value v = added;
    if (!added.valid()) {
      v = Make(from, Op::Const, {}, joined, ir::FloatBits(f_.TypeOf(joined).elem, -0.0));
    } else if (negated) {
      v = Make(from, Op::Neg, {added}, joined);
    }
    f_.blocks[from].term.edges[edge].args[param] = v;
  }
  const Value rest = f_.NewLike(f_, joined);
  f_.blocks[block].params[param] = rest;
  Inst add;
  add.op = Op::Add;
  add.args = {(*sums)[0].base, rest};
  add.results = {joined};
  std::vector<Inst>& insts = f_.blocks[block].insts;
  insts.insert(insts.begin(), std::move(add));
  return true;
}

}  // namespace

bool SplitJoins(ir::Function& f) { return JoinSplitter(f).Run(); }

}  // namespace pullback::opt
