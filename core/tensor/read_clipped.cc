// What is only asked whether it is positive is asked of what it was clipped to, where that is stored: behind relu.(x @ w)
// the product is not kept.
//
//   p = each(i, j, k): sum [i, j]: x[i, k] * w[k, j]
//   r = each(i, j): gen [i, j]: select(p[i, j] <= 0, 0, p[i, j])
//   g = each(i, j): gen [i, j]: select(p[i, j] <= 0, 0, d[i, j])        ... select(r[i, j] <= 0, 0, d[i, j])
//
// No bit changes: of a NaN neither is at most 0, and -0.0 is.
#include <algorithm>
#include <map>
#include <vector>

#include "core/ir/own_arrays.h"
#include "core/tensor/array_reads.h"
#include "core/tensor/block_values.h"
#include "core/tensor/normalise.h"
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
  explicit Clipped(ir::Function& f) : f_(f), reads_(f), values_(f), own_(f) {}

  bool Run() {
    for (const ir::Block& b : f_.blocks) {
      for (const Inst& inst : b.insts) {
        for (size_t k = 0; inst.each && k < inst.results.size(); ++k) {
          if (const Inst* read = ClippedRead(*inst.each, inst.each->results[k]))
            NoteReaders(read->args[0], inst, k);
        }
      }
    }
    if (instead_.empty()) return false;
    for (ir::Block& b : f_.blocks) {
      for (Inst& inst : b.insts) {
        for (size_t k = 0; inst.each && k < inst.each->body.size(); ++k) {
          Inst& read = inst.each->body[k];
          if (const auto it = instead_.find(&read); it != instead_.end()) read.args = {it->second};
        }
      }
    }
    return true;
  }

 private:
  bool IsZero(const Each& each, Value v) const {
    const Inst* def = FindDef(each, v);
    if (!def) def = values_.DefOf(v);
    return def && def->op == Op::Const && def->bits == 0;
  }

  // The read whose elements the result stores, those that are not positive as 0; each at its own place.
  const Inst* ClippedRead(const Each& each, const EachResult& r) const {
    if (r.monoid != ir::Monoid::kGen || r.into.valid() || r.guard.valid() || !each.where.empty() ||
        r.out.size() != each.indices.size() || !ir::IsPrefixForm(each, r) ||
        !f_.TypeOf(r.value).IsFloat())
      return nullptr;
    const Inst* clip = FindDef(each, r.value);
    const Inst* read = nullptr;
    if (clip && clip->op == Op::Select && !clip->guard.valid() && IsZero(each, clip->args[1])) {
      const Inst* test = FindDef(each, clip->args[0]);
      const bool tests = test && test->op == Op::Le && test->args[0] == clip->args[2] &&
                         IsZero(each, test->args[1]);
      if (tests) read = FindDef(each, clip->args[2]);
    }
    const bool here = read && read->op == Op::Index && !read->guard.valid() &&
                      std::equal(read->subs.begin(), read->subs.end(), r.out.begin(), r.out.end());
    return here ? read : nullptr;
  }

  // Where all other readers of `whole`, in the same block behind `clip`, ask for no more, they read what it makes.
  void NoteReaders(Value whole, const Inst& clip, size_t result) {
    if (!reads_.OnlyByStatements(whole)) return;
    const ir::Values& shape = clip.each->results[result].shape;
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      if (!values_.HasExtent(whole, axis, shape[axis])) return;
    }
    if (own_.IsNoLarger(shape)) return;
    std::vector<const Inst*> others;
    const BlockValues::Place at = values_.PlaceOf(clip.results[result]);
    for (const ArrayReads::Read& read : reads_.Of(whole)) {
      if (read.statement == clip.each.get()) continue;
      const Inst* reader = values_.StatementOf(*read.statement);
      if (!reader || !AsksForSign(*read.statement, read.inst->results[0])) return;
      const BlockValues::Place place = values_.PlaceOf(reader->results[0]);
      if (place.block != at.block || place.at < at.at) return;
      others.push_back(read.inst);
    }
    for (const Inst* read : others) instead_[read] = clip.results[result];
  }

  // Whether the value is nothing but compared with 0 from above.
  bool AsksForSign(const Each& each, Value v) const {
    int uses = 0, tests = 0;
    const auto count = [&](const Value& used) { uses += used == v; };
    for (const Inst& inst : each.body) {
      ir::ForEachOperand(inst, count);
      const bool test = inst.op == Op::Le || inst.op == Op::Gt;
      tests += test && inst.args[0] == v && inst.args[1] != v && IsZero(each, inst.args[1]);
    }
    for (const EachResult& r : each.results) {
      for (const ir::Affine& sub : r.out) ir::ForEachOperand(sub, count);
      for (const Value used : {r.value, r.second, r.guard}) uses += used.valid() && used == v;
    }
    return uses == tests;
  }

  ir::Function& f_;
  const ArrayReads reads_;
  const BlockValues values_;
  const ir::OwnArrays own_;
  std::map<const Inst*, Value> instead_;  // by read
};

}  // namespace

bool ReadClipped(ir::Function& f) { return Clipped(f).Run(); }

}  // namespace pullback::tensor
