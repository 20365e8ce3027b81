// The tree as tables. Parts come before what they are part of; scalar types and type names stand once.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/lang/ast.h"
#include "pullback/v1/program_tables.pb.h"

namespace pullback::program {

class Writer {
 public:
  explicit Writer(v1::ProgramTables* out) : out_(*out) {}
  void Run(const lang::Program& program);

 private:
  using Indices = google::protobuf::RepeatedField<uint32_t>;

  // --- write.cc: declarations, types, statements
  void WriteFunction(const lang::Function& f);
  void WriteStruct(const lang::Struct& s);
  uint32_t Add(v1::TypeExpression type);
  uint32_t AddOnce(v1::TypeExpression type);
  uint32_t WriteType(const lang::TypeExpr& t);
  void WriteParam(const lang::Param& p, v1::NamedType* out);
  void WriteSizes(const std::vector<lang::ExprPtr>& dims, size_t count, Indices* out);
  void WriteBlock(const lang::Block& b, v1::Block* out);
  void WriteStatements(const lang::Block& b, size_t from, v1::Block* out);
  void WriteArms(const std::vector<lang::CondArm>& arms, v1::Conditional* out);
  uint32_t WriteStatement(const lang::Stmt& s);
  void WriteBinding(const lang::Stmt& s, v1::Binding* out);
  void WriteAssignment(const lang::Stmt& s, v1::Statement* out);
  void WriteLoop(const lang::Stmt& s, v1::Statement* out);
  void WriteTarget(const lang::Target& t, v1::Target* out);

  // --- write_expr.cc
  uint32_t WriteExpr(const lang::Expr& e);
  void WriteList(const std::vector<lang::ExprPtr>& list, size_t from, Indices* out);
  void WriteNumber(const lang::Expr& e, v1::Expression* out);
  void WriteBinary(const lang::Expr& e, v1::Expression* out);
  void WriteChain(const lang::Expr& e, v1::Chain* out);
  void WriteCall(const lang::Expr& e, v1::Expression* out);
  void WriteApply(const lang::Expr& e, v1::Apply* out);
  void WriteField(const lang::Expr& e, v1::FieldAccess* out);
  void WriteWith(const lang::Expr& e, v1::With* out);
  void WriteComprehension(const lang::Expr& e, lang::Comprehension kind, v1::Comprehension* out);
  void WriteLambda(const lang::Lambda& lambda, v1::Lambda* out);
  void WriteBinder(const lang::Binder& b, v1::Binder* out);
  void WriteSubscript(const lang::Subscript& s, v1::Subscript* out);
  void WriteAccess(const lang::Access& a, v1::Access* out);

  v1::ProgramTables& out_;
  std::map<std::string, uint32_t> types_;  // that stand once, by their bytes
  const lang::Stmt* each_ = nullptr;       // what gives the values of the next loop over values
};

v1::DType ToMessage(DType type);

}  // namespace pullback::program
