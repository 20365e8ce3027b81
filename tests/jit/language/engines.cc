#include "tests/jit/language/engines.h"

#include "core/eval/interpreter.h"
#include "core/eval/scalar_ops.h"
#include "core/ir/builder.h"
#include "core/loops/lower.h"
#include "jit/runtime/blas.h"
#include "tests/jit/llvm_support.h"
#include "tests/support/values.h"

namespace pullback::testing {
namespace {

struct Failure {
  std::string text;
};

template <typename T>
T Ok(StatusOr<T> value, const std::string& what) {
  if (!value.ok()) throw Failure{what + ": " + value.status().ToString()};
  return std::move(value).value();
}

// The module with an entry around its own that takes and gives no lists: it makes them of their leaves,
// and takes apart what comes, which has the lengths of what is expected.
class Plain {
 public:
  Plain(const ir::Module& final, const std::vector<Tensor>& args,
        const std::vector<Tensor>& expected)
      : module(final.Clone()) {
    const uint32_t inner = module.entry;
    module.entry = module.AddFunction("plain");
    ir::Builder b(module, module.Get(module.entry));
    b_ = &b;
    b.NewBlock();
    b.SetBlock(0);
    const ir::Values params = module.Get(inner).params();
    std::vector<ir::Value> values, results;
    for (size_t i = 0; i < args.size(); ++i)
      values.push_back(Make(args[i], module.Get(inner).TypeOf(params[i])));
    results = b.Call(inner, values);
    for (size_t i = 0; i < results.size(); ++i) Give(results[i], expected[i]);
    for (ir::Value v : given_) b.function().results.push_back(b.TypeOf(v));
    b.Return(given_);
  }

  ir::Module module;
  std::vector<Tensor> args, expected;

 private:
  ir::Value Make(const Tensor& t, ir::Type type) {
    if (!t.list) {
      args.push_back(t);
      return b_->AddParam(0, type);
    }
    ir::Value list = b_->ListNew(type.record);
    for (const std::vector<Tensor>& record : t.list->records) {
      std::vector<ir::Value> fields;
      for (size_t k = 0; k < record.size(); ++k)
        fields.push_back(Make(record[k], module.FieldsOf(type)[k]));
      list = b_->ListPush(list, fields);
    }
    return list;
  }

  void Give(ir::Value v, const Tensor& t) {
    if (!t.list) {
      expected.push_back(t);
      given_.push_back(v);
      return;
    }
    const auto size = static_cast<int64_t>(t.list->records.size());
    expected.push_back(Tensor::I64(size));
    given_.push_back(b_->ListLen(v));
    for (int64_t i = 0; i < size; ++i) {
      const std::vector<ir::Value> fields = b_->ListGet(v, b_->I64(i));
      for (size_t k = 0; k < fields.size(); ++k)
        Give(fields[k], t.list->records[static_cast<size_t>(i)][k]);
    }
  }

  ir::Builder* b_ = nullptr;
  std::vector<ir::Value> given_;
};

void MustBe(const std::vector<Tensor>& got, const std::vector<Tensor>& expected,
            const std::string& engine) {
  if (got.size() != expected.size()) throw Failure{engine + ": number of results"};
  for (size_t k = 0; k < got.size(); ++k) {
    if (!SameBits(jit::Canonical(got[k]), jit::Canonical(expected[k])))
      throw Failure{engine + ": result " + std::to_string(k) + " has other bits"};
  }
}

// jit::TestKernel's checks belong to the thread of the test.
std::vector<Tensor> RunNative(const loops::Module& module, const std::vector<Tensor>& args,
                              int level, const std::string& engine, const jit::Blas* blas) {
  const jit::ObjectCode object =
      Ok(jit::BackendForTests(level).Compile(module, jit::OptionsForTests(level)), engine);
  const auto code = Ok(jit::BackendForTests(level).Load(object), engine);
  const std::vector<ir::Type>& types = module.functions[module.entry]->results;
  std::vector<Tensor> keep = args;
  std::vector<jit::Array> arrays(args.size());
  std::vector<uint64_t> slots(args.size() + 1), out(types.size() + 1);
  for (size_t i = 0; i < args.size(); ++i) slots[i] = jit::SlotOf(keep[i], &arrays[i]);
  jit::RunContext context;
  context.blas = blas;
  std::vector<Tensor> results;
  if (RunKernel(code->entry(), &context, slots.data(), out.data())) {
    for (size_t i = 0; i < types.size(); ++i) results.push_back(jit::FromSlot(types[i], out[i]));
  }
  const int trap = context.trap_kind;
  jit::ResetContext(&context);
  if (trap != 0) throw Failure{engine + ": trap " + std::to_string(trap)};
  for (size_t i = 0; i < args.size(); ++i) {
    if (!SameBits(keep[i], args[i])) throw Failure{engine + ": an argument was written to"};
  }
  return results;
}

// Where a library takes every contraction, however small, all tiers have its bits. Loops without contractions are
// the exact ones, which were compared already; to compile them again would be most of the time.
void CheckContractions(const Plain& plain, const loops::Module& exact,
                       const std::vector<int>& levels) {
  static const jit::Blas blas = [] {
    jit::Blas eager = *Ok(jit::LoadBlas(), "library");
    eager.least = {1, 1};
    return eager;
  }();
  const loops::Module loops =
      Ok(loops::LowerToLoops(plain.module, {true, false, false, true}), "loops");
  if (loops::Print(loops) == loops::Print(exact)) return;
  std::vector<Tensor> first;
  for (size_t k = 0; k < levels.size(); ++k) {
    const std::string engine = std::string(jit::TierName(levels[k])) + " with a library";
    std::vector<Tensor> got = RunNative(loops, plain.args, levels[k], engine, &blas);
    if (k == 0)
      first = std::move(got);
    else
      MustBe(got, first, engine);
  }
}

}  // namespace

std::string EnginesDiffer(const ir::Module& final, const std::vector<Tensor>& args,
                          const std::vector<int>& levels) {
  try {
    const eval::Result reference = Ok(eval::Run(final, args), "reference");
    if (reference.trap) throw Failure{"reference: trap"};
    const Plain plain(final, args, reference.values);
    const loops::Module loops =
        Ok(loops::LowerToLoops(plain.module, {false, false, false, true}), "loops");
    const loops::Outcome outcome =
        Ok(loops::Interpret(loops, plain.args, {eval::EvalScalar, eval::EvalCast}), "loops");
    if (outcome.trap) throw Failure{"loops: trap"};
    MustBe(outcome.values, plain.expected, "loops");
    for (const int level : levels) {
      const std::string engine = jit::TierName(level);
      MustBe(RunNative(loops, plain.args, level, engine, nullptr), plain.expected, engine);
    }
    CheckContractions(plain, loops, levels);
  } catch (const Failure& f) {
    return f.text;
  }
  return {};
}

}  // namespace pullback::testing
