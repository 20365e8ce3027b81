// EvaluateStream: items are read as far as the window allows, run side by side as jobs, and their
// answers written in the order in which they are ready.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <set>

#include "server/handlers.h"
#include "server/lanes.h"

namespace pullback::server {

class StreamCall;

// The streams that are open, so that draining can end them.
class StreamSet {
 public:
  void Add(const std::shared_ptr<StreamCall>& stream);
  void Remove(const std::shared_ptr<StreamCall>& stream);
  void DrainAll();

 private:
  std::mutex mutex_;
  std::set<std::shared_ptr<StreamCall>> streams_;
};

class StreamCall final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
                         public std::enable_shared_from_this<StreamCall> {
 public:
  // Kept alive by `set` until OnDone. admit: whether its sender may ask, tried when it opens and for each
  // item; after a no, what runs is answered and the stream ends with that status.
  static StreamCall* Open(Lanes* lanes, Handlers* handlers, const ServerOptions* options,
                          StreamSet* set, Request request, std::function<Status()> admit);

  // Reads no more; ends with UNAVAILABLE once what runs is answered.
  void Drain();

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  class Item;
  StreamCall(Lanes* lanes, Handlers* handlers, const ServerOptions* options, StreamSet* set,
             Request request, std::function<Status()> admit);
  bool AdmitItem();
  void Answer(grpc::ByteBuffer answer);
  void EndReading(bool drop_answers);
  void Proceed();
  Status FinalStatus() const;

  Lanes* const lanes_;
  Handlers* const handlers_;
  const ServerOptions* const options_;
  StreamSet* const set_;
  Request request_;
  const std::function<Status()> admit_;
  const bool entered_;
  grpc::ByteBuffer incoming_;

  std::mutex mutex_;                       // guards what follows
  Status admitted_;                        // what admit_ said last
  std::deque<grpc::ByteBuffer> outgoing_;  // the front is being written while writing_
  int in_flight_ = 0;                      // items submitted and not answered
  int starting_ = 0;  // threads between deciding on an operation and starting it
  bool reading_ = false;
  bool writing_ = false;
  bool ended_ = false;  // nothing more is read
  bool draining_ = false;
  bool finished_ = false;  // Finish was called
};

}  // namespace pullback::server
