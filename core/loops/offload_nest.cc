#include "core/loops/offload_nest.h"

#include <algorithm>
#include <map>

#include "core/loops/offload_cells.h"
#include "core/loops/offload_share.h"
#include "core/loops/offload_tiles.h"
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

class NestPlanner {
 public:
  NestPlanner(const Module& module, DeviceFit& fit, const Function& f, const OffloadPlan& plan,
              const Node& root, OffloadNest& nest)
      : module_(module),
        fit_(fit),
        f_(f),
        plan_(plan),
        root_(root),
        nest_(nest),
        from_(f.regs.size()) {
    nest_.root = &root;
  }

  // Empty where it can go; else why it cannot.
  std::string Plan() {
    Collect(root_);
    nest_.cells = FindCells(f_, plan_, root_);
    for (const Node* store : stores_) {
      if (!IsCell(store->args[0])) AddOnce(nest_.stored, store->args[0]);
    }
    if (nest_.stored.size() > 60) return "more than 60 arrays at once";
    Outside();
    if (std::string why = Taint(); !why.empty()) return why;
    FindChain();
    for (const Reg array : nest_.stored) {
      if (std::string why = PlanArray(array); !why.empty()) return why;
    }
    for (const Reg lanes : nest_.lanes) PlanLanes(lanes);
    Share();
    for (OffloadKernel& kernel : nest_.kernels) PlanTiles(f_, nest_, &kernel);
    if (nest_.kernels.empty()) return "no result";
    return {};
  }

 private:
  void Collect(const Node& n) {
    for (const Reg r : n.results) defined_.emplace(r.id, &n);
    if (n.kind == Kind::kStore) stores_.push_back(&n);
    nest_.checks = nest_.checks || fit_.MayTrap(n);
    nodes_.push_back(&n);
    for (const Node& inner : n.body) Collect(inner);
    for (const Node& inner : n.other) Collect(inner);
  }

  bool IsCell(Reg array) const { return Has(nest_.cells, array); }

  void Use(const Node& n, Reg r) {
    if (defined_.count(r.id) > 0 || IsCell(r)) return;
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
    const auto of = [&](Reg r) { return from_[r.id]; };
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
          from_[n->results[0].id] = uint64_t{1} << array;
          continue;
        }
        case Kind::kStore: {
          if (of(n->args[1]) != 0) return "a subscript that depends on a result";
          const uint64_t own = IsCell(n->args[0]) ? 0 : uint64_t{1} << IndexOf(n->args[0]);
          if ((of(n->args[2]) & ~own) != 0)
            return "a result that depends on another one's elements";
          continue;
        }
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
      for (const Reg r : n->results) from_[r.id] = all;
    }
    return {};
  }

  bool KnownOutside(Reg r) const { return defined_.count(r.id) == 0; }

  // Loops with nothing but scalars beside them: threads may come to the innermost at once. Beside those further in are
  // the sums of a run (ir.h, CountInRuns), which no other loop there needs.
  void FindChain() {
    bool plain_so_far = true;
    for (const Node* loop = &root_; loop != nullptr;) {
      if (loop->kind == Kind::kFor) {
        chain_.push_back(loop);
        plain_loops_ += plain_so_far ? 1 : 0;
      }
      const Node* next = nullptr;
      for (const Node& n : loop->body) {
        const bool open =
            n.kind == Kind::kFor || (n.kind == Kind::kIf && n.results.empty() && n.other.empty());
        const bool plain = n.kind == Kind::kScalar || n.kind == Kind::kDim ||
                           n.kind == Kind::kLoad || n.kind == Kind::kCheck;
        const bool of_run = n.kind == Kind::kLanesNew || n.kind == Kind::kLanesTotal ||
                            (n.kind == Kind::kStore && AddsTotal(n));
        plain_so_far &= next == nullptr && (open || plain);
        if ((next != nullptr && open) || (!open && !plain && !of_run)) return;
        if (open) next = &n;
      }
      loop = next;
    }
  }

  // To an element that it loads.
  bool AddsTotal(const Node& store) const {
    const auto sum = defined_.find(store.args[2].id);
    if (sum == defined_.end() || sum->second->kind != Kind::kScalar) return false;
    const auto& terms = sum->second->args;
    return std::any_of(terms.begin(), terms.end(), [&](Reg r) {
      const auto term = defined_.find(r.id);
      return term != defined_.end() && term->second->kind == Kind::kLanesTotal;
    });
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

  std::string PlanArray(Reg array) {
    std::vector<const Node*> parallel = ParallelFor(array);
    if (parallel.empty()) return PlanScatter(array);
    for (OffloadKernel& other : nest_.kernels) {
      if (other.form == Form::kGrid && other.parallel == parallel) {
        other.keeps.push_back(array);
        return {};
      }
    }
    nest_.kernels.push_back({Form::kGrid, std::move(parallel), {array}, {}, {}});
    return {};
  }

  // One kernel orders all that has to be ordered. Its segments are cut from the loops outside in, so that one
  // after the other they are the order of the nest.
  OffloadKernel& Ordered() {
    for (OffloadKernel& kernel : nest_.kernels) {
      if (kernel.form == Form::kOrdered) return kernel;
    }
    OffloadKernel kernel;
    kernel.form = Form::kOrdered;
    for (size_t k = 0; k < plain_loops_; ++k) {
      if (!KnownOutside(chain_[k]->args[0]) || !KnownOutside(chain_[k]->args[1])) break;
      kernel.parallel.push_back(chain_[k]);
    }
    return nest_.kernels.emplace_back(std::move(kernel));
  }

  void PlanLanes(Reg lanes) {
    for (const Node* n : nodes_) {
      if (n->kind != Kind::kLaneAdd || n->args[0] != lanes) continue;
      Ordered().ordered.push_back({lanes, true, ir::MonoidOp(n->monoid)});
      return;
    }
  }

  // A store that tells nothing apart: the element and a term, or the term alone.
  std::string PlanScatter(Reg array) {
    OrderedTarget target{array, false, ir::Op::Const};
    std::map<const Node*, Reg> terms;
    for (const Node* s : stores_) {
      if (s->args[0] != array) continue;
      if (KnownOutside(s->args[1])) return "one element that every turn changes";
      Reg term = s->args[2];
      ir::Op op = ir::Op::Const;
      if (from_[term.id] != 0) {
        const Node& join = *defined_.at(term.id);
        if (!JoinsOneTerm(join)) return "an element that changes in a way of its own";
        op = join.op;
        term = join.args[1];
      }
      if (!terms.empty() && op != target.op) return "an element that changes in two ways";
      target.op = op;
      terms[s] = term;
    }
    nest_.terms.merge(terms);
    Ordered().ordered.push_back(target);
    return {};
  }

  bool JoinsOneTerm(const Node& join) const {
    if (join.kind != Kind::kScalar || join.args.size() != 2) return false;
    if (from_[join.args[1].id] != 0) return false;
    const auto loaded = defined_.find(join.args[0].id);
    return loaded != defined_.end() && loaded->second->kind == Kind::kLoad;
  }

  // Fewer kernels where several would compute the same.
  void Share() {
    ShareWithOrdered(&nest_);
    if (nest_.kernels.size() < 2) return;
    const NestWork work(module_, root_, chain_);
    FileCostly(work, [&](Reg array) { return PlanScatter(array).empty(); }, &nest_);
    ShareWithOrdered(&nest_);
    StoreAlong(work, &nest_);
  }

  const Module& module_;
  DeviceFit& fit_;
  const Function& f_;
  const OffloadPlan& plan_;
  const Node& root_;
  OffloadNest& nest_;
  std::vector<const Node*> nodes_, stores_;
  std::map<uint32_t, const Node*> defined_;  // by register
  std::vector<uint64_t> from_;               // by register: the stored arrays that it depends on
  std::vector<const Node*> chain_;
  size_t plain_loops_ = 0;  // of chain_
};

}  // namespace

std::string PlanNest(const Module& module, DeviceFit& fit, const Function& f,
                     const OffloadPlan& plan, const Node& root, OffloadNest* nest) {
  return NestPlanner(module, fit, f, plan, root, *nest).Plan();
}

}  // namespace pullback::loops
