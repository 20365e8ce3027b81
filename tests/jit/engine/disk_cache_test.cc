// Files of kernels: what comes back, what is a miss, what a crash leaves.
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <thread>

#include "core/base/hmac.h"
#include "jit/baseline/baseline_backend.h"
#include "jit/disk_cache.h"
#include "jit/kernel.h"
#include "jit/llvm/llvm_backend.h"
#include "jit/stored_kernel.h"
#include "tests/jit/engine/cache_folder.h"
#include "tests/jit/engine/fake_backend.h"

namespace pullback::jit {
namespace {

TEST_CASE("disk cache: what was put comes back, from another process too") {
  const Folder folder;
  const std::string bytes("a\0b", 3);
  OpenAt(folder)->Put("abcd", bytes);
  const auto again = OpenAt(folder);
  CHECK(again->Get("abcd") == bytes);
  CHECK_FALSE(again->Get("abce").has_value());
  const DiskCacheStats stats = again->stats();
  CHECK(stats.entries == 1);
  CHECK(stats.hits == 1);
  CHECK(stats.misses == 1);
  struct stat about = {};
  REQUIRE(stat((folder.path() + "/mac.key").c_str(), &about) == 0);
  CHECK((about.st_mode & 0777) == 0600);
}

TEST_CASE("disk cache: every truncation and every flipped bit of an entry is a miss") {
  const std::string key = RandomBytes(kHmacBytes);
  const std::string bytes = RandomBytes(400);
  const std::string file = DiskCache::SealEntry(key, "abcdef", bytes);
  CHECK(DiskCache::OpenEntry(key, "abcdef", file) == bytes);
  for (size_t size = 0; size < file.size(); ++size) {
    REQUIRE_FALSE(DiskCache::OpenEntry(key, "abcdef", file.substr(0, size)).has_value());
  }
  for (size_t bit = 0; bit < 8 * file.size(); ++bit) {
    std::string damaged = file;
    damaged[bit / 8] ^= static_cast<char>(1 << bit % 8);
    REQUIRE_FALSE(DiskCache::OpenEntry(key, "abcdef", damaged).has_value());
  }
  CHECK_FALSE(DiskCache::OpenEntry(key, "abcdef", file + "x").has_value());
  CHECK_FALSE(DiskCache::OpenEntry(key, "abcde0", file).has_value());  // another's file
  CHECK_FALSE(DiskCache::OpenEntry(RandomBytes(kHmacBytes), "abcdef", file).has_value());
}

TEST_CASE("disk cache: a damaged file is removed, and may be put again") {
  const Folder folder;
  const auto cache = OpenAt(folder);
  cache->Put("abcd", "good");
  const fs::path path = folder.Files().at(0);
  std::string bytes = ReadFile(path);
  bytes[bytes.size() / 2] ^= 1;
  WriteFile(path, bytes);
  CHECK_FALSE(cache->Get("abcd").has_value());
  CHECK(cache->stats().damaged == 1);
  CHECK(folder.Files().empty());
  cache->Put("abcd", "good");
  CHECK(cache->Get("abcd") == "good");
}

TEST_CASE("disk cache: bytes are bounded, the least recently used goes first") {
  const Folder folder;
  const auto cache = OpenAt(folder, 2000);
  const std::string bytes(500, 'x');
  for (const char* name : {"aaaa", "bbbb", "cccc"}) cache->Put(name, bytes);
  CHECK(cache->Get("aaaa").has_value());
  cache->Put("dddd", bytes);
  CHECK(cache->Get("aaaa").has_value());
  CHECK_FALSE(cache->Get("bbbb").has_value());
  CHECK(cache->stats().evictions == 1);
  CHECK(cache->stats().bytes <= 2000);
  CHECK(folder.Files().size() == 3);
  cache->Put("eeee", std::string(5000, 'x'));  // larger than everything
  CHECK(folder.Files().size() == 3);
  CHECK(OpenAt(folder, 700)->stats().entries == 1);
  CHECK(folder.Files().size() == 1);
}

TEST_CASE("disk cache: a folder or key that cannot be used is said") {
  const Folder folder;
  WriteFile(folder.path() + "/file", "");
  CHECK(DiskCache::Open(folder.path() + "/file", 1000).status().reason() == "CACHE_DIR");
  WriteFile(folder.path() + "/mac.key", "short");
  CHECK(DiskCache::Open(folder.path(), 1000).status().reason() == "CACHE_DIR");
}

TEST_CASE("disk cache: a write that fails loses nothing") {
  const Folder folder;
  const auto cache = OpenAt(folder);
  cache->Put("abcd", "good");
  // Files may not grow: as on a full disk, a part is written and then no more.
  struct rlimit before = {};
  getrlimit(RLIMIT_FSIZE, &before);
  auto* const handler = signal(SIGXFSZ, SIG_IGN);
  const struct rlimit small = {100, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  cache->Put("ef01", std::string(5000, 'x'));
  cache->Put("abcd", std::string(5000, 'x'));
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, handler);
  CHECK(cache->stats().failed_writes == 2);
  CHECK_FALSE(cache->Get("ef01").has_value());
  CHECK(cache->Get("abcd") == "good");
  CHECK(folder.Files().size() == 1);
}

TEST_CASE("disk cache: threads put and get at the same time") {
  const Folder folder;
  const auto cache = OpenAt(folder, 5000);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(static_cast<uint32_t>(t));
      for (int i = 0; i < 200; ++i) {
        const std::string name = "00" + std::to_string(10 + random() % 20);
        const std::string bytes(300, name[3]);
        if (random() % 2 == 0) {
          cache->Put(name, bytes);
        } else if (const auto got = cache->Get(name)) {
          wrong += *got != bytes;
        }
      }
    });
  }
  for (std::thread& t : threads) t.join();
  CHECK(wrong == 0);
  CHECK(cache->stats().failed_writes == 0);
  CHECK(cache->stats().damaged == 0);
}

// A child writes entries without end and is killed in the middle: what is there afterwards is whole, the
// cache opens, and what is half done goes in time.
TEST_CASE("disk cache: kill -9 during writes, 200 times") {
  const Folder folder;
  const std::string bytes = RandomBytes(20000);
  int there = 0;
  for (int round = 0; round < 200; ++round) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      auto cache = DiskCache::Open(folder.path(), 1 << 20);
      if (!cache.ok()) _exit(1);
      for (int i = 0;; ++i) (*cache)->Put("00" + std::to_string(10 + (round * 7 + i) % 40), bytes);
    }
    usleep(static_cast<useconds_t>(1000 + round * 37 % 5000));
    REQUIRE(kill(child, SIGKILL) == 0);
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE(WIFSIGNALED(status));  // it had not ended by itself
    const auto cache = OpenAt(folder);
    for (int k = 10; k < 50; ++k) {
      const auto got = cache->Get("00" + std::to_string(k));
      REQUIRE((!got || *got == bytes));
      there += got.has_value();
    }
    REQUIRE(cache->stats().damaged == 0);
  }
  CHECK(there > 200);
}

struct Tiers {
  Tiers() {
    options.disk = nullptr;
    llvm->entry = [](RunContext*, const uint64_t*, uint64_t* r) { r[0] = 0; };
  }
  std::shared_ptr<FakeBackend> llvm = std::make_shared<FakeBackend>();
  EngineOptions options;
};

TEST_CASE("disk cache: an engine that starts again compiles nothing") {
  const Folder folder;
  const auto llvm = MakeLlvmBackend().value();
  const auto baseline = MakeBaselineBackend({.validate = true}).value();
  const char* text =
      "fn f(x: [n]f64, unread: f64) -> f64 { return sum i < n { sin(x[i]) * x[i] } }";
  std::vector<std::vector<uint8_t>> gradients;
  std::vector<std::string> ids;
  for (const Tier tier : {Tier::kLlvm, Tier::kBaseline}) {
    for (const bool cold : {true, false}) {
      EngineOptions options;
      options.disk = OpenAt(folder);
      Engine engine(options, llvm, baseline);
      KernelRequest request = Ask(text, "f", Transform::kValueAndGrad);
      request.options.tier = tier;
      const Handle handle = Ok(engine.Compile(request));
      bool codegen = false;
      for (const Timing& t : handle.timings) codegen = codegen || t.stage == "codegen";
      CHECK(codegen == cold);
      CHECK(options.disk->stats().hits == (cold ? 0 : 1));
      const Outputs outputs = Ok(engine.Run(handle, {{Vector({1, 2, -3}), Scalar(0)}, {}}));
      CHECK(outputs.tier == tier);
      gradients.push_back(outputs.derivatives[0].tensor.data);
      engine.DrainBackground();
    }
  }
  for (const auto& gradient : gradients) CHECK(gradient == gradients[0]);
}

TEST_CASE("disk cache: a kernel that LLVM took over is LLVM's from the start next time") {
  const Folder folder;
  const auto llvm = MakeLlvmBackend().value();
  const auto baseline = MakeBaselineBackend({.validate = true}).value();
  const char* text =
      "fn f(n: i64) -> f64 {\n  var s = 0.5\n  for i < n { s = sin(s) + 1.0 }\n  return s\n}";
  for (const bool first : {true, false}) {
    EngineOptions options;
    options.disk = OpenAt(folder);
    Engine engine(options, llvm, baseline);
    const Handle handle = Ok(engine.Compile(Ask(text)));
    CHECK((handle.kernel->code().current()->tier == Tier::kBaseline) == first);
    CHECK(Ok(engine.Run(handle, {{Integer(10'000'000)}, {}})).tier == Tier::kLlvm);
    engine.DrainBackground();
  }
}

TEST_CASE("disk cache: entries that are whole but no good are misses") {
  const Folder folder;
  Tiers t;
  t.options.disk = OpenAt(folder);
  const KernelRequest request = Ask("fn f(x: f64) -> f64 { return x }");
  std::string id;
  {
    Engine engine(t.options, t.llvm);
    id = Ok(engine.Compile(request)).kernel_id;
    engine.DrainBackground();
  }
  CHECK(t.llvm->compiles == 1);
  for (const std::string& bytes : {std::string(), std::string("nonsense"), std::string(12, '\0')}) {
    t.options.disk->Put(id, bytes);
    Engine engine(t.options, t.llvm);
    CHECK(Ok(engine.Compile(request)).kernel_id == id);
    engine.DrainBackground();
  }
  CHECK(t.llvm->compiles == 4);
  // What a back end does not take: here LLVM's object under tier 0's mark.
  StoredKernel stored = *ReadStoredKernel(*t.options.disk->Get(id));
  stored.tier = Tier::kBaseline;
  t.options.disk->Put(id, Write(stored));
  Engine engine(t.options, t.llvm, MakeBaselineBackend().value());
  CHECK(engine.Compile(request).ok());
}

}  // namespace
}  // namespace pullback::jit
