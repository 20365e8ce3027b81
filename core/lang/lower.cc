// The module: functions are declared when they are first called and lowered one after the other.
#include "core/ir/count_insts.h"
#include "core/lang/entry.h"
#include "core/lang/lang.h"
#include "core/lang/lower_context.h"
#include "core/lang/lower_derive.h"
#include "core/lang/lower_sizes.h"
#include "core/lang/lower_stmt.h"
#include "core/lang/lower_tidy.h"

namespace pullback::lang {
namespace {

void LowerFunction(ModuleContext& m, uint32_t function) {
  const Function& source = *m.program.functions[function];
  Context c(m, m.Declare(function));
  Activation run{&source, m.bases[function], {}, {}, {}, {}};
  run.locals.resize(source.locals.size());
  c.at = &run;
  c.b.SetBlock(0);
  size_t next = 0;
  for (const Param& p : source.params) {
    for (size_t n = FlatCount(source.locals[p.local].type); n > 0; --n) {
      run.locals[p.local].push_back({c.function.params()[next++], nullptr});
    }
  }
  for (const Param& p : source.params) {
    if (!p.is_size) continue;
    c.small.insert(run.locals[p.local][0].value.id);
    c.sizes.insert(run.locals[p.local][0].value.id);
  }
  const bool is_entry = m.Declare(function) == m.module.entry;
  for (const Value v : c.function.params()) {
    if (!c.b.TypeOf(v).IsArray()) continue;
    c.ReadDims(v);
    if (is_entry) c.given.insert(v.id);
  }
  BindSizes(c);
  const Block* const own = m.levels.BodyOf(m.level, function);
  if (LowerStatements(c, own ? *own : source.body)) {
    PB_CHECK(!source.has_result);  // Check has seen that every path returns a value
    c.b.Return({});
  }
}

Status TooLarge() {
  return Status(Code::kInvalidArgument, "PROGRAM_TOO_LARGE",
                "the program is too large: it lowers to more instructions than are allowed");
}

}  // namespace

uint32_t ModuleContext::Declare(uint32_t f, size_t at_level) {
  const auto [it, added] = ir_ids.try_emplace({at_level, f});
  if (!added) return it->second;
  const Function& source = *program.functions[f];
  const uint32_t id = it->second = module.AddFunction(source.name);
  sources[id] = f;
  ir::Function& function = module.Get(id);
  function.results = Flatten(source.result_type);
  ir::Builder b(module, function);
  b.NewBlock();
  for (const Param& p : source.params) {
    const std::vector<ir::Type> leaves = Flatten(source.locals[p.local].type);
    for (size_t i = 0; i < leaves.size(); ++i) {
      b.AddParam(0, leaves[i], leaves.size() == 1 ? p.name : p.name + "." + std::to_string(i));
    }
  }
  queue.push_back({at_level, f});
  return id;
}

bool ModuleContext::Charge(size_t insts) {
  spent += insts;
  return !IsTooLarge();
}

StatusOr<ir::Module> Lower(const Program& program, const std::string& entry, const Limits& limits) {
  PB_ASSIGN_OR_RETURN(const uint32_t function, FindEntry(program, entry));
  ModuleContext m(program, limits, function);
  m.module.entry = m.Declare(function);
  size_t insts = 0;
  for (size_t next = 0; next < m.queue.size(); ++next) {
    const ModuleContext::Declared declared = m.queue[next];
    m.level = declared.level;
    size_t made = m.module.functions.size();
    LowerFunction(m, declared.function);
    LowerRules(m, declared.function);
    insts += ir::CountInsts(m.module.Get(m.ir_ids.at({declared.level, declared.function})));
    // What it needed beside itself; what it only declared is empty yet.
    for (; made < m.module.functions.size(); ++made) insts += ir::CountInsts(m.module.Get(made));
    if (m.IsTooLarge() || insts > limits.max_ir_insts) return TooLarge();
  }
  Tidy(m.module);
  return std::move(m.module);
}

}  // namespace pullback::lang
