#include "core/base/flat_lists.h"

#include <catch2/catch.hpp>

namespace pullback {
namespace {

std::vector<uint32_t> At(const FlatLists& lists, uint32_t key) {
  return {lists[key].begin(), lists[key].end()};
}

TEST_CASE("flat lists: by key, each in the order in which it was given") {
  const std::vector<std::pair<uint32_t, uint32_t>> items = {{2, 7}, {0, 5}, {2, 7}, {2, 1}};
  const FlatLists lists(4, [&](auto&& add) {
    for (const auto& [key, item] : items) add(key, item);
  });
  CHECK(lists.size() == 4);
  CHECK(At(lists, 0) == std::vector<uint32_t>{5});
  CHECK(lists[1].empty());
  CHECK(At(lists, 2) == std::vector<uint32_t>{7, 7, 1});
  CHECK(lists[3].empty());
}

TEST_CASE("flat lists: one after the other") {
  FlatLists lists;
  CHECK(lists.size() == 0);
  lists.Add(3);
  lists.Add(1);
  lists.EndList();
  lists.EndList();
  lists.Add(2);
  lists.EndList();
  CHECK(lists.size() == 3);
  CHECK(At(lists, 0) == std::vector<uint32_t>{3, 1});
  CHECK(lists[1].empty());
  CHECK(At(lists, 2) == std::vector<uint32_t>{2});
}

}  // namespace
}  // namespace pullback
