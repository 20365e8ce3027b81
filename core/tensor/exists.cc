// exists k: p, which arrives as max over k of p as a number, is solved for k: what is left is a predicate of
// the other indices, evaluated once a point (Bernstein et al., section 4.3). So is "all k: p", a min, which is that no
// k exists where p is false. What p says besides that k has nothing to do with, data too, stays as it is: beside other
// conditions or in a disjunction with them, since exists k: (p and c) or q is (exists k: p) and c or exists k: q.
#include <algorithm>
#include <map>
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
// Predicates that are solved for one statement: each may be a question to isl.
constexpr size_t kMaxSolved = 32;

// Solves pieces for the indices that a statement reduces.
class PieceSolver {
 public:
  PieceSolver(const ir::Each& each, const Box& box, TameValues& tame) : box_(box), tame_(tame) {
    const size_t kept = each.results[0].out.size();
    for (size_t k = kept; k < each.indices.size(); ++k) {
      vars_.push_back(each.indices[k].var);
      if (!HasExtent(each, kept, each.indices[k].extent))
        not_empty_.push_back({*box.ExtentOf(vars_.back()) - Affine::Const(1), false});
    }
    Work work{kMaxWork};
    if (Simplify(not_empty_, box, work) == Truth::kTrue) not_empty_.clear();
  }

  // Where there are such indices at all.
  const std::vector<Constraint>& not_empty() const { return not_empty_; }

  // exists them: pieces, a disjunction again. False: not solved.
  bool Solve(std::vector<Piece>& pieces) {
    std::vector<Piece> solved;
    for (const Piece& p : pieces) {
      const auto& predicates = Solve(p.predicate);
      if (!predicates) return false;
      for (const Predicate& without : *predicates) solved.push_back({without, p.conditions});
    }
    pieces = std::move(solved);
    return true;
  }

 private:
  using Solution = std::optional<std::vector<Predicate>>;

  // Whether one of the indices that stay is below that extent, so that there is a number below it.
  static bool HasExtent(const ir::Each& each, size_t kept, Value extent) {
    return std::any_of(each.indices.begin(), each.indices.begin() + static_cast<long>(kept),
                       [&](const ir::IndexVar& i) { return i.extent == extent; });
  }

  const Solution& Solve(const Predicate& p) {
    for (const auto& [known, solution] : solved_) {
      if (known == p) return solution;
    }
    Solution solution = solved_.size() < kMaxSolved ? SolveNew(p) : std::nullopt;
    if (solution && !SimplifyAll(*solution)) solution.reset();
    return solved_.emplace_back(p, std::move(solution)).second;
  }

  Solution SolveNew(const Predicate& p) {
    if (p == Predicate()) return std::vector{Predicate{not_empty_, {}}};
    if (Solution solution = Eliminate(p)) return solution;
    const Predicate tamed = Tamed(p);
    return tamed == p ? std::nullopt : Eliminate(tamed);
  }

  Predicate Tamed(Predicate p) {
    for (Constraint& c : p.constraints) c = tame_.Tame(c).value_or(c);
    return p;
  }

  Solution Eliminate(Predicate p) const {
    Work work{kMaxWork};
    for (std::vector<Value> vars = vars_; !vars.empty();) {
      auto without = analysis::EliminateExists(vars.back(), p, box_, work);
      if (!without) return analysis::IslExists(vars, p, box_);
      p = std::move(*without);
      vars.pop_back();
      if (Simplify(p, box_, work) == Truth::kFalse) return std::vector<Predicate>();
    }
    return std::vector{std::move(p)};
  }

  // Strides are remainders of what is computed: it must not wrap.
  bool SimplifyAll(std::vector<Predicate>& predicates) const {
    Work work{kMaxWork};
    std::erase_if(predicates,
                  [&](Predicate& p) { return Simplify(p, box_, work) == Truth::kFalse; });
    return std::all_of(predicates.begin(), predicates.end(), [&](const Predicate& p) {
      return std::all_of(p.strides.begin(), p.strides.end(),
                         [&](const analysis::Stride& s) { return box_.IsTame(s.e); });
    });
  }

  const Box& box_;
  TameValues& tame_;
  std::vector<Value> vars_;
  std::vector<Constraint> not_empty_;
  std::vector<std::pair<Predicate, Solution>> solved_;
};

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

  Value Make(Op op, Type type, ir::Values args) {
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

  Value Form(const Affine& e) {
    Inst inst;
    inst.op = Op::AffineOf;
    inst.subs = {e};
    return Append(std::move(inst), Type::I64());
  }
  Value Clamp(const TameValues::Clamped& c) {
    const Value from_below = Make(Op::Max, Type::I64(), {Form(c.form), I64(c.range.lo)});
    return Make(Op::Min, Type::I64(), {from_below, I64(c.range.hi)});
  }

  Value IsMultiple(const analysis::Stride& s) {
    const Value rest = Make(Op::Rem, Type::I64(), {Form(s.e), I64(s.k)});
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

// A question that is solved.
struct Answer {
  Question question;
  std::vector<Constraint> there;  // where there is a point to ask
  std::vector<Constraint> where;  // what of it the statement said
};

// Writes answers to one question, and to those of its guards.
class AnswerWriter {
 public:
  AnswerWriter(const Answer& answer, ir::Function& f, std::vector<Inst>& into)
      : answer_(answer), w_(f, into) {}

  Value IsThere() { return w_.Holds(answer_.there); }

  // That some point is in one of the pieces.
  Value Any(const std::vector<Piece>& pieces) {
    Value any;
    for (const Group& group : GroupsOf(pieces)) any = Join(Op::Or, any, All(group));
    if (!any.valid()) return w_.Any({});
    return answer_.where.empty() ? any : Join(Op::And, w_.Holds(answer_.where), any);
  }

  // 1 where it holds, else 0, or what max and min are of nothing.
  Value Number(bool in_body) {
    const Question& q = answer_.question;
    Value any = Any(q.pieces);
    // In a body a cast: a choice of 0 would become the guard of the result, and no reader would fuse with it.
    if (in_body && answer_.there.empty()) {
      if (q.all) any = w_.Make(Op::Not, Type::Bool(), {any});
      return w_.Make(Op::Cast, Type::I64(), {any});
    }
    const Value in = w_.I64(q.all ? 0 : 1);
    Value none = w_.I64(q.all ? 1 : 0);
    if (!answer_.there.empty()) {
      const Value empty = w_.I64(q.all ? INT64_MAX : INT64_MIN);
      none = w_.Make(Op::Select, Type::I64(), {IsThere(), none, empty});
    }
    return w_.Make(Op::Select, Type::I64(), {any, in, none});
  }

 private:
  // Pieces that differ in their predicates only.
  struct Group {
    std::vector<Condition> conditions;
    std::vector<Predicate> predicates;
  };

  static std::vector<Group> GroupsOf(const std::vector<Piece>& pieces) {
    std::vector<Group> groups;
    for (const Piece& p : pieces) {
      auto group = std::find_if(groups.begin(), groups.end(),
                                [&](const Group& g) { return g.conditions == p.conditions; });
      if (group == groups.end()) group = groups.insert(group, {p.conditions, {}});
      group->predicates.push_back(p.predicate);
    }
    return groups;
  }

  Value All(const Group& group) {
    Value all;
    if (group.conditions.empty() || group.predicates != std::vector{Predicate()})
      all = Any(group.predicates);
    for (const Condition& c : group.conditions) {
      const Value value = c.negated ? w_.Make(Op::Not, Type::Bool(), {c.value}) : c.value;
      all = Join(Op::And, value, all);
    }
    return all;
  }

  // Guards and the question itself often ask the same of the indices.
  Value Any(const std::vector<Predicate>& predicates) {
    for (const auto& [known, value] : written_) {
      if (known == predicates) return value;
    }
    return written_.emplace_back(predicates, w_.Any(predicates)).second;
  }

  // Of one of them where there is no other.
  Value Join(Op op, Value a, Value b) {
    if (!a.valid() || !b.valid()) return a.valid() ? a : b;
    return w_.Make(op, Type::Bool(), {a, b});
  }

  const Answer& answer_;
  Writer w_;
  std::vector<std::pair<std::vector<Predicate>, Value>> written_;
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
    Box box = outer_.BoxOf(each);
    TameValues tame(each, f_, box);
    std::optional<Question> question = QuestionOf(each, f_, box, tame);
    if (!question) return false;
    const size_t kept = each.results[0].out.size();
    if (!each.where.empty() && (kept == 0 || !IsOfElements(each))) return false;
    PieceSolver solver(each, box, tame);
    if (!solver.Solve(question->pieces)) return false;
    for (auto& [guard, pieces] : question->guards) {
      if (!solver.Solve(pieces)) return false;
    }
    const Answer answer{*std::move(question), IsThere(each.where, solver.not_empty()), each.where};
    CheckSizes(each, box, inst.loc, out);
    for (const TameValues::Clamped& c : tame.made()) {
      Writer(f_, out).Clamp(c);
      RenameLast(out, c.value);
    }
    if (kept == 0 && !IsOfBody(each, answer.question.pieces)) {
      AnswerWriter(answer, f_, out).Number(/*in_body=*/false);
      RenameLast(out, inst.results[0]);
      return true;
    }
    WriteBody(each, kept, answer);
    return false;
  }

  static std::vector<Constraint> IsThere(std::vector<Constraint> where,
                                         const std::vector<Constraint>& not_empty) {
    where.insert(where.end(), not_empty.begin(), not_empty.end());
    return where;
  }

  static bool IsOfBody(const ir::Each& each, const std::vector<Piece>& pieces) {
    return std::any_of(pieces.begin(), pieces.end(), [&](const Piece& p) {
      return std::any_of(p.conditions.begin(), p.conditions.end(),
                         [&](const Condition& c) { return FindDef(each, c.value) != nullptr; });
    });
  }

  // Whether it is seen where there is no point to ask: it traps, or is a guard of what does.
  bool IsSeen(const Inst& inst) const {
    return ir::MayTrap(inst, f_) || f_.TypeOf(inst.results[0]) == Type::Bool();
  }

  // What the conditions are made of stays, where there is a point at which it was evaluated, so that it traps as it
  // did. What else there was goes, since nothing reads it.
  void WriteBody(ir::Each& each, size_t kept, const Answer& answer) {
    std::vector<Inst> body;
    AnswerWriter writer(answer, f_, body);
    const Value there = answer.there.empty() ? ir::kNoValue : writer.IsThere();
    std::map<Value, Value> guards = {{ir::kNoValue, there}};
    for (Inst& inst : each.body) {
      const auto pieces = answer.question.guards.find(inst.guard);
      if (pieces != answer.question.guards.end() && !guards.contains(inst.guard))
        guards[inst.guard] = writer.Any(pieces->second);
      const auto guard = guards.find(inst.guard);
      if (guard != guards.end() && (inst.guard.valid() || IsSeen(inst))) inst.guard = guard->second;
      body.push_back(std::move(inst));
    }
    // A number is the sum of one point.
    each.results[0].monoid = kept == 0 ? ir::Monoid::kSum : ir::Monoid::kGen;
    each.results[0].value = writer.Number(/*in_body=*/true);
    each.body = std::move(body);
    each.indices.resize(kept);
    each.where.clear();
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
