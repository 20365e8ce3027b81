// Inside of tree_eval: a run of a program on its tree. tree_eval.cc has functions and statements,
// tree_expressions.cc scalars and calls, tree_arrays.cc arrays.
#pragma once

#include "core/lang/lang.h"
#include "tests/core/lang/tree_values.h"

namespace pullback::lang::tree_eval {

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

}  // namespace pullback::lang::tree_eval
