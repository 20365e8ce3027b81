#include "client/cli/load_progress.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>

namespace pullback::cli {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kTick{100};
constexpr int kTicksPerFrame = 2;
constexpr int kWidth = 30;

}  // namespace

LoadProgress::LoadProgress(double seconds) : seconds_(seconds) {
  if (isatty(STDERR_FILENO)) thread_ = std::thread([this] { Draw(); });
}

LoadProgress::~LoadProgress() {
  done_ = true;
  if (!thread_.joinable()) return;
  thread_.join();
  std::fprintf(stderr, "\r\033[K");
}

void LoadProgress::Draw() {
  const auto begin = steady_clock::now();
  int64_t seen = 0;
  auto drawn = begin;
  for (int tick = 1; !done_; ++tick) {
    std::this_thread::sleep_for(kTick);
    if (tick % kTicksPerFrame != 0) continue;
    const auto now = steady_clock::now();
    const double elapsed = std::chrono::duration<double>(now - begin).count();
    const double frame = std::chrono::duration<double>(now - drawn).count();
    const int64_t answers = counts_.answers;
    const auto full = static_cast<size_t>(std::min(1.0, elapsed / seconds_) * kWidth);
    const std::string bar = std::string(full, '#') + std::string(kWidth - full, '.');
    std::fprintf(stderr, "\r\033[K[%s] %.1f of %.1f s, %.0f answers/s, %lld errors", bar.c_str(),
                 elapsed, seconds_, static_cast<double>(answers - seen) / frame,
                 static_cast<long long>(counts_.errors));
    seen = answers;
    drawn = now;
  }
}

}  // namespace pullback::cli
