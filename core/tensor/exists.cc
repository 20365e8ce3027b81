// exists k: p, which arrives as max over k of p as a number, is solved for k: what is left is a predicate of
// the other indices, evaluated once a point (Bernstein et al., section 4.3).
#include <algorithm>

#include "core/analysis/eliminate.h"
#include "core/analysis/isl_solver.h"
#include "core/analysis/outer_values.h"
#include "core/tensor/normalise.h"
#include "core/tensor/statement_edit.h"

namespace pullback::tensor {
namespace {

using analysis::Box;
using analysis::Predicate;
using analysis::Truth;
using analysis::Work;
using ir::Affine;
using ir::Constraint;
using ir::Inst;
using ir::Op;
using ir::Type;
using ir::Value;

constexpr int64_t kMaxWork = 200;

// The predicate of a statement that does nothing but ask; nullptr for others.
const Inst* PredicateOf(const ir::Each& each, const ir::Function& f) {
  if (each.results.size() != 1 || !each.where.empty()) return nullptr;
  const ir::EachResult& r = each.results[0];
  if (r.monoid != ir::Monoid::kMax || r.guard.valid() || r.out.size() == each.indices.size())
    return nullptr;
  const Inst* number = FindDef(each, r.value);
  if (!number || number->op != Op::Cast || f.TypeOf(r.value) != Type::I64()) return nullptr;
  const Inst* predicate = FindDef(each, number->args[0]);
  const bool structural = predicate && predicate->op == Op::Holds && !predicate->guard.valid();
  return structural && !number->guard.valid() ? predicate : nullptr;
}

// The disjunction that exists vars: p is; nullopt: not solved.
std::optional<std::vector<Predicate>> Solve(std::vector<Value> vars, Predicate p, const Box& box) {
  Work work{kMaxWork};
  while (!vars.empty()) {
    auto without = analysis::EliminateExists(vars.back(), p, box, work);
    if (!without) return analysis::IslExists(vars, p, box);
    p = std::move(*without);
    vars.pop_back();
    if (Simplify(p, box, work) == Truth::kFalse) return std::vector<Predicate>();
  }
  return std::vector{std::move(p)};
}

// Writes instructions of a body or of a block.
class Writer {
 public:
  Writer(ir::Function& f, std::vector<Inst>& into) : f_(f), into_(into) {}

  Value Make(Op op, Type type, std::vector<Value> args) {
    Inst inst;
    inst.op = op;
    inst.args = std::move(args);
    return Append(std::move(inst), type);
  }
  Value I64(int64_t v) {
    Inst inst;
    inst.op = Op::Const;
    inst.bits = static_cast<uint64_t>(v);
    return Append(std::move(inst), Type::I64());
  }
  Value Holds(std::vector<Constraint> constraints) {
    Inst inst;
    inst.op = Op::Holds;
    inst.constraints = std::move(constraints);
    return Append(std::move(inst), Type::Bool());
  }

  Value IsMultiple(const analysis::Stride& s) {
    Inst inst;
    inst.op = Op::AffineOf;
    inst.subs = {s.e};
    const Value e = Append(std::move(inst), Type::I64());
    const Value rest = Make(Op::Rem, Type::I64(), {e, I64(s.k)});
    return Make(Op::Eq, Type::Bool(), {rest, I64(0)});
  }
  Value All(const Predicate& p) {
    Value all = Holds(p.constraints);
    for (const analysis::Stride& s : p.strides)
      all = Make(Op::And, Type::Bool(), {all, IsMultiple(s)});
    return all;
  }
  // A disjunction of nothing is false.
  Value Any(const std::vector<Predicate>& pieces) {
    if (pieces.empty()) return Holds({{Affine::Const(-1), false}});
    Value any = All(pieces[0]);
    for (size_t k = 1; k < pieces.size(); ++k)
      any = Make(Op::Or, Type::Bool(), {any, All(pieces[k])});
    return any;
  }

 private:
  Value Append(Inst inst, Type type) {
    inst.results = {f_.NewValue(type)};
    into_.push_back(std::move(inst));
    return into_.back().results[0];
  }

  ir::Function& f_;
  std::vector<Inst>& into_;
};

class ExistsSolver {
 public:
  explicit ExistsSolver(ir::Function& f) : f_(f), outer_(f) {}

  void Run(std::vector<Inst>& insts) {
    std::vector<Inst> out;
    for (Inst& inst : insts) {
      if (!inst.each || !Rewrite(inst, out)) out.push_back(std::move(inst));
    }
    insts = std::move(out);
  }

 private:
  // A number has become instructions of the block where this is true.
  bool Rewrite(Inst& inst, std::vector<Inst>& out) {
    ir::Each& each = *inst.each;
    const Inst* predicate = PredicateOf(each, f_);
    if (!predicate) return false;
    const Box box = outer_.BoxOf(each);
    const size_t kept = each.results[0].out.size();
    std::vector<Value> vars;
    std::vector<Constraint> not_empty;
    for (size_t k = kept; k < each.indices.size(); ++k) {
      const Affine& extent = *box.ExtentOf(each.indices[k].var);
      // The trap of a negative size would be lost.
      if (box.IsNonNegative(extent) != Truth::kTrue) return false;
      vars.push_back(each.indices[k].var);
      not_empty.push_back({extent - Affine::Const(1), false});
    }
    auto pieces = Solve(vars, {predicate->constraints, {}}, box);
    if (!pieces || !SimplifyPieces(*pieces, box)) return false;
    if (kept == 0) {
      Write(Writer(f_, out), *pieces, std::move(not_empty), box);
      RenameLast(out, inst.results[0]);
      return true;
    }
    each.indices.resize(kept);
    each.body.clear();
    each.results[0].monoid = ir::Monoid::kGen;
    each.results[0].value = Write(Writer(f_, each.body), *pieces, std::move(not_empty), box);
    return false;
  }

  // Strides are remainders of what is computed: it must not wrap.
  static bool SimplifyPieces(std::vector<Predicate>& pieces, const Box& box) {
    Work work{kMaxWork};
    std::erase_if(pieces, [&](Predicate& p) { return Simplify(p, box, work) == Truth::kFalse; });
    return std::all_of(pieces.begin(), pieces.end(), [&](const Predicate& p) {
      return std::all_of(p.strides.begin(), p.strides.end(),
                         [&](const analysis::Stride& s) { return box.IsTame(s.e); });
    });
  }

  // 1 where it holds, else 0, or what max is of nothing.
  static Value Write(Writer w, const std::vector<Predicate>& pieces,
                     std::vector<Constraint> not_empty, const Box& box) {
    const Value any = w.Any(pieces), one = w.I64(1);
    Value none = w.I64(0);
    Work work{kMaxWork};
    if (Simplify(not_empty, box, work) != Truth::kTrue)
      none = w.Make(Op::Select, Type::I64(), {w.Holds(not_empty), none, w.I64(INT64_MIN)});
    return w.Make(Op::Select, Type::I64(), {any, one, none});
  }

  static void RenameLast(std::vector<Inst>& out, Value result) { out.back().results = {result}; }

  ir::Function& f_;
  const analysis::OuterValues outer_;
};

}  // namespace

void SolveExists(ir::Function& f) {
  ExistsSolver solver(f);
  for (ir::Block& b : f.blocks) solver.Run(b.insts);
}

}  // namespace pullback::tensor
