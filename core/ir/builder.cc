#include "core/ir/builder.h"

#include "core/base/status.h"
#include "core/ir/literal.h"
#include "core/ir/op_types.h"

namespace pullback::ir {
namespace {

bool IsI64(Type t) { return t == Type::I64(); }
bool IsNumber(Type t) { return t.IsScalar() && t.elem != DType::kBool; }

}  // namespace

// --- where

uint32_t Builder::NewBlock() {
  function_.blocks.emplace_back();
  return static_cast<uint32_t>(function_.blocks.size() - 1);
}

void Builder::SetBlock(uint32_t block) {
  PB_CHECK(block < function_.blocks.size());
  PB_CHECK(!each_);
  block_ = block;
}

Value Builder::AddParam(uint32_t block, Type t, std::string name) {
  PB_CHECK(block < function_.blocks.size());
  const Value v = function_.NewValue(t, std::move(name));
  function_.blocks[block].params.push_back(v);
  return v;
}

bool Builder::Terminated() const {
  return function_.blocks[block_].term.kind != Terminator::Kind::kNone;
}

std::vector<Inst>& Builder::List() {
  if (redirect_) return *redirect_;
  if (each_) return each_->body;
  PB_CHECK(block_ < function_.blocks.size());
  return function_.blocks[block_].insts;
}

Inst& Builder::Append(Inst inst) {
  const bool in_body = redirect_ || each_;
  if (in_body && !inst.guard.valid() && inst.op != Op::Each) inst.guard = guard_;
  if (inst.loc == 0 && MayTrap(inst, function_)) inst.loc = loc_;
  std::vector<Inst>& list = List();
  list.push_back(std::move(inst));
  return list.back();
}

Value Builder::AppendOne(Inst inst, Type result, std::string name) {
  const Value v = function_.NewValue(result, std::move(name));
  inst.results = {v};
  Append(std::move(inst));
  return v;
}

// --- scalars

Value Builder::Const(Type scalar, uint64_t bits) {
  PB_CHECK(scalar.IsScalar());
  Inst inst;
  inst.op = Op::Const;
  inst.bits = bits;
  return AppendOne(std::move(inst), scalar);
}

Value Builder::F64(double v) { return Float(DType::kF64, v); }

Value Builder::Float(DType t, double v) {
  PB_CHECK(t == DType::kF64 || t == DType::kF32);
  return Const(Type::Scalar(t), FloatBits(t, v));
}

Value Builder::I64(int64_t v) { return Const(Type::I64(), static_cast<uint64_t>(v)); }
Value Builder::Bool(bool v) { return Const(Type::Bool(), v ? 1 : 0); }
Value Builder::Zero(Type scalar) { return Const(scalar, 0); }

Value Builder::One(Type scalar) {
  return Const(scalar, scalar.IsFloat() ? FloatBits(scalar.elem, 1.0) : 1);
}

Value Builder::Make(Op op, Values args, std::string name) {
  const TypeRule rule = Info(op).rule;
  PB_CHECK(rule != TypeRule::Own && rule != TypeRule::Cast);
  PB_CHECK(Info(op).arity == static_cast<int>(args.size()));
  std::vector<Type> operands;
  for (Value v : args) operands.push_back(TypeOf(v));
  PB_CHECK(CheckOperandTypes(op, operands) == nullptr);
  Inst inst;
  inst.op = op;
  inst.args = std::move(args);
  const Type result = ResultTypes(inst, function_, module_)[0];
  return AppendOne(std::move(inst), result, std::move(name));
}

Value Builder::Cast(Value v, DType to) {
  PB_CHECK(TypeOf(v).IsScalar());
  Inst inst;
  inst.op = Op::Cast;
  inst.args = {v};
  return AppendOne(std::move(inst), Type::Scalar(to));
}

void Builder::CheckAffine(const Affine& a) const {
  for (const Affine::Term& t : a.terms) PB_CHECK(IsI64(TypeOf(t.value)));
}

Value Builder::AffineOf(const Affine& a) {
  if (a.IsConst()) return I64(a.constant);
  if (a.AsValue().valid()) return a.AsValue();
  CheckAffine(a);
  Inst inst;
  inst.op = Op::AffineOf;
  inst.subs = {a};
  return AppendOne(std::move(inst), Type::I64());
}

Value Builder::Holds(std::vector<Constraint> cs) {
  if (cs.empty()) return Bool(true);
  for (const Constraint& c : cs) CheckAffine(c.e);
  Inst inst;
  inst.op = Op::Holds;
  inst.constraints = std::move(cs);
  return AppendOne(std::move(inst), Type::Bool());
}

// --- arrays

Value Builder::Dim(Value array, int axis) {
  PB_CHECK(TypeOf(array).IsArray() && axis >= 0 && axis < TypeOf(array).rank);
  Inst inst;
  inst.op = Op::Dim;
  inst.args = {array};
  inst.bits = static_cast<uint64_t>(axis);
  return AppendOne(std::move(inst), Type::I64());
}

Value Builder::Zeros(DType t, Values extents) {
  PB_CHECK(!extents.empty());
  for (Value e : extents) PB_CHECK(IsI64(TypeOf(e)));
  const Type result = Type::Array(t, static_cast<int>(extents.size()));
  Inst inst;
  inst.op = Op::Zeros;
  inst.args = std::move(extents);
  return AppendOne(std::move(inst), result);
}

Value Builder::ZerosLike(Value v) {
  const Type t = TypeOf(v);
  if (t.IsScalar()) return Zero(t);
  if (t.IsList()) return ListNew(t.record);
  PB_CHECK(t.IsArray());
  std::vector<Value> extents;
  for (int axis = 0; axis < t.rank; ++axis) extents.push_back(Dim(v, axis));
  return Zeros(t.elem, extents);
}

Inst Builder::Access(Op op, Value array, std::vector<Affine> subs) const {
  PB_CHECK(TypeOf(array).IsArray() && TypeOf(array).rank == subs.size());
  for (const Affine& a : subs) CheckAffine(a);
  Inst inst;
  inst.op = op;
  inst.args = {array};
  inst.subs = std::move(subs);
  return inst;
}

Value Builder::Index(Value array, std::vector<Affine> subs, std::string name) {
  return AppendOne(Access(Op::Index, array, std::move(subs)), TypeOf(array).Element(),
                   std::move(name));
}

Value Builder::Update(Value array, std::vector<Affine> subs, Value v) {
  Inst inst = Access(Op::Update, array, std::move(subs));
  PB_CHECK(TypeOf(v) == TypeOf(array).Element());
  inst.args.push_back(v);
  return AppendOne(std::move(inst), TypeOf(array));
}

Value Builder::AddAt(Value array, std::vector<Affine> subs, Value v) {
  Inst inst = Access(Op::AddAt, array, std::move(subs));
  PB_CHECK(TypeOf(v) == TypeOf(array).Element() && IsNumber(TypeOf(v)));
  inst.args.push_back(v);
  return AppendOne(std::move(inst), TypeOf(array));
}

Value Builder::AddArrays(Value a, Value b) {
  PB_CHECK(TypeOf(a).IsArray() && TypeOf(a) == TypeOf(b) && TypeOf(a).elem != DType::kBool);
  Inst inst;
  inst.op = Op::AddArrays;
  inst.args = {a, b};
  return AppendOne(std::move(inst), TypeOf(a));
}

Value Builder::Add(Value a, Value b) {
  return TypeOf(a).IsArray() ? AddArrays(a, b) : Make(Op::Add, {a, b});
}

// --- tensor statements

std::vector<Value> Builder::BeginEach(ValueSpan extents, const std::vector<std::string>& names) {
  PB_CHECK(!each_);
  PB_CHECK(names.empty() || names.size() == extents.size());
  each_ = std::make_unique<Each>();
  outer_redirect_ = redirect_;
  redirect_ = nullptr;
  std::vector<Value> vars;
  for (size_t i = 0; i < extents.size(); ++i) {
    PB_CHECK(IsI64(TypeOf(extents[i])));
    vars.push_back(function_.NewValue(Type::I64(), names.empty() ? "" : names[i]));
    each_->indices.push_back({vars.back(), extents[i]});
  }
  return vars;
}

void Builder::Where(Constraint c) {
  PB_CHECK(each_);
  CheckAffine(c.e);
  each_->where.push_back(std::move(c));
}

std::vector<Value> Builder::EndEach(std::vector<EachResult> results,
                                    const std::vector<std::string>& names) {
  PB_CHECK(each_ && !results.empty());
  PB_CHECK(names.empty() || names.size() == results.size());
  Inst inst;
  inst.op = Op::Each;
  for (size_t i = 0; i < results.size(); ++i) {
    const EachResult& r = results[i];
    PB_CHECK(r.out.size() == r.shape.size() && TypeOf(r.value).IsScalar());
    for (const Affine& a : r.out) CheckAffine(a);
    for (Value e : r.shape) PB_CHECK(IsI64(TypeOf(e)));
    PB_CHECK(!r.guard.valid() || TypeOf(r.guard) == Type::Bool());
    const Type elem = function_.ElementOf(r);
    const Type type = r.out.empty() ? elem : Type::Array(elem.elem, static_cast<int>(r.out.size()));
    inst.results.push_back(function_.NewValue(type, names.empty() ? "" : names[i]));
  }
  each_->results.assign(std::make_move_iterator(results.begin()),
                        std::make_move_iterator(results.end()));
  inst.each = std::move(each_);
  redirect_ = outer_redirect_;
  outer_redirect_ = nullptr;
  return ToVector(Append(std::move(inst)).results);
}

// --- the rest

std::vector<Value> Builder::AppendCall(Inst inst) {
  PB_CHECK(inst.callee < module_.functions.size());
  for (Type t : ResultTypes(inst, function_, module_)) {
    inst.results.push_back(function_.NewValue(t));
  }
  return ToVector(Append(std::move(inst)).results);
}

std::vector<Value> Builder::Call(uint32_t callee, Values args, bool checkpoint) {
  Inst inst;
  inst.op = Op::Call;
  inst.callee = callee;
  inst.args = std::move(args);
  inst.checkpoint = checkpoint;
  return AppendCall(std::move(inst));
}

std::vector<Value> Builder::Jvp(uint32_t callee, const std::vector<bool>& wrt, Values args) {
  Inst inst;
  inst.op = Op::Jvp;
  inst.callee = callee;
  inst.args = std::move(args);
  inst.wrt = ThinVector<bool>(wrt.begin(), wrt.end());
  return AppendCall(std::move(inst));
}

std::vector<Value> Builder::Vjp(uint32_t callee, const std::vector<bool>& wrt, Values args) {
  Inst inst;
  inst.op = Op::Vjp;
  inst.callee = callee;
  inst.args = std::move(args);
  inst.wrt = ThinVector<bool>(wrt.begin(), wrt.end());
  return AppendCall(std::move(inst));
}

Value Builder::StopGradient(Value v) {
  Inst inst;
  inst.op = Op::StopGradient;
  inst.args = {v};
  return AppendOne(std::move(inst), TypeOf(v));
}

void Builder::Check(Value cond, TrapKind kind, Value a, Value b) {
  PB_CHECK(TypeOf(cond) == Type::Bool());
  PB_CHECK(a.valid() || !b.valid());
  Inst inst;
  inst.op = Op::Check;
  inst.bits = static_cast<uint64_t>(kind);
  inst.args = {cond};
  for (Value detail : {a, b}) {
    if (!detail.valid()) continue;
    PB_CHECK(IsI64(TypeOf(detail)));
    inst.args.push_back(detail);
  }
  Append(std::move(inst));
}

Value Builder::TapeNew() {
  Inst inst;
  inst.op = Op::TapeNew;
  return AppendOne(std::move(inst), Type::Tape());
}

Value Builder::Push(Value tape, Value v) {
  PB_CHECK(TypeOf(tape).IsTape() && !TypeOf(v).IsTape());
  Inst inst;
  inst.op = Op::Push;
  inst.args = {tape, v};
  return AppendOne(std::move(inst), Type::Tape());
}

std::pair<Value, Value> Builder::Pop(Value tape, Type t) {
  PB_CHECK(TypeOf(tape).IsTape() && !t.IsTape());
  Inst inst;
  inst.op = Op::Pop;
  inst.args = {tape};
  const Value rest = function_.NewValue(Type::Tape());
  const Value v = function_.NewValue(t);
  inst.results = {rest, v};
  Append(std::move(inst));
  return {rest, v};
}

Terminator& Builder::Terminate(Terminator::Kind kind) {
  PB_CHECK(!each_ && !Terminated());
  Terminator& term = function_.blocks[block_].term;
  term.kind = kind;
  return term;
}

void Builder::Jump(uint32_t block, Values args) {
  PB_CHECK(block < function_.blocks.size());
  Terminate(Terminator::Kind::kJump).edges.push_back({block, std::move(args)});
}

void Builder::Branch(Value cond, Edge if_true, Edge if_false) {
  PB_CHECK(TypeOf(cond) == Type::Bool());
  PB_CHECK(if_true.block < function_.blocks.size() && if_false.block < function_.blocks.size());
  Terminator& term = Terminate(Terminator::Kind::kBranch);
  term.cond = cond;
  term.edges.push_back(std::move(if_true));
  term.edges.push_back(std::move(if_false));
}

void Builder::Return(Values results) {
  PB_CHECK(results.size() == function_.results.size());
  for (size_t i = 0; i < results.size(); ++i) PB_CHECK(TypeOf(results[i]) == function_.results[i]);
  Terminate(Terminator::Kind::kReturn).results = std::move(results);
}

}  // namespace pullback::ir
