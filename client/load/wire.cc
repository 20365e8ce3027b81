#include "client/load/wire.h"

namespace pullback::load {

void Headers::AddTo(grpc::ClientContext* context) const {
  if (!program_hash.empty()) context->AddMetadata("x-pullback-program-hash", program_hash);
  if (!authorization.empty()) context->AddMetadata("authorization", authorization);
}

void Drain(grpc::CompletionQueue* queue) {
  queue->Shutdown();
  void* tag;
  bool ok;
  while (queue->Next(&tag, &ok)) {
  }
}

}  // namespace pullback::load
