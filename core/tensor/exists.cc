// exists k: p, which arrives as max over k of p as a number, is solved for k: what is left is a predicate of
// the other indices, evaluated once a point (Bernstein et al., section 4.3). So is "all k: p", a min, which is that no
// k exists where p is false. What p says besides that k has nothing to do with, data too, stays as it is: beside other
// conditions or in a disjunction with them, since exists k: (p and c) or q is (exists k: p) and c or exists k: q.
#include <algorithm>
#include <map>
#include <utility>

#include "core/analysis/outer_values.h"
#include "core/tensor/normalise.h"
#include "core/tensor/piece_solver.h"
#include "core/tensor/predicate_writer.h"
#include "core/tensor/question.h"
#include "core/tensor/statement_edit.h"

namespace pullback::tensor {
namespace {

using analysis::Box;
using analysis::Predicate;
using analysis::Truth;
using ir::Affine;
using ir::Constraint;
using ir::Inst;
using ir::Op;
using ir::Type;
using ir::Value;

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

// A question that is solved.
struct Answer {
  Question question;
  std::vector<Constraint> there;  // where there is a point to ask
  std::vector<Constraint> where;  // what of it the statement said
};

// Writes answers to one question, and to those of its guards.
class AnswerWriter {
 public:
  AnswerWriter(const Answer& answer, ir::Function& f, const Box& box, std::vector<Inst>& into)
      : answer_(answer), w_(f, box, into) {}

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
  PredicateWriter w_;
  std::vector<std::pair<std::vector<Predicate>, Value>> written_;
};

class ExistsSolver {
 public:
  explicit ExistsSolver(ir::Function& f) : f_(f), outer_(f) {}

  void Run(std::vector<Inst>& insts) {
    std::vector<Inst> out;
    for (Inst& inst : insts) {
      const bool gone = inst.each && Rewrite(inst, out);
      if (!gone) out.push_back(std::move(inst));
    }
    insts = std::move(out);
  }

 private:
  enum class Outcome : uint8_t {
    kUnsolved,
    kSolved,  // the statement reduces nothing any more
    kGone,    // a number has become instructions of the block
  };

  // Whether it is gone.
  bool Rewrite(Inst& inst, std::vector<Inst>& out) {
    const ir::Monoid monoid = inst.each->results[0].monoid;
    if (monoid != ir::Monoid::kMax && monoid != ir::Monoid::kMin) return false;
    const Outcome all = Solve(inst, out);
    if (all == Outcome::kUnsolved) SolveSome(inst, out);
    return all == Outcome::kGone;
  }

  // exists i, k: data(i) and p is exists i: data(i) and exists k: p. The indices that data are read by stay: they are
  // subscripts of the result as long as the others are solved for.
  void SolveSome(Inst& inst, std::vector<Inst>& out) {
    ir::Each& each = *inst.each;
    ir::EachResult& r = each.results[0];
    if (each.results.size() != 1) return;
    const auto indices = each.indices;
    const ir::EachResult reducing = r;
    const auto first = each.indices.begin() + static_cast<long>(r.out.size());
    const auto others = std::partition(first, each.indices.end(),
                                       [&](const ir::IndexVar& i) { return ReadsBy(each, i.var); });
    const bool some = others != first && others != each.indices.end();
    for (auto i = first; some && i != others; ++i) {
      r.out.push_back(Affine::Of(i->var));
      r.shape.push_back(i->extent);
    }
    if (some && Solve(inst, out) == Outcome::kSolved) {
      r.monoid = reducing.monoid;
    } else {
      each.indices = indices;
    }
    r.out = reducing.out;
    r.shape = reducing.shape;
  }

  static bool ReadsBy(const ir::Each& each, Value index) {
    return std::any_of(each.body.begin(), each.body.end(), [&](const Inst& inst) {
      return inst.op == Op::Index &&
             std::any_of(inst.subs.begin(), inst.subs.end(),
                         [&](const Affine& a) { return a.Coeff(index) != 0; });
    });
  }

  Outcome Solve(Inst& inst, std::vector<Inst>& out) {
    ir::Each& each = *inst.each;
    Box box = outer_.BoxOf(each);
    TameValues tame(each, f_, box);
    std::optional<Question> question = QuestionOf(each, f_, box, tame);
    if (!question) return Outcome::kUnsolved;
    const size_t kept = each.results[0].out.size();
    if (!each.where.empty() && (kept == 0 || !IsOfElements(each))) return Outcome::kUnsolved;
    PieceSolver solver(each, box, tame);
    if (!solver.Solve(question->pieces)) return Outcome::kUnsolved;
    for (auto& [guard, pieces] : question->guards) {
      if (!solver.Solve(pieces)) return Outcome::kUnsolved;
    }
    const Answer answer{*std::move(question), IsThere(each.where, solver.not_empty()), each.where};
    CheckSizes(each, box, inst.loc, out);
    for (const TameValues::Clamped& c : tame.made()) {
      PredicateWriter(f_, box, out).Clamp(c);
      RenameLast(out, c.value);
    }
    if (kept == 0 && !IsOfBody(each, answer.question.pieces)) {
      AnswerWriter(answer, f_, box, out).Number(/*in_body=*/false);
      RenameLast(out, inst.results[0]);
      return Outcome::kGone;
    }
    WriteBody(each, kept, answer, box);
    return Outcome::kSolved;
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
  void WriteBody(ir::Each& each, size_t kept, const Answer& answer, const Box& box) {
    std::vector<Inst> body;
    AnswerWriter writer(answer, f_, box, body);
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
      return box.RangeOf(i.extent).lo < 0 &&
             box.IsNonNegative(*box.ExtentOf(i.var)) != Truth::kTrue;
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
