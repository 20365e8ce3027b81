// exists k: p, which arrives as max over k of p as a number, is solved for k: what is left is a predicate of
// the other indices, evaluated once a point (Bernstein et al., section 4.3). So is "all k: p", a min, which is that no
// k exists where p is false. What p says besides that k has nothing to do with, data too, stays as it is.
#include <algorithm>
#include <utility>

#include "core/analysis/eliminate.h"
#include "core/analysis/isl_solver.h"
#include "core/analysis/outer_values.h"
#include "core/tensor/normalise.h"
#include "core/tensor/question.h"
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

// Whether `where` leaves out whole elements of the result: its constraints are of indices that the result has.
bool IsOfElements(const ir::Each& each) {
  const size_t kept = each.results[0].out.size();
  return std::all_of(each.where.begin(), each.where.end(), [&](const Constraint& c) {
    return std::none_of(c.e.terms.begin(), c.e.terms.end(), [&](const Affine::Term& t) {
      return std::any_of(each.indices.begin() + static_cast<long>(kept), each.indices.end(),
                         [&](const ir::IndexVar& i) { return i.var == t.value; });
    });
  });
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
    const ir::Monoid monoid = each.results[0].monoid;
    if (monoid != ir::Monoid::kMax && monoid != ir::Monoid::kMin) return false;
    const Box box = outer_.BoxOf(each);
    std::optional<Question> question = QuestionOf(each, f_, box);
    if (!question) return false;
    const size_t kept = each.results[0].out.size();
    if (!each.where.empty() && (kept == 0 || !IsOfElements(each))) return false;
    std::vector<Value> vars;
    std::vector<Constraint> not_empty;
    for (size_t k = kept; k < each.indices.size(); ++k) {
      vars.push_back(each.indices[k].var);
      if (!HasExtent(each, kept, each.indices[k].extent))
        not_empty.push_back({*box.ExtentOf(vars.back()) - Affine::Const(1), false});
    }
    std::vector<Predicate> pieces;
    for (Predicate& p : question->pieces) {
      auto solved = Solve(vars, std::move(p), box);
      if (!solved) return false;
      std::move(solved->begin(), solved->end(), std::back_inserter(pieces));
    }
    if (!SimplifyPieces(pieces, box)) return false;
    question->pieces = std::move(pieces);
    const Answer answer{*std::move(question), IsThere(each.where, not_empty, box), each.where};
    if (kept == 0 && IsOfBody(each, answer.question.conditions)) return false;
    CheckSizes(each, box, inst.loc, out);
    if (kept == 0) {
      Write(Writer(f_, out), answer, /*in_body=*/false);
      RenameLast(out, inst.results[0]);
      return true;
    }
    WriteBody(each, kept, answer);
    return false;
  }

  // A question that is solved.
  struct Answer {
    Question question;
    std::vector<Constraint> there;  // where there is a point to ask
    std::vector<Constraint> where;  // what of it the statement said
  };

  static std::vector<Constraint> IsThere(const std::vector<Constraint>& where,
                                         std::vector<Constraint> not_empty, const Box& box) {
    Work work{kMaxWork};
    if (Simplify(not_empty, box, work) == Truth::kTrue) not_empty.clear();
    not_empty.insert(not_empty.begin(), where.begin(), where.end());
    return not_empty;
  }

  // Whether one of the indices that stay is below that extent, so that there is a number below it.
  static bool HasExtent(const ir::Each& each, size_t kept, Value extent) {
    return std::any_of(each.indices.begin(), each.indices.begin() + static_cast<long>(kept),
                       [&](const ir::IndexVar& i) { return i.extent == extent; });
  }

  static bool IsOfBody(const ir::Each& each, const std::vector<Value>& values) {
    return std::any_of(values.begin(), values.end(),
                       [&](Value v) { return FindDef(each, v) != nullptr; });
  }

  // What the conditions are made of stays, where there is a point to ask, so that it traps as it did.
  void WriteBody(ir::Each& each, size_t kept, const Answer& answer) {
    std::vector<Inst> body;
    if (!answer.question.conditions.empty() && !answer.there.empty()) {
      const Value there = Writer(f_, body).Holds(answer.there);
      for (Inst& inst : each.body) {
        if (!inst.guard.valid()) inst.guard = there;
      }
    }
    if (!answer.question.conditions.empty())
      std::move(each.body.begin(), each.body.end(), std::back_inserter(body));
    each.body = std::move(body);
    each.indices.resize(kept);
    each.where.clear();
    each.results[0].monoid = ir::Monoid::kGen;
    each.results[0].value = Write(Writer(f_, each.body), answer, /*in_body=*/true);
    PruneBody(each);
  }

  // The traps of negative sizes that the statement loses.
  void CheckSizes(const ir::Each& each, const Box& box, uint32_t loc, std::vector<Inst>& out) {
    const auto may_be_negative = [&](const ir::IndexVar& i) {
      return box.IsNonNegative(*box.ExtentOf(i.var)) != Truth::kTrue;
    };
    for (size_t k = each.results[0].out.size(); k < each.indices.size(); ++k) {
      if (may_be_negative(each.indices[k])) CheckSize(each.indices[k].extent, loc, f_, out);
    }
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

  // What max and min are of nothing.
  static int64_t OfNothing(const Question& q) { return q.all ? INT64_MAX : INT64_MIN; }

  // 1 where it holds, else 0, or OfNothing.
  static Value Write(Writer w, const Answer& answer, bool in_body) {
    const Question& q = answer.question;
    const auto join = [&](Op op, Value a, Value b) { return w.Make(op, Type::Bool(), {a, b}); };
    // That some point is in the pieces, or, of all, that one is not as it should be.
    Value any = w.Any(q.pieces);
    if (!answer.where.empty()) any = join(Op::And, w.Holds(answer.where), any);
    for (Value condition : q.conditions) {
      if (q.all) condition = w.Make(Op::Not, Type::Bool(), {condition});
      if (q.all && !answer.there.empty())
        condition = join(Op::And, w.Holds(answer.there), condition);
      any = join(q.all ? Op::Or : Op::And, condition, any);
    }
    // In a body a cast: a choice of 0 would become the guard of the result, and no reader would fuse with it.
    if (in_body && answer.there.empty()) {
      if (q.all) any = w.Make(Op::Not, Type::Bool(), {any});
      return w.Make(Op::Cast, Type::I64(), {any});
    }
    const Value in = w.I64(q.all ? 0 : 1);
    Value none = w.I64(q.all ? 1 : 0);
    if (!answer.there.empty()) {
      const Value empty = w.I64(OfNothing(q));
      none = w.Make(Op::Select, Type::I64(), {w.Holds(answer.there), none, empty});
    }
    return w.Make(Op::Select, Type::I64(), {any, in, none});
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
