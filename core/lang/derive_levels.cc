#include "core/lang/derive_levels.h"

#include "core/lang/derive_nodes.h"
#include "core/lang/walk.h"

namespace pullback::lang {
namespace {

constexpr uint32_t kNone = UINT32_MAX;
// Beyond these derivatives are lowered as if there were no levels.
constexpr size_t kMaxWork = 20'000'000;
constexpr size_t kMaxLevels = 200;

bool Derives(const Expr& e) {
  return e.kind == Expr::Kind::kDerive && e.derive != DeriveOp::kCheckpoint;
}

// Who may call whom, by the text.
class CallGraph {
 public:
  explicit CallGraph(const Program& program) : called_(program.functions.size()) {
    for (uint32_t f = 0; f < called_.size(); ++f) {
      const Function& function = *program.functions[f];
      if (function.is_template) continue;
      ForEachExpr(function.body, [&](const Expr& e) {
        if (e.callee == kNone) return;
        called_[f].push_back(e.callee);
        if (Derives(e)) derivatives.emplace_back(f, &e);
      });
      for (const DerivativeRule* rule : {&function.vjp_rule, &function.jvp_rule}) {
        if (!rule->name.empty()) called_[f].push_back(rule->function);
      }
    }
  }

  bool Reaches(uint32_t from, uint32_t to, size_t& work) const {
    std::vector<char> seen(called_.size());
    std::vector<uint32_t> queue = {from};
    seen[from] = 1;
    for (size_t next = 0; next < queue.size(); ++next) {
      if (queue[next] == to) return true;
      work += 1 + called_[queue[next]].size();
      for (uint32_t g : called_[queue[next]]) {
        if (!seen[g]) queue.push_back(g);
        seen[g] = 1;
      }
    }
    return false;
  }

  std::vector<std::pair<uint32_t, const Expr*>>
      derivatives;  // and the functions that they stand in

 private:
  std::vector<std::vector<uint32_t>> called_;
};

}  // namespace

DeriveLevels::DeriveLevels(const Program& program, uint32_t entry)
    : program_(program), entry_(entry) {
  bool dispatches = false;
  for (const DynamicType& d : program.dynamics) dispatches |= d.dispatcher != kNone;
  if (!dispatches) return;
  const CallGraph graph(program);
  for (const auto& [function, e] : graph.derivatives) {
    if (work_ > kMaxWork) return;
    if (graph.Reaches(e->callee, function, work_)) recurring_.insert(e);
  }
}

void DeriveLevels::Add(uint32_t function, const FlowInput& in) {
  Level level;
  level.flow = std::make_unique<FunctionFlow>(program_, function, in, work_, kMaxWork);
  const FunctionFlow& flow = *level.flow;
  for (const DynamicType& d : program_.dynamics) {
    // The program itself stays as it is.
    if (levels_.empty() || d.dispatcher == kNone || !flow.Reaches(d.dispatcher)) continue;
    const Function& whole = *program_.functions[d.dispatcher];
    Block& body = level.dispatchers[d.dispatcher];
    body = DispatcherBody(program_, d, flow.VariantsOf(d.dispatcher));
    for (const StmtPtr& s : body.stmts) s->ordinal = whole.first_ordinal;
    ForEachExpr(body, [&](Expr& e) { e.ordinal = whole.first_ordinal; });
  }
  levels_.push_back(std::move(level));
}

size_t DeriveLevels::Below(size_t level, const Expr& derive) {
  if (!recurring_.contains(&derive)) return level;
  if (levels_.empty()) Add(entry_, {});
  const FlowInput in = levels_[level].flow->Into(derive);
  const auto [it, added] = known_.try_emplace({derive.callee, in}, levels_.size());
  if (!added) return it->second;
  if (levels_.size() < kMaxLevels) Add(derive.callee, in);
  if (work_ > kMaxWork || it->second == levels_.size()) it->second = level;
  return it->second;
}

const Block* DeriveLevels::BodyOf(size_t level, uint32_t function) const {
  if (level == 0) return nullptr;
  const auto& dispatchers = levels_[level].dispatchers;
  const auto it = dispatchers.find(function);
  return it == dispatchers.end() ? nullptr : &it->second;
}

}  // namespace pullback::lang
