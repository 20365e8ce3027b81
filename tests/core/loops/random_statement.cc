#include "tests/core/loops/random_statement.h"

#include <algorithm>
#include <random>

#include "core/ir/builder.h"

namespace pullback::loops {
namespace {

using ir::Affine;
using ir::Builder;
using ir::Constraint;
using ir::EachResult;
using ir::Monoid;
using ir::Op;
using ir::Type;
using ir::Value;

class StatementGenerator {
 public:
  explicit StatementGenerator(uint64_t seed) : random_(seed) {}

  RandomProgram Make();

 private:
  int64_t Draw(int64_t lo, int64_t hi) {
    return std::uniform_int_distribution<int64_t>(lo, hi)(random_);
  }
  bool Chance(int percent) { return Draw(1, 100) <= percent; }
  template <typename T>
  const T& Pick(const std::vector<T>& from) {
    return from[static_cast<size_t>(Draw(0, static_cast<int64_t>(from.size()) - 1))];
  }

  void AddParams();
  void AddSizes();
  Value Extent() { return Pick(extents_); }
  Affine RandomAffine(int terms, bool unit);
  void AddConstraints();
  void AddBody();
  Value AddRead();
  Value AddScalar();
  Value AddGuard();
  void AddGuarded();
  EachResult RandomResult();
  EachResult PrefixResult();
  EachResult ScatterResult();

  std::mt19937_64 random_;
  RandomProgram program_;
  ir::Function* f_ = nullptr;
  Builder* b_ = nullptr;
  std::vector<Value> arrays_;   // of f64
  Value indices_array_;         // [*]i64
  std::vector<Value> scalars_;  // i64 parameters
  std::vector<Value> extents_;
  std::vector<Value> vars_;
  std::vector<Value> box_;    // their extents
  std::vector<Value> ints_;   // of the body
  std::vector<Value> terms_;  // f64 of the body
  std::vector<Value> guards_;
  uint32_t loc_ = 0;
};

void StatementGenerator::AddParams() {
  const auto tensor = [&](std::vector<int64_t> shape) {
    Tensor t{DType::kF64, std::move(shape), {}};
    std::vector<double> values;
    for (int64_t i = 0; i < t.ElementCount(); ++i) {
      values.push_back(static_cast<double>(Draw(-40, 40)) * 0.1);
    }
    return Tensor::Of(DType::kF64, t.shape, values);
  };
  const int64_t n = Draw(0, 5), m = Draw(1, 4);
  for (const auto& shape : {std::vector<int64_t>{n}, {m}, {n, m}, {m, m}}) {
    arrays_.push_back(b_->AddParam(0, Type::Array(DType::kF64, static_cast<int>(shape.size()))));
    program_.args.push_back(tensor(shape));
  }
  indices_array_ = b_->AddParam(0, Type::Array(DType::kI64, 1));
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < m; ++i) indices.push_back(Draw(Chance(5) ? -1 : 0, m - 1));
  program_.args.push_back(Tensor::Of(DType::kI64, {m}, indices));
  for (int k = 0; k < 2; ++k) {
    scalars_.push_back(b_->AddParam(0, Type::I64(), k == 0 ? "s" : "t"));
    const int64_t extreme = Chance(50) ? INT64_MAX - Draw(0, 3) : INT64_MIN + Draw(0, 3);
    program_.args.push_back(Tensor::I64(Chance(5) ? extreme : Draw(-1, 4)));
  }
}

void StatementGenerator::AddSizes() {
  for (size_t a = 0; a < arrays_.size(); ++a) extents_.push_back(b_->Dim(arrays_[a], 0));
  extents_.push_back(b_->Dim(arrays_[2], 1));
  extents_.push_back(b_->I64(Draw(1, 4)));
  extents_.push_back(
      b_->AffineOf(Affine::Of(extents_[0]) - Affine::Of(extents_[1]) + Affine::Const(Draw(0, 2))));
  if (Chance(20)) {
    // The sizes of the program, so that equal extents have several names.
    b_->SetLoc(++loc_);
    b_->Check(b_->Make(Op::Eq, {extents_[1], extents_[3]}), ir::TrapKind::kSizeMismatch);
  }
  // A scalar is an extent where it is small.
  for (size_t k = 0; k < scalars_.size(); ++k) {
    if (program_.args[5 + k].At<int64_t>(0) < 10) extents_.push_back(scalars_[k]);
  }
}

Affine StatementGenerator::RandomAffine(int terms, bool unit) {
  Affine a = Affine::Const(Chance(50) ? 0 : Draw(-2, 2));
  for (int k = 0; k < terms && !vars_.empty(); ++k) {
    const int64_t coeff = unit || Chance(80) ? 1 : Draw(2, 3);
    a = a + Affine::Of(Pick(vars_)) * (Chance(70) ? coeff : -coeff);
  }
  if (Chance(15))
    a = a + Affine::Of(Pick(Chance(60) ? extents_ : scalars_)) * (Chance(50) ? 1 : -1);
  return a;
}

void StatementGenerator::AddConstraints() {
  if (vars_.empty()) return;
  const int count = Chance(40) ? 0 : static_cast<int>(Draw(1, 3));
  for (int k = 0; k < count; ++k) {
    b_->Where({RandomAffine(static_cast<int>(Draw(1, 3)), Chance(80)), Chance(50)});
  }
}

Value StatementGenerator::AddRead() {
  const Value array = Pick(arrays_);
  std::vector<Affine> subs;
  for (int axis = 0; axis < b_->TypeOf(array).rank; ++axis) {
    if (!ints_.empty() && Chance(20)) {
      subs.push_back(Affine::Of(Pick(ints_)));
    } else if (!vars_.empty() && Chance(75)) {
      subs.push_back(Affine::Of(Pick(vars_)));
    } else {
      subs.push_back(RandomAffine(static_cast<int>(Draw(1, 2)), Chance(80)));
    }
  }
  b_->SetLoc(++loc_);
  return b_->Index(array, subs);
}

Value StatementGenerator::AddScalar() {
  const std::vector<Op> ops = {Op::Add, Op::Sub, Op::Mul, Op::Max};
  if (Chance(20)) return b_->Make(Op::Sin, {Pick(terms_)});
  return b_->Make(Pick(ops), {Pick(terms_), Pick(terms_)});
}

Value StatementGenerator::AddGuard() {
  if (Chance(25) && !guards_.empty()) return b_->Make(Op::And, {Pick(guards_), Pick(guards_)});
  if (Chance(30)) return b_->Make(Op::Lt, {Pick(terms_), Pick(terms_)});
  std::vector<Constraint> cs;
  for (int64_t k = Draw(1, 2); k > 0; --k) {
    cs.push_back({RandomAffine(static_cast<int>(Draw(1, 2)), Chance(90)), Chance(40)});
  }
  return b_->Holds(cs);
}

// A read that its guard keeps in range, and something made of it.
void StatementGenerator::AddGuarded() {
  const Value array = arrays_[static_cast<size_t>(Draw(0, 1))];
  const Affine sub = RandomAffine(static_cast<int>(Draw(1, 2)), true);
  const Affine last = Affine::Of(extents_[array == arrays_[0] ? 0 : 1]) - Affine::Const(1);
  const Value guard = b_->Holds({{sub, false}, {last - sub, false}});
  guards_.push_back(guard);
  b_->SetGuard(guard);
  b_->SetLoc(++loc_);
  terms_.push_back(b_->Index(array, {sub}));
  terms_.push_back(b_->Make(Op::Mul, {terms_.back(), Pick(terms_)}));
  b_->SetGuard(ir::kNoValue);
}

void StatementGenerator::AddBody() {
  terms_.push_back(b_->F64(0.5));
  if (Chance(30)) {
    b_->SetLoc(++loc_);
    ints_.push_back(b_->Index(indices_array_, {RandomAffine(1, true)}));
  }
  for (int64_t k = Draw(1, 6); k > 0; --k) {
    if (!guards_.empty() && Chance(40)) b_->SetGuard(Pick(guards_));
    const int64_t what = Draw(0, 9);
    if (what < 4) terms_.push_back(AddRead());
    if (what == 4) terms_.push_back(b_->Cast(b_->AffineOf(RandomAffine(2, false)), DType::kF64));
    if (what >= 5 && what < 8) terms_.push_back(AddScalar());
    if (what == 8) guards_.push_back(AddGuard());
    b_->SetGuard(ir::kNoValue);
    if (what == 9) AddGuarded();
  }
}

EachResult StatementGenerator::PrefixResult() {
  EachResult r;
  const auto rank = static_cast<size_t>(Draw(0, static_cast<int64_t>(vars_.size())));
  for (size_t k = 0; k < rank; ++k) {
    r.out.push_back(Affine::Of(vars_[k]));
    r.shape.push_back(Chance(90) ? box_[k] : Extent());
  }
  r.monoid = static_cast<Monoid>(Draw(1, 6));
  return r;
}

// Out of the box, permuted, computed or gathered; every point of a gen has an element of its own.
EachResult StatementGenerator::ScatterResult() {
  EachResult r;
  r.monoid = Chance(50) ? Monoid::kGen : static_cast<Monoid>(Draw(1, 4));
  std::vector<size_t> order;
  for (size_t k = 0; k < vars_.size(); ++k) order.push_back(k);
  std::shuffle(order.begin(), order.end(), random_);
  for (size_t k : order) {
    r.out.push_back(Affine::Of(vars_[k]));
    r.shape.push_back(box_[k]);
  }
  if (r.monoid == Monoid::kGen) {
    if (Chance(60)) return r;
    r.monoid = static_cast<Monoid>(
        Draw(static_cast<int64_t>(Monoid::kScanSum), static_cast<int64_t>(Monoid::kScanLinear)));
    r.outer = static_cast<uint32_t>(Draw(0, static_cast<int64_t>(vars_.size())));
    return r;
  }
  r.out.resize(std::min<size_t>(r.out.size(), static_cast<size_t>(Draw(1, 2))));
  r.shape.resize(r.out.size());
  for (size_t k = 0; k < r.out.size(); ++k) {
    if (Chance(25)) r.out[k] = RandomAffine(2, false);
    if (Chance(25) && !ints_.empty()) r.out[k] = Affine::Of(Pick(ints_));
    if (Chance(20)) r.shape[k] = Extent();
  }
  return r;
}

EachResult StatementGenerator::RandomResult() {
  EachResult r = Chance(50) || vars_.empty() ? PrefixResult() : ScatterResult();
  r.value = Chance(80) ? terms_.back() : Pick(terms_);
  if (r.monoid == Monoid::kScanLinear) {
    r.second = terms_.front();
    if (f_->TypeOf(r.second) != f_->TypeOf(r.value)) r.second = r.value;
  }
  if (!guards_.empty() && Chance(30)) r.guard = Pick(guards_);
  return r;
}

RandomProgram StatementGenerator::Make() {
  const uint32_t id = program_.module.AddFunction("f");
  f_ = &program_.module.Get(id);
  Builder builder(program_.module, *f_);
  b_ = &builder;
  b_->NewBlock();
  b_->SetBlock(0);
  AddParams();
  AddSizes();
  for (int64_t k = Draw(0, 4); k > 0; --k) box_.push_back(Extent());
  vars_ = b_->BeginEach(box_);
  AddConstraints();
  AddBody();
  std::vector<EachResult> results;
  for (int64_t k = Draw(1, 3); k > 0; --k) results.push_back(RandomResult());
  b_->SetLoc(++loc_);
  const std::vector<Value> values = b_->EndEach(std::move(results));
  for (Value v : values) f_->results.push_back(f_->TypeOf(v));
  b_->Return(values);
  return std::move(program_);
}

}  // namespace

RandomProgram MakeRandomStatement(uint64_t seed) { return StatementGenerator(seed).Make(); }

}  // namespace pullback::loops
