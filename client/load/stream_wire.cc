#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <cstring>
#include <deque>
#include <mutex>
#include <vector>

#include "client/errors.h"
#include "client/load/wire.h"
#include "pullback/v1/service.pb.h"

namespace pullback::load {
namespace {

const std::string kMethod = "/pullback.v1.GradientService/EvaluateStream";

void AppendVarint(uint64_t value, std::string* out) {
  for (; value >= 0x80; value >>= 7) *out += static_cast<char>(value | 0x80);
  *out += static_cast<char>(value);
}

// An EvaluateStreamRequest around a serialised EvaluateRequest, whose bytes are not copied.
grpc::ByteBuffer Wrap(uint64_t id, const grpc::ByteBuffer& request, double timeout_seconds) {
  std::string head, tail;
  AppendVarint(1 << 3 | 0, &head);
  AppendVarint(id, &head);
  AppendVarint(2 << 3 | 2, &head);
  AppendVarint(request.Length(), &head);
  AppendVarint(3 << 3 | 1, &tail);
  char bytes[sizeof timeout_seconds];
  std::memcpy(bytes, &timeout_seconds, sizeof bytes);
  tail.append(bytes, sizeof bytes);
  std::vector<grpc::Slice> slices;
  static_cast<void>(request.Dump(&slices));
  slices.insert(slices.begin(), grpc::Slice(head));
  slices.emplace_back(tail);
  return {slices.data(), slices.size()};
}

class StreamWire final : public Wire {
 public:
  StreamWire(std::shared_ptr<grpc::Channel> channel, const WireOptions& options)
      : stub_(std::move(channel)), options_(options), busy_(static_cast<size_t>(options.slots)) {}

  ~StreamWire() override {
    Cancel();
    Drain(&queue_);
  }

  void Start(int slot, const grpc::ByteBuffer& request) override {
    std::lock_guard lock(mutex_);
    busy_[static_cast<size_t>(slot)] = true;
    const double timeout = std::chrono::duration<double>(options_.timeout).count();
    unsent_.push_back({slot, Wrap(static_cast<uint64_t>(slot), request, timeout)});
    if (stream_ == nullptr) {
      Open();
    } else if (!ending_) {
      WriteNext();
    }
  }

  std::optional<Answer> Next(std::chrono::milliseconds patience) override {
    const auto until = std::chrono::system_clock::now() + patience;
    while (true) {
      if (auto lost = TakeLost()) return lost;
      void* tag;
      bool ok;
      if (queue_.AsyncNext(&tag, &ok, until) != grpc::CompletionQueue::GOT_EVENT) {
        return std::nullopt;
      }
      if (auto answer = Handle(*static_cast<Event*>(tag), ok)) return answer;
    }
  }

  void Cancel() override {
    std::lock_guard lock(mutex_);
    if (context_) context_->TryCancel();
  }

 private:
  enum class Event : uint8_t { kOpened, kRead, kWritten, kFinished };
  struct Unsent {
    int slot;
    grpc::ByteBuffer item;
  };

  std::optional<Answer> Handle(Event event, bool ok) {
    std::lock_guard lock(mutex_);
    --pending_;
    std::optional<Answer> answer;
    switch (event) {
      case Event::kOpened:
        if (ok) {
          open_ = true;
          Read();
          WriteNext();
        }
        break;
      case Event::kWritten:
        writing_ = false;
        if (ok && !ending_) WriteNext();
        break;
      case Event::kRead:
        if (ok) {
          answer = Parse();
          Read();
        }
        break;
      case Event::kFinished: LoseAll(); return std::nullopt;
    }
    ending_ |= !ok;
    // A stream that has ended says why once nothing else is asked of it.
    if (ending_ && pending_ == 0) {
      stream_->Finish(&status_, &finished_);
      ++pending_;
    }
    return answer;
  }

  void Open() {
    context_.emplace();
    options_.headers.AddTo(&*context_);
    open_ = writing_ = ending_ = false;
    stream_ = stub_.PrepareCall(&*context_, kMethod, &queue_);
    stream_->StartCall(&opened_);
    ++pending_;
  }

  void Read() {
    incoming_.Clear();
    stream_->Read(&incoming_, &read_);
    ++pending_;
  }

  void WriteNext() {
    if (!open_ || writing_ || unsent_.empty()) return;
    writing_ = true;
    stream_->Write(unsent_.front().item, &written_);
    ++pending_;
    unsent_.pop_front();
  }

  std::optional<Answer> Parse() {
    v1::EvaluateStreamResponse message;
    grpc::ProtoBufferReader reader(&incoming_);
    const bool known = message.ParseFromZeroCopyStream(&reader) && message.id() < busy_.size() &&
                       busy_[message.id()];
    if (!known) {  // not a server of ours: nothing can be told from it
      context_->TryCancel();
      return std::nullopt;
    }
    busy_[message.id()] = false;
    const bool failed = message.has_status();
    return Answer{static_cast<int>(message.id()),
                  failed ? client::FromRpc(message.status()) : Status()};
  }

  // Everything in flight ended with the stream.
  void LoseAll() {
    for (size_t slot = 0; slot < busy_.size(); ++slot) {
      if (busy_[slot]) lost_.push_back(static_cast<int>(slot));
      busy_[slot] = false;
    }
    unsent_.clear();
    why_ = status_.ok() ? Status(Code::kInternal, "NO_ANSWER", "the stream ended unanswered")
                        : client::FromGrpc(status_);
    stream_ = nullptr;
    context_.reset();
  }

  std::optional<Answer> TakeLost() {
    std::lock_guard lock(mutex_);
    if (lost_.empty()) return std::nullopt;
    const int slot = lost_.front();
    lost_.pop_front();
    return Answer{slot, why_};
  }

  Event opened_ = Event::kOpened, read_ = Event::kRead, written_ = Event::kWritten,
        finished_ = Event::kFinished;  // whose addresses are the tags

  grpc::CompletionQueue queue_;
  grpc::GenericStub stub_;
  const WireOptions options_;

  std::mutex mutex_;  // guards all that follows
  std::optional<grpc::ClientContext> context_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream_;
  grpc::ByteBuffer incoming_;
  grpc::Status status_;
  int pending_ = 0;  // events that will come
  bool open_ = false, writing_ = false, ending_ = false;
  std::vector<bool> busy_;  // by slot
  std::deque<Unsent> unsent_;
  std::deque<int> lost_;
  Status why_;
};

}  // namespace

std::unique_ptr<Wire> MakeStreamWire(std::shared_ptr<grpc::Channel> channel,
                                     const WireOptions& options) {
  return std::make_unique<StreamWire>(std::move(channel), options);
}

}  // namespace pullback::load
