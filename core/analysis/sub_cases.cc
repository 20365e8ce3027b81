#include "core/analysis/sub_cases.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/analysis/predicate.h"
#include "core/ir/statements.h"

namespace pullback::analysis {
namespace {

using ir::Affine;
using ir::Constraint;
using ir::Each;
using ir::Inst;
using ir::Op;
using ir::Value;

constexpr size_t kMostCases = 12;
constexpr int kMostWithin = 8;  // definitions within each other

using SubCases = std::optional<std::vector<SubCase>>;
// Of a condition: each of the conjunctions is one of its cases.
using Conditions = std::optional<std::vector<std::vector<Constraint>>>;

class Divider {
 public:
  Divider(const Each& each, const ir::Function& f, const BodyForms& forms, const OuterValues& outer,
          Value guard)
      : each_(each),
        f_(f),
        forms_(forms),
        outer_(outer),
        box_(outer.BoxOf(each)),
        held_(ConditionsOf(each, guard)) {}

  SubCases OfForm(const Affine& a, int within = 0) const {
    for (const Affine::Term& t : a.terms) {
      if (!FindDef(each_, t.value)) continue;
      if (t.value == a.AsValue()) return OfValue(t.value, within);
      return OfEach(OfValue(t.value, within),
                    [&](const Affine& e) { return OfForm(a.Substitute(t.value, e), within); });
    }
    const std::optional<Affine> form = Tame(a);
    return form ? SubCases({{{}, *form}}) : std::nullopt;
  }

 private:
  SubCases OfValue(Value v, int within) const {
    const Inst* def = FindDef(each_, v);
    if (!def) return OfForm(Affine::Of(v), within);
    if (within > kMostWithin || !Holds(def->guard)) return std::nullopt;
    if (const auto form = forms_.FormOf(v, def->guard)) return OfForm(*form, within + 1);
    const auto arg = [&](size_t k) { return OfValue(def->args[k], within + 1); };
    switch (def->op) {
      case Op::Max:
      case Op::Min: return Extremum(arg(0), arg(1), def->op == Op::Max);
      case Op::Add:
      case Op::Sub: return Sum(arg(0), arg(1), def->op == Op::Add ? 1 : -1);
      case Op::Mul: return Product(arg(0), arg(1));
      case Op::Neg: return Sum(SubCases({{{}, {}}}), arg(0), -1);
      case Op::Abs: return Absolute(arg(0));
      case Op::Select: return Choice(*def, within);
      default: return std::nullopt;
    }
  }

  // Whether the condition is true wherever the subscript is asked for.
  bool Holds(Value guard) const {
    if (!guard.valid() || held_.contains(guard)) return true;
    const Inst* def = FindDef(each_, guard);
    if (!def || !Holds(def->guard)) return false;
    if (def->op == Op::Not) return denied_.contains(def->args[0]);
    if (def->op == Op::And) return Holds(def->args[0]) && Holds(def->args[1]);
    return def->op == Op::Holds && std::all_of(def->constraints.begin(), def->constraints.end(),
                                               [&](const Constraint& c) { return IsKnown(c); });
  }
  bool IsKnown(const Constraint& c) const {
    Box box = box_;
    std::vector<Constraint> known;
    const auto learn = [&](const Constraint& told) {
      known.push_back({outer_.Describe(told.e, each_, box), told.equality});
    };
    std::for_each(each_.where.begin(), each_.where.end(), learn);
    std::for_each(path_.begin(), path_.end(), learn);
    const Affine form = outer_.Describe(c.e, each_, box);
    Work work;
    return ProvesImplied(known, {form, c.equality}, box, work);
  }

  // In terms of values whose definition is not affine; nothing: it may wrap.
  std::optional<Affine> Tame(const Affine& a) const {
    Box box = box_;
    const Affine form = outer_.Describe(a, each_, box);
    return box.IsTame(form) ? std::optional(form) : std::nullopt;
  }

  // All pieces of what each piece gives.
  template <typename Fn>
  static SubCases OfEach(const SubCases& of, Fn&& make) {
    if (!of) return std::nullopt;
    std::vector<SubCase> all;
    for (const SubCase& p : *of) {
      SubCases made = make(p.form);
      if (!made || all.size() + made->size() > kMostCases) return std::nullopt;
      for (SubCase& one : *made) {
        one.where.insert(one.where.begin(), p.where.begin(), p.where.end());
        all.push_back(std::move(one));
      }
    }
    return all;
  }

  SubCases Split(const Affine& difference, const Affine& from_zero, const Affine& below) const {
    if (!Tame(difference)) return std::nullopt;
    return SubCases({{{{difference, false}}, from_zero},
                     {{{difference * -1 - Affine::Const(1), false}}, below}});
  }
  // Where both are the same it is the one that runs, e of max(0, e), or says less.
  SubCases Extremum(const SubCases& a, const SubCases& b, bool greatest) const {
    return OfEach(a, [&](const Affine& x) {
      return OfEach(b, [&](const Affine& y) {
        const bool is_first = Preference(x) <= Preference(y);
        const Affine &one = is_first ? x : y, &other = is_first ? y : x;
        return Split(greatest ? one - other : other - one, one, other);
      });
    });
  }
  std::pair<bool, size_t> Preference(const Affine& a) const {
    const bool runs = std::any_of(a.terms.begin(), a.terms.end(), [&](const Affine::Term& t) {
      return PlaceOfIndex(each_, t.value).has_value();
    });
    return {!runs, a.terms.size()};
  }
  SubCases Absolute(const SubCases& a) const {
    return OfEach(a, [&](const Affine& x) { return Split(x, x, x * -1); });
  }
  SubCases Sum(const SubCases& a, const SubCases& b, int64_t sign) const {
    return OfEach(a, [&](const Affine& x) {
      return OfEach(b, [&](const Affine& y) { return OfForm(x + y * sign); });
    });
  }

  SubCases Product(const SubCases& a, const SubCases& b) const {
    return OfEach(a, [&](const Affine& x) {
      return OfEach(b, [&](const Affine& y) {
        if (x.IsConst()) return OfForm(y * x.constant);
        return y.IsConst() ? OfForm(x * y.constant) : std::nullopt;
      });
    });
  }

  SubCases Choice(const Inst& select, int within) const {
    const Value condition = select.args[0];
    std::vector<SubCase> all;
    for (const bool truth : {true, false}) {
      const Conditions cases = ConditionCases(condition, truth, within + 1);
      if (!cases) return std::nullopt;
      for (const auto& where : *cases) {
        const SubCases values =
            ArmOf(condition, truth, where).OfValue(select.args[truth ? 1 : 2], within + 1);
        if (!values || all.size() + values->size() > kMostCases) return std::nullopt;
        for (SubCase one : *values) {
          one.where.insert(one.where.begin(), where.begin(), where.end());
          all.push_back(std::move(one));
        }
      }
    }
    return all;
  }

  Divider ArmOf(Value condition, bool truth, const std::vector<Constraint>& where) const {
    Divider arm = *this;
    if (truth)
      arm.held_.merge(ConditionsOf(each_, condition));
    else
      arm.denied_.insert(condition);
    arm.path_.insert(arm.path_.end(), where.begin(), where.end());
    return arm;
  }

  // In which cases the condition is true, or is not.
  Conditions ConditionCases(Value condition, bool truth, int within) const {
    const Inst* def = FindDef(each_, condition);
    if (!def || !Holds(def->guard)) return std::nullopt;
    if (def->op == Op::Not) return ConditionCases(def->args[0], !truth, within);
    if (const auto form = ComparedForm(*def, within)) return Compared(*def, *form, truth);
    if (def->op != Op::Holds) return std::nullopt;
    const std::vector<Constraint> all = def->constraints.ToVector();
    if (std::any_of(all.begin(), all.end(), [&](const Constraint& c) { return NamesBody(c.e); }))
      return std::nullopt;
    if (truth) return Conditions({all});
    std::vector<std::vector<Constraint>> any;
    for (const Constraint& c : all) {
      const std::optional<Affine> e = Tame(c.e);
      if (!e) return std::nullopt;
      for (const Constraint& not_c : Negated({*e, c.equality})) any.push_back({not_c});
    }
    return any;
  }
  static std::vector<Constraint> Negated(const Constraint& c) {
    const Affine one = Affine::Const(1);
    std::vector<Constraint> any = {{c.e * -1 - one, false}};
    if (c.equality) any.push_back({c.e - one, false});
    return any;
  }

  // By how much the comparison of integers is true where it is not below 0, or 0 of an equality.
  SubCases ComparedForm(const Inst& def, int within) const {
    const std::optional<IntegerOrder> order = OrderOf(def.op);
    if (!order && def.op != Op::Eq) return std::nullopt;
    if (f_.TypeOf(def.args[0]) != ir::Type::I64()) return std::nullopt;
    const auto [less, more, apart] = order.value_or(IntegerOrder{0, 1, 0});
    return Sum(Sum(OfValue(def.args[more], within + 1), OfValue(def.args[less], within + 1), -1),
               SubCases({{{}, Affine::Const(apart)}}), -1);
  }
  static Conditions Compared(const Inst& def, const std::vector<SubCase>& forms, bool truth) {
    std::vector<std::vector<Constraint>> any;
    for (const SubCase& one : forms) {
      const Constraint c{one.form, def.op == Op::Eq};
      for (const Constraint& holds : truth ? std::vector<Constraint>{c} : Negated(c)) {
        any.push_back(one.where);
        any.back().push_back(holds);
      }
    }
    return any;
  }
  bool NamesBody(const Affine& e) const {
    return std::any_of(e.terms.begin(), e.terms.end(),
                       [&](const Affine::Term& t) { return FindDef(each_, t.value) != nullptr; });
  }

  const Each& each_;
  const ir::Function& f_;
  const BodyForms& forms_;
  const OuterValues& outer_;
  const Box box_;
  // Where the subscript is asked for.
  std::set<Value> held_, denied_;  // conditions
  std::vector<Constraint> path_;
};

}  // namespace

SubCases SubCasesOf(const Each& each, const ir::Function& f, const BodyForms& forms,
                    const OuterValues& outer, const Affine& sub, Value guard) {
  return Divider(each, f, forms, outer, guard).OfForm(sub);
}

}  // namespace pullback::analysis
