// Random loops, compiled at both levels, against their interpreter. PULLBACK_RANDOM_LOOPS sets how
// many; PULLBACK_RANDOM_SEED where to begin.
#include <cstdlib>
#include <random>

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

const Type kRandomI = Type::I64();
const Type kBool = Type::Bool();

// Writes one function: (x, y: [n]f64, idx: [n]i64 within range, times: i64) -> (f64, [n]f64). A
// loop of blocks runs `times` times over random statements that read and replace arrays of n
// elements.
class RandomLoops {
 public:
  RandomLoops(uint64_t seed, Module& module)
      : random_(seed),
        dtype_(seed % 3 == 0 ? DType::kF32 : DType::kF64),
        float_(Type::Scalar(dtype_)),
        vector_(Type::Array(dtype_, 1)),
        f_(module, {vector_, vector_, Type::Array(DType::kI64, 1), kRandomI}, {float_, vector_}) {}
  DType dtype() const { return dtype_; }

  void Write() {
    const uint32_t head = f_.NewBlock(), body = f_.NewBlock(), done = f_.NewBlock();
    idx_ = f_.param(2);
    const Reg k = f_.Param(head, kRandomI), s = f_.Param(head, float_);
    const Reg a = f_.Param(head, vector_), b = f_.Param(head, vector_);
    f_.SetBlock(0);
    n_ = f_.Dim(f_.param(0), 0);
    const Reg zero = f_.I64(0);
    f_.Jump(head, {f_.param(3), Float(0.5), f_.param(0), f_.param(1)});
    f_.SetBlock(head);
    f_.Branch(f_.Compare(Op::Gt, k, zero), {body, {}}, {done, {}});
    f_.SetBlock(body);
    zero_ = f_.I64(0);
    scalars_ = {s, Float(-1.25)};
    arrays_ = {a, b};
    const int statements = Pick(1, 4);
    for (int i = 0; i < statements; ++i) Statement();
    // Two arrays go on to the next turn, perhaps the same one twice.
    const Reg first = arrays_[Index(arrays_.size())];
    const Reg second = arrays_[Index(arrays_.size())];
    for (const Reg r : arrays_) {
      const int uses = (r == first) + (r == second);
      if (uses == 0) f_.Release(r);
      if (uses == 2) f_.Retain(r);
    }
    const Reg bounded = f_.Op(Op::Min, {Float(1e6), f_.Op(Op::Max, {Float(-1e6), Scalar()})});
    f_.Jump(head, {f_.Op(Op::Sub, {k, f_.I64(1)}), bounded, first, second});
    f_.SetBlock(done);
    f_.Release(b);
    f_.Release(idx_);
    f_.Return({s, a});
  }

 private:
  int Pick(int lo, int hi) {
    return lo + static_cast<int>(random_() % static_cast<uint64_t>(hi - lo + 1));
  }
  Reg Float(double v) { return dtype_ == DType::kF64 ? f_.F64(v) : f_.F32(static_cast<float>(v)); }
  size_t Index(size_t n) { return random_() % n; }
  Reg Scalar() { return scalars_[Index(scalars_.size())]; }
  Reg Array() { return arrays_[Index(arrays_.size())]; }

  void Statement() {
    switch (Pick(0, 5)) {
      case 0: return Generate();
      case 1: return Reduce();
      case 2: return Scatter();
      case 3: return Update();
      case 4: return GenerateAndReduce();
      default: return Rows();
    }
  }

  // An offset in range inside a loop over i < n.
  Reg Offset(Reg i) {
    switch (Pick(0, 6)) {
      case 0: return f_.Load(idx_, i);
      case 1: return f_.Op(Op::Sub, {f_.Op(Op::Sub, {n_, f_.I64(1)}), i});
      case 2: return zero_;
      case 3: return f_.Op(Op::Div, {i, f_.I64(Pick(1, 3))});
      case 4: {  // checked: may trap
        const Reg at = f_.Op(Op::Add, {i, f_.I64(Pick(0, 9) == 0 ? 1 : 0)});
        f_.Check(f_.Compare(Op::Lt, at, n_), TrapKind::kIndex, 7, {at, n_});
        return at;
      }
      default: return i;
    }
  }

  Reg Condition(Reg i) {
    switch (Pick(0, 3)) {
      case 0: return f_.Compare(Op::Lt, Scalar(), Float(0.1));  // uniform, mostly
      case 1: return f_.Compare(Op::Eq, f_.Op(Op::Rem, {i, f_.I64(Pick(2, 4))}), zero_);
      case 2: return f_.Compare(Op::Lt, f_.Load(Array(), i), Float(0));
      default: return f_.Compare(Op::Ge, f_.Load(idx_, i), f_.I64(Pick(0, 9)));
    }
  }

  Reg Value(Reg i, int depth) {
    if (depth == 0) {
      switch (Pick(0, 3)) {
        case 0: return Scalar();
        case 1: return f_.Scalar(Op::Cast, float_, {i});
        default: return f_.Load(Array(), Offset(i));
      }
    }
    switch (Pick(0, 9)) {
      case 0: return f_.Op(Op::Max, {Value(i, depth - 1), Value(i, depth - 1)});
      case 1: return f_.Op(Op::Sin, {Value(i, depth - 1)});
      case 2: return f_.Op(Op::Tanh, {Value(i, depth - 1)});
      case 3: {
        const Reg c = Condition(i);
        return f_.Scalar(Op::Select, float_, {c, Value(i, depth - 1), Value(i, depth - 1)});
      }
      case 4:
      case 5:
        return f_.If(
            Condition(i), {float_}, [&] { return std::vector<Reg>{Value(i, depth - 1)}; },
            [&] { return std::vector<Reg>{Value(i, depth - 1)}; })[0];
      case 6: return f_.Op(Op::Sub, {Value(i, depth - 1), Value(i, depth - 1)});
      case 7: return f_.Op(Op::Mul, {Value(i, depth - 1), Float(0.75)});
      default: return f_.Op(Op::Add, {Value(i, depth - 1), Value(i, depth - 1)});
    }
  }

  void Generate() {
    const Reg y = f_.Alloc(dtype_, {n_}, false);
    f_.For(zero_, n_, [&](Reg i) { f_.Store(y, i, Value(i, Pick(0, 3))); });
    arrays_.push_back(y);
  }

  void AddTerm(Reg lanes, Reg offset, Reg i) {
    if (Pick(0, 2) == 0) {
      f_.If(Condition(i), [&] { f_.LaneAdd(lanes, offset, Value(i, 1)); });
    } else {
      f_.LaneAdd(lanes, offset, Value(i, 2));
    }
  }

  Reg Lanes() {
    const Monoid monoids[] = {Monoid::kSum, Monoid::kSum, Monoid::kMax, Monoid::kMin};
    return f_.LanesNew(dtype_, monoids[Pick(0, 3)]);
  }

  void Reduce() {
    const Reg lanes = Lanes();
    const Reg shift = f_.I64(Pick(0, 1) * Pick(0, 9));
    f_.For(zero_, n_, [&](Reg i) {
      AddTerm(lanes, Pick(0, 4) == 0 ? f_.Load(idx_, i) : f_.Op(Op::Add, {shift, i}), i);
    });
    scalars_.push_back(f_.LanesTotal(lanes));
  }

  void GenerateAndReduce() {
    const Reg y = f_.Alloc(dtype_, {n_}, true);
    const Reg one = Lanes(), two = Lanes();
    f_.For(zero_, n_, [&](Reg i) {
      const Reg v = Value(i, 2);
      AddTerm(one, i, i);
      const Reg at = Pick(0, 1) == 0 ? i : f_.Load(idx_, i);
      if (Pick(0, 1) == 0) {
        f_.Store(y, at, v);
      } else {
        f_.If(Condition(i), [&] { f_.Store(y, at, v); });
      }
      if (Pick(0, 3) == 0) f_.Store(y, i, f_.Op(Op::Add, {f_.Load(y, at), v}));
      f_.LaneAdd(two, i, v);
    });
    arrays_.push_back(y);
    scalars_.push_back(f_.Op(Op::Add, {f_.LanesTotal(one), f_.LanesTotal(two)}));
  }

  void Scatter() {
    const Reg y = f_.Alloc(dtype_, {n_}, true);
    f_.For(zero_, n_, [&](Reg i) {
      const Reg at = Offset(i);
      f_.Store(y, at, f_.Op(Op::Add, {f_.Load(y, at), Value(i, 1)}));
    });
    arrays_.push_back(y);
  }

  void Update() {
    const size_t which = Index(arrays_.size());
    const Reg u = f_.Unique(arrays_[which]);
    arrays_[which] = u;
    f_.For(zero_, f_.Op(Op::Min, {n_, f_.I64(Pick(1, 12))}),
           [&](Reg i) { f_.Store(u, Offset(i), f_.Op(Op::Add, {f_.Load(u, i), Value(i, 1)})); });
  }

  // y[i] = sum over j < m of a term, and a total over both.
  void Rows() {
    const Reg y = f_.Alloc(dtype_, {n_}, false);
    const Reg m = Pick(0, 1) == 0 ? f_.I64(Pick(0, 12)) : n_;
    const Reg all = Lanes();
    f_.For(zero_, n_, [&](Reg i) {
      const Reg row = Lanes();
      const Reg start = f_.Op(Op::Mul, {i, m});
      const Reg base = Value(i, 1);
      f_.For(zero_, m, [&](Reg j) {
        const Reg inside = f_.Op(Op::Min, {j, f_.Op(Op::Sub, {n_, f_.I64(1)})});
        const Reg v = f_.Op(Op::Mul, {base, f_.Load(Array(), inside)});
        f_.LaneAdd(row, j, v);
        f_.LaneAdd(all, f_.Op(Op::Add, {start, j}), v);
      });
      f_.Store(y, i, f_.LanesTotal(row));
    });
    arrays_.push_back(y);
    scalars_.push_back(f_.LanesTotal(all));
  }

  std::mt19937_64 random_;
  const DType dtype_;
  const Type float_, vector_;
  FunctionBuilder f_;
  Reg idx_, n_, zero_;
  std::vector<Reg> scalars_, arrays_;
};

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

Tensor Floats(DType t, const std::vector<double>& values) {
  const auto n = static_cast<int64_t>(values.size());
  if (t == DType::kF64) return Tensor::Of(t, {n}, values);
  return Tensor::Of(t, {n}, std::vector<float>(values.begin(), values.end()));
}

TEST_CASE("Random loops have the bits of their interpreter", "[llvm]") {
  const uint64_t first = FromEnvironment("PULLBACK_RANDOM_SEED", 1);
  const uint64_t count = FromEnvironment("PULLBACK_RANDOM_LOOPS", 60);
  for (uint64_t seed = first; seed < first + count; ++seed) {
    INFO("seed " << seed);
    Module module;
    RandomLoops loops(seed, module);
    loops.Write();
    std::vector<std::vector<Tensor>> inputs;
    for (const int64_t n : {1, 2, 9, 16, 37}) {
      std::mt19937_64 random(seed * 31 + static_cast<uint64_t>(n));
      std::vector<double> x, y;
      std::vector<int64_t> idx;
      for (int64_t i = 0; i < n; ++i) {
        x.push_back(static_cast<double>(random() % 2001) / 1000 - 1);
        y.push_back(random() % 10 == 0 ? -0.0 : static_cast<double>(random() % 7) - 3);
        idx.push_back(static_cast<int64_t>(random() % static_cast<uint64_t>(n)));
      }
      for (const int64_t times : {1, 4}) {
        inputs.push_back({Floats(loops.dtype(), x), Floats(loops.dtype(), y),
                          Tensor::Of(DType::kI64, {n}, idx), Tensor::I64(times)});
      }
    }
    CheckSame(module, inputs);
  }
}

}  // namespace
}  // namespace pullback::jit
