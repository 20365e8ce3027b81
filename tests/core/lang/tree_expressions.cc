// Scalars, products with brackets, calls.
#include "core/base/status.h"
#include "core/eval/scalar_ops.h"
#include "core/ir/monoid.h"
#include "core/lang/builtins.h"
#include "tests/core/lang/tree.h"

namespace pullback::lang::tree_eval {

Datum Tree::Value(const Block& block) {
  Execute(block);
  return Eval(*block.result);
}

std::vector<Datum> Tree::Operands(const Expr& e) {
  std::vector<Datum> out;
  for (const ExprPtr& operand : e.operands) out.push_back(Eval(*operand));
  return out;
}

bool IsOf(const Expr& e, BinaryOp op) { return e.kind == Expr::Kind::kBinary && e.binary == op; }

bool IsChain(const Expr& e) {
  if (e.kind == Expr::Kind::kIverson) return true;
  const bool product = IsOf(e, BinaryOp::kMul);
  const bool negation = e.kind == Expr::Kind::kUnary && e.unary == UnaryOp::kNeg;
  if (!product && !negation && !IsOf(e, BinaryOp::kDiv)) return false;
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
  return Scalar(t, NumberOf(t, whole ? static_cast<double>(e.int_value) : e.float_value));
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

// The factors of a product with brackets; a divisor's guard nothing but itself.
void Brackets(const Expr& e, std::vector<const Expr*>& out) {
  if (e.kind == Expr::Kind::kIverson) return out.push_back(e.operands[0].get());
  if (!IsChain(e)) return;
  Brackets(*e.operands[0], out);
  if (IsOf(e, BinaryOp::kMul)) Brackets(*e.operands[1], out);
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
  const Datum first = EvalRest(*e.operands[0]);
  if (e.operands.size() == 1) return MapOp(Op::Neg, e.type.elem, {first});
  const Expr& second = *e.operands[1];
  const bool divides = IsOf(e, BinaryOp::kDiv);
  return MapOp(OpOf(e.binary), e.type.elem, {first, divides ? Eval(second) : EvalRest(second)});
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

}  // namespace pullback::lang::tree_eval
