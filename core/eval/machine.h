// The interpreter's machine: explicit frames, one instruction at a time. Internal to core/eval.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/eval/heap.h"
#include "core/eval/interpreter.h"
#include "core/eval/last_use.h"
#include "core/eval/statement.h"

namespace pullback::eval {

struct Frame {
  Frame(const ir::Function& f, const LastUses& uses, Meter& m)
      : function(f), last_uses(uses), slots(f.values.size()), meter(m) {
    meter.live_bytes += Bytes(f);
  }
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;
  ~Frame() { meter.live_bytes -= Bytes(function); }

  static int64_t Bytes(const ir::Function& f) {
    return static_cast<int64_t>(sizeof(Frame) + f.values.size() * sizeof(Slot));
  }

  const ir::Function& function;
  const LastUses& last_uses;
  std::vector<Slot> slots;  // by value
  Meter& meter;
  uint32_t block = 0;
  size_t inst = 0;                          // next instruction of the block
  std::unique_ptr<StatementRun> statement;  // when that is a statement under way
  std::optional<int64_t> black_box_ops;     // the count to end with, for a call of known cost
};

class Machine {
 public:
  Machine(const ir::Module& module, const Limits& limits) : module_(module), limits_(limits) {}

  // Runs until the function returns, traps or hits a limit.
  void Run(uint32_t function, std::vector<Slot> args);

  Slot NewArray(Tensor t) { return std::make_shared<Array>(std::move(t), meter_); }
  ListRef NewList(ir::Type t) { return std::make_shared<List>(module_.FieldsOf(t).size(), meter_); }
  const std::optional<Trap>& trap() const { return trap_; }
  const Status& status() const { return status_; }
  const std::vector<Slot>& results() const { return results_; }
  Cost cost() const;

 private:
  friend struct Handlers;      // machine_ops.cc: the table of instructions
  friend struct ListHandlers;  // machine_lists.cc

  // --- machine.cc: control flow
  bool stopped() const { return trap_.has_value() || !status_.ok(); }
  void Step();
  void CountStep();
  void ExecTerminator(Frame& f, const ir::Block& block);
  void TakeEdge(Frame& f, size_t edge);
  void Return(const ir::Terminator& term);
  void PushFrame(uint32_t function, std::vector<Slot> args, uint32_t loc);
  void FinishInst(Frame& f);
  const LastUses& UsesOf(uint32_t function);
  static void Clear(Frame& f, const LastUses::List& values);

  // --- failures; the first one stays
  void TrapAt(uint32_t loc, ir::TrapKind kind, int64_t a = 0, int64_t b = 0);
  void Fail(const char* reason, std::string message);

  // --- reading and writing slots
  static uint64_t Bits(const Frame& f, ir::Value v) { return std::get<uint64_t>(f.slots[v.id]); }
  static int64_t Int(const Frame& f, ir::Value v) { return static_cast<int64_t>(Bits(f, v)); }
  static const Array& ArrayAt(const Frame& f, ir::Value v) {
    return *std::get<ArrayRef>(f.slots[v.id]);
  }
  static int64_t Eval(const Frame& f, const ir::Affine& a);
  static bool Holds(const Frame& f, ir::ConstraintSpan cs);
  // Copies the operands of a block's instruction out and clears the slots of those that die here.
  static std::vector<Slot> Fetch(Frame& f, const ir::Inst& inst);
  static std::vector<Slot> Copy(const Frame& f, ir::ValueSpan values);

  // --- machine_ops.cc: arrays
  // Row-major offset of an element, or -1 after a trap.
  int64_t OffsetOf(const Frame& f, const std::vector<int64_t>& shape, ir::AffineSpan subs,
                   uint32_t loc);
  bool Charge(int64_t bytes, uint32_t loc);
  // An array whose elements all have these bits; null after a trap.
  ArrayRef MakeArray(DType t, std::vector<int64_t> shape, uint64_t fill, uint32_t loc);
  bool CheckExtents(const std::vector<int64_t>& extents, uint32_t loc);
  // Makes `a` the only reference to its elements.
  bool MakeUnique(ArrayRef& a, uint32_t loc);
  // x + y for elements of `like`, counted.
  uint64_t Sum(const Array& like, uint64_t x, uint64_t y);

  // --- machine_statement.cc
  void BeginStatement(Frame& f, const ir::Inst& inst);
  void ContinueStatement(Frame& f);
  ArrayRef TakeInto(Frame& f, const ir::Inst& inst, ir::Value into,
                    const std::vector<int64_t>& shape);
  bool NextPoint(Frame& f, StatementRun& s);
  void ContinueBody(Frame& f, StatementRun& s);
  void ExecBodyInst(Frame& f, const ir::Each& each, const ir::Inst& inst);
  static bool Adds(const Frame& f, const ir::Each& each, const ir::Inst& inst);
  void AddTerms(Frame& f, StatementRun& s);
  void EndStatement(Frame& f, StatementRun& s);

  // --- machine_lists.cc
  bool CheckIndex(int64_t i, int64_t n, uint32_t loc);
  // Makes `l` the only reference to its elements, which may grow to hold `more` of them.
  bool MakeUnique(ListRef& l, int64_t more, uint32_t loc);
  Slot ZeroOf(ir::Type t);

  const ir::Module& module_;
  const Limits& limits_;
  Meter meter_;
  Cost cost_;
  std::vector<std::unique_ptr<LastUses>> last_uses_;  // by function, made when first called
  std::vector<std::unique_ptr<Frame>> frames_;
  std::vector<std::vector<Slot>> boxes_;  // by number
  std::vector<Slot> results_;
  std::optional<Trap> trap_;
  Status status_;
};

// Runs one instruction of a block or body that ends at once (not a statement or a call).
using Handler = void (*)(Machine& m, Frame& f, const ir::Inst& inst);
Handler HandlerOf(ir::Op op);

}  // namespace pullback::eval
