// Predicates of one statement in their simplest form: comparisons of affine forms, and of extrema of such, are structural, what the
// box or `where` implies goes, and a statement without points is what its monoids say of nothing.
#include <algorithm>

#include "core/analysis/body_forms.h"
#include "core/analysis/isl_solver.h"
#include "core/analysis/outer_values.h"
#include "core/analysis/predicate.h"
#include "core/ir/monoid.h"
#include "core/tensor/constant_guards.h"
#include "core/tensor/normalise.h"
#include "core/tensor/statement_edit.h"

namespace pullback::tensor {
namespace {

using analysis::Box;
using analysis::Truth;
using analysis::Work;
using ir::Affine;
using ir::Constraint;
using ir::Inst;
using ir::Op;
using ir::Value;

// Combinations of constraints for one question: enough for what programs say, little for a compiler.
constexpr int64_t kMaxPredicateWork = 200;

const Constraint kFalse{Affine::Const(-1), false};

class Simplifier {
 public:
  Simplifier(ir::Each& each, const Box& box, const ir::Function& f)
      : each_(each), box_(box), f_(f), forms_(each, f) {}

  // Whether a comparison with an extremum became a conjunction.
  bool SplitsExtrema() const { return splits_extrema_; }

  // False: the statement has no points.
  bool Run() {
    if (SimplifyWhere() == Truth::kFalse) return false;
    for (Inst& inst : each_.body) {
      Visit(inst);
      Note(inst);
    }
    for (Inst& inst : each_.body) DropTrueGuard(inst.guard);
    for (ir::EachResult& r : each_.results) DropTrueGuard(r.guard);
    return true;
  }

 private:
  Truth SimplifyWhere() {
    std::erase_if(each_.where, [&](const Constraint& c) { return SaysThereIsAPoint(c); });
    Work work{kMaxPredicateWork};
    Truth t = analysis::Simplify(each_.where, box_, work);
    if (t == Truth::kUnknown && NeedsIsl())
      t = analysis::IslIsEmpty({each_.where, {}}, box_) == Truth::kTrue ? Truth::kFalse : t;
    if (t == Truth::kFalse) each_.where = {kFalse};
    return t;
  }

  // That an index of the statement has a value.
  bool SaysThereIsAPoint(const Constraint& c) const {
    return !c.equality &&
           std::any_of(each_.indices.begin(), each_.indices.end(), [&](const ir::IndexVar& i) {
             return c.e == Affine::Of(i.extent) - Affine::Const(1);
           });
  }

  // Where integers and rationals may differ: an equality without a unit coefficient beside others.
  bool NeedsIsl() const {
    const auto uneven = [](const Constraint& c) {
      return c.equality && std::none_of(c.e.terms.begin(), c.e.terms.end(), [](const auto& t) {
               return t.coeff == 1 || t.coeff == -1;
             });
    };
    return each_.where.size() > 1 && std::any_of(each_.where.begin(), each_.where.end(), uneven);
  }

  void Visit(Inst& inst) {
    switch (inst.op) {
      case Op::Eq:
      case Op::Lt:
      case Op::Le:
      case Op::Gt:
      case Op::Ge:
        if (inst.op == Op::Gt) UnwrapNumber(inst);
        if (ir::Info(inst.op).rule == ir::TypeRule::Cmp) MakeStructural(inst);
        if (inst.op == Op::Not) Negate(inst);
        break;
      case Op::Not: Negate(inst); break;
      case Op::And: Conjoin(inst); break;
      case Op::Or: DropImpliedArm(inst); break;
      default: break;
    }
    if (inst.op == Op::Holds) SimplifyHolds(inst);
  }

  // What later instructions want to know of this one.
  void Note(const Inst& inst) {
    for (Value v : inst.results) definitions_[v] = &inst;
    forms_.Note(inst);
  }

  // Whether v, read under `guard`, is above 0 (or is not): a constant, or a choice of such, as SolveExists writes it.
  bool IsSurely(bool positive, Value v, Value guard, int depth = 0) const {
    const Inst* def = DefinitionOf(v);
    if (!def || (def->guard.valid() && def->guard != guard)) return false;
    if (def->op == Op::Const) return (static_cast<int64_t>(def->bits) > 0) == positive;
    return def->op == Op::Select && depth == 0 && IsSurely(positive, def->args[1], guard, 1) &&
           IsSurely(positive, def->args[2], guard, 1);
  }

  // v > 0 where v is a predicate as a number.
  void UnwrapNumber(Inst& inst) {
    const Inst *zero = DefinitionOf(inst.args[1]), *number = DefinitionOf(inst.args[0]);
    if (!zero || zero->op != Op::Const || zero->bits != 0 || !number) return;
    if (f_.TypeOf(inst.args[0]) != ir::Type::I64()) return;
    if (number->guard.valid() && number->guard != inst.guard) return;
    if (number->op == Op::Select) {
      const bool inverse = IsSurely(false, number->args[1], inst.guard);
      if (!IsSurely(!inverse, number->args[1], inst.guard)) return;
      if (!IsSurely(inverse, number->args[2], inst.guard)) return;
      if (inverse) {
        inst.op = Op::Not;
        inst.args = {number->args[0]};
        return;
      }
    } else if (number->op != Op::Cast || f_.TypeOf(number->args[0]) != ir::Type::Bool()) {
      return;
    }
    const Inst* predicate = DefinitionOf(number->args[0]);
    if (predicate && predicate->op == Op::Holds && predicate->guard == number->guard)
      return MakeHolds(inst, predicate->constraints);
    inst.op = Op::And;
    inst.args = {number->args[0], number->args[0]};
  }

  void MakeHolds(Inst& inst, ThinVector<Constraint> constraints) {
    inst.op = Op::Holds;
    inst.args.clear();
    inst.constraints = std::move(constraints);
  }

  // Equality is exact however its sides wrap; an order is that of integers where nothing wraps.
  void MakeStructural(Inst& inst) {
    if (f_.TypeOf(inst.args[0]) != ir::Type::I64()) return;
    const std::optional<analysis::IntegerOrder> order = analysis::OrderOf(inst.op);
    if (!order) return MakeEquation(inst);
    const std::vector<Affine> less = FormsOf(inst.args[order->less], inst.guard, Op::Max),
                              more = FormsOf(inst.args[order->more], inst.guard, Op::Min);
    ThinVector<Constraint> all;
    for (const Affine& a : less) {
      for (const Affine& b : more) {
        const Affine apart = b - a - Affine::Const(order->apart);
        if (!box_.IsTame(apart) || !box_.IsTame(a) || !box_.IsTame(b)) return;
        all.push_back({apart, false});
      }
    }
    if (all.empty()) return;
    splits_extrema_ |= all.size() > 1;
    MakeHolds(inst, std::move(all));
  }
  void MakeEquation(Inst& inst) {
    const std::optional<Affine> a = forms_.FormOf(inst.args[0], inst.guard),
                                b = forms_.FormOf(inst.args[1], inst.guard);
    if (a && b) MakeHolds(inst, {{*b - *a, true}});
  }

  // Of which v is the extremum: itself where it has a form, a and b of max a, b, a and -a of abs a. None: it is something else.
  std::vector<Affine> FormsOf(Value v, Value guard, Op extremum) const {
    if (const std::optional<Affine> form = forms_.FormOf(v, guard)) return {*form};
    const Inst* def = DefinitionOf(v);
    const bool is_it = def && (!def->guard.valid() || def->guard == guard) &&
                       (def->op == extremum || (def->op == Op::Abs && extremum == Op::Max));
    if (!is_it) return {};
    std::vector<Affine> forms;
    for (const Value arg : def->args) {
      const std::optional<Affine> form = forms_.FormOf(arg, guard);
      if (!form) return {};
      forms.push_back(*form);
      if (def->op == Op::Abs) forms.push_back(*form * -1);
    }
    return forms;
  }

  const Inst* DefinitionOf(Value v) const {
    const auto it = definitions_.find(v);
    return it == definitions_.end() ? nullptr : it->second;
  }

  // The structural definition of an operand, in the guard of the instruction that reads it.
  const Inst* HoldsOf(const Inst& inst, size_t arg) const {
    const Inst* def = DefinitionOf(inst.args[arg]);
    if (!def || def->op != Op::Holds) return nullptr;
    return !def->guard.valid() || def->guard == inst.guard ? def : nullptr;
  }

  void Negate(Inst& inst) {
    const Inst* def = HoldsOf(inst, 0);
    if (!def || def->constraints.size() != 1) return;
    auto either = analysis::Negate(def->constraints[0], box_);
    if (!either) return;
    // e != 0 where the box says e >= 0 is e >= 1.
    std::erase_if(*either, [&](Constraint c) { return Normalise(c, box_) == Truth::kFalse; });
    if (either->size() == 1) MakeHolds(inst, *either);
  }

  void Conjoin(Inst& inst) {
    const Inst *a = HoldsOf(inst, 0), *b = HoldsOf(inst, 1);
    if (!a || !b || a->guard != b->guard) return;
    std::vector<Constraint> both = a->constraints.ToVector();
    both.insert(both.end(), b->constraints.begin(), b->constraints.end());
    MakeHolds(inst, std::move(both));
  }

  bool Implies(ir::ConstraintSpan all, ir::ConstraintSpan others) const {
    std::vector<Constraint> premises = each_.where;
    premises.insert(premises.end(), all.begin(), all.end());
    Work work{kMaxPredicateWork};
    return std::all_of(others.begin(), others.end(), [&](const Constraint& c) {
      return analysis::ProvesImplied(premises, c, box_, work);
    });
  }

  // p or q is q where p implies q. Other disjunctions stay tests at run time.
  void DropImpliedArm(Inst& inst) {
    const Inst *a = HoldsOf(inst, 0), *b = HoldsOf(inst, 1);
    if (!a || !b) return;
    if (Implies(a->constraints, b->constraints)) {
      MakeHolds(inst, b->constraints);
    } else if (Implies(b->constraints, a->constraints)) {
      MakeHolds(inst, a->constraints);
    }
  }

  // A guarded one is false outside its guard, which no constant says.
  void SimplifyHolds(Inst& inst) {
    std::vector<Constraint> with_where = each_.where;
    with_where.insert(with_where.end(), inst.constraints.begin(), inst.constraints.end());
    Work work{kMaxPredicateWork};
    const bool never = analysis::Simplify(with_where, box_, work) == Truth::kFalse;
    if (never) inst.constraints = {kFalse};
    if (!never) {
      std::vector<Constraint> left = inst.constraints.ToVector();
      const Truth t = analysis::Simplify(left, box_, work);
      std::erase_if(left, [&](const Constraint& c) {
        return analysis::ProvesImplied(each_.where, c, box_, work);
      });
      inst.constraints = std::move(left);
      if (t != Truth::kTrue && !inst.constraints.empty()) return;
      inst.constraints.clear();
    }
    if (inst.guard.valid()) return;
    inst.op = Op::Const;
    inst.bits = never ? 0 : 1;
    inst.constraints.clear();
  }

  // What is true under a guard is that guard.
  void DropTrueGuard(Value& guard) const {
    for (const Inst* def; guard.valid(); guard = def->guard) {
      def = DefinitionOf(guard);
      if (!def || def->op != Op::Const || def->bits == 0) return;
    }
  }

  ir::Each& each_;
  const Box& box_;
  const ir::Function& f_;
  std::map<Value, const Inst*> definitions_;
  analysis::BodyForms forms_;
  bool splits_extrema_ = false;
};

// --- statements without points

// Extents and shapes are known not to be negative, so that no trap is lost.
bool HasNoNegativeSize(const ir::Each& each, const Box& box) {
  return std::all_of(each.indices.begin(), each.indices.end(), [&](const ir::IndexVar& i) {
    return box.RangeOf(i.extent).lo >= 0 || box.IsNonNegative(*box.ExtentOf(i.var)) == Truth::kTrue;
  });
}

bool IsZeroOfNothing(const ir::EachResult& r, const ir::Function& f) {
  const ir::Type t = f.TypeOf(r.value);
  return !ir::IsArg(r.monoid) && (r.out.empty() || ir::ResultIdentity(r.monoid, t.elem) == 0);
}

Inst Nothing(const ir::EachResult& r, Value result, const Inst& from, const ir::Function& f) {
  Inst inst;
  inst.op = r.out.empty() ? Op::Const : Op::Zeros;
  inst.loc = from.loc;
  inst.results = {result};
  if (r.out.empty()) {
    inst.bits = ir::ResultIdentity(r.monoid, f.TypeOf(r.value).elem);
  } else {
    inst.args = r.shape;
  }
  return inst;
}

bool IsNever(const ir::Each& each, Value guard) {
  const Inst* def = guard.valid() ? FindDef(each, guard) : nullptr;
  return def && def->op == Op::Const && def->bits == 0;
}

// Those that no point takes part in.
void ReplaceResults(Inst& inst, const ir::Function& f, bool empty, std::vector<Inst>& out) {
  ir::Each& each = *inst.each;
  const size_t count = inst.results.size();
  for (size_t k = count; k-- > 0;) {
    if (!empty && !IsNever(each, each.results[k].guard)) continue;
    if (!IsZeroOfNothing(each.results[k], f)) continue;
    out.push_back(Nothing(each.results[k], inst.results[k], inst, f));
    inst.results.erase(inst.results.begin() + static_cast<long>(k));
    each.results.erase(each.results.begin() + static_cast<long>(k));
  }
  if (inst.results.size() != count) PruneBody(each);
}

}  // namespace

bool SimplifyPredicates(ir::Function& f) {
  bool splits = false;
  const analysis::OuterValues outer(f);
  for (ir::Block& b : f.blocks) {
    std::vector<Inst> out;
    for (Inst& inst : b.insts) {
      if (inst.each) {
        const Box box = outer.BoxOf(*inst.each);
        Simplifier simplifier(*inst.each, box, f);
        const bool empty = !simplifier.Run();
        splits |= simplifier.SplitsExtrema();
        FoldConstantGuards(*inst.each, f);
        if (HasNoNegativeSize(*inst.each, box)) ReplaceResults(inst, f, empty, out);
      }
      if (!inst.each || !inst.each->results.empty()) out.push_back(std::move(inst));
    }
    b.insts = std::move(out);
  }
  return splits;
}

}  // namespace pullback::tensor
