#include "core/eval/machine.h"

namespace pullback::eval {

using ir::Op;
using ir::TrapKind;
using ir::Value;

Cost Machine::cost() const {
  Cost cost = cost_;
  cost.peak_tape = meter_.peak_tape;
  return cost;
}

void Machine::TrapAt(uint32_t loc, TrapKind kind, int64_t a, int64_t b) {
  if (!stopped()) trap_ = Trap{kind, loc, a, b};
}

void Machine::Fail(const char* reason, std::string message) {
  if (!stopped()) status_ = Status(Code::kInternal, reason, std::move(message));
}

const LastUses& Machine::UsesOf(uint32_t function) {
  if (last_uses_.size() <= function) last_uses_.resize(module_.functions.size());
  if (!last_uses_[function]) {
    last_uses_[function] = std::make_unique<LastUses>(module_.Get(function));
  }
  return *last_uses_[function];
}

void Machine::Clear(Frame& f, const LastUses::List& values) {
  for (Value v : values) f.slots[v.id] = Slot{};
}

std::vector<Slot> Machine::Copy(const Frame& f, ir::ValueSpan values) {
  std::vector<Slot> out;
  out.reserve(values.size());
  for (Value v : values) out.push_back(f.slots[v.id]);
  return out;
}

std::vector<Slot> Machine::Fetch(Frame& f, const ir::Inst& inst) {
  std::vector<Slot> out = Copy(f, inst.args);
  if (!f.statement) Clear(f, f.last_uses.At(f.block, f.inst));
  return out;
}

void Machine::PushFrame(uint32_t function, std::vector<Slot> args, uint32_t loc) {
  const ir::Function& callee = module_.Get(function);
  const auto depth = static_cast<int64_t>(frames_.size());  // calls now active, with this one
  if (depth > limits_.max_depth) return TrapAt(loc, TrapKind::kDepth, limits_.max_depth);
  if (!Charge(Frame::Bytes(callee), loc)) return;
  auto frame = std::make_unique<Frame>(callee, UsesOf(function), meter_);
  for (size_t i = 0; i < args.size(); ++i) {
    frame->slots[callee.params()[i].id] = std::move(args[i]);
  }
  Clear(*frame, frame->last_uses.AtEntry(0));
  frames_.push_back(std::move(frame));
}

void Machine::Run(uint32_t function, std::vector<Slot> args) {
  PushFrame(function, std::move(args), 0);
  while (!stopped() && !frames_.empty()) Step();
}

void Machine::CountStep() {
  if (++cost_.steps <= limits_.max_steps || stopped()) return;
  status_ = Status(Code::kDeadlineExceeded, "STEP_LIMIT",
                   "the run took more than " + std::to_string(limits_.max_steps) + " steps");
}

void Machine::Step() {
  Frame& f = *frames_.back();
  if (f.statement) return ContinueStatement(f);
  CountStep();
  const ir::Block& block = f.function.blocks[f.block];
  if (f.inst >= block.insts.size()) return ExecTerminator(f, block);
  const ir::Inst& inst = block.insts[f.inst];
  if (inst.op == Op::Each) return BeginStatement(f, inst);
  if (inst.op == Op::Call) return PushFrame(inst.callee, Fetch(f, inst), inst.loc);
  HandlerOf(inst.op)(*this, f, inst);
  FinishInst(f);
}

void Machine::FinishInst(Frame& f) {
  Clear(f, f.last_uses.At(f.block, f.inst));
  ++f.inst;
}

void Machine::ExecTerminator(Frame& f, const ir::Block& block) {
  switch (block.term.kind) {
    case ir::Terminator::Kind::kJump: return TakeEdge(f, 0);
    case ir::Terminator::Kind::kBranch: return TakeEdge(f, Bits(f, block.term.cond) != 0 ? 0 : 1);
    case ir::Terminator::Kind::kReturn: return Return(block.term);
    case ir::Terminator::Kind::kNone: break;
  }
  Fail("IR_INVALID", "a block without a terminator");
}

void Machine::TakeEdge(Frame& f, size_t edge) {
  const ir::Edge& e = f.function.blocks[f.block].term.edges[edge];
  std::vector<Slot> args = Copy(f, e.args);  // parallel: all are read before any is written
  Clear(f, f.last_uses.OnEdge(f.block, edge));
  const ir::Values& params = f.function.blocks[e.block].params;
  for (size_t i = 0; i < params.size(); ++i) f.slots[params[i].id] = std::move(args[i]);
  f.block = e.block;
  f.inst = 0;
  Clear(f, f.last_uses.AtEntry(f.block));
}

void Machine::Return(const ir::Terminator& term) {
  std::vector<Slot> results = Copy(*frames_.back(), term.results);
  if (const auto ops = frames_.back()->black_box_ops) cost_.ops = *ops;
  frames_.pop_back();
  if (frames_.empty()) {
    results_ = std::move(results);
    return;
  }
  Frame& f = *frames_.back();
  const ir::Inst& call = f.statement ? f.statement->inst->each->body[f.statement->body - 1]
                                     : f.function.blocks[f.block].insts[f.inst];
  for (size_t i = 0; i < results.size(); ++i) {
    f.slots[call.results[i].id] = std::move(results[i]);
  }
  if (!f.statement) FinishInst(f);
}

int64_t Machine::Eval(const Frame& f, const ir::Affine& a) {
  auto sum = static_cast<uint64_t>(a.constant);
  for (const ir::Affine::Term& t : a.terms) {
    sum += static_cast<uint64_t>(t.coeff) * Bits(f, t.value);
  }
  return static_cast<int64_t>(sum);
}

bool Machine::Holds(const Frame& f, ir::ConstraintSpan cs) {
  return std::all_of(cs.begin(), cs.end(), [&](const ir::Constraint& c) {
    const int64_t e = Eval(f, c.e);
    return c.equality ? e == 0 : e >= 0;
  });
}

}  // namespace pullback::eval
