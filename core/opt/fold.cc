// Constant folding, the rewrite rules, and affine forms that absorb sums and constants.
#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "core/opt/evaluate.h"
#include "core/opt/rewrite.h"
#include "core/opt/simplify.h"

namespace pullback::opt {
namespace {

using ir::Affine;
using ir::Inst;
using ir::Op;
using ir::Value;

class Folder {
 public:
  Folder(ir::Function& f, const RewriteOptions& options)
      : f_(f), renaming_(f), defs_(f), options_(options), rewriter_(f, defs_, renaming_, options) {}

  bool Run() {
    for (ir::Block& b : f_.blocks) VisitAll(b.insts);
    // Uses in blocks that come before in the list (loops) see the renaming only now.
    renaming_.Apply(f_);
    return changed_ || renaming_.any();
  }

 private:
  // Rules put instructions in front of the visited one: those are visited in its place, then it.
  void VisitAll(std::vector<Inst>& insts) {
    std::vector<Inst> made;
    for (size_t k = 0; k < insts.size();) {
      Visit(insts[k], made);
      if (made.empty()) {
        ++k;
        continue;
      }
      insts.insert(insts.begin() + static_cast<long>(k), std::make_move_iterator(made.begin()),
                   std::make_move_iterator(made.end()));
      made.clear();
    }
  }

  void Visit(Inst& inst, std::vector<Inst>& made) {
    renaming_.Apply(inst);
    if (inst.each) {
      ExpandAffines(*inst.each);
      in_body_ = true;
      NoteIndices(*inst.each);
      VisitAll(inst.each->body);
      extents_.clear();
      in_body_ = false;
      for (ir::EachResult& r : inst.each->results) DropTrueGuard(r.guard);
      FoldCopies(inst);
    }
    DropTrueGuard(inst.guard);
    defs_.SetGuard(inst.guard);
    for (Affine& a : inst.subs) Expand(a, inst.guard);
    for (ir::Constraint& c : inst.constraints) Expand(c.e, inst.guard);
    if (inst.results.size() == 1 && f_.TypeOf(inst.results[0]).IsScalar()) Fold(inst, made);
    if (inst.op == Op::Fit) FoldFit(inst);
    defs_.Record(inst);
    defs_.RecordExtents(inst);
  }

  // What has the shape already.
  void FoldFit(const Inst& fit) {
    const Definitions::Extents* known = defs_.ExtentsOf(fit.args[0]);
    if (known && std::equal(fit.args.begin() + 1, fit.args.end(), known->values.begin(),
                            known->values.end()))
      renaming_.Set(fit.results[0], fit.args[0]);
  }

  void DropTrueGuard(Value& guard) {
    if (!guard.valid()) return;
    const Definitions::Def& d = defs_.Of(renaming_.Get(guard));
    if (!d.known || d.op != Op::Const || d.bits == 0 || d.guard.valid()) return;
    if (!options_.Take(RuleId::kGuardTrue)) return;
    guard = ir::kNoValue;
    changed_ = true;
  }

  // A result that is every element of some array at its own place is that array.
  void FoldCopies(const Inst& inst) {
    const ir::Each& each = *inst.each;
    if (!each.where.empty()) return;
    for (size_t k = 0; k < inst.results.size(); ++k) {
      const ir::EachResult& r = each.results[k];
      if (r.monoid != ir::Monoid::kGen || r.guard.valid() || !IsPrefixForm(each, r)) continue;
      const auto read = std::find_if(each.body.begin(), each.body.end(), [&](const Inst& body) {
        return body.op == Op::Index && body.results[0] == r.value;
      });
      if (read == each.body.end() || read->guard.valid() ||
          ir::AffineSpan(read->subs) != ir::AffineSpan(r.out))
        continue;
      if (r.out.size() == each.indices.size() && HasExtents(read->args[0], r.shape, each) &&
          options_.Take(RuleId::kBuildOfGet))
        renaming_.Set(inst.results[k], read->args[0]);
    }
  }
  bool HasExtents(Value array, ir::ValueSpan shape, const ir::Each& each) const {
    const Definitions::Extents* known = defs_.ExtentsOf(array);
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      const Definitions::Def& d = defs_.Of(shape[axis]);
      const bool is_dim = d.known && d.op == Op::Dim && d.args[0] == array && d.bits == axis;
      const bool is_extent = known && known->values[axis] == shape[axis];
      if ((!is_dim && !is_extent) || each.indices[axis].extent != shape[axis]) return false;
    }
    return true;
  }

  void ExpandAffines(ir::Each& each) {
    for (ir::Constraint& c : each.where) Expand(c.e, ir::kNoValue);
    // Bodies are recorded while they are visited; out subscripts speak of indices and outer values.
    for (ir::EachResult& r : each.results) {
      for (Affine& a : r.out) Expand(a, ir::kNoValue);
    }
  }

  // Replaces terms whose definition is itself affine. A guarded definition stays: it is 0 elsewhere.
  void Expand(Affine& a, Value guard) {
    for (bool again = true; again;) {
      again = false;
      for (const Affine::Term& t : a.terms) {
        const Definitions::Def& d = defs_.Of(t.value);
        if (!d.known || (d.guard.valid() && d.guard != guard)) continue;
        const std::optional<Affine> e = AsAffine(d);
        if (!e) continue;
        a = a.Substitute(t.value, *e);
        again = changed_ = true;
        break;
      }
    }
  }

  std::optional<Affine> AsAffine(const Definitions::Def& d) const {
    switch (d.op) {
      case Op::Const: return Affine::Const(static_cast<int64_t>(d.bits));
      case Op::AffineOf: return defs_.AffineOf(d);
      case Op::Add: return Affine::Of(d.args[0]) + Affine::Of(d.args[1]);
      case Op::Sub: return Affine::Of(d.args[0]) - Affine::Of(d.args[1]);
      case Op::Neg: return Affine::Of(d.args[0]) * -1;
      case Op::Mul:
        if (auto k = defs_.Int(d.args[1])) return Affine::Of(d.args[0]) * *k;
        if (auto k = defs_.Int(d.args[0])) return Affine::Of(d.args[1]) * *k;
        if (const Value index = ExpandedIndex(d.op, d.args); index.valid())
          return Affine::Of(index);
        return std::nullopt;
      default: return std::nullopt;
    }
  }

  void Fold(Inst& inst, std::vector<Inst>& made) {
    if (inst.op == Op::AffineOf) return FoldAffine(inst);
    if (const Value index = ExpandedIndex(inst.op, inst.args); index.valid())
      return Replace(inst, index);
    if (inst.op == Op::Holds) return FoldHolds(inst);
    if (IsClampedSize(inst)) return Replace(inst, inst.args[0]);
    if (inst.op == Op::Cast && f_.TypeOf(inst.args[0]) == f_.TypeOf(inst.results[0]))
      return Replace(inst, inst.args[0]);
    for (;;) {
      if (const auto bits = Evaluate(f_, inst, defs_)) return Set(inst, *bits);
      const bool checks = inst.op == Op::Dim && MayBeNegative(inst);
      if (checks && (in_body_ || checked_.count(inst.results[0]) != 0)) return;
      const Rewriter::Outcome outcome = rewriter_.Apply(inst, made);
      if (outcome == Rewriter::Outcome::kNone) return;
      changed_ = true;
      if (checks) CheckExtent(inst, made);
      if (outcome == Rewriter::Outcome::kRenamed || !made.empty()) return;
    }
  }

  // max(n / 2, 0).
  bool IsClampedSize(const Inst& inst) const {
    return inst.op == Op::Max && f_.TypeOf(inst.args[0]) == ir::Type::I64() &&
           defs_.Int(inst.args[1]) == int64_t{0} && defs_.IsSize(inst.args[0]);
  }

  // --- i * select(n == 1, 0, 1) with i < n is i: an operand's axis that expands where it has one element.
  void NoteIndices(const ir::Each& each) {
    for (const ir::IndexVar& i : each.indices) extents_.emplace(i.var, i.extent);
  }
  Value ExpandedIndex(Op op, const ir::Values& args) const {
    if (op != Op::Mul) return ir::kNoValue;
    const auto index = extents_.find(args[0]);
    if (index == extents_.end()) return ir::kNoValue;
    const Definitions::Def scale = defs_.Of(args[1]);
    if (scale.op != Op::Select || scale.guard.valid() || defs_.Int(scale.args[1]) != 0 ||
        defs_.Int(scale.args[2]) != 1)
      return ir::kNoValue;
    const Definitions::Def is_one = defs_.Of(scale.args[0]);
    const bool same =
        is_one.op == Op::Eq && is_one.args[0] == index->second && defs_.Int(is_one.args[1]) == 1;
    return same ? index->first : ir::kNoValue;
  }

  // --- dim(build)

  // Whoever asks for a size sees no negative one, even where nobody makes the array any more.
  bool MayBeNegative(const Inst& dim) const {
    const Definitions::Extents* extents = defs_.ExtentsOf(dim.args[0]);
    return extents && !defs_.IsSize(extents->values[dim.bits]);
  }

  // The trap of the array, at its place.
  void CheckExtent(const Inst& dim, std::vector<Inst>& made) {
    checked_.insert(dim.results[0]);
    const Definitions::Extents& extents = *defs_.ExtentsOf(dim.args[0]);
    const Value n = extents.values[dim.bits];
    Inst& zero = made.emplace_back();
    zero.op = Op::Const;
    zero.results = {f_.NewValue(ir::Type::I64())};
    Inst good;
    good.op = Op::Ge;
    good.args = {n, zero.results[0]};
    good.results = {f_.NewValue(ir::Type::Bool())};
    Inst check;
    check.op = Op::Check;
    check.bits = static_cast<uint64_t>(ir::TrapKind::kNegativeSize);
    check.args = {good.results[0], n, n};
    check.loc = extents.loc;
    made.push_back(std::move(good));
    made.push_back(std::move(check));
  }

  void Set(Inst& inst, uint64_t bits) {
    SetConst(inst, bits);
    changed_ = true;
  }

  // inst's value is v (where inst is guarded, v must be 0 outside the guard as well).
  void Replace(const Inst& inst, Value v) {
    if (inst.guard.valid() && !(defs_.Of(v).known && defs_.Of(v).guard == inst.guard)) return;
    renaming_.Set(inst.results[0], v);
  }

  void FoldAffine(Inst& inst) {
    if (inst.subs[0].IsConst()) return Set(inst, static_cast<uint64_t>(inst.subs[0].constant));
    if (const Value v = inst.subs[0].AsValue(); v.valid()) Replace(inst, v);
  }

  void FoldHolds(Inst& inst) {
    std::vector<ir::Constraint> open;
    for (const ir::Constraint& c : inst.constraints) {
      if (!c.e.IsConst()) {
        open.push_back(c);
      } else if (c.equality ? c.e.constant != 0 : c.e.constant < 0) {
        return Set(inst, 0);
      }
    }
    if (open.empty()) return Set(inst, 1);
    if (open.size() != inst.constraints.size()) changed_ = true;
    inst.constraints = std::move(open);
  }

  ir::Function& f_;
  Renaming renaming_;
  Definitions defs_;
  const RewriteOptions& options_;
  Rewriter rewriter_;
  std::set<Value> checked_;  // extents that were replaced, with a check in front
  bool in_body_ = false;
  std::map<Value, Value> extents_;  // of the indices of the statement whose body is visited
  bool changed_ = false;
};

}  // namespace

bool FoldConstants(ir::Function& f, const RewriteOptions& options) {
  return Folder(f, options).Run();
}

}  // namespace pullback::opt
