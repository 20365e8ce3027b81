#include "core/ir/checkpointed_loop.h"

#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/ir/builder.h"

namespace pullback::ir {
namespace {

class LoopWriter {
 public:
  LoopWriter(Module& module, uint32_t step, uint32_t target)
      : step_(step), target_(target), b_(module, module.Get(target)) {
    const Function& body = module.Get(step);
    PB_CHECK(body.params().size() > body.results.size());
    PB_CHECK(body.TypeOf(body.params().back()) == Type::I64());
    b_.NewBlock();
    b_.function().results = body.results;
    for (size_t k = 0; k + 1 < body.params().size(); ++k) {
      const Value v = body.params()[k];
      const bool is_state = k < body.results.size();
      PB_CHECK(!is_state || body.TypeOf(v) == body.results[k]);
      (is_state ? state_ : captured_)
          .push_back(b_.AddParam(0, body.TypeOf(v), body.values[v.id].name));
    }
    begin_ = b_.AddParam(0, Type::I64(), "begin");
    end_ = b_.AddParam(0, Type::I64(), "end");
    snapshots_ = b_.AddParam(0, Type::I64(), "snapshots");
  }

  void Write() {
    const uint32_t plain = b_.NewBlock(), few = b_.NewBlock(), some = b_.NewBlock(),
                   single = b_.NewBlock(), split = b_.NewBlock();
    DeclareLoop(plain);
    DeclareLoop(single);
    b_.SetBlock(0);
    const Value n = Make(Op::Sub, end_, begin_);
    b_.Branch(Make(Op::Le, n, b_.I64(1)), {plain, With(state_, begin_)}, {few, {}});
    b_.SetBlock(few);
    b_.Branch(Make(Op::Le, snapshots_, b_.I64(0)), {plain, With(state_, begin_)}, {some, {}});
    b_.SetBlock(some);
    b_.Branch(Make(Op::Ge, snapshots_, Make(Op::Sub, n, b_.I64(1))), {single, With(state_, begin_)},
              {split, {}});
    WritePlain(plain);
    WriteSingle(single, plain);
    WriteSplit(split, n);
  }

 private:
  Value Make(Op op, Value x, Value y) { return b_.Make(op, {x, y}); }
  static std::vector<Value> With(std::vector<Value> values, Value more) {
    values.push_back(more);
    return values;
  }
  void DeclareLoop(uint32_t block) {
    for (Value v : state_) b_.AddParam(block, b_.TypeOf(v), b_.function().values[v.id].name);
    b_.AddParam(block, Type::I64(), "i");
  }
  std::vector<Value> StateOf(uint32_t block) {
    const std::vector<Value>& params = b_.function().blocks[block].params;
    return {params.begin(), params.end() - 1};
  }
  Value CounterOf(uint32_t block) { return b_.function().blocks[block].params.back(); }

  std::vector<Value> Step(uint32_t header, bool checkpoint) {
    std::vector<Value> args = StateOf(header);
    args.insert(args.end(), captured_.begin(), captured_.end());
    args.push_back(CounterOf(header));
    return b_.Call(step_, std::move(args), checkpoint);
  }
  std::vector<Value> Steps(std::vector<Value> state, Value from, Value to, Value snapshots,
                           bool checkpoint) {
    state.insert(state.end(), captured_.begin(), captured_.end());
    for (Value v : {from, to, snapshots}) state.push_back(v);
    return b_.Call(target_, std::move(state), checkpoint);
  }
  void Loop(uint32_t header, uint32_t body, bool checkpoint) {
    b_.SetBlock(body);
    std::vector<Value> next = Step(header, checkpoint);
    b_.Jump(header, With(std::move(next), Make(Op::Add, CounterOf(header), b_.I64(1))));
  }

  // The steps as they are: the reverse keeps what it needs of each.
  void WritePlain(uint32_t plain) {
    const uint32_t body = b_.NewBlock(), done = b_.NewBlock();
    b_.SetBlock(plain);
    b_.Branch(Make(Op::Lt, CounterOf(plain), end_), {body, {}}, {done, {}});
    Loop(plain, body, false);
    b_.SetBlock(done);
    b_.Return(StateOf(plain));
  }

  // A snapshot for every step but the last, which needs none.
  void WriteSingle(uint32_t single, uint32_t plain) {
    const uint32_t body = b_.NewBlock(), last = b_.NewBlock();
    b_.SetBlock(single);
    b_.Branch(Make(Op::Lt, CounterOf(single), Make(Op::Sub, end_, b_.I64(1))), {body, {}},
              {last, {}});
    Loop(single, body, true);
    b_.SetBlock(last);
    b_.Jump(plain, With(StateOf(single), CounterOf(single)));
  }

  // With s snapshots: the least r with C(s + r, s) >= n. The rest, which has s - 1, is as small as it may
  // be: at least C(s + r - 2, s - 1), and so that C(s + r - 1, s) steps are left for the first part.
  void WriteSplit(uint32_t split, Value n) {
    const uint32_t search = b_.NewBlock(), next = b_.NewBlock(), found = b_.NewBlock();
    const Value reach = b_.AddParam(search, Type::I64(), "reach");  // C(s + r - 1, s)
    const Value r = b_.AddParam(search, Type::I64(), "r");
    b_.SetBlock(split);
    // A single snapshot reaches one step further with every run: no search, which would be longer than
    // the rest is.
    const Value first = b_.Make(
        Op::Select, {Make(Op::Eq, snapshots_, b_.I64(1)), Make(Op::Sub, n, b_.I64(1)), b_.I64(1)});
    b_.Jump(search, {first, first});
    b_.SetBlock(search);
    const Value further =
        Make(Op::Div, Make(Op::Mul, reach, Make(Op::Add, snapshots_, r)), r);  // C(s + r, s)
    b_.Branch(Make(Op::Lt, further, n), {next, {}}, {found, {}});
    b_.SetBlock(next);
    b_.Jump(search, {further, Make(Op::Add, r, b_.I64(1))});
    b_.SetBlock(found);
    const Value least =
        Make(Op::Div, Make(Op::Mul, reach, snapshots_),
             Make(Op::Sub, Make(Op::Add, snapshots_, r), b_.I64(1)));  // C(s + r - 2, s - 1)
    const Value rest = Make(Op::Max, least, Make(Op::Sub, n, reach));
    const Value middle = Make(Op::Sub, end_, rest);
    std::vector<Value> state = Steps(state_, begin_, middle, snapshots_, true);
    b_.Return(Steps(std::move(state), middle, end_, Make(Op::Sub, snapshots_, b_.I64(1)), false));
  }

  uint32_t step_, target_;
  Builder b_;
  std::vector<Value> state_, captured_;
  Value begin_, end_, snapshots_;
};

}  // namespace

uint32_t AddCheckpointedLoop(Module& module, uint32_t step) {
  const uint32_t target = module.AddFunction(module.Get(step).name + ".loop");
  LoopWriter(module, step, target).Write();
  return target;
}

}  // namespace pullback::ir
