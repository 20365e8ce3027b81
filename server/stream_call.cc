#include "server/stream_call.h"

#include <google/protobuf/arena.h>

#include <optional>
#include <utility>
#include <vector>

#include "server/errors.h"
#include "server/message.h"

namespace pullback::server {

void StreamSet::Add(const std::shared_ptr<StreamCall>& stream) {
  std::lock_guard lock(mutex_);
  streams_.insert(stream);
}

void StreamSet::Remove(const std::shared_ptr<StreamCall>& stream) {
  std::lock_guard lock(mutex_);
  streams_.erase(stream);
}

void StreamSet::DrainAll() {
  std::vector<std::shared_ptr<StreamCall>> open;
  {
    std::lock_guard lock(mutex_);
    open.assign(streams_.begin(), streams_.end());
  }
  for (const auto& stream : open) stream->Drain();
}

// One item: owns itself from Submit to its answer; the stream outlives it.
class StreamCall::Item final : public Job {
 public:
  Item(StreamCall* stream, const grpc::ByteBuffer& bytes)
      : stream_(stream),
        bytes_(bytes),
        request_(stream->request_),
        in_(google::protobuf::Arena::CreateMessage<v1::EvaluateStreamRequest>(&arena_)),
        out_(google::protobuf::Arena::CreateMessage<v1::EvaluateStreamResponse>(&arena_)) {
    request_.arrived = Clock::now();
    request_.bytes = bytes.Length();
  }

  // On a thread of gRPC's. The last thing its maker does with it.
  void Start() {
    Lanes* const lanes = stream_->lanes_;
    pool_ = &lanes->run;
    if (const std::optional<Status> status = TryHere()) return Answer(*status);
    SubmitTo(parsed_ && in_->request().has_spec() ? &lanes->compile : &lanes->run);
  }

  void Run() override {
    Status status;
    if (!parsed_) {
      status = Parse();
      if (status.ok() && in_->request().has_spec()) return SubmitTo(&stream_->lanes_->compile);
    }
    if (status.ok()) status = CheckLive(request_);
    if (status.ok()) {
      status = Guard([this] {
        return stream_->handlers_->Evaluate(request_, in_->request(), out_->mutable_response());
      });
    }
    Answer(BlameDeadline(std::move(status), request_));
  }

 private:
  Status Parse() {
    parsed_ = true;
    const auto begin = Clock::now();
    Status status = Guard([this] {
      understood_ = ParseMessage(bytes_, in_);
      return understood_ ? Status() : Malformed();
    });
    if (!status.ok()) return status;
    request_.stages.convert += SecondsSince(begin);
    BoundDeadline(&request_, in_->timeout_seconds(), *stream_->options_);
    return {};
  }

  // One that is malformed or refused is still answered by its id.
  uint64_t Id() const {
    return understood_ ? in_->id() : PeekUint64(bytes_, v1::EvaluateStreamRequest::kIdFieldNumber);
  }

  // Its status, where it is done on this thread.
  std::optional<Status> TryHere() {
    if (!ShortRuns::WorthTrying(*pool_, request_.bytes)) return {};
    const Pool::Guest guest(pool_);
    Status parsed = Parse();
    if (!parsed.ok()) return parsed;
    return stream_->handlers_->TryEvaluate(request_, in_->request(), out_->mutable_response());
  }

  void SubmitTo(Pool* pool) {
    pool_ = pool;
    if (!pool->Submit(this, request_.bytes)) Answer(QueueFull());
  }

  void Answer(Status status) {
    grpc::ByteBuffer bytes;
    if (status.ok()) {
      status = Guard([&] {
        out_->set_id(Id());
        bytes = WriteMessage(*out_);
        return Status();
      });
    }
    stream_->lanes_->metrics.Count(request_, status);
    LogAnswer(request_, status);
    if (!status.ok()) bytes = Refusal(status);
    stream_->Answer(bytes);
    delete this;
  }

  grpc::ByteBuffer Refusal(const Status& status) {
    v1::EvaluateStreamResponse out;
    out.set_id(Id());
    *out.mutable_status() = ToRpcStatus(status, request_, pool_->RetryDelay());
    return WriteMessage(out);
  }

  StreamCall* const stream_;
  grpc::ByteBuffer bytes_;
  Request request_;
  google::protobuf::Arena arena_;
  v1::EvaluateStreamRequest* const in_;
  v1::EvaluateStreamResponse* const out_;
  bool parsed_ = false;
  bool understood_ = false;
  Pool* pool_ = nullptr;
};

StreamCall* StreamCall::Open(Lanes* lanes, Handlers* handlers, const ServerOptions* options,
                             StreamSet* set, Request request, std::function<Status()> admit) {
  std::shared_ptr<StreamCall> stream(
      new StreamCall(lanes, handlers, options, set, std::move(request), std::move(admit)));
  set->Add(stream);
  if (!stream->admitted_.ok()) lanes->metrics.Count(stream->request_, stream->admitted_);
  // After Add: either DrainAll sees the stream, or the gate was closed before.
  if (!stream->entered_ || lanes->gate.closed()) stream->Drain();
  stream->Proceed();
  return stream.get();
}

StreamCall::StreamCall(Lanes* lanes, Handlers* handlers, const ServerOptions* options,
                       StreamSet* set, Request request, std::function<Status()> admit)
    : lanes_(lanes),
      handlers_(handlers),
      options_(options),
      set_(set),
      request_(std::move(request)),
      admit_(std::move(admit)),
      entered_(lanes->gate.Enter()),
      admitted_(admit_()),
      ended_(!admitted_.ok()) {}

void StreamCall::Drain() {
  {
    std::lock_guard lock(mutex_);
    draining_ = true;
    ended_ = true;
  }
  Proceed();
}

void StreamCall::OnReadDone(bool ok) {
  if (!ok) return EndReading(/*drop_answers=*/false);
  if (!AdmitItem()) return Proceed();
  auto* item = new Item(this, std::exchange(incoming_, grpc::ByteBuffer()));
  item->Start();
  {
    std::lock_guard lock(mutex_);
    reading_ = false;
  }
  Proceed();
}

// Whether the item that was read is to be answered. Tokens may have been read again since the last one.
bool StreamCall::AdmitItem() {
  Status admitted = admit_();
  std::lock_guard lock(mutex_);
  if (finished_) return false;  // drained meanwhile
  if (admitted.ok()) {
    ++in_flight_;
    return true;
  }
  lanes_->metrics.Count(request_, admitted);
  admitted_ = std::move(admitted);
  ended_ = true;
  reading_ = false;
  return false;
}

void StreamCall::OnWriteDone(bool ok) {
  if (!ok) return EndReading(/*drop_answers=*/true);
  {
    std::lock_guard lock(mutex_);
    writing_ = false;
    outgoing_.pop_front();
  }
  Proceed();
}

// The client has sent its last item, or (drop_answers) takes no more answers.
void StreamCall::EndReading(bool drop_answers) {
  {
    std::lock_guard lock(mutex_);
    ended_ = true;
    if (drop_answers) {
      writing_ = false;
      outgoing_.clear();
      request_.cancelled->store(true, std::memory_order_relaxed);
    } else {
      reading_ = false;
    }
  }
  Proceed();
}

void StreamCall::OnCancel() {
  request_.cancelled->store(true, std::memory_order_relaxed);
  {
    std::lock_guard lock(mutex_);
    ended_ = true;
  }
  Proceed();
}

void StreamCall::OnDone() {
  if (entered_) lanes_->gate.Leave();
  set_->Remove(shared_from_this());
}

void StreamCall::Answer(grpc::ByteBuffer answer) {
  // The item kept the stream open; without it another thread may end it at once.
  const auto self = shared_from_this();
  {
    std::lock_guard lock(mutex_);
    --in_flight_;
    outgoing_.push_back(std::move(answer));
  }
  Proceed();
}

// Starts whatever may start. Called after every change; any thread. Operations start outside the lock,
// for gRPC may complete them in the thread that starts them; Finish waits until no thread is about to
// start one, since the call may be gone after it.
void StreamCall::Proceed() {
  std::unique_lock lock(mutex_);
  while (!finished_) {
    const bool room = in_flight_ + static_cast<int>(outgoing_.size()) < options_->stream_window;
    const bool read = !reading_ && !ended_ && room;
    const bool write = !writing_ && !outgoing_.empty();
    if (!read && !write) break;
    reading_ |= read;
    writing_ |= write;
    grpc::ByteBuffer* const answer = write ? &outgoing_.front() : nullptr;
    ++starting_;
    lock.unlock();
    if (read) StartRead(&incoming_);
    if (write) StartWrite(answer);
    lock.lock();
    --starting_;
  }
  const bool idle = in_flight_ == 0 && starting_ == 0 && !writing_ && outgoing_.empty();
  if (finished_ || !ended_ || !idle) return;
  finished_ = true;
  lock.unlock();
  Finish(ToGrpcStatus(FinalStatus(), request_, std::chrono::milliseconds(0)));
}

Status StreamCall::FinalStatus() const {
  if (draining_) return Draining();
  if (!admitted_.ok()) return admitted_;
  return CheckLive(request_);
}

}  // namespace pullback::server
