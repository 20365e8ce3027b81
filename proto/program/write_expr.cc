// Expressions as tables.
#include "proto/program/enums.h"
#include "proto/program/write.h"

namespace pullback::program {

using lang::Expr;

uint32_t Writer::WriteExpr(const Expr& e) {
  v1::Expression out;
  switch (e.kind) {
    case Expr::Kind::kInt:
    case Expr::Kind::kFloat: WriteNumber(e, &out); break;
    case Expr::Kind::kBool: out.set_boolean(e.int_value != 0); break;
    case Expr::Kind::kName: out.set_name(e.name); break;
    case Expr::Kind::kUnary:
      out.mutable_unary()->set_op(ToEnum<v1::UnaryOperator>(e.unary));
      out.mutable_unary()->set_operand(WriteExpr(*e.operands[0]));
      break;
    case Expr::Kind::kBinary: WriteBinary(e, &out); break;
    case Expr::Kind::kCall:
    case Expr::Kind::kBroadcastCall: WriteCall(e, &out); break;
    case Expr::Kind::kApply: WriteApply(e, out.mutable_apply()); break;
    case Expr::Kind::kCast:
      out.mutable_cast()->set_type(ToMessage(e.elem));
      out.mutable_cast()->set_operand(WriteExpr(*e.operands[0]));
      break;
    case Expr::Kind::kIndex:
      out.mutable_index()->set_base(WriteExpr(*e.operands[0]));
      for (const auto& s : e.subscripts) WriteSubscript(s, out.mutable_index()->add_subscripts());
      break;
    case Expr::Kind::kTranspose: out.set_transpose(WriteExpr(*e.operands[0])); break;
    case Expr::Kind::kTuple:
      WriteList(e.operands, 0, out.mutable_tuple()->mutable_elements());
      break;
    case Expr::Kind::kArray:
      WriteList(e.operands, 0, out.mutable_array()->mutable_elements());
      break;
    case Expr::Kind::kBracket: out.set_bracket(WriteExpr(*e.operands[0])); break;
    case Expr::Kind::kField: WriteField(e, out.mutable_field()); break;
    case Expr::Kind::kWith: WriteWith(e, out.mutable_with()); break;
    case Expr::Kind::kComprehension:
      WriteComprehension(e, e.comprehension, out.mutable_comprehension());
      break;
    case Expr::Kind::kScan:
      WriteComprehension(*e.operands[0], e.comprehension,
                         e.exclusive ? out.mutable_exclusive_scan() : out.mutable_scan());
      break;
    case Expr::Kind::kIf: WriteArms(e.arms, out.mutable_conditional()); break;
    case Expr::Kind::kLambda: WriteLambda(*e.lambda, out.mutable_lambda()); break;
    case Expr::Kind::kConstruct:  // from the checker
    case Expr::Kind::kIverson:
    case Expr::Kind::kDynamic:
    case Expr::Kind::kTag:
    case Expr::Kind::kVariant:
    case Expr::Kind::kClosure:
    case Expr::Kind::kDerive: PB_CHECK(false);
  }
  *out_.add_expressions() = std::move(out);
  return static_cast<uint32_t>(out_.expressions_size() - 1);
}

void Writer::WriteList(const std::vector<lang::ExprPtr>& list, size_t from, Indices* out) {
  for (size_t i = from; i < list.size(); ++i) out->Add(WriteExpr(*list[i]));
}

void Writer::WriteNumber(const Expr& e, v1::Expression* out) {
  if (e.kind == Expr::Kind::kInt) {
    out->set_integer(e.int_value);
  } else {
    out->set_real(e.float_value);
  }
  if (e.has_suffix) out->set_suffix(ToMessage(e.elem));
}

void Writer::WriteBinary(const Expr& e, v1::Expression* out) {
  if (e.chained) return WriteChain(e, out->mutable_chain());
  out->mutable_binary()->set_op(ToEnum<v1::BinaryOperator>(e.binary));
  out->mutable_binary()->set_left(WriteExpr(*e.operands[0]));
  out->mutable_binary()->set_right(WriteExpr(*e.operands[1]));
}

// The tree holds (a < b) and (b < c): the copies are left out.
void Writer::WriteChain(const Expr& e, v1::Chain* out) {
  std::vector<const Expr*> comparisons;  // last first
  const Expr* left = &e;
  for (; left->chained; left = left->operands[0].get()) {
    comparisons.push_back(left->operands[1].get());
  }
  comparisons.push_back(left);
  out->add_operands(WriteExpr(*left->operands[0]));
  for (size_t i = comparisons.size(); i-- > 0;) {
    out->add_ops(ToEnum<v1::BinaryOperator>(comparisons[i]->binary));
    out->add_operands(WriteExpr(*comparisons[i]->operands[1]));
  }
}

void Writer::WriteCall(const Expr& e, v1::Expression* out) {
  const bool broadcast = e.kind == Expr::Kind::kBroadcastCall;
  if (broadcast && e.name.empty()) return WriteApply(e, out->mutable_broadcast_apply());
  v1::Call* call = broadcast ? out->mutable_broadcast() : out->mutable_call();
  call->set_function(e.name);
  WriteList(e.operands, 0, call->mutable_arguments());
  for (const std::string& label : e.labels) call->add_labels(label);
}

void Writer::WriteApply(const Expr& e, v1::Apply* out) {
  out->set_function(WriteExpr(*e.operands[0]));
  WriteList(e.operands, 1, out->mutable_arguments());
}

void Writer::WriteField(const Expr& e, v1::FieldAccess* out) {
  out->set_base(WriteExpr(*e.operands[0]));
  if (e.name.empty()) {
    out->set_element(static_cast<uint32_t>(e.int_value));
  } else {
    out->set_name(e.name);
  }
}

void Writer::WriteWith(const Expr& e, v1::With* out) {
  out->set_base(WriteExpr(*e.operands[0]));
  for (const lang::Access& a : e.path) WriteAccess(a, out->add_path());
  out->set_value(WriteExpr(*e.operands[1]));
}

void Writer::WriteComprehension(const Expr& e, lang::Comprehension kind, v1::Comprehension* out) {
  out->set_kind(ToEnum<v1::ComprehensionKind>(kind));
  for (const lang::Binder& b : e.binders) WriteBinder(b, out->add_binders());
  WriteBlock(e.body, out->mutable_body());
}

void Writer::WriteLambda(const lang::Lambda& lambda, v1::Lambda* out) {
  for (const lang::Param& p : lambda.params) WriteParam(p, out->add_parameters());
  WriteBlock(lambda.body, out->mutable_body());
}

void Writer::WriteBinder(const lang::Binder& b, v1::Binder* out) {
  out->set_name(b.name);
  if (b.lo) out->set_low(WriteExpr(*b.lo));
  out->set_high(WriteExpr(*b.hi));
}

void Writer::WriteSubscript(const lang::Subscript& s, v1::Subscript* out) {
  if (!s.is_slice) return out->set_index(WriteExpr(*s.index));
  v1::Slice* slice = out->mutable_slice();
  if (s.lo) slice->set_low(WriteExpr(*s.lo));
  if (s.hi) slice->set_high(WriteExpr(*s.hi));
  if (s.step) slice->set_step(s.step->int_value);
}

void Writer::WriteAccess(const lang::Access& a, v1::Access* out) {
  if (!a.IsField()) {
    for (const auto& s : a.subscripts) WriteSubscript(s, out->mutable_subscripts()->add_items());
  } else if (a.field.empty()) {
    out->set_element(static_cast<uint32_t>(a.index));
  } else {
    out->set_field(a.field);
  }
}

}  // namespace pullback::program
