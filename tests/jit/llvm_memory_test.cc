// Arrays, reference counts, lanes, tapes.
#include "tests/jit/llvm_support.h"

namespace pullback::jit {
namespace {

using ir::Monoid;
using ir::Op;
using ir::TrapKind;
using ir::Type;
using loops::FunctionBuilder;
using loops::Module;
using loops::Reg;

const Type kMemoryF = Type::F64();
const Type kMemoryI = Type::I64();
const Type kVector = Type::Array(DType::kF64, 1);

Tensor Ramp(DType t, std::vector<int64_t> shape, double scale = 0.37) {
  Tensor x{t, shape, {}};
  for (int64_t i = 0; i < x.ElementCount(); ++i) {
    const double v = scale * static_cast<double>(i % 61) - 3.0 + 1e-9 * static_cast<double>(i);
    Tensor one = t == DType::kF64   ? Tensor::F64(v)
                 : t == DType::kF32 ? Tensor::F32(static_cast<float>(v))
                 : t == DType::kI64 ? Tensor::I64(static_cast<int64_t>(v * 10))
                                    : Tensor::Bool(i % 3 == 0);
    x.data.insert(x.data.end(), one.data.begin(), one.data.end());
  }
  return x;
}

TEST_CASE("Arrays of every type are stored, copied where shared, and freed", "[llvm]") {
  for (const DType t : {DType::kF64, DType::kF32, DType::kI64, DType::kBool}) {
    Module module;
    const Type a = Type::Array(t, 2);
    FunctionBuilder f(module, {a}, {a, a, kMemoryI});
    const Reg x = f.param(0);
    const Reg n = f.Dim(x, 0), m = f.Dim(x, 1);
    const Reg y = f.Alloc(t, {m, n}, false);
    f.For(f.I64(0), n, [&](Reg i) {
      const Reg row = f.Op(Op::Mul, {i, m});
      f.For(f.I64(0), m, [&](Reg j) {
        const Reg to = f.Op(Op::Add, {f.Op(Op::Mul, {j, n}), i});
        f.Store(y, to, f.Load(x, f.Op(Op::Add, {row, j})));
      });
    });
    const Reg size = f.Op(Op::Mul, {n, m});
    f.If(f.Compare(Op::Gt, size, f.I64(0)), [] {});
    const Reg z = f.Unique(x);  // shared with the caller: a copy
    f.For(f.I64(0), f.Op(Op::Min, {f.I64(1), size}),
          [&](Reg i) { f.Store(z, i, f.Load(y, f.Op(Op::Sub, {size, f.I64(1)}))); });
    const Reg w = f.Unique(z);  // not shared: itself
    const Reg scratch = f.Alloc(t, {size}, true);
    const Reg s = f.Dim(scratch, 0);
    f.Release(scratch);
    f.Return({y, w, s});
    CheckSame(module,
              {{Ramp(t, {3, 5})}, {Ramp(t, {1, 1})}, {Ramp(t, {0, 4})}, {Ramp(t, {70, 33})}});
    TestKernel kernel(module);
    kernel.Run({Ramp(t, {3, 5})});
    CHECK(kernel.live_bytes <= 2 * 256);  // y and w
  }
}

TEST_CASE("A shared array is copied by one owner and updated in place by the last", "[llvm]") {
  Module module;
  FunctionBuilder f(module, {kMemoryI}, {kVector, kVector});
  const Reg a = f.Alloc(DType::kF64, {f.param(0)}, true);
  f.Retain(a);
  const Reg b = f.Unique(a);
  f.Store(b, f.I64(0), f.F64(1));
  const Reg c = f.Unique(a);
  f.Store(c, f.I64(1), f.F64(2));
  f.Return({b, c});
  CheckSame(module, {{Tensor::I64(2)}, {Tensor::I64(9)}});
}

// A loop of blocks that threads an array: element i takes the sum of all before it.
TEST_CASE("Updates in a loop of blocks are in place", "[llvm]") {
  Module module;
  FunctionBuilder f(module, {kVector}, {kVector});
  const uint32_t head = f.NewBlock(), body = f.NewBlock(), done = f.NewBlock();
  const Reg i = f.Param(head, kMemoryI), x = f.Param(head, kVector);
  f.SetBlock(0);
  f.Jump(head, {f.I64(1), f.param(0)});
  f.SetBlock(head);
  f.Branch(f.Compare(Op::Lt, i, f.Dim(x, 0)), {body, {}}, {done, {}});
  f.SetBlock(body);
  const Reg before = f.Load(x, f.Op(Op::Sub, {i, f.I64(1)}));
  const Reg here = f.Load(x, i);
  const Reg u = f.Unique(x);
  f.Store(u, i, f.Op(Op::Add, {before, here}));
  f.Jump(head, {f.Op(Op::Add, {i, f.I64(1)}), u});
  f.SetBlock(done);
  f.Return({x});
  CheckSame(module, {{Ramp(DType::kF64, {1})}, {Ramp(DType::kF64, {300})}});
}

// Reading through one register what was stored through another, across blocks and nests.
TEST_CASE("An array handed on is seen through its new register", "[llvm]") {
  Module module;
  FunctionBuilder f(module, {kMemoryI, kVector}, {kMemoryF, kVector});
  const uint32_t head = f.NewBlock(), body = f.NewBlock(), done = f.NewBlock();
  const Reg k = f.Param(head, kMemoryI), x = f.Param(head, kVector), s = f.Param(head, kMemoryF);
  f.SetBlock(0);
  f.Jump(head, {f.param(0), f.param(1), f.F64(0)});
  f.SetBlock(head);
  f.Branch(f.Compare(Op::Gt, k, f.I64(0)), {body, {}}, {done, {}});
  f.SetBlock(body);
  const Reg n = f.Dim(x, 0);
  const Reg y = f.Alloc(DType::kF64, {n}, false);
  f.For(f.I64(0), n,
        [&](Reg i) { f.Store(y, i, f.Op(Op::Add, {f.Load(x, i), f.Load(x, f.I64(0))})); });
  f.Release(x);
  const Reg u = f.Unique(y);
  f.Store(u, f.I64(0), f.F64(3));
  const Reg sum = f.Op(Op::Add, {s, f.Load(u, f.I64(1))});
  f.Jump(head, {f.Op(Op::Sub, {k, f.I64(1)}), u, sum});
  f.SetBlock(done);
  f.Return({s, x});
  std::vector<std::vector<Tensor>> inputs;
  for (const int64_t times : {0, 1, 2, 3, 17}) {
    inputs.push_back({Tensor::I64(times), Ramp(DType::kF64, {2})});
    inputs.push_back({Tensor::I64(times), Ramp(DType::kF64, {37})});
  }
  CheckSame(module, inputs);
}

// ---------------------------------------------------------------------------------------- lanes --

// sum over i in [lo, hi) of x[i], at offsets base + i.
Module LaneSum(DType t, Monoid monoid) {
  Module module;
  FunctionBuilder f(module, {Type::Array(t, 1), kMemoryI, kMemoryI, kMemoryI}, {Type::Scalar(t)});
  const Reg lanes = f.LanesNew(t, monoid);
  f.For(f.param(1), f.param(2),
        [&](Reg i) { f.LaneAdd(lanes, f.Op(Op::Add, {f.param(3), i}), f.Load(f.param(0), i)); });
  f.Release(f.param(0));
  f.Return({f.LanesTotal(lanes)});
  return module;
}

TEST_CASE("Lanes at every offset and length", "[llvm]") {
  for (const DType t : {DType::kF64, DType::kF32, DType::kI64}) {
    for (const Monoid monoid : {Monoid::kSum, Monoid::kProd, Monoid::kMax, Monoid::kMin}) {
      Tensor x = Ramp(t, {64});
      std::vector<std::vector<Tensor>> inputs;
      for (int64_t length = 0; length <= 40; ++length) {
        for (int64_t base = 0; base < 8; ++base) {
          const int64_t lo = (base * 5 + length) % 9;
          inputs.push_back({x, Tensor::I64(lo), Tensor::I64(lo + length), Tensor::I64(base - 3)});
        }
      }
      CheckSame(LaneSum(t, monoid), inputs);
    }
  }
}

TEST_CASE("Lanes keep signed zeros, infinities and NaNs as the definition has them", "[llvm]") {
  for (const Monoid monoid : {Monoid::kSum, Monoid::kProd, Monoid::kMax, Monoid::kMin}) {
    for (const DType t : {DType::kF64, DType::kF32}) {
      const auto values = TrickyValues(t);
      Tensor x{t, {0}, {}};
      for (size_t i = 0; i < 3 * values.size(); ++i) {
        const auto& v = values[i * 7 % values.size()];
        x.data.insert(x.data.end(), v.data.begin(), v.data.end());
        ++x.shape[0];
      }
      std::vector<std::vector<Tensor>> inputs;
      for (int64_t lo = 0; lo < x.shape[0]; ++lo) {
        for (const int64_t hi : {lo + 1, lo + 2, lo + 9, x.shape[0]}) {
          inputs.push_back(
              {x, Tensor::I64(lo), Tensor::I64(std::min(hi, x.shape[0])), Tensor::I64(lo)});
        }
      }
      CheckSame(LaneSum(t, monoid), inputs);
    }
  }
}

// sum over i < n, j < m of x[i, j]: the offset goes on from row to row.
TEST_CASE("Lanes over two indices", "[llvm]") {
  Module module;
  FunctionBuilder f(module, {Type::Array(DType::kF64, 2)}, {kMemoryF});
  const Reg x = f.param(0);
  const Reg n = f.Dim(x, 0), m = f.Dim(x, 1);
  const Reg lanes = f.LanesNew(DType::kF64);
  f.For(f.I64(0), n, [&](Reg i) {
    const Reg row = f.Op(Op::Mul, {i, m});
    f.For(f.I64(0), m, [&](Reg j) {
      const Reg at = f.Op(Op::Add, {row, j});
      f.LaneAdd(lanes, at, f.Load(x, at));
    });
  });
  f.Release(x);
  f.Return({f.LanesTotal(lanes)});
  std::vector<std::vector<Tensor>> inputs;
  for (int64_t rows = 0; rows < 5; ++rows) {
    for (int64_t columns = 0; columns < 27; ++columns) {
      inputs.push_back({Ramp(DType::kF64, {rows, columns})});
    }
  }
  CheckSame(module, inputs);
}

TEST_CASE("Loops of few constant iterations over lanes", "[llvm]") {
  for (const int64_t trips : {0, 1, 3, 7, 8, 9, 20}) {
    for (const int64_t lo : {0, 2}) {
      Module module;
      FunctionBuilder f(module, {kVector}, {kMemoryF});
      const Reg lanes = f.LanesNew(DType::kF64);
      f.For(f.I64(lo), f.I64(lo + trips),
            [&](Reg i) { f.LaneAdd(lanes, f.Op(Op::Sub, {i, f.I64(lo)}), f.Load(f.param(0), i)); });
      f.Release(f.param(0));
      f.Return({f.LanesTotal(lanes)});
      CheckSame(module, {{Ramp(DType::kF64, {30})}});
    }
  }
}

// Offsets that are not "invariant + index": reversed, strided, data.
TEST_CASE("Lanes at odd offsets", "[llvm]") {
  for (int which = 0; which < 4; ++which) {
    Module module;
    FunctionBuilder f(module, {kVector, Type::Array(DType::kI64, 1)}, {kMemoryF});
    const Reg n = f.Dim(f.param(0), 0);
    const Reg lanes = f.LanesNew(DType::kF64);
    f.For(f.I64(0), n, [&](Reg i) {
      const Reg offset = which == 0   ? f.Op(Op::Sub, {n, i})
                         : which == 1 ? f.Op(Op::Mul, {i, f.I64(3)})
                         : which == 2 ? f.Load(f.param(1), i)
                                      : f.I64(5);
      f.LaneAdd(lanes, offset, f.Load(f.param(0), i));
    });
    f.Release(f.param(0));
    f.Release(f.param(1));
    f.Return({f.LanesTotal(lanes)});
    CheckSame(module, {{Ramp(DType::kF64, {100}), Ramp(DType::kI64, {100})}});
  }
}

// Bodies that run eight at a time: branches with and without loads, gathers, strides, uniform
// loads, several lanes, stores beside.
TEST_CASE("Wide bodies", "[llvm]") {
  using Body =
      std::function<void(FunctionBuilder&, Reg x, Reg idx, Reg y, Reg lanes, Reg i, Reg n)>;
  const std::vector<Body> bodies = {
      [](FunctionBuilder& f, Reg x, Reg idx, Reg, Reg lanes, Reg i, Reg) {  // gather
        f.LaneAdd(lanes, i, f.Load(x, f.Load(idx, i)));
      },
      [](FunctionBuilder& f, Reg x, Reg, Reg, Reg lanes, Reg i, Reg n) {  // reversed, and uniform
        const Reg back = f.Op(Op::Sub, {f.Op(Op::Sub, {n, f.I64(1)}), i});
        f.LaneAdd(lanes, i, f.Op(Op::Mul, {f.Load(x, back), f.Load(x, f.I64(0))}));
      },
      [](FunctionBuilder& f, Reg x, Reg, Reg, Reg lanes, Reg i, Reg) {  // absent terms, cheap
        const Reg v = f.Load(x, i);
        f.If(f.Compare(Op::Gt, v, f.F64(0)), [&] { f.LaneAdd(lanes, i, v); });
      },
      [](FunctionBuilder& f, Reg x, Reg idx, Reg, Reg lanes, Reg i, Reg n) {  // guarded loads
        const Reg k = f.Load(idx, i);
        const Reg inside = f.Compare(Op::Lt, f.Op(Op::Mul, {k, f.I64(2)}), n);
        f.If(inside, [&] { f.LaneAdd(lanes, i, f.Load(x, f.Op(Op::Mul, {k, f.I64(2)}))); });
      },
      [](FunctionBuilder& f, Reg x, Reg idx, Reg, Reg lanes, Reg i, Reg n) {  // yields
        const Reg v = f.Load(x, i);
        const Reg r = f.If(
            f.Compare(Op::Lt, v, f.F64(1)), {kMemoryF},
            [&] { return std::vector<Reg>{f.Op(Op::Exp, {v})}; },
            [&] {
              const Reg deep = f.If(
                  f.Compare(Op::Gt, f.Load(idx, i), f.Op(Op::Div, {n, f.I64(2)})), {kMemoryF},
                  [&] { return std::vector<Reg>{f.Load(x, f.Load(idx, i))}; },
                  [&] { return std::vector<Reg>{f.F64(-2)}; })[0];
              return std::vector<Reg>{deep};
            })[0];
        f.LaneAdd(lanes, i, r);
      },
      [](FunctionBuilder& f, Reg x, Reg, Reg, Reg lanes, Reg i, Reg n) {  // uniform condition
        const Reg v = f.If(
            f.Compare(Op::Gt, n, f.I64(20)), {kMemoryF},
            [&] { return std::vector<Reg>{f.Load(x, i)}; },
            [&] { return std::vector<Reg>{f.Load(x, f.I64(0))}; })[0];
        f.LaneAdd(lanes, i, v);
      },
      [](FunctionBuilder& f, Reg x, Reg, Reg y, Reg lanes, Reg i, Reg) {  // a store beside
        const Reg v = f.Op(Op::Mul, {f.Load(x, i), f.F64(3)});
        f.Store(y, i, v);
        f.LaneAdd(lanes, i, v);
      },
      [](FunctionBuilder& f, Reg x, Reg idx, Reg y, Reg lanes, Reg i, Reg) {  // scattered, guarded
        const Reg v = f.Load(x, i);
        f.If(f.Compare(Op::Lt, v, f.F64(2)), [&] { f.Store(y, f.Load(idx, i), v); });
        f.LaneAdd(lanes, i, v);
      },
      [](FunctionBuilder& f, Reg x, Reg, Reg y, Reg lanes, Reg i, Reg) {  // a carried dependence
        const Reg v = f.Op(Op::Add, {f.Load(x, i), f.Load(y, f.I64(0))});
        f.Store(y, f.I64(0), v);
        f.LaneAdd(lanes, i, v);
      },
      [](FunctionBuilder& f, Reg x, Reg idx, Reg, Reg lanes, Reg i, Reg n) {  // checks
        const Reg k = f.Load(idx, i);
        f.Check(f.Compare(Op::Lt, k, n), TrapKind::kIndex, 12, {k, n});
        f.Check(f.Compare(Op::Ge, k, f.I64(0)), TrapKind::kIndex, 13, {k, i});
        f.LaneAdd(lanes, i, f.Load(x, k));
      },
      [](FunctionBuilder& f, Reg x, Reg idx, Reg, Reg lanes, Reg i, Reg n) {  // guarded checks
        const Reg v = f.Load(x, i);
        f.If(f.Compare(Op::Lt, v, f.F64(-2)), [&] {
          const Reg k = f.Load(idx, i);
          f.Check(f.Compare(Op::Lt, k, f.Op(Op::Sub, {n, f.I64(2)})), TrapKind::kIndex, 14, {k, n});
          f.LaneAdd(lanes, i, f.Load(x, k));
        });
      },
      [](FunctionBuilder& f, Reg x, Reg idx, Reg, Reg lanes, Reg i, Reg) {  // integer division
        const Reg d = f.Op(Op::Add, {f.Load(idx, i), f.I64(1)});
        const Reg q = f.Op(Op::Div, {f.I64(1000), d});
        f.LaneAdd(lanes, i, f.Op(Op::Mul, {f.Load(x, i), f.Scalar(Op::Cast, kMemoryF, {q})}));
      },
  };
  for (size_t k = 0; k < bodies.size(); ++k) {
    INFO("body " << k);
    Module module;
    FunctionBuilder f(module, {kVector, Type::Array(DType::kI64, 1)}, {kMemoryF, kVector});
    const Reg x = f.param(0), idx = f.param(1);
    const Reg n = f.Dim(x, 0);
    const Reg y = f.Alloc(DType::kF64, {f.Op(Op::Max, {n, f.I64(1)})}, true);
    const Reg lanes = f.LanesNew(DType::kF64);
    f.For(f.I64(0), n, [&](Reg i) { bodies[k](f, x, idx, y, lanes, i, n); });
    f.Release(x);
    f.Release(idx);
    f.Return({f.LanesTotal(lanes), y});
    std::vector<std::vector<Tensor>> inputs;
    for (const int64_t n_value : {0, 1, 2, 7, 8, 9, 16, 23, 100}) {
      std::vector<int64_t> indices;
      for (int64_t i = 0; i < n_value; ++i) indices.push_back(i * 7 % n_value);
      inputs.push_back({Ramp(DType::kF64, {n_value}), Tensor::Of(DType::kI64, {n_value}, indices)});
    }
    CheckSame(module, inputs);
  }
}

// The trap is the one of the first bad iteration, and of its first bad check.
TEST_CASE("Checks in wide loops trap where the plain loop does", "[llvm]") {
  Module module;
  FunctionBuilder f(module, {kVector, Type::Array(DType::kI64, 1)}, {kMemoryF});
  const Reg x = f.param(0), idx = f.param(1);
  const Reg n = f.Dim(x, 0);
  const Reg lanes = f.LanesNew(DType::kF64);
  f.For(f.I64(0), f.Dim(idx, 0), [&](Reg i) {
    const Reg k = f.Load(idx, i);
    f.Check(f.Compare(Op::Ge, k, f.I64(0)), TrapKind::kIndex, 12, {k, i});
    f.Check(f.Compare(Op::Lt, k, n), TrapKind::kIndex, 13, {k, n});
    f.LaneAdd(lanes, i, f.Load(x, k));
  });
  f.Release(x);
  f.Release(idx);
  f.Return({f.LanesTotal(lanes)});
  std::vector<std::vector<Tensor>> inputs;
  for (size_t bad = 0; bad < 20; ++bad) {
    for (size_t worse = 0; worse < 20; ++worse) {
      std::vector<int64_t> indices(20, 1);
      indices[bad] = 99;
      indices[worse] = -4;
      inputs.push_back({Ramp(DType::kF64, {5}), Tensor::Of(DType::kI64, {20}, indices)});
    }
  }
  CheckSame(module, inputs);
}

// ---------------------------------------------------------------------------------------- tapes --

TEST_CASE("Tapes of every type grow in a loop and are read backwards", "[llvm]") {
  Module module;
  FunctionBuilder f(module, {kMemoryI}, {kMemoryF});
  const uint32_t fill = f.NewBlock(), filling = f.NewBlock(), drain = f.NewBlock(),
                 draining = f.NewBlock(), done = f.NewBlock();
  const Reg i = f.Param(fill, kMemoryI), t = f.Param(fill, Type::Tape());
  const Reg j = f.Param(drain, kMemoryI), u = f.Param(drain, Type::Tape()),
            s = f.Param(drain, kMemoryF);
  f.SetBlock(0);
  f.Jump(fill, {f.I64(0), f.TapeNew()});
  f.SetBlock(fill);
  f.Branch(f.Compare(Op::Lt, i, f.param(0)), {filling, {}}, {drain, {i, t, f.F64(0)}});
  f.SetBlock(filling);
  Reg tape = f.Push(t, f.Scalar(Op::Cast, kMemoryF, {i}));
  tape = f.Push(tape, f.Scalar(Op::Cast, Type::Scalar(DType::kF32), {i}));
  tape = f.Push(tape, i);
  tape = f.Push(tape, f.Compare(Op::Gt, f.Op(Op::Rem, {i, f.I64(3)}), f.I64(0)));
  const Reg a = f.Alloc(DType::kF64, {f.I64(2)}, true);
  f.Store(a, f.I64(1), f.F64(0.25));
  tape = f.Push(tape, a);
  f.Jump(fill, {f.Op(Op::Add, {i, f.I64(1)}), tape});
  f.SetBlock(drain);
  f.Branch(f.Compare(Op::Gt, j, f.I64(0)), {draining, {}}, {done, {}});
  f.SetBlock(draining);
  const auto [t1, array] = f.Pop(u, kVector);
  const auto [t2, flag] = f.Pop(t1, Type::Bool());
  const auto [t3, whole] = f.Pop(t2, kMemoryI);
  const auto [t4, narrow] = f.Pop(t3, Type::Scalar(DType::kF32));
  const auto [t5, wide] = f.Pop(t4, kMemoryF);
  Reg sum = f.Op(Op::Add, {f.Op(Op::Mul, {s, f.F64(1.0000001)}), f.Load(array, f.I64(1))});
  f.Release(array);
  sum = f.Scalar(Op::Select, kMemoryF, {flag, f.Op(Op::Add, {sum, wide}), sum});
  sum = f.Op(Op::Add, {sum, f.Scalar(Op::Cast, kMemoryF, {narrow})});
  sum = f.Op(Op::Sub, {sum, f.Scalar(Op::Cast, kMemoryF, {whole})});
  f.Jump(drain, {f.Op(Op::Sub, {j, f.I64(1)}), t5, sum});
  f.SetBlock(done);
  f.Release(u);
  f.Return({s});
  CheckSame(module, {{Tensor::I64(0)}, {Tensor::I64(1)}, {Tensor::I64(13)}, {Tensor::I64(5000)}});
  TestKernel kernel(module);
  kernel.Run({Tensor::I64(1000)});
  CHECK(kernel.live_bytes == 0);
  kernel.context.bytes_budget = 1 << 16;
  CHECK(kernel.Trapped({Tensor::I64(100000)}, TrapKind::kMemory));
}

// A tape goes into a call and comes back, longer.
TEST_CASE("Tapes pass through calls", "[llvm]") {
  Module module;
  FunctionBuilder entry(module, {kMemoryI}, {kMemoryF, kMemoryF});
  FunctionBuilder f(module, {kMemoryI, Type::Tape()}, {Type::Tape(), kMemoryF});
  Reg tape = entry.Push(entry.TapeNew(), entry.F64(0.5));
  const auto made = entry.Call(f.index(), {entry.param(0), tape}, {Type::Tape(), kMemoryF});
  const auto [rest, top] = entry.Pop(made[0], kMemoryF);
  entry.Release(rest);
  entry.Return({top, made[1]});
  const uint32_t done = f.NewBlock(), again = f.NewBlock();
  f.SetBlock(0);
  f.Branch(f.Compare(Op::Le, f.param(0), f.I64(0)), {done, {}}, {again, {}});
  f.SetBlock(done);
  f.Return({f.param(1), f.F64(0)});
  f.SetBlock(again);
  const Reg pushed = f.Push(f.param(1), f.Scalar(Op::Cast, kMemoryF, {f.param(0)}));
  const auto deeper =
      f.Call(f.index(), {f.Op(Op::Sub, {f.param(0), f.I64(1)}), pushed}, {Type::Tape(), kMemoryF});
  const auto [popped, v] = f.Pop(deeper[0], kMemoryF);
  f.Return({popped, f.Op(Op::Add, {f.Op(Op::Mul, {deeper[1], f.F64(0.5)}), v})});
  CheckSame(module, {{Tensor::I64(0)}, {Tensor::I64(1)}, {Tensor::I64(900)}});
}

// --------------------------------------------------------------------------------------- outputs
// --

TEST_CASE("Only canonical NaNs leave a kernel, and inputs are not touched", "[llvm]") {
  Module module;
  FunctionBuilder f(module, {kVector, kMemoryF}, {kVector, kMemoryF, kVector});
  f.Retain(f.param(0));
  f.Return({f.param(0), f.param(1), f.param(0)});
  const double odd = std::bit_cast<double>(uint64_t{0xfff8000000000123});
  CheckSame(module, {{Tensor::Of<double>(DType::kF64, {3}, {1, odd, 2}), Tensor::F64(odd)},
                     {Tensor::Of<double>(DType::kF64, {3}, {1, 2, 2}), Tensor::F64(1)}});
}

}  // namespace
}  // namespace pullback::jit
