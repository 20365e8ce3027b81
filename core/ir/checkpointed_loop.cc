#include "core/ir/checkpointed_loop.h"

#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/ir/builder.h"
#include "core/ir/splice.h"

namespace pullback::ir {
namespace {

// (n, s) -> how many of n > 1 steps the first part has, with s > 0 snapshots: with the least r for which
// C(s + r, s) >= n the rest, which has s - 1, is as small as it may be: at least C(s + r - 2, s - 1), and so
// that C(s + r - 1, s) steps are left for the first part.
uint32_t AddSplit(Module& module) {
  const uint32_t target = module.AddFunction("split");
  Builder b(module, module.Get(target));
  b.function().results = {Type::I64()};
  const uint32_t entry = b.NewBlock(), search = b.NewBlock(), next = b.NewBlock(),
                 found = b.NewBlock();
  const auto make = [&](Op op, Value x, Value y) { return b.Make(op, {x, y}); };
  const Value n = b.AddParam(entry, Type::I64(), "n");
  const Value given = b.AddParam(entry, Type::I64(), "snapshots");
  const Value reach = b.AddParam(search, Type::I64(), "reach");  // C(s + r - 1, s)
  const Value r = b.AddParam(search, Type::I64(), "r");
  b.SetBlock(entry);
  const Value s = make(Op::Min, given, n);
  // A single snapshot reaches one step further with every run: no search, which would be longer than
  // the rest is.
  const Value first =
      b.Make(Op::Select, {make(Op::Eq, s, b.I64(1)), make(Op::Sub, n, b.I64(1)), b.I64(1)});
  b.Jump(search, {first, first});
  b.SetBlock(search);
  const Value further = make(Op::Div, make(Op::Mul, reach, make(Op::Add, s, r)), r);  // C(s + r, s)
  b.Branch(make(Op::Lt, further, n), {next, {}}, {found, {}});
  b.SetBlock(next);
  b.Jump(search, {further, make(Op::Add, r, b.I64(1))});
  b.SetBlock(found);
  const Value least = make(Op::Div, make(Op::Mul, reach, s),
                           make(Op::Sub, make(Op::Add, s, r), b.I64(1)));  // C(s + r - 2, s - 1)
  const Value rest = make(Op::Max, least, make(Op::Sub, n, reach));
  b.Return({make(Op::Sub, n, rest)});
  return target;
}

// Writes functions of the loop's signature.
class LoopWriter {
 public:
  LoopWriter(Module& module, uint32_t step, uint32_t target)
      : step_(step), b_(module, module.Get(target)) {
    const Function& body = module.Get(step);
    PB_CHECK(body.params().size() > body.results.size());
    PB_CHECK(body.TypeOf(body.params().back()) == Type::I64());
    b_.NewBlock();
    b_.function().results = body.results;
    for (size_t k = 0; k + 1 < body.params().size(); ++k) {
      const Value v = body.params()[k];
      const bool is_state = k < body.results.size();
      PB_CHECK(!is_state || body.TypeOf(v) == body.results[k]);
      (is_state ? state_ : captured_).push_back(b_.AddParam(0, body.TypeOf(v), body.names[v.id]));
    }
    begin_ = b_.AddParam(0, Type::I64(), "begin");
    end_ = b_.AddParam(0, Type::I64(), "end");
    snapshots_ = b_.AddParam(0, Type::I64(), "snapshots");
  }

  void WritePlain() {
    const uint32_t loop = Declare({"i"});
    b_.SetBlock(0);
    b_.Jump(loop, With(state_, {begin_}));
    WriteSteps(loop);
  }

  // The first part stands in front of the loop over the others: its reverse is the last thing that the
  // reverse does, so that a pullback that ends in a pullback of the first part is a loop.
  void WriteSchedule(uint32_t plain, uint32_t split) {
    const uint32_t steps = Declare({"i"});
    const uint32_t parts = Declare({"at", "left"});
    const uint32_t rest = Declare({"from"});  // both loops have one entry: trip counts, no tags
    const Targets to = {plain, split, rest, parts};
    b_.SetBlock(0);
    WritePart(state_, begin_, snapshots_, to);
    b_.SetBlock(parts);
    const ir::Values params = b_.function().blocks[parts].params;
    WritePart({params.begin(), params.end() - 2}, params.end()[-2], params.back(), to);
    b_.SetBlock(rest);
    b_.Jump(steps, b_.function().blocks[rest].params);
    WriteSteps(steps);
  }

 private:
  struct Targets {
    uint32_t plain, split;  // functions
    uint32_t rest, parts;   // blocks
  };

  Value Make(Op op, Value x, Value y) { return b_.Make(op, {x, y}); }
  static std::vector<Value> With(std::vector<Value> values, const std::vector<Value>& more) {
    values.insert(values.end(), more.begin(), more.end());
    return values;
  }
  // A block that takes the state and integers.
  uint32_t Declare(const std::vector<const char*>& counters) {
    const uint32_t block = b_.NewBlock();
    for (Value v : state_) b_.AddParam(block, b_.TypeOf(v), b_.function().names[v.id]);
    for (const char* name : counters) b_.AddParam(block, Type::I64(), name);
    return block;
  }

  // The steps from i on, as they are: the reverse keeps what it needs of each.
  void WriteSteps(uint32_t loop) {
    const uint32_t body = b_.NewBlock(), done = b_.NewBlock();
    const ir::Values params = b_.function().blocks[loop].params;
    const std::vector<Value> state(params.begin(), params.end() - 1);
    b_.SetBlock(loop);
    b_.Branch(Make(Op::Lt, params.back(), end_), {body, {}}, {done, {}});
    b_.SetBlock(body);
    std::vector<Value> next = b_.Call(step_, With(With(state, captured_), {params.back()}));
    b_.Jump(loop, With(std::move(next), {Make(Op::Add, params.back(), b_.I64(1))}));
    b_.SetBlock(done);
    b_.Return(state);
    // The step's text, however large it is: a call would have shares of cotangents of its own.
    SpliceDirectly(b_.function(), body, 0, b_.module().Get(step_));
  }

  // In the current block: a part of the steps from `at` on, of which its state is kept, and on to the next;
  // or the rest as it is, where it is one step or no snapshots are left.
  void WritePart(const std::vector<Value>& state, Value at, Value left, const Targets& to) {
    const uint32_t part = b_.NewBlock();
    const Value n = Make(Op::Sub, end_, at);
    const Value more = Make(Op::And, Make(Op::Gt, n, b_.I64(1)), Make(Op::Gt, left, b_.I64(0)));
    b_.Branch(more, {part, {}}, {to.rest, With(state, {at})});
    b_.SetBlock(part);
    const Value middle = Make(Op::Add, at, b_.Call(to.split, {n, left})[0]);
    std::vector<Value> next =
        b_.Call(to.plain, With(With(state, captured_), {at, middle, left}), true);
    b_.Jump(to.parts, With(std::move(next), {middle, Make(Op::Sub, left, b_.I64(1))}));
  }

  uint32_t step_;
  Builder b_;
  std::vector<Value> state_, captured_;
  Value begin_, end_, snapshots_;
};

std::vector<Type> ParamTypes(const Function& f) {
  std::vector<Type> types;
  for (Value v : f.params()) types.push_back(f.TypeOf(v));
  return types;
}

}  // namespace

uint32_t AddCheckpointedLoop(Module& module, uint32_t step) {
  const std::string name = module.Get(step).name;
  const uint32_t plain = module.AddFunction(name + ".loop");
  const uint32_t schedule = module.AddFunction(name + ".schedule");
  LoopWriter(module, step, plain).WritePlain();
  LoopWriter(module, step, schedule).WriteSchedule(plain, AddSplit(module));
  module.Get(plain).vjp_rule = schedule;
  return plain;
}

uint32_t ScheduleOf(const Module& module, uint32_t f) {
  const Function& from = module.Get(f);
  if (from.vjp_rule == kNoFunction) return kNoFunction;
  const Function& rule = module.Get(from.vjp_rule);
  const bool same = rule.results == from.results && ParamTypes(rule) == ParamTypes(from);
  return same ? from.vjp_rule : kNoFunction;
}

}  // namespace pullback::ir
