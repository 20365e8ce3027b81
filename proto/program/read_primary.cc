// Expressions of tables: literals, parts of values, comprehensions, lambdas.
#include <cmath>

#include "core/lang/spelling.h"
#include "proto/program/enums.h"
#include "proto/program/read.h"

namespace pullback::program {

using lang::Expr;

// --- literals

void Reader::ReadSuffix(const v1::Expression& in, Expr& e) {
  const bool is_int = e.kind == Expr::Kind::kInt;
  e.has_suffix = in.suffix() != v1::DTYPE_UNSPECIFIED;
  if (!e.has_suffix) {
    e.elem = is_int ? DType::kI64 : DType::kF64;
    return;
  }
  const At at(*this, "suffix");
  const bool fits = is_int ? in.suffix() == v1::DTYPE_I64
                           : in.suffix() == v1::DTYPE_F64 || in.suffix() == v1::DTYPE_F32;
  if (!Require(fits, "an integer's suffix is I64, a real's F64 or F32")) return;
  e.elem = static_cast<DType>(in.suffix());
}

// A literal has no sign, but for the least integer.
void Reader::Negate(Expr& literal) {
  lang::ExprPtr operand = std::make_unique<Expr>(std::move(literal));
  literal = Expr();
  literal.kind = Expr::Kind::kUnary;
  literal.unary = lang::UnaryOp::kNeg;
  literal.operands.push_back(std::move(operand));
}

void Reader::ReadInteger(const v1::Expression& in, Expr& e) {
  e.kind = Expr::Kind::kInt;
  ReadSuffix(in, e);
  const bool negative = in.integer() < 0 && in.integer() != INT64_MIN;
  e.int_value = negative ? -in.integer() : in.integer();
  if (negative) Negate(e);
}

void Reader::ReadReal(const v1::Expression& in, Expr& e) {
  e.kind = Expr::Kind::kFloat;
  ReadSuffix(in, e);
  const At at(*this, "real");
  if (!Require(std::isfinite(in.real()), "a literal is a finite number")) return;
  e.float_value = std::abs(in.real());
  if (e.elem == DType::kF32) {
    e.float_value = static_cast<float>(e.float_value);
    Require(std::isfinite(e.float_value), "this number is too large for f32");
  }
  if (std::signbit(in.real())) Negate(e);
}

// --- parts of values

void Reader::ReadIndex(const v1::Index& in, Expr& e) {
  const At at(*this, "index");
  e.kind = Expr::Kind::kIndex;
  e.operands.push_back(ReadOperand(in.base(), "base", lang::kPostfixBinding));
  e.subscripts = ReadSubscripts(in.subscripts(), "subscripts");
}

std::vector<lang::Subscript> Reader::ReadSubscripts(const Subscripts& in, const char* field) {
  const Nest nest(*this);
  std::vector<lang::Subscript> out;
  Require(!in.empty(), "there are no subscripts");
  for (int i = 0; i < in.size() && status_.ok(); ++i) {
    out.push_back(ReadSubscript(in[i], field, i));
  }
  return out;
}

lang::Subscript Reader::ReadSubscript(const v1::Subscript& in, const char* field, int64_t i) {
  const At at(*this, field, i);
  lang::Subscript out;
  switch (in.kind_case()) {
    case v1::Subscript::kIndex: out.index = ReadExpr(in.index(), "index"); break;
    case v1::Subscript::kSlice: ReadSlice(in.slice(), out); break;
    case v1::Subscript::KIND_NOT_SET: Fault("the subscript is empty"); break;
  }
  return out;
}

void Reader::ReadSlice(const v1::Slice& in, lang::Subscript& out) {
  const At at(*this, "slice");
  out.is_slice = true;
  if (in.has_low()) out.lo = ReadExpr(in.low(), "low");
  if (in.has_high()) out.hi = ReadExpr(in.high(), "high");
  if (!in.has_step()) return;
  const At step(*this, "step");
  Require(in.step() > 0, "a slice's step is positive");
  out.step = MakeExpr(Expr::Kind::kInt);
  out.step->int_value = in.step();
}

std::vector<lang::Access> Reader::ReadPath(const Accesses& in) {
  std::vector<lang::Access> out;
  for (int i = 0; i < in.size() && status_.ok(); ++i) {
    const At at(*this, "path", i);
    lang::Access& a = out.emplace_back();
    Spend(1);
    switch (in[i].step_case()) {
      case v1::Access::kField: a.field = FieldName(in[i].field(), "field"); break;
      case v1::Access::kElement: a.index = in[i].element(); break;
      case v1::Access::kSubscripts: {
        const At subscripts(*this, "subscripts");
        a.subscripts = ReadSubscripts(in[i].subscripts().items(), "items");
        break;
      }
      case v1::Access::STEP_NOT_SET: Fault("the step is empty"); break;
    }
  }
  return out;
}

void Reader::ReadField(const v1::FieldAccess& in, Expr& e) {
  const At at(*this, "field");
  e.kind = Expr::Kind::kField;
  e.operands.push_back(ReadOperand(in.base(), "base", lang::kPostfixBinding));
  switch (in.field_case()) {
    case v1::FieldAccess::kName: e.name = FieldName(in.name(), "name"); break;
    case v1::FieldAccess::kElement: e.int_value = in.element(); break;
    case v1::FieldAccess::FIELD_NOT_SET: Fault("neither a name nor an element"); break;
  }
}

void Reader::ReadWith(const v1::With& in, Expr& e) {
  const At at(*this, "with");
  e.kind = Expr::Kind::kWith;
  e.operands.push_back(ReadOperand(in.base(), "base", lang::kWithBinding));
  const bool begins = in.path_size() > 0 && in.path(0).step_case() == v1::Access::kField;
  if (!Require(begins, "the path begins with a struct's field")) return;
  e.path = ReadPath(in.path());
  e.operands.push_back(ReadOperand(in.value(), "value", lang::kWithBinding + 1));
}

// --- what binds names

lang::Binder Reader::ReadBinder(const v1::Binder& in, const char* field, int64_t i) {
  const At at(*this, field, i);
  lang::Binder b;
  Spend(1);
  b.name = Name(in.name(), "name");
  if (in.has_low()) b.lo = ReadOperand(in.low(), "low", lang::kSumBinding);
  b.hi = ReadOperand(in.high(), "high", lang::kSumBinding);
  return b;
}

void Reader::ReadComprehension(const v1::Comprehension& in, Expr& e) {
  const At at(*this, "comprehension");
  const Nest nest(*this);
  e.kind = Expr::Kind::kComprehension;
  const bool known =
      in.kind() >= v1::COMPREHENSION_KIND_GEN && in.kind() <= v1::COMPREHENSION_KIND_EXISTS;
  if (!Require(known, "no such kind of comprehension")) return;
  e.comprehension = FromEnum<lang::Comprehension>(in.kind());
  Require(in.binders_size() > 0, "there is no index");
  for (int i = 0; i < in.binders_size() && status_.ok(); ++i) {
    e.binders.push_back(ReadBinder(in.binders(i), "binders", i));
  }
  if (!status_.ok()) return;
  if (e.comprehension != lang::Comprehension::kExists) {
    e.body = ReadValueBlock(in.body(), "body");
    return;
  }
  const At body(*this, "body");
  const bool plain = in.body().has_result() && in.body().statements_size() == 0;
  if (Require(plain, "the body of 'exists' is a result alone")) ReadBlock(in.body(), e.body);
}

void Reader::ReadScan(const v1::Comprehension& in, bool exclusive, Expr& e) {
  const At at(*this, exclusive ? "exclusive_scan" : "scan");
  const bool sums =
      in.kind() >= v1::COMPREHENSION_KIND_SUM && in.kind() <= v1::COMPREHENSION_KIND_MIN;
  if (!Require(sums, "there are scans of sum, prod, max and min only")) return;
  lang::ExprPtr terms = MakeExpr(Expr::Kind::kComprehension);
  ReadComprehension(in, *terms);
  e.kind = Expr::Kind::kScan;
  e.exclusive = exclusive;
  e.comprehension = terms->comprehension;
  terms->comprehension = lang::Comprehension::kGen;
  e.operands.push_back(std::move(terms));
}

void Reader::ReadLambda(const v1::Lambda& in, Expr& e) {
  const At at(*this, "lambda");
  const Nest nest(*this);
  e.kind = Expr::Kind::kLambda;
  e.lambda = std::make_unique<lang::Lambda>();
  e.lambda->params = ReadParams(in.parameters(), false);
  if (!status_.ok()) return;
  e.lambda->braces = in.body().statements_size() > 0;
  if (e.lambda->braces) {
    e.lambda->body = ReadValueBlock(in.body(), "body");
    return;
  }
  const At body(*this, "body");
  if (Require(in.body().has_result(), "this block gives a value: it needs a result")) {
    ReadBlock(in.body(), e.lambda->body);
  }
}

}  // namespace pullback::program
