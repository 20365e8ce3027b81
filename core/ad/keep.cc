#include "core/ad/keep.h"

#include <algorithm>
#include <set>

#include "core/ir/op_weight.h"

namespace pullback::ad {
namespace {

using ir::Op;

constexpr uint32_t kSource = 0, kSink = 1;
constexpr uint32_t kUnreached = UINT32_MAX;

uint32_t Needed(size_t value) { return static_cast<uint32_t>(2 + 2 * value); }
uint32_t Again(size_t value) { return Needed(value) + 1; }

// What was read or divided in the forward half traps no more.
bool IsAgain(const ir::Inst& inst) {
  return inst.op == Op::Index || inst.op == Op::Div || inst.op == Op::Rem ||
         (ir::Info(inst.op).flags & ir::kPure) != 0;
}

// What a read costs behind those of `read`: next to an element that is read, or once for many where it has fewer axes, 1.
int64_t CostOfRead(const ir::Inst& inst, size_t axes, std::set<ir::Value>& read) {
  const bool is_near = !read.insert(inst.args[0]).second || inst.subs.size() < axes;
  return is_near ? 1 : ir::OpWeight(Op::Index);
}

// An element is read again from what is kept rather than from the tape: its first read costs nothing.
int64_t CostOfElement(const ir::Each& each) {
  std::set<ir::Value> read;
  int64_t cost = -ir::OpWeight(Op::Index);
  for (const ir::Inst& inst : each.body) {
    if (!IsAgain(inst) || ir::IsDear(inst)) return kNever;
    if (inst.op == Op::Const || inst.op == Op::AffineOf || inst.op == Op::Holds) continue;
    cost += inst.op == Op::Index ? CostOfRead(inst, each.results[0].out.size(), read)
                                 : ir::OpWeight(inst.op);
  }
  return std::max<int64_t>(cost, 0);
}

int64_t CostOfElements(const ir::Inst& inst) {
  if (inst.results.size() != 1) return kNever;
  const ir::EachResult& r = inst.each->results[0];
  if (r.monoid != ir::Monoid::kGen || r.out.empty() || r.into.valid()) return kNever;
  const int64_t cost = CostOfElement(*inst.each);
  return cost < kNever ? (cost + 1) * kElements : kNever;
}

}  // namespace

int64_t CostOfRecomputing(const ir::Inst& inst, const ir::Function& f) {
  if (inst.each) return CostOfElements(inst);
  if (inst.results.size() != 1 || !f.TypeOf(inst.results[0]).IsScalar()) return kNever;
  // It would keep the list for the reverse, so that changing it meanwhile would copy it.
  if (inst.op == Op::ListLen) return kNever;
  return IsAgain(inst) ? ir::OpWeight(inst.op) : kNever;
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

// How many edges with room left each vertex is from the source, as far as the sink; kUnreached: further.
bool KeepOrRecompute::FindLevels() {
  level_.assign(out_.size(), kUnreached);
  level_[kSource] = 0;
  std::vector<uint32_t> work = {kSource};
  for (size_t k = 0; k < work.size() && level_[kSink] == kUnreached; ++k) {
    for (uint32_t e : out_[work[k]]) {
      const uint32_t to = edges_[e].to;
      if (edges_[e].capacity == 0 || level_[to] != kUnreached) continue;
      level_[to] = level_[work[k]] + 1;
      work.push_back(to);
    }
  }
  return level_[kSink] != kUnreached;
}

// Sends as much as fits along shortest paths, all of them in one walk: an edge that led nowhere is not tried again
// (Dinic).
void KeepOrRecompute::AugmentAll() {
  std::vector<uint32_t> next(out_.size(), 0);  // in out_, by vertex
  std::vector<uint32_t> path;
  for (;;) {
    const uint32_t at = path.empty() ? kSource : edges_[path.back()].to;
    if (at == kSink) {
      Send(path);
    } else if (next[at] < out_[at].size()) {
      const uint32_t e = out_[at][next[at]];
      if (edges_[e].capacity > 0 && level_[edges_[e].to] == level_[at] + 1) {
        path.push_back(e);
      } else {
        ++next[at];
      }
    } else if (path.empty()) {
      return;
    } else {
      ++next[edges_[path.back() ^ 1].to];
      path.pop_back();
    }
  }
}

// Along a path to the sink, and back to before the first edge that has no room left.
void KeepOrRecompute::Send(std::vector<uint32_t>& path) {
  int64_t most = kNever;
  for (uint32_t e : path) most = std::min(most, edges_[e].capacity);
  size_t keep = path.size();
  for (size_t k = path.size(); k-- > 0;) {
    edges_[path[k]].capacity -= most;
    edges_[path[k] ^ 1].capacity += most;
    if (edges_[path[k]].capacity == 0) keep = k;
  }
  path.resize(keep);
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
  while (FindLevels()) AugmentAll();
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
