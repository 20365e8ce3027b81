#include "jit/cost.h"

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <vector>

#include "core/eval/interpreter.h"
#include "jit/arguments.h"
#include "jit/leaves.h"
#include "jit/size_plan.h"
#include "jit/trap.h"

namespace pullback::jit {
namespace {

// The interpreter is slow and for people's small examples.
constexpr int64_t kMaxSteps = 20'000'000;
constexpr int64_t kMaxBytes = int64_t{1} << 30;

using Row = std::vector<std::pair<const char*, int64_t>>;

// "name": {"a": 1, "b": 2},
std::string Line(const char* name, const Row& row) {
  std::string line = std::string("  \"") + name + "\": {";
  for (size_t i = 0; i < row.size(); ++i) {
    line += std::string(i == 0 ? "" : ", ") + '"' + row[i].first +
            "\": " + std::to_string(row[i].second);
  }
  return line + "},\n";
}

// ---- as written

struct Counts {
  int64_t instructions = 0, float_ops = 0, statements = 0, calls = 0, tape_ops = 0;

  void Add(const ir::Function& f, const ir::Inst& inst);
  void Add(const ir::Function& f, const std::vector<ir::Inst>& insts) {
    for (const ir::Inst& inst : insts) Add(f, inst);
  }
};

bool IsFloatOp(const ir::Function& f, const ir::Inst& inst) {
  const ir::TypeRule rule = ir::Info(inst.op).rule;
  const bool arithmetic = rule == ir::TypeRule::Float || rule == ir::TypeRule::Num;
  return arithmetic && inst.results.size() == 1 && f.TypeOf(inst.results[0]).IsFloat();
}

void Counts::Add(const ir::Function& f, const ir::Inst& inst) {
  ++instructions;
  float_ops += IsFloatOp(f, inst);
  calls += inst.op == ir::Op::Call;
  tape_ops += inst.op == ir::Op::Push || inst.op == ir::Op::Pop;
  if (!inst.each) return;
  ++statements;
  Add(f, inst.each->body);
}

Row CountModule(const ir::Module& module) {
  Counts c;
  int64_t blocks = 0;
  for (const auto& f : module.functions) {
    blocks += static_cast<int64_t>(f->blocks.size());
    for (const ir::Block& block : f->blocks) c.Add(*f, block.insts);
  }
  return {{"functions", static_cast<int64_t>(module.functions.size())},
          {"blocks", blocks},
          {"instructions", c.instructions},
          {"float_ops", c.float_ops},
          {"statements", c.statements},
          {"calls", c.calls},
          {"tape_ops", c.tape_ops}};
}

std::string DescribeStatic(const pipeline::Staged& staged) {
  return "{\n  \"counted\": \"as written\",\n" + Line("primal", CountModule(staged.ssa)) +
         Line("adjoint", CountModule(staged.adjoint)) + Line("final", CountModule(staged.final)) +
         "  \"unit\": \"instructions\"\n}\n";
}

// ---- as run

class Counter {
 public:
  explicit Counter(const TextView& view) : view_(view) {}

  StatusOr<eval::Result> Run(const ir::Module& module, const std::vector<Tensor>& arguments) const {
    eval::Limits limits;
    limits.max_steps = kMaxSteps;
    limits.max_bytes = kMaxBytes;
    PB_ASSIGN_OR_RETURN(eval::Result result, eval::Run(module, arguments, limits));
    if (!result.trap) return result;
    const eval::Trap& t = *result.trap;
    return TrapStatus({t.kind, t.loc, t.a, t.b}, {view_.places, view_.text});
  }

 private:
  const TextView& view_;
};

Row CostRow(const eval::Cost& cost) {
  return {{"ops", cost.ops},
          {"steps", cost.steps},
          {"array_bytes", cost.array_bytes},
          {"peak_tape", cost.peak_tape}};
}

int64_t CountFloats(const std::vector<Tensor>& tensors) {
  return std::accumulate(
      tensors.begin(), tensors.end(), int64_t{0},
      [](int64_t n, const Tensor& t) { return n + (IsFloat(t.dtype) ? t.ElementCount() : 0); });
}

std::string Ratio(int64_t part, int64_t whole) {
  if (whole == 0) return "null";
  char text[32];
  std::snprintf(text, sizeof(text), "%.4f", static_cast<double>(part) / static_cast<double>(whole));
  return text;
}

std::vector<Tensor> Copy(const std::vector<const Tensor*>& tensors) {
  std::vector<Tensor> copies;
  for (const Tensor* t : tensors) copies.push_back(*t);
  return copies;
}

StatusOr<std::string> DescribeRun(const TextView& view, const pipeline::Staged& staged,
                                  const InputLeaves& leaves) {
  const Counter counter(view);
  std::vector<Tensor> arguments = Copy(leaves.params);
  const int64_t inputs = CountFloats(arguments);
  PB_ASSIGN_OR_RETURN(const eval::Result primal, counter.Run(staged.ssa, arguments));
  const int64_t outputs = CountFloats(primal.values);
  for (const Tensor* seed : leaves.seeds) arguments.push_back(*seed);
  PB_ASSIGN_OR_RETURN(const eval::Result adjoint, counter.Run(staged.adjoint, arguments));
  PB_ASSIGN_OR_RETURN(const eval::Result final, counter.Run(staged.final, arguments));
  const int64_t bound = 4 * (primal.cost.ops + inputs + outputs);
  return "{\n  \"counted\": \"by running\",\n" + Line("primal", CostRow(primal.cost)) +
         Line("adjoint", CostRow(adjoint.cost)) + Line("final", CostRow(final.cost)) +
         "  \"inputs\": " + std::to_string(inputs) +
         ",\n  \"outputs\": " + std::to_string(outputs) +
         ",\n  \"bound\": " + std::to_string(bound) +
         ",\n  \"ratio\": " + Ratio(final.cost.ops, bound) + "\n}\n";
}

}  // namespace

StatusOr<std::string> DescribeCost(Reading reading, const pipeline::Staged& staged,
                                   const Inputs* inputs) {
  if (inputs == nullptr) return DescribeStatic(staged);
  const Derivation derivation = reading.derivation;
  const std::shared_ptr<const TextView> view = MakeView(std::move(reading));
  InputLeaves leaves;
  PB_RETURN_IF_ERROR(CollectInputs(*view, derivation, *inputs, &leaves));
  return DescribeRun(*view, staged, leaves);
}

}  // namespace pullback::jit
