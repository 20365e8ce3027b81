#include "client/load/connection.h"

#include <sys/prctl.h>

#include <algorithm>
#include <thread>

namespace pullback::load {
namespace {

// How long a thread waits for an answer before it looks round.
constexpr std::chrono::milliseconds kPatience{20};

int64_t Nanoseconds(Clock::duration d) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(d).count();
}

bool InWindow(const Window& window, Clock::time_point t) {
  return t >= window.record && t < window.end;
}

std::string ErrorName(const Status& status) {
  const std::string code = CodeName(status.code());
  return status.reason() == code ? code : code + " (" + status.reason() + ")";
}

}  // namespace

RequestSource::RequestSource(Requests requests) : requests_(std::move(requests)) {
  const grpc::Slice slice(requests_.bytes);
  fixed_ = grpc::ByteBuffer(&slice, 1);
}

grpc::ByteBuffer RequestSource::Next() {
  if (!requests_.make) return fixed_;  // a reference
  const grpc::Slice slice(requests_.make(number_.fetch_add(1, std::memory_order_relaxed)));
  return {&slice, 1};
}

void Connection::Record(const Window& window, const Wire::Answer& answer, Outcome* outcome,
                        Progress* progress) {
  const Clock::time_point begun = begun_[static_cast<size_t>(answer.slot)];
  auto& counter = answer.status.ok() ? progress->answers : progress->errors;
  counter.fetch_add(1, std::memory_order_relaxed);
  if (!InWindow(window, begun)) return;
  if (answer.status.ok()) {
    outcome->latency.Record(Nanoseconds(Clock::now() - begun));
  } else {
    ++outcome->errors[ErrorName(answer.status)];
  }
}

Outcome Connection::RunClosed(const Window& window, Progress* progress) {
  Outcome outcome;
  const auto send = [&](int slot) {
    const grpc::ByteBuffer request = source_->Next();
    begun_[static_cast<size_t>(slot)] = Clock::now();
    wire_->Start(slot, request);
  };
  int in_flight = static_cast<int>(begun_.size());
  outcome.peak_in_flight = in_flight;
  for (int slot = 0; slot < in_flight; ++slot) send(slot);
  while (in_flight > 0) {
    const auto answer = wire_->Next(kPatience);
    if (!answer) continue;
    Record(window, *answer, &outcome, progress);
    Clock::now() < window.end ? send(answer->slot) : static_cast<void>(--in_flight);
  }
  return outcome;
}

// Requests wait in `due` for a slot. The collecting thread gives slots back.
struct Connection::Pacer {
  Pacer(Connection* c, const Window& w, Arrivals a, int64_t most)
      : connection(c), window(w), arrivals(a), max_backlog(most) {
    for (size_t slot = c->begun_.size(); slot-- > 0;) free.push_back(static_cast<int>(slot));
    next = window.begin + std::chrono::nanoseconds(arrivals.Next());
  }

  // Until all that is due before the end is sent, or the backlog does not empty in time.
  void Send() {
    prctl(PR_SET_TIMERSLACK, 1000UL);  // the kernel would let a sleep be 50 us longer
    const auto last =
        window.end + std::chrono::duration_cast<Clock::duration>(
                         std::chrono::duration<double>(connection->options_.timeout_seconds));
    std::unique_lock lock(mutex);
    while (true) {
      Arrive();
      if ((due.empty() && next >= window.end) || Clock::now() >= last) break;
      if (due.empty()) {
        lock.unlock();
        std::this_thread::sleep_until(next);
        lock.lock();
      } else if (free.empty()) {
        slot_is_free.wait_until(lock, std::min(last, next));
      } else {
        SendOne(lock);
      }
    }
    for (const Clock::time_point at : due) Shed(at);
    due.clear();
    done = true;
  }

  // What is due by now joins the backlog, where there is room.
  void Arrive() {
    const auto now = Clock::now();
    while (next <= now && next < window.end) {
      if (static_cast<int64_t>(due.size()) >= max_backlog) {
        Shed(next);
      } else {
        due.push_back(next);
      }
      next = window.begin + std::chrono::nanoseconds(arrivals.Next());
    }
    // The one that is about to be sent does not wait.
    const auto waiting = static_cast<int64_t>(due.size()) - (free.empty() ? 0 : 1);
    sent.peak_backlog = std::max(sent.peak_backlog, waiting);
  }

  void SendOne(std::unique_lock<std::mutex>& lock) {
    const Clock::time_point at = due.front();
    due.pop_front();
    const int slot = free.back();
    free.pop_back();
    ++in_flight;
    sent.peak_in_flight = std::max(sent.peak_in_flight, in_flight);
    connection->begun_[static_cast<size_t>(slot)] = at;
    lock.unlock();
    const grpc::ByteBuffer request = connection->source_->Next();
    if (InWindow(window, at)) sent.delay.Record(Nanoseconds(Clock::now() - at));
    connection->wire_->Start(slot, request);
    lock.lock();
  }

  void Shed(Clock::time_point at) {
    if (InWindow(window, at)) ++sent.errors["SHED"];
  }

  Connection* const connection;
  const Window window;
  Arrivals arrivals;
  const int64_t max_backlog;
  Clock::time_point next;
  Outcome sent;  // all but the answers

  std::mutex mutex;  // guards what follows
  std::condition_variable slot_is_free;
  std::deque<Clock::time_point> due;
  std::vector<int> free;
  int64_t in_flight = 0;
  bool done = false;
};

Outcome Connection::RunOpen(const Window& window, Arrivals arrivals, int64_t max_backlog,
                            Progress* progress) {
  Pacer pacer(this, window, arrivals, max_backlog);
  std::thread sender([&] { pacer.Send(); });
  Outcome outcome;
  while (true) {
    {
      std::lock_guard lock(pacer.mutex);
      if (pacer.done && pacer.in_flight == 0) break;
    }
    const auto answer = wire_->Next(kPatience);
    if (!answer) continue;
    Record(window, *answer, &outcome, progress);
    {
      std::lock_guard lock(pacer.mutex);
      pacer.free.push_back(answer->slot);
      --pacer.in_flight;
    }
    pacer.slot_is_free.notify_one();
  }
  sender.join();
  outcome.MergeBeside(pacer.sent);
  return outcome;
}

}  // namespace pullback::load
