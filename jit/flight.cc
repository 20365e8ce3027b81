#include "jit/flight.h"

#include <chrono>

#include "jit/interrupt.h"

namespace pullback::jit {
namespace {

constexpr std::chrono::milliseconds kPoll{1};  // for a cancellation, while waiting

}  // namespace

// Lands the flight even when making throws: those who wait would wait for ever.
class SingleFlight::Leader {
 public:
  Leader(SingleFlight& all, const std::string& id, std::shared_ptr<Flight> flight)
      : all_(all), id_(id), flight_(std::move(flight)) {}
  Leader(const Leader&) = delete;
  Leader& operator=(const Leader&) = delete;

  ~Leader() {
    {
      const std::lock_guard lock(all_.mutex_);
      all_.flights_.erase(id_);
    }
    const std::lock_guard lock(flight_->mutex);
    flight_->done = true;
    flight_->kernel = std::move(kernel_);
    flight_->failure = std::move(failure_);
    flight_->landed.notify_all();
  }

  void Report(const StatusOr<KernelPtr>& made) {
    if (made.ok()) {
      kernel_ = *made;
    } else {
      failure_ = made.status();
    }
  }

 private:
  SingleFlight& all_;
  const std::string& id_;
  const std::shared_ptr<Flight> flight_;
  KernelPtr kernel_;
  Status failure_ = Cancelled();
};

Status SingleFlight::Wait(Flight& flight, const RunLimits& limits) {
  std::unique_lock lock(flight.mutex);
  while (!flight.done) {
    PB_RETURN_IF_ERROR(CheckLive(limits));
    flight.landed.wait_for(lock, kPoll);
  }
  return {};
}

StatusOr<KernelPtr> SingleFlight::Get(const std::string& id, const std::string& question,
                                      const RunLimits& limits,
                                      const std::function<StatusOr<KernelPtr>()>& make) {
  for (;;) {
    std::shared_ptr<Flight> flight;
    bool first;
    {
      const std::lock_guard lock(mutex_);
      auto& slot = flights_[id];
      first = slot == nullptr;
      if (first) slot = std::make_shared<Flight>(question);
      flight = slot;
    }
    if (first) {
      Leader leader(*this, id, flight);
      StatusOr<KernelPtr> made = make();
      leader.Report(made);
      return made;
    }
    PB_RETURN_IF_ERROR(Wait(*flight, limits));
    if (flight->kernel) return flight->kernel;  // landed: no longer changes
    if (flight->question == question && !IsInterruption(flight->failure)) return flight->failure;
  }
}

}  // namespace pullback::jit
