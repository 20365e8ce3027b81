#include "core/loops/destinations.h"

#include <algorithm>

namespace pullback::loops {
namespace {

using ir::Affine;
using ir::Block;
using ir::Each;
using ir::EachResult;
using ir::Inst;
using ir::Op;
using ir::Terminator;
using ir::Type;
using ir::Value;

// --- what a function's values are

class Uses {
 public:
  explicit Uses(const ir::Function& f) : count_(f.values.size()), constants_(f.values.size()) {
    const auto use = [this](Value v) { ++count_[v.id]; };
    for (const Block& block : f.blocks) {
      for (const Inst& inst : block.insts) {
        ir::ForEachOperand(inst, use);
        if (inst.op == Op::Const && f.TypeOf(inst.results[0]) == Type::I64()) {
          constants_[inst.results[0].id] = static_cast<int64_t>(inst.bits);
        }
      }
      ir::ForEachTermOperand(block.term, use);
    }
  }
  int CountOf(Value v) const { return count_[v.id]; }
  bool IsConst(Value v, int64_t k) const { return constants_[v.id] == k; }

 private:
  std::vector<int> count_;
  std::vector<std::optional<int64_t>> constants_;
};

bool UsesValue(const Inst& inst, Value v) {
  bool used = false;
  ir::ForEachOperand(inst, [&](Value operand) { used = used || operand == v; });
  return used;
}

// --- the loop that copies

struct Copy {
  uint32_t before = 0, header = 0, body = 0;
  Value counter, bound;  // from 0
  Value from, to;        // the row; the array in front of the loop
  Value array;           // and in it
  std::vector<Affine> subs;
  uint32_t loc = 0;
};

class CopyFinder {
 public:
  CopyFinder(const ir::Function& f, const Uses& uses) : uses_(uses), entries_(f.blocks.size()) {
    for (const Block& block : f.blocks) {
      for (const ir::Edge& edge : block.term.edges) ++entries_[edge.block];
    }
  }

  // The loop that the block jumps to, if it is one.
  std::optional<Copy> Find(const ir::Function& f, uint32_t before) {
    f_ = &f;
    copy_ = Copy{};
    copy_.before = before;
    const Terminator& entry = f.blocks[before].term;
    if (entry.kind != Terminator::Kind::kJump) return std::nullopt;
    copy_.header = entry.edges[0].block;
    if (!IsHeader() || !IsBody()) return std::nullopt;
    return copy_;
  }

 private:
  const Block& Header() const { return f_->blocks[copy_.header]; }
  bool IsHeader();
  bool IsBody();
  bool IsStep(const Inst& inst) const;

  const ir::Function* f_ = nullptr;
  const Uses& uses_;
  std::vector<int> entries_;
  Copy copy_;
};

// (counter, array) of which `lt counter, bound` leaves.
bool CopyFinder::IsHeader() {
  const Block& header = Header();
  const Terminator& term = header.term;
  if (copy_.header == copy_.before || entries_[copy_.header] != 2 || header.params.size() != 2)
    return false;
  if (header.insts.size() != 1 || header.insts[0].op != Op::Lt) return false;
  if (term.kind != Terminator::Kind::kBranch || term.cond != header.insts[0].results[0])
    return false;
  copy_.body = term.edges[0].block;
  const std::vector<Value>& args = f_->blocks[copy_.before].term.edges[0].args;
  const size_t counter = f_->TypeOf(header.params[0]).IsArray() ? 1 : 0;
  copy_.counter = header.params[counter];
  copy_.array = header.params[1 - counter];
  copy_.to = args[1 - counter];
  copy_.bound = header.insts[0].args[1];
  return f_->TypeOf(copy_.counter) == Type::I64() && f_->TypeOf(copy_.array).IsArray() &&
         header.insts[0].args[0] == copy_.counter && uses_.CountOf(term.cond) == 1 &&
         uses_.IsConst(args[counter], 0);
}

bool CopyFinder::IsStep(const Inst& inst) const {
  if (inst.op == Op::AffineOf) {
    return inst.subs[0] == Affine::Of(copy_.counter) + Affine::Const(1);
  }
  return inst.op == Op::Add && inst.args[0] == copy_.counter && uses_.IsConst(inst.args[1], 1);
}

// Nothing but index, update, the step and constants.
bool CopyFinder::IsBody() {
  const Block& body = f_->blocks[copy_.body];
  if (entries_[copy_.body] != 1 || !body.params.empty() || copy_.body == copy_.header) return false;
  if (body.term.kind != Terminator::Kind::kJump || body.term.edges[0].block != copy_.header)
    return false;
  Value next, element, updated;
  int counted = 2;  // uses of the counter: by lt, and by the step
  for (const Inst& inst : body.insts) {
    if (inst.op == Op::Const) continue;
    if (!next.valid() && IsStep(inst)) {
      next = inst.results[0];
    } else if (!element.valid() && inst.op == Op::Index && inst.subs.size() == 1 &&
               inst.subs[0] == Affine::Of(copy_.counter)) {
      element = inst.results[0];
      copy_.from = inst.args[0];
      ++counted;
    } else if (!updated.valid() && inst.op == Op::Update && inst.args[0] == copy_.array &&
               inst.args[1] == element) {
      updated = inst.results[0];
      copy_.subs = inst.subs;
      copy_.loc = inst.loc;
    } else {
      return false;
    }
  }
  if (!next.valid() || !updated.valid()) return false;
  const bool counter_first = Header().params[0] == copy_.counter;
  const std::vector<Value> args = {counter_first ? next : updated, counter_first ? updated : next};
  const int own =
      static_cast<int>(std::count_if(copy_.subs.begin(), copy_.subs.end(),
                                     [&](const Affine& a) { return a.Coeff(copy_.counter) != 0; }));
  return body.term.edges[0].args == args && own == 1 &&
         uses_.CountOf(copy_.counter) == counted + own && uses_.CountOf(element) == 1 &&
         uses_.CountOf(updated) == 1 && uses_.CountOf(next) == 1;
}

// --- the statement

// Every element of the result is stored once, and none but by the points of the nest.
bool IsWhole(const Each& each, const EachResult& r) {
  if (!each.where.empty() || r.guard.valid() || r.into.valid() || r.out.size() != 1) return false;
  const bool reduces = !ir::Stores(r) && !ir::IsArg(r.monoid);
  if (reduces ? !ir::IsPrefixForm(each, r) || each.indices.size() < 2
              : r.monoid != ir::Monoid::kGen || each.indices.size() != 1) {
    return false;
  }
  return r.out[0] == Affine::Of(each.indices[0].var) && r.shape[0] == each.indices[0].extent;
}

// All that may trap is reads whose subscripts are checked before the nest.
bool TrapsEarly(const ir::Function& f, const Each& each) {
  std::vector<Value> defined;
  for (const Inst& inst : each.body) {
    if (inst.op == Op::Call || inst.guard.valid()) return false;
    if (inst.op != Op::Index && ir::MayTrap(inst, f)) return false;
    for (const Affine& sub : inst.subs) {
      for (const Affine::Term& t : sub.terms) {
        if (inst.op == Op::Index &&
            std::find(defined.begin(), defined.end(), t.value) != defined.end())
          return false;
      }
    }
    defined.insert(defined.end(), inst.results.begin(), inst.results.end());
  }
  return true;
}

// Reads `array` only where the row is not, or at the point's own element.
bool ReadsApart(const Each& each, Value array, const Destination& d) {
  return std::all_of(each.body.begin(), each.body.end(), [&](const Inst& inst) {
    if (inst.op != Op::Index || inst.args[0] != array) return true;
    bool same = true, apart = false;
    for (size_t axis = 0; axis < d.subs.size(); ++axis) {
      const Affine difference = inst.subs[axis] - d.subs[axis];
      same = same && difference == Affine{};
      apart = apart || (d.subs[axis].Coeff(d.index) == 0 && difference.IsConst() &&
                        difference.constant != 0);
    }
    return same || apart;
  });
}

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
  std::optional<std::pair<size_t, size_t>> FindStatement(const Copy& copy) const;
  void DropBlocks();

  const ir::Function& original_;
  // What they say of values and blocks that stay, stays true.
  const Uses uses_;
  CopyFinder copies_;
  std::optional<WithDestinations> made_;
  std::vector<bool> dropped_;
};

bool Makes(const Inst& inst, Value v) {
  return std::find(inst.results.begin(), inst.results.end(), v) != inst.results.end();
}

// The statement of the block, and its result, that makes the row. Behind it nothing knows row or array, the array
// is there already, and nothing traps, since the row's place is looked at where the statement is.
std::optional<std::pair<size_t, size_t>> Passing::FindStatement(const Copy& copy) const {
  const std::vector<Inst>& insts = f().blocks[copy.before].insts;
  for (size_t k = insts.size(); k-- > 0;) {
    const Inst& inst = insts[k];
    const auto at = std::find(inst.results.begin(), inst.results.end(), copy.from);
    if (at != inst.results.end()) {
      if (inst.op != Op::Each) return std::nullopt;
      return std::pair{k, static_cast<size_t>(at - inst.results.begin())};
    }
    if (UsesValue(inst, copy.from) || UsesValue(inst, copy.to) || Makes(inst, copy.to) ||
        ir::MayTrap(inst, f())) {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

// None of the instructions from `first` on makes what the subscripts are made of.
bool MakesNone(const std::vector<Inst>& insts, size_t first, const std::vector<Affine>& subs) {
  for (size_t k = first; k < insts.size(); ++k) {
    for (const Affine& sub : subs) {
      for (const Affine::Term& t : sub.terms) {
        if (Makes(insts[k], t.value)) return false;
      }
    }
  }
  return true;
}

bool Passing::Pass(uint32_t b) {
  const std::optional<Copy> copy = copies_.Find(f(), b);
  if (!copy || uses_.CountOf(copy->from) != 1) return false;
  const auto found = FindStatement(*copy);
  if (!found) return false;
  const auto [k, r] = *found;
  const Inst& inst = f().blocks[b].insts[k];
  const Each& each = *inst.each;
  const EachResult& result = each.results[r];
  if (each.results.size() != 1 || !IsWhole(each, result) || result.shape[0] != copy->bound) {
    return false;
  }
  Destination d{copy->subs, each.indices[0].var, copy->bound, copy->loc};
  for (Affine& sub : d.subs) {
    if (sub.Coeff(copy->counter) != 0 && sub != Affine::Of(copy->counter)) return false;
    sub = sub.Substitute(copy->counter, Affine::Of(d.index));
  }
  const bool known = MakesNone(f().blocks[b].insts, k, copy->subs) &&
                     MakesNone(f().blocks[copy->body].insts, 0, copy->subs);
  if (!known || !TrapsEarly(f(), each) || !ReadsApart(each, copy->to, d)) return false;
  if (!made_) {
    made_.emplace(WithDestinations{original_, {}});
    dropped_.resize(original_.blocks.size());
  }
  ir::Function& changed = made_->function;
  Inst& statement = changed.blocks[b].insts[k];
  statement.results[r] = copy->array;
  statement.each->results[r].into = copy->to;
  made_->destinations[copy->array] = std::move(d);
  changed.blocks[b].term.edges[0] = changed.blocks[copy->header].term.edges[1];
  for (uint32_t gone : {copy->header, copy->body}) {
    dropped_[gone] = true;
    changed.blocks[gone] = Block{};
  }
  return true;
}

void Passing::DropBlocks() {
  std::vector<Block>& blocks = made_->function.blocks;
  std::vector<uint32_t> number(blocks.size());
  uint32_t kept = 0;
  for (uint32_t b = 0; b < blocks.size(); ++b) {
    number[b] = kept;
    if (dropped_[b]) continue;
    if (kept != b) blocks[kept] = std::move(blocks[b]);
    ++kept;
  }
  blocks.resize(kept);
  for (Block& block : blocks) {
    for (ir::Edge& edge : block.term.edges) edge.block = number[edge.block];
  }
}

}  // namespace

std::optional<WithDestinations> PassDestinations(const ir::Function& f) { return Passing(f).Run(); }

}  // namespace pullback::loops
