// The state of the test interpreter (interpret.h). Private to interpret.cc and interpret_nodes.cc.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "core/ir/monoid.h"
#include "core/loops/interpret.h"

namespace pullback::loops {

// An array, a tape or a list.
struct Object {
  ir::Type type;
  int64_t refs = 1;
  std::vector<int64_t> dims;
  std::vector<uint64_t> elements;
  std::vector<bool> stored;
  struct Slot {
    ir::Type type;
    uint64_t bits;
    Object* object;
  };
  std::vector<Slot> slots;  // of a tape; of a list, element by element
  int64_t count = 0;        // elements of a list
};

struct Register {
  bool defined = false;
  uint64_t bits = 0;
  Object* object = nullptr;
  int64_t owned = 0;  // references to `object` that this register has to give away
  std::array<uint64_t, 8> lanes{};
};
using Registers = std::vector<Register>;

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

  Object* NewObject(ir::Type t) {
    heap_.push_back(std::make_unique<Object>());
    heap_.back()->type = t;
    return heap_.back().get();
  }
  Object* FromTensor(const Tensor& t);
  static Tensor ToTensor(ir::Type type, const Register& r);

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
  bool TakeAll(Frame& frame, ir::ValueSpan regs, std::vector<Register>& out);

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
  bool Contract(Frame& frame, const Node& n);
  bool LaneAdd(Frame& frame, const Node& n);
  bool LanesTotal(Frame& frame, const Node& n);
  bool Check(Frame& frame, const Node& n);
  bool Push(Frame& frame, const Node& n);
  bool Pop(Frame& frame, const Node& n);
  // interpret_lists.cc
  bool List(Frame& frame, const Node& n);
  bool ChangeList(Frame& frame, const Node& n);
  bool Fit(Frame& frame, const Node& n);
  Object* UniqueList(Object* list);
  bool TakeFields(Frame& frame, const Node& n, size_t from, std::vector<Object::Slot>& fields);
  bool DefineField(Frame& frame, Reg r, const Object::Slot& slot);
  Object::Slot ZeroOf(ir::Type t);
  uint64_t Join(ir::Monoid m, DType t, uint64_t x, uint64_t y) const {
    const uint64_t args[] = {x, y};
    return ops_.eval(ir::MonoidOp(m), t, args);
  }

  const Module& m_;
  const ScalarOps& ops_;
  std::vector<std::unique_ptr<Object>> heap_;
  Outcome outcome_;
  Status status_;
  int depth_ = 0;
};

}  // namespace pullback::loops
