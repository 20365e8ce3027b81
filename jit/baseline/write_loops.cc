// Loops, branches, lanes, checks and polls.
#include "jit/baseline/writer.h"

namespace pullback::jit {

namespace {

constexpr int kLanes = 8;  // of loops.h

}  // namespace

// ---------------------------------------------------------------------------------- polls, traps --

void FunctionWriter::Poll() {
  a_.cmp(x86::dword_ptr(x86::rbx, offsetof(RunContext, stop)), 0);
  a_.jne(stopped_);
}

void FunctionWriter::WriteCheck(const Node& node) {
  TrapSite site{a_.newLabel(), node.bits, node.loc, {}, {}};
  for (size_t k = 0; k < 2 && node.args.size() > k + 1; ++k) {
    const Reg detail = node.args[k + 1];
    site.constants[k] = values_.Constant(detail);
    if (!site.constants[k]) site.details[k] = values_.Slot(detail);
  }
  values_.Test(node.args[0]);
  a_.jz(site.label);
  traps_.push_back(site);
}

void FunctionWriter::WriteTraps() {
  for (const TrapSite& site : traps_) {
    a_.bind(site.label);
    const x86::Gp to[] = {x86::rcx, x86::r8};
    for (int k = 0; k < 2; ++k) {
      if (site.details[k].hasBase()) {
        a_.mov(to[k], site.details[k]);
      } else {
        a_.mov(to[k], site.constants[k].value_or(0));
      }
    }
    a_.mov(x86::esi, static_cast<uint32_t>(site.kind));
    a_.mov(x86::edx, site.loc);
    CallRuntime("pb_trap");
  }
  a_.bind(stopped_);
  CallRuntime("pb_stopped");
}

// --------------------------------------------------------------------------------------- control --

void FunctionWriter::WriteFor(const Node& node) {
  const Reg index = node.results[0];
  const Reg hi = node.args[1];
  const asmjit::Label head = a_.newLabel();
  const asmjit::Label done = a_.newLabel();
  values_.IntTo(x86::rax, node.args[0]);
  values_.Set(index, x86::rax);
  values_.Forget();
  a_.bind(head);
  values_.StartNode();
  const x86::Gp i = values_.Int(index);
  a_.cmp(i, values_.Int(hi));
  a_.jge(done);
  WriteNodes(node.body);
  a_.inc(values_.Slot(index));
  Poll();
  a_.jmp(head);
  a_.bind(done);
  values_.Forget();
}

void FunctionWriter::WriteIf(const Node& node) {
  const asmjit::Label no = a_.newLabel();
  const asmjit::Label join = a_.newLabel();
  for (const Reg r : node.results) values_.Slot(r);
  values_.Test(node.args[0]);
  a_.jz(no);
  const Values::Known known = values_.known();
  const auto arm = [&](const std::vector<Node>& nodes, const std::vector<Reg>& yields) {
    WriteNodes(nodes);
    for (size_t i = 0; i < yields.size(); ++i) {
      values_.Copy(values_.Slot(node.results[i]), yields[i]);
    }
  };
  arm(node.body, node.body_yields);
  a_.jmp(join);
  a_.bind(no);
  values_.Restore(known);
  arm(node.other, node.other_yields);
  a_.bind(join);
  values_.Forget();
}

// ----------------------------------------------------------------------------------------- lanes --

x86::Mem FunctionWriter::Lane(Reg lanes, int k) { return values_.Slot(lanes).cloneAdjusted(8 * k); }

void FunctionWriter::Load(const x86::Reg& to, DType t, const x86::Mem& from) {
  switch (t) {
    case DType::kF64: a_.movsd(to.as<x86::Xmm>(), from); return;
    case DType::kF32: a_.movq(to.as<x86::Xmm>(), from); return;
    case DType::kI64:
    case DType::kBool: a_.mov(to.as<x86::Gp>(), from); return;
  }
}

void FunctionWriter::Store(const x86::Mem& to, DType t, const x86::Reg& from) {
  if (t == DType::kF64 || t == DType::kF32) {
    a_.movq(to, from.as<x86::Xmm>());
  } else {
    a_.mov(to, from.as<x86::Gp>());
  }
}

void FunctionWriter::WriteLanesNew(const Node& node) {
  const uint64_t identity = ir::MonoidIdentity(node.monoid, Elem(node.results[0]));
  if (identity == 0) {
    a_.xor_(x86::eax, x86::eax);
  } else {
    a_.mov(x86::rax, identity);
  }
  for (int k = 0; k < kLanes; ++k) a_.mov(Lane(node.results[0], k), x86::rax);
}

void FunctionWriter::WriteLaneAdd(const Node& node) {
  const Reg lanes = node.args[0];
  const DType t = Elem(lanes);
  ScalarSite site{a_, {}, {}, t, t};
  site.x[1] = Operand(node.args[2]);
  site.x[0] = Temporary(t);
  site.to = Temporary(t);
  const x86::Gp lane = values_.SomeInt();
  values_.IntTo(lane, node.args[1]);
  a_.and_(lane, kLanes - 1);
  const x86::Mem slot = Lane(lanes, 0);
  const x86::Mem place = x86::qword_ptr(x86::rbp, lane, 3, static_cast<int32_t>(slot.offset()));
  Load(site.x[0], t, place);
  WriteScalar(ir::MonoidOp(node.monoid), site);
  Store(place, t, site.to);
}

// ((l0+l4)+(l2+l6)) + ((l1+l5)+(l3+l7)): folds the upper half onto the lower, thrice.
void FunctionWriter::WriteLanesTotal(const Node& node) {
  const Reg lanes = node.args[0];
  const DType t = Elem(lanes);
  ScalarSite site{a_, {Temporary(t), Temporary(t), {}}, Temporary(t), t, t};
  for (int half = kLanes / 2; half > 0; half /= 2) {
    for (int k = 0; k < half; ++k) {
      Load(site.x[0], t, Lane(lanes, k));
      Load(site.x[1], t, Lane(lanes, k + half));
      WriteScalar(ir::MonoidOp(node.monoid), site);
      Store(Lane(lanes, k), t, site.to);
    }
  }
  a_.mov(x86::rax, Lane(lanes, 0));
  values_.Set(node.results[0], x86::rax);
}

}  // namespace pullback::jit
