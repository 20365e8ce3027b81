// Inside of Check: the checker of one function's body. Its methods are spread over check_*.cc by
// subject.
//
// An expression is checked bottom-up: Check sets its type and returns its sizes. Literals get their
// type from what stands beside them afterwards (Adapt). An expression of type kError was reported
// already, and what is made of it is silent.
#pragma once

#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/lang/check.h"

namespace pullback::lang {

// Names in scope, innermost last.
class Scope {
 public:
  void Declare(const std::string& name, uint32_t local);
  uint32_t Find(const std::string& name) const;  // or kNone
  size_t Mark() const { return declared_.size(); }
  void Reset(size_t mark);
  std::vector<std::string_view> Names() const;

 private:
  std::unordered_map<std::string, std::vector<uint32_t>> locals_;
  std::vector<std::string> declared_;
};

class BodyChecker {
 public:
  BodyChecker(ProgramChecker& program, uint32_t function);
  BodyChecker(const BodyChecker&) = delete;
  void Run();

 private:
  // A block that is a value: nothing but its value leaves it.
  struct ValueBlock {
    uint32_t first_local;  // locals below are captured
    const char* what;      // "the body of a comprehension"
  };

  // check_body.cc: scopes and statements
  uint32_t Declare(Local::Kind kind, const std::string& name, const Span& span, const Type& type,
                   const Shape& shape);
  bool KeepsCode(const Stmt& s, const Type& declared);
  uint32_t DeclareTarget(Local::Kind kind, const Target& t, const Type& type, const Shape& shape);
  void CheckBlock(Block& block);
  void CheckUnused(const Expr& e, bool last);
  Shape CheckValueBlock(Block& block, const char* what);
  void CheckStmt(Stmt& s);
  void CheckDefinition(Stmt& s);
  void DefineTargets(Stmt& s, const Type& type, const Shape& shape);
  Type ResolveAnnotation(TypeExpr& t, Shape& shape);
  Type ResolveArrayOfStructs(TypeExpr& t, Shape& shape);
  void CheckConditional(Stmt& s);
  void CheckFor(Stmt& s);
  void CheckSnapshots(Stmt& s);  // of a loop with `checkpoint`
  void CheckJump(const Stmt& s, const char* word);
  void CheckReturn(Stmt& s);
  void CheckCondition(ExprPtr& e, const char* word);
  void CheckBounds(Binder& b);
  uint32_t DeclareBinder(Binder& b);
  Size Extent(const Binder& b) const;

  // check_assign.cc
  void CheckAssign(Stmt& s);
  void CheckParallel(Stmt& s, const std::vector<Type>& wanted);
  void CheckDistinct(const Stmt& s);
  Type CheckTarget(Target& t);
  void NotAVariable(const Target& t, const Local& local);
  void CheckAssigned(const Target& t, const Type& want, ExprPtr& value);
  std::string PlaceText(const Target& t) const;
  void RejectAssigned(const Target& t, const Type& want, const Type& got, const Span& span);

  // check_expr.cc: names, operators, casts, tuples, if-expressions
  Shape Check(ExprPtr& e);
  Shape CheckKind(ExprPtr& e);
  Shape Fail(Expr& e, std::string message);  // reports at e and gives it the type kError
  Shape CheckName(Expr& e);
  Shape ReadShared(Expr& e);
  bool CheckOperands(Expr& e, std::vector<Shape>& shapes);  // whether no operand is an error
  Shape CheckUnary(Expr& e);
  Shape CheckBinary(Expr& e);
  bool CheckOperandTypes(Expr& e);
  bool CheckPower(Expr& e);
  Shape CheckMatMul(Expr& e, const Shape& a, const Shape& b);
  Shape CheckCast(Expr& e);
  Shape CheckTuple(Expr& e);
  Shape CheckIf(Expr& e);
  void ExpectI64(ExprPtr& e, const std::string& what);
  void MustEqual(const Shape& have, const Shape& want, const Span& span, const std::string& what);
  Size ValueOf(const Expr& e) const;  // of an i64; unknown for anything else
  Size LengthOf(const Expr& e) const;

  // check_lambda.cc
  Shape FunctionValue(Expr& e, Type::Closure closure, uint32_t code);
  Shape CheckLambda(Expr& e);
  bool AddCaptures(const Lambda& lambda, LambdaCode& code, std::vector<uint32_t>& locals);
  bool NamesSizes(const Shape& shape) const;
  Shape CheckApply(Expr& e);
  bool DecideCall(Expr& e);
  Shape CallValue(Expr& e, const Type& function, const std::vector<Shape>& shapes);
  bool ConvertToDeclared(Expr& e, size_t first);
  bool DecideArgument(Expr& e, const TypeExpr& pattern, uint32_t callee);
  Shape CallTemplate(Expr& e, const std::vector<Shape>& shapes);
  std::vector<bool> LooseOperands(const Expr& e, size_t first) const;
  Shape CheckedCall(Expr& e, const std::vector<Shape>& shapes);
  Type ResolveFunctionType(TypeExpr& t);

  // check_derive.cc
  Shape CheckOperator(Expr& e, const std::vector<Shape>& shapes);
  Shape CheckOperatorCall(Expr& e, std::vector<Shape> shapes);
  Shape CheckClosure(Expr& e);
  Shape CheckDerive(Expr& e);
  Type JacobianType(Expr& e, const Type& result, const std::vector<Type>& args);

  // check_place.cc: fields, and places in values
  Shape CheckField(Expr& e);
  Shape CheckConstruct(Expr& e, const Struct& s);
  bool OrderFields(Expr& e, const Struct& s);
  Shape CheckWith(Expr& e);
  // Resolves the steps from a value of type `base`. Gives the type and the sizes of the place;
  // kError where a step was reported. `name`: what messages call the value.
  Type CheckPath(std::vector<Access>& path, Type base, const std::string& name, Shape& shape);
  std::string AdviceOnField(const std::string& name) const;
  bool FindField(const Type& type, std::string& name, int64_t& index, const Span& span);
  bool ConvertPart(Expr& value, const std::vector<Access>& path, const Type& want);
  Type CheckStructElement(Access& a, const Type& array, bool last);
  Type CheckElement(Access& a, const Type& array, const std::string& name, bool last);

  // check_array.cc
  Type ArrayType(const Expr& e, DType elem, size_t rank);
  Shape Broadcast(Expr& e, const std::vector<Shape>& shapes);
  Size BroadcastSize(const Size& a, const Size& b) const;
  Shape CheckIndex(Expr& e);
  Shape FieldOfElement(Expr& e, const Shape& shape);
  bool CheckSubscripts(std::vector<Subscript>& subscripts, const Type& type, const Shape& base,
                       const Span& span, Shape& shape);
  bool CheckSubscript(Subscript& s, Shape* gathered);
  bool ShareAxes(std::vector<Shape>& gathered, const Span& span);
  Size SliceSize(const Subscript& s, const Size& extent) const;
  Shape CheckTranspose(Expr& e);
  // check_relation.cc
  Shape CheckRelated(Expr& e, const std::vector<Shape>& shapes);
  Shape Transpose(Expr& e, Shape shape);
  Shape CheckBracket(Expr& e);
  Shape CheckArrayLiteral(Expr& e);
  Shape ArrayOf(Expr& e, const std::vector<Shape>& elements);
  Shape ArrayOfStructs(Expr& e, const std::vector<Shape>& elements,
                       const std::vector<ExprPtr*>& parts);

  // check_comprehension.cc
  Shape CheckComprehension(Expr& e);
  void CheckBinders(Expr& e);
  void CheckIndependent(const Binder& b, uint32_t first);
  bool CheckComprehensionBody(Expr& e, const Shape& shape);
  bool CheckParts(Expr& e, const Shape& shape);
  bool CheckRegular(Expr& e, const Shape& body, uint32_t first_binder);
  bool IsReduction(const Expr& e) const;
  Shape CheckReduction(Expr& e);
  void MakeReduction(Expr& e, const Type& array, const Shape& shape);
  Shape CheckScan(Expr& e);
  Shape CheckScanLinear(Expr& e, const std::vector<Shape>& shapes);

  // check_call.cc
  Shape CheckCall(Expr& e);
  static void ChooseByRank(Expr& e);
  bool Resolve(Expr& e);
  bool CheckArity(Expr& e);
  bool CheckArgument(Expr& e, size_t i, const Shape& shape);
  Shape ResultShape(Expr& e, const std::vector<Shape>& arguments);
  void CheckArgumentSizes(const Expr& e, size_t i, const Shape& have, const Shape& declared,
                          const Shape& want);

  // check_builtin.cc
  Shape CheckBuiltin(Expr& e, const std::vector<Shape>& shapes);
  bool MatchBuiltinOperands(Expr& e, DType& elem);
  bool CheckBuiltinElement(Expr& e, const std::vector<ExprPtr*>& parts, DType& elem);
  Shape CheckLen(Expr& e, const Shape& shape);
  Shape CheckDim(Expr& e, const Shape& shape);
  Shape CheckZeros(Expr& e);
  Shape CheckColumn(Expr& e, const Shape& shape);
  Shape CheckBroadcastCall(Expr& e);
  bool CheckScalarFunction(Expr& e);
  Shape BroadcastBuiltin(Expr& e, const std::vector<Shape>& shapes);
  Shape BroadcastUser(Expr& e, const std::vector<Shape>& shapes);

  // check_broadcast.cc: f.(x) of a function value
  bool NamesValue(const Expr& e) const;
  Shape BroadcastValue(Expr& e, std::vector<Shape> shapes);
  int ScalarResults(Expr& e, const Type& function);

  // check_dynamic.cc: functions as data
  bool ConvertFunction(Expr& e, const Type& want);
  Type FindSignature(const Expr& e);
  bool Settle(Expr& e, const std::string& name);
  Shape CallDynamic(Expr& e, const std::vector<Shape>& shapes);

  // check_list.cc: lists and boxes
  Shape CheckListCall(Expr& e, const std::vector<Shape>& shapes);
  Shape CheckListLiteral(Expr& e);
  Shape CheckPush(Expr& e, const std::vector<Shape>& shapes);
  bool ExpectList(Expr& e, const Shape& shape);
  Shape CheckSet(Expr& e, const std::vector<Shape>& shapes);
  static Type ElementType(const Type& type);
  Shape CheckListIndex(Expr& e, bool subscripts_good);
  Shape CheckListSlice(Expr& e);
  bool CheckListSubscript(const std::vector<Subscript>& subscripts, const Span& span);
  bool ConvertList(Expr& e, const Type& want);

  // check_literal.cc
  static bool CanAdapt(const Expr& e, DType elem);
  static void Adapt(Expr& e, DType elem);
  bool Convert(Expr& e, const Type& want);  // whether e has that type now, or has none
  bool ConvertTuple(Expr& e, const Type& want);
  bool ConvertStructArray(Expr& e, const Type& want);
  bool Unify(const std::vector<ExprPtr*>& parts);  // to one element type; whether it could
  void UnifyTuples(const std::vector<ExprPtr*>& parts);
  void WrapInCast(ExprPtr& e, DType elem);
  std::string SourceOf(const Expr& e) const;  // short text of e, or "…"
  std::string MaskAdvice(const Expr& e) const;
  std::string CastAdviceTo(const Expr& e, DType elem) const;
  std::string CastAdvice(const Expr& a, const Expr& b) const;

  std::string Text(const Size& s) const { return ToString(s, f_.locals); }
  std::string Text(const Type& t, const Shape& s) const { return Describe(t, s, f_.locals); }
  std::string ResultText() const { return Text(f_.result_type, header_.result_shape); }

  ProgramChecker& program_;
  const uint32_t index_;
  Function& f_;
  const Header& header_;
  Reporter& report_;
  const Limits& limits_;
  Scope scope_;
  std::vector<LocalFacts> facts_;             // by local
  std::unordered_set<std::string> assigned_;  // names that some statement assigns whole
  std::set<const void*> shared_;              // targets of variables that lambdas share
  std::vector<ValueBlock> value_blocks_;
  int returns_ = 0;              // statements of the body
  const Expr* alone_ = nullptr;  // a call that stands alone as a statement
  int loops_ = 0;                // around this place, inside the innermost value block
};

}  // namespace pullback::lang
