// Arrays, tapes and lists.
#include "jit/baseline/writer.h"
#include "jit/records.h"

namespace pullback::jit {

using ir::Op;

namespace {

x86::Mem Field(const x86::Gp& base, size_t offset) {
  return x86::qword_ptr(base, static_cast<int32_t>(offset));
}

}  // namespace

void FunctionWriter::PassLoc(const x86::Gp& to, const Node& node) { a_.mov(to.r32(), node.loc); }

void FunctionWriter::SetByCall(const Node& node, const char* symbol) {
  CallRuntime(symbol);
  values_.Set(node.results[0], x86::rax);
}

// ---------------------------------------------------------------------------------------- arrays --

void FunctionWriter::WriteDim(const Node& node) {
  const x86::Gp array = values_.Int(node.args[0]);
  const x86::Gp to = values_.NewInt(node.results[0]);
  a_.mov(to, Field(array, offsetof(Array, dims) + 8 * node.bits));
  values_.Keep(node.results[0]);
}

namespace {

// An element, with the array's data in rax.
x86::Mem Element(DType t, const x86::Gp& offset) {
  switch (t) {
    case DType::kF64:
    case DType::kI64: return x86::qword_ptr(x86::rax, offset, 3);
    case DType::kF32: return x86::dword_ptr(x86::rax, offset, 2);
    case DType::kBool: break;
  }
  return x86::byte_ptr(x86::rax, offset);
}

}  // namespace

void FunctionWriter::WriteLoad(const Node& node) {
  const Reg result = node.results[0];
  const DType t = Elem(node.args[0]);
  const x86::Gp array = values_.Int(node.args[0]);
  const x86::Gp offset = values_.Int(node.args[1]);
  const x86::Reg to = NewOperand(result);
  a_.mov(x86::rax, Field(array, offsetof(Array, data)));
  const x86::Mem from = Element(t, offset);
  switch (t) {
    case DType::kF64: a_.movsd(to.as<x86::Xmm>(), from); break;
    case DType::kF32: a_.movss(to.as<x86::Xmm>(), from); break;
    case DType::kI64: a_.mov(to.as<x86::Gp>(), from); break;
    case DType::kBool:
      a_.cmp(from, 0);
      a_.setne(x86::al);
      a_.movzx(to.as<x86::Gp>().r32(), x86::al);
      break;
  }
  values_.Keep(result);
}

void FunctionWriter::WriteStore(const Node& node) {
  const DType t = Elem(node.args[0]);
  const x86::Gp array = values_.Int(node.args[0]);
  const x86::Gp offset = values_.Int(node.args[1]);
  const x86::Reg value = Operand(node.args[2]);
  a_.mov(x86::rax, Field(array, offsetof(Array, data)));
  const x86::Mem to = Element(t, offset);
  switch (t) {
    case DType::kF64: a_.movsd(to, value.as<x86::Xmm>()); return;
    case DType::kF32: a_.movss(to, value.as<x86::Xmm>()); return;
    case DType::kI64: a_.mov(to, value.as<x86::Gp>()); return;
    case DType::kBool:
      a_.mov(x86::ecx, value.as<x86::Gp>().r32());
      a_.mov(to, x86::cl);
      return;
  }
}

void FunctionWriter::WriteAlloc(const Node& node) {
  for (size_t axis = 0; axis < node.args.size(); ++axis) {
    values_.Copy(Outgoing(axis), node.args[axis]);
  }
  Outgoing(0);
  PassLoc(x86::rsi, node);
  a_.mov(x86::edx, static_cast<uint32_t>(DTypeSize(Elem(node.results[0]))));
  a_.mov(x86::ecx, static_cast<uint32_t>(node.args.size()));
  a_.mov(x86::r8, x86::rsp);
  a_.mov(x86::r9d, node.bits == 1 ? 1 : 0);
  SetByCall(node, "pb_alloc");
}

void FunctionWriter::WriteRetain(const Node& node) {
  a_.inc(Field(values_.Int(node.args[0]), offsetof(Array, refs)));
}

// The last reference frees; what machine registers hold is forgotten on both ways.
void FunctionWriter::WriteRelease(const Node& node) {
  const Reg r = node.args[0];
  if (TypeOf(r).IsTape()) {
    values_.IntTo(x86::rsi, r);
    return CallRuntime("pb_tape_free");
  }
  const asmjit::Label others = a_.newLabel();
  const asmjit::Label done = a_.newLabel();
  values_.IntTo(x86::rsi, r);
  a_.cmp(Field(x86::rsi, offsetof(Array, refs)), 1);
  a_.jne(others);
  CallRuntime(TypeOf(r).IsList() ? "pb_list_free" : "pb_free");
  a_.jmp(done);
  a_.bind(others);
  a_.dec(Field(x86::rsi, offsetof(Array, refs)));
  a_.bind(done);
}

void FunctionWriter::WriteUnique(const Node& node) {
  const asmjit::Label unique = a_.newLabel();
  const Reg from = node.args[0];
  values_.Slot(node.results[0]);
  values_.IntTo(x86::rax, from);
  a_.cmp(Field(x86::rax, offsetof(Array, refs)), 1);
  a_.je(unique);
  a_.dec(Field(x86::rax, offsetof(Array, refs)));
  a_.mov(x86::rdx, x86::rax);
  PassLoc(x86::rsi, node);
  a_.mov(x86::ecx, static_cast<uint32_t>(DTypeSize(Elem(from))));
  CallRuntime("pb_copy");
  a_.bind(unique);
  values_.Set(node.results[0], x86::rax);
}

// ----------------------------------------------------------------------------------------- tapes --

void FunctionWriter::WritePush(const Node& node) {
  const asmjit::Label room = a_.newLabel();
  const auto load_size = [&] {
    values_.IntTo(x86::rsi, node.args[0]);
    a_.mov(x86::rdx, Field(x86::rsi, offsetof(Tape, size)));
  };
  // Both ways meet with nothing known of machine registers.
  values_.Forget();
  load_size();
  a_.cmp(x86::rdx, Field(x86::rsi, offsetof(Tape, capacity)));
  a_.jne(room);
  CallRuntime("pb_tape_grow");
  load_size();
  a_.bind(room);
  a_.mov(x86::rcx, Field(x86::rsi, offsetof(Tape, slots)));
  values_.CopyClean(x86::qword_ptr(x86::rcx, x86::rdx, 3), node.args[1]);
  a_.inc(Field(x86::rsi, offsetof(Tape, size)));
  values_.Set(node.results[0], x86::rsi);
}

void FunctionWriter::WritePop(const Node& node) {
  values_.Forget();
  values_.IntTo(x86::rsi, node.args[0]);
  a_.mov(x86::rdx, Field(x86::rsi, offsetof(Tape, size)));
  a_.dec(x86::rdx);
  a_.mov(Field(x86::rsi, offsetof(Tape, size)), x86::rdx);
  a_.mov(x86::rcx, Field(x86::rsi, offsetof(Tape, slots)));
  a_.mov(x86::rax, x86::qword_ptr(x86::rcx, x86::rdx, 3));
  values_.Set(node.results[1], x86::rax);
  values_.Set(node.results[0], x86::rsi);
}

// ----------------------------------------------------------------------------------------- lists --

std::vector<ir::Type> FunctionWriter::TypesOf(const std::vector<Reg>& regs) const {
  std::vector<ir::Type> types;
  for (const Reg r : regs) types.push_back(TypeOf(r));
  return types;
}

void FunctionWriter::StoreRecord(const std::vector<Reg>& fields) {
  const RecordPlan plan = PlanRecord(TypesOf(fields));
  for (size_t k = 0; k < fields.size(); ++k) {
    values_.CopyClean(Outgoing(plan.place[k]), fields[k]);
  }
  Outgoing(0);
}

void FunctionWriter::LoadRecord(const std::vector<Reg>& fields) {
  const RecordPlan plan = PlanRecord(TypesOf(fields));
  for (size_t k = 0; k < fields.size(); ++k) {
    a_.mov(x86::rax, Outgoing(plan.place[k]));
    values_.Set(fields[k], x86::rax);
  }
}

void FunctionWriter::WriteFit(const Node& node) {
  const size_t rank = node.args.size() - 1;
  for (size_t axis = 0; axis < rank; ++axis) values_.Copy(Outgoing(axis), node.args[1 + axis]);
  Outgoing(0);
  values_.IntTo(x86::rdx, node.args[0]);
  PassLoc(x86::rsi, node);
  a_.mov(x86::ecx, static_cast<uint32_t>(DTypeSize(Elem(node.args[0]))));
  a_.mov(x86::r8d, static_cast<uint32_t>(rank));
  a_.mov(x86::r9, x86::rsp);
  SetByCall(node, "pb_fit");
}

void FunctionWriter::WriteList(const Node& node) {
  const std::vector<Reg>& args = node.args;
  const auto fields = [](const std::vector<Reg>& regs, size_t from) {
    return std::vector<Reg>(regs.begin() + static_cast<ptrdiff_t>(from), regs.end());
  };
  // Operands go where they are passed once nothing is copied any more: Copy uses rax alone.
  const auto pass = [&](const x86::Gp& to, Reg r) { a_.mov(to, values_.Slot(r)); };
  const auto pass_any = [&](const x86::Gp& to, Reg r) {
    if (const auto bits = values_.Constant(r)) {
      a_.mov(to, *bits);
    } else {
      pass(to, r);
    }
  };
  const auto plan = [&](const std::vector<Reg>& regs) { return PlanRecord(TypesOf(regs)).word; };
  switch (node.op) {
    case Op::Fit: return WriteFit(node);
    case Op::ListNew: return SetByCall(node, "pb_list_new");
    case Op::ListLen: {
      const x86::Gp list = values_.Int(args[0]);
      a_.mov(values_.NewInt(node.results[0]), Field(list, offsetof(List, size)));
      return values_.Keep(node.results[0]);
    }
    case Op::ListOf:
    case Op::ListPush:
      StoreRecord(fields(args, 1));
      PassLoc(x86::rsi, node);
      pass_any(x86::rdx, args[0]);
      a_.mov(x86::rcx, plan(fields(args, 1)));
      a_.mov(x86::r8, x86::rsp);
      return SetByCall(node, node.op == Op::ListOf ? "pb_list_of" : "pb_list_push");
    case Op::ListGet:
      StoreRecord({});
      for (size_t k = 0; k < node.results.size(); ++k) Outgoing(k);
      pass_any(x86::rsi, args[0]);
      pass_any(x86::rdx, args[1]);
      a_.mov(x86::rcx, x86::rsp);
      CallRuntime("pb_list_get");
      return LoadRecord(node.results);
    case Op::ListSet:
      StoreRecord(fields(args, 2));
      PassLoc(x86::rsi, node);
      pass_any(x86::rdx, args[0]);
      pass_any(x86::rcx, args[1]);
      a_.mov(x86::r8, x86::rsp);
      return SetByCall(node, "pb_list_set");
    case Op::ListTake:
      for (size_t k = 0; k < node.results.size(); ++k) Outgoing(k);
      PassLoc(x86::rsi, node);
      pass_any(x86::rdx, args[0]);
      pass_any(x86::rcx, args[1]);
      a_.mov(x86::r8, x86::rsp);
      SetByCall(node, "pb_list_take");
      return LoadRecord(fields(node.results, 1));
    case Op::ListPop:
      for (size_t k = 0; k < node.results.size(); ++k) Outgoing(k);
      PassLoc(x86::rsi, node);
      pass_any(x86::rdx, args[0]);
      a_.mov(x86::rcx, x86::rsp);
      SetByCall(node, "pb_list_pop");
      return LoadRecord(fields(node.results, 1));
    default: PB_CHECK(!"no op of lists");
  }
}

}  // namespace pullback::jit
