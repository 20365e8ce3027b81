#include "core/loops/destinations.h"

#include <algorithm>

#include "core/loops/copy_loops.h"

namespace pullback::loops {
namespace {

using ir::Affine;
using ir::Each;
using ir::EachResult;
using ir::Inst;
using ir::Op;
using ir::Value;

bool UsesValue(const Inst& inst, Value v) {
  bool used = false;
  ir::ForEachOperand(inst, [&](Value operand) { used = used || operand == v; });
  return used;
}

bool Makes(const Inst& inst, Value v) {
  return std::find(inst.results.begin(), inst.results.end(), v) != inst.results.end();
}

// None of the instructions from `first` on makes what the subscripts are made of.
bool MakesNone(const ir::Block& block, size_t first, ir::AffineSpan subs) {
  for (size_t k = first; k < block.insts.size(); ++k) {
    for (const Affine& sub : subs) {
      for (const Affine::Term& t : sub.terms) {
        if (Makes(block.insts[k], t.value)) return false;
      }
    }
  }
  return true;
}

// --- the statement

// Every element of the result is stored.
bool IsComplete(const Each& each, const EachResult& r) {
  return each.where.empty() && !r.guard.valid();
}

// Every element is the statement's first indices, and stored once at most.
bool IsRow(const Each& each, const EachResult& r, size_t rank) {
  if (r.into.valid() || r.out.size() != rank) return false;
  const bool reduces = !ir::Stores(r) && !ir::IsArg(r.monoid);
  if (reduces ? !ir::IsPrefixForm(each, r) || each.indices.size() <= rank
              : r.monoid != ir::Monoid::kGen || each.indices.size() != rank) {
    return false;
  }
  for (size_t k = 0; k < rank; ++k) {
    const ir::IndexVar& index = each.indices[k];
    if (!(r.out[k] == Affine::Of(index.var)) || r.shape[k] != index.extent) return false;
  }
  return true;
}

// Different points have different places: each index is alone in some subscript, and none has two. Factors
// are small, so that a place wraps nowhere in an array.
bool IsInjective(const Destination& d) {
  constexpr int64_t kMostStep = 1 << 20;
  std::vector<bool> alone(d.axes.size());
  for (const Affine& sub : d.subs) {
    int indices = 0;
    for (size_t k = 0; k < d.axes.size(); ++k) {
      const int64_t step = sub.Coeff(d.axes[k].var);
      if (step == 0) continue;
      if (step > kMostStep || step < -kMostStep || ++indices > 1) return false;
      alone[k] = true;
    }
  }
  return std::all_of(alone.begin(), alone.end(), [](bool a) { return a; });
}

bool HasIndex(const Affine& sub, const Destination& d) {
  return std::any_of(d.axes.begin(), d.axes.end(),
                     [&](const ir::IndexVar& axis) { return sub.Coeff(axis.var) != 0; });
}

// Reads `array` only where the row is not, or (`own`) at the point's own element.
bool ReadsApart(const Each& each, Value array, const Destination& d, bool own) {
  return std::all_of(each.body.begin(), each.body.end(), [&](const Inst& inst) {
    if (inst.op != Op::Index || inst.args[0] != array) return true;
    bool same = own, apart = false;
    for (size_t axis = 0; axis < d.subs.size(); ++axis) {
      const Affine difference = inst.subs[axis] - d.subs[axis];
      same = same && difference == Affine{};
      apart =
          apart || (!HasIndex(d.subs[axis], d) && difference.IsConst() && difference.constant != 0);
    }
    return same || apart;
  });
}

// --- the function

class Passing {
 public:
  explicit Passing(const ir::Function& f) : original_(f), uses_(f), copies_(f, uses_) {}

  std::optional<WithDestinations> Run() {
    for (uint32_t b = 0; b < original_.blocks.size(); ++b) {
      while (Pass(b)) {
      }
    }
    if (made_) DropBlocks();
    return std::move(made_);
  }

 private:
  const ir::Function& f() const { return made_ ? made_->function : original_; }
  bool Pass(uint32_t b);
  std::optional<size_t> FindStatement(const Copy& copy) const;
  std::optional<Destination> DestinationOf(const Copy& copy, size_t statement) const;
  void Change(const Copy& copy, size_t statement, Destination d);
  void DropBlocks();

  const ir::Function& original_;
  // What they say of values and blocks that stay, stays true.
  const Uses uses_;
  CopyFinder copies_;
  std::optional<WithDestinations> made_;
  std::vector<bool> dropped_;
};

// The statement of the block that makes the row, and nothing else. Behind it nothing knows row or array, the
// array is there already, and nothing traps, since the row's place is looked at where the statement is.
std::optional<size_t> Passing::FindStatement(const Copy& copy) const {
  const std::vector<Inst>& insts = f().blocks[copy.before].insts;
  for (size_t k = insts.size(); k-- > 0;) {
    const Inst& inst = insts[k];
    if (Makes(inst, copy.from)) {
      const bool alone = inst.op == Op::Each && inst.results.size() == 1;
      return alone ? std::optional(k) : std::nullopt;
    }
    if (UsesValue(inst, copy.from) || UsesValue(inst, copy.to) || Makes(inst, copy.to) ||
        ir::MayTrap(inst, f())) {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

std::optional<Destination> Passing::DestinationOf(const Copy& copy, size_t statement) const {
  const Each& each = *f().blocks[copy.before].insts[statement].each;
  const EachResult& result = each.results[0];
  if (!IsRow(each, result, copy.loops.size())) return std::nullopt;
  if (!MakesNone(f().blocks[copy.before], statement, copy.subs)) return std::nullopt;
  for (uint32_t b : copy.blocks) {
    if (!MakesNone(f().blocks[b], 0, copy.subs)) return std::nullopt;
  }
  Destination d{copy.subs, {}, copy.adds, copy.negates, copy.loc};
  for (size_t k = 0; k < copy.loops.size(); ++k) {
    if (!uses_.AreSame(result.shape[k], copy.loops[k].bound)) return std::nullopt;
    d.axes.push_back(each.indices[k]);
    for (Affine& sub : d.subs) {
      sub = sub.Substitute(copy.loops[k].counter, Affine::Of(each.indices[k].var));
    }
  }
  const bool complete = IsComplete(each, result);
  if (copy.adds && !complete) return std::nullopt;
  if (!IsInjective(d) || !ReadsApart(each, copy.to, d, /*own=*/complete)) return std::nullopt;
  return d;
}

bool Passing::Pass(uint32_t b) {
  const std::optional<Copy> copy = copies_.Find(f(), b);
  if (!copy || uses_.CountOf(copy->from) != 1) return false;
  const std::optional<size_t> statement = FindStatement(*copy);
  if (!statement) return false;
  std::optional<Destination> d = DestinationOf(*copy, *statement);
  if (!d) return false;
  Change(*copy, *statement, *std::move(d));
  return true;
}

void Passing::Change(const Copy& copy, size_t statement, Destination d) {
  if (!made_) {
    made_.emplace(WithDestinations{original_, {}});
    dropped_.resize(original_.blocks.size());
  }
  std::vector<ir::Block>& blocks = made_->function.blocks;
  const CopyLoop& outermost = copy.loops[0];
  Inst& inst = blocks[copy.before].insts[statement];
  inst.results[0] = outermost.array;
  inst.each->results[0].into = copy.to;
  made_->destinations[outermost.array] = std::move(d);
  blocks[copy.before].term.edges[0] = blocks[outermost.header].term.edges[1];
  for (uint32_t gone : copy.blocks) {
    dropped_[gone] = true;
    blocks[gone] = ir::Block{};
  }
}

void Passing::DropBlocks() {
  std::vector<ir::Block>& blocks = made_->function.blocks;
  std::vector<uint32_t> number(blocks.size());
  uint32_t kept = 0;
  for (uint32_t b = 0; b < blocks.size(); ++b) {
    number[b] = kept;
    if (dropped_[b]) continue;
    if (kept != b) blocks[kept] = std::move(blocks[b]);
    ++kept;
  }
  blocks.resize(kept);
  for (ir::Block& block : blocks) {
    for (ir::Edge& edge : block.term.edges) edge.block = number[edge.block];
  }
}

}  // namespace

std::optional<WithDestinations> PassDestinations(const ir::Function& f) { return Passing(f).Run(); }

}  // namespace pullback::loops
