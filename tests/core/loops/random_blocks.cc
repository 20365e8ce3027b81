#include "tests/core/loops/random_blocks.h"

#include <random>

#include "core/ir/builder.h"

namespace pullback::loops {
namespace {

using ir::Affine;
using ir::Builder;
using ir::Edge;
using ir::Op;
using ir::Type;
using ir::Value;

const Type kArray = Type::Array(DType::kF64, 1);

// Every second block has the parameters (k, p, q, tape) and ends the run when k is used up; the one
// after it jumps on to any of them.
class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {}

  RandomProgram Make();

 private:
  int64_t Draw(int64_t lo, int64_t hi) {
    return std::uniform_int_distribution<int64_t>(lo, hi)(random_);
  }
  bool Chance(int percent) { return Draw(1, 100) <= percent; }
  Value PickArray() {
    return arrays_[static_cast<size_t>(Draw(0, static_cast<int64_t>(arrays_.size()) - 1))];
  }

  void AddHelper(uint32_t id);
  void AddOps(int count);
  void AddOp();
  Edge EdgeTo(int64_t head, Value k);
  void AddBlocks();
  std::vector<Value> FillEntry();
  void FillPair(uint32_t head, const std::vector<Value>& outer);

  std::mt19937_64 random_;
  RandomProgram program_;
  Builder* b_ = nullptr;
  std::vector<Value> arrays_;  // in scope
  Value tape_;
  int pushed_ = 0;
  uint32_t helper_ = 0;
  int heads_ = 0;
  uint32_t exit_ = 0;
};

// Takes two arrays and gives two back, one of which is changed.
void Generator::AddHelper(uint32_t id) {
  ir::Function& f = program_.module.Get(id);
  f.results = {kArray, kArray};
  Builder b(program_.module, f);
  b.NewBlock();
  const Value x = b.AddParam(0, kArray), y = b.AddParam(0, kArray);
  const Value z = b.AddAt(x, {Affine::Const(0)}, b.F64(1.0));
  b.Return({Chance(50) ? y : z, z});
}

void Generator::AddOp() {
  switch (Draw(0, 5)) {
    case 0:
      arrays_.push_back(b_->Update(PickArray(), {Affine::Const(Draw(0, 1))}, b_->F64(0.5)));
      break;
    case 1: arrays_.push_back(b_->AddAt(PickArray(), {Affine::Const(1)}, b_->F64(0.25))); break;
    case 2: arrays_.push_back(b_->AddArrays(PickArray(), PickArray())); break;
    case 3:
      for (Value v : b_->Call(helper_, {PickArray(), PickArray()})) arrays_.push_back(v);
      break;
    case 4:
      tape_ = b_->Push(tape_, PickArray());
      ++pushed_;
      break;
    default: {
      if (pushed_ == 0) return;
      const auto [tape, v] = b_->Pop(tape_, kArray);
      tape_ = tape;
      arrays_.push_back(v);
      --pushed_;
    }
  }
}

void Generator::AddOps(int count) {
  for (int i = 0; i < count; ++i) AddOp();
}

Edge Generator::EdgeTo(int64_t head, Value k) {
  return {static_cast<uint32_t>(1 + 2 * head), {k, PickArray(), PickArray()}};
}

void Generator::AddBlocks() {
  for (uint32_t b = 0; b <= exit_; ++b) b_->NewBlock();
  for (uint32_t b = 1; b <= exit_; b += 2) {
    if (b != exit_) b_->AddParam(b, Type::I64());
    b_->AddParam(b, kArray);
    b_->AddParam(b, kArray);
  }
}

// The arrays that every block sees.
std::vector<Value> Generator::FillEntry() {
  arrays_ = {b_->AddParam(0, kArray), b_->AddParam(0, kArray)};
  program_.args = {Tensor::Of<double>(DType::kF64, {2}, {1, 2}),
                   Tensor::Of<double>(DType::kF64, {2}, {3, 4})};
  b_->SetBlock(0);
  tape_ = b_->TapeNew();
  AddOps(static_cast<int>(Draw(0, 3)));
  const std::vector<Value> outer = arrays_;
  const Edge first = EdgeTo(0, b_->I64(Draw(0, 6)));
  b_->Jump(first.block, first.args);
  return outer;
}

void Generator::FillPair(uint32_t head, const std::vector<Value>& outer) {
  const ir::Values params = b_->function().blocks[head].params;
  b_->SetBlock(head);
  arrays_ = outer;
  arrays_.insert(arrays_.end(), {params[1], params[2]});
  tape_ = b_->TapeNew();
  pushed_ = 0;
  AddOps(static_cast<int>(Draw(0, 4)));
  const Value more = b_->Make(Op::Gt, {params[0], b_->I64(0)});
  const Edge out{exit_, {PickArray(), PickArray()}};
  b_->Branch(more, {head + 1, {}}, out);
  b_->SetBlock(head + 1);
  AddOps(static_cast<int>(Draw(0, 3)));
  const Value next = b_->Make(Op::Sub, {params[0], b_->I64(1)});
  const Value odd = b_->Make(Op::Rem, {params[0], b_->I64(2)});
  const Value is_odd = b_->Make(Op::Eq, {odd, b_->I64(1)});
  const Edge yes = EdgeTo(Draw(0, heads_ - 1), next);
  // Every block is reached.
  b_->Branch(is_odd, yes, EdgeTo((head / 2 + 1) % heads_, next));
}

RandomProgram Generator::Make() {
  const uint32_t main = program_.module.AddFunction("main");
  helper_ = program_.module.AddFunction("helper");
  AddHelper(helper_);
  ir::Function& f = program_.module.Get(main);
  f.results = {kArray, kArray};
  Builder builder(program_.module, f);
  b_ = &builder;
  heads_ = static_cast<int>(Draw(1, 4));
  exit_ = static_cast<uint32_t>(2 * heads_ + 1);
  AddBlocks();
  const std::vector<Value> outer = FillEntry();
  for (uint32_t head = 1; head < exit_; head += 2) FillPair(head, outer);
  b_->SetBlock(exit_);
  arrays_ = outer;
  arrays_.insert(arrays_.end(), f.blocks[exit_].params.begin(), f.blocks[exit_].params.end());
  b_->Return({PickArray(), PickArray()});
  return std::move(program_);
}

}  // namespace

RandomProgram MakeRandomBlocks(uint64_t seed) { return Generator(seed).Make(); }

}  // namespace pullback::loops
