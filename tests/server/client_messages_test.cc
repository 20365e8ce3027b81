// The C++ client with programs as messages; what errors of their runs say of places.
#include <catch2/catch.hpp>

#include "core/base/sha256.h"
#include "proto/program/tables.h"
#include "tests/server/process.h"
#include "tests/server/programs.h"

namespace pullback::test {
namespace {

using client::Arg;

constexpr char kCanonicalPlaces[] = "(line and column of the program's canonical text)";

std::shared_ptr<const v1::ProgramTables> Tables(const std::string& text) {
  return std::make_shared<const v1::ProgramTables>(program::ToTables(lang::Parse(text).value()));
}

client::KernelSpec Messages(const std::string& text, const std::string& entry,
                            client::Transform transform = client::Transform::kValue) {
  client::KernelSpec spec = Spec("", entry, transform);
  spec.tables = Tables(text);
  return spec;
}

client::Inputs At(int64_t i) {
  return Args({Arg("x", Vector({1, 2, 3})), Arg("i", Tensor::I64(i))});
}

bool SaysCanonical(const Status& status) {
  REQUIRE(status.reason() == "INDEX_OUT_OF_RANGE");
  REQUIRE(status.diagnostics().size() == 1);
  CHECK(status.diagnostics()[0].span.line > 0);
  const bool says = status.diagnostics()[0].message.find(kCanonicalPlaces) != std::string::npos;
  CHECK((status.message().find(kCanonicalPlaces) != std::string::npos) == says);
  return says;
}

TEST_CASE("C++ client: messages and text are one kernel with one hash for balancers") {
  ServerProcess server;
  auto client = server.Connect();
  const auto spec = Messages(kPow, "pow", client::Transform::kValueAndGrad);
  const auto compiled = client->Compile(spec);
  INFO(compiled.status().ToString());
  REQUIRE(compiled.ok());
  CHECK(compiled->program_hash == Sha256Hex(*program::ToText(*spec.tables)));
  auto text = PowGradient();
  text.wrt.clear();
  const auto same = client->Compile(text);
  REQUIRE(same.ok());
  CHECK(same->kernel_id == compiled->kernel_id);
  CHECK(same->cache_hit);

  const auto result = client->Evaluate(spec, PowInputs(2, 3));
  REQUIRE(result.ok());
  CHECK(Scalar(result->value) == 8);
  CHECK(Scalar(result->derivatives[0].value) == 12);
  // Another program under the same entry is another kernel.
  const auto other = client->Evaluate(
      Messages("fn pow(x: f64, n: i64) -> f64 { return x + 1.0 }", "pow"), PowInputs(2, 3));
  REQUIRE(other.ok());
  CHECK(Scalar(other->value) == 3);
}

TEST_CASE("C++ client: Explain and streams take messages") {
  auto client = SharedServer().Connect();
  const auto spec = Messages(kPow, "pow", client::Transform::kValueAndGrad);
  const auto stages = client->Explain(spec, {"ast"});
  REQUIRE(stages.ok());
  CHECK((*stages)[0].text.find("pow") != std::string::npos);
  auto stream = client->OpenStream();
  REQUIRE(stream->Send(5, spec, PowInputs(2, 3)));
  stream->CloseSend();
  const auto answer = stream->Receive();
  REQUIRE(answer);
  REQUIRE(answer->result.ok());
  CHECK(Scalar(answer->result->derivatives[0].value) == 12);
  CHECK_FALSE(stream->Receive());
}

TEST_CASE("C++ client: messages that are no program name the field") {
  auto client = SharedServer().Connect();
  auto tables = std::make_shared<v1::ProgramTables>(*Tables(kPow));
  tables->mutable_functions(0)->mutable_body()->set_statements(0, 99);
  auto spec = Spec("", "pow");
  spec.tables = tables;
  for (const Status& status :
       {client->Compile(spec).status(), client->Evaluate(spec, PowInputs(2, 3)).status(),
        client->Explain(spec).status()}) {
    CHECK(status.reason() == "INVALID_PROGRAM");
    CHECK(status.message().starts_with("program.tables.functions[0].body.statements[0]: 99"));
  }
}

TEST_CASE("a trap of a run by kernel_id says when its place is in the canonical text") {
  ServerProcess server;
  auto client = server.Connect();
  const auto kernel = client->Compile(Messages(kAt, "at"));
  REQUIRE(kernel.ok());
  CHECK(SaysCanonical(client->Evaluate(*kernel, At(9)).status()));
  CHECK(SaysCanonical(client->Evaluate(Messages(kAt, "at"), At(9)).status()));
  // Who sends its own text is told of that.
  CHECK_FALSE(SaysCanonical(client->Evaluate(Spec(kAt, "at"), At(9)).status()));

  // The text that made the kernel was somebody's.
  const std::string text =
      "fn head(x: [n]f64, i: i64) -> f64 {\n  let y = x[i]\n  return y * 2.0\n}\n";
  const auto by_text = client->Compile(Spec(text, "head"));
  REQUIRE(by_text.ok());
  CHECK_FALSE(SaysCanonical(client->Evaluate(*by_text, At(9)).status()));
  const auto by_messages = client->Compile(Messages(text, "head"));
  REQUIRE(by_messages.ok());
  CHECK(by_messages->kernel_id == by_text->kernel_id);
  CHECK_FALSE(SaysCanonical(client->Evaluate(*by_messages, At(9)).status()));
}

}  // namespace
}  // namespace pullback::test
