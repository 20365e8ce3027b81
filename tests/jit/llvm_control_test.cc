// Blocks, loops, branches, calls, traps and stops.
#include <chrono>
#include <thread>

#include "core/base/work.h"
#include "tests/jit/llvm_support.h"

namespace pullback::jit {
namespace {

using ir::Op;
using ir::TrapKind;
using ir::Type;
using loops::FunctionBuilder;
using loops::Module;
using loops::Reg;

const Type kF = Type::F64();
const Type kI = Type::I64();

// fn pow(x, n) { r = 1; while n > 0 { n = n - 1; r = r * x } return r }
Module PowModule() {
  Module module;
  FunctionBuilder f(module, {kF, kI}, {kF});
  const uint32_t head = f.NewBlock(), body = f.NewBlock(), done = f.NewBlock();
  const Reg n = f.Param(head, kI), r = f.Param(head, kF);
  f.SetBlock(0);
  f.Jump(head, {f.param(1), f.F64(1)});
  f.SetBlock(head);
  f.Branch(f.Compare(Op::Gt, n, f.I64(0)), {body, {}}, {done, {}});
  f.SetBlock(body);
  const Reg less = f.Op(Op::Sub, {n, f.I64(1)});
  f.Jump(head, {less, f.Op(Op::Mul, {r, f.param(0)})});
  f.SetBlock(done);
  f.Return({r});
  return module;
}

TEST_CASE("A loop of blocks", "[llvm]") {
  std::vector<std::vector<Tensor>> inputs;
  for (const int64_t n : {-1, 0, 1, 2, 10, 1000}) {
    inputs.push_back({Tensor::F64(1.0001), Tensor::I64(n)});
  }
  CheckSame(PowModule(), inputs);
}

TEST_CASE("Block arguments are parallel copies, and both edges may go to one block", "[llvm]") {
  Module module;
  FunctionBuilder f(module, {kI, kI, kI}, {kI, kI});
  const uint32_t head = f.NewBlock(), body = f.NewBlock(), done = f.NewBlock();
  const Reg n = f.Param(head, kI), x = f.Param(head, kI), y = f.Param(head, kI);
  const Reg p = f.Param(done, kI), q = f.Param(done, kI);
  f.SetBlock(0);
  f.Jump(head, {f.param(0), f.param(1), f.param(2)});
  f.SetBlock(head);
  f.Branch(f.Compare(Op::Gt, n, f.I64(0)), {body, {}}, {done, {x, y}});
  f.SetBlock(body);  // swaps; leaves early with swapped values when n is 100
  const Reg less = f.Op(Op::Sub, {n, f.I64(1)});
  f.Branch(f.Compare(Op::Eq, n, f.I64(100)), {done, {y, x}}, {head, {less, y, x}});
  f.SetBlock(done);
  const uint32_t same = f.NewBlock();
  const Reg r = f.Param(same, kI), s = f.Param(same, kI);
  f.SetBlock(done);
  f.Branch(f.Compare(Op::Lt, p, q), {same, {p, q}}, {same, {q, p}});
  f.SetBlock(same);
  f.Return({r, s});
  std::vector<std::vector<Tensor>> inputs;
  for (const int64_t k : {0, 1, 2, 7, 100, 101, 150}) {
    inputs.push_back({Tensor::I64(k), Tensor::I64(3), Tensor::I64(5)});
    inputs.push_back({Tensor::I64(k), Tensor::I64(5), Tensor::I64(3)});
  }
  CheckSame(module, inputs);
}

TEST_CASE("Irreducible blocks", "[llvm]") {
  Module module;
  FunctionBuilder f(module, {kI}, {kI});
  const uint32_t a = f.NewBlock(), b = f.NewBlock(), done = f.NewBlock(),
                 unreachable = f.NewBlock();
  const Reg x = f.Param(a, kI), y = f.Param(b, kI), z = f.Param(done, kI);
  f.SetBlock(0);
  f.Branch(f.Compare(Op::Lt, f.param(0), f.I64(0)), {a, {f.param(0)}}, {b, {f.param(0)}});
  f.SetBlock(a);
  f.Branch(f.Compare(Op::Gt, x, f.I64(50)), {done, {x}}, {b, {f.Op(Op::Add, {x, f.I64(7)})}});
  f.SetBlock(b);
  f.Branch(f.Compare(Op::Gt, y, f.I64(60)), {done, {y}}, {a, {f.Op(Op::Add, {y, f.I64(5)})}});
  f.SetBlock(done);
  f.Return({z});
  f.SetBlock(unreachable);
  f.Jump(done, {f.I64(1)});
  CheckSame(module, {{Tensor::I64(-20)}, {Tensor::I64(0)}, {Tensor::I64(55)}, {Tensor::I64(90)}});
}

TEST_CASE("Calls return several results; recursion computes", "[llvm]") {
  Module module;
  FunctionBuilder entry(module, {kI}, {kI, kI});
  FunctionBuilder fib(module, {kI}, {kI, kI});  // n -> fib(n), calls made
  entry.Return(entry.Call(fib.index(), {entry.param(0)}, {kI, kI}));
  const uint32_t small = fib.NewBlock(), large = fib.NewBlock();
  fib.SetBlock(0);
  fib.Branch(fib.Compare(Op::Lt, fib.param(0), fib.I64(2)), {small, {}}, {large, {}});
  fib.SetBlock(small);
  fib.Return({fib.param(0), fib.I64(1)});
  fib.SetBlock(large);
  const auto one = fib.Call(fib.index(), {fib.Op(Op::Sub, {fib.param(0), fib.I64(1)})}, {kI, kI});
  const auto two = fib.Call(fib.index(), {fib.Op(Op::Sub, {fib.param(0), fib.I64(2)})}, {kI, kI});
  const Reg calls = fib.Op(Op::Add, {one[1], two[1]});
  fib.Return({fib.Op(Op::Add, {one[0], two[0]}), fib.Op(Op::Add, {calls, fib.I64(1)})});
  CheckSame(module, {{Tensor::I64(0)}, {Tensor::I64(1)}, {Tensor::I64(15)}});
}

TEST_CASE("Branches yield scalars, arrays and tapes", "[llvm]") {
  Module module;
  const Type a = Type::Array(DType::kF64, 1);
  FunctionBuilder f(module, {Type::Bool(), a}, {kF, a, kF});
  const Reg x = f.param(1);
  const Reg tape = f.Push(f.TapeNew(), f.F64(1.5));
  const auto out = f.If(
      f.param(0), {kF, a, Type::Tape()},
      [&] {
        const Reg v = f.Load(x, f.I64(0));
        return std::vector<Reg>{v, x, f.Push(tape, v)};
      },
      [&] {
        const Reg y = f.Unique(x);
        f.Store(y, f.I64(1), f.F64(7));
        return std::vector<Reg>{f.Load(y, f.I64(1)), y, tape};
      });
  const auto [rest, top] = f.Pop(out[2], kF);
  f.Release(rest);
  f.Return({out[0], out[1], top});
  const Tensor v = Tensor::Of<double>(DType::kF64, {3}, {1, 2, 3});
  CheckSame(module, {{Tensor::Bool(true), v}, {Tensor::Bool(false), v}});
}

// y[i] = x[i] * i, over an index that does not begin at 0, longer than a slice between two polls.
TEST_CASE("Long loops run in slices", "[llvm]") {
  Module module;
  const Type a = Type::Array(DType::kF64, 1);
  FunctionBuilder f(module, {a, kI}, {a});
  const Reg n = f.Dim(f.param(0), 0);
  const Reg y = f.Alloc(DType::kF64, {n}, true);
  f.For(f.param(1), n, [&](Reg i) {
    const Reg scale = f.Scalar(Op::Cast, kF, {i});
    f.Store(y, i, f.Op(Op::Mul, {f.Load(f.param(0), i), scale}));
  });
  f.Release(f.param(0));
  f.Return({y});
  std::vector<std::vector<Tensor>> inputs;
  for (const int64_t size : {0, 1, 5, 16383, 16384, 16385, 50000}) {
    std::vector<double> x(static_cast<size_t>(size));
    for (size_t i = 0; i < x.size(); ++i) x[i] = 1.0 / static_cast<double>(i + 1);
    for (const int64_t lo : {0, 3, 16384}) {
      inputs.push_back({Tensor::Of(DType::kF64, {size}, x), Tensor::I64(lo)});
    }
  }
  CheckSame(module, inputs);
}

TEST_CASE("Bounds at the ends of the integers", "[llvm]") {
  Module module;
  FunctionBuilder f(module, {kI, kI}, {kI});
  const Reg total = f.Alloc(DType::kI64, {f.I64(1)}, true);
  f.For(f.param(0), f.param(1),
        [&](Reg i) { f.Store(total, f.I64(0), f.Op(Op::Add, {f.Load(total, f.I64(0)), i})); });
  const Reg v = f.Load(total, f.I64(0));
  f.Release(total);
  f.Return({v});
  CheckSame(module, {{Tensor::I64(INT64_MAX - 3), Tensor::I64(INT64_MAX)},
                     {Tensor::I64(INT64_MIN), Tensor::I64(INT64_MIN + 20000)},
                     {Tensor::I64(5), Tensor::I64(INT64_MIN)},
                     {Tensor::I64(-3), Tensor::I64(4)}});
}

TEST_CASE("Traps carry kind, place and details", "[llvm]") {
  for (const TrapKind kind : {TrapKind::kIndex, TrapKind::kDivideByZero, TrapKind::kNegativeSize,
                              TrapKind::kSizeMismatch, TrapKind::kMemory}) {
    Module module;
    FunctionBuilder f(module, {kI}, {kI});
    f.Check(f.Compare(Op::Lt, f.param(0), f.I64(10)), kind, 33, {f.param(0), f.I64(10)});
    f.Check(f.Compare(Op::Ge, f.param(0), f.I64(0)), kind, 34, {f.param(0)});
    f.Check(f.Compare(Op::Ne, f.param(0), f.I64(5)), kind, 35);
    f.Return({f.param(0)});
    std::vector<std::vector<Tensor>> inputs;
    for (const int64_t v : {12, 3, -9, 5}) inputs.push_back({Tensor::I64(v)});
    CheckSame(module, inputs);
  }
}

TEST_CASE("The memory budget ends a run that takes too much", "[llvm]") {
  Module module;
  FunctionBuilder f(module, {kI}, {Type::Array(DType::kF64, 2)});
  f.Return({f.Alloc(DType::kF64, {f.param(0), f.param(0)}, true, 21)});
  TestKernel kernel(module);
  kernel.context.bytes_budget = 1 << 20;
  CHECK(kernel.Run({Tensor::I64(100)}).size() == 1);
  CHECK(kernel.Trapped({Tensor::I64(1000)}, TrapKind::kMemory));
  CHECK(kernel.context.trap_loc == 21);
  CHECK(kernel.context.trap_a >= 8000000);
  CHECK(kernel.context.trap_b == 1 << 20);
  CHECK(kernel.Trapped({Tensor::I64(int64_t{1} << 40)}, TrapKind::kMemory));
  CHECK(kernel.context.bytes_used == 0);
}

// f(n, a...) = f(n + 1, a...) + 1 without end; `width` more arguments make frames larger.
Module EndlessRecursion(size_t width) {
  Module module;
  std::vector<Type> params(width + 1, kI);
  FunctionBuilder entry(module, {kI}, {kI});
  FunctionBuilder f(module, params, {kI});
  std::vector<Reg> args(width + 1, entry.param(0));
  entry.Return({entry.Call(f.index(), args, {kI})[0]});
  std::vector<Reg> more;
  for (size_t i = 0; i <= width; ++i) more.push_back(f.Op(Op::Add, {f.param(i), f.I64(1)}));
  Reg sum = f.Call(f.index(), more, {kI})[0];
  for (size_t i = 0; i <= width; ++i) sum = f.Op(Op::Add, {sum, f.param(i)});
  f.Return({sum});
  return module;
}

TEST_CASE("Endless recursion ends at the depth limit or at the memory budget", "[llvm]") {
  for (const int level : {kTierZero, 0, 2}) {
    for (const size_t width : {size_t{0}, size_t{100}}) {
      TestKernel kernel(EndlessRecursion(width), level);
      CHECK(kernel.Trapped({Tensor::I64(0)}, TrapKind::kDepth));
      CHECK(kernel.context.trap_loc == 0);
      kernel.context.max_depth = std::numeric_limits<int32_t>::max();
      kernel.context.bytes_budget = int64_t{100} << 20;
      CHECK(kernel.Trapped({Tensor::I64(0)}, TrapKind::kMemory));  // the stack is charged
      CHECK(kernel.context.bytes_used == 0);
      bool other = false;
      std::thread([&] { other = kernel.Trapped({Tensor::I64(0)}, TrapKind::kMemory); }).join();
      CHECK(other);
    }
  }
}

TEST_CASE("The depth is that of active calls", "[llvm]") {
  Module module;
  FunctionBuilder f(module, {kI}, {kI});
  const uint32_t done = f.NewBlock(), again = f.NewBlock();
  f.SetBlock(0);
  f.Branch(f.Compare(Op::Le, f.param(0), f.I64(1)), {done, {}}, {again, {}});
  f.SetBlock(done);
  f.Return({f.I64(1)});
  f.SetBlock(again);
  const Reg less = f.Op(Op::Sub, {f.param(0), f.I64(1)});
  const Reg rest = f.Call(0, {less}, {kI})[0];
  f.Return({f.Op(Op::Add, {rest, f.I64(1)})});
  TestKernel kernel(module);
  kernel.context.max_depth = 100;
  for (int i = 0; i < 3; ++i) {
    CHECK(kernel.Run({Tensor::I64(100)})[0].At<int64_t>(0) == 100);
    CHECK(kernel.Trapped({Tensor::I64(101)}, TrapKind::kDepth));
  }
}

// Starts the kernel, sets stop after a while, and gives the seconds that it then took to end.
double SecondsToStop(TestKernel& kernel, const std::vector<Tensor>& args) {
  using Clock = std::chrono::steady_clock;
  Clock::time_point asked;
  std::thread timer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    asked = Clock::now();
    kernel.context.stop = 1;
  });
  CHECK(kernel.Run(args).empty());
  const Clock::time_point ended = Clock::now();
  timer.join();
  CHECK(kernel.context.trap_kind == static_cast<int>(TrapKind::kStopped));
  kernel.context.stop = 0;
  return std::chrono::duration<double>(ended - asked).count();
}

// Generous: other work may have the machine. The bound by polls is some 100 µs.
constexpr double kSoon = 0.5;

TEST_CASE("An endless loop of blocks stops", "[llvm]") {
  Module module;
  FunctionBuilder f(module, {kF}, {kF});
  const uint32_t loop = f.NewBlock();
  const Reg x = f.Param(loop, kF);
  f.SetBlock(0);
  f.Jump(loop, {f.param(0)});
  f.SetBlock(loop);
  f.Jump(loop, {f.Op(Op::Mul, {x, f.F64(1.5)})});
  for (const int level : {kTierZero, 0, 2}) {
    TestKernel kernel(module, level);
    CHECK(SecondsToStop(kernel, {Tensor::F64(1)}) < kSoon);
  }
}

TEST_CASE("Huge loops stop: innermost, with lanes, nested, around empty ones, under branches",
          "[llvm]") {
  using Body = std::function<void(FunctionBuilder&, Reg lanes, Reg n, Reg i)>;
  const auto nothing = [](FunctionBuilder&, Reg) {};
  (void)nothing;
  const std::vector<Body> bodies = {
      [](FunctionBuilder& f, Reg lanes, Reg, Reg i) {  // eight at a time
        f.LaneAdd(lanes, i, f.Scalar(Op::Cast, kF, {i}));
      },
      [](FunctionBuilder& f, Reg lanes, Reg, Reg i) {  // one at a time
        f.LaneAdd(lanes, f.Op(Op::Mul, {i, i}), f.Scalar(Op::Cast, kF, {i}));
      },
      [](FunctionBuilder& f, Reg lanes, Reg n, Reg i) {  // around a long loop
        f.For(f.I64(0), n,
              [&](Reg j) { f.LaneAdd(lanes, j, f.Scalar(Op::Cast, kF, {f.Op(Op::Mul, {i, j})})); });
      },
      [](FunctionBuilder& f, Reg lanes, Reg n, Reg i) {  // around an empty loop
        f.For(n, f.I64(1), [&](Reg j) { f.LaneAdd(lanes, f.Op(Op::Mul, {i, j}), f.F64(1)); });
        f.LaneAdd(lanes, f.Op(Op::Mul, {i, i}), f.F64(1));
      },
      [](FunctionBuilder& f, Reg lanes, Reg n, Reg i) {  // around a loop that is seldom entered
        f.LaneAdd(lanes, i, f.F64(2));
        f.If(f.Compare(Op::Eq, i, f.I64(-1)),
             [&] { f.For(f.I64(0), n, [&](Reg j) { f.LaneAdd(lanes, j, f.F64(1)); }); });
      },
      [](FunctionBuilder& f, Reg lanes, Reg, Reg i) {  // around a short one
        f.For(f.I64(0), f.I64(100),
              [&](Reg j) { f.LaneAdd(lanes, f.Op(Op::Mul, {i, j}), f.Scalar(Op::Cast, kF, {j})); });
      },
  };
  for (size_t k = 0; k < bodies.size(); ++k) {
    for (const int level : {kTierZero, 0, 2}) {
      INFO("body " << k << " level " << level);
      Module module;
      FunctionBuilder f(module, {kI}, {kF});
      const Reg lanes = f.LanesNew(DType::kF64);
      f.For(f.I64(0), f.param(0), [&](Reg i) { bodies[k](f, lanes, f.param(0), i); });
      f.Return({f.LanesTotal(lanes)});
      TestKernel kernel(module, level);
      CHECK(SecondsToStop(kernel, {Tensor::I64(int64_t{1} << 61)}) < kSoon);
    }
  }
}

TEST_CASE("Recursion without end in depth stops", "[llvm]") {
  Module module;  // f(d) = d == 0 ? 1 : f(d - 1) + f(d - 1)
  FunctionBuilder f(module, {kI}, {kI});
  const uint32_t done = f.NewBlock(), again = f.NewBlock();
  f.SetBlock(0);
  f.Branch(f.Compare(Op::Eq, f.param(0), f.I64(0)), {done, {}}, {again, {}});
  f.SetBlock(done);
  f.Return({f.I64(1)});
  f.SetBlock(again);
  const Reg less = f.Op(Op::Sub, {f.param(0), f.I64(1)});
  const Reg one = f.Call(0, {less}, {kI})[0];
  const Reg two = f.Call(0, {less}, {kI})[0];
  f.Return({f.Op(Op::Add, {one, two})});
  TestKernel kernel(module);
  CHECK(SecondsToStop(kernel, {Tensor::I64(60)}) < kSoon);
}

// Wherever LLVM is when nobody waits any more, it leaves in order.
TEST_CASE("Compiling ends at every question", "[llvm]") {
  const Module module = PowModule();
  Backend& llvm = LlvmForTests();
  int most = 0;
  for (bool done = false; !done; ++most) {
    int asked = 0;
    const Work work([&] {
      return asked++ < most ? Status() : Status(Code::kCancelled, "CANCELLED", "nobody waits");
    });
    const StatusOr<ObjectCode> made = llvm.Compile(module, {2});
    done = made.ok();
    if (!done) CHECK(made.status().code() == Code::kCancelled);
    REQUIRE(most < 10000);
  }
  CHECK(most > 20);  // between LLVM's passes, too
  CheckSame(module, {{Tensor::F64(1.0001), Tensor::I64(10)}});
}

TEST_CASE("Very long functions are compiled without optimisation", "[llvm]") {
  const auto times_x = [](int count) {
    Module module;
    FunctionBuilder f(module, {kF}, {kF});
    f.SetBlock(0);
    Reg r = f.param(0);
    for (int k = 0; k < count; ++k) r = f.Op(Op::Mul, {r, f.param(0)});
    f.Return({r});
    return module;
  };
  const auto compiled = [](const Module& module, int opt_level) {
    return LlvmForTests().Compile(module, {opt_level}).value().bytes;
  };
  const Module is_short = times_x(10), is_long = times_x(21000);
  CHECK(LlvmForTests().Optimises(is_short));
  CHECK_FALSE(LlvmForTests().Optimises(is_long));
  CHECK(compiled(is_short, 2) != compiled(is_short, 0));
  CHECK(compiled(is_long, 2) == compiled(is_long, 0));
  CheckSame(is_long, {{Tensor::F64(1.0000001)}, {Tensor::F64(-1)}});
}

}  // namespace
}  // namespace pullback::jit
