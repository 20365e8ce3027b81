#include "jit/cost.h"

#include <algorithm>
#include <cstdio>
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
  int64_t count = 0;
  for (const Tensor& t : tensors) {
    if (!t.list && IsFloat(t.dtype)) count += t.ElementCount();
    if (!t.list) continue;
    for (const std::vector<Tensor>& record : t.list->records) count += CountFloats(record);
  }
  return count;
}

std::string Ratio(int64_t part, int64_t whole) {
  if (whole == 0) return "null";
  char text[32];
  std::snprintf(text, sizeof(text), "%.4f", static_cast<double>(part) / static_cast<double>(whole));
  return text;
}

// Lists as the interpreter takes them. What a derivative leaves out is zero.
class Rows {
 public:
  Rows(const ListData& data, const ListPlan& plan) : data_(data), plan_(plan), reader_(data) {}

  Tensor Make() { return MakeList(0, reader_.Root()); }

 private:
  Tensor MakeList(uint32_t plan, const ListReader::Rows& rows) {
    auto list = std::make_shared<ListValue>();
    for (int64_t i = 0; i < rows.count; ++i) {
      std::vector<Tensor>& record = list->records.emplace_back();
      for (size_t k = 0; k < plan_.records[plan].leaves.size(); ++k) {
        record.push_back(MakeLeaf(plan, rows.record, k, rows.first + i));
      }
    }
    Tensor t;
    t.list = std::move(list);
    return t;
  }

  Tensor MakeLeaf(uint32_t plan, uint32_t record, size_t k, int64_t row) {
    const ListPlan::Leaf& leaf = plan_.records[plan].leaves[k];
    switch (data_.records[record][k].kind) {
      case ListColumn::Kind::kTensor: return reader_.At(record, k, row);
      case ListColumn::Kind::kList: return MakeList(leaf.record, reader_.Inner(record, k, row));
      case ListColumn::Kind::kNone: break;
    }
    Tensor zero{leaf.type->dtype, std::vector<int64_t>(leaf.type->dims.size()), {}};
    if (leaf.type->is_list) zero.list = std::make_shared<ListValue>();
    if (zero.shape.empty()) zero.data.resize(DTypeSize(zero.dtype));
    return zero;
  }

  const ListData& data_;
  const ListPlan& plan_;
  ListReader reader_;
};

// Parameters, then seeds.
std::vector<Tensor> Copy(const InputLeaves& leaves) {
  std::vector<Tensor> copies;
  for (const auto* tensors : {&leaves.params, &leaves.seeds}) {
    for (const TensorView& t : *tensors) copies.push_back(t.Copy());
  }
  for (const ListInput& l : leaves.lists) copies[l.slot] = Rows(*l.data, l.type->plan).Make();
  return copies;
}

StatusOr<std::string> DescribeRun(const TextView& view, const pipeline::Staged& staged,
                                  const InputLeaves& leaves) {
  const Counter counter(view);
  const std::vector<Tensor> arguments = Copy(leaves);
  const std::vector<Tensor> own(arguments.begin(),
                                arguments.begin() + static_cast<int64_t>(leaves.params.size()));
  const int64_t inputs = CountFloats(own);
  PB_ASSIGN_OR_RETURN(const eval::Result primal, counter.Run(staged.ssa, own));
  const int64_t outputs = CountFloats(primal.values);
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
  PB_RETURN_IF_ERROR(
      CollectInputs(*view, derivation, *inputs, {}, RunLimits().memory_bytes, &leaves));
  return DescribeRun(*view, staged, leaves);
}

StatusOr<std::vector<Tensor>> InterpretFinal(Reading reading, const pipeline::Staged& staged,
                                             const Inputs& inputs) {
  const Derivation derivation = reading.derivation;
  const std::shared_ptr<const TextView> view = MakeView(std::move(reading));
  InputLeaves leaves;
  PB_RETURN_IF_ERROR(
      CollectInputs(*view, derivation, inputs, {}, RunLimits().memory_bytes, &leaves));
  PB_ASSIGN_OR_RETURN(eval::Result result, Counter(*view).Run(staged.final, Copy(leaves)));
  return std::move(result.values);
}

}  // namespace pullback::jit
