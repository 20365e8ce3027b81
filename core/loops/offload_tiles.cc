#include "core/loops/offload_tiles.h"

#include <algorithm>
#include <utility>

namespace pullback::loops {
namespace {

using Kind = Node::Kind;

// What a register depends on.
enum Depends : uint8_t { kRow = 1, kColumn = 2, kStep = 4, kData = 8 };

class TilePlanner {
 public:
  TilePlanner(const Function& f, const OffloadNest& nest, const OffloadKernel& kernel)
      : nest_(nest), kernel_(kernel), on_(f.regs.size()), inside_(f.regs.size()) {}

  bool Plan() {
    if (nest_.checks || !nest_.cells.empty() || kernel_.parallel.size() < 2 || !Walk(*nest_.root))
      return false;
    if (step_ == nullptr || loops_ != kernel_.parallel.size() + 1) return false;
    const auto kind = [](bool rows) {
      return [rows](const StagedLoad& s) { return s.rows == rows; };
    };
    constexpr size_t kMost = 16;
    return staged_.size() <= kMost && std::any_of(staged_.begin(), staged_.end(), kind(true)) &&
           std::any_of(staged_.begin(), staged_.end(), kind(false));
  }
  TilePlan Take() { return {step_, std::move(staged_)}; }

 private:
  bool IsParallel(const Node& loop, size_t from_the_end) const {
    const auto& all = kernel_.parallel;
    return all[all.size() - 1 - from_the_end] == &loop;
  }

  // False where the nest is not of the shape.
  bool Walk(const Node& loop) {
    ++loops_;
    for (const Reg r : loop.args) {
      if (inside_[r.id]) return false;
    }
    const Reg index = loop.results[0];
    inside_[index.id] = true;
    const auto& all = kernel_.parallel;
    if (IsParallel(loop, 0)) {
      on_[index.id] = kColumn;
    } else if (IsParallel(loop, 1)) {
      on_[index.id] = kRow;
    } else if (std::find(all.begin(), all.end(), &loop) == all.end()) {
      if (step_ != nullptr) return false;
      step_ = &loop;
      on_[index.id] = kStep;
    }
    bool inner = false;
    for (const Node& n : loop.body) {
      if (n.kind == Kind::kFor ? std::exchange(inner, true) || !Walk(n) : !Visit(n)) return false;
    }
    return true;
  }

  bool Visit(const Node& n) {
    uint8_t all = 0;
    for (const Reg r : n.args) all |= on_[r.id];
    switch (n.kind) {
      case Kind::kScalar:
      case Kind::kDim:
        if (step_ != nullptr) offsets_.push_back(&n);
        break;
      case Kind::kLoad:
        if (step_ != nullptr) Stage(n);
        all = kData;
        break;
      case Kind::kLanesTotal:
      case Kind::kCall: all = kData; break;
      case Kind::kStore:
      case Kind::kLanesNew:
      case Kind::kLaneAdd: break;
      default: return false;
    }
    for (const Reg r : n.results) {
      on_[r.id] = all;
      inside_[r.id] = true;
    }
    return true;
  }

  void Stage(const Node& load) {
    const uint8_t on = on_[load.args[1].id];
    const auto& stored = nest_.stored;
    if ((on & kStep) == 0 || (on & kData) != 0 || (on & (kRow | kColumn)) == (kRow | kColumn) ||
        std::find(stored.begin(), stored.end(), load.args[0]) != stored.end()) {
      return;
    }
    staged_.push_back({&load, (on & kColumn) == 0, OffsetOf(load)});
  }

  // The nodes inside the step that make the load's offset, in order.
  std::vector<const Node*> OffsetOf(const Node& load) const {
    std::vector<Reg> needed = {load.args[1]};
    std::vector<const Node*> nodes;
    for (size_t k = offsets_.size(); k-- > 0;) {
      const Node* n = offsets_[k];
      if (std::find(needed.begin(), needed.end(), n->results[0]) == needed.end()) continue;
      needed.insert(needed.end(), n->args.begin(), n->args.end());
      nodes.push_back(n);
    }
    std::reverse(nodes.begin(), nodes.end());
    return nodes;
  }

  const OffloadNest& nest_;
  const OffloadKernel& kernel_;
  std::vector<uint8_t> on_;   // by register
  std::vector<bool> inside_;  // by register: defined in the nest
  size_t loops_ = 0;
  const Node* step_ = nullptr;
  std::vector<const Node*> offsets_;  // inside the step
  std::vector<StagedLoad> staged_;
};

}  // namespace

void PlanTiles(const Function& f, const OffloadNest& nest, OffloadKernel* kernel) {
  if (kernel->form != OffloadKernel::Form::kGrid) return;
  TilePlanner planner(f, nest, *kernel);
  if (!planner.Plan()) return;
  kernel->form = OffloadKernel::Form::kTiles;
  kernel->tile = planner.Take();
}

}  // namespace pullback::loops
