#include "core/ad/keep.h"

#include <algorithm>

namespace pullback::ad {
namespace {

using ir::Op;

constexpr uint32_t kSource = 0, kSink = 1;
constexpr uint32_t kNoEdge = UINT32_MAX;

uint32_t Needed(size_t value) { return static_cast<uint32_t>(2 + 2 * value); }
uint32_t Again(size_t value) { return Needed(value) + 1; }

}  // namespace

int64_t CostOfRecomputing(const ir::Inst& inst, const ir::Function& f) {
  if (inst.results.size() != 1 || !f.TypeOf(inst.results[0]).IsScalar() || inst.each) return kNever;
  // It would keep the list for the reverse, so that changing it meanwhile would copy it.
  if (inst.op == Op::ListLen) return kNever;
  if (inst.op == Op::Index) return 3;  // in range: it was read in the forward half
  if (inst.op == Op::Div || inst.op == Op::Rem || inst.op == Op::Sqrt) return 4;
  const uint8_t flags = ir::Info(inst.op).flags;
  if (!(flags & ir::kPure)) return kNever;
  return (flags & ir::kLibm) ? 16 : 1;
}

size_t KeepOrRecompute::Add(int64_t keep, int64_t recompute) {
  const size_t value = out_.size() / 2 - 1;
  out_.resize(out_.size() + 2);
  Connect(Needed(value), Again(value), keep);
  Connect(Again(value), kSink, recompute);
  return value;
}

void KeepOrRecompute::AddOperand(size_t value, size_t operand) {
  Connect(Again(value), Needed(operand), kNever);
}

void KeepOrRecompute::Need(size_t value) { Connect(kSource, Needed(value), kNever); }

void KeepOrRecompute::Connect(uint32_t from, uint32_t to, int64_t capacity) {
  out_[from].push_back(static_cast<uint32_t>(edges_.size()));
  edges_.push_back({to, capacity});
  out_[to].push_back(static_cast<uint32_t>(edges_.size()));
  edges_.push_back({from, 0});
}

// Sends as much as fits along one shortest path (Edmonds and Karp).
bool KeepOrRecompute::Augment() {
  std::vector<uint32_t> by(out_.size(), kNoEdge);
  std::vector<uint32_t> work = {kSource};
  for (size_t k = 0; k < work.size() && by[kSink] == kNoEdge; ++k) {
    for (uint32_t e : out_[work[k]]) {
      const uint32_t to = edges_[e].to;
      if (edges_[e].capacity == 0 || by[to] != kNoEdge || to == kSource) continue;
      by[to] = e;
      work.push_back(to);
    }
  }
  if (by[kSink] == kNoEdge) return false;
  int64_t most = kNever;
  for (uint32_t at = kSink; at != kSource; at = edges_[by[at] ^ 1].to)
    most = std::min(most, edges_[by[at]].capacity);
  for (uint32_t at = kSink; at != kSource; at = edges_[by[at] ^ 1].to) {
    edges_[by[at]].capacity -= most;
    edges_[by[at] ^ 1].capacity += most;
  }
  return true;
}

std::vector<char> KeepOrRecompute::Reached() const {
  std::vector<char> reached(out_.size());
  std::vector<uint32_t> work = {kSource};
  reached[kSource] = 1;
  while (!work.empty()) {
    const uint32_t at = work.back();
    work.pop_back();
    for (uint32_t e : out_[at]) {
      if (edges_[e].capacity == 0 || reached[edges_[e].to]) continue;
      reached[edges_[e].to] = 1;
      work.push_back(edges_[e].to);
    }
  }
  return reached;
}

std::vector<KeepOrRecompute::Choice> KeepOrRecompute::Solve() {
  while (Augment()) {
  }
  const std::vector<char> reached = Reached();
  std::vector<Choice> choices(out_.size() / 2 - 1);
  for (size_t k = 0; k < choices.size(); ++k) {
    choices[k] = !reached[Needed(k)] ? Choice::kUnneeded
                 : reached[Again(k)] ? Choice::kRecompute
                                     : Choice::kKeep;
  }
  return choices;
}

}  // namespace pullback::ad
