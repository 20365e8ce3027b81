#include "jit/tiers.h"

#include <exception>

#include "core/loops/walk.h"
#include "jit/interrupt.h"

namespace pullback::jit {
namespace {

using std::chrono::nanoseconds;

constexpr std::chrono::milliseconds kPoll{1};  // for a cancellation, while waiting

// What LLVM takes at O2, about: a start, and so much for each byte that tier 0 wrote (docs/benchmarks.md).
constexpr nanoseconds kLlvmStart = std::chrono::milliseconds(1);
constexpr nanoseconds kLlvmPerByte = std::chrono::microseconds(7);

size_t BytesOf(const loops::Module& module) {
  size_t bytes = 0;
  for (const auto& f : module.functions) {
    bytes += f->regs.size() * sizeof(loops::RegInfo);
    for (const loops::Block& block : f->blocks) {
      bytes += sizeof block;
      loops::ForEachNode(block.nodes, [&](const loops::Node& n) {
        bytes += sizeof n + (n.args.size() + n.results.size()) * sizeof(loops::Reg);
      });
    }
  }
  return bytes;
}

}  // namespace

const char* TierName(Tier tier) {
  switch (tier) {
    case Tier::kAuto: break;
    case Tier::kBaseline: return "baseline";
    case Tier::kLlvm: return "llvm";
  }
  return "auto";
}

TieredCode::TieredCode(Tier tier, std::unique_ptr<LoadedCode> code, std::optional<Later> later)
    : state_(later ? State::kFirst : State::kSettled), later_(std::move(later)) {
  patience_ = kLlvmStart + static_cast<int64_t>(code->bytes()) * kLlvmPerByte;
  if (later_) later_bytes_ = BytesOf(later_->loops);
  current_ = std::make_shared<const Code>(Code{std::move(code), tier});
}

std::optional<nanoseconds> TieredCode::patience() const {
  if (state_.load(std::memory_order_acquire) == State::kSettled) return std::nullopt;
  return patience_;
}

bool TieredCode::Count(double seconds) {
  if (state_.load(std::memory_order_relaxed) != State::kFirst) return false;
  const auto spent = static_cast<int64_t>(seconds * 1e9);
  const int64_t before = spent_ns_.fetch_add(spent, std::memory_order_relaxed);
  return before < patience_.count() && before + spent >= patience_.count();
}

// A compiler that runs out of memory must not leave others waiting: what it throws is an error, too.
StatusOr<std::shared_ptr<const TieredCode::Code>> TieredCode::CompileLater(
    Backend& llvm, ObjectCode* object) const {
  try {
    PB_ASSIGN_OR_RETURN(*object, llvm.Compile(later_->loops, {later_->opt_level}));
    PB_ASSIGN_OR_RETURN(std::unique_ptr<LoadedCode> loaded, llvm.Load(*object));
    return std::make_shared<const Code>(Code{std::move(loaded), Tier::kLlvm});
  } catch (const std::exception& thrown) {
    return Status(pullback::Code::kInternal, "COMPILER_THREW", thrown.what());
  }
}

StatusOr<TieredCode::Improvement> TieredCode::Improve(Backend& llvm, const RunLimits& limits) {
  {
    std::unique_lock lock(mutex_);
    while (state_ == State::kImproving) {
      PB_RETURN_IF_ERROR(CheckLive(limits));
      settled_.wait_for(lock, kPoll);
    }
    if (state_ == State::kSettled) return Improvement{};
    state_ = State::kImproving;
  }
  Improvement improvement;
  improvement.mine = true;
  const auto made = WhileWanted(limits, [&] { return CompileLater(llvm, &improvement.object); });
  if (IsInterruption(made.status())) {
    TryAgainLater();
    return made.status();
  }
  const std::lock_guard lock(mutex_);
  if (made.ok()) current_.store(*made, std::memory_order_release);
  later_.reset();
  later_bytes_ = 0;
  state_ = State::kSettled;
  settled_.notify_all();
  improvement.status = made.status();
  return improvement;
}

void TieredCode::TryAgainLater() {
  const std::lock_guard lock(mutex_);
  spent_ns_ = 0;
  state_ = State::kFirst;
  settled_.notify_all();
}

size_t TieredCode::bytes() const {
  const std::lock_guard lock(mutex_);
  return current()->loaded->bytes() + later_bytes_;
}

}  // namespace pullback::jit
