#include "tests/support/relations.h"

#include <random>
#include <regex>

#include "core/base/relation.h"

namespace pullback::testing {

ApiValue TestRelation::Value() const { return RelationFromCoo(sizes, coordinates); }

Tensor TestRelation::Mask() const {
  int64_t count = 1;
  for (int64_t n : sizes) count *= n;
  std::vector<int64_t> mask(static_cast<size_t>(count), 0);
  for (size_t p = 0; p < coordinates[0].size(); ++p) {
    int64_t at = 0;
    for (size_t axis = 0; axis < sizes.size(); ++axis) {
      at = at * sizes[axis] + coordinates[axis][p];
    }
    mask[static_cast<size_t>(at)] = 1;
  }
  return Tensor::Of(DType::kI64, sizes, mask);
}

TestRelation RandomRelation(const std::vector<int64_t>& sizes, int64_t tuples, uint32_t seed) {
  std::mt19937 random(seed);
  TestRelation r{sizes, std::vector<std::vector<int64_t>>(sizes.size())};
  for (int64_t p = 0; p < tuples; ++p) {
    for (size_t axis = 0; axis < sizes.size(); ++axis) {
      r.coordinates[axis].push_back(
          static_cast<int64_t>(random() % static_cast<uint64_t>(sizes[axis])));
    }
  }
  return r;
}

std::string Masked(const std::string& program) {
  const std::string types =
      std::regex_replace(program, std::regex(R"((\b[rst]): rel(\[[^\]]*\]))"), "$1: $2i64");
  // Arguments may have brackets in brackets.
  const std::string arguments = R"(((?:[^()]|\((?:[^()]|\([^()]*\))*\))*))";
  return std::regex_replace(types, std::regex(R"(\b([rst])\()" + arguments + R"(\))"),
                            "($1[$2] != 0)");
}

std::vector<Tensor> WithRelations(const std::vector<TestRelation>& relations,
                                  const std::vector<Tensor>& rest) {
  std::vector<Tensor> all;
  for (const TestRelation& r : relations) {
    for (Tensor& array : RelationArrays(r.Value())) all.push_back(std::move(array));
  }
  all.insert(all.end(), rest.begin(), rest.end());
  return all;
}

std::vector<Tensor> WithMasks(const std::vector<TestRelation>& relations,
                              const std::vector<Tensor>& rest) {
  std::vector<Tensor> all;
  for (const TestRelation& r : relations) all.push_back(r.Mask());
  all.insert(all.end(), rest.begin(), rest.end());
  return all;
}

}  // namespace pullback::testing
