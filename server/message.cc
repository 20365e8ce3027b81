#include "server/message.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <climits>

namespace pullback::server {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

bool ParseMessage(const grpc::ByteBuffer& buffer, google::protobuf::MessageLite* message) {
  if (!buffer.Valid() || buffer.Length() > INT_MAX) return false;
  grpc::Slice slice;
  if (buffer.TrySingleSlice(&slice).ok()) {
    return message->ParseFromArray(slice.begin(), static_cast<int>(slice.size()));
  }
  grpc::ByteBuffer copy(buffer);  // of references: the reader wants it mutable
  grpc::ProtoBufferReader reader(&copy);
  return reader.status().ok() && message->ParseFromZeroCopyStream(&reader);
}

grpc::ByteBuffer WriteMessage(const google::protobuf::MessageLite& message) {
  grpc::Slice slice(message.ByteSizeLong());
  // A slice is only written while nobody else has it.
  message.SerializeWithCachedSizesToArray(const_cast<uint8_t*>(slice.begin()));
  return grpc::ByteBuffer(&slice, 1);
}

uint64_t PeekUint64(const grpc::ByteBuffer& buffer, int number) {
  grpc::ByteBuffer copy(buffer);
  grpc::ProtoBufferReader reader(&copy);
  CodedInputStream in(&reader);
  uint64_t value = 0;
  while (const uint32_t tag = in.ReadTag()) {
    const bool wanted = tag == WireFormatLite::MakeTag(number, WireFormatLite::WIRETYPE_VARINT);
    if (wanted ? !in.ReadVarint64(&value) : !WireFormatLite::SkipField(&in, tag)) break;
    if (wanted) return value;
  }
  return value;
}

}  // namespace pullback::server
