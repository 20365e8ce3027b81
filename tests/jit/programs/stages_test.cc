// Every stage of the examples prints, and the IR stages, parsed back, give the same bits.
#include <catch2/catch.hpp>
#include <map>

#include "core/ir/printer.h"
#include "jit/engine.h"
#include "jit/llvm/llvm_backend.h"
#include "tests/jit/programs/compiled.h"
#include "tests/support/derivatives.h"
#include "tests/support/paths.h"

namespace pullback::testing {
namespace {

using pipeline::Transform;

struct Example {
  const char* file;
  const char* entry;
  Transform transform;
  std::vector<Tensor> args;  // with seeds
};

Tensor Ints(const std::vector<int64_t>& v) {
  return Tensor::Of<int64_t>(DType::kI64, {static_cast<int64_t>(v.size())}, v);
}

std::vector<Example> Examples() {
  const std::vector<Tensor> network = {Mat(3, 2, {0.1, -0.2, 0.3, 0.4, -0.5, 0.6}),
                                       Vec({0.1, 0.2}),
                                       Mat(2, 2, {1, -1, 0.5, 0.25}),
                                       Vec({0, 0.3}),
                                       Mat(4, 3, {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 0, 1}),
                                       Ints({0, 1, 1, 0})};
  return {
      {"docs/examples/pow.pull", "pow", Transform::kValueAndGrad, {Tensor::F64(2), Tensor::I64(3)}},
      {"docs/examples/leaky.pull", "leaky", Transform::kValueAndGrad, {Tensor::F64(-2)}},
      {"docs/examples/conv.pull",
       "conv",
       Transform::kVjp,
       {Vec({1, 2, 3, 4}), Vec({0.5, -1}), Vec({1, 1, 2})}},
      {"docs/examples/diag.pull",
       "ktrace",
       Transform::kValueAndGrad,
       {Tensor::F64(3), Vec({1, 2, 3})}},
      {"deploy/digits/digits.pull", "digits_loss", Transform::kValueAndGrad, network},
  };
}

jit::Engine& SharedEngine() {
  static jit::Engine engine(jit::EngineOptions(), jit::MakeLlvmBackend().value());
  return engine;
}

// Printed, parsed and printed: the same text; run: the same bits.
void CheckReadsBack(const ir::Module& module, const std::string& text,
                    const std::vector<Tensor>& args) {
  CHECK(ir::Print(module) == text);
  const ir::Module again = ParseIr(text);
  CHECK(ir::Print(again) == text);
  const std::vector<Tensor> before = RunOk(module, args), after = RunOk(again, args);
  REQUIRE(before.size() == after.size());
  for (size_t k = 0; k < before.size(); ++k) CHECK(before[k].data == after[k].data);
}

TEST_CASE("the examples print every stage, and the IR stages read back") {
  for (const Example& e : Examples()) {
    SECTION(e.file) {
      const std::string program = ReadSourceFile(e.file);
      const jit::KernelRequest request{program, e.entry, e.transform, {}, {}};
      std::map<std::string, std::string> text;
      for (const char* stage :
           {"ast", "ssa", "adjoint", "normal", "loops", "llvm", "asm", "cost"}) {
        const auto made = SharedEngine().Explain(request, stage);
        INFO(stage << ": " << made.status().ToString());
        REQUIRE(made.ok());
        CHECK(made->size() > 20);
        text[stage] = *made;
      }
      // The engine differentiates by every parameter that has a float.
      const ir::Module lowered = LowerText(program, e.entry);
      const std::vector<bool> wrt(lowered.Get(lowered.entry).params().size(), true);
      auto staged = pipeline::Derive(lowered, e.transform, wrt, {});
      REQUIRE(staged.ok());
      CheckReadsBack(staged->final, text["normal"], e.args);
      CheckReadsBack(staged->adjoint, text["adjoint"], e.args);
      const std::vector<Tensor> primal(e.args.begin(),
                                       e.args.begin() + static_cast<long>(wrt.size()));
      CheckReadsBack(staged->ssa, text["ssa"], primal);
      CheckBitwise(ParseIr(text["normal"]), e.args);
    }
  }
}

}  // namespace
}  // namespace pullback::testing
