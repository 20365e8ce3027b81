// An index that is equal to what is read, [k[i] == j], is looked up and not searched for: the statement runs over
// the others and j is k[i], where that is in j's range. So a sum over i of what has k[i] = j, for each j, is a scatter,
// and its gradient a gather: O(n + m) for O(n * m). A sum that has been a prefix form adds the terms of an element in
// the order of the points from then on, and not in lanes. Likewise max, min and prod, where a term is what they are of
// nothing wherever k[i] is not j; and scans that start anew for i and j, where one that adds adds nothing.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "core/analysis/eliminate.h"
#include "core/analysis/outer_values.h"
#include "core/tensor/equalities.h"
#include "core/tensor/look_up_arg.h"
#include "core/tensor/normalise.h"
#include "core/tensor/statement_edit.h"
#include "core/tensor/value_guards.h"

namespace pullback::tensor {
namespace {

using ir::Affine;
using ir::Constraint;
using ir::Inst;
using ir::Op;
using ir::Value;

constexpr int64_t kMaxWork = 200;

// Of one statement, all of whose results are under the equality.
class LookUp {
 public:
  LookUp(ir::Each& each, ir::Function& f, const analysis::OuterValues& outer)
      : each_(each), f_(f), box_(outer.BoxOf(each)) {}

  // False: `where` cannot be solved for the index.
  bool Run(const Equality& found) {
    const ir::IndexVar index = each_.indices[found.index];
    auto where = WithoutIndex(index);
    if (!where) return false;
    each_.indices.erase(each_.indices.begin() + static_cast<long>(found.index));
    for (ir::EachResult& r : each_.results) {
      if (ir::IsScan(r.monoid)) --r.outer;
    }
    RewriteBody(found, index);
    each_.where = *std::move(where);
    PruneBody(each_);
    return true;
  }

 private:
  // Where there is a point for some value of the index: there, and nowhere else, what has nothing to do with it was
  // evaluated, and so may trap. A negative extent traps before any point; with one beyond what an array may have no
  // run comes to its end.
  std::optional<std::vector<Constraint>> WithoutIndex(const ir::IndexVar& index) {
    const analysis::Interval known = box_.RangeOf(index.extent);
    box_.AddValue(index.extent,
                  {std::max<int64_t>(known.lo, 0), std::min<int64_t>(known.hi, kMaxExtent)});
    box_.AddIndex(index.var, Affine::Of(index.extent));
    analysis::Work work{kMaxWork};
    auto p = analysis::EliminateExists(index.var, {each_.where, {}}, box_, work);
    if (!p || !p->strides.empty()) return std::nullopt;
    if (Simplify(*p, box_, work) == analysis::Truth::kFalse) return std::nullopt;
    return std::move(p->constraints);
  }

  // What has to do with the index follows what has not, under "it is in its range".
  void RewriteBody(const Equality& found, const ir::IndexVar& index) {
    const std::set<Value> readers = ReadersOf(each_, index.var);
    std::vector<Inst> behind, body = std::move(each_.body);
    each_.body.clear();
    for (Inst& inst : body) {
      const bool reads = readers.contains(inst.results[0]);
      (reads ? behind : each_.body).push_back(std::move(inst));
    }
    const Value at = ValueOf(found.e, index), inside = InRange(at, index);
    std::unordered_map<uint32_t, Value> by = {{index.var.id, at}};
    std::map<Value, Value> guards = {{ir::kNoValue, inside}};
    for (Inst& inst : behind) {
      const bool is_condition = inst.results[0] == found.condition;
      if (is_condition && !inst.guard.valid()) {
        by[found.condition.id] = inside;
        continue;
      }
      if (is_condition) {
        inst.op = Op::And;
        inst.args = {inside, inside};
      }
      if (!readers.contains(inst.guard)) inst.guard = Under(inside, inst.guard, guards);
      each_.body.push_back(std::move(inst));
    }
    for (Inst& inst : each_.body) ReplaceValues(inst, by);
    for (ir::EachResult& r : each_.results) ReplaceInResult(r, by);
  }

  static void ReplaceInResult(ir::EachResult& r, const std::unordered_map<uint32_t, Value>& by) {
    const auto replace = [&](Value& v) {
      if (const auto it = by.find(v.id); v.valid() && it != by.end()) v = it->second;
    };
    replace(r.value);
    replace(r.guard);
    replace(r.second);
    for (Affine& a : r.out) {
      for (const auto& [from, to] : by) a = a.Substitute(Value{from}, Affine::Of(to));
    }
  }

  Value Append(Inst inst, ir::Type type, std::string name = {}) {
    inst.results = {f_.NewValue(type, std::move(name))};
    each_.body.push_back(std::move(inst));
    return each_.body.back().results[0];
  }

  Value ValueOf(const Affine& e, const ir::IndexVar& index) {
    if (const Value v = e.AsValue(); v.valid()) return v;
    Inst inst;
    inst.op = Op::AffineOf;
    inst.subs = {e};
    return Append(std::move(inst), ir::Type::I64(), f_.names[index.var.id]);
  }

  Value InRange(Value at, const ir::IndexVar& index) {
    Inst inst;
    inst.op = Op::Holds;
    std::vector<Constraint> all = {
        {Affine::Of(at), false},
        {Affine::Of(index.extent) - Affine::Of(at) - Affine::Const(1), false}};
    for (const Constraint& c : each_.where) {
      if (c.e.Coeff(index.var) != 0)
        all.push_back({c.e.Substitute(index.var, Affine::Of(at)), c.equality});
    }
    inst.constraints = std::move(all);
    return Append(std::move(inst), ir::Type::Bool());
  }

  Value Under(Value inside, Value guard, std::map<Value, Value>& made) {
    Value& both = made[guard];
    if (!both.valid()) {
      Inst inst;
      inst.op = Op::And;
      inst.args = {guard, inside};
      both = Append(std::move(inst), ir::Type::Bool());
    }
    return both;
  }

  ir::Each& each_;
  ir::Function& f_;
  analysis::Box box_;
};

class LookUps {
 public:
  // `by_values`: also where no guard is that condition, but what is added is 0 without it.
  LookUps(ir::Function& f, bool by_values) : f_(f), outer_(f), by_values_(by_values) {}

  void Run(std::vector<Inst>& insts) {
    std::vector<Inst> out;
    for (Inst& inst : insts) RunOn(std::move(inst), out);
    insts = std::move(out);
  }

 private:
  void RunOn(Inst inst, std::vector<Inst>& out) {
    if (inst.each) SplitArgs(inst, out);
    while (inst.each && RunOne(inst, out)) {
    }
    if (!inst.each || !inst.results.empty()) out.push_back(std::move(inst));
  }

  // In front of common_rows.cc argmax and argmin have no other form than the prefix form: they become what has.
  void SplitArgs(Inst& inst, std::vector<Inst>& out) {
    for (size_t k = inst.results.size(); k-- > 0;) {
      if (!IsArgUnderEquality(*inst.each, f_, inst.each->results[k])) continue;
      for (Inst& part : SplitArg(CopyWithResult(inst, k, f_).inst, f_)) RunOn(std::move(part), out);
      inst.results.erase(inst.results.begin() + static_cast<long>(k));
      inst.each->results.erase(inst.each->results.begin() + static_cast<long>(k));
      PruneBody(*inst.each);
    }
  }

  // Results that no equality is about go to a statement of their own.
  bool RunOne(Inst& inst, std::vector<Inst>& out) {
    ir::Each& each = *inst.each;
    for (const Equality& found : EqualitiesOf(each, f_)) {
      const std::vector<Condition> under = Under(each, found);
      const auto others = std::count(under.begin(), under.end(), Condition::kNone);
      if (static_cast<size_t>(others) == under.size()) continue;
      const Value extent = each.indices[found.index].extent;
      for (size_t k = 0; k < under.size(); ++k) SetUnder(each, each.results[k], found, under[k]);
      Inst rest;
      if (others > 0) rest = CopyStatement(inst, f_).inst;
      if (!LookUp(each, f_, outer_).Run(found)) continue;
      if (rest.each) {
        Keep(rest, under, false);
        Keep(inst, under, true);
        out.push_back(std::move(rest));
      }
      if (!IsShape(each, extent) && outer_.MayBeNegative(extent))
        CheckSize(extent, inst.loc, f_, out);
      return true;
    }
    return false;
  }

  // How the equality is a condition of a result.
  enum class Condition : uint8_t { kNone, kOfTerm, kOfValue };

  // The results that the equality is a condition of.
  std::vector<Condition> Under(const ir::Each& each, const Equality& found) const {
    NeedsOfValues needs(each, f_);
    std::map<Value, bool> known;  // of guards
    std::vector<Condition> under;
    for (const ir::EachResult& r : each.results)
      under.push_back(Under(each, r, found, needs, known));
    // No statement is taken apart for that: of its products some would become contractions, where 0 * inf is no 0.
    const auto is = [&](Condition c) { return std::count(under.begin(), under.end(), c) > 0; };
    if (!by_values_ || is(Condition::kNone))
      std::replace(under.begin(), under.end(), Condition::kOfValue, Condition::kNone);
    return under;
  }
  Condition Under(const ir::Each& each, const ir::EachResult& r, const Equality& found,
                  NeedsOfValues& needs, std::map<Value, bool>& known) const {
    const bool scan = ir::IsScan(r.monoid);
    if (ir::IsArg(r.monoid) || (scan && !IsOfRuns(each, r, found))) return Condition::kNone;
    const Value guard = scan ? r.guard : TermOf(each, f_, r).guard;
    const auto [at, fresh] = known.try_emplace(guard);
    if (fresh) at->second = ConditionsOf(each, guard).contains(found.condition);
    if (at->second) return Condition::kOfTerm;
    // What adds 0 may as well not be there.
    const bool adds = r.monoid == ir::Monoid::kSum || r.monoid == ir::Monoid::kScanSum ||
                      r.monoid == ir::Monoid::kScanLinear;
    const Value added = r.second.valid() ? r.second : r.value;
    return adds && needs.Of(added).contains(found.condition) ? Condition::kOfValue
                                                             : Condition::kNone;
  }
  // Whether it is one for all of a run of the scan, which starts anew for the index: runs without points, or that add
  // nothing, are zeros.
  static bool IsOfRuns(const ir::Each& each, const ir::EachResult& r, const Equality& found) {
    if (found.index >= r.outer) return false;
    return std::none_of(
        each.indices.begin() + r.outer, each.indices.end(),
        [&](const ir::IndexVar& i) { return ReadersOf(each, i.var).contains(found.condition); });
  }

  // Then it is a condition of the guard.
  void SetUnder(ir::Each& each, ir::EachResult& r, const Equality& found, Condition how) {
    if (how == Condition::kOfTerm && !ir::IsScan(r.monoid)) SetTerm(r, TermOf(each, f_, r));
    if (how != Condition::kOfValue) return;
    if (!r.guard.valid()) {
      r.guard = found.condition;
      return;
    }
    Inst both;
    both.op = Op::And;
    both.args = {r.guard, found.condition};
    both.results = {f_.NewValue(ir::Type::Bool())};
    r.guard = both.results[0];
    each.body.push_back(std::move(both));
  }

  static void Keep(Inst& inst, const std::vector<Condition>& under, bool which) {
    for (size_t k = under.size(); k-- > 0;) {
      if ((under[k] != Condition::kNone) == which) continue;
      inst.results.erase(inst.results.begin() + static_cast<long>(k));
      inst.each->results.erase(inst.each->results.begin() + static_cast<long>(k));
    }
    PruneBody(*inst.each);
  }

  static bool IsShape(const ir::Each& each, Value extent) {
    return std::any_of(each.results.begin(), each.results.end(), [&](const ir::EachResult& r) {
      return std::find(r.shape.begin(), r.shape.end(), extent) != r.shape.end();
    });
  }

  ir::Function& f_;
  const analysis::OuterValues outer_;
  const bool by_values_;
};

}  // namespace

void LookUpIndices(ir::Function& f) {
  LookUps look_ups(f, true);
  for (ir::Block& b : f.blocks) look_ups.Run(b.insts);
}

void LookUpIndicesOf(std::vector<Inst>& insts, ir::Function& f) { LookUps(f, false).Run(insts); }

}  // namespace pullback::tensor
