// Expressions of tables: what is built of other expressions.
#include <cmath>
#include <utility>

#include "core/lang/spelling.h"
#include "proto/program/enums.h"
#include "proto/program/read.h"

namespace pullback::program {

using lang::Expr;
using lang::ExprPtr;

namespace {

constexpr int kCalleeBinding = lang::kPostfixBinding + 1;

// As the formatter's, of the tree.
int BindingOf(const v1::Expression& e) {
  switch (e.kind_case()) {
    case v1::Expression::kInteger:
      return e.integer() < 0 ? lang::kUnaryBinding : lang::kPrimaryBinding;
    case v1::Expression::kReal:
      return std::signbit(e.real()) ? lang::kUnaryBinding : lang::kPrimaryBinding;
    case v1::Expression::kBoolean: return lang::kPrimaryBinding;
    case v1::Expression::kUnary:
      return e.unary().op() == v1::UNARY_OPERATOR_NOT ? lang::kNotBinding : lang::kUnaryBinding;
    case v1::Expression::kBinary: {
      const v1::BinaryOperator op = e.binary().op();
      const bool known = op >= v1::BINARY_OPERATOR_ADD && op <= v1::BINARY_OPERATOR_OR;
      return known ? lang::Binding(FromEnum<lang::BinaryOp>(op)) : lang::kPostfixBinding;
    }
    case v1::Expression::kChain: return lang::kCompareBinding;
    case v1::Expression::kComprehension:
      return e.comprehension().kind() == v1::COMPREHENSION_KIND_EXISTS ? lang::kAnyBinding
                                                                       : lang::kPostfixBinding;
    case v1::Expression::kScan:
    case v1::Expression::kExclusiveScan: return lang::kPostfixBinding;
    case v1::Expression::kConditional:
    case v1::Expression::kLambda: return lang::kAnyBinding;
    case v1::Expression::kWith: return lang::kWithBinding;
    default: return kCalleeBinding;
  }
}

}  // namespace

ExprPtr MakeExpr(Expr::Kind kind) {
  auto e = std::make_unique<Expr>();
  e->kind = kind;
  return e;
}

ExprPtr Reader::ReadExpr(uint32_t index, const char* field, int64_t i) {
  ExprPtr e = MakeExpr(Expr::Kind::kInt);
  const At at(*this, field, i);
  const Entry entry(*this, expressions_, index);
  if (!entry.ok()) return e;
  if (++depth_ > limits_.max_chain + 1) {
    Fault("this expression is too deep: at most " + std::to_string(limits_.max_chain) +
              " operators may wait for each other",
          "NESTING_TOO_DEEP");
  }
  if (status_.ok()) ReadExprKind(in_.expressions(static_cast<int>(index)), *e);
  --depth_;
  return e;
}

// Brackets that the text will have count before what is in them is read, so that no tree nests deeper than a text's.
// The formatter sets them by itself but for these: `exists` takes all that follows it, and no call follows a
// comprehension's '}'.
ExprPtr Reader::ReadOperand(uint32_t index, const char* field, int binding, int64_t i) {
  const bool known = index < static_cast<size_t>(in_.expressions_size());
  const bool brackets = known && BindingOf(in_.expressions(static_cast<int>(index))) < binding;
  const Nest nest(*this, brackets);
  ExprPtr e = ReadExpr(index, field, i);
  const bool block = e->kind == Expr::Kind::kComprehension || e->kind == Expr::Kind::kScan;
  e->parenthesised = brackets && block;
  return e;
}

void Reader::ReadExprKind(const v1::Expression& in, Expr& e) {
  const bool ends_block = std::exchange(ends_block_, false);
  switch (in.kind_case()) {
    case v1::Expression::kInteger: return ReadInteger(in, e);
    case v1::Expression::kReal: return ReadReal(in, e);
    default: break;
  }
  if (in.suffix() != v1::DTYPE_UNSPECIFIED) {
    const At at(*this, "suffix");
    return Fault("only an integer or a real has a suffix");
  }
  switch (in.kind_case()) {
    case v1::Expression::kBoolean:
      e.kind = Expr::Kind::kBool;
      e.int_value = in.boolean();
      return;
    case v1::Expression::kName:
      e.kind = Expr::Kind::kName;
      e.name = Name(in.name(), "name");
      return;
    case v1::Expression::kUnary: return ReadUnary(in.unary(), e);
    case v1::Expression::kBinary: return ReadBinary(in.binary(), e);
    case v1::Expression::kChain: return ReadChain(in.chain(), e);
    case v1::Expression::kCall: return ReadCall(in.call(), false, e);
    case v1::Expression::kBroadcast: return ReadCall(in.broadcast(), true, e);
    case v1::Expression::kApply: return ReadApply(in.apply(), false, e);
    case v1::Expression::kBroadcastApply: return ReadApply(in.broadcast_apply(), true, e);
    case v1::Expression::kCast: return ReadCast(in.cast(), e);
    case v1::Expression::kIndex: return ReadIndex(in.index(), e);
    case v1::Expression::kTranspose:
      e.kind = Expr::Kind::kTranspose;
      e.operands.push_back(ReadOperand(in.transpose(), "transpose", lang::kPostfixBinding));
      return;
    case v1::Expression::kTuple: {
      e.kind = Expr::Kind::kTuple;
      Require(in.tuple().elements_size() > 1, "a tuple has at least two elements");
      return ReadList(in.tuple().elements(), "tuple.elements", e);
    }
    case v1::Expression::kArray: {
      e.kind = Expr::Kind::kArray;
      Require(in.array().elements_size() > 0, "an array literal has at least one element");
      return ReadList(in.array().elements(), "array.elements", e);
    }
    case v1::Expression::kBracket: {
      const Nest nest(*this);
      e.kind = Expr::Kind::kBracket;
      e.operands.push_back(ReadExpr(in.bracket(), "bracket"));
      return;
    }
    case v1::Expression::kField: return ReadField(in.field(), e);
    case v1::Expression::kWith: return ReadWith(in.with(), e);
    case v1::Expression::kComprehension: return ReadComprehension(in.comprehension(), e);
    case v1::Expression::kScan: return ReadScan(in.scan(), false, e);
    case v1::Expression::kExclusiveScan: return ReadScan(in.exclusive_scan(), true, e);
    case v1::Expression::kConditional: {
      const Nest nest(*this, !ends_block);
      e.kind = Expr::Kind::kIf;
      e.arms = ReadArms(in.conditional(), true);
      return;
    }
    case v1::Expression::kLambda: return ReadLambda(in.lambda(), e);
    default: return Fault("the expression is empty");
  }
}

void Reader::ReadList(const Indices& in, const char* field, Expr& e) {
  const Nest nest(*this);
  for (int i = 0; i < in.size() && status_.ok(); ++i) {
    e.operands.push_back(ReadExpr(in[i], field, i));
  }
}

// --- operators

void Reader::ReadUnary(const v1::Unary& in, Expr& e) {
  const Nest nest(*this);
  e.kind = Expr::Kind::kUnary;
  const bool known = in.op() == v1::UNARY_OPERATOR_NEG || in.op() == v1::UNARY_OPERATOR_NOT;
  if (!known) {
    const At at(*this, "unary.op");
    return Fault("no such operator");
  }
  e.unary = FromEnum<lang::UnaryOp>(in.op());
  const bool neg = e.unary == lang::UnaryOp::kNeg;
  e.operands.push_back(
      ReadOperand(in.operand(), "unary.operand", neg ? lang::kUnaryBinding : lang::kNotBinding));
}

lang::BinaryOp Reader::ReadOperator(v1::BinaryOperator op, const char* field, int64_t i) {
  const At at(*this, field, i);
  const bool known = op >= v1::BINARY_OPERATOR_ADD && op <= v1::BINARY_OPERATOR_OR;
  return Require(known, "no such operator") ? FromEnum<lang::BinaryOp>(op) : lang::BinaryOp::kAdd;
}

void Reader::ReadBinary(const v1::Binary& in, Expr& e) {
  e.kind = Expr::Kind::kBinary;
  e.binary = ReadOperator(in.op(), "binary.op");
  const bool power = e.binary == lang::BinaryOp::kPow;
  const int binding = lang::Binding(e.binary);
  const int left =
      power ? lang::kPrimaryBinding : binding + (binding == lang::kCompareBinding ? 1 : 0);
  e.operands.push_back(ReadOperand(in.left(), "binary.left", left));
  e.operands.push_back(
      ReadOperand(in.right(), "binary.right", power ? lang::kUnaryBinding : binding + 1));
}

// As the parser's tree, but for the copies of the operands between: the formatter does not read them.
void Reader::ReadChain(const v1::Chain& in, Expr& e) {
  e.kind = Expr::Kind::kBinary;
  Require(in.operands_size() > 2, "a chain has at least three operands: of two, use binary");
  Require(in.operands_size() == in.ops_size() + 1, "there is one operator fewer than operands");
  ExprPtr chain;
  for (int i = 0; i < in.ops_size() && status_.ok(); ++i) {
    ExprPtr comparison = MakeExpr(Expr::Kind::kBinary);
    comparison->binary = ReadOperator(in.ops(i), "chain.ops", i);
    const bool compares =
        comparison->binary >= lang::BinaryOp::kEq && comparison->binary <= lang::BinaryOp::kGe;
    Require(compares, "the operators of a chain are comparisons");
    const bool first = i == 0;
    comparison->operands.push_back(
        first ? ReadOperand(in.operands(0), "chain.operands", lang::kSumBinding, 0)
              : MakeExpr(Expr::Kind::kInt));
    comparison->operands.push_back(
        ReadOperand(in.operands(i + 1), "chain.operands", lang::kSumBinding, i + 1));
    if (first) {
      chain = std::move(comparison);
      continue;
    }
    ExprPtr both = MakeExpr(Expr::Kind::kBinary);
    both->binary = lang::BinaryOp::kAnd;
    both->chained = true;
    both->operands.push_back(std::move(chain));
    both->operands.push_back(std::move(comparison));
    chain = std::move(both);
  }
  if (status_.ok()) e = std::move(*chain);
}

void Reader::ReadCast(const v1::Cast& in, Expr& e) {
  const Nest nest(*this);
  e.kind = Expr::Kind::kCast;
  e.elem = ReadScalar(in.type(), "cast.type");
  e.operands.push_back(ReadExpr(in.operand(), "cast.operand"));
}

// --- calls

void Reader::ReadCall(const v1::Call& in, bool broadcast, Expr& e) {
  const At at(*this, broadcast ? "broadcast" : "call");
  e.kind = broadcast ? Expr::Kind::kBroadcastCall : Expr::Kind::kCall;
  const bool made = !broadcast && (in.function() == "list" || in.function() == "box");
  e.name = made ? in.function() : Name(in.function(), "function");
  if (in.labels_size() > 0) {
    const At labels(*this, "labels");
    Require(!broadcast, "such a call has no labels");
    Require(in.labels_size() == in.arguments_size(), "either every argument has a label or none");
  }
  for (int i = 0; i < in.labels_size() && status_.ok(); ++i) {
    e.labels.push_back(Name(in.labels(i), "labels", i));
  }
  ReadList(in.arguments(), "arguments", e);
}

void Reader::ReadApply(const v1::Apply& in, bool broadcast, Expr& e) {
  const At at(*this, broadcast ? "broadcast_apply" : "apply");
  e.kind = broadcast ? Expr::Kind::kBroadcastCall : Expr::Kind::kApply;
  ExprPtr function = ReadOperand(in.function(), "function", kCalleeBinding);
  if (function->kind == Expr::Kind::kName) {  // as the parser has it
    if (!broadcast) e.kind = Expr::Kind::kCall;
    e.name = function->name;
  } else {
    e.operands.push_back(std::move(function));
  }
  ReadList(in.arguments(), "arguments", e);
}

}  // namespace pullback::program
