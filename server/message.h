// Messages in and out of gRPC's byte buffers. The service is registered raw, so that messages are parsed
// and written by who does the work, and so that a malformed one gets an error of ours.
#pragma once

#include <google/protobuf/message_lite.h>
#include <grpcpp/support/byte_buffer.h>

#include <cstdint>

namespace pullback::server {

bool ParseMessage(const grpc::ByteBuffer& buffer, google::protobuf::MessageLite* message);

// In one slice of exactly its size.
grpc::ByteBuffer WriteMessage(const google::protobuf::MessageLite& message);

// The uint64 field `number` of a message, found without parsing the rest; 0 when it is absent.
uint64_t PeekUint64(const grpc::ByteBuffer& buffer, int number);

}  // namespace pullback::server
