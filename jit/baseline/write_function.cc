// Functions, blocks, edges, calls, scalars.
#include <algorithm>
#include <cstring>

#include "core/base/math.h"
#include "jit/baseline/writer.h"

namespace pullback::jit {

using Kind = loops::Node::Kind;

namespace {

constexpr uint32_t kAround = 256;  // bytes that a frame takes beside its words, at most

x86::Mem ContextField(size_t offset, uint32_t size) {
  x86::Mem field = x86::ptr(x86::rbx, static_cast<int32_t>(offset));
  field.setSize(size);
  return field;
}

}  // namespace

FunctionWriter::FunctionWriter(ModuleWriter& m, uint32_t index)
    : m_(m),
      index_(index),
      f_(*m.source.functions[index]),
      a_(m.a),
      order_(loops::BlockOrder(f_)),
      position_(f_.blocks.size()),
      lifetimes_(f_, order_),
      values_(a_, f_, lifetimes_),
      labels_(f_.blocks.size()),
      stopped_(a_.newLabel()) {
  for (uint32_t i = 0; i < order_.size(); ++i) position_[order_[i]] = i;
  for (const uint32_t block : order_) labels_[block] = a_.newLabel();
}

Status FunctionWriter::Write() {
  WritePrologue();
  for (const uint32_t block : order_) WriteBlock(block);
  WriteTraps();
  return PatchFrame();
}

x86::Mem FunctionWriter::Outgoing(size_t word) {
  outgoing_ = std::max(outgoing_, word + 1);
  return x86::qword_ptr(x86::rsp, static_cast<int32_t>(8 * word));
}

void FunctionWriter::CallRuntime(const char* symbol) {
  a_.mov(x86::rdi, x86::rbx);
  m_.CallRuntime(symbol);
  values_.Forget();
}

// Asks for more of the stack before it is touched, then makes the frame.
void FunctionWriter::WritePrologue() {
  a_.bind(m_.functions[index_]);
  a_.push(x86::rbp);
  a_.mov(x86::rbp, x86::rsp);
  a_.push(x86::rbx);
  a_.sub(x86::rsp, Frame::kKept - 8);
  a_.mov(x86::rbx, x86::rdi);
  a_.mov(x86::ptr(x86::rbp, -16), x86::rdx);
  a_.mov(x86::ptr(x86::rbp, -24), x86::rsi);
  const asmjit::Label enough = a_.newLabel();
  a_.mov(x86::rax, x86::rbp);
  a_.sub(x86::rax, ContextField(offsetof(RunContext, stack_limit), 8));
  a_.mov(x86::edx, m_.frames[index_] + kAround);
  frame_at_[0] = a_.offset() - 4;
  a_.cmp(x86::rax, x86::rdx);
  a_.jge(enough);
  a_.mov(x86::rsi, x86::rbp);
  CallRuntime("pb_stack_grow");
  a_.bind(enough);
  a_.long_().sub(x86::rsp, m_.frames[index_]);  // with room for any size
  frame_at_[1] = a_.offset() - 4;
  if (m_.Recursive(index_)) {
    a_.mov(x86::eax, ContextField(offsetof(RunContext, depth), 4));
    a_.inc(x86::eax);
    a_.mov(ContextField(offsetof(RunContext, depth), 4), x86::eax);
    a_.cmp(x86::eax, ContextField(offsetof(RunContext, max_depth), 4));
    a_.jg(stopped_);
    Poll();
  }
  for (const uint32_t block : order_) {
    for (const Reg p : f_.blocks[block].params) values_.Slot(p);
  }
  a_.mov(x86::rcx, x86::ptr(x86::rbp, -24));
  const ir::Values& params = f_.blocks[0].params;
  for (size_t i = 0; i < params.size(); ++i) {
    a_.mov(x86::rax, x86::ptr(x86::rcx, static_cast<int32_t>(8 * i)));
    values_.Set(params[i], x86::rax);
  }
}

Status FunctionWriter::PatchFrame() {
  const int64_t slots = values_.frame().bytes();
  const int64_t bytes = (slots + static_cast<int64_t>(8 * outgoing_) + 15) / 16 * 16;
  if (bytes > ModuleWriter::kMostFrame) {
    return {Code::kResourceExhausted, "FRAME_TOO_LARGE",
            "the program needs more native stack than a function may use: " +
                std::to_string(bytes) + " bytes"};
  }
  const auto frame = static_cast<uint32_t>(bytes);
  const uint32_t asked = frame + kAround;
  m_.frames[index_] = frame;
  uint8_t* code = a_.code()->textSection()->data();
  std::memcpy(code + frame_at_[0], &asked, 4);
  std::memcpy(code + frame_at_[1], &frame, 4);
  return {};
}

void FunctionWriter::WriteBlock(uint32_t block) {
  values_.Forget();
  a_.bind(labels_[block]);
  WriteNodes(f_.blocks[block].nodes);
  values_.StartNode();
  const ir::Terminator& term = f_.blocks[block].term;
  switch (term.kind) {
    case ir::Terminator::Kind::kJump: return WriteEdge(block, term.edges[0]);
    case ir::Terminator::Kind::kReturn: return WriteReturn(term.results);
    case ir::Terminator::Kind::kBranch: break;
    case ir::Terminator::Kind::kNone: PB_CHECK(!"a block without an end");
  }
  const asmjit::Label no = a_.newLabel();
  values_.Test(term.cond);
  a_.jz(no);
  const Values::Known known = values_.known();
  WriteEdge(block, term.edges[0]);
  values_.Restore(known);
  a_.bind(no);
  WriteEdge(block, term.edges[1]);
}

// A parallel copy: through memory of its own where a parameter of the target is an argument, too. An edge
// that goes back in the order closes a cycle of the block graph; every cycle has one.
void FunctionWriter::WriteEdge(uint32_t from, const ir::Edge& edge) {
  if (position_[edge.block] <= position_[from]) Poll();
  const ir::Values& params = f_.blocks[edge.block].params;
  const bool staged = std::any_of(edge.args.begin(), edge.args.end(), [&](Reg arg) {
    return std::find(params.begin(), params.end(), arg) != params.end();
  });
  for (size_t i = 0; i < params.size(); ++i) {
    values_.Copy(staged ? Outgoing(i) : values_.Slot(params[i]), edge.args[i]);
  }
  for (size_t i = 0; staged && i < params.size(); ++i) {
    a_.mov(x86::rax, Outgoing(i));
    values_.Set(params[i], x86::rax);
  }
  a_.jmp(labels_[edge.block]);
}

void FunctionWriter::WriteReturn(ir::ValueSpan results) {
  a_.mov(x86::rdx, x86::ptr(x86::rbp, -16));
  for (size_t i = 0; i < results.size(); ++i) {
    values_.Copy(x86::qword_ptr(x86::rdx, static_cast<int32_t>(8 * i)), results[i]);
  }
  // On the way back from a deep recursion nothing else may poll.
  if (m_.Recursive(index_)) {
    a_.dec(ContextField(offsetof(RunContext, depth), 4));
    Poll();
  }
  a_.mov(x86::rbx, x86::ptr(x86::rbp, -8));
  a_.leave();
  a_.ret();
}

void FunctionWriter::WriteNodes(const std::vector<Node>& nodes) {
  for (const Node& node : nodes) {
    const uint32_t number = number_++;
    values_.StartNode();
    WriteNode(node);
    for (const Reg r : lifetimes_.EndIn(number)) values_.End(r);
  }
}

void FunctionWriter::WriteNode(const Node& node) {
  switch (node.kind) {
    case Kind::kScalar: return WriteScalarNode(node);
    case Kind::kDim: return WriteDim(node);
    case Kind::kLoad: return WriteLoad(node);
    case Kind::kStore: return WriteStore(node);
    case Kind::kAlloc: return WriteAlloc(node);
    case Kind::kRetain: return WriteRetain(node);
    case Kind::kRelease: return WriteRelease(node);
    case Kind::kUnique: return WriteUnique(node);
    case Kind::kFor: return WriteFor(node);
    case Kind::kIf: return WriteIf(node);
    case Kind::kLanesNew: return WriteLanesNew(node);
    case Kind::kLaneAdd: return WriteLaneAdd(node);
    case Kind::kLanesTotal: return WriteLanesTotal(node);
    case Kind::kCheck: return WriteCheck(node);
    case Kind::kCall: return WriteCall(node);
    case Kind::kTapeNew: return SetByCall(node, "pb_tape_new");
    case Kind::kPush: return WritePush(node);
    case Kind::kPop: return WritePop(node);
    case Kind::kContract: return WriteContract(node);
    case Kind::kList: return WriteList(node);
  }
}

x86::Reg FunctionWriter::Operand(Reg r) {
  if (TypeOf(r).IsScalar() && TypeOf(r).IsFloat()) return values_.Float(r);
  return values_.Int(r);
}

x86::Reg FunctionWriter::NewOperand(Reg r) {
  if (TypeOf(r).IsScalar() && TypeOf(r).IsFloat()) return values_.NewFloat(r);
  return values_.NewInt(r);
}

x86::Reg FunctionWriter::Temporary(DType t) {
  if (t == DType::kF64 || t == DType::kF32) return values_.SomeFloat();
  return values_.SomeInt();
}

void FunctionWriter::WriteScalarNode(const Node& node) {
  const Reg result = node.results[0];
  if (node.op == ir::Op::Const) return;  // Values knows it
  PB_CHECK(HasScalarCode(node.op));
  if (IsMathCall(node.op, Elem(node.args[0]))) return WriteMathCall(node);
  ScalarSite site{a_, {}, {}, Elem(node.args[0]), Elem(result)};
  for (size_t k = 0; k < node.args.size(); ++k) site.x[k] = Operand(node.args[k]);
  site.to = NewOperand(result);
  WriteScalar(node.op, site);
  values_.Keep(result);
}

void FunctionWriter::WriteMathCall(const Node& node) {
  const MathFunction* f = FindMath(ir::Info(node.op).mnemonic);
  PB_CHECK(f != nullptr);
  values_.FloatTo(x86::xmm0, node.args[0]);
  if (node.args.size() > 1) values_.FloatTo(x86::xmm1, node.args[1]);
  m_.CallRuntime(Elem(node.args[0]) == DType::kF64 ? f->f64_symbol : f->f32_symbol);
  values_.Forget();
  const x86::Xmm to = values_.NewFloat(node.results[0]);
  a_.movaps(to, x86::xmm0);
  values_.Keep(node.results[0]);
}

void FunctionWriter::WriteCall(const Node& node) {
  const size_t n = node.args.size();
  for (size_t i = 0; i < n; ++i) values_.Copy(Outgoing(i), node.args[i]);
  for (size_t i = 0; i < node.results.size(); ++i) Outgoing(n + i);
  a_.mov(x86::rdi, x86::rbx);
  a_.mov(x86::rsi, x86::rsp);
  a_.lea(x86::rdx, Outgoing(n));
  a_.call(m_.functions[node.callee]);
  values_.Forget();
  for (size_t i = 0; i < node.results.size(); ++i) {
    a_.mov(x86::rax, Outgoing(n + i));
    values_.Set(node.results[i], x86::rax);
  }
}

}  // namespace pullback::jit
