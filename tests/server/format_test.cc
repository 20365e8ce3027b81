// Programs as messages over the wire: every call takes them, and they are the kernels of their texts.
#include <google/protobuf/text_format.h>
#include <grpcpp/grpcpp.h>

#include <catch2/catch.hpp>

#include "core/base/sha256.h"
#include "tests/server/process.h"
#include "tests/server/rpc_error.h"

namespace pullback::test {
namespace {

// fn cubed(a: f64) -> f64 { return a * a * a }
constexpr char kCubed[] = R"(
  types { scalar: DTYPE_F64 }
  expressions { name: "a" }
  expressions { binary { op: BINARY_OPERATOR_MUL left: 0 right: 0 } }
  expressions { binary { op: BINARY_OPERATOR_MUL left: 1 right: 0 } }
  statements { returns { value: 2 } }
  functions { name: "cubed" parameters { name: "a" type: 0 } result: 0 body { statements: 0 } }
)";
constexpr char kCubedText[] = "fn cubed(a: f64) -> f64 { return a * a * a }\n";

v1::Program Message(const std::string& tables) {
  v1::Program program;
  REQUIRE(google::protobuf::TextFormat::ParseFromString(tables, program.mutable_tables()));
  return program;
}

v1::Program Text(const std::string& text) {
  v1::Program program;
  program.set_text(text);
  return program;
}

v1::KernelSpec Gradient(const v1::Program& program, const std::string& entry) {
  v1::KernelSpec spec;
  *spec.mutable_program() = program;
  spec.set_entry(entry);
  spec.set_transform(v1::TRANSFORM_VALUE_AND_GRAD);
  return spec;
}

void AddScalar(double value, v1::EvaluateRequest* request) {
  v1::Tensor* tensor = request->add_arguments()->mutable_value()->mutable_tensor();
  tensor->set_dtype(v1::DTYPE_F64);
  tensor->set_data(&value, sizeof value);
}

double Read(const v1::Value& value) {
  double out = 0;
  REQUIRE(value.tensor().data().size() == sizeof out);
  std::memcpy(&out, value.tensor().data().data(), sizeof out);
  return out;
}

template <typename Response, typename Request, typename Method>
RpcError Call(Method method, const Request& request, Response* response) {
  grpc::ClientContext context;
  return Decode((SharedServer().Stub().get()->*method)(&context, request, response));
}

RpcError Compile(const v1::KernelSpec& spec, v1::CompileResponse* response) {
  v1::CompileRequest request;
  *request.mutable_spec() = spec;
  return Call(&v1::GradientService::Stub::Compile, request, response);
}

RpcError Format(const v1::Program& program, v1::FormatResponse* response) {
  v1::FormatRequest request;
  *request.mutable_program() = program;
  return Call(&v1::GradientService::Stub::Format, request, response);
}

TEST_CASE("the same program by text and by messages is one kernel") {
  v1::CompileResponse by_text, by_message;
  REQUIRE(
      Compile(Gradient(Text("# cubed\nfn power3(x:f64)->f64{return (x*x)*x}"), "power3"), &by_text)
          .code == grpc::StatusCode::OK);
  REQUIRE(Compile(Gradient(Message(kCubed), "cubed"), &by_message).code == grpc::StatusCode::OK);
  CHECK(by_message.kernel_id() == by_text.kernel_id());
  CHECK(by_message.cache_hit());
  CHECK(by_message.signature().parameters(0).name() == "a");

  v1::EvaluateRequest request;
  *request.mutable_spec() = Gradient(Message(kCubed), "cubed");
  AddScalar(2, &request);
  v1::EvaluateResponse response;
  REQUIRE(Call(&v1::GradientService::Stub::Evaluate, request, &response).code ==
          grpc::StatusCode::OK);
  CHECK(response.kernel_id() == by_text.kernel_id());
  CHECK(response.cache_hit());
  CHECK(Read(response.value()) == 8);
  CHECK(response.derivatives(0).name() == "a");
  CHECK(Read(response.derivatives(0).value()) == 12);
}

TEST_CASE("EvaluateStream and Explain take messages") {
  auto stub = SharedServer().Stub();
  grpc::ClientContext context;
  auto stream = stub->EvaluateStream(&context);
  for (int i = 1; i <= 3; ++i) {
    v1::EvaluateStreamRequest item;
    item.set_id(static_cast<uint64_t>(i));
    *item.mutable_request()->mutable_spec() = Gradient(Message(kCubed), "cubed");
    AddScalar(i, item.mutable_request());
    REQUIRE(stream->Write(item));
  }
  stream->WritesDone();
  int answers = 0;
  for (v1::EvaluateStreamResponse item; stream->Read(&item); ++answers) {
    const auto x = static_cast<double>(item.id());
    CHECK(Read(item.response().value()) == x * x * x);
  }
  CHECK(answers == 3);
  CHECK(stream->Finish().ok());

  v1::ExplainRequest request;
  v1::ExplainResponse by_message, by_text;
  request.add_stages("ssa");
  *request.mutable_spec() = Gradient(Message(kCubed), "cubed");
  REQUIRE(Call(&v1::GradientService::Stub::Explain, request, &by_message).code ==
          grpc::StatusCode::OK);
  *request.mutable_spec()->mutable_program() = Text(kCubedText);
  REQUIRE(Call(&v1::GradientService::Stub::Explain, request, &by_text).code ==
          grpc::StatusCode::OK);
  CHECK(by_message.stages(0).text() == by_text.stages(0).text());
}

TEST_CASE("Format: text and messages, each from the other, with one hash") {
  v1::FormatResponse from_text, from_message;
  REQUIRE(Format(Text("# Cubed.\nfn cubed( a:f64 )->f64{return (a*a)*a}"), &from_text).code ==
          grpc::StatusCode::OK);
  REQUIRE(Format(Message(kCubed), &from_message).code == grpc::StatusCode::OK);
  CHECK(from_text.text() == "# Cubed.\nfn cubed(a: f64) -> f64 { return (a * a) * a }\n");
  CHECK(from_text.canonical_text() == kCubedText);
  CHECK(from_message.text() == kCubedText);
  CHECK(from_message.canonical_text() == kCubedText);
  CHECK(from_text.hash() == Sha256Hex(kCubedText));
  CHECK(from_message.hash() == from_text.hash());
  CHECK(from_message.tables().SerializeAsString() == from_text.tables().SerializeAsString());

  v1::Program again;
  *again.mutable_tables() = from_text.tables();
  v1::FormatResponse back;
  REQUIRE(Format(again, &back).code == grpc::StatusCode::OK);
  CHECK(back.text() == kCubedText);
}

TEST_CASE("malformed tables name the field; type errors a place of the canonical text") {
  v1::Program bad = Message(kCubed);
  bad.mutable_tables()->mutable_expressions(2)->mutable_binary()->set_left(99);
  v1::CompileResponse response;
  const RpcError range = Compile(Gradient(bad, "cubed"), &response);
  CHECK(range.code == grpc::StatusCode::INVALID_ARGUMENT);
  CHECK(range.info.reason() == "INVALID_PROGRAM");
  CHECK(range.bad.field_violations(0).field() == "program.tables.expressions[2].binary.left");
  CHECK(range.bad.field_violations(0).description() ==
        "99 is out of range, there are 3 expressions");
  CHECK(range.message ==
        "program.tables.expressions[2].binary.left: 99 is out of range, there are 3 expressions");

  v1::Program wrong = Message(kCubed);
  wrong.mutable_tables()->mutable_expressions(0)->set_name("b");
  const RpcError type = Compile(Gradient(wrong, "cubed"), &response);
  CHECK(type.code == grpc::StatusCode::INVALID_ARGUMENT);
  CHECK(type.info.reason() == "TYPE_ERROR");
  const auto& violation = type.bad.field_violations(0);
  CHECK(violation.field() == "program.text:1:34");
  CHECK(violation.description().find("(line and column of the program's canonical text)\n"
                                     "fn cubed(a: f64) -> f64 { return b * b * b }\n"
                                     "                                 ^") != std::string::npos);
  v1::FormatResponse formatted;
  CHECK(Format(wrong, &formatted).code == grpc::StatusCode::OK);
  CHECK(Format(bad, &formatted).info.reason() == "INVALID_PROGRAM");
  CHECK(Format({}, &formatted).bad.field_violations(0).field() == "program");

  const RpcError syntax = Format(Text("fn f("), &formatted);
  CHECK(syntax.info.reason() == "SYNTAX_ERROR");
  CHECK(syntax.bad.field_violations(0).field() == "program.text:1:6");
}

}  // namespace
}  // namespace pullback::test
