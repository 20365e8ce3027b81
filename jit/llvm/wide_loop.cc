// Which loops go several iterations at a time, and what is around their bodies.
#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/STLExtras.h>

#include <optional>

#include "jit/llvm/wide.h"

namespace pullback::jit {

using Kind = loops::Node::Kind;
using ir::Op;
using llvm::Value;
using loops::Node;
using loops::Reg;

namespace {

int64_t WrappingAdd(int64_t a, int64_t b) {
  return static_cast<int64_t>(uint64_t(a) + uint64_t(b));
}
int64_t WrappingSub(int64_t a, int64_t b) {
  return static_cast<int64_t>(uint64_t(a) - uint64_t(b));
}
int64_t WrappingMul(int64_t a, int64_t b) {
  return static_cast<int64_t>(uint64_t(a) * uint64_t(b));
}

using Definitions = llvm::DenseMap<uint32_t, const Node*>;

Definitions DefinitionsOf(const Node& loop) {
  Definitions defs;
  ForEachNode(loop.body, [&](const Node& node) {
    for (const Reg r : node.results) defs[r.id] = &node;
  });
  return defs;
}

// By how much an i64 register grows from one iteration to the next: 0 or 1 or another constant, or
// nothing known. Only what is needed to recognise "invariant + index".
std::optional<int64_t> StepOf(const FunctionEmitter& e, const Node& loop, const Definitions& defs,
                              Reg r, int fuel = 64) {
  if (r == loop.results[0]) return 1;
  const auto def = defs.find(r.id);
  if (def == defs.end()) return 0;
  const Node& node = *def->second;
  if (node.kind != Kind::kScalar || fuel == 0) return std::nullopt;
  if (node.op == Op::Const) return 0;
  if (node.op != Op::Add && node.op != Op::Sub && node.op != Op::Mul) return std::nullopt;
  const auto x = StepOf(e, loop, defs, node.args[0], fuel - 1);
  const auto y = StepOf(e, loop, defs, node.args[1], fuel / 2);
  if (!x || !y) return std::nullopt;
  if (node.op == Op::Add) return WrappingAdd(*x, *y);
  if (node.op == Op::Sub) return WrappingSub(*x, *y);
  if (*x == 0 && *y == 0) return 0;
  const auto factor = e.facts().Constant(node.args[*x == 0 ? 0 : 1]);
  if (!factor || (*x != 0 && *y != 0)) return std::nullopt;
  return WrappingMul(*x == 0 ? *y : *x, *factor);
}

bool IsWideKind(Kind kind) {
  switch (kind) {
    case Kind::kScalar:
    case Kind::kDim:
    case Kind::kLoad:
    case Kind::kStore:
    case Kind::kIf:
    case Kind::kLaneAdd:
    case Kind::kCheck: return true;
    default: return false;
  }
}

// Lanes that the loop adds to, and their offsets; nothing where two terms of the same lanes have
// different ones, or one is not "invariant + index".
using LaneOffsets = llvm::MapVector<uint32_t, Reg>;

std::optional<LaneOffsets> LaneOffsetsOf(const FunctionEmitter& e, const Node& loop,
                                         const Definitions& defs) {
  LaneOffsets offsets;
  bool good = true;
  ForEachNode(loop.body, [&](const Node& node) {
    if (node.kind != Kind::kLaneAdd) return;
    const Reg first = offsets.insert({node.args[0].id, node.args[1]}).first->second;
    good = good && first == node.args[1] && StepOf(e, loop, defs, node.args[1]) == 1;
  });
  return good ? std::optional(offsets) : std::nullopt;
}

// Stores of eight iterations may go at once when each iteration touches elements of its own (every
// access to the array has one and the same offset, and that moves), or when the body does not read
// the array and stores into it in one place: elsewhere each time, or in order.
bool StoresAreIndependent(const FunctionEmitter& e, const Node& loop, const Definitions& defs) {
  struct Accesses {
    int loads = 0;
    int stores = 0;
    std::optional<Reg> offset;  // of all of them
    bool same = true;
  };
  llvm::DenseMap<uint32_t, Accesses> arrays;
  ForEachNode(loop.body, [&](const Node& node) {
    if (node.kind != Kind::kStore && node.kind != Kind::kLoad) return;
    Accesses& a = arrays[node.args[0].id];
    ++(node.kind == Kind::kStore ? a.stores : a.loads);
    a.same = a.same && a.offset.value_or(node.args[1]) == node.args[1];
    a.offset = node.args[1];
  });
  return llvm::all_of(arrays, [&](const auto& entry) {
    const Accesses& a = entry.second;
    if (a.stores == 0) return true;
    const auto step = StepOf(e, loop, defs, *a.offset);
    if (step && *step != 0 && a.same) return true;
    return step != 0 && a.loads == 0 && a.stores == 1;
  });
}

// The value of an offset accepted by StepOf, at this index.
Value* ValueAt(FunctionEmitter& e, const Node& loop, const Definitions& defs, Reg r, Value* index) {
  if (r == loop.results[0]) return index;
  const auto def = defs.find(r.id);
  if (def == defs.end()) return e.Get(r);
  const Node& node = *def->second;
  if (node.op == Op::Const) return EmitConst(e.m(), DType::kI64, node.bits);
  Value* args[] = {ValueAt(e, loop, defs, node.args[0], index),
                   ValueAt(e, loop, defs, node.args[1], index)};
  return EmitOp({e.m(), e.b(), args, DType::kI64, DType::kI64, node.op});
}

// Position p of the result is position (p + by) mod 8 of v; `back` undoes it.
Value* Rotate(llvm::IRBuilder<>& b, Value* v, Value* by, bool back) {
  if (auto* known = llvm::dyn_cast<llvm::ConstantInt>(by); known && known->isZero()) return v;
  for (int bit = 1; bit < kLanes; bit *= 2) {
    llvm::SmallVector<int, kLanes> from;
    for (int p = 0; p < kLanes; ++p) from.push_back((p + (back ? kLanes - bit : bit)) % kLanes);
    Value* set = b.CreateIsNotNull(b.CreateAnd(by, b.getInt64(static_cast<uint64_t>(bit))));
    v = b.CreateSelect(set, b.CreateShuffleVector(v, from), v);
  }
  return v;
}

// The loop's body without what it stores and adds.
std::vector<Node> WithoutEffects(const std::vector<Node>& nodes) {
  std::vector<Node> kept;
  for (const Node& node : nodes) {
    if (node.kind == Kind::kStore || node.kind == Kind::kLaneAdd) continue;
    kept.push_back(node);
    kept.back().body = WithoutEffects(node.body);
    kept.back().other = WithoutEffects(node.other);
  }
  return kept;
}

// Runs the loop from `start` until it traps.
void EmitReplay(FunctionEmitter& e, const Node& loop, llvm::PHINode* start) {
  llvm::IRBuilder<>& b = e.b();
  b.SetInsertPoint(start->getParent());
  const std::vector<Node> body = WithoutEffects(loop.body);
  e.CountedLoop(start, e.Get(loop.args[1]), 1, 0, [&](Value* index) {
    e.Set(loop.results[0], index);
    e.EmitNodes(body);
  });
  e.Trap(ir::TrapKind::kIndex, 0, b.getInt64(0), b.getInt64(0));  // not reached
}

// Sixteen where that fills vector registers better: all floats are f32, and no lanes.
int WidthOf(FunctionEmitter& e, const Node& loop) {
  bool f32 = false;
  bool others = false;
  ForEachNode(loop.body, [&](const Node& node) {
    others = others || node.kind == Kind::kLaneAdd;
    for (const Reg r : node.results) {
      f32 = f32 || e.Elem(r) == DType::kF32;
      others = others || e.Elem(r) == DType::kF64;
    }
  });
  return f32 && !others && e.m().vector_bytes() >= 64 ? 2 * kLanes : kLanes;
}

bool HasCheck(const Node& loop) {
  bool found = false;
  ForEachNode(loop.body, [&](const Node& node) { found = found || node.kind == Kind::kCheck; });
  return found;
}

}  // namespace

bool CanBeWide(const FunctionEmitter& e, const Node& loop) {
  const auto trips = e.facts().Trips(loop);
  if (trips && *trips < kLanes) return false;
  bool good = true;
  bool useful = false;
  ForEachNode(loop.body, [&](const Node& node) {
    good = good && IsWideKind(node.kind) &&
           llvm::all_of(node.results, [&](Reg r) { return e.TypeOf(r).IsScalar(); });
    if (node.kind == Kind::kLaneAdd) good = good && !e.facts().FewLanes(node.args[0]);
    useful = useful || node.kind == Kind::kLaneAdd || node.kind == Kind::kStore ||
             node.kind == Kind::kCheck;
  });
  if (!good || !useful) return false;
  const Definitions defs = DefinitionsOf(loop);
  return StoresAreIndependent(e, loop, defs) && LaneOffsetsOf(e, loop, defs).has_value();
}

void EmitWide(FunctionEmitter& e, const Node& loop) {
  llvm::IRBuilder<>& b = e.b();
  Value* lo = e.Get(loop.args[0]);
  Value* hi = e.Get(loop.args[1]);
  const int width = WidthOf(e, loop);
  const Definitions defs = DefinitionsOf(loop);
  const LaneOffsets offsets = *LaneOffsetsOf(e, loop, defs);
  llvm::SmallVector<Value*, 4> rotations;
  for (const auto& [lanes, offset] : offsets) {
    Value* by = b.CreateAnd(ValueAt(e, loop, defs, offset, lo), b.getInt64(kLanes - 1));
    rotations.push_back(by);
    e.StoreLanes(Reg{lanes}, Rotate(b, e.LoadLanes(Reg{lanes}), by, false));
  }
  llvm::PHINode* replay = nullptr;
  if (HasCheck(loop)) {
    replay = llvm::IRBuilder<>(e.NewBlock("replay")).CreatePHI(b.getInt64Ty(), 2);
  }

  const uint64_t below = static_cast<uint64_t>(width) - 1;
  Value* whole = b.CreateAnd(b.CreateSub(hi, lo), b.getInt64(~below));
  Value* whole_end = b.CreateAdd(lo, whole);
  llvm::BasicBlock* groups = e.NewBlock("groups");
  llvm::BasicBlock* rest = e.NewBlock("rest");
  llvm::BasicBlock* part = e.NewBlock("part");
  llvm::BasicBlock* done = e.NewBlock("done");
  b.CreateCondBr(b.CreateIsNull(whole), rest, groups);
  b.SetInsertPoint(groups);
  e.CountedLoop(lo, whole_end, width, e.PollEvery(loop) / width, [&](Value* index) {
    WideBody(e, loop, width, index, nullptr, replay).Emit(loop.body);
  });
  b.CreateBr(rest);

  b.SetInsertPoint(rest);
  b.CreateCondBr(b.CreateICmpEQ(whole_end, hi), done, part);
  b.SetInsertPoint(part);
  Value* left = b.CreateVectorSplat(static_cast<unsigned>(width), b.CreateSub(hi, whole_end));
  Value* mask = b.CreateICmpULT(WideBody::Numbers(b, width), left);
  WideBody(e, loop, width, whole_end, mask, replay).Emit(loop.body);
  b.CreateBr(done);

  if (replay != nullptr) EmitReplay(e, loop, replay);
  b.SetInsertPoint(done);
  size_t k = 0;
  for (const auto& [lanes, offset] : offsets) {
    e.StoreLanes(Reg{lanes}, Rotate(b, e.LoadLanes(Reg{lanes}), rotations[k++], true));
  }
}

}  // namespace pullback::jit
