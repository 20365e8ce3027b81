#include "jit/cache.h"

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace pullback::jit {
namespace {

TEST_CASE("ByteLru finds what was put in and counts") {
  ByteLru<int> cache(100);
  cache.Insert("a", 1, 10);
  CHECK(cache.Find("a") == 1);
  CHECK(cache.Find("b") == std::nullopt);
  CHECK(cache.Peek("a") == 1);
  const CacheStats stats = cache.stats();
  CHECK(stats.entries == 1);
  CHECK(stats.bytes == 10);
  CHECK(stats.hits == 1);
  CHECK(stats.misses == 1);
}

TEST_CASE("ByteLru evicts the least recently used until the rest fits") {
  ByteLru<int> cache(100);
  for (int i = 0; i < 10; ++i) cache.Insert(std::to_string(i), i, 10);
  CHECK(cache.Find("0") == 0);  // now 1 is the oldest
  CHECK(cache.Peek("1") == 1);  // which a peek does not change
  cache.Insert("big", 99, 15);
  CHECK(cache.stats().evictions == 2);
  CHECK(cache.stats().bytes == 95);
  CHECK(cache.Peek("0") == 0);
  CHECK(cache.Peek("1") == std::nullopt);
  CHECK(cache.Peek("2") == std::nullopt);
  CHECK(cache.Peek("3") == 3);
}

TEST_CASE("ByteLru keeps the newest entry even over the bound, until the next") {
  ByteLru<int> cache(100);
  cache.Insert("huge", 1, 1000);
  CHECK(cache.Peek("huge") == 1);
  cache.Insert("small", 2, 1);
  CHECK(cache.Peek("huge") == std::nullopt);
  CHECK(cache.Peek("small") == 2);
}

TEST_CASE("ByteLru replaces, and accounts for the new size") {
  ByteLru<int> cache(100);
  cache.Insert("a", 1, 60);
  cache.Insert("a", 2, 30);
  CHECK(cache.Find("a") == 2);
  CHECK(cache.stats().entries == 1);
  CHECK(cache.stats().bytes == 30);
  CHECK(cache.stats().evictions == 0);
}

// What a value's destructor does may come back to the cache.
TEST_CASE("ByteLru destroys values outside of its locks") {
  using Values = ByteLru<std::shared_ptr<void>>;
  Values cache(10);
  bool called = false;
  cache.Insert(
      "a", std::shared_ptr<void>(nullptr, [&](void*) { called = cache.stats().entries == 1; }), 10);
  cache.Insert("b", nullptr, 10);
  CHECK(called);
}

TEST_CASE("ByteLru holds its bound under many threads") {
  ByteLru<std::shared_ptr<int>> cache(1000);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 5000; ++i) {
        const int n = (i * 7 + t * 13) % 200;
        const auto found = cache.Find(std::to_string(n));
        if (found && **found != n) std::abort();
        if (!found) cache.Insert(std::to_string(n), std::make_shared<int>(n), 10);
      }
    });
  }
  for (std::thread& t : threads) t.join();
  const CacheStats stats = cache.stats();
  CHECK(stats.bytes <= 1000);
  CHECK(stats.bytes == 10 * stats.entries);
  CHECK(stats.hits + stats.misses == 20000);
}

}  // namespace
}  // namespace pullback::jit
