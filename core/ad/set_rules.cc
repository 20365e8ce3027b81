#include "core/ad/set_rules.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/ad/partials.h"
#include "core/ad/rules.h"
#include "core/ad/set_pattern.h"
#include "core/ir/checkpointed_loop.h"

namespace pullback::ad {
namespace {

using ir::Inst;
using ir::Op;
using ir::Value;

// What depends on parameters, by value, across blocks and calls.
class Dependents {
 public:
  explicit Dependents(const ir::Module& module) : module_(module) {}

  bool OnlyCarry(uint32_t f, const std::vector<bool>& params) {
    if (!seen_.insert({f, params}).second) return true;
    const ir::Function& from = module_.Get(f);
    if (from.HasRule() && ir::ScheduleOf(module_, f) == ir::kNoFunction) return false;
    std::vector<bool> depends(from.values.size());
    for (size_t k = 0; k < params.size(); ++k) depends[from.params()[k].id] = params[k];
    for (bool changed = true; changed;) {
      changed = false;
      for (const ir::Block& b : from.blocks) {
        for (const Inst& inst : b.insts) changed |= Spread(inst, depends);
        for (const ir::Edge& e : b.term.edges) {
          for (size_t k = 0; k < e.args.size(); ++k)
            changed |= depends[e.args[k].id] && Set(depends, from.blocks[e.block].params[k]);
        }
      }
    }
    return std::all_of(from.blocks.begin(), from.blocks.end(), [&](const ir::Block& b) {
      return std::all_of(b.insts.begin(), b.insts.end(),
                         [&](const Inst& inst) { return OnlyCarries(from, inst, depends); });
    });
  }

 private:
  static bool Set(std::vector<bool>& depends, Value v) {
    if (depends[v.id]) return false;
    depends[v.id] = true;
    return true;
  }
  static bool Any(const Inst& inst, const std::vector<bool>& depends) {
    bool any = false;
    ir::ForEachOperand(inst, [&](Value v) { any |= depends[v.id]; });
    return any;
  }
  static bool IsShape(Op op) { return op == Op::Dim || op == Op::ListLen; }

  bool Spread(const Inst& inst, std::vector<bool>& depends) {
    bool changed = false;
    if (inst.each) {
      for (const Inst& body : inst.each->body) changed |= Spread(body, depends);
    }
    if (IsShape(inst.op) || !Any(inst, depends)) return changed;
    for (Value v : inst.results) changed |= Set(depends, v);
    if (inst.op == Op::Push) changed |= Set(depends, inst.args[0]);
    return changed;
  }

  bool OnlyCarries(const ir::Function& from, const Inst& inst, const std::vector<bool>& depends) {
    if (inst.each) {
      for (const Inst& body : inst.each->body) {
        if (!OnlyCarries(from, body, depends)) return false;
      }
    }
    if (IsShape(inst.op) || !Any(inst, depends)) return true;
    if (RuleOf(inst.op) == Rule::kConstant || inst.op == Op::Jvp || inst.op == Op::Vjp)
      return false;
    for (Value v : inst.results) {
      if (depends[v.id] && !ir::CarriesTangent(module_, from.TypeOf(v)) && !IsList(inst.op))
        return false;
    }
    if (inst.op != Op::Call) return true;
    std::vector<bool> args;
    for (Value v : inst.args) args.push_back(depends[v.id]);
    return OnlyCarry(inst.callee, args);
  }
  // Other fields of a list do not come from those that carry something.
  static bool IsList(Op op) { return SetLists::Follows(op); }

  const ir::Module& module_;
  std::set<std::pair<uint32_t, std::vector<bool>>> seen_;
};

}  // namespace

bool OnlyCarries(const ir::Module& module, uint32_t f, const std::vector<bool>& params) {
  return Dependents(module).OnlyCarry(f, params);
}

SetsByRule::SetsByRule(ir::Module& module, uint32_t f, uint32_t target,
                       const std::vector<bool>& active, const SparseFunctions& functions,
                       SetLists& lists)
    : module_(module),
      f_(f),
      active_(active),
      functions_(functions),
      lists_(lists),
      b_(module, module.Get(target)) {
  const ir::Function& from = module.Get(f);
  forward_ = from.jvp_rule != ir::kNoFunction;
  rule_ = forward_ ? from.jvp_rule : from.vjp_rule;
  rule_active_.resize(from.params().size());
  for (size_t k = 0; forward_ && k < active.size(); ++k) {
    if (ir::CarriesTangent(module, from.TypeOf(from.params()[k])))
      rule_active_.push_back(active[k]);
  }
  rule_active_.resize(module.Get(rule_).params().size(), true);
}

bool SetsByRule::HasLists() const {
  const ir::Function& from = module_.Get(f_);
  std::vector<ir::Type> types = ParamTypes(from);
  types.insert(types.end(), from.results.begin(), from.results.end());
  return std::any_of(types.begin(), types.end(),
                     [&](ir::Type t) { return t.IsList() && ir::CarriesTangent(module_, t); });
}

bool SetsByRule::Write(bool followed, const CalleeOf& callee_of) {
  if (HasLists() && !(followed && forward_)) return false;
  const auto sets_function = followed ? callee_of(rule_, rule_active_) : std::nullopt;
  if (followed && !sets_function) return false;
  Declare();
  if (!followed) {
    Everywhere();
  } else if (forward_) {
    ByTangents(*sets_function);
  } else {
    BySeeds(*sets_function);
  }
  return true;
}

void SetsByRule::Declare() {
  const ir::Function& from = module_.Get(f_);
  b_.NewBlock();
  width_ = b_.AddParam(0, ir::Type::I64(), "width");
  for (Value v : from.params()) params_.push_back(b_.AddParam(0, from.TypeOf(v), from.names[v.id]));
  sets_.resize(params_.size());
  for (size_t k = 0; k < params_.size(); ++k) {
    const ir::Type t = b_.TypeOf(params_[k]);
    if (active_[k] && ir::CarriesTangent(module_, t))
      sets_[k] = b_.AddParam(0, lists_.TypeOf(t), "sets");
  }
  b_.function().results = from.results;
  for (ir::Type t : from.results) {
    if (ir::CarriesTangent(module_, t)) b_.function().results.push_back(lists_.TypeOf(t));
  }
}

// Shaped like those that carry tangents. Rules never see a short zero.
std::vector<Value> SetsByRule::Zeros(const std::vector<Value>& like) {
  ListFunctions lists(module_);
  std::vector<Value> zeros;
  for (Value v : like) {
    if (!ir::CarriesTangent(module_, b_.TypeOf(v))) continue;
    const Value zero = b_.ZerosLike(v);
    zeros.push_back(b_.TypeOf(v).IsList() ? lists.Fill(b_, zero, v) : zero);
  }
  return zeros;
}

Value SetsByRule::Elements(Value v) {
  std::vector<Value> extents;
  for (int axis = 0; axis < b_.TypeOf(v).rank; ++axis) extents.push_back(b_.Dim(v, axis));
  return ElementCount(b_, extents);
}

// The rule gives results and tangents, its sets those of both.
void SetsByRule::ByTangents(uint32_t sets_function) {
  std::vector<Value> args = {width_};
  args.insert(args.end(), params_.begin(), params_.end());
  const std::vector<Value> zeros = Zeros(params_);
  args.insert(args.end(), zeros.begin(), zeros.end());
  for (Value sets : sets_) {
    if (sets.valid()) args.push_back(sets);
  }
  const std::vector<Value> made = b_.Call(sets_function, args);
  const size_t results = module_.Get(f_).results.size();
  const auto first = made.begin();
  const auto tangents = static_cast<long>(b_.function().results.size() - results);
  std::vector<Value> out(first, first + static_cast<long>(results));
  out.insert(out.end(), made.end() - tangents, made.end());
  b_.Return(out);
}

std::vector<Value> SetsByRule::EmptySets(const std::vector<Value>& results) {
  std::vector<Value> sets;
  for (Value v : results) {
    if (ir::CarriesTangent(module_, b_.TypeOf(v)))
      sets.push_back(b_.Zeros(DType::kI64, {Elements(v), width_}));
  }
  return sets;
}

// Each cotangent of a parameter has the numbers of the results' elements that it is made of; what that element
// depends on, they do.
void SetsByRule::BySeeds(uint32_t sets_function) {
  std::vector<Value> out = b_.Call(f_, params_);
  const std::vector<Value> seeds = Zeros(out);
  std::vector<Value> begins, sets = EmptySets(out);
  Value rows = b_.I64(0);
  for (Value seed : seeds) {
    begins.push_back(rows);
    rows = b_.Make(Op::Add, {rows, Elements(seed)});
  }
  const Value width = SetWidth(b_, functions_, rows);
  std::vector<Value> args = {width};
  args.insert(args.end(), params_.begin(), params_.end());
  args.insert(args.end(), seeds.begin(), seeds.end());
  for (size_t k = 0; k < seeds.size(); ++k)
    args.push_back(b_.Call(functions_.own, {Elements(seeds[k]), begins[k], width})[0]);
  const std::vector<Value> made = b_.Call(sets_function, args);
  size_t next = made.size() / 2;  // behind the cotangents their sets
  for (size_t k = 0; k < params_.size(); ++k) {
    if (!ir::CarriesTangent(module_, b_.TypeOf(params_[k]))) continue;
    const Value steps = made[next++];
    for (size_t r = 0; sets_[k].valid() && r < sets.size(); ++r)
      sets[r] = b_.Call(functions_.through, {sets[r], begins[r], steps, sets_[k]})[0];
  }
  out.insert(out.end(), sets.begin(), sets.end());
  b_.Return(out);
}

void SetsByRule::Everywhere() {
  std::vector<Value> out = b_.Call(f_, params_);
  std::vector<Value> sets = EmptySets(out);
  for (Value& into : sets) {
    for (Value from : sets_) {
      if (from.valid()) into = b_.Call(functions_.everywhere, {into, from})[0];
    }
  }
  out.insert(out.end(), sets.begin(), sets.end());
  b_.Return(out);
}

}  // namespace pullback::ad
