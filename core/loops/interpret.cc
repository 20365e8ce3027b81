#include "core/loops/interpret.h"

#include <array>
#include <bit>
#include <limits>
#include <memory>

#include "core/loops/sizes.h"

namespace pullback::loops {
namespace {

using ir::Op;
using ir::Type;
using Kind = Node::Kind;

// An array or a tape.
struct Object {
  Type type;
  int64_t refs = 1;
  std::vector<int64_t> dims;
  std::vector<uint64_t> elements;
  std::vector<bool> stored;
  struct Slot {
    Type type;
    uint64_t bits;
    Object* object;
  };
  std::vector<Slot> slots;  // of a tape
};

struct Register {
  bool defined = false;
  uint64_t bits = 0;
  Object* object = nullptr;
  int64_t owned = 0;  // references to `object` that this register has to give away
  std::array<uint64_t, 8> lanes{};
};
using Registers = std::vector<Register>;

constexpr int kMaxDepth = 1000;

uint64_t Identity(ir::Monoid m, DType t) {
  const bool is_int = t == DType::kI64;
  const auto real = [&](double v) {
    return t == DType::kF32 ? std::bit_cast<uint32_t>(static_cast<float>(v))
                            : std::bit_cast<uint64_t>(v);
  };
  const double inf = std::numeric_limits<double>::infinity();
  switch (m) {
    case ir::Monoid::kGen:
    case ir::Monoid::kSum: return 0;
    case ir::Monoid::kProd: return is_int ? 1 : real(1.0);
    case ir::Monoid::kMax: return is_int ? uint64_t{1} << 63 : real(-inf);
    case ir::Monoid::kMin: return is_int ? ~(uint64_t{1} << 63) : real(inf);
  }
  return 0;
}

Op OpOf(ir::Monoid m) {
  switch (m) {
    case ir::Monoid::kProd: return Op::Mul;
    case ir::Monoid::kMax: return Op::Max;
    case ir::Monoid::kMin: return Op::Min;
    default: return Op::Add;
  }
}

class Interpreter {
 public:
  Interpreter(const Module& m, const ScalarOps& ops) : m_(m), ops_(ops) {}

  StatusOr<Outcome> Run(const std::vector<Tensor>& args);

 private:
  // A run of one function. Every step answers whether to go on.
  struct Frame {
    const Function& f;
    Registers regs;
  };

  bool Broken(const Frame& frame, const std::string& what) {
    if (status_.ok()) {
      status_ = Status(Code::kInternal, "LOOPS_BROKEN", "@" + frame.f.name + ": " + what);
    }
    return false;
  }

  Object* NewObject(Type t) {
    heap_.push_back(std::make_unique<Object>());
    heap_.back()->type = t;
    return heap_.back().get();
  }
  Object* FromTensor(const Tensor& t);
  static Tensor ToTensor(Type type, const Register& r);

  // --- registers
  bool Read(const Frame& frame, Reg r, Register& out);
  bool Define(Frame& frame, Reg r, Register value);
  bool DefineBits(Frame& frame, Reg r, uint64_t bits) {
    Register value;
    value.bits = bits;
    return Define(frame, r, value);
  }
  // Moves one reference out of r.
  bool Take(Frame& frame, Reg r, Register& out);
  void Release(Object* o);
  bool TakeAll(Frame& frame, const std::vector<Reg>& regs, std::vector<Register>& out);

  // --- nodes
  bool Call(uint32_t callee, std::vector<Register> args, std::vector<Register>& results);
  bool RunBlocks(Frame& frame, std::vector<Register>& results);
  bool Nodes(Frame& frame, const std::vector<Node>& nodes);
  bool Exec(Frame& frame, const Node& n);
  bool Scalar(Frame& frame, const Node& n);
  bool Element(Frame& frame, const Node& n, Object*& array, size_t& offset);
  bool Load(Frame& frame, const Node& n);
  bool Store(Frame& frame, const Node& n);
  bool Alloc(Frame& frame, const Node& n);
  bool Unique(Frame& frame, const Node& n);
  bool For(Frame& frame, const Node& n);
  bool If(Frame& frame, const Node& n);
  bool LaneAdd(Frame& frame, const Node& n);
  bool LanesTotal(Frame& frame, const Node& n);
  bool Check(Frame& frame, const Node& n);
  bool Push(Frame& frame, const Node& n);
  bool Pop(Frame& frame, const Node& n);
  uint64_t Join(ir::Monoid m, DType t, uint64_t x, uint64_t y) const {
    const uint64_t args[] = {x, y};
    return ops_.eval(OpOf(m), t, args);
  }

  const Module& m_;
  const ScalarOps& ops_;
  std::vector<std::unique_ptr<Object>> heap_;
  Outcome outcome_;
  Status status_;
  int depth_ = 0;
};

// --- tensors

Object* Interpreter::FromTensor(const Tensor& t) {
  Object* o = NewObject(Type::Array(t.dtype, static_cast<int>(t.shape.size())));
  o->dims = t.shape;
  o->elements.assign(static_cast<size_t>(t.ElementCount()), 0);
  const size_t size = DTypeSize(t.dtype);
  for (size_t i = 0; i < o->elements.size(); ++i) {
    std::memcpy(&o->elements[i], t.data.data() + i * size, size);
  }
  o->stored.assign(o->elements.size(), true);
  return o;
}

Tensor Interpreter::ToTensor(Type type, const Register& r) {
  Tensor t{type.elem, {}, {}};
  std::vector<uint64_t> elements = {r.bits};
  if (type.IsArray()) {
    t.shape = r.object->dims;
    elements = r.object->elements;
  }
  const size_t size = DTypeSize(type.elem);
  t.data.resize(elements.size() * size);
  for (size_t i = 0; i < elements.size(); ++i) {
    std::memcpy(t.data.data() + i * size, &elements[i], size);
  }
  return t;
}

// The caller keeps a reference to every array it passes, as the server does with a request's inputs.
StatusOr<Outcome> Interpreter::Run(const std::vector<Tensor>& args) {
  const Function& f = *m_.functions[m_.entry];
  std::vector<Register> in, out;
  for (size_t i = 0; i < args.size(); ++i) {
    Register r;
    if (f.TypeOf(f.blocks[0].params[i]).IsArray()) {
      r.object = FromTensor(args[i]);
      r.object->refs = 2;
    } else {
      r.bits = FromTensor(args[i])->elements[0];
    }
    in.push_back(r);
  }
  const std::vector<Register> inputs = in;
  if (!Call(m_.entry, in, out)) {
    if (!status_.ok()) return status_;
    return outcome_;
  }
  for (size_t i = 0; i < out.size(); ++i) {
    outcome_.values.push_back(ToTensor(f.results[i], out[i]));
    if (out[i].object) Release(out[i].object);
  }
  for (const Register& r : inputs) {
    if (r.object) Release(r.object);
  }
  const Frame frame{f, {}};
  for (const auto& o : heap_) {
    if (o->type.rank > 0 || o->type.IsTape()) {
      if (o->refs != 0 && !Broken(frame, "a reference is left")) return status_;
    }
  }
  return outcome_;
}

// --- registers

bool Interpreter::Read(const Frame& frame, Reg r, Register& out) {
  const Register& reg = frame.regs[r.id];
  if (!reg.defined) return Broken(frame, "register " + std::to_string(r.id) + " is not defined");
  if (reg.object && reg.owned == 0) {
    return Broken(frame, "register " + std::to_string(r.id) + " was given away");
  }
  out = reg;
  return true;
}

bool Interpreter::Define(Frame& frame, Reg r, Register value) {
  Register& reg = frame.regs[r.id];
  if (reg.owned > 0) return Broken(frame, "register " + std::to_string(r.id) + " leaks");
  reg = value;
  reg.defined = true;
  reg.owned = reg.object ? 1 : 0;
  return true;
}

bool Interpreter::Take(Frame& frame, Reg r, Register& out) {
  if (!Read(frame, r, out)) return false;
  if (out.object) --frame.regs[r.id].owned;
  return true;
}

bool Interpreter::TakeAll(Frame& frame, const std::vector<Reg>& regs, std::vector<Register>& out) {
  for (Reg r : regs) {
    out.emplace_back();
    if (!Take(frame, r, out.back())) return false;
  }
  return true;
}

void Interpreter::Release(Object* o) {
  if (--o->refs > 0) return;
  for (const Object::Slot& s : o->slots) {
    if (s.object) Release(s.object);
  }
}

// --- functions

bool Interpreter::Call(uint32_t callee, std::vector<Register> args,
                       std::vector<Register>& results) {
  const Function& f = *m_.functions[callee];
  Frame frame{f, Registers(f.regs.size())};
  if (++depth_ > kMaxDepth) {
    outcome_.trap = Outcome::Trap{ir::TrapKind::kDepth};
    return false;
  }
  for (size_t i = 0; i < args.size(); ++i) {
    if (!Define(frame, f.blocks[0].params[i], args[i])) return false;
  }
  if (!RunBlocks(frame, results)) return false;
  --depth_;
  for (uint32_t id = 0; id < frame.regs.size(); ++id) {
    if (frame.regs[id].owned > 0) {
      return Broken(frame, "register " + std::to_string(id) + " is never given away");
    }
  }
  return true;
}

bool Interpreter::RunBlocks(Frame& frame, std::vector<Register>& results) {
  for (uint32_t b = 0;;) {
    const Block& block = frame.f.blocks[b];
    if (!Nodes(frame, block.nodes)) return false;
    const ir::Terminator& term = block.term;
    if (term.kind == ir::Terminator::Kind::kReturn) return TakeAll(frame, term.results, results);
    size_t taken = 0;
    if (term.kind == ir::Terminator::Kind::kBranch) {
      Register condition;
      if (!Read(frame, term.cond, condition)) return false;
      taken = condition.bits != 0 ? 0 : 1;
    }
    const ir::Edge& edge = term.edges[taken];
    std::vector<Register> args;
    if (!TakeAll(frame, edge.args, args)) return false;
    b = edge.block;
    for (size_t i = 0; i < args.size(); ++i) {
      if (!Define(frame, frame.f.blocks[b].params[i], args[i])) return false;
    }
  }
}

bool Interpreter::Nodes(Frame& frame, const std::vector<Node>& nodes) {
  for (const Node& n : nodes) {
    if (!Exec(frame, n)) return false;
  }
  return true;
}

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
      r.lanes.fill(Identity(n.monoid, frame.f.TypeOf(n.results[0]).elem));
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

}  // namespace

StatusOr<Outcome> Interpret(const Module& module, const std::vector<Tensor>& args,
                            const ScalarOps& ops) {
  return Interpreter(module, ops).Run(args);
}

}  // namespace pullback::loops
