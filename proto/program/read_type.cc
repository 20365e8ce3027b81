// Types of tables.
#include "core/lang/relation.h"
#include "core/lang/spelling.h"
#include "proto/program/read.h"

namespace pullback::program {

using lang::TypeExpr;

DType Reader::ReadScalar(v1::DType type, const char* field) {
  const At at(*this, field);
  const bool known = type >= v1::DTYPE_F64 && type <= v1::DTYPE_BOOL;
  return Require(known, "no such scalar type") ? static_cast<DType>(type) : DType::kF64;
}

TypeExpr Reader::ReadType(uint32_t index, const char* field, int64_t i) {
  TypeExpr out;
  const At at(*this, field, i);
  const Entry entry(*this, types_, index);
  if (entry.ok()) ReadTypeKind(in_.types(static_cast<int>(index)), out);
  return out;
}

void Reader::ReadTypeKind(const v1::TypeExpression& in, TypeExpr& out) {
  switch (in.kind_case()) {
    case v1::TypeExpression::kScalar: out.elem = ReadScalar(in.scalar(), "scalar"); return;
    case v1::TypeExpression::kName:
      out.kind = TypeExpr::Kind::kStruct;
      out.name = Name(in.name(), "name");
      return;
    case v1::TypeExpression::KIND_NOT_SET: Fault("the type is empty"); return;
    default: break;
  }
  const Nest nest(*this);
  switch (in.kind_case()) {
    case v1::TypeExpression::kArray: return ReadArrayType(in.array(), out);
    case v1::TypeExpression::kTuple: {
      out.kind = TypeExpr::Kind::kTuple;
      Require(in.tuple().elements_size() > 1, "a tuple has at least two elements");
      for (int i = 0; i < in.tuple().elements_size() && status_.ok(); ++i) {
        out.elements.push_back(ReadType(in.tuple().elements(i), "tuple.elements", i));
      }
      return;
    }
    case v1::TypeExpression::kList:
      out.kind = TypeExpr::Kind::kList;
      out.elements.push_back(ReadType(in.list(), "list"));
      return;
    case v1::TypeExpression::kBox:
      out.kind = TypeExpr::Kind::kBox;
      out.elements.push_back(ReadType(in.box(), "box"));
      return;
    case v1::TypeExpression::kFunction: return ReadFunctionType(in.function(), out);
    default: return ReadRelationType(in.relation(), out);
  }
}

void Reader::ReadSizes(const Indices& sizes, const char* field, TypeExpr& out) {
  Require(!sizes.empty(), "there are no sizes");
  for (int i = 0; i < sizes.size() && status_.ok(); ++i) {
    out.dims.push_back(ReadOperand(sizes[i], field, lang::kSumBinding, i));
  }
}

void Reader::ReadArrayType(const v1::ArrayType& in, TypeExpr& out) {
  out.kind = TypeExpr::Kind::kArray;
  ReadSizes(in.sizes(), "array.sizes", out);
  if (!status_.ok()) return;
  TypeExpr element = ReadType(in.element(), "array.element");
  switch (element.kind) {
    case TypeExpr::Kind::kScalar: out.elem = element.elem; return;
    case TypeExpr::Kind::kStruct: out.name = element.name; return;
    case TypeExpr::Kind::kTuple:
      out.kind = TypeExpr::Kind::kStructArray;
      out.elements.push_back(std::move(element));
      return;
    default: {
      const At at(*this, "array.element");
      Fault("the element of an array is a scalar, a name or a tuple");
    }
  }
}

void Reader::ReadFunctionType(const v1::FunctionType& in, TypeExpr& out) {
  out.kind = TypeExpr::Kind::kFunction;
  for (int i = 0; i < in.parameters_size() && status_.ok(); ++i) {
    out.elements.push_back(ReadType(in.parameters(i), "function.parameters", i));
  }
  out.elements.push_back(ReadType(in.result(), "function.result"));
}

void Reader::ReadRelationType(const v1::SizeList& in, TypeExpr& out) {
  out.kind = TypeExpr::Kind::kRelation;
  const bool few = static_cast<size_t>(in.sizes_size()) <= lang::kMaxArity;
  if (!few) Fault("a relation is between at most 4 indices", "TYPE_TOO_LARGE");
  ReadSizes(in.sizes(), "relation.sizes", out);
  if (status_.ok()) lang::FinishRelation(out);
}

}  // namespace pullback::program
