// Every RPC through the C++ client: what is sent, what comes back.
#include <catch2/catch.hpp>
#include <set>

#include "core/base/sha256.h"
#include "core/base/sparse.h"
#include "tests/server/process.h"
#include "tests/server/programs.h"

namespace pullback::test {
namespace {

using client::Arg;
using client::Transform;

TEST_CASE("Compile says what the kernel takes and gives") {
  auto client = SharedServer().Connect();
  auto compiled = client->Compile(PowGradient());
  REQUIRE(compiled.ok());
  CHECK(compiled->kernel_id.size() == 64);
  const client::Signature& signature = compiled->signature;
  CHECK(signature.entry == "pow");
  REQUIRE(signature.parameters.size() == 2);
  CHECK(signature.parameters[0].name == "x");
  CHECK(signature.parameters[0].type.ToString() == "f64");
  CHECK(signature.parameters[1].name == "n");
  CHECK(signature.parameters[1].type.ToString() == "i64");
  CHECK(signature.result.ToString() == "f64");
  CHECK(signature.wrt == std::vector<std::string>{"x"});
}

TEST_CASE("a second Compile hits, also for a text with other names and layout") {
  auto client = SharedServer().Connect();
  const std::string program = "fn twin(a: f64) -> f64 { return a * a * 17.25 }";
  auto first = client->Compile(Spec(program, "twin", Transform::kValueAndGrad));
  REQUIRE(first.ok());
  CHECK_FALSE(first->cache_hit);
  CHECK_FALSE(first->timings.stages.empty());
  auto second = client->Compile(Spec(program, "twin", Transform::kValueAndGrad));
  REQUIRE(second.ok());
  CHECK(second->cache_hit);
  CHECK(second->kernel_id == first->kernel_id);
  const std::string renamed = "# the same\nfn other(b: f64) -> f64 {\n  return b * b * 17.25\n}\n";
  auto third = client->Compile(Spec(renamed, "other", Transform::kValueAndGrad));
  REQUIRE(third.ok());
  CHECK(third->kernel_id == first->kernel_id);
  CHECK(third->signature.entry == "other");
  CHECK(third->signature.wrt == std::vector<std::string>{"b"});

  auto result = client->Evaluate(*third, Args({Arg("b", Tensor::F64(2))}));
  REQUIRE(result.ok());
  CHECK(Scalar(result->value) == 69);
  REQUIRE(result->derivatives.size() == 1);
  CHECK(result->derivatives[0].name == "b");
}

TEST_CASE("Evaluate: value and gradient in one answer") {
  auto client = SharedServer().Connect();
  auto result = client->Evaluate(PowGradient(), PowInputs(2, 3));
  REQUIRE(result.ok());
  CHECK(Scalar(result->value) == 8);
  REQUIRE(result->derivatives.size() == 1);
  CHECK(result->derivatives[0].name == "x");
  CHECK(Scalar(result->derivatives[0].value) == 12);
  CHECK(result->timings.total_seconds > 0);
  CHECK(result->timings.queue_seconds >= 0);

  auto again = client->Evaluate(PowGradient(), PowInputs(5, 2));
  REQUIRE(again.ok());
  CHECK(again->cache_hit);
  CHECK(Scalar(again->value) == 25);
  CHECK(Scalar(again->derivatives[0].value) == 10);
}

TEST_CASE("Evaluate: the tier that is asked for answers, with the bits of the other") {
  auto client = SharedServer().Connect();
  client::KernelSpec spec = PowGradient();
  std::vector<client::Evaluation> answers;
  for (const client::Tier tier : {client::Tier::kBaseline, client::Tier::kLlvm}) {
    spec.tier = tier;
    auto result = client->Evaluate(spec, PowInputs(1.7, 9));
    REQUIRE(result.ok());
    CHECK(result->tier == tier);
    answers.push_back(*std::move(result));
  }
  CHECK(answers[0].kernel_id != answers[1].kernel_id);
  CHECK(Scalar(answers[0].value) == Scalar(answers[1].value));
  CHECK(Scalar(answers[0].derivatives[0].value) == Scalar(answers[1].derivatives[0].value));
  const char* straight = "fn first(x: f64) -> f64 { return x * x * 4.75 }";
  auto cold = client->Evaluate(Spec(straight, "first", Transform::kValue),
                               Args({Arg("x", Tensor::F64(2))}));
  REQUIRE(cold.ok());
  CHECK(cold->tier == client::Tier::kBaseline);
  spec.tier = static_cast<client::Tier>(3);
  auto none = client->Evaluate(spec, PowInputs(1.7, 9));
  CHECK(none.status().code() == Code::kInvalidArgument);
}

TEST_CASE("a kernel that runs much is taken over by LLVM") {
  auto client = SharedServer().Connect();
  const char* program = R"(fn busy(n: i64) -> f64 {
  var s = 0.5
  for i < n { s = sin(s) + 1.0 }
  return s
})";
  const auto spec = Spec(program, "busy", Transform::kValue);
  const auto before = client->Info();
  REQUIRE(before.ok());
  // One turn is too little to be taken over for, however long the machine leaves it waiting.
  const auto little = client->Evaluate(spec, Args({Arg("n", Tensor::I64(1))}));
  REQUIRE(little.ok());
  std::set<client::Tier> seen = {little->tier};
  std::set<double> values;
  for (int i = 0; i < 2000 && !seen.contains(client::Tier::kLlvm); ++i) {
    auto result = client->Evaluate(spec, Args({Arg("n", Tensor::I64(20000))}));
    REQUIRE(result.ok());
    seen.insert(result->tier);
    values.insert(Scalar(result->value));
  }
  CHECK(seen == std::set{client::Tier::kBaseline, client::Tier::kLlvm});
  CHECK(values.size() == 1);
  const auto after = client->Info();
  REQUIRE(after.ok());
  CHECK(after->tier_switches > before->tier_switches);
  CHECK(after->failed_tier_switches == 0);
}

TEST_CASE("Evaluate: arguments in any order by name, or by position") {
  auto client = SharedServer().Connect();
  auto by_name =
      client->Evaluate(PowGradient(), Args({Arg("n", Tensor::I64(3)), Arg("x", Tensor::F64(2))}));
  REQUIRE(by_name.ok());
  CHECK(Scalar(by_name->value) == 8);
  auto by_position =
      client->Evaluate(PowGradient(), Args({Arg("", Tensor::F64(2)), Arg("", Tensor::I64(3))}));
  REQUIRE(by_position.ok());
  CHECK(Scalar(by_position->value) == 8);
}

TEST_CASE("Evaluate: the value alone") {
  auto client = SharedServer().Connect();
  auto result = client->Evaluate(Spec(kDivide, "divide"),
                                 Args({Arg("a", Tensor::I64(7)), Arg("b", Tensor::I64(2))}));
  REQUIRE(result.ok());
  CHECK(result->value.tensor.dtype == DType::kI64);
  CHECK(result->value.tensor.At<int64_t>(0) == 3);
  CHECK(result->derivatives.empty());
}

TEST_CASE("Evaluate: arrays, by every parameter that holds floats") {
  auto client = SharedServer().Connect();
  auto result = client->Evaluate(Spec(kDot, "dot", Transform::kValueAndGrad),
                                 Args({Arg("a", Vector({1, 2, 3})), Arg("b", Vector({4, 5, 6}))}));
  REQUIRE(result.ok());
  CHECK(Scalar(result->value) == 32);
  REQUIRE(result->derivatives.size() == 2);
  CHECK(result->derivatives[0].name == "a");
  CHECK(Doubles(result->derivatives[0].value) == std::vector<double>{4, 5, 6});
  CHECK(result->derivatives[1].name == "b");
  CHECK(result->derivatives[1].value.tensor.shape == std::vector<int64_t>{3});
  CHECK(Doubles(result->derivatives[1].value) == std::vector<double>{1, 2, 3});
}

TEST_CASE("Evaluate: vjp and jvp take seeds") {
  auto client = SharedServer().Connect();
  const std::string program =
      "fn scale(x: [n]f64, s: f64) -> [n]f64 { return gen i < n { s * x[i] } }";
  client::Inputs inputs = Args({Arg("x", Vector({1, 2})), Arg("s", Tensor::F64(3))});

  inputs.seeds = {Arg("", Vector({10, 100}))};
  auto vjp = client->Evaluate(Spec(program, "scale", Transform::kVjp), inputs);
  REQUIRE(vjp.ok());
  CHECK(Doubles(vjp->value) == std::vector<double>{3, 6});
  REQUIRE(vjp->derivatives.size() == 2);
  CHECK(Doubles(vjp->derivatives[0].value) == std::vector<double>{30, 300});
  CHECK(Doubles(vjp->derivatives[1].value) == std::vector<double>{210});

  inputs.seeds = {Arg("s", Tensor::F64(1)), Arg("x", Vector({1, 0}))};
  auto jvp = client->Evaluate(Spec(program, "scale", Transform::kJvp), inputs);
  REQUIRE(jvp.ok());
  REQUIRE(jvp->derivatives.size() == 1);
  CHECK(Doubles(jvp->derivatives[0].value) == std::vector<double>{4, 2});
}

TEST_CASE("Evaluate: sparse Jacobians") {
  auto client = SharedServer().Connect();
  const std::string program =
      "fn pairs(x: [n]f64) -> [n - 1]f64 { return gen i < n - 1 { x[i] * x[i + 1] } }";
  client::KernelSpec spec = Spec(program, "pairs", Transform::kJacobian);
  spec.sparse = true;
  auto jacobian = client->Evaluate(spec, Args({Arg("x", Vector({1, 2, 3}))}));
  REQUIRE(jacobian.ok());
  const std::optional<SparseTensor> block = SparseFromTuple(jacobian->derivatives[0].value);
  REQUIRE(block);
  CHECK(block->seeds == 2);
  CHECK(block->shape == std::vector<int64_t>{2, 3});
  CHECK(block->coordinates == std::vector<std::vector<int64_t>>{{0, 0, 1, 1}, {0, 1, 1, 2}});
  CHECK(Doubles({false, block->elements, {}}) == std::vector<double>{2, 1, 3, 2});

  spec.transform = Transform::kVjp;
  CHECK(client->Compile(spec).status().reason() == "INVALID_OPTION");
}

TEST_CASE("Evaluate: Jacobians, Hessians and their products") {
  auto client = SharedServer().Connect();
  const std::string program =
      "fn scale(x: [n]f64, s: f64) -> [n]f64 { return gen i < n { s * x[i] } }\n"
      "fn loss(x: [n]f64, s: f64) -> f64 { return s * s * sum(x * x) }";
  client::Inputs inputs = Args({Arg("x", Vector({1, 2})), Arg("s", Tensor::F64(3))});
  auto jacobian = client->Evaluate(Spec(program, "scale", Transform::kJacobian), inputs);
  REQUIRE(jacobian.ok());
  REQUIRE(jacobian->derivatives.size() == 2);
  CHECK(jacobian->derivatives[0].name == "x");
  CHECK(jacobian->derivatives[0].value.tensor.shape == std::vector<int64_t>{2, 2});
  CHECK(Doubles(jacobian->derivatives[0].value) == std::vector<double>{3, 0, 0, 3});
  CHECK(Doubles(jacobian->derivatives[1].value) == std::vector<double>{1, 2});

  auto hessian = client->Evaluate(Spec(program, "loss", Transform::kHessian), inputs);
  REQUIRE(hessian.ok());
  REQUIRE(hessian->derivatives.size() == 2);
  CHECK(hessian->derivatives[1].name == "s");
  const std::vector<ApiValue>& by_x = hessian->derivatives[0].value.elements;
  REQUIRE(by_x.size() == 2);
  CHECK(Doubles(by_x[0]) == std::vector<double>{18, 0, 0, 18});
  CHECK(Doubles(by_x[1]) == std::vector<double>{12, 24});
  CHECK(Doubles(hessian->derivatives[1].value.elements[1]) == std::vector<double>{10});

  inputs.seeds = {Arg("s", Tensor::F64(1)), Arg("x", Vector({1, 0}))};
  auto product = client->Evaluate(Spec(program, "loss", Transform::kHvp), inputs);
  REQUIRE(product.ok());
  REQUIRE(product->derivatives.size() == 2);
  CHECK(Doubles(product->derivatives[0].value) == std::vector<double>{30, 24});
  CHECK(Doubles(product->derivatives[1].value) == std::vector<double>{22});
  inputs.seeds.clear();
  CHECK(client->Evaluate(Spec(program, "scale", Transform::kHessian), inputs).status().reason() ==
        "NOT_SCALAR");
}

TEST_CASE("Evaluate: tuples in and out") {
  auto client = SharedServer().Connect();
  const std::string program =
      "fn mix(p: (f64, i64, [n]f64)) -> (f64, i64) {\n"
      "  let (x, k, a) = p\n  return (x * a[0], k + 1)\n}";
  ApiValue pair{true,
                {},
                {Arg("", Tensor::F64(3)).value, Arg("", Tensor::I64(4)).value,
                 Arg("", Vector({5, 6})).value}};
  auto result = client->Evaluate(Spec(program, "mix"), Args({Arg("p", pair)}));
  REQUIRE(result.ok());
  REQUIRE(result->value.is_tuple);
  REQUIRE(result->value.elements.size() == 2);
  CHECK(Scalar(result->value.elements[0]) == 15);
  CHECK(result->value.elements[1].tensor.At<int64_t>(0) == 5);
}

TEST_CASE("Evaluate: empty arrays, f32 and bool keep their bytes") {
  auto client = SharedServer().Connect();
  const std::string program =
      "fn pick(b: bool, x: [n]f32) -> [n]f32 {\n"
      "  if b { return gen i < n { x[i] + x[i] } }\n  return x\n}";
  const Tensor x = Tensor::Of<float>(DType::kF32, {2}, {1.5F, -2.0F});
  auto result =
      client->Evaluate(Spec(program, "pick"), Args({Arg("b", Tensor::Bool(true)), Arg("x", x)}));
  REQUIRE(result.ok());
  CHECK(result->value.tensor.dtype == DType::kF32);
  CHECK(result->value.tensor.At<float>(1) == -4.0F);
  const Tensor none = Tensor::Of<float>(DType::kF32, {0}, {});
  auto empty = client->Evaluate(Spec(program, "pick"),
                                Args({Arg("b", Tensor::Bool(false)), Arg("x", none)}));
  REQUIRE(empty.ok());
  CHECK(empty->value.tensor.shape == std::vector<int64_t>{0});
  CHECK(empty->value.tensor.data.empty());
}

TEST_CASE("Explain gives the stages asked for, and all by default") {
  auto client = SharedServer().Connect();
  auto some = client->Explain(PowGradient(), {"ast", "ssa"});
  REQUIRE(some.ok());
  REQUIRE(some->size() == 2);
  CHECK((*some)[0].stage == "ast");
  CHECK((*some)[0].text.find("pow") != std::string::npos);
  CHECK((*some)[1].stage == "ssa");
  CHECK_FALSE((*some)[1].text.empty());
  auto all = client->Explain(PowGradient());
  REQUIRE(all.ok());
  CHECK(all->size() == 8);
  for (const client::StageText& stage : *all) {
    INFO(stage.stage);
    CHECK_FALSE(stage.text.empty());
  }
}

TEST_CASE("GetServerInfo tells version, back end, limits and load") {
  ServerProcess server({"--threads", "3", "--max-nesting", "50", "--memory-budget", "64MiB"});
  auto client = server.Connect();
  REQUIRE(client->Evaluate(PowGradient(), PowInputs(2, 3)).ok());
  auto info = client->Info();
  REQUIRE(info.ok());
  CHECK_FALSE(info->version.empty());
  CHECK_FALSE(info->build_id.empty());
  CHECK(info->backend == "llvm");
  CHECK_FALSE(info->target.empty());
  CHECK(info->threads == 3);
  CHECK(info->compile_threads == 1);
  CHECK(info->max_nesting == 50);
  CHECK(info->memory_bytes == 64 << 20);
  CHECK(info->max_source_bytes == 1 << 20);
  CHECK(info->kernels >= 1);
  CHECK(info->cache_misses >= 1);
  CHECK(info->uptime_seconds > 0);
}

TEST_CASE("request id and program hash are logged") {
  ServerProcess server({"--log-level", "debug"});
  auto client = server.Connect();
  client::CallOptions call;
  call.request_id = "trace-4711";
  REQUIRE(client->Compile(PowGradient(), call).ok());
  const std::string log = server.log();
  CHECK(log.find("request_id=trace-4711") != std::string::npos);
  CHECK(log.find("program_hash=" + Sha256Hex(kPow)) != std::string::npos);
}

TEST_CASE("calls by kernel_id and streams carry the hash of their program") {
  ServerProcess server({"--log-level", "debug"});
  auto client = server.Connect();
  auto kernel = client->Compile(PowGradient());
  REQUIRE(kernel.ok());
  REQUIRE(kernel->program_hash == Sha256Hex(kPow));
  REQUIRE(client->Evaluate(*kernel, PowInputs(2, 3)).ok());
  client::CallOptions call;
  call.program_hash = kernel->program_hash;
  auto stream = client->OpenStream(call);
  REQUIRE(stream->Send(1, *kernel, PowInputs(2, 3)));
  REQUIRE(stream->Receive());
  CHECK(stream->Finish().ok());
  const std::string log = server.log();
  for (const char* method : {"Evaluate", "EvaluateStream"}) {
    INFO(method << " in " << log);
    const size_t line = log.find("method=" + std::string(method) + " ");
    REQUIRE(line != std::string::npos);
    const std::string rest = log.substr(line, log.find('\n', line) - line);
    CHECK(rest.find("program_hash=" + kernel->program_hash) != std::string::npos);
  }
}

}  // namespace
}  // namespace pullback::test
