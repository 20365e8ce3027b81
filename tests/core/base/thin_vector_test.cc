#include "core/base/thin_vector.h"

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

namespace pullback {
namespace {

TEST_CASE("thin vector: one pointer, and what std::vector does") {
  STATIC_REQUIRE(sizeof(ThinVector<std::string>) == sizeof(void*));
  ThinVector<std::string> thin;
  std::vector<std::string> wide;
  CHECK(thin.empty());
  for (int k = 0; k < 40; ++k) {
    thin.push_back("a string of some length, number " + std::to_string(k));
    wide.push_back("a string of some length, number " + std::to_string(k));
  }
  CHECK(thin.ToVector() == wide);
  CHECK(thin.front() == wide.front());
  CHECK(thin.back() == wide.back());
  thin.resize(3);
  wide.resize(3);
  CHECK(thin.ToVector() == wide);
  thin.resize(5, "more");
  wide.resize(5, "more");
  CHECK(thin.ToVector() == wide);
  thin.clear();
  CHECK(thin.empty());
  CHECK(thin.begin() == thin.end());
}

TEST_CASE("thin vector: copies are their own, what was moved from is empty") {
  ThinVector<std::string> a = {"one", "two"};
  ThinVector<std::string> b = a;
  b[0] = "three";
  CHECK(a[0] == "one");
  CHECK_FALSE(a == b);
  a = b;
  CHECK(a == b);
  const ThinVector<std::string> c = std::move(a);
  CHECK(a.empty());  // NOLINT(bugprone-use-after-move)
  CHECK(c == b);
  b = std::vector<std::string>{"four"};
  CHECK(b.ToVector() == std::vector<std::string>{"four"});
}

TEST_CASE("thin vector: an element may be made from one that has to move") {
  ThinVector<std::string> v = {"a string that does not fit into its own object"};
  for (int k = 0; k < 9; ++k) v.push_back(v.front());
  CHECK(v.size() == 10);
  CHECK(v.back() == v.front());
}

TEST_CASE("thin vector: elements that only move, and bools") {
  ThinVector<std::unique_ptr<int>> owners;
  for (int k = 0; k < 5; ++k) owners.push_back(std::make_unique<int>(k));
  CHECK(*owners[4] == 4);
  const std::vector<bool> flags = {true, false, true};
  const ThinVector<bool> thin(flags.begin(), flags.end());
  CHECK(thin.ToVector() == flags);
}

}  // namespace
}  // namespace pullback
