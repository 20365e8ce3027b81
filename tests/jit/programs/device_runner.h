// One kernel with its device, for tests: what a run gives, and how often it launched.
#pragma once

#include <catch2/catch.hpp>
#include <memory>
#include <vector>

#include "jit/runtime/device.h"
#include "tests/jit/llvm_support.h"

namespace pullback::testing {

struct DeviceRunner {
  explicit DeviceRunner(const jit::ObjectCode& object, jit::Backend& backend)
      : code(backend.Load(object).value()) {}

  std::vector<Tensor> Run(const ir::Function& entry, const std::vector<Tensor>& args) {
    std::vector<Tensor> keep = args, results;
    std::vector<jit::Array> arrays(args.size());
    std::vector<uint64_t> slots(args.size() + 1), out(entry.results.size() + 1);
    for (size_t i = 0; i < args.size(); ++i) slots[i] = jit::SlotOf(keep[i], &arrays[i]);
    jit::RunContext context;
    std::unique_ptr<jit::DeviceRun> device = code->StartRun(&context).value();
    context.device = device.get();
    if (RunKernel(code->entry(), &context, slots.data(), out.data()) && BringHome(&context)) {
      for (size_t i = 0; i < entry.results.size(); ++i) {
        results.push_back(jit::FromSlot(entry.results[i], out[i]));
      }
    }
    INFO("trap " << context.trap_kind << " at !" << context.trap_loc);
    CHECK(context.trap_kind == 0);
    launches = device->launches();
    context.device = nullptr;
    device.reset();
    jit::ResetContext(&context);
    for (size_t i = 0; i < args.size(); ++i) CHECK(keep[i].data == args[i].data);
    return results;
  }

  std::unique_ptr<jit::LoadedCode> code;
  int64_t launches = 0;
};

}  // namespace pullback::testing
