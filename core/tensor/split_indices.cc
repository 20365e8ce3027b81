// An index of which a body asks for nothing but quotients and remainders by the factors of its extent becomes an index of
// each factor: a flattened array is read as it stands.
//
//   each(t < mul(%n, %m)) { %i = div %t, %m; %j = rem %t, %m; … index %x[%i, %j] … } sum []
//                                          each(i < %n, j < %m) { … index %x[%i, %j] … } sum []
//
// The points keep their order.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "core/tensor/block_values.h"
#include "core/tensor/normalise.h"
#include "core/tensor/statement_edit.h"

namespace pullback::tensor {
namespace {

using ir::Each;
using ir::Inst;
using ir::Op;
using ir::Value;

// A value, or a number.
struct Factor {
  Value value;
  int64_t number = 0;
  bool operator==(const Factor&) const = default;
};
using Factors = std::vector<Factor>;

constexpr size_t kMostFactors = 4;

// Without one of them; nothing: it is none.
std::optional<Factors> Without(Factors all, const Factor& one) {
  const auto it = std::find(all.begin(), all.end(), one);
  if (it == all.end()) return std::nullopt;
  all.erase(it);
  return all;
}
class Splitter {
 public:
  explicit Splitter(ir::Function& f) : f_(f), values_(f) {}

  bool Run() {
    for (const ir::Block& b : f_.blocks) {
      for (const Inst& inst : b.insts) {
        if (inst.each && MaySplit(*inst.each)) Visit(*inst.each);
      }
    }
    if (found_.empty()) return false;
    for (ir::Block& b : f_.blocks) {
      std::vector<Inst> out;
      for (Inst& inst : b.insts) {
        const auto it = inst.each ? found_.find(inst.each.get()) : found_.end();
        if (it != found_.end()) Replace(*inst.each, it->second, out);
        out.push_back(std::move(inst));
      }
      b.insts = std::move(out);
    }
    return true;
  }

 private:
  // What an index becomes: indices from the last to the first, with what they are the extents of, and which values of the
  // body they are.
  struct Plan {
    size_t index = 0;  // which
    std::vector<std::pair<Value, Factor>> indices;
    std::unordered_map<uint32_t, Value> by;
  };
  // What is left of an index: the values that are it, and quotients of it.
  struct Left {
    std::set<Value> same;
    std::vector<std::pair<Value, Factors>> quotients;
  };

  static bool MaySplit(const Each& each) {
    const bool divides = std::any_of(each.body.begin(), each.body.end(), [](const Inst& inst) {
      return inst.op == Op::Div || inst.op == Op::Rem;
    });
    return divides && std::all_of(each.results.begin(), each.results.end(), [](const auto& r) {
             return !ir::IsScan(r.monoid) && !ir::IsArg(r.monoid);
           });
  }

  // The first that may be; others in the next round.
  void Visit(const Each& each) {
    for (size_t k = 0; k < each.indices.size(); ++k) {
      const ir::IndexVar& index = each.indices[k];
      const std::optional<Factors> factors = FactorsOf(each, index.extent);
      Plan plan;
      plan.index = k;
      if (!factors || !Split(each, {{index.var}, {}}, *factors, plan)) continue;
      if (plan.indices.size() < 2) continue;
      found_[&each] = std::move(plan);
      return;
    }
  }

  // Those of a product, which the body may have made; nothing: it is not the same at all points, or has too many.
  std::optional<Factors> FactorsOf(const Each& each, Value v) const {
    if (PlaceOfIndex(each, v)) return std::nullopt;
    const Inst* inner = FindDef(each, v);
    if (inner && inner->guard.valid()) return std::nullopt;
    const Inst* def = inner ? inner : values_.DefOf(v);
    const Op op = def ? def->op : Op::Dim;
    if (op == Op::Const) return Factors{{Value(), static_cast<int64_t>(def->bits)}};
    if (op == Op::Mul) return Joined(FactorsOf(each, def->args[0]), FactorsOf(each, def->args[1]));
    // A product of sizes, which is what is asked of each factor, is not negative.
    if (op == Op::Max) {
      for (size_t k = 0; k < 2; ++k) {
        const Inst* zero = values_.DefOf(def->args[k]);
        if (!inner && zero && zero->op == Op::Const && zero->bits == 0)
          return FactorsOf(each, def->args[1 - k]);
      }
    }
    const auto* e = op == Op::AffineOf ? &def->subs[0] : nullptr;
    if (e && e->constant == 0 && e->terms.size() == 1 && e->terms[0].coeff > 1)
      return Joined(Factors{{Value(), e->terms[0].coeff}}, FactorsOf(each, e->terms[0].value));
    return inner ? std::nullopt : std::optional(Factors{{v}});
  }
  static std::optional<Factors> Joined(std::optional<Factors> all,
                                       const std::optional<Factors>& more) {
    if (!all || !more || all->size() + more->size() > kMostFactors) return std::nullopt;
    all->insert(all->end(), more->begin(), more->end());
    return all;
  }

  bool Split(const Each& each, const Left& left, const Factors& factors, Plan& plan) {
    const std::optional<Left> divided = Divisions(each, left);
    if (!divided) return TakeLast(each, left, factors, plan);
    const std::optional<Factor> last = LastOf(*divided, remainders_, factors);
    if (!last || !IsSize(each, *last)) return false;
    const std::optional<Factors> others = OthersOf(factors, *last);
    if (!others) return false;
    const Value index = f_.NewValue(ir::Type::I64(), "j");
    plan.indices.emplace_back(index, *last);
    for (const auto& [v, by] : remainders_) {
      if (by != Factors{*last}) return false;
      plan.by[v.id] = index;
    }
    Left rest;
    for (const auto& [v, by] : divided->quotients) {
      const std::optional<Factors> more = Without(by, *last);
      if (!more) return false;
      if (more->empty())
        rest.same.insert(v);
      else
        rest.quotients.emplace_back(v, *more);
    }
    return Split(each, rest, *others, plan);
  }

  // The quotients of what is left, and the remainders; nothing: something else is made of it.
  std::optional<Left> Divisions(const Each& each, const Left& left) {
    remainders_.clear();
    Left all{{}, left.quotients};
    if (IsUsedBeside(each, left.same)) return std::nullopt;
    for (const Inst& inst : each.body) {
      if (inst.args.empty() || !left.same.contains(inst.args[0])) continue;
      const std::optional<Factors> by = FactorsOf(each, inst.args[1]);
      if (!by) return std::nullopt;
      (inst.op == Op::Div ? all.quotients : remainders_).emplace_back(inst.results[0], *by);
    }
    return all;
  }
  // Otherwise than as what is divided, by something outside.
  bool IsUsedBeside(const Each& each, const std::set<Value>& same) const {
    const auto is = [&](Value v) { return same.contains(v); };
    const auto names = [&](const ir::Affine& e) {
      return std::any_of(e.terms.begin(), e.terms.end(),
                         [&](const auto& t) { return is(t.value); });
    };
    for (const ir::Constraint& c : each.where) {
      if (names(c.e)) return true;
    }
    for (const ir::EachResult& r : each.results) {
      if (is(r.value) || is(r.guard) || std::any_of(r.out.begin(), r.out.end(), names)) return true;
    }
    return std::any_of(each.body.begin(), each.body.end(), [&](const Inst& inst) {
      int uses = 0;
      ir::ForEachOperand(inst, [&](Value v) { uses += is(v) ? 1 : 0; });
      if (uses == 0) return false;
      const bool divides = (inst.op == Op::Div || inst.op == Op::Rem) && !inst.guard.valid();
      return !divides || uses > 1 || !is(inst.args[0]) || !FactorsOf(each, inst.args[1]);
    });
  }

  // The one that is left is an index itself, whatever is made of it.
  bool TakeLast(const Each& each, const Left& left, const Factors& factors, Plan& plan) {
    if (factors.size() != 1 || !left.quotients.empty() || !IsSize(each, factors[0])) return false;
    const Value index = f_.NewValue(ir::Type::I64(), "i");
    plan.indices.emplace_back(index, factors[0]);
    for (Value v : left.same) plan.by[v.id] = index;
    return true;
  }

  // What the innermost index runs over: what remainders are taken by, or quotients.
  static std::optional<Factor> LastOf(const Left& left,
                                      const std::vector<std::pair<Value, Factors>>& remainders,
                                      const Factors& factors) {
    for (const auto* list : {&remainders, &left.quotients}) {
      for (const auto& [v, by] : *list) {
        if (by.size() == 1 && OthersOf(factors, by[0])) return by[0];
      }
    }
    return std::nullopt;
  }
  // A number may be part of one.
  static std::optional<Factors> OthersOf(const Factors& factors, const Factor& one) {
    if (const auto others = Without(factors, one)) return others->empty() ? std::nullopt : others;
    for (size_t k = 0; k < factors.size(); ++k) {
      const int64_t number = factors[k].number;
      if (factors[k].value.valid() || one.value.valid() || one.number < 2 || number <= one.number ||
          number % one.number != 0)
        continue;
      Factors others = factors;
      others[k].number = number / one.number;
      return others;
    }
    return std::nullopt;
  }

  // Whether it is surely not negative: a number, an array's extent, or that of one that has been made.
  bool IsSize(const Each& each, const Factor& factor) const {
    if (!factor.value.valid()) return factor.number >= 0;
    const Inst* def = values_.DefOf(factor.value);
    if (def && def->op == Op::Dim) return true;
    return std::any_of(each.body.begin(), each.body.end(), [&](const Inst& inst) {
      const Inst* made = inst.op == Op::Index ? values_.DefOf(inst.args[0]) : nullptr;
      return made && made->each &&
             std::any_of(made->each->results.begin(), made->each->results.end(),
                         [&](const ir::EachResult& r) {
                           return std::find(r.shape.begin(), r.shape.end(), factor.value) !=
                                  r.shape.end();
                         });
    });
  }

  // `before`: what comes in front of the statement.
  void Replace(Each& each, const Plan& plan, std::vector<Inst>& before) {
    std::vector<ir::IndexVar> indices;
    for (auto it = plan.indices.rbegin(); it != plan.indices.rend(); ++it)
      indices.push_back({it->first, ValueOf(it->second, before)});
    const auto at = each.indices.begin() + static_cast<long>(plan.index);
    each.indices.insert(each.indices.erase(at), indices.begin(), indices.end());
    std::erase_if(each.body,
                  [&](const Inst& inst) { return plan.by.contains(inst.results[0].id); });
    Inst statement;
    statement.each = std::make_unique<Each>(std::move(each));
    ReplaceValues(statement, plan.by);
    each = std::move(*statement.each);
    PruneBody(each);
  }
  Value ValueOf(const Factor& factor, std::vector<Inst>& before) {
    if (factor.value.valid()) return factor.value;
    Inst number;
    number.op = Op::Const;
    number.bits = static_cast<uint64_t>(factor.number);
    number.results = {f_.NewValue(ir::Type::I64())};
    before.push_back(std::move(number));
    return before.back().results[0];
  }

  ir::Function& f_;
  const BlockValues values_;
  std::map<const Each*, Plan> found_;
  std::vector<std::pair<Value, Factors>> remainders_;  // of what is split now
};

}  // namespace

bool SplitIndices(ir::Function& f) { return Splitter(f).Run(); }

}  // namespace pullback::tensor
