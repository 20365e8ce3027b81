#include "core/base/relation.h"

#include <catch2/catch.hpp>

namespace pullback {
namespace {

std::vector<int64_t> Ints(const Tensor& t) {
  std::vector<int64_t> out;
  for (int64_t i = 0; i < t.ElementCount(); ++i) out.push_back(t.At<int64_t>(i));
  return out;
}

using V = std::vector<int64_t>;

TEST_CASE("relations: arrays are ordered both ways, and no tuple comes twice") {
  const std::vector<Tensor> a =
      RelationArrays(RelationFromCoo({3, 4}, {{2, 0, 2, 0, 2}, {1, 3, 0, 1, 1}}));
  const RelationLayout layout{2};
  REQUIRE(a.size() == layout.Count());
  CHECK(a[layout.Domain()].shape == V{3, 4, 0});
  CHECK(Ints(a[layout.Coordinate(0)]) == V{0, 0, 2, 2});
  CHECK(Ints(a[layout.Coordinate(1)]) == V{1, 3, 0, 1});
  CHECK(Ints(a[layout.Start(0)]) == V{0, 2, 2, 4});
  CHECK(Ints(a[layout.Start(1)]) == V{0, 1, 3, 3, 4});
  CHECK(Ints(a[layout.Order(1)]) == V{2, 0, 3, 1});
}

TEST_CASE("relations: of one and three indices, and of none") {
  const std::vector<Tensor> set = RelationArrays(RelationFromCoo({4}, {{3, 1, 3}}));
  CHECK(Ints(set[RelationLayout{1}.Coordinate(0)]) == V{1, 3});
  CHECK(Ints(set[RelationLayout{1}.Start(0)]) == V{0, 0, 1, 1, 2});
  const RelationLayout layout{3};
  const std::vector<Tensor> triples =
      RelationArrays(RelationFromCoo({2, 2, 3}, {{1, 0, 1, 0}, {0, 1, 0, 1}, {2, 1, 0, 0}}));
  CHECK(Ints(triples[layout.Coordinate(0)]) == V{0, 0, 1, 1});
  CHECK(Ints(triples[layout.Coordinate(2)]) == V{0, 1, 0, 2});
  CHECK(Ints(triples[layout.Order(2)]) == V{0, 2, 1, 3});
  const std::vector<Tensor> none = RelationArrays(RelationFromCoo({0, 2}, {{}, {}}));
  CHECK(Ints(none[RelationLayout{2}.Start(0)]) == V{0});
  CHECK(Ints(none[RelationLayout{2}.Start(1)]) == V{0, 0, 0});
}

TEST_CASE("relations: what is there or is not needed is not made") {
  const ApiValue ordered = RelationFromCoo({3, 4}, {{0, 0, 2}, {1, 3, 0}});
  const RelationLayout layout{2};
  std::vector<bool> needed(layout.Count());
  needed[layout.Coordinate(0)] = true;
  const RelationLeaves leaves = MakeRelationLeaves(ordered, needed);
  CHECK(leaves.all[layout.Coordinate(0)] == &ordered.elements[1].tensor);
  CHECK(leaves.all[layout.Domain()]->shape == V{3, 4, 0});
  CHECK(leaves.all[layout.Start(0)]->shape == V{0});
  CHECK(leaves.all[layout.Order(1)]->shape == V{0});
  CHECK(RelationBytes(ordered, needed) == 0);
  CHECK(RelationBytes(ordered) == 8 * (4 + 5 + 3 + 5));
  needed[layout.Order(1)] = true;
  CHECK(Ints(*MakeRelationLeaves(ordered, needed).all[layout.Order(1)]) == V{2, 0, 1});
}

TEST_CASE("relations: rows") {
  StatusOr<ApiValue> r = RelationFromCsr({3, 4}, {0, 2, 2, 3}, {3, 1, 0});
  REQUIRE(r.ok());
  const std::vector<Tensor> a = RelationArrays(*r);
  CHECK(Ints(a[1]) == V{0, 0, 2});
  CHECK(Ints(a[2]) == V{1, 3, 0});
  const auto fault = [](const V& sizes, const V& starts, const V& columns) {
    return RelationFromCsr(sizes, starts, columns).status().message();
  };
  CHECK(fault({3, 4}, {0, 2, 1, 3}, {0, 1, 2}) ==
        "row starts never decrease, but row 2 starts at 1, after 2");
  CHECK(fault({3, 4}, {0, 2, 3}, {0, 1, 2}) ==
        "a relation rel[3, 4] has 3 rows, so that there are one more row starts; got 3");
  CHECK(fault({2, 4}, {0, 2, 4}, {0, 1, 2}) ==
        "row starts begin with 0 and end with the number of columns, 3; got 0 and 4");
  CHECK(fault({2, 4}, {}, {}) ==
        "a relation rel[2, 4] has 2 rows, so that there are one more row starts; got 0");
  CHECK(fault({2}, {0, 0, 0}, {}) == "rows and columns are of a relation between two indices");
}

TEST_CASE("relations: faults") {
  const auto fault = [](const V& sizes, const std::vector<V>& coordinates, size_t arity = 2) {
    return FaultOfRelation(arity, RelationFromCoo(sizes, coordinates));
  };
  CHECK(fault({2, 2}, {{0, 1}, {1, 0}}).empty());
  CHECK(fault({2, 2}, {{0, 1}, {1, 2}}) == "tuple 1, (1, 2), is outside of rel[2, 2]");
  CHECK(fault({2, 2}, {{0, -1}, {1, 0}}) == "tuple 1, (-1, 0), is outside of rel[2, 2]");
  CHECK(fault({2, 2}, {{0, 1}, {1}}) == "its indices differ in number: 2 and 1");
  CHECK(fault({2}, {{0, 1}, {1, 0}}) == "expected 2 sizes, got 1");
  CHECK(fault({-1, 2}, {{}, {}}) == "a size is -1");
  CHECK(fault({2, 2}, {{0}}) ==
        "a relation between 2 indices is its sizes and 2 arrays of integers");
  CHECK(fault({2, 2}, {{0}, {1}}, 3) ==
        "a relation between 3 indices is its sizes and 3 arrays of integers");
  ApiValue value = RelationFromCoo({2, 2}, {{0}, {1}});
  value.elements[2].tensor = Tensor::Of<double>(DType::kF64, {1}, {1.0});
  CHECK_FALSE(FaultOfRelation(2, value).empty());
}

}  // namespace
}  // namespace pullback
