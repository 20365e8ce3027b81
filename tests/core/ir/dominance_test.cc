#include "core/ir/dominance.h"

#include <catch2/catch.hpp>
#include <random>

#include "core/ir/builder.h"

namespace pullback::ir {
namespace {

// A function whose block b jumps to successors[b].
Function Graph(const std::vector<std::vector<uint32_t>>& successors) {
  Function f;
  f.blocks.resize(successors.size());
  for (size_t b = 0; b < successors.size(); ++b) {
    for (uint32_t s : successors[b]) f.blocks[b].term.edges.push_back({s, {}});
  }
  return f;
}

TEST_CASE("dominators: a diamond and a loop") {
  const Dominators d(Graph({{1, 2}, {3}, {3}, {1, 4}, {}}));
  CHECK(d.Idom(3) == 0);
  CHECK(d.Idom(1) == 0);
  CHECK(d.Idom(4) == 3);
  CHECK(d.Dominates(0, 4));
  CHECK(d.Dominates(3, 3));
  CHECK_FALSE(d.Dominates(1, 3));
  CHECK(d.order().front() == 0);
  CHECK(d.Children(3) == std::vector<uint32_t>{4});
}

TEST_CASE("dominators: unreachable blocks dominate nothing") {
  const Dominators d(Graph({{1}, {}, {1}}));
  CHECK_FALSE(d.IsReachable(2));
  CHECK_FALSE(d.Dominates(2, 1));
  CHECK_FALSE(d.Dominates(0, 2));
  CHECK(d.Idom(1) == 0);
}

TEST_CASE("dominators: predecessors count both edges of a branch") {
  CHECK(Predecessors(Graph({{1, 1}, {}}))[1] == std::vector<uint32_t>{0, 0});
}

// a dominates b when b cannot be reached around a.
bool Reaches(const Function& f, uint32_t from, uint32_t to, uint32_t without) {
  if (from == without) return false;
  std::vector<bool> seen(f.blocks.size());
  std::vector<uint32_t> work{from};
  seen[from] = true;
  while (!work.empty()) {
    const uint32_t b = work.back();
    work.pop_back();
    if (b == to) return true;
    for (const Edge& e : f.blocks[b].term.edges) {
      if (e.block == without || seen[e.block]) continue;
      seen[e.block] = true;
      work.push_back(e.block);
    }
  }
  return false;
}

TEST_CASE("dominators: random graphs agree with the definition") {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    const uint32_t n = 2 + random() % 9;
    std::vector<std::vector<uint32_t>> successors(n);
    for (auto& s : successors) {
      for (uint32_t k = random() % 3; k > 0; --k) s.push_back(1 + random() % (n - 1));
    }
    const Function f = Graph(successors);
    const Dominators d(f);
    for (uint32_t b = 0; b < n; ++b) {
      const bool reachable = Reaches(f, 0, b, kNoBlock);
      REQUIRE(d.IsReachable(b) == reachable);
      for (uint32_t a = 0; reachable && a < n; ++a) {
        const bool expected = Reaches(f, 0, a, kNoBlock) && (a == b || !Reaches(f, 0, b, a));
        REQUIRE(d.Dominates(a, b) == expected);
      }
    }
  }
}

}  // namespace
}  // namespace pullback::ir
