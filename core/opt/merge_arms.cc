// What several arms of a body compute alike is computed once, where any of them is taken.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "core/opt/merge_arms.h"

namespace pullback::opt {
namespace {

using ir::Inst;
using ir::Op;
using ir::Value;

constexpr int kMostMerged = 200;  // of a body, under different conditions

class Arms {
 public:
  Arms(ir::Function& f, std::vector<Inst>& body, const std::set<Value>& arms, Renaming& renaming)
      : f_(f), body_(body), arms_(arms), renaming_(renaming) {
    for (size_t k = 0; k < body.size(); ++k) {
      for (Value v : body[k].results) def_[v] = k;
    }
  }

  bool Run() {
    const size_t n = body_.size();  // conditions are appended
    for (size_t k = 0; k < n; ++k) {
      renaming_.Apply(body_[k]);
      Merge(k);
    }
    if (!dead_.empty()) Order();
    return !dead_.empty();
  }

 private:
  using Key = std::tuple<Op, DType, uint64_t, ir::Values>;

  void Merge(size_t k) {
    const Inst inst = body_[k];
    if (inst.results.size() != 1 || !arms_.contains(inst.results[0]) || ir::MayTrap(inst, f_) ||
        ir::Info(inst.op).rule == ir::TypeRule::Own)
      return;
    Key key{inst.op, f_.TypeOf(inst.results[0]).elem, inst.bits, inst.args};
    const auto [it, fresh] = first_.emplace(std::move(key), k);
    if (fresh) return;
    const size_t earlier = it->second;
    if (body_[earlier].guard != inst.guard) {
      if (merged_ >= kMostMerged || DependsOn(inst.guard, body_[earlier].results[0])) return;
      body_[earlier].guard = Either(body_[earlier].guard, inst.guard);
      ++merged_;
    }
    renaming_.Set(body_[k].results[0], body_[earlier].results[0]);
    dead_.push_back(k);
  }

  // Whether `v` is computed from `from`.
  bool DependsOn(Value v, Value from) const {
    std::vector<Value> work = {v};
    std::vector<char> seen(body_.size());
    while (!work.empty()) {
      const Value at = work.back();
      work.pop_back();
      if (at == from) return true;
      const auto def = def_.find(at);
      if (def == def_.end() || seen[def->second]) continue;
      seen[def->second] = 1;
      ir::ForEachOperand(body_[def->second], [&](Value x) { work.push_back(x); });
    }
    return false;
  }

  Value Either(Value a, Value b) {
    std::set<Value> parts = PartsOf(a), more = PartsOf(b);
    parts.insert(more.begin(), more.end());
    if (parts == PartsOf(a)) return a;
    if (parts == more) return b;
    const auto [it, fresh] = either_.try_emplace(parts);
    if (fresh) {
      Inst inst;
      inst.op = Op::Or;
      inst.args = {a, b};
      inst.results = {f_.NewValue(ir::Type::Bool())};
      it->second = inst.results[0];
      def_[it->second] = body_.size();
      parts_[it->second] = parts;
      body_.push_back(std::move(inst));
    }
    return it->second;
  }

  // What a condition made here is the disjunction of.
  std::set<Value> PartsOf(Value v) const {
    const auto it = parts_.find(v);
    return it == parts_.end() ? std::set<Value>{v} : it->second;
  }

  // Operands first; otherwise as it was.
  void Order() {
    for (size_t k : dead_) body_[k].results.clear();
    std::vector<Inst> ordered;
    std::vector<char> state(body_.size());  // 1: entered, 2: done
    std::vector<size_t> work;
    for (size_t k = 0; k < body_.size(); ++k) {
      work.push_back(k);
      while (!work.empty()) {
        const size_t at = work.back();
        if (state[at] == 2 || body_[at].results.empty()) {
          work.pop_back();
          continue;
        }
        if (state[at] == 1) {
          state[at] = 2;
          ordered.push_back(std::move(body_[at]));
          continue;
        }
        state[at] = 1;
        ir::ForEachOperand(body_[at], [&](Value v) {
          const auto def = def_.find(v);
          if (def != def_.end() && state[def->second] == 0) work.push_back(def->second);
        });
      }
    }
    body_ = std::move(ordered);
  }

  ir::Function& f_;
  std::vector<Inst>& body_;
  const std::set<Value>& arms_;
  Renaming& renaming_;
  std::map<Value, size_t> def_;
  std::map<Key, size_t> first_;
  std::map<std::set<Value>, Value> either_;
  std::map<Value, std::set<Value>> parts_;
  std::vector<size_t> dead_;
  int merged_ = 0;
};

}  // namespace

bool MergeArms(ir::Function& f, ir::Each& each, ArmText text, Renaming& renaming) {
  const auto keep_out = [&](Value v) { text.arms.erase(v); };
  for (const Inst& inst : each.body) {
    const bool ours = std::all_of(inst.results.begin(), inst.results.end(),
                                  [&](Value v) { return text.values.contains(v); });
    if (!ours) ir::ForEachOperand(inst, keep_out);
  }
  for (const ir::EachResult& r : each.results) {
    for (Value v : {r.value, r.second, r.guard}) keep_out(v);
    for (const ir::Affine& a : r.out) ir::ForEachOperand(a, keep_out);
  }
  return Arms(f, each.body, text.arms, renaming).Run();
}

}  // namespace pullback::opt
