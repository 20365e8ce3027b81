// What each node of the loop IR does in the test interpreter.
#include "core/ir/monoid.h"
#include "core/loops/interpreter.h"
#include "core/loops/sizes.h"

namespace pullback::loops {

using ir::Op;
using ir::Type;
using Kind = Node::Kind;

bool Interpreter::Exec(Frame& frame, const Node& n) {
  Register r;
  switch (n.kind) {
    case Kind::kScalar: return Scalar(frame, n);
    case Kind::kDim:
      return Read(frame, n.args[0], r) &&
             DefineBits(frame, n.results[0], static_cast<uint64_t>(r.object->dims[n.bits]));
    case Kind::kLoad: return Load(frame, n);
    case Kind::kStore: return Store(frame, n);
    case Kind::kAlloc: return Alloc(frame, n);
    case Kind::kRetain:
      if (!Read(frame, n.args[0], r)) return false;
      ++r.object->refs;
      ++frame.regs[n.args[0].id].owned;
      return true;
    case Kind::kRelease:
      if (!Take(frame, n.args[0], r)) return false;
      Release(r.object);
      return true;
    case Kind::kUnique: return Unique(frame, n);
    case Kind::kFor: return For(frame, n);
    case Kind::kIf: return If(frame, n);
    case Kind::kLanesNew:
      r.lanes.fill(ir::MonoidIdentity(n.monoid, frame.f.TypeOf(n.results[0]).elem));
      return Define(frame, n.results[0], r);
    case Kind::kLaneAdd: return LaneAdd(frame, n);
    case Kind::kLanesTotal: return LanesTotal(frame, n);
    case Kind::kCheck: return Check(frame, n);
    case Kind::kCall: {
      std::vector<Register> args, results;
      if (!TakeAll(frame, n.args, args) || !Call(n.callee, args, results)) return false;
      for (size_t i = 0; i < results.size(); ++i) {
        if (!Define(frame, n.results[i], results[i])) return false;
      }
      return true;
    }
    case Kind::kTapeNew: r.object = NewObject(Type::Tape()); return Define(frame, n.results[0], r);
    case Kind::kPush: return Push(frame, n);
    case Kind::kPop: return Pop(frame, n);
    case Kind::kContract: return Contract(frame, n);
    case Kind::kList: return List(frame, n);
  }
  return false;
}

bool Interpreter::Scalar(Frame& frame, const Node& n) {
  if (n.op == Op::Const) return DefineBits(frame, n.results[0], n.bits);
  uint64_t args[3] = {};
  for (size_t i = 0; i < n.args.size(); ++i) {
    Register r;
    if (!Read(frame, n.args[i], r)) return false;
    args[i] = r.bits;
  }
  const DType operand = frame.f.TypeOf(n.args[n.op == Op::Select ? 1 : 0]).elem;
  const DType result = frame.f.TypeOf(n.results[0]).elem;
  if (n.op == Op::Cast) return DefineBits(frame, n.results[0], ops_.cast(operand, result, args[0]));
  const bool divides = (n.op == Op::Div || n.op == Op::Rem) && operand == DType::kI64;
  if (divides && args[1] == 0) return Broken(frame, "a division by zero that no check caught");
  return DefineBits(frame, n.results[0], ops_.eval(n.op, operand, args));
}

// --- arrays

bool Interpreter::Element(Frame& frame, const Node& n, Object*& array, size_t& offset) {
  Register a, o;
  if (!Read(frame, n.args[0], a) || !Read(frame, n.args[1], o)) return false;
  array = a.object;
  offset = o.bits;
  if (offset < array->elements.size()) return true;
  return Broken(frame, "offset " + std::to_string(static_cast<int64_t>(offset)) +
                           " in an array of " + std::to_string(array->elements.size()));
}

bool Interpreter::Load(Frame& frame, const Node& n) {
  Object* array = nullptr;
  size_t offset = 0;
  if (!Element(frame, n, array, offset)) return false;
  if (!array->stored[offset]) return Broken(frame, "an element is read before it is stored");
  return DefineBits(frame, n.results[0], array->elements[offset]);
}

bool Interpreter::Store(Frame& frame, const Node& n) {
  Object* array = nullptr;
  size_t offset = 0;
  Register value;
  if (!Element(frame, n, array, offset) || !Read(frame, n.args[2], value)) return false;
  if (array->refs != 1) return Broken(frame, "a store into an array that is shared");
  array->elements[offset] = value.bits;
  array->stored[offset] = true;
  return true;
}

bool Interpreter::Alloc(Frame& frame, const Node& n) {
  Register r;
  r.object = NewObject(frame.f.TypeOf(n.results[0]));
  int64_t count = 1;
  for (Reg e : n.args) {
    Register extent;
    if (!Read(frame, e, extent)) return false;
    r.object->dims.push_back(static_cast<int64_t>(extent.bits));
    if (r.object->dims.back() < 0) return Broken(frame, "a negative extent that no check caught");
    if (r.object->dims.back() > kMaxExtent) {
      outcome_.trap = Outcome::Trap{ir::TrapKind::kMemory, n.loc};
      return false;
    }
    count *= r.object->dims.back();
  }
  r.object->elements.assign(static_cast<size_t>(count), 0);
  r.object->stored.assign(static_cast<size_t>(count), n.bits == 1);
  outcome_.elements += count;
  outcome_.made.push_back(count);
  return Define(frame, n.results[0], r);
}

bool Interpreter::Unique(Frame& frame, const Node& n) {
  Register r;
  if (!Take(frame, n.args[0], r)) return false;
  if (r.object->refs > 1) {
    Object* copy = NewObject(r.object->type);
    *copy = *r.object;
    copy->refs = 1;
    Release(r.object);
    r.object = copy;
    ++outcome_.copies;
  }
  return Define(frame, n.results[0], r);
}

// --- structure

namespace {

void Forget(Registers& regs, const std::vector<Node>& nodes) {
  for (const Node& n : nodes) {
    for (Reg r : n.results) regs[r.id].defined = false;
  }
}

}  // namespace

bool Interpreter::For(Frame& frame, const Node& n) {
  Register lo, hi;
  if (!Read(frame, n.args[0], lo) || !Read(frame, n.args[1], hi)) return false;
  const auto end = static_cast<int64_t>(hi.bits);
  for (auto i = static_cast<int64_t>(lo.bits); i < end; ++i) {
    ++outcome_.iterations;
    if (!DefineBits(frame, n.results[0], static_cast<uint64_t>(i))) return false;
    if (!Nodes(frame, n.body)) return false;
    Forget(frame.regs, n.body);
  }
  frame.regs[n.results[0].id].defined = false;
  return true;
}

bool Interpreter::If(Frame& frame, const Node& n) {
  Register condition;
  if (!Read(frame, n.args[0], condition)) return false;
  const bool yes = condition.bits != 0;
  const std::vector<Node>& arm = yes ? n.body : n.other;
  std::vector<Register> yields;
  if (!Nodes(frame, arm)) return false;
  if (!TakeAll(frame, yes ? n.body_yields : n.other_yields, yields)) return false;
  Forget(frame.regs, arm);
  for (size_t i = 0; i < n.results.size(); ++i) {
    if (!Define(frame, n.results[i], yields[i])) return false;
  }
  return true;
}

// There is no library here.
bool Interpreter::Contract(Frame& frame, const Node& n) {
  Register operand;
  for (Reg r : n.args) {
    if (!Read(frame, r, operand)) return false;
  }
  if (!Nodes(frame, n.body)) return false;
  Forget(frame.regs, n.body);
  return true;
}

bool Interpreter::LaneAdd(Frame& frame, const Node& n) {
  Register lanes, offset, term;
  if (!Read(frame, n.args[0], lanes) || !Read(frame, n.args[1], offset)) return false;
  if (!Read(frame, n.args[2], term)) return false;
  uint64_t& lane = frame.regs[n.args[0].id].lanes[offset.bits & 7];
  lane = Join(n.monoid, frame.f.TypeOf(n.args[2]).elem, lane, term.bits);
  return true;
}

bool Interpreter::LanesTotal(Frame& frame, const Node& n) {
  Register r;
  if (!Read(frame, n.args[0], r)) return false;
  const DType t = frame.f.TypeOf(n.results[0]).elem;
  const auto& l = r.lanes;
  const auto join = [&](uint64_t x, uint64_t y) { return Join(n.monoid, t, x, y); };
  const uint64_t even = join(join(l[0], l[4]), join(l[2], l[6]));
  const uint64_t odd = join(join(l[1], l[5]), join(l[3], l[7]));
  return DefineBits(frame, n.results[0], join(even, odd));
}

bool Interpreter::Check(Frame& frame, const Node& n) {
  Register condition;
  if (!Read(frame, n.args[0], condition)) return false;
  if (condition.bits != 0) return true;
  Outcome::Trap trap{static_cast<ir::TrapKind>(n.bits), n.loc};
  int64_t* details[] = {&trap.a, &trap.b};
  for (size_t i = 1; i < n.args.size(); ++i) {
    Register r;
    if (!Read(frame, n.args[i], r)) return false;
    *details[i - 1] = static_cast<int64_t>(r.bits);
  }
  outcome_.trap = trap;
  return false;
}

// --- tapes

bool Interpreter::Push(Frame& frame, const Node& n) {
  Register tape, value;
  if (!Take(frame, n.args[0], tape) || !Take(frame, n.args[1], value)) return false;
  tape.object->slots.push_back({frame.f.TypeOf(n.args[1]), value.bits, value.object});
  return Define(frame, n.results[0], tape);
}

bool Interpreter::Pop(Frame& frame, const Node& n) {
  Register tape, value;
  if (!Take(frame, n.args[0], tape)) return false;
  if (tape.object->slots.empty()) return Broken(frame, "a pop from an empty tape");
  const Object::Slot slot = tape.object->slots.back();
  tape.object->slots.pop_back();
  if (slot.type != frame.f.TypeOf(n.results[1])) return Broken(frame, "a pop of another type");
  value.bits = slot.bits;
  value.object = slot.object;
  return Define(frame, n.results[0], tape) && Define(frame, n.results[1], value);
}

}  // namespace pullback::loops
