#include "tests/core/lang/tree_eval.h"

#include <functional>
#include <memory>

#include "core/base/status.h"
#include "core/eval/scalar_ops.h"
#include "core/ir/monoid.h"
#include "core/lang/builtins.h"

namespace pullback::lang {
namespace {

using ir::Op;
using ir::TrapKind;

struct Trapped {
  TrapKind kind;
};

// A scalar (no shape, one element), an array, or what is made of parts: a tuple, struct, closure or
// list (`tuple`), a box (`cell`). Elements as core/eval holds them.
struct Datum {
  DType elem = DType::kF64;
  std::vector<int64_t> shape;
  std::vector<uint64_t> bits;
  std::vector<Datum> tuple;
  enum class Kind : uint8_t { kTensor, kTuple, kList, kBox } kind = Kind::kTensor;
  std::shared_ptr<Datum> cell;
};

Datum Made(Datum::Kind kind, std::vector<Datum> parts) {
  return {DType::kF64, {}, {}, std::move(parts), kind, nullptr};
}

Datum BoxOf(Datum inside) {
  Datum box = Made(Datum::Kind::kBox, {});
  box.cell = std::make_shared<Datum>(std::move(inside));
  return box;
}

Datum Scalar(DType t, uint64_t bits) { return {t, {}, {bits}, {}, Datum::Kind::kTensor, nullptr}; }
Datum Int(int64_t v) { return Scalar(DType::kI64, static_cast<uint64_t>(v)); }
int64_t AsInt(const Datum& d) { return static_cast<int64_t>(d.bits[0]); }
bool AsBool(const Datum& d) { return d.bits[0] != 0; }

int64_t CountOf(const std::vector<int64_t>& shape) {
  int64_t n = 1;
  for (int64_t d : shape) n *= d;
  return n;
}

uint64_t Apply(Op op, DType t, std::vector<uint64_t> args) {
  if (eval::DividesByZero(op, t, args.data())) throw Trapped{TrapKind::kDivideByZero};
  return eval::EvalScalar(op, t, args.data());
}

uint64_t Number(DType t, double v) {
  uint64_t bits;
  std::memcpy(&bits, &v, sizeof bits);
  return t == DType::kF64 ? bits : eval::EvalCast(DType::kF64, t, bits);
}

uint64_t One(DType t) { return t == DType::kI64 ? 1 : Number(t, 1.0); }

Op OpOf(BinaryOp op) {
  static constexpr Op kOps[] = {Op::Add, Op::Sub, Op::Mul, Op::Div, Op::Rem,
                                Op::Pow, Op::Add, Op::Eq,  Op::Ne,  Op::Lt,
                                Op::Le,  Op::Gt,  Op::Ge,  Op::And, Op::Or};
  return kOps[static_cast<int>(op)];
}

Op OpOf(int builtin) {
  switch (static_cast<Builtin>(builtin)) {
#define PB_CASE(e, n, k) \
  case Builtin::e: return Op::e;
    PB_SCALAR_BUILTINS(PB_CASE)
#undef PB_CASE
    default: return Op::Select;
  }
}

Tensor ToTensor(const Datum& d) {
  Tensor t{d.elem, d.shape, {}};
  const size_t size = DTypeSize(d.elem);
  t.data.resize(d.bits.size() * size);
  for (size_t i = 0; i < d.bits.size(); ++i) {
    const uint64_t v = d.bits[i];
    std::memcpy(t.data.data() + i * size, &v, size);
  }
  return t;
}

Datum FromTensor(const Tensor& t) {
  Datum d{t.dtype, t.shape, {}, {}, Datum::Kind::kTensor, nullptr};
  const size_t size = DTypeSize(t.dtype);
  for (int64_t i = 0; i < t.ElementCount(); ++i) {
    uint64_t v = 0;
    std::memcpy(&v, t.data.data() + static_cast<size_t>(i) * size, size);
    d.bits.push_back(v);
  }
  return d;
}

// Calls fn on every index of a box, in row-major order.
void ForEachIndex(const std::vector<int64_t>& shape,
                  const std::function<void(const std::vector<int64_t>&)>& fn) {
  if (CountOf(shape) == 0) return;
  std::vector<int64_t> index(shape.size());
  while (true) {
    fn(index);
    size_t axis = shape.size();
    while (axis > 0 && ++index[axis - 1] == shape[axis - 1]) index[--axis] = 0;
    if (axis == 0) return;
  }
}

size_t Offset(const std::vector<int64_t>& shape, const std::vector<int64_t>& index) {
  int64_t at = 0;
  for (size_t i = 0; i < shape.size(); ++i) at = at * shape[i] + index[i];
  return static_cast<size_t>(at);
}

// --- broadcasting

std::vector<int64_t> BroadcastShape(const std::vector<Datum>& operands) {
  std::vector<int64_t> shape;
  for (const Datum& d : operands) {
    if (d.shape.size() > shape.size())
      shape.insert(shape.begin(), d.shape.size() - shape.size(), 1);
    const size_t skipped = shape.size() - d.shape.size();
    for (size_t i = 0; i < d.shape.size(); ++i) {
      int64_t& s = shape[skipped + i];
      if (s != d.shape[i] && s != 1 && d.shape[i] != 1) throw Trapped{TrapKind::kSizeMismatch};
      if (s == 1) s = d.shape[i];
    }
  }
  return shape;
}

uint64_t BroadcastElement(const Datum& d, const std::vector<int64_t>& index) {
  const size_t skipped = index.size() - d.shape.size();
  std::vector<int64_t> at;
  for (size_t i = 0; i < d.shape.size(); ++i)
    at.push_back(d.shape[i] == 1 ? 0 : index[skipped + i]);
  return d.bits[Offset(d.shape, at)];
}

using Elementwise = std::function<std::vector<uint64_t>(const std::vector<uint64_t>&)>;

// Several results by one function.
std::vector<Datum> Map(const std::vector<DType>& types, const std::vector<Datum>& operands,
                       const Elementwise& fn) {
  const std::vector<int64_t> shape = BroadcastShape(operands);
  std::vector<Datum> out;
  for (DType t : types) out.push_back({t, shape, {}, {}, Datum::Kind::kTensor, nullptr});
  ForEachIndex(shape, [&](const std::vector<int64_t>& index) {
    std::vector<uint64_t> args;
    for (const Datum& d : operands) args.push_back(BroadcastElement(d, index));
    const std::vector<uint64_t> results = fn(args);
    for (size_t i = 0; i < out.size(); ++i) out[i].bits.push_back(results[i]);
  });
  return out;
}

Datum MapOp(Op op, DType result, const std::vector<Datum>& operands) {
  const DType t = operands[operands.size() == 3 ? 1 : 0].elem;
  return Map({result}, operands,
             [&](const std::vector<uint64_t>& args) { return std::vector{Apply(op, t, args)}; })[0];
}

// --- the evaluator

enum class Flow { kNext, kBreak, kContinue, kReturn };

class Tree {
 public:
  explicit Tree(const Program& program) : program_(program) {}

  Datum Call(uint32_t callee, std::vector<Datum> args);

 private:
  struct Run {
    const Function* function;
    std::vector<Datum> locals;
    Datum result;
  };

  void BindSizes(const std::vector<Datum>& args);
  void CheckSizes(const TypeExpr& type, const Datum& value);

  Flow Execute(const Block& block);
  Flow Execute(const Stmt& s);
  Flow ExecuteLoop(const Stmt& s);
  void Define(const Stmt& s);
  void Assign(const Stmt& s);
  void Change(Datum& place, const std::vector<Access>& path, size_t step, const Datum& value);
  static Datum& ListElement(Datum& list, const Datum& index);

  Datum Value(const Block& block);
  Datum Eval(const Expr& e);
  Datum EvalLiteral(const Expr& e);
  Datum EvalBinary(const Expr& e);
  Datum EvalChain(const Expr& e);
  Datum EvalRest(const Expr& e);
  Datum EvalMatMul(const Datum& a, const Datum& b);
  Datum EvalCall(const Expr& e);
  std::vector<std::vector<int64_t>> Choose(const Datum& x, const std::vector<Subscript>& subscripts,
                                           std::vector<int64_t>& shape);
  Datum EvalGather(const Datum& x, const std::vector<Subscript>& subscripts);
  void ChangeRegion(Datum& x, const std::vector<Subscript>& subscripts, const Datum& value);
  Datum EvalListCall(const Expr& e, std::vector<Datum> args);
  Datum EvalBroadcast(const Expr& e);
  Datum EvalIndex(const Expr& e);
  Datum EvalComprehension(const Expr& e);
  Datum EvalArg(const Expr& e);
  Datum EvalScan(const Expr& e);
  void Nest(const Expr& e, size_t depth, const std::function<void()>& body);
  Datum EvalArray(const Expr& e);
  std::vector<Datum> Operands(const Expr& e);
  size_t ElementOf(const Datum& x, const std::vector<Subscript>& subscripts);

  const Program& program_;
  Run* run_ = nullptr;
};

Datum Tree::Call(uint32_t callee, std::vector<Datum> args) {
  Run run{program_.functions[callee].get(), {}, {}};
  run.locals.resize(run.function->locals.size());
  Run* const caller = std::exchange(run_, &run);
  for (size_t i = 0; i < args.size(); ++i) run.locals[run.function->params[i].local] = args[i];
  BindSizes(args);
  Execute(run.function->body);
  if (run.function->has_result) CheckSizes(run.function->result, run.result);
  run_ = caller;
  return run.result;
}

void Leaves(const Datum& d, std::vector<Datum>& out) {
  if (d.kind != Datum::Kind::kTuple) return out.push_back(d);
  for (const Datum& e : d.tuple) Leaves(e, out);
}

void Tree::BindSizes(const std::vector<Datum>& args) {
  std::vector<Datum> leaves;
  for (const Datum& a : args) Leaves(a, leaves);
  for (const SizeBinding& s : run_->function->size_bindings) {
    run_->locals[s.local] = Int(0);
    const int64_t rest = AsInt(Eval(*s.dim));
    run_->locals[s.local] = Int((leaves[s.leaf].shape[s.axis] - rest) / s.coeff);
  }
  for (size_t i = 0; i < args.size(); ++i) CheckSizes(run_->function->params[i].type, args[i]);
}

void Tree::CheckSizes(const TypeExpr& type, const Datum& value) {
  for (size_t i = 0; i < type.dims.size(); ++i) {
    if (IsAnySize(*type.dims[i])) continue;
    if (AsInt(Eval(*type.dims[i])) != value.shape[i]) throw Trapped{TrapKind::kSizeMismatch};
  }
  if (type.kind != TypeExpr::Kind::kTuple) return;
  for (size_t i = 0; i < type.elements.size(); ++i) CheckSizes(type.elements[i], value.tuple[i]);
}

// --- statements

Flow Tree::Execute(const Block& block) {
  for (const StmtPtr& s : block.stmts) {
    const Flow flow = Execute(*s);
    if (flow != Flow::kNext) return flow;
  }
  return Flow::kNext;
}

Flow Tree::Execute(const Stmt& s) {
  switch (s.kind) {
    case Stmt::Kind::kLet:
    case Stmt::Kind::kVar: Define(s); return Flow::kNext;
    case Stmt::Kind::kAssign: Assign(s); return Flow::kNext;
    case Stmt::Kind::kIf:
      for (const CondArm& arm : s.arms) {
        if (!arm.cond || AsBool(Eval(*arm.cond))) return Execute(arm.body);
      }
      return Flow::kNext;
    case Stmt::Kind::kWhile:
    case Stmt::Kind::kFor: return ExecuteLoop(s);
    case Stmt::Kind::kBreak: return Flow::kBreak;
    case Stmt::Kind::kContinue: return Flow::kContinue;
    case Stmt::Kind::kCall: Eval(*s.value); return Flow::kNext;
    case Stmt::Kind::kReturn:
      if (s.value) run_->result = Eval(*s.value);
      return Flow::kReturn;
  }
  return Flow::kNext;
}

Flow Tree::ExecuteLoop(const Stmt& s) {
  const bool is_for = s.kind == Stmt::Kind::kFor;
  int64_t i = is_for && s.binder.lo ? AsInt(Eval(*s.binder.lo)) : 0;
  const int64_t hi = is_for ? AsInt(Eval(*s.binder.hi)) : 0;
  for (; is_for ? i < hi : AsBool(Eval(*s.value)); ++i) {
    if (is_for) run_->locals[s.binder.local] = Int(i);
    const Flow flow = Execute(s.body);
    if (flow == Flow::kReturn) return flow;
    if (flow == Flow::kBreak) break;
  }
  return Flow::kNext;
}

void Tree::Define(const Stmt& s) {
  const Datum value = Eval(*s.value);
  if (s.annotation) CheckSizes(*s.annotation, value);
  for (size_t i = 0; i < s.targets.size(); ++i) {
    const uint32_t local = s.targets[i].local;
    Datum part = s.targets.size() == 1 ? value : value.tuple[i];
    if (run_->function->locals[local].shared) part = BoxOf(std::move(part));
    run_->locals[local] = std::move(part);
  }
}

void Tree::Assign(const Stmt& s) {
  const Datum value = Eval(*s.value);
  for (size_t i = 0; i < s.targets.size(); ++i) {
    const Target& t = s.targets[i];
    const Datum& part = s.targets.size() == 1 ? value : value.tuple[i];
    Datum& variable = run_->locals[t.local];
    const bool shared = run_->function->locals[t.local].shared;
    Change(shared ? *variable.cell : variable, t.path, 0, part);
  }
}

void Tree::Change(Datum& place, const std::vector<Access>& path, size_t step, const Datum& value) {
  if (step == path.size()) {
    place = value;
  } else if (path[step].IsField()) {
    Change(place.tuple[static_cast<size_t>(path[step].index)], path, step + 1, value);
  } else if (place.kind == Datum::Kind::kList) {
    Change(ListElement(place, Eval(*path[step].subscripts[0].index)), path, step + 1, value);
  } else if (path[step].region) {
    ChangeRegion(place, path[step].subscripts, value);
  } else {
    place.bits[ElementOf(place, path[step].subscripts)] = value.bits[0];
  }
}

Datum& Tree::ListElement(Datum& list, const Datum& index) {
  const int64_t i = AsInt(index);
  if (i < 0 || i >= static_cast<int64_t>(list.tuple.size())) throw Trapped{TrapKind::kIndex};
  return list.tuple[static_cast<size_t>(i)];
}

// --- expressions

Datum Tree::Value(const Block& block) {
  Execute(block);
  return Eval(*block.result);
}

std::vector<Datum> Tree::Operands(const Expr& e) {
  std::vector<Datum> out;
  for (const ExprPtr& operand : e.operands) out.push_back(Eval(*operand));
  return out;
}

bool IsChain(const Expr& e) {
  if (e.kind == Expr::Kind::kIverson) return true;
  const bool product = e.kind == Expr::Kind::kBinary && e.binary == BinaryOp::kMul;
  const bool negation = e.kind == Expr::Kind::kUnary && e.unary == UnaryOp::kNeg;
  if (!product && !negation) return false;
  return IsChain(*e.operands[0]) || (product && IsChain(*e.operands[1]));
}

Datum Tree::Eval(const Expr& e) {
  if (IsChain(e)) return EvalChain(e);
  switch (e.kind) {
    case Expr::Kind::kInt:
    case Expr::Kind::kFloat:
    case Expr::Kind::kBool: return EvalLiteral(e);
    case Expr::Kind::kName:
      if (e.local == UINT32_MAX) return Made(Datum::Kind::kTuple, {});
      return run_->locals[e.local];
    case Expr::Kind::kUnary:
      return MapOp(e.unary == UnaryOp::kNeg ? Op::Neg : Op::Not, e.type.elem, Operands(e));
    case Expr::Kind::kBinary: return EvalBinary(e);
    case Expr::Kind::kCall: return EvalCall(e);
    case Expr::Kind::kBroadcastCall: return EvalBroadcast(e);
    case Expr::Kind::kCast: {
      const Datum d = Eval(*e.operands[0]);
      return Map({e.elem}, {d}, [&](const std::vector<uint64_t>& x) {
        return std::vector{eval::EvalCast(d.elem, e.elem, x[0])};
      })[0];
    }
    case Expr::Kind::kIndex: return EvalIndex(e);
    case Expr::Kind::kTranspose: {
      Datum x = Eval(*e.operands[0]), out = x;
      out.shape.assign(x.shape.rbegin(), x.shape.rend());
      ForEachIndex(x.shape, [&](const std::vector<int64_t>& i) {
        out.bits[Offset(out.shape, {i.rbegin(), i.rend()})] = x.bits[Offset(x.shape, i)];
      });
      return out;
    }
    case Expr::Kind::kConstruct:
    case Expr::Kind::kLambda:
    case Expr::Kind::kTuple: return Made(Datum::Kind::kTuple, Operands(e));
    case Expr::Kind::kWith: {
      std::vector<Datum> parts = Operands(e);
      Change(parts[0], e.path, 0, parts[1]);
      return parts[0];
    }
    case Expr::Kind::kField: return Eval(*e.operands[0]).tuple[static_cast<size_t>(e.int_value)];
    case Expr::Kind::kArray: return EvalArray(e);
    case Expr::Kind::kScan: return EvalScan(e);
    case Expr::Kind::kComprehension:
      return IsArg(e.comprehension) ? EvalArg(e) : EvalComprehension(e);
    case Expr::Kind::kIf:
      for (const CondArm& arm : e.arms) {
        if (!arm.cond || AsBool(Eval(*arm.cond))) return Value(arm.body);
      }
      break;
    case Expr::Kind::kDynamic:
      return Made(Datum::Kind::kTuple, {Int(e.int_value), Eval(*e.operands[0])});
    case Expr::Kind::kTag: return Eval(*e.operands[0]).tuple[0];
    case Expr::Kind::kVariant: return Eval(*e.operands[0]).tuple[1];
    case Expr::Kind::kBracket:
    case Expr::Kind::kApply:
    case Expr::Kind::kClosure:
    case Expr::Kind::kDerive:
    case Expr::Kind::kIverson: break;
  }
  PB_CHECK(false);
  return {};
}

Datum Tree::EvalLiteral(const Expr& e) {
  const DType t = e.type.elem;
  if (t == DType::kBool || t == DType::kI64) return Scalar(t, static_cast<uint64_t>(e.int_value));
  const bool whole = e.kind == Expr::Kind::kInt;
  return Scalar(t, Number(t, whole ? static_cast<double>(e.int_value) : e.float_value));
}

Datum Tree::EvalBinary(const Expr& e) {
  const Datum a = Eval(*e.operands[0]);
  const bool logic = e.binary == BinaryOp::kAnd || e.binary == BinaryOp::kOr;
  if (logic && e.type.kind == Type::Kind::kScalar && AsBool(a) == (e.binary == BinaryOp::kOr))
    return a;
  const Datum b = Eval(*e.operands[1]);
  if (e.binary == BinaryOp::kMatMul) return EvalMatMul(a, b);
  return MapOp(OpOf(e.binary), e.type.elem, {a, b});
}

// The factors of a product with brackets.
void Brackets(const Expr& e, std::vector<const Expr*>& out) {
  if (e.kind == Expr::Kind::kIverson) out.push_back(e.operands[0].get());
  if (e.kind == Expr::Kind::kIverson || !IsChain(e)) return;
  for (const ExprPtr& factor : e.operands) Brackets(*factor, out);
}

Datum Tree::EvalChain(const Expr& e) {
  std::vector<const Expr*> predicates;
  Brackets(e, predicates);
  bool all = true;
  for (const Expr* p : predicates) all = all && AsBool(Eval(*p));
  const bool scalar = e.type.kind == Type::Kind::kScalar;
  Datum rest = all || !scalar ? EvalRest(e) : Scalar(e.type.elem, 0);
  if (!all) rest.bits.assign(rest.bits.size(), 0);
  return rest;
}

Datum Tree::EvalRest(const Expr& e) {
  if (e.kind == Expr::Kind::kIverson) return Scalar(e.type.elem, One(e.type.elem));
  if (!IsChain(e)) return Eval(e);
  std::vector<Datum> factors;
  for (const ExprPtr& factor : e.operands) factors.push_back(EvalRest(*factor));
  return MapOp(factors.size() == 1 ? Op::Neg : Op::Mul, e.type.elem, factors);
}

Datum Tree::EvalMatMul(const Datum& a, const Datum& b) {
  const int64_t inner = a.shape.back();
  if (inner != b.shape.front()) throw Trapped{TrapKind::kSizeMismatch};
  Datum out{a.elem, {a.shape.begin(), a.shape.end() - 1}, {}, {}, Datum::Kind::kTensor, nullptr};
  const size_t rows = out.shape.size();
  out.shape.insert(out.shape.end(), b.shape.begin() + 1, b.shape.end());
  ForEachIndex(out.shape, [&](const std::vector<int64_t>& i) {
    uint64_t sum = 0;
    for (int64_t k = 0; k < inner; ++k) {
      std::vector<int64_t> x(i.begin(), i.begin() + static_cast<std::ptrdiff_t>(rows)), y = {k};
      x.push_back(k);
      y.insert(y.end(), i.begin() + static_cast<std::ptrdiff_t>(rows), i.end());
      const uint64_t term =
          Apply(Op::Mul, a.elem, {a.bits[Offset(a.shape, x)], b.bits[Offset(b.shape, y)]});
      sum = Apply(Op::Add, a.elem, {sum, term});
    }
    out.bits.push_back(sum);
  });
  return out;
}

Datum Tree::EvalCall(const Expr& e) {
  std::vector<Datum> args = Operands(e);
  if (e.applies) {  // what the closure captures comes first
    const std::vector<Datum> captures = args[0].tuple;
    args.erase(args.begin());
    args.insert(args.begin(), captures.begin(), captures.end());
  }
  if (e.builtin < 0) return Call(e.callee, std::move(args));
  if (IsListBuiltin(e.builtin)) return EvalListCall(e, std::move(args));
  switch (static_cast<Builtin>(e.builtin)) {
    case Builtin::Len:
      if (args[0].kind == Datum::Kind::kList)
        return Int(static_cast<int64_t>(args[0].tuple.size()));
      return Int(args[0].shape[0]);
    case Builtin::Dim: return Int(args[0].shape[static_cast<size_t>(AsInt(args[1]))]);
    case Builtin::Zeros: {
      Datum out{e.type.elem, {}, {}, {}, Datum::Kind::kTensor, nullptr};
      for (const Datum& d : args) {
        if (AsInt(d) < 0) throw Trapped{TrapKind::kNegativeSize};
        out.shape.push_back(AsInt(d));
      }
      out.bits.assign(static_cast<size_t>(CountOf(out.shape)), 0);
      return out;
    }
    case Builtin::Column: args[0].shape.push_back(1); return args[0];
    default: return MapOp(OpOf(e.builtin), e.type.elem, args);
  }
}

Datum Tree::EvalListCall(const Expr& e, std::vector<Datum> args) {
  switch (static_cast<Builtin>(e.builtin)) {
    case Builtin::List: return Made(Datum::Kind::kList, std::move(args));
    case Builtin::Repeat: {
      if (AsInt(args[1]) < 0) throw Trapped{TrapKind::kNegativeSize};
      return Made(Datum::Kind::kList,
                  std::vector<Datum>(static_cast<size_t>(AsInt(args[1])), args[0]));
    }
    case Builtin::Push: args[0].tuple.push_back(args[1]); return args[0];
    case Builtin::Pop:
    case Builtin::Last: {
      if (args[0].tuple.empty()) throw Trapped{TrapKind::kIndex};
      Datum last = args[0].tuple.back();
      if (e.builtin == static_cast<int>(Builtin::Last)) return last;
      args[0].tuple.pop_back();
      return Made(Datum::Kind::kTuple, {args[0], last});
    }
    case Builtin::Box: return BoxOf(args[0]);
    case Builtin::Get: return *args[0].cell;
    default: *args[0].cell = args[1]; return {};  // set
  }
}

Datum Tree::EvalBroadcast(const Expr& e) {
  const std::vector<Datum> args = Operands(e);
  if (e.builtin >= 0) return MapOp(OpOf(e.builtin), e.type.elem, args);
  const Type& result = program_.functions[e.callee]->result_type;
  const bool tuple = result.kind == Type::Kind::kTuple;
  std::vector<DType> types;
  for (const Type& t : tuple ? result.elements : std::vector<Type>{result}) types.push_back(t.elem);
  std::vector<Datum> out = Map(types, args, [&](const std::vector<uint64_t>& x) {
    std::vector<Datum> scalars;
    for (size_t i = 0; i < x.size(); ++i) scalars.push_back(Scalar(args[i].elem, x[i]));
    const Datum value = Call(e.callee, std::move(scalars));
    std::vector<uint64_t> bits;
    for (const Datum& d : tuple ? value.tuple : std::vector<Datum>{value})
      bits.push_back(d.bits[0]);
    return bits;
  });
  return tuple ? Made(Datum::Kind::kTuple, out) : out[0];
}

size_t Tree::ElementOf(const Datum& x, const std::vector<Subscript>& subscripts) {
  std::vector<int64_t> index;
  for (size_t i = 0; i < subscripts.size(); ++i) {
    index.push_back(AsInt(Eval(*subscripts[i].index)));
    if (index[i] < 0 || index[i] >= x.shape[i]) throw Trapped{TrapKind::kIndex};
  }
  return Offset(x.shape, index);
}

Datum Tree::EvalIndex(const Expr& e) {
  Datum x = Eval(*e.operands[0]);
  if (x.kind == Datum::Kind::kList) {
    return Datum(ListElement(x, Eval(*e.subscripts[0].index)));
  }
  for (const Subscript& s : e.subscripts) {
    if (s.index && s.index->type.kind == Type::Kind::kArray) return EvalGather(x, e.subscripts);
  }
  std::vector<int64_t> lo, step, extent, axes;
  for (size_t i = 0; i < e.subscripts.size(); ++i) {
    const Subscript& s = e.subscripts[i];
    const int64_t dim = x.shape[i];
    lo.push_back(s.is_slice ? (s.lo ? AsInt(Eval(*s.lo)) : 0) : AsInt(Eval(*s.index)));
    const int64_t hi = s.is_slice ? (s.hi ? AsInt(Eval(*s.hi)) : dim) : lo[i] + 1;
    step.push_back(s.step ? s.step->int_value : 1);
    if (lo[i] < 0 || hi < lo[i] || hi > dim) throw Trapped{TrapKind::kIndex};
    if (!s.is_slice) continue;
    axes.push_back(static_cast<int64_t>(i));
    extent.push_back((hi - lo[i] + step[i] - 1) / step[i]);
  }
  Datum out{x.elem, extent, {}, {}, Datum::Kind::kTensor, nullptr};
  ForEachIndex(extent, [&](const std::vector<int64_t>& at) {
    std::vector<int64_t> index = lo;
    for (size_t a = 0; a < axes.size(); ++a) {
      const size_t axis = static_cast<size_t>(axes[a]);
      index[axis] += at[a] * step[axis];
    }
    out.bits.push_back(x.bits[Offset(x.shape, index)]);
  });
  return out;
}

// By axis, the offsets that the subscripts choose, and the extents of what is chosen.
std::vector<std::vector<int64_t>> Tree::Choose(const Datum& x,
                                               const std::vector<Subscript>& subscripts,
                                               std::vector<int64_t>& shape) {
  std::vector<std::vector<int64_t>> all;
  for (size_t i = 0; i < subscripts.size(); ++i) {
    const Subscript& s = subscripts[i];
    all.emplace_back();
    if (!s.is_slice) {
      const Datum index = Eval(*s.index);
      for (uint64_t v : index.bits) all[i].push_back(static_cast<int64_t>(v));
      shape.insert(shape.end(), index.shape.begin(), index.shape.end());
    } else {
      const int64_t lo = s.lo ? AsInt(Eval(*s.lo)) : 0;
      const int64_t hi = s.hi ? AsInt(Eval(*s.hi)) : x.shape[i];
      if (lo < 0 || hi < lo || hi > x.shape[i]) throw Trapped{TrapKind::kIndex};
      for (int64_t k = lo; k < hi; k += s.step ? s.step->int_value : 1) all[i].push_back(k);
      shape.push_back(static_cast<int64_t>(all[i].size()));
    }
  }
  return all;
}

// Calls fn on the offset in x of every chosen element, in order.
void ForEachChosen(const Datum& x, const std::vector<std::vector<int64_t>>& chosen,
                   const std::function<void(size_t)>& fn) {
  std::vector<int64_t> extents;
  for (const auto& axis : chosen) extents.push_back(static_cast<int64_t>(axis.size()));
  ForEachIndex(extents, [&](const std::vector<int64_t>& at) {
    std::vector<int64_t> index;
    for (size_t i = 0; i < at.size(); ++i) {
      index.push_back(chosen[i][static_cast<size_t>(at[i])]);
      if (index[i] < 0 || index[i] >= x.shape[i]) throw Trapped{TrapKind::kIndex};
    }
    fn(Offset(x.shape, index));
  });
}

Datum Tree::EvalGather(const Datum& x, const std::vector<Subscript>& subscripts) {
  Datum out{x.elem, {}, {}, {}, Datum::Kind::kTensor, nullptr};
  const auto chosen = Choose(x, subscripts, out.shape);
  ForEachChosen(x, chosen, [&](size_t at) { out.bits.push_back(x.bits[at]); });
  return out;
}

void Tree::ChangeRegion(Datum& x, const std::vector<Subscript>& subscripts, const Datum& value) {
  std::vector<int64_t> shape;
  const auto chosen = Choose(x, subscripts, shape);
  if (!value.shape.empty() && value.shape != shape) throw Trapped{TrapKind::kSizeMismatch};
  size_t next = 0;
  ForEachChosen(x, chosen,
                [&](size_t at) { x.bits[at] = value.bits[value.shape.empty() ? 0 : next++]; });
}

Datum Tree::EvalArray(const Expr& e) {
  const std::vector<Datum> elements = Operands(e);
  Datum out{e.type.elem, elements[0].shape, {}, {}, Datum::Kind::kTensor, nullptr};
  for (const Datum& d : elements) {
    if (d.shape != elements[0].shape) throw Trapped{TrapKind::kSizeMismatch};
    out.bits.insert(out.bits.end(), d.bits.begin(), d.bits.end());
  }
  out.shape.insert(out.shape.begin(), static_cast<int64_t>(elements.size()));
  return out;
}

void Tree::Nest(const Expr& e, size_t depth, const std::function<void()>& body) {
  if (depth == e.binders.size()) return body();
  const Binder& b = e.binders[depth];
  const int64_t lo = b.lo ? AsInt(Eval(*b.lo)) : 0;
  const int64_t hi = AsInt(Eval(*b.hi));
  if (hi < lo) throw Trapped{TrapKind::kNegativeSize};
  for (int64_t i = lo; i < hi; ++i) {
    run_->locals[b.local] = Int(i);
    Nest(e, depth + 1, body);
  }
}

Datum Tree::EvalComprehension(const Expr& e) {
  static constexpr ir::Monoid kMonoids[] = {ir::Monoid::kGen, ir::Monoid::kSum, ir::Monoid::kProd,
                                            ir::Monoid::kMax, ir::Monoid::kMin};
  const bool logical = IsLogical(e.comprehension);
  const ir::Monoid m = logical ? ir::Monoid::kSum : kMonoids[static_cast<int>(e.comprehension)];
  const Op join = e.comprehension == Comprehension::kAnd ? Op::And : logical ? Op::Or : Op::Add;
  if (!e.operands.empty()) run_->locals[e.local] = Eval(*e.operands[0]);
  Datum out{e.type.elem, {}, {}, {}, Datum::Kind::kTensor, nullptr};
  bool first = true;
  if (m == ir::Monoid::kGen) {
    for (const Binder& b : e.binders) {
      const int64_t extent = AsInt(Eval(*b.hi)) - (b.lo ? AsInt(Eval(*b.lo)) : 0);
      if (extent < 0) throw Trapped{TrapKind::kNegativeSize};
      out.shape.push_back(extent);
    }
  } else if (e.type.kind == Type::Kind::kScalar) {
    out.bits = {logical ? join == Op::And : ir::MonoidIdentity(m, e.type.elem)};
    first = false;
  }
  std::vector<int64_t> inner(static_cast<size_t>(e.body.result->type.rank), 0);
  Nest(e, 0, [&] {
    const Datum v = Value(e.body);
    if (first) inner = v.shape;
    if (v.shape != inner) throw Trapped{TrapKind::kSizeMismatch};
    if (m == ir::Monoid::kGen) {
      out.bits.insert(out.bits.end(), v.bits.begin(), v.bits.end());
    } else {
      if (first) out.bits.assign(v.bits.size(), ir::MonoidIdentity(m, e.type.elem));
      for (size_t i = 0; i < v.bits.size(); ++i) {
        const Op op = logical ? join : ir::MonoidOp(m);
        out.bits[i] = Apply(op, e.type.elem, {out.bits[i], v.bits[i]});
      }
    }
    first = false;
  });
  // The sizes of elements that there are none of are not looked for here.
  if (first && !inner.empty()) throw Trapped{TrapKind::kStopped};
  if (e.type.kind == Type::Kind::kArray)
    out.shape.insert(out.shape.end(), inner.begin(), inner.end());
  return out;
}

// The first point whose value no later one beats.
Datum Tree::EvalArg(const Expr& e) {
  const DType t = e.body.result->type.elem;
  const Op beats = e.comprehension == Comprehension::kArgMax ? Op::Gt : Op::Lt;
  std::vector<Datum> best(e.binders.size(), Int(-1));
  std::optional<uint64_t> extremum;
  Nest(e, 0, [&] {
    const uint64_t v = Value(e.body).bits[0];
    const bool nan = Apply(Op::Ne, t, {v, v}) != 0;
    if (extremum) {
      const bool was_nan = Apply(Op::Ne, t, {*extremum, *extremum}) != 0;
      if (was_nan || (!nan && Apply(beats, t, {v, *extremum}) == 0)) return;
    }
    extremum = v;
    for (size_t i = 0; i < best.size(); ++i) best[i] = run_->locals[e.binders[i].local];
  });
  return best.size() == 1 ? best[0] : Made(Datum::Kind::kTuple, best);
}

Datum Tree::EvalScan(const Expr& e) {
  static constexpr ir::Monoid kMonoids[] = {ir::Monoid::kGen, ir::Monoid::kSum, ir::Monoid::kProd,
                                            ir::Monoid::kMax, ir::Monoid::kMin};
  const ir::Monoid m = kMonoids[static_cast<int>(e.comprehension)];
  Datum out = Eval(*e.operands[0]);
  size_t inner = 1;  // elements of what is joined
  for (size_t axis = e.operands[0]->binders.size(); axis < out.shape.size(); ++axis) {
    inner *= static_cast<size_t>(out.shape[axis]);
  }
  std::vector<uint64_t> state(inner, ir::MonoidIdentity(m, e.type.elem));
  for (size_t i = 0; i < out.bits.size(); ++i) {
    const uint64_t next = Apply(ir::MonoidOp(m), e.type.elem, {state[i % inner], out.bits[i]});
    out.bits[i] = e.exclusive ? state[i % inner] : next;
    state[i % inner] = next;
  }
  return out;
}

}  // namespace

TreeResult RunTree(const Program& program, const std::string& entry,
                   const std::vector<Tensor>& args) {
  uint32_t function = 0;
  while (program.functions[function]->name != entry) ++function;
  std::vector<Datum> data;
  for (const Tensor& t : args) data.push_back(FromTensor(t));
  TreeResult result;
  try {
    std::vector<Datum> leaves;
    Leaves(Tree(program).Call(function, data), leaves);
    for (const Datum& d : leaves) result.values.push_back(ToTensor(d));
  } catch (const Trapped& t) {
    result.trap = t.kind;
  }
  return result;
}

}  // namespace pullback::lang
