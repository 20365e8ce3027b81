#include "server/reflection.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <grpcpp/support/server_callback.h>

#include <set>

#include "grpc/health/v1/health.pb.h"
#include "grpc/reflection/v1/reflection.grpc.pb.h"
#include "grpc/reflection/v1alpha/reflection.grpc.pb.h"

namespace pullback::server {
namespace {

namespace v1 = grpc::reflection::v1;
using google::protobuf::DescriptorPool;
using google::protobuf::FileDescriptor;

void Fail(grpc::StatusCode code, const std::string& message, v1::ServerReflectionResponse* out) {
  out->mutable_error_response()->set_error_code(code);
  out->mutable_error_response()->set_error_message(message);
}

void AddWithImports(const FileDescriptor* file, std::set<const FileDescriptor*>* seen,
                    v1::FileDescriptorResponse* out) {
  if (!seen->insert(file).second) return;
  google::protobuf::FileDescriptorProto message;
  file->CopyTo(&message);
  out->add_file_descriptor_proto(message.SerializeAsString());
  for (int i = 0; i < file->dependency_count(); ++i) AddWithImports(file->dependency(i), seen, out);
}

void AnswerFile(const FileDescriptor* file, const std::string& what,
                v1::ServerReflectionResponse* out) {
  std::set<const FileDescriptor*> seen;
  if (file == nullptr) return Fail(grpc::StatusCode::NOT_FOUND, what + " is not known here", out);
  AddWithImports(file, &seen, out->mutable_file_descriptor_response());
}

void AnswerExtensionNumbers(const std::string& type, v1::ServerReflectionResponse* out) {
  // Nothing here extends anything.
  if (DescriptorPool::generated_pool()->FindMessageTypeByName(type) == nullptr) {
    return Fail(grpc::StatusCode::NOT_FOUND, type + " is not known here", out);
  }
  out->mutable_all_extension_numbers_response()->set_base_type_name(type);
}

void Answer(const v1::ServerReflectionRequest& in, const std::vector<std::string>& services,
            v1::ServerReflectionResponse* out) {
  using Request = v1::ServerReflectionRequest;
  const DescriptorPool* const pool = DescriptorPool::generated_pool();
  out->set_valid_host(in.host());
  *out->mutable_original_request() = in;
  switch (in.message_request_case()) {
    case Request::kListServices:
      for (const std::string& name : services) {
        out->mutable_list_services_response()->add_service()->set_name(name);
      }
      return;
    case Request::kFileByFilename:
      return AnswerFile(pool->FindFileByName(in.file_by_filename()), in.file_by_filename(), out);
    case Request::kFileContainingSymbol:
      return AnswerFile(pool->FindFileContainingSymbol(in.file_containing_symbol()),
                        in.file_containing_symbol(), out);
    case Request::kAllExtensionNumbersOfType:
      return AnswerExtensionNumbers(in.all_extension_numbers_of_type(), out);
    case Request::kFileContainingExtension:
      return Fail(grpc::StatusCode::NOT_FOUND, "there are no extensions here", out);
    case Request::MESSAGE_REQUEST_NOT_SET: break;
  }
  Fail(grpc::StatusCode::INVALID_ARGUMENT, "no such question", out);
}

// Question, answer, question, … Owns itself.
class Conversation final
    : public grpc::ServerBidiReactor<v1::ServerReflectionRequest, v1::ServerReflectionResponse> {
 public:
  explicit Conversation(const std::vector<std::string>* services) : services_(services) {
    StartRead(&in_);
  }
  void OnReadDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::OK);
    out_.Clear();
    Answer(in_, *services_, &out_);
    StartWrite(&out_);
  }
  void OnWriteDone(bool ok) override { ok ? StartRead(&in_) : Finish(grpc::Status::OK); }
  void OnDone() override { delete this; }

 private:
  const std::vector<std::string>* const services_;
  v1::ServerReflectionRequest in_;
  v1::ServerReflectionResponse out_;
};

template <typename Base>
class Reflection final : public Base {
 public:
  explicit Reflection(std::vector<std::string> services) : services_(std::move(services)) {}
  grpc::ServerBidiReactor<v1::ServerReflectionRequest, v1::ServerReflectionResponse>*
  ServerReflectionInfo(grpc::CallbackServerContext*) override {
    return new Conversation(&services_);
  }

 private:
  const std::vector<std::string> services_;
};

}  // namespace

std::vector<std::unique_ptr<grpc::Service>> MakeReflectionServices(
    const std::vector<std::string>& services) {
  namespace v1alpha = grpc::reflection::v1alpha;
  // gRPC serves health without a descriptor of it: this links ours.
  grpc::health::v1::HealthCheckRequest::descriptor();
  std::vector<std::string> all = services;
  all.emplace_back(v1::ServerReflection::service_full_name());
  all.emplace_back(v1alpha::ServerReflection::service_full_name());
  std::vector<std::unique_ptr<grpc::Service>> made;
  made.push_back(std::make_unique<Reflection<v1::ServerReflection::CallbackService>>(all));
  made.push_back(std::make_unique<Reflection<v1alpha::ServerReflection::CallbackService>>(all));
  return made;
}

}  // namespace pullback::server
