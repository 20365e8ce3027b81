#include "core/loops/interpret.h"

#include "core/loops/interpreter.h"

namespace pullback::loops {

using ir::Type;

namespace {

constexpr int kMaxDepth = 1000;

}  // namespace

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
    if (o->type.rank > 0 || o->type.IsTape() || o->type.IsList()) {
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

bool Interpreter::TakeAll(Frame& frame, ir::ValueSpan regs, std::vector<Register>& out) {
  for (Reg r : regs) {
    out.emplace_back();
    if (!Take(frame, r, out.back())) return false;
  }
  return true;
}

void Interpreter::Release(Object* o) {
  std::vector<Object*> work = {o};  // lists may nest deep
  while (!work.empty()) {
    Object* const next = work.back();
    work.pop_back();
    if (--next->refs > 0) continue;
    for (const Object::Slot& s : next->slots) {
      if (s.object) work.push_back(s.object);
    }
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

StatusOr<Outcome> Interpret(const Module& module, const std::vector<Tensor>& args,
                            const ScalarOps& ops) {
  return Interpreter(module, ops).Run(args);
}

}  // namespace pullback::loops
