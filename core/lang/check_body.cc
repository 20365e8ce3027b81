// Scopes and statements.
#include "core/lang/check_body.h"
#include "core/lang/builtins.h"
#include "core/lang/scope_walk.h"
#include "core/lang/struct_array.h"

#include <set>
#include <utility>

namespace pullback::lang {
namespace {

// Names that a statement below assigns as a whole, or a field of which: their sizes may change.
void CollectAssigned(const Block& block, std::unordered_set<std::string>& assigned) {
  for (const StmtPtr& s : block.stmts) {
    if (s->kind == Stmt::Kind::kAssign) {
      for (const Target& t : s->targets) {
        if (t.path.empty() || t.path.back().IsField()) assigned.insert(t.name);
      }
    }
    for (const CondArm& arm : s->arms) CollectAssigned(arm.body, assigned);
    CollectAssigned(s->body, assigned);
  }
}

int CountReturns(const Block& block) {
  int count = 0;
  for (const StmtPtr& s : block.stmts) {
    count += s->kind == Stmt::Kind::kReturn ? 1 : 0;
    for (const CondArm& arm : s->arms) count += CountReturns(arm.body);
    count += CountReturns(s->body);
  }
  return count;
}

}  // namespace

void Scope::Declare(const std::string& name, uint32_t local) {
  locals_[name].push_back(local);
  declared_.push_back(name);
}

uint32_t Scope::Find(const std::string& name) const {
  auto it = locals_.find(name);
  return it == locals_.end() || it->second.empty() ? kNone : it->second.back();
}

void Scope::Reset(size_t mark) {
  for (; declared_.size() > mark; declared_.pop_back()) locals_[declared_.back()].pop_back();
}

std::vector<std::string_view> Scope::Names() const { return {declared_.begin(), declared_.end()}; }

BodyChecker::BodyChecker(ProgramChecker& program, uint32_t function)
    : program_(program),
      index_(function),
      f_(program.function(function)),
      header_(program.header(function)),
      report_(program.report()),
      limits_(program.limits()),
      facts_(header_.facts) {}

void BodyChecker::Run() {
  for (uint32_t i = 0; i < f_.locals.size(); ++i) scope_.Declare(f_.locals[i].name, i);
  CollectAssigned(f_.body, assigned_);
  shared_ = SharedVariables(f_.body);
  returns_ = CountReturns(f_.body);
  CheckBlock(f_.body);
  if (f_.has_result && FallsThrough(f_.body)) {
    report_.Error(f_.span, "not every path of '" + f_.name + "' returns a value");
  }
}

uint32_t BodyChecker::Declare(Local::Kind kind, const std::string& name, const Span& span,
                              const Type& type, const Shape& shape) {
  uint32_t local = static_cast<uint32_t>(f_.locals.size());
  f_.locals.push_back({kind, name, type, span});
  LocalFacts facts;
  facts.shape = shape;
  if (kind == Local::Kind::kVar && assigned_.count(name) != 0) facts.shape = UnknownShape(type);
  if (kind != Local::Kind::kVar && type == Type::Scalar(DType::kI64)) facts.value = Size::Of(local);
  facts_.push_back(std::move(facts));
  scope_.Declare(name, local);
  return local;
}

// A block that is no value.
void BodyChecker::CheckBlock(Block& block) {
  size_t mark = scope_.Mark();
  for (StmtPtr& s : block.stmts) {
    CheckStmt(*s);
    if (s->kind == Stmt::Kind::kCall) CheckUnused(*s->value, s == block.stmts.back());
  }
  scope_.Reset(mark);
}

// A call that stands alone must have no value.
void BodyChecker::CheckUnused(const Expr& e, bool last) {
  if (e.type.kind == Type::Kind::kError || e.type.kind == Type::Kind::kUnit) return;
  std::string advice = last ? "; 'return' makes it the result" : "";
  if (e.builtin == static_cast<int>(Builtin::Push) || e.builtin == static_cast<int>(Builtin::Pop)) {
    advice = "; '" + e.name + "' gives a new list, which must be assigned";
  }
  report_.Error(e.span, "the value of this expression is not used" + advice);
}

// The parser sees to it that the block has a value.
Shape BodyChecker::CheckValueBlock(Block& block, const char* what) {
  uint32_t first_local = static_cast<uint32_t>(f_.locals.size());
  size_t mark = scope_.Mark();
  int loops = std::exchange(loops_, 0);
  value_blocks_.push_back({first_local, what});
  for (StmtPtr& s : block.stmts) {
    CheckStmt(*s);
    if (s->kind == Stmt::Kind::kCall) CheckUnused(*s->value, false);
  }
  Shape shape = Check(block.result);
  ForgetLocals(shape, first_local);
  value_blocks_.pop_back();
  loops_ = loops;
  scope_.Reset(mark);
  return shape;
}

void BodyChecker::CheckStmt(Stmt& s) {
  switch (s.kind) {
    case Stmt::Kind::kLet:
    case Stmt::Kind::kVar: return CheckDefinition(s);
    case Stmt::Kind::kAssign: return CheckAssign(s);
    case Stmt::Kind::kIf: return CheckConditional(s);
    case Stmt::Kind::kWhile:
      CheckCondition(s.value, "while");
      if (s.snapshots) CheckSnapshots(s);
      ++loops_;
      CheckBlock(s.body);
      --loops_;
      return;
    case Stmt::Kind::kFor: return CheckFor(s);
    case Stmt::Kind::kBreak: return CheckJump(s, "break");
    case Stmt::Kind::kContinue: return CheckJump(s, "continue");
    case Stmt::Kind::kReturn: return CheckReturn(s);
    case Stmt::Kind::kCall:
      alone_ = s.value.get();
      Check(s.value);
      alone_ = nullptr;
      return;
  }
}

// let and var; an annotation's type wins over the value's, so that a wrong value is reported once.
void BodyChecker::CheckDefinition(Stmt& s) {
  Type type;
  Shape shape;
  if (s.annotation) type = ResolveAnnotation(*s.annotation, shape);
  Shape value_shape = Check(s.value);
  if (!s.annotation) {
    type = s.value->type;
    shape = value_shape;
    if (HasUnknown(type)) {
      const char* word = s.kind == Stmt::Kind::kLet ? "let " : "var ";
      Settle(*s.value, word + s.targets[0].name);
      type = s.value->type;
      shape = UnknownShape(type);
    }
  } else if (KeepsCode(s, type)) {
    type = s.value->type;
  } else if (!Convert(*s.value, type)) {
    report_.Error(s.value->span, "the declared type is " + Text(type, shape) +
                                     ", but the value is " + Text(s.value->type, value_shape));
  } else if (s.value->type == type) {
    MustEqual(value_shape, shape, s.value->span, "the value");
  }
  DefineTargets(s, type, shape);
}

// A function that is never another one is called directly, whatever type is written for it.
bool BodyChecker::KeepsCode(const Stmt& s, const Type& declared) {
  const Type& type = s.value->type;
  const bool one = s.kind == Stmt::Kind::kLet && declared.IsDynamic() &&
                   type.kind == Type::Kind::kFunction && !type.IsDynamic() && !HasUnknown(type);
  return one && program_.AddVariant(declared, type, s.value->span, index_) >= 0;
}

void BodyChecker::DefineTargets(Stmt& s, const Type& type, const Shape& shape) {
  Local::Kind kind = s.kind == Stmt::Kind::kLet ? Local::Kind::kLet : Local::Kind::kVar;
  if (s.targets.size() == 1) {
    Target& t = s.targets[0];
    Size value = kind == Local::Kind::kLet ? ValueOf(*s.value) : Size();
    t.local = DeclareTarget(kind, t, type, shape);
    if (s.annotation && s.annotation->kind == TypeExpr::Kind::kFunction && !type.IsDynamic()) {
      for (const TypeExpr& p : s.annotation->elements) {
        facts_[t.local].arguments.push_back(TypeOf(p, {}));
      }
      if (!facts_[t.local].arguments.empty()) facts_[t.local].arguments.pop_back();
    }
    if (value.known()) facts_[t.local].value = value;
    return;
  }
  bool fits = type.kind == Type::Kind::kTuple && type.elements.size() == s.targets.size();
  if (!fits && type.kind != Type::Kind::kError) {
    report_.Error(s.value->span, std::to_string(s.targets.size()) +
                                     " names need a tuple of as many elements, but the value is " +
                                     Text(type, shape));
  }
  std::set<std::string> names;
  for (size_t i = 0; i < s.targets.size(); ++i) {
    Target& t = s.targets[i];
    if (!names.insert(t.name).second) {
      report_.Error(t.span, "'" + t.name + "' is defined twice in one statement");
    }
    t.local = fits ? DeclareTarget(kind, t, type.elements[i], shape.elements[i])
                   : DeclareTarget(kind, t, Type(), Shape());
  }
}

// A variable that lambdas share stands in a box.
uint32_t BodyChecker::DeclareTarget(Local::Kind kind, const Target& t, const Type& type,
                                    const Shape& shape) {
  const bool shared =
      kind == Local::Kind::kVar && shared_.count(&t) != 0 && type.kind != Type::Kind::kError;
  if (!shared) return Declare(kind, t.name, t.span, type, shape);
  const uint32_t local = Declare(kind, t.name, t.span, Type::Box(type), Shape());
  f_.locals[local].shared = true;
  return local;
}

Type BodyChecker::ResolveAnnotation(TypeExpr& t, Shape& shape) {
  if (t.kind == TypeExpr::Kind::kScalar) return Type::Scalar(t.elem);
  if (t.kind == TypeExpr::Kind::kGiven) {
    shape = UnknownShape(t.given);
    return t.given;
  }
  if (IsStructArray(t)) return ResolveArrayOfStructs(t, shape);
  if (t.kind == TypeExpr::Kind::kRelation) {
    report_.Unimplemented(t.span, "a relation as the type of a variable");
    return {};
  }
  if (t.kind == TypeExpr::Kind::kFunction || t.kind == TypeExpr::Kind::kStruct ||
      t.kind == TypeExpr::Kind::kList || t.kind == TypeExpr::Kind::kBox) {
    const NameTaken taken = [&](const std::string& name) { return scope_.Find(name) != kNone; };
    Type type = ResolveData(t, program_.structs(f_), taken, report_, limits_);
    if (!CheckTypeSize(type, t.span, report_, limits_)) type = Type();
    shape = UnknownShape(type);
    return type;
  }
  Type type = Type::Tuple({});
  if (t.kind == TypeExpr::Kind::kArray) {
    type = Type::Array(t.elem, static_cast<int>(t.dims.size()));
    for (ExprPtr& dim : t.dims) {
      if (IsUnwritten(*dim)) {
        shape.dims.emplace_back();
        continue;
      }
      Check(dim);
      ExpectI64(dim, "a size");
      shape.dims.push_back(ValueOf(*dim));
    }
  }
  for (TypeExpr& element : t.elements) {
    shape.elements.emplace_back();
    type.elements.push_back(ResolveAnnotation(element, shape.elements.back()));
  }
  if (!CheckTypeSize(type, t.span, report_, limits_)) return {};
  CheckTypeLimits(type, t.span, report_, limits_);
  return type;
}

Type BodyChecker::ResolveArrayOfStructs(TypeExpr& t, Shape& shape) {
  std::vector<Shape> shapes;  // of the element, then of each part
  const auto resolve = [&](TypeExpr& part) {
    shapes.emplace_back();
    Shape& own = shapes.back();
    Type type = ResolveAnnotation(part, own);
    return type;
  };
  Type type = ResolveStructArray(t, program_.structs(f_), report_, limits_, resolve);
  if (type.kind == Type::Kind::kError) return {};
  shape.elements.assign(shapes.begin() + 1, shapes.end());
  const size_t rank = t.dims.size();
  const Shape* first = &shape.elements[0];
  while (first->dims.size() < rank) first = &first->elements[0];
  shape.dims.assign(first->dims.begin(), first->dims.begin() + static_cast<std::ptrdiff_t>(rank));
  // The parts say the sizes, each for itself.
  for (ExprPtr& dim : t.dims) dim->type = Type::Scalar(DType::kI64);
  if (!CheckTypeSize(type, t.span, report_, limits_)) return {};
  CheckTypeLimits(type, t.span, report_, limits_);
  return type;
}

void BodyChecker::CheckConditional(Stmt& s) {
  for (CondArm& arm : s.arms) {
    if (arm.cond) CheckCondition(arm.cond, "if");
    CheckBlock(arm.body);
  }
}

void BodyChecker::CheckFor(Stmt& s) {
  CheckBounds(s.binder);
  if (s.snapshots) CheckSnapshots(s);
  size_t mark = scope_.Mark();
  DeclareBinder(s.binder);
  ++loops_;
  CheckBlock(s.body);
  --loops_;
  scope_.Reset(mark);
}

void BodyChecker::CheckSnapshots(Stmt& s) {
  Check(s.snapshots);
  ExpectI64(s.snapshots, "the number of states to keep");
}

void BodyChecker::CheckJump(const Stmt& s, const char* word) {
  if (loops_ > 0) return;
  std::string text = "'" + std::string(word) + "'";
  report_.Error(s.span, value_blocks_.empty()
                            ? text + " is outside of a loop"
                            : text + " may not leave " + value_blocks_.back().what);
}

void BodyChecker::CheckReturn(Stmt& s) {
  Shape shape;
  if (s.value) shape = Check(s.value);
  if (!value_blocks_.empty()) {
    report_.Error(s.span, std::string("'return' may not leave ") + value_blocks_.back().what);
    return;
  }
  if (!s.value) {
    if (f_.has_result) report_.Error(s.span, "'" + f_.name + "' must return " + ResultText());
    return;
  }
  if (!f_.has_result) {
    report_.Error(s.value->span, "'" + f_.name + "' has no result; to give it one, write '-> " +
                                     ToString(s.value->type) + "' after its parameters");
    return;
  }
  if (f_.infers_result && f_.result_type.kind == Type::Kind::kError) {
    const bool decided = s.value->type.closure != Type::Closure::kUndecided;
    if (f_.function_result.kind != Type::Kind::kError && (returns_ > 1 || !decided)) {
      Convert(*s.value, f_.function_result);
    }
    if (!Settle(*s.value, "let x")) return;
    Shape known = shape;
    ForgetLocals(known, static_cast<uint32_t>(header_.facts.size()));
    return program_.SetResult(index_, s.value->type, known);
  }
  if (f_.infers_result && shape.dims.size() == header_.result_shape.dims.size()) {
    program_.SetResult(index_, f_.result_type, UnknownShape(f_.result_type));
  }
  if (!Convert(*s.value, f_.result_type)) {
    report_.Error(s.value->span, "'" + f_.name + "' must return " + ResultText() +
                                     ", but this is " + Text(s.value->type, shape));
  } else if (s.value->type == f_.result_type) {
    MustEqual(shape, header_.result_shape, s.value->span, "the result of '" + f_.name + "'");
  }
}

void BodyChecker::CheckCondition(ExprPtr& e, const char* word) {
  Shape shape = Check(e);
  if (e->type.kind == Type::Kind::kError || e->type == Type::Scalar(DType::kBool)) return;
  report_.Error(e->span, "the condition of '" + std::string(word) +
                             "' must be a bool, but this is " + Text(e->type, shape));
}

void BodyChecker::CheckBounds(Binder& b) {
  for (ExprPtr* bound : {&b.lo, &b.hi}) {
    if (!*bound) continue;
    Check(*bound);
    ExpectI64(*bound, "a bound of '" + b.name + "'");
  }
}

uint32_t BodyChecker::DeclareBinder(Binder& b) {
  return b.local =
             Declare(Local::Kind::kBinder, b.name, b.span, Type::Scalar(DType::kI64), Shape());
}

Size BodyChecker::Extent(const Binder& b) const {
  return b.lo ? ValueOf(*b.hi) - ValueOf(*b.lo) : ValueOf(*b.hi);
}

void CheckBody(ProgramChecker& program, uint32_t function) { BodyChecker(program, function).Run(); }

}  // namespace pullback::lang
