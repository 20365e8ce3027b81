#include "core/loops/offload.h"

#include <algorithm>
#include <set>

#include "core/loops/walk.h"

namespace pullback::loops {
namespace {

using Kind = Node::Kind;
using Form = OffloadKernel::Form;

bool Has(const std::vector<Reg>& list, Reg r) {
  return std::find(list.begin(), list.end(), r) != list.end();
}
void AddOnce(std::vector<Reg>& list, Reg r) {
  if (!Has(list, r)) list.push_back(r);
}

bool IsScalarOnly(const Function& f) {
  const auto scalar = [](ir::Type t) { return t.IsScalar(); };
  return std::all_of(f.results.begin(), f.results.end(), scalar) &&
         std::all_of(f.regs.begin(), f.regs.end(),
                     [&](const RegInfo& r) { return r.type.IsScalar(); });
}

bool HasCycle(const Function& f) {
  const std::vector<uint32_t> order = BlockOrder(f);
  std::vector<size_t> position(f.blocks.size());
  for (size_t i = 0; i < order.size(); ++i) position[order[i]] = i;
  for (const uint32_t block : order) {
    for (const ir::Edge& edge : f.blocks[block].term.edges) {
      if (position[edge.block] <= position[block]) return true;
    }
  }
  return false;
}

// What is not for a kernel; empty: nothing.
std::string UnfitNode(const Module& module, const Node& n, int depth);

bool IsFitFunction(const Module& module, uint32_t function, int depth) {
  constexpr int kDeepest = 16;  // deeper calls, and recursion, are the host's
  const Function& f = *module.functions[function];
  if (depth > kDeepest || !IsScalarOnly(f) || HasCycle(f)) return false;
  bool fit = true;
  for (const Block& block : f.blocks) {
    ForEachNode(block.nodes,
                [&](const Node& n) { fit = fit && UnfitNode(module, n, depth + 1).empty(); });
  }
  return fit;
}

std::string UnfitNode(const Module& module, const Node& n, int depth) {
  switch (n.kind) {
    case Kind::kScalar:
    case Kind::kDim:
    case Kind::kLoad:
    case Kind::kStore:
    case Kind::kFor:
    case Kind::kIf:
    case Kind::kLanesNew:
    case Kind::kLaneAdd:
    case Kind::kLanesTotal:
    case Kind::kCheck: return {};
    case Kind::kCall:
      if (IsFitFunction(module, n.callee, depth)) return {};
      return "a call of @" + module.functions[n.callee]->name +
             ", which has loops over blocks, arrays, lists or calls of its own kind";
    case Kind::kAlloc: return "an array made at every turn";
    case Kind::kRetain:
    case Kind::kRelease:
    case Kind::kUnique: return "references to arrays";
    case Kind::kTapeNew:
    case Kind::kPush:
    case Kind::kPop: return "a tape";
    case Kind::kList: return "a list";
  }
  return "an unknown node";
}

bool MayTrap(const Module& module, const Node& n) {
  if (n.kind == Kind::kCheck) return true;
  if (n.kind != Kind::kCall) return false;
  bool may = false;
  for (const Block& block : module.functions[n.callee]->blocks) {
    ForEachNode(block.nodes, [&](const Node& inner) { may = may || MayTrap(module, inner); });
  }
  return may;
}

class NestPlanner {
 public:
  NestPlanner(const Module& module, const Function& f, const OffloadPlan& plan, const Node& root)
      : module_(module), f_(f), plan_(plan), root_(root) {
    nest_.root = &root;
  }

  // Empty where it can go; else why it cannot.
  std::string Plan() {
    Collect(root_);
    for (const Node* store : stores_) AddOnce(nest_.stored, store->args[0]);
    if (nest_.stored.size() > 60) return "more than 60 arrays at once";
    Outside();
    if (std::string why = Taint(); !why.empty()) return why;
    FindChain();
    for (const Reg array : nest_.stored) {
      if (std::string why = PlanArray(array); !why.empty()) return why;
    }
    // First, since they read what the others overwrite.
    if (!nest_.lanes.empty()) {
      nest_.kernels.insert(nest_.kernels.begin(), {Form::kLanes, {}, nest_.lanes});
    }
    if (nest_.kernels.empty()) return "no result";
    return {};
  }
  OffloadNest Take() { return std::move(nest_); }

 private:
  void Collect(const Node& n) {
    for (const Reg r : n.results) defined_.insert(r.id);
    if (n.kind == Kind::kStore) stores_.push_back(&n);
    nest_.checks = nest_.checks || MayTrap(module_, n);
    nodes_.push_back(&n);
    for (const Node& inner : n.body) Collect(inner);
    for (const Node& inner : n.other) Collect(inner);
  }

  void Use(const Node& n, Reg r) {
    if (defined_.count(r.id) > 0) return;
    if (f_.regs[r.id].lanes) return AddOnce(nest_.lanes, r);
    if (f_.TypeOf(r).IsScalar()) {
      return AddOnce(plan_.constants.count(r.id) > 0 ? nest_.constants : nest_.scalars, r);
    }
    AddOnce(nest_.arrays, r);
    if (n.kind != Kind::kDim) return;
    const auto same = [&](const OffloadNest::Extent& e) {
      return e.array == r && e.axis == n.bits;
    };
    if (std::none_of(nest_.extents.begin(), nest_.extents.end(), same)) {
      nest_.extents.push_back({r, n.bits});
    }
  }

  void Outside() {
    for (const Node* n : nodes_) {
      for (const auto* list : {&n->args, &n->body_yields, &n->other_yields}) {
        for (const Reg r : *list) Use(*n, r);
      }
    }
  }

  size_t IndexOf(Reg array) const {
    const auto at = std::find(nest_.stored.begin(), nest_.stored.end(), array);
    return static_cast<size_t>(at - nest_.stored.begin());
  }

  // What is read of an array that the nest stores into may only go back into that element: then kernels
  // may be run one after the other, and again by the host.
  std::string Taint() {
    std::vector<uint64_t> from(f_.regs.size());
    const auto of = [&](Reg r) { return from[r.id]; };
    for (const Node* n : nodes_) {
      uint64_t all = 0;
      for (const Reg r : n->args) all |= of(r);
      switch (n->kind) {
        case Kind::kLoad: {
          if (of(n->args[1]) != 0) return "a subscript that depends on a result";
          const size_t array = IndexOf(n->args[0]);
          if (array == nest_.stored.size()) break;
          for (const Node* s : stores_) {
            if (s->args[0] == n->args[0] && s->args[1] != n->args[1]) {
              return "elements of a result that are read elsewhere";
            }
          }
          from[n->results[0].id] = uint64_t{1} << array;
          continue;
        }
        case Kind::kStore:
          if (of(n->args[1]) != 0) return "a subscript that depends on a result";
          if ((of(n->args[2]) & ~(uint64_t{1} << IndexOf(n->args[0]))) != 0) {
            return "a result that depends on another one's elements";
          }
          continue;
        case Kind::kScalar: break;
        case Kind::kIf:
          for (const auto* yields : {&n->body_yields, &n->other_yields}) {
            for (const Reg r : *yields) all |= of(r);
          }
          if (all != 0) return "a branch that depends on a result";
          continue;
        default:
          if (all != 0) return "a check, a bound or a sum that depends on a result";
      }
      for (const Reg r : n->results) from[r.id] = all;
    }
    return {};
  }

  bool KnownOutside(Reg r) const { return defined_.count(r.id) == 0; }

  // Loops with nothing but scalars beside them: threads may come to the innermost at once.
  void FindChain() {
    for (const Node* loop = &root_; loop != nullptr;) {
      if (loop->kind == Kind::kFor) chain_.push_back(loop);
      const Node* next = nullptr;
      for (const Node& n : loop->body) {
        const bool open =
            n.kind == Kind::kFor || (n.kind == Kind::kIf && n.results.empty() && n.other.empty());
        const bool plain = n.kind == Kind::kScalar || n.kind == Kind::kDim ||
                           n.kind == Kind::kLoad || n.kind == Kind::kCheck;
        if (next != nullptr || (!open && !plain)) return;
        if (open) next = &n;
      }
      loop = next;
    }
  }

  std::vector<const Node*> ParallelFor(Reg array) const {
    std::vector<const Node*> parallel;
    for (const Node* loop : chain_) {
      if (!KnownOutside(loop->args[0]) || !KnownOutside(loop->args[1])) continue;
      const bool told = std::all_of(stores_.begin(), stores_.end(), [&](const Node* s) {
        return s->args[0] != array || Has(s->apart, loop->results[0]);
      });
      if (told) parallel.push_back(loop);
    }
    return parallel;
  }

  // A store that tells nothing apart and whose element changes from turn to turn is a scatter.
  bool Scatters(Reg array) const {
    return std::all_of(stores_.begin(), stores_.end(), [&](const Node* s) {
      return s->args[0] != array || !KnownOutside(s->args[1]);
    });
  }

  std::string PlanArray(Reg array) {
    OffloadKernel kernel;
    kernel.parallel = ParallelFor(array);
    if (kernel.parallel.empty()) {
      if (!Scatters(array)) return "one element that every turn changes";
      kernel.form = Form::kOwners;
    }
    for (OffloadKernel& other : nest_.kernels) {
      if (other.form == kernel.form && other.parallel == kernel.parallel) {
        other.keeps.push_back(array);
        return {};
      }
    }
    kernel.keeps = {array};
    nest_.kernels.push_back(std::move(kernel));
    return {};
  }

  const Module& module_;
  const Function& f_;
  const OffloadPlan& plan_;
  const Node& root_;
  OffloadNest nest_;
  std::vector<const Node*> nodes_, stores_;
  std::set<uint32_t> defined_;
  std::vector<const Node*> chain_;
};

std::string UnfitNest(const Module& module, const Node& root) {
  std::string why;
  ForEachNode(root.body, [&](const Node& n) {
    if (why.empty()) why = UnfitNode(module, n, 0);
  });
  return why;
}

void PlanNodes(const Module& module, const Function& f, const std::vector<Node>& nodes,
               OffloadPlan& plan) {
  for (const Node& n : nodes) {
    if (n.kind == Kind::kFor) {
      std::string why = UnfitNest(module, n);
      if (why.empty()) {
        NestPlanner planner(module, f, plan, n);
        why = planner.Plan();
        if (why.empty()) {
          plan.nests.emplace(&n, planner.Take());
          continue;
        }
      }
      plan.refusals.push_back("@" + f.name + ", loop over %" + f.regs[n.results[0].id].name +
                              ": on the host, because of " + why);
    }
    PlanNodes(module, f, n.body, plan);
    PlanNodes(module, f, n.other, plan);
  }
}

}  // namespace

bool OffloadNest::Stores(Reg array) const { return Has(stored, array); }

bool IsDeviceFunction(const Module& module, uint32_t function) {
  return IsFitFunction(module, function, 0);
}

OffloadPlan PlanOffload(const Module& module, const Function& f) {
  OffloadPlan plan;
  for (const Block& block : f.blocks) {
    ForEachNode(block.nodes, [&](const Node& n) {
      if (n.kind == Kind::kScalar && n.op == ir::Op::Const) {
        plan.constants.emplace(n.results[0].id, &n);
      }
    });
  }
  for (const Block& block : f.blocks) PlanNodes(module, f, block.nodes, plan);
  return plan;
}

}  // namespace pullback::loops
