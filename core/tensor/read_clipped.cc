// What is only asked whether it is positive is asked of what it was clipped to, where that is stored: behind relu.(x @ w)
// the product is not kept.
//
//   p = each(i, j, k): sum [i, j]: x[i, k] * w[k, j]
//   r = each(i, j): gen [i, j]: select(p[i, j] <= 0, 0, p[i, j])
//   g = each(i, j): gen [i, j]: select(p[i, j] <= 0, 0, d[i, j])        ... select(r[i, j] <= 0, 0, d[i, j])
//
// Likewise with something added, a layer's p[i, j] + b[j]. No bit changes: of a NaN neither is at most 0, and -0.0 is.
#include <algorithm>
#include <map>
#include <vector>

#include "core/ir/dominance.h"
#include "core/ir/own_arrays.h"
#include "core/tensor/array_reads.h"
#include "core/tensor/normalise.h"
#include "core/tensor/sign_tests.h"
#include "core/tensor/statement_edit.h"

namespace pullback::tensor {
namespace {

using ir::Each;
using ir::EachResult;
using ir::Inst;
using ir::Op;
using ir::Value;

class Clipped {
 public:
  explicit Clipped(ir::Function& f) : f_(f), reads_(f), signs_(f), own_(f), dominators_(f) {}

  bool Run() {
    for (const ir::Block& b : f_.blocks) {
      for (const Inst& inst : b.insts) {
        for (size_t k = 0; inst.each && k < inst.results.size(); ++k) {
          if (const Term term = ClippedTerm(*inst.each, inst.each->results[k]); term.read)
            NoteReaders(term, inst, k);
        }
      }
    }
    if (instead_.empty()) return false;
    for (ir::Block& b : f_.blocks) {
      for (Inst& inst : b.insts) {
        for (size_t k = 0; inst.each && k < inst.each->body.size(); ++k) Change(inst.each->body[k]);
        if (inst.each && changed_) PruneBody(*inst.each);
        changed_ = false;
      }
    }
    return true;
  }

 private:
  // What is clipped: the element of an array, with that of another added, if there is one.
  struct Term {
    const Inst* read = nullptr;
    const Inst* added = nullptr;
  };
  struct Instead {
    Value array;
    decltype(Inst::subs) subs;
  };

  void Change(Inst& inst) {
    const auto it = instead_.find(&inst);
    if (it == instead_.end()) return;
    inst.op = Op::Index;
    inst.args = {it->second.array};
    inst.subs = it->second.subs;
    changed_ = true;
  }

  // What the result stores, what is not positive as 0; each at its own place.
  Term ClippedTerm(const Each& each, const EachResult& r) const {
    if (r.monoid != ir::Monoid::kGen || r.into.valid() || r.guard.valid() || !each.where.empty() ||
        r.out.size() != each.indices.size() || !ir::IsPrefixForm(each, r) ||
        !f_.TypeOf(r.value).IsFloat())
      return {};
    const Inst* clip = FindDef(each, r.value);
    const Inst* value = clip ? signs_.ClippedBy(each, *clip) : nullptr;
    if (!value) return {};
    Term term{value, nullptr};
    if (value->op == Op::Add) term = {FindDef(each, value->args[0]), FindDef(each, value->args[1])};
    if (term.added && !IsAt(*term.read, r.out)) std::swap(term.read, term.added);
    const bool plain = !term.added || (term.added->op == Op::Index && !term.added->guard.valid());
    return term.read && IsAt(*term.read, r.out) && plain ? term : Term();
  }
  static bool IsAt(const Inst& read, ir::AffineSpan subs) {
    return read.op == Op::Index && !read.guard.valid() && ir::AffineSpan(read.subs) == subs;
  }

  // Where all other readers of the array, behind `clip`, ask for no more, they read what it makes.
  void NoteReaders(const Term& term, const Inst& clip, size_t result) {
    const Value whole = term.read->args[0];
    if (!reads_.OnlyByStatements(whole)) return;
    const ir::Values& shape = clip.each->results[result].shape;
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      if (!values_.HasExtent(whole, axis, shape[axis])) return;
    }
    if (own_.IsNoLarger(shape)) return;
    std::vector<std::pair<const Inst*, const Inst*>> others;  // what has the sign, and the read
    const BlockValues::Place at = values_.PlaceOf(clip.results[result]);
    for (const ArrayReads::Read& read : reads_.Of(whole)) {
      if (read.statement == clip.each.get()) continue;
      const Inst* reader = values_.StatementOf(*read.statement);
      const Inst* value = reader ? TermOf(term, *clip.each, *read.statement, *read.inst) : nullptr;
      if (!value || !signs_.AsksForSign(*read.statement, value->results[0])) return;
      const BlockValues::Place place = values_.PlaceOf(reader->results[0]);
      const bool is_behind =
          place.block == at.block ? place.at > at.at : dominators_.Dominates(at.block, place.block);
      if (!is_behind) return;
      others.emplace_back(value, read.inst);
    }
    for (const auto& [value, read] : others)
      instead_[value] = Instead{clip.results[result], read->subs};
  }

  // What the reader makes of the element it reads, as the term is made of that; nullptr: something else.
  static const Inst* TermOf(const Term& term, const Each& clip, const Each& reader,
                            const Inst& read) {
    if (!term.added) return &read;
    const Inst* sum = nullptr;
    for (const Inst& inst : reader.body) {
      bool uses = false;
      ir::ForEachOperand(inst, [&](const Value& v) { uses |= v == read.results[0]; });
      if (uses && (sum || inst.op != Op::Add || inst.guard != read.guard)) return nullptr;
      if (uses) sum = &inst;
    }
    if (!sum) return nullptr;
    const Value other = sum->args[sum->args[0] == read.results[0] ? 1 : 0];
    const Inst* added = FindDef(reader, other);
    const bool same = added && added->op == Op::Index && added->args == term.added->args &&
                      (!added->guard.valid() || added->guard == read.guard);
    if (!same || other == read.results[0]) return nullptr;
    auto subs = term.added->subs;  // at the clip's point that has the element read
    for (ir::Affine& sub : subs) {
      for (size_t k = 0; k < clip.indices.size(); ++k)
        sub = sub.Substitute(clip.indices[k].var, read.subs[k]);
    }
    return subs == added->subs ? sum : nullptr;
  }

  ir::Function& f_;
  const ArrayReads reads_;
  const SignTests signs_;
  const BlockValues& values_ = signs_.values();
  const ir::OwnArrays own_;
  const ir::Dominators dominators_;
  std::map<const Inst*, Instead> instead_;  // by what has the sign
  bool changed_ = false;                    // the statement that is looked at
};

}  // namespace

bool ReadClipped(ir::Function& f) { return Clipped(f).Run(); }

}  // namespace pullback::tensor
