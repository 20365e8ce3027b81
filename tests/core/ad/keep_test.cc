// The minimum cut against every way there is.
#include "core/ad/keep.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

namespace pullback::ad {
namespace {

struct Graph {
  std::vector<int64_t> keep, again;
  std::vector<std::vector<size_t>> operands;  // of values before
  std::vector<char> needed;
};

Graph RandomGraph(std::mt19937& random) {
  const int64_t costs[] = {1, 2, 3, 4, 8, 16, kNever};
  Graph g;
  const size_t n = 1 + random() % 9;
  for (size_t v = 0; v < n; ++v) {
    const int64_t keep = costs[random() % 7];
    g.keep.push_back(keep);
    g.again.push_back(keep == kNever ? costs[random() % 6] : costs[random() % 7]);
    g.operands.emplace_back();
    for (uint32_t k = random() % 3; v > 0 && k > 0; --k) g.operands[v].push_back(random() % v);
    g.needed.push_back(random() % 3 == 0);
  }
  return g;
}

// What it costs to keep these values and to compute again whatever else is needed.
int64_t Cost(const Graph& g, uint32_t kept) {
  std::vector<char> needed = g.needed;
  int64_t cost = 0;
  for (size_t v = g.keep.size(); v-- > 0;) {
    if (!needed[v]) continue;
    const bool keeps = (kept >> v & 1) != 0;
    cost += keeps ? g.keep[v] : g.again[v];
    for (size_t operand : g.operands[v]) needed[operand] |= !keeps;
  }
  return cost;
}

TEST_CASE("keep: the cut costs no more than any other") {
  std::mt19937 random(11);
  using Choice = KeepOrRecompute::Choice;
  for (int round = 0; round < 2000; ++round) {
    const Graph g = RandomGraph(random);
    const size_t n = g.keep.size();
    KeepOrRecompute cut;
    for (size_t v = 0; v < n; ++v) {
      REQUIRE(cut.Add(g.keep[v], g.again[v]) == v);
      for (size_t operand : g.operands[v]) cut.AddOperand(v, operand);
      if (g.needed[v]) cut.Need(v);
    }
    const std::vector<Choice> choices = cut.Solve();
    REQUIRE(choices.size() == n);
    uint32_t kept = 0;
    for (size_t v = 0; v < n; ++v) kept |= uint32_t{choices[v] == Choice::kKeep} << v;
    int64_t least = INT64_MAX;
    for (uint32_t all = 0; all < uint32_t{1} << n; ++all) least = std::min(least, Cost(g, all));
    CHECK(Cost(g, kept) == least);
    for (size_t v = 0; v < n; ++v) {
      if (choices[v] == Choice::kUnneeded) CHECK_FALSE(g.needed[v]);
      if (choices[v] != Choice::kRecompute) continue;
      for (size_t operand : g.operands[v]) CHECK(choices[operand] != Choice::kUnneeded);
    }
  }
}

}  // namespace
}  // namespace pullback::ad
