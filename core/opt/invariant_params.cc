#include "core/opt/invariant_params.h"

#include <vector>

#include "core/ir/dominance.h"
#include "core/opt/rename.h"

namespace pullback::opt {
namespace {

using ir::Value;

// Each parameter is taken for what its edges give until two of them differ; then it is itself. So what is found is the
// most that is true. What a parameter is taken for may still become another parameter while loops are followed;
// then it is itself too, and the next call finds it.
class ParamValues {
 public:
  ParamValues(ir::Function& f, const RewriteOptions& options) : f_(f), options_(options) {}

  bool Run() {
    if (!MayFind()) return false;
    const FlatLists successors = ir::Successors(f_.blocks);
    order_ = ir::ReversePostorder(successors);
    edges_to_ = ir::EdgesTo(successors);
    Forget();
    bool changed = true;
    for (int sweep = 0; changed; ++sweep) {
      if (sweep == kMostSweeps) return false;
      changed = false;
      for (size_t k = 1; k < order_.size(); ++k) changed |= Visit(order_[k]);
    }
    return Replace();
  }

 private:
  static constexpr int kMostSweeps = 16;  // loops nest less deep

  // Parameters that go round go along an edge to a block that does not come later, in whatever order blocks are.
  bool MayFind() const {
    std::vector<char> is_param;
    for (uint32_t b = 0; b < f_.blocks.size(); ++b) {
      for (const ir::Edge& e : f_.blocks[b].term.edges) {
        if (e.block > b) continue;
        if (is_param.empty()) is_param = Params();
        const ir::Values& params = f_.blocks[e.block].params;
        for (size_t k = 0; k < params.size(); ++k) {
          if (e.args[k] != params[k] && is_param[e.args[k].id]) return true;
        }
      }
    }
    return false;
  }
  std::vector<char> Params() const {
    std::vector<char> is_param(f_.values.size());
    for (size_t b = 1; b < f_.blocks.size(); ++b) {
      for (Value param : f_.blocks[b].params) is_param[param.id] = 1;
    }
    return is_param;
  }

  // Nothing is known of parameters but those of the entry.
  void Forget() {
    value_.reserve(f_.values.size());
    for (uint32_t id = 0; id < f_.values.size(); ++id) value_.push_back(Value{id});
    for (size_t k = 1; k < order_.size(); ++k) {
      for (Value param : f_.blocks[order_[k]].params) value_[param.id] = ir::kNoValue;
    }
  }

  bool Visit(uint32_t b) {
    bool changed = false;
    for (size_t k = 0; k < f_.blocks[b].params.size(); ++k) {
      const Value param = f_.blocks[b].params[k];
      Value& known = value_[param.id];
      if (known == param) continue;
      Value now = known;
      for (uint32_t edge : edges_to_[b]) {
        const Value arg = value_[ir::EdgeOf(f_, edge).args[k].id];
        if (!arg.valid() || arg == now) continue;
        now = now.valid() ? param : arg;
        if (now == param) break;
      }
      changed |= now != known;
      known = now;
    }
    return changed;
  }

  bool Replace() {
    Renaming renaming(f_);
    for (size_t n = 1; n < order_.size(); ++n) {
      ir::Values& params = f_.blocks[order_[n]].params;
      for (size_t k = params.size(); k-- > 0;) {
        const Value param = params[k], is = value_[param.id];
        if (is == param || !options_.Take(RuleId::kLoopIdentityBody)) continue;
        renaming.Set(param, is);
        if (f_.names[is.id].empty()) f_.names[is.id] = f_.names[param.id];
        params.erase(params.begin() + static_cast<long>(k));
        for (uint32_t edge : edges_to_[order_[n]]) {
          ir::Values& args = ir::EdgeOf(f_, edge).args;
          args.erase(args.begin() + static_cast<long>(k));
        }
      }
    }
    if (!renaming.any()) return false;
    renaming.Apply(f_);
    return true;
  }

  ir::Function& f_;
  const RewriteOptions& options_;
  std::vector<uint32_t> order_;  // of the blocks
  FlatLists edges_to_;
  std::vector<Value> value_;  // by value
};

}  // namespace

bool RemoveInvariantParams(ir::Function& f, const RewriteOptions& options) {
  return ParamValues(f, options).Run();
}

}  // namespace pullback::opt
