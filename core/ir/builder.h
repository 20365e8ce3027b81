// The only writer of new IR. Appends to the current block, or to the body of the tensor statement
// that is being built. Constants are not shared here (CSE does that).
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/ir/ir.h"

namespace pullback::ir {

class Builder {
 public:
  Builder(Module& module, Function& function) : module_(module), function_(function) {}

  Module& module() { return module_; }
  Function& function() { return function_; }

  // --- where
  uint32_t NewBlock();
  void SetBlock(uint32_t block);  // append at the end of this block (not inside a statement)
  uint32_t block() const { return block_; }
  Value AddParam(uint32_t block, Type t, std::string name = {});
  bool Terminated() const;                   // the current block already has a terminator
  void SetLoc(uint32_t loc) { loc_ = loc; }  // given to every instruction that may trap
  uint32_t loc() const { return loc_; }
  void SetGuard(Value guard) { guard_ = guard; }  // given to every instruction appended to a body
  Value guard() const { return guard_; }
  // Appends into `list` (a body that the caller owns) instead of the current block until reset
  // with nullptr. Used by passes that rewrite bodies.
  void RedirectTo(std::vector<Inst>* list) { redirect_ = list; }

  // --- scalars
  Value Const(Type scalar, uint64_t bits);  // the payload as Inst::bits holds it
  Value F64(double v);
  Value Float(DType t, double v);  // t: kF64 or kF32 (rounded)
  Value I64(int64_t v);
  Value Bool(bool v);
  Value Zero(Type scalar);
  Value One(Type scalar);
  Value Make(Op op, Values args, std::string name = {});  // any scalar op by its rule
  Value Cast(Value v, DType to);
  Value AffineOf(const Affine& a);  // a plain value or constant stays itself
  Value Holds(std::vector<Constraint> cs);

  // --- arrays
  Value Dim(Value array, int axis);
  Value Zeros(DType t, Values extents);
  Value ZerosLike(Value v);  // scalar zero, zeros with the dims of the array v, or the empty list
  Value Index(Value array, std::vector<Affine> subs, std::string name = {});
  Value Update(Value array, std::vector<Affine> subs, Value v);
  Value AddAt(Value array, std::vector<Affine> subs, Value v);
  Value AddArrays(Value a, Value b);
  Value Fit(Value array, ValueSpan extents);
  Value Add(Value a, Value b);  // scalars: add; arrays: add_arrays

  // --- tensor statements: BeginEach .. body .. EndEach. Nesting is not allowed.
  std::vector<Value> BeginEach(ValueSpan extents,
                               const std::vector<std::string>& names = {});  // index variables
  void Where(Constraint c);
  bool InEach() const { return each_ != nullptr; }
  std::vector<Value> EndEach(std::vector<EachResult> results,
                             const std::vector<std::string>& names = {});

  // --- lists and boxes (builder_lists.cc). Fields are those of the record, in order.
  Value ListNew(uint32_t record, std::string name = {});
  Value ListOf(uint32_t record, Value n, ValueSpan fields);
  Value ListLen(Value list);
  std::vector<Value> ListGet(Value list, Value index);
  Value ListSet(Value list, Value index, ValueSpan fields);
  struct Taken {
    Value list;
    std::vector<Value> fields;
  };
  Taken ListTake(Value list, Value index);
  Value ListPush(Value list, ValueSpan fields);
  Taken ListPop(Value list);
  Value BoxNew(uint32_t record, ValueSpan fields, std::string name = {});
  std::vector<Value> BoxGet(Value box);
  void BoxSet(Value box, ValueSpan fields);

  // --- the rest
  std::vector<Value> Call(uint32_t callee, Values args, bool checkpoint = false);
  // args: params…, then tangents of the parameters in wrt (jvp) or seeds of the results that carry a
  // tangent (vjp). wrt has one entry per parameter of the callee.
  std::vector<Value> Jvp(uint32_t callee, const std::vector<bool>& wrt, Values args);
  std::vector<Value> Vjp(uint32_t callee, const std::vector<bool>& wrt, Values args);
  Value StopGradient(Value v);
  void Check(Value cond, TrapKind kind, Value a = kNoValue, Value b = kNoValue);
  Value TapeNew();
  Value Push(Value tape, Value v);
  std::pair<Value, Value> Pop(Value tape, Type t);  // tape, value

  void Jump(uint32_t block, Values args);
  void Branch(Value cond, Edge if_true, Edge if_false);
  void Return(Values results);

  Inst& Append(Inst inst);  // results must be set
  Type TypeOf(Value v) const { return function_.TypeOf(v); }

 private:
  std::vector<Inst>& List();
  // Appends `inst` with one new result.
  Value AppendOne(Inst inst, Type result, std::string name = {});
  std::vector<Value> AppendCall(Inst inst);
  void CheckAffine(const Affine& a) const;
  Inst Access(Op op, Value array, std::vector<Affine> subs) const;
  void CheckFields(uint32_t record, ValueSpan fields) const;
  std::vector<Value> AppendWithFields(Op op, Values args);
  Terminator& Terminate(Terminator::Kind kind);

  Module& module_;
  Function& function_;
  uint32_t block_ = 0;
  uint32_t loc_ = 0;
  Value guard_;
  std::vector<Inst>* redirect_ = nullptr;
  std::vector<Inst>* outer_redirect_ = nullptr;  // where the open statement will be appended
  std::unique_ptr<Each> each_;
};

}  // namespace pullback::ir
