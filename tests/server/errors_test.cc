// Every class of error: its code, its one ErrorInfo reason, and the place where it has one.
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>
#include <catch2/catch.hpp>

#include <cstring>

#include "client/convert.h"
#include "tests/server/process.h"
#include "tests/server/programs.h"
#include "tests/server/rpc_error.h"

namespace pullback::test {
namespace {

using client::Arg;
using client::Transform;
using grpc::StatusCode;

RpcError CompileError(const client::KernelSpec& spec) {
  v1::CompileRequest request;
  v1::CompileResponse response;
  client::ToMessage(spec, request.mutable_spec());
  grpc::ClientContext context;
  return Decode(SharedServer().Stub()->Compile(&context, request, &response));
}

RpcError EvaluateError(const v1::EvaluateRequest& request) {
  v1::EvaluateResponse response;
  grpc::ClientContext context;
  return Decode(SharedServer().Stub()->Evaluate(&context, request, &response));
}

v1::EvaluateRequest MakeRequest(const client::KernelSpec& spec, const client::Inputs& inputs) {
  v1::EvaluateRequest request;
  client::ToMessage(spec, request.mutable_spec());
  REQUIRE(client::ToMessage(inputs, nullptr, &request).ok());
  return request;
}

RpcError EvaluateError(const client::KernelSpec& spec, const client::Inputs& inputs) {
  return EvaluateError(MakeRequest(spec, inputs));
}

void CheckError(const RpcError& error, StatusCode code, const std::string& reason) {
  INFO(error.message);
  CHECK(error.code == code);
  CHECK(error.error_infos == 1);
  CHECK(error.info.reason() == reason);
  CHECK(error.info.domain() == "pullback");
  CHECK_FALSE(error.request.request_id().empty());
  CHECK_FALSE(error.message.empty());
  CHECK(error.has_retry == (code == StatusCode::RESOURCE_EXHAUSTED));
}

void CheckPlace(const RpcError& error, int i, const std::string& place,
                const std::string& excerpt) {
  REQUIRE(error.bad.field_violations_size() > i);
  CHECK(error.bad.field_violations(i).field() == "program.text:" + place);
  const std::string& description = error.bad.field_violations(i).description();
  INFO(description);
  CHECK(description.find("\n" + excerpt + "\n") != std::string::npos);
  CHECK(description.find('^') != std::string::npos);
}

void CheckField(const RpcError& error, const std::string& field) {
  REQUIRE(error.bad.field_violations_size() == 1);
  CHECK(error.bad.field_violations(0).field() == field);
  CHECK_FALSE(error.bad.field_violations(0).description().empty());
}

TEST_CASE("a syntax error has its place and excerpt") {
  const RpcError error = CompileError(Spec("fn f(x: f64) -> f64 {\n  return x +* 2.0\n}\n", "f"));
  CheckError(error, StatusCode::INVALID_ARGUMENT, "SYNTAX_ERROR");
  CheckPlace(error, 0, "2:13", "  return x +* 2.0");
}

TEST_CASE("several type errors come at once") {
  const RpcError error = CompileError(
      Spec("fn f(x: f64) -> f64 {\n  let a = x + true\n  let b = x * y\n  return x\n}\n", "f"));
  CheckError(error, StatusCode::INVALID_ARGUMENT, "TYPE_ERROR");
  REQUIRE(error.bad.field_violations_size() == 2);
  CHECK(error.bad.field_violations(0).field().starts_with("program.text:2:"));
  CHECK(error.bad.field_violations(1).field().starts_with("program.text:3:"));
}

TEST_CASE("a hundred errors still fit into trailers") {
  std::string program = "fn f(x: f64) -> f64 {\n";
  for (int i = 0; i < 100; ++i) {
    program += "  let a" + std::to_string(i) + " = x + " + std::string(300, 'u') +
               std::to_string(i) + "\n";
  }
  const RpcError error = CompileError(Spec(program + "  return x\n}\n", "f"));
  CheckError(error, StatusCode::INVALID_ARGUMENT, "TYPE_ERROR");
  CHECK(error.bad.field_violations_size() >= 2);
}

TEST_CASE("a misspelt construct and names with UTF-8 survive the trip") {
  const RpcError error = CompileError(Spec("fn f(x: f64) -> f64 { return x + ü }", "f"));
  CheckError(error, StatusCode::INVALID_ARGUMENT, "SYNTAX_ERROR");
}

TEST_CASE("text that is not UTF-8 is a malformed request") {
  const RpcError error = CompileError(Spec("fn f(x: f64) -> f64 { return x } # \xff\xfe", "f"));
  CheckError(error, StatusCode::INVALID_ARGUMENT, "MALFORMED_REQUEST");
}

TEST_CASE("an entry that is not there names those that are") {
  const RpcError error = CompileError(Spec(kPow, "pwo"));
  CheckError(error, StatusCode::NOT_FOUND, "ENTRY_NOT_FOUND");
  CHECK(error.message.find("pow") != std::string::npos);
}

TEST_CASE("a gradient of something that is not one number") {
  const RpcError error =
      CompileError(Spec("fn f(x: [n]f64) -> [n]f64 { return x }", "f", Transform::kValueAndGrad));
  CheckError(error, StatusCode::INVALID_ARGUMENT, "NOT_SCALAR");
}

TEST_CASE("a construct that is not there yet") {
  const RpcError error = CompileError(Spec("fn f(r: rel[n, n]) -> rel[n, n] { return r }", "f"));
  CHECK(error.code == StatusCode::UNIMPLEMENTED);
  CHECK(error.info.reason() == "UNIMPLEMENTED");
  CHECK(error.error_infos == 1);
}

TEST_CASE("a choice of contractions that there is not") {
  v1::EvaluateRequest request = MakeRequest(PowGradient(), PowInputs(2, 3));
  request.mutable_spec()->mutable_options()->set_contractions(static_cast<v1::Contractions>(7));
  const RpcError error = EvaluateError(request);
  CheckError(error, StatusCode::INVALID_ARGUMENT, "INVALID_REQUEST");
  CheckField(error, "spec.options.contractions");
}

TEST_CASE("a request without program, entry or transform") {
  RpcError error = EvaluateError(v1::EvaluateRequest());
  CheckError(error, StatusCode::INVALID_ARGUMENT, "INVALID_REQUEST");
  CheckField(error, "kernel_id");

  v1::EvaluateRequest request = MakeRequest(PowGradient(), PowInputs(2, 3));
  request.mutable_spec()->set_transform(v1::TRANSFORM_UNSPECIFIED);
  error = EvaluateError(request);
  CheckError(error, StatusCode::INVALID_ARGUMENT, "INVALID_REQUEST");
  CheckField(error, "spec.transform");

  request = MakeRequest(PowGradient(), PowInputs(2, 3));
  request.mutable_spec()->clear_entry();
  CheckField(EvaluateError(request), "spec.entry");
  request = MakeRequest(PowGradient(), PowInputs(2, 3));
  request.mutable_spec()->clear_program();
  CheckField(EvaluateError(request), "spec.program");
  request = MakeRequest(PowGradient(), PowInputs(2, 3));
  request.mutable_options()->set_memory_bytes(-1);
  CheckField(EvaluateError(request), "options.memory_bytes");
}

TEST_CASE("arguments: unknown, missing, twice, half named") {
  RpcError error =
      EvaluateError(PowGradient(), Args({Arg("x", Tensor::F64(2)), Arg("m", Tensor::I64(3))}));
  CheckError(error, StatusCode::INVALID_ARGUMENT, "UNKNOWN_ARGUMENT");
  CheckField(error, "arguments[1].name");

  error = EvaluateError(PowGradient(), Args({Arg("x", Tensor::F64(2))}));
  CheckError(error, StatusCode::INVALID_ARGUMENT, "MISSING_ARGUMENT");
  CheckField(error, "arguments");
  CHECK(error.message.find("'n'") != std::string::npos);

  error = EvaluateError(PowGradient(), Args({Arg("", Tensor::F64(2))}));
  CheckError(error, StatusCode::INVALID_ARGUMENT, "MISSING_ARGUMENT");

  error = EvaluateError(PowGradient(), Args({Arg("x", Tensor::F64(2)), Arg("x", Tensor::F64(2))}));
  CheckError(error, StatusCode::INVALID_ARGUMENT, "DUPLICATE_ARGUMENT");

  error = EvaluateError(PowGradient(), Args({Arg("x", Tensor::F64(2)), Arg("", Tensor::I64(2))}));
  CheckError(error, StatusCode::INVALID_ARGUMENT, "MISSING_ARGUMENT");
}

TEST_CASE("arguments: wrong type or size") {
  RpcError error =
      EvaluateError(PowGradient(), Args({Arg("x", Tensor::F32(2)), Arg("n", Tensor::I64(3))}));
  CheckError(error, StatusCode::INVALID_ARGUMENT, "TYPE_MISMATCH");
  error = EvaluateError(Spec(kDot, "dot"),
                        Args({Arg("a", Vector({1, 2, 3})), Arg("b", Vector({1, 2}))}));
  CheckError(error, StatusCode::INVALID_ARGUMENT, "SIZE_MISMATCH");
  CHECK(error.message.find("'b'") != std::string::npos);
}

TEST_CASE("tensors that lie about themselves") {
  v1::EvaluateRequest request =
      MakeRequest(Spec(kDot, "dot"), Args({Arg("a", Vector({1, 2})), Arg("b", Vector({1, 2}))}));
  v1::Tensor* const tensor = request.mutable_arguments(1)->mutable_value()->mutable_tensor();
  const v1::Tensor good = *tensor;

  tensor->mutable_data()->pop_back();
  RpcError error = EvaluateError(request);
  CheckError(error, StatusCode::INVALID_ARGUMENT, "INVALID_VALUE");
  CheckField(error, "arguments[1].value.tensor.data");

  *tensor = good;
  tensor->set_shape(0, -2);
  CheckField(EvaluateError(request), "arguments[1].value.tensor.shape");

  *tensor = good;
  tensor->clear_shape();
  for (int64_t extent : {int64_t{1} << 62, int64_t{4}, int64_t{0}}) tensor->add_shape(extent);
  tensor->clear_data();
  CheckField(EvaluateError(request), "arguments[1].value.tensor.shape");

  *tensor = good;
  tensor->set_dtype(static_cast<v1::DType>(99));
  CheckField(EvaluateError(request), "arguments[1].value.tensor.dtype");

  request.mutable_arguments(1)->mutable_value()->Clear();
  CheckField(EvaluateError(request), "arguments[1].value");
}

TEST_CASE("a kernel that is not there") {
  v1::EvaluateRequest request;
  request.set_kernel_id(std::string(64, 'a'));
  CheckError(EvaluateError(request), StatusCode::FAILED_PRECONDITION, "KERNEL_NOT_RESIDENT");
  request.set_kernel_id("no id at all");
  CheckError(EvaluateError(request), StatusCode::FAILED_PRECONDITION, "KERNEL_NOT_RESIDENT");
}

TEST_CASE("an index out of range names its place") {
  const RpcError error =
      EvaluateError(Spec(kAt, "at"), Args({Arg("x", Vector({1, 2, 3})), Arg("i", Tensor::I64(7))}));
  CheckError(error, StatusCode::OUT_OF_RANGE, "INDEX_OUT_OF_RANGE");
  CheckPlace(error, 0, "2:10", "  return x[i]");
}

TEST_CASE("a division by zero names its place") {
  const RpcError error = EvaluateError(Spec(kDivide, "divide"),
                                       Args({Arg("a", Tensor::I64(1)), Arg("b", Tensor::I64(0))}));
  CheckError(error, StatusCode::FAILED_PRECONDITION, "DIVISION_BY_ZERO");
  CheckPlace(error, 0, "2:11", "  let q = a / b");
}

TEST_CASE("Explain: a stage that is not there") {
  v1::ExplainRequest request;
  v1::ExplainResponse response;
  client::ToMessage(PowGradient(), request.mutable_spec());
  request.add_stages("tea");
  grpc::ClientContext context;
  const RpcError error = Decode(SharedServer().Stub()->Explain(&context, request, &response));
  CheckError(error, StatusCode::NOT_FOUND, "UNKNOWN_STAGE");
}

TEST_CASE("bytes that are no message") {
  auto channel = grpc::CreateChannel(SharedServer().address(), grpc::InsecureChannelCredentials());
  grpc::GenericStub stub(channel);
  grpc::Slice slice("\xff\xff\xff");
  grpc::ByteBuffer request(&slice, 1);
  grpc::CompletionQueue queue;
  for (const char* method : {"Compile", "Evaluate", "Explain"}) {
    grpc::ClientContext context;
    grpc::ByteBuffer response;
    grpc::Status status;
    auto call = stub.PrepareUnaryCall(
        &context, std::string("/pullback.v1.GradientService/") + method, request, &queue);
    call->StartCall();
    call->Finish(&response, &status, &call);
    void* tag = nullptr;
    bool ok = false;
    REQUIRE(queue.Next(&tag, &ok));
    CheckError(Decode(status), StatusCode::INVALID_ARGUMENT, "MALFORMED_REQUEST");
  }
}

TEST_CASE("the client's request id comes back in errors; one that is no id is replaced") {
  v1::CompileRequest request;
  v1::CompileResponse response;
  grpc::ClientContext context;
  context.AddMetadata("x-request-id", "id-17");
  auto stub = SharedServer().Stub();
  CHECK(Decode(stub->Compile(&context, request, &response)).request.request_id() == "id-17");
  grpc::ClientContext spaced;
  spaced.AddMetadata("x-request-id", "two words");
  CHECK(Decode(stub->Compile(&spaced, request, &response)).request.request_id().size() == 16);
}

TEST_CASE("the C++ client decodes reason and diagnostics") {
  auto client = SharedServer().Connect();
  auto result = client->Compile(Spec("fn f(x: f64) -> f64 {\n  return y\n}", "f"));
  REQUIRE_FALSE(result.ok());
  CHECK(result.status().code() == Code::kInvalidArgument);
  CHECK(result.status().reason() == "TYPE_ERROR");
  REQUIRE(result.status().diagnostics().size() == 1);
  const Diagnostic& d = result.status().diagnostics()[0];
  CHECK(d.span.line == 2);
  CHECK(d.span.column == 10);
  CHECK_FALSE(d.message.empty());
  CHECK(d.excerpt.starts_with("  return y\n"));
}

TEST_CASE("the C++ client's errors speak of the text at hand, not of the kernel's first") {
  auto client = SharedServer().Connect();
  const client::Inputs beyond = Args({Arg("x", Vector({1})), Arg("i", Tensor::I64(5))});
  const auto place = [&](const std::string& text) {
    auto result = client->Evaluate(Spec(text, "at"), beyond);
    REQUIRE_FALSE(result.ok());
    REQUIRE(result.status().diagnostics().size() == 1);
    const Span span = result.status().diagnostics()[0].span;
    return std::to_string(span.line) + ":" + std::to_string(span.column);
  };
  const std::string text = "fn at(x: [n]f64, i: i64) -> f64 { return x[i] + 5.5 }";
  CHECK(place(text) == "1:42");
  CHECK(place("\n\n  " + text) == "3:44");
  CHECK(place(text) == "1:42");
}

}  // namespace
}  // namespace pullback::test
